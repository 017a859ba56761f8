"""Operators that work element by element, their operands broadcast: how each computes, and where it is defined.

Sources: onnxruntime's kernels (core/providers/cpu/math/element_wise_ops.cc, tensor/cast_op.cc), C++ for integers, IEEE
754 for floats. What is not defined there is the runtime's choice: an integer divided by zero, a cast out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]


def _always(*operands: Values) -> bool:
    return True


class Elementwise(NamedTuple):
    """`compute` takes and gives numpy arrays; `defined` says of operands whether every runtime gives these bits."""

    compute: Callable[..., Any]
    operands: int | None = 2  # None: any number
    gives_bool: bool = False
    defined: Callable[..., bool] = _always


def _divide(a: Values, b: Values) -> Values:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    quotient: Values = a // b  # numpy rounds down, C towards zero
    return np.asarray(quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype))


def _divides(a: Values, b: Values) -> bool:
    if a.dtype.kind not in "iu":
        return a.dtype.kind == "f"
    lowest = np.iinfo(a.dtype).min
    overflows = a.dtype.kind == "i" and bool(((a == lowest) & (b == -1)).any())
    return not bool((b == 0).any()) and not overflows


def _modulo_is_defined(a: Values, b: Values) -> bool:
    return a.dtype.kind in "iu" and _divides(a, b)


def are_ordered(*operands: Values) -> bool:
    """Of a NaN and of zeros of both signs the answer is the runtime's choice; of two numbers beyond 32 bits
    onnxruntime's kernels give the wrong one (1.31.1, measured)."""
    return all(
        value.dtype.kind in "fiu"
        and bool((value == value).all())
        and _have_no_negative_zero(value)
        and (value.dtype.itemsize < 8 or value.dtype.kind == "f" or not _is_beyond_32_bits(value))
        for value in operands
    )


def _have_no_negative_zero(*operands: Values) -> bool:
    return not any(value.dtype.kind == "f" and bool((np.signbit(value) & (value == 0)).any()) for value in operands)


def _is_beyond_32_bits(value: Values) -> bool:
    return bool(value.size) and (int(value.min()) < -(2**31) or int(value.max()) >= 2**31)


def _never(*operands: Values) -> bool:
    """For functions that the C library approximates: each has other last bits."""
    return False


# The names are ONNX's. Results are cast to the node's output type.
ELEMENTWISE: dict[str, Elementwise] = {
    "Add": Elementwise(np.add),
    "Sub": Elementwise(np.subtract),
    "Mul": Elementwise(np.multiply),
    "Div": Elementwise(_divide, defined=_divides),
    "Mod": Elementwise(np.mod, defined=_modulo_is_defined),  # integers, with the divisor's sign (fmod=0)
    "Pow": Elementwise(np.power, defined=_never),
    "Min": Elementwise(lambda *operands: reduce(np.minimum, operands), None, defined=are_ordered),
    "Max": Elementwise(lambda *operands: reduce(np.maximum, operands), None, defined=are_ordered),
    "Neg": Elementwise(np.negative, 1),
    "Abs": Elementwise(np.abs, 1),
    "Floor": Elementwise(np.floor, 1),
    "Ceil": Elementwise(np.ceil, 1),
    "Round": Elementwise(np.rint, 1),  # half to even
    "Sqrt": Elementwise(np.sqrt, 1, defined=lambda a: bool((a >= 0).all())),
    "Reciprocal": Elementwise(np.reciprocal, 1),
    "Equal": Elementwise(np.equal, gives_bool=True),
    "Less": Elementwise(np.less, gives_bool=True),
    "LessOrEqual": Elementwise(np.less_equal, gives_bool=True),
    "Greater": Elementwise(np.greater, gives_bool=True),
    "GreaterOrEqual": Elementwise(np.greater_equal, gives_bool=True),
    "Not": Elementwise(np.logical_not, 1, gives_bool=True),
    "And": Elementwise(np.logical_and, gives_bool=True),
    "Or": Elementwise(np.logical_or, gives_bool=True),
    "Where": Elementwise(np.where, 3, defined=_have_no_negative_zero),  # onnxruntime makes it a positive one
}


def cast(value: Values, dtype: str) -> Values:
    """To integers towards zero; to half precision by way of float32, as onnxruntime does."""
    if dtype == "float16" and value.dtype.kind != "b":
        value = value.astype(np.float32)
    return value.astype(dtype)


def is_cast_defined(value: Values, dtype: str) -> bool:
    """Whether a cast has one result: not for a float that the integer type does not hold."""
    wanted = np.dtype(dtype)
    if value.dtype.kind != "f" or wanted.kind not in "iu":
        return True
    value, limits = value.astype(np.float64), np.iinfo(wanted)
    low, high = float(limits.min) - 1.0, float(limits.max) + 1.0
    inside = (value > low) | (value == float(limits.min))
    return bool(np.isfinite(value).all() and inside.all() and (value < high).all())
