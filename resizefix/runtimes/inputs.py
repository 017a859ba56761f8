"""What a model wants to be fed, read from its graph: names, element types, shapes, and which inputs have a default."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto

from resizefix.document.values import Array

Value = Array | list[Any] | dict[Any, Any] | None  # None: an optional that is absent; dict: a map
Feeds = Mapping[str, Value]
Dimension = int | str | None  # a size, a name (two of one name may differ all the same), or unknown


class InputKind(str, Enum):
    """The container of an input's type. `elem_type` and `shape` are those of the tensor inside."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    OPTIONAL = "optional"
    OPTIONAL_SEQUENCE = "optional sequence"
    MAP = "map"
    SPARSE_TENSOR = "sparse tensor"

    @property
    def is_list(self) -> bool:
        """Whether the value is a list of tensors."""
        return self in (InputKind.SEQUENCE, InputKind.OPTIONAL_SEQUENCE)

    @property
    def is_optional(self) -> bool:
        """Whether it may go without a value."""
        return self in (InputKind.OPTIONAL, InputKind.OPTIONAL_SEQUENCE)


class TensorInput(NamedTuple):
    """One graph input. `shape` is None when even the rank is unknown; `has_default`: it need not be fed."""

    name: str
    elem_type: int  # TensorProto.DataType
    shape: tuple[Dimension, ...] | None
    kind: InputKind = InputKind.TENSOR
    has_default: bool = False

    @property
    def is_static(self) -> bool:
        """Whether the file fixes every size."""
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has the rank and the sizes that the file fixes."""
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(size == dim for size, dim in zip(shape, self.shape, strict=True) if isinstance(dim, int))
        )

    @property
    def type_text(self) -> str:
        """As ONNX text writes it: `float[1,3,h,w]`, `float` for a single number, `float[]` for an unknown rank."""
        tensor = TensorProto.DataType.Name(self.elem_type).lower()
        if self.shape != ():
            tensor += f"[{','.join('?' if dim is None else str(dim) for dim in self.shape or ())}]"
        return tensor if self.kind is InputKind.TENSOR else f"{self.kind.value} of {tensor}"


def as_stored(array: Array, wanted: np.dtype[Any]) -> Array:
    """The array; as `wanted` where numpy's files lost a type that numpy does not have, such as bfloat16, and kept the
    bytes."""
    is_lost = array.dtype.kind == "V" and array.dtype.names is None and array.dtype != wanted
    return array.view(wanted) if is_lost and array.dtype.itemsize == wanted.itemsize else array


def model_inputs(model: ModelProto) -> tuple[TensorInput, ...]:
    """The inputs of the main graph, in order.

    An initializer of an input's name is its default, overridable from IR version 4 on; up to IR 3 every initializer is
    also listed as an input without being one (ONNX IR specification, "Graphs"), and is left out here.
    """
    initialized = {tensor.name for tensor in model.graph.initializer}
    initialized.update(sparse.values.name for sparse in model.graph.sparse_initializer)
    if model.ir_version < 4:
        listed = [value for value in model.graph.input if value.name not in initialized]
    else:
        listed = list(model.graph.input)
    return tuple(_input(value.name, value.type, value.name in initialized) for value in listed)


def _input(name: str, type_: TypeProto, has_default: bool) -> TensorInput:
    kind, inner = InputKind.TENSOR, type_
    if inner.HasField("optional_type"):
        kind, inner = InputKind.OPTIONAL, inner.optional_type.elem_type
    if inner.HasField("sequence_type"):
        kind = InputKind.OPTIONAL_SEQUENCE if kind is InputKind.OPTIONAL else InputKind.SEQUENCE
        inner = inner.sequence_type.elem_type
    if inner.HasField("map_type"):
        return TensorInput(name, inner.map_type.value_type.tensor_type.elem_type, None, InputKind.MAP, has_default)
    if inner.HasField("sparse_tensor_type"):
        return TensorInput(name, inner.sparse_tensor_type.elem_type, None, InputKind.SPARSE_TENSOR, has_default)
    tensor = inner.tensor_type
    if not tensor.HasField("shape"):
        return TensorInput(name, tensor.elem_type, None, kind, has_default)
    dims: list[Dimension] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            dims.append(int(dim.dim_value))
        else:  # '?' and '' and negative sizes are spellings of "unknown", not symbols
            dims.append(dim.dim_param if dim.dim_param.strip("? ") else None)
    return TensorInput(name, tensor.elem_type, tuple(dims), kind, has_default)
