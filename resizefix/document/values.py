"""The types that a graph stores of its values, and the sizes in them."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy.typing as npt
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto

Array = npt.NDArray[Any]
Dims = tuple[int | str | None, ...]


def stored_values(body: GraphProto | FunctionProto) -> Iterator[ValueInfoProto]:
    """Every value whose type a graph or function stores."""
    yield from body.value_info
    if isinstance(body, GraphProto):
        yield from body.output
        yield from body.input


def has_negative_size(value_type: TypeProto) -> bool:
    """Whether a size of a tensor is below 0, a spelling of "unknown" that onnx does not know."""
    return any(dim.dim_value < 0 for dim in value_type.tensor_type.shape.dim)


def longest_extent(dims: Sequence[int]) -> int:
    """How many elements a tensor of these sizes has, an empty axis counted as one: a reduction over the empty axis
    makes so many, and so many positions are walked over."""
    return math.prod(max(size, 1) for size in dims)


def held_by(constant: TensorProto | NodeProto) -> tuple[object, ...] | None:
    """What an initializer or a Constant node holds, whatever it is called: the same of two that have one value. None
    where it is not known without decoding it, or does not stand in the model."""
    if isinstance(constant, NodeProto):
        attributes = list(constant.attribute)
        if len(attributes) != 1 or attributes[0].ref_attr_name:
            return None
        (attribute,) = attributes
        return held_by(attribute.t) if attribute.name == "value" else (attribute.SerializeToString(),)
    if constant.data_location == TensorProto.EXTERNAL or not constant.raw_data:
        return None
    return constant.data_type, tuple(constant.dims), constant.raw_data


def known_types(body: GraphProto | FunctionProto, names: Container[str] | None = None) -> dict[str, TypeProto]:
    """The type of every value, by name; of `names` alone where they are given. Of one that is stored twice, as an input
    that is an output too, the type that tells most: exporters write the shape in one of the two places alone."""
    types: dict[str, TypeProto] = {}
    for value in stored_values(body):
        name = value.name
        if names is not None and name not in names:
            continue
        there = types.get(name)
        if there is None or _certainty(there) < _certainty(value.type):
            types[name] = value.type
    return types


def _certainty(value_type: TypeProto) -> tuple[bool, bool, int, int]:
    tensor = value_type.tensor_type
    dims = dims_of(value_type)
    whole = sum(isinstance(size, int) for size in dims)
    return bool(tensor.elem_type), tensor.HasField("shape"), whole, sum(size is not None for size in dims)


def dims_of(value_type: TypeProto) -> Dims:
    """The sizes stored in a tensor type; a negative one is a spelling of "unknown"."""
    return dims_in(value_type.tensor_type.shape)


def dims_in(shape: TensorShapeProto) -> Dims:
    """`dims_of` for a shape by itself."""
    return _dims_in(shape.SerializeToString())


@lru_cache(maxsize=1024)
def _dims_in(serialized: bytes) -> Dims:
    """Models have many tensors of few shapes, and reading one takes ten times as long as looking it up."""
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in TensorShapeProto.FromString(serialized).dim
    )


def tensor_of(value_type: TypeProto) -> TypeProto.Tensor | None:
    """The type of the tensor that a value is, or that a sequence or an optional holds; None for other values."""
    kind = value_type.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        value_type = getattr(value_type, kind).elem_type
        kind = value_type.WhichOneof("value")
    return value_type.tensor_type if kind == "tensor_type" else None


def forget_shape(value: ValueInfoProto) -> None:
    """Leave nothing but the kind of value and the element type."""
    tensor = tensor_of(value.type)
    if tensor is not None:
        tensor.ClearField("shape")


@lru_cache(maxsize=1024)
def numbers_in(dims: Dims) -> tuple[int | None, ...]:
    """The sizes that are numbers, None for the others, symbols too."""
    return tuple(size if isinstance(size, int) else None for size in dims)
