"""What a chain of small tensors computes, one number at a time: constants, sizes of tensors, and operators over them.

Arithmetic is that of the model: every step has the element type it has in the file, so that the float32 product of n
and 1.8 is not mistaken for 1.8·n. `evaluate` computes an expression for many sizes at once, rounding as numpy does,
which for these operators is IEEE 754 and so what runtimes do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from resizefix.errors import DiagnosedError
from resizefix.scope_path import Key
from resizefix.shapes.elementwise_values import ELEMENTWISE, Values, cast

# Operands are shared, so an expression can be exponentially longer than its chain; nor may it nest deeper than Python.
_LONGEST = 300


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
