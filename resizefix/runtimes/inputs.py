"""What a model wants to be fed, read from its graph: names, element types, shapes, and which inputs have a default.

What comes out of onnxruntime with an element type that numpy lacks.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, TypeProto, helper

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


def shapes_of(values: Mapping[str, Value]) -> dict[str, tuple[int, ...]]:
    """The shapes of those that are tensors."""
    return {name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)}


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


# Element types that numpy lacks: the type, and the integer that carries its bits into onnxruntime (None: two a byte).
WITHOUT_NUMPY: dict[str, tuple[int, type[np.generic] | None]] = {
    "tensor(bfloat16)": (TensorProto.BFLOAT16, np.uint16),
    "tensor(float8e4m3fn)": (TensorProto.FLOAT8E4M3FN, np.uint8),
    "tensor(float8e4m3fnuz)": (TensorProto.FLOAT8E4M3FNUZ, np.uint8),
    "tensor(float8e5m2)": (TensorProto.FLOAT8E5M2, np.uint8),
    "tensor(float8e5m2fnuz)": (TensorProto.FLOAT8E5M2FNUZ, np.uint8),
    "tensor(int4)": (TensorProto.INT4, None),
    "tensor(uint4)": (TensorProto.UINT4, None),
}


def numpy_of(value: Any) -> Value:
    """An `OrtValue` of any type as an array, or None for an absent optional."""
    if not value.has_value():
        return None
    type_ = value.data_type()
    if type_ not in WITHOUT_NUMPY:
        array: Array = value.numpy()
        return array
    elem_type, carrier = WITHOUT_NUMPY[type_]
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))
    shape = tuple(value.shape())
    count = math.prod(shape)
    if carrier is None:  # two to a byte, the low half first (TensorProto.INT4)
        bits = _memory(value, (count + 1) // 2)
        halves = np.stack([bits & 0x0F, bits >> 4], axis=-1).reshape(-1)[:count]
        signed = np.where(halves > 7, halves.astype(np.int8) - 16, halves) if elem_type == TensorProto.INT4 else halves
        return signed.astype(dtype).reshape(shape)
    if dtype.itemsize != np.dtype(carrier).itemsize:
        raise TypeError(f"this version of onnx has no numpy type for {TensorProto.DataType.Name(elem_type)}")
    return _memory(value, count * dtype.itemsize).view(dtype).reshape(shape)


def _memory(value: Any, size: int) -> Array:
    """A copy of the first `size` bytes of a tensor on the CPU."""
    return np.frombuffer(ctypes.string_at(value.data_ptr(), size), np.uint8)
