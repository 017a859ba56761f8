"""What a chain of small tensors computes, one number at a time: constants, sizes of tensors, and operators over them.

Arithmetic is that of the model: every step has the element type it has in the file, so that the float32 product of n
and 1.8 is not mistaken for 1.8·n. `evaluate` computes an expression for many sizes at once, rounding as numpy does,
which for these operators is IEEE 754 and so what runtimes do.

Operators that work element by element have a row that says how each computes, and where it is defined. Sources:
onnxruntime's kernels (core/providers/cpu/math/element_wise_ops.cc, tensor/cast_op.cc), C++ for integers, IEEE 754 for
floats. What is not defined there is the runtime's choice: an integer divided by zero, a cast out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from resizefix.diagnostics import DiagnosedError
from resizefix.scope_path import Key

Values = npt.NDArray[Any]

# Operands are shared, so an expression can be exponentially longer than its chain; nor may it nest deeper than Python.
_LONGEST = 300


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


class UntraceableError(DiagnosedError):
    """What a node computes cannot be said before it runs; the text says why."""


@dataclass(frozen=True)
class Number:
    """A constant; `dtype` is numpy's name of its element type."""

    value: float | int | bool
    dtype: str


@dataclass(frozen=True)
class Size:
    """How long a tensor is on one axis, an int64."""

    tensor: Key
    axis: int

    @property
    def dtype(self) -> str:
        """Always int64, as `Shape` gives it."""
        return "int64"


class Dim:
    """One size that is followed through a model, as a function of the input's (`Sizes` makes them, each once). `old` is
    its value in the file; None for a size that depends on data."""

    __slots__ = ("data", "index", "kind", "old", "parts")
    dtype = "int64"

    def __init__(self, index: int, kind: str, parts: tuple[Dim, ...], data: Any, old: int | None) -> None:
        self.index, self.kind, self.parts, self.data, self.old = index, kind, parts, data, old


@dataclass(frozen=True)
class Computed:
    """An operator applied to expressions. `length` counts the expressions it is written with."""

    operator: str
    dtype: str
    operands: tuple[Expression, ...]
    length: int = field(compare=False, default=1)


Expression = Number | Size | Dim | Computed


def computed(operator: str, dtype: str, *operands: Expression) -> Expression:
    """`operator` applied to `operands`, a Number where all of them are. Raises UntraceableError if it is too long."""
    if operator == "Cast" and operands[0].dtype == dtype:
        return operands[0]
    length = 1 + sum(operand.length if isinstance(operand, Computed) else 1 for operand in operands)
    if length > _LONGEST:
        raise UntraceableError("document.chain-too-long")
    expression = Computed(operator, dtype, operands, length)
    if all(isinstance(operand, Number) for operand in operands):
        return number(evaluate(expression, {}))
    return expression


def number(value: Values) -> Number:
    """A single value as a Number."""
    return Number(value.item(), value.dtype.name)


def evaluate(expression: Expression, sizes: Mapping[Any, Values]) -> Values:
    """What the expression gives where its sizes (`Size`, `Dim`) are `sizes`: int64 arrays of one shape, each in it.

    Where a runtime would fail (an integer divided by zero) the value means nothing.
    """
    values: dict[int, Values] = {}
    with np.errstate(all="ignore"):
        for part in _parts(expression):
            if isinstance(part, Number):
                values[id(part)] = np.array(part.value, part.dtype)
            elif not isinstance(part, Computed):
                values[id(part)] = np.asarray(sizes[part], np.int64)
            else:
                operands = [values[id(operand)] for operand in part.operands]
                values[id(part)] = (
                    cast(operands[0], part.dtype)
                    if part.operator == "Cast"
                    else np.asarray(ELEMENTWISE[part.operator].compute(*operands)).astype(part.dtype)
                )
    return values[id(expression)]


def sizes_in(expression: Expression) -> frozenset[Size]:
    """The sizes that the expression depends on."""
    return frozenset(part for part in _parts(expression) if isinstance(part, Size))


def dims_in(expression: Expression) -> list[Dim]:
    """The followed sizes that the expression depends on, in the order in which they were made."""
    return sorted({part for part in _parts(expression) if isinstance(part, Dim)}, key=lambda dim: dim.index)


def numbers_in(expression: Expression) -> Iterator[Number]:
    """The constants that it is written with, those of the outermost operators first."""
    return (part for part in reversed(list(_parts(expression))) if isinstance(part, Number))


def substituted(expression: Expression, meanings: Mapping[Size, Expression]) -> Expression:
    """The expression with some sizes replaced, simplified where they became numbers."""
    written: dict[int, Expression] = {}
    for part in _parts(expression):
        if isinstance(part, Size):
            written[id(part)] = meanings.get(part, part)
        elif isinstance(part, Computed):
            operands = tuple(written[id(operand)] for operand in part.operands)
            written[id(part)] = computed(part.operator, part.dtype, *operands)
        else:
            written[id(part)] = part
    return written[id(expression)]


def _parts(expression: Expression) -> Iterator[Expression]:
    """Every subexpression object once, operands before what reads them."""
    seen: set[int] = set()
    pending: list[tuple[Expression, bool]] = [(expression, False)]
    while pending:
        part, operands_done = pending.pop()
        if id(part) in seen:
            continue
        if isinstance(part, Computed) and not operands_done:
            pending.append((part, True))
            pending.extend((operand, False) for operand in reversed(part.operands))
            continue
        seen.add(id(part))
        yield part
