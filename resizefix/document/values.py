"""The types that a graph stores of its values, and the sizes in them."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import FunctionProto, GraphProto, TypeProto, ValueInfoProto

Dims = tuple[int | str | None, ...]


def stored_values(body: GraphProto | FunctionProto) -> Iterator[ValueInfoProto]:
    """Every value whose type a graph or function stores."""
    yield from body.value_info
    if isinstance(body, GraphProto):
        yield from body.output
        yield from body.input


def dims_of(value_type: TypeProto) -> Dims:
    """The sizes stored in a tensor type; a negative one is a spelling of "unknown"."""
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in value_type.tensor_type.shape.dim
    )


def forget_shape(value: ValueInfoProto) -> None:
    """Leave nothing but the kind of value and the element type."""
    kind = value.type.WhichOneof("value")
    if kind == "tensor_type":
        value.type.tensor_type.ClearField("shape")
    elif kind == "sequence_type":
        value.type.sequence_type.elem_type.tensor_type.ClearField("shape")
    elif kind == "optional_type":
        value.type.optional_type.elem_type.tensor_type.ClearField("shape")
