"""Scales that a chain computes as the size of another tensor divided by the input's own.

Exporters write so what a framework calls "interpolate to the size of". In float32, a quotient of two sizes times the
divisor may fall short of the dividend by a last bit; where the result meets a tensor of that size, the model does not
run then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resizefix.document.scopes import Scope
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.expression import Computed, Expression, Number, Size, UntraceableError, evaluate, sizes_in
from resizefix.shapes.operand import Known
from resizefix.shapes.output_size import kernel_lengths
from resizefix.shapes.stored_shapes import ModelView

LONGEST = 2**14
"""How long an axis is up to which one size is compared with another."""


class SizeQuotients:
    """Reads the scales of one model's resizes."""

    def __init__(self, view: ModelView) -> None:
        self._view = view
        self._sizes = AxisSizes(view)
        self._values = traced_values(self._sizes)

    def dividends(self, scope: Scope, data: str, operand: str) -> Sequence[Size | None] | None:
        """For each axis of `data` the size that the scale in `operand` aims at; None where the scale is 1.

        None for an operand with an entry that is neither 1 nor such a quotient of float32 numbers.
        """
        definition, value = self._view.scopes.definition(scope, data), self._values.of(scope, operand)
        if definition is None or not isinstance(value, Known) or len(value.shape) != 1:
            return None
        rank = self._sizes.rank(definition.key)
        try:
            entries: list[Expression] = list(value.elements.flat)
        except UntraceableError:
            return None
        if rank is None or len(entries) != rank:
            return None
        dividends: list[Size | None] = []
        for axis, entry in enumerate(entries):
            if isinstance(entry, Number) and entry.value == 1:
                dividends.append(None)
                continue
            dividend = self._dividend(entry, self._sizes.source(definition.key, axis))
            if dividend is None:
                return None
            dividends.append(dividend)
        return dividends

    def grow(self, scope: Scope, data: str, dividends: Sequence[Size | None]) -> bool:
        """Whether no axis shrinks: each dividend is at least the input's own size, which follows from the same size, at
        all lengths of it up to LONGEST."""
        source = self._view.scopes.definition(scope, data)
        return source is not None and all(
            dividend is None
            or _is_at_least(self._sizes.source(dividend.tensor, dividend.axis), self._sizes.source(source.key, axis))
            for axis, dividend in enumerate(dividends)
        )

    def falls_short(self, scope: Scope, data: str, dividends: Sequence[Size | None]) -> bool:
        """Whether a quotient times the input's own size may be another length than the dividend, up to LONGEST."""
        source = self._view.scopes.definition(scope, data)
        return source is None or any(
            dividend is not None
            and _is_short(self._sizes.source(dividend.tensor, dividend.axis), self._sizes.source(source.key, axis))
            for axis, dividend in enumerate(dividends)
        )

    def _dividend(self, entry: Expression, own: Expression) -> Size | None:
        if not isinstance(entry, Computed) or entry.operator != "Div" or entry.dtype != "float32":
            return None
        above, below = map(_inside_cast, entry.operands)
        if not isinstance(above, Size) or not isinstance(below, Size):
            return None
        return above if self._sizes.source(below.tensor, below.axis) == own else None


def _inside_cast(expression: Expression) -> Expression:
    """The size that one Cast to float32 reads."""
    is_cast = isinstance(expression, Computed) and expression.operator == "Cast" and expression.dtype == "float32"
    return expression.operands[0] if is_cast and isinstance(expression, Computed) else expression


def _is_short(wanted: Expression, own: Expression) -> bool:
    roots = sizes_in(wanted) | sizes_in(own)
    if len(roots) > 1:
        return True
    lengths = {root: np.arange(1, LONGEST + 1, dtype=np.int64) for root in roots}
    out, size = np.broadcast_arrays(*(np.atleast_1d(evaluate(one, lengths)).astype(np.int64) for one in (wanted, own)))
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = np.asarray(np.divide(out, size, dtype=np.float32), np.float32)  # both are below 2²⁴
        computed = kernel_lengths(scales, size)
    return bool(np.any((computed != out) & (size > 0) & (out > 0)))


def _is_at_least(one: Expression, other: Expression) -> bool:
    roots = sizes_in(one) | sizes_in(other)
    if len(roots) > 1:
        return one == other
    lengths = {root: np.arange(1, LONGEST + 1, dtype=np.int64) for root in roots}
    longer, shorter = evaluate(one, lengths), evaluate(other, lengths)
    return bool(np.all((longer >= shorter) | (shorter < 1)))
