"""What comes out of onnxruntime with an element type that numpy lacks."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value

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
