"""All rows, to opset 8 from any newer one. What is neither in the table nor in ABSENT has not changed."""

from __future__ import annotations

from collections.abc import Iterable

from resizefix.opsets import (
    activations,
    comparison,
    constants,
    elementwise,
    linear,
    normalization,
    pooling,
    reductions,
    selection,
    shapes_ops,
    subgraphs,
)
from resizefix.opsets.absent import ABSENT
from resizefix.opsets.row import Row

__all__ = ["ABSENT", "TO_OPSET_8"]


def _by_operator(rows: Iterable[Row]) -> dict[str, Row]:
    table: dict[str, Row] = {}
    for row in rows:
        if row.op_type in table:
            raise ValueError(f"two rows for {row.op_type}")
        table[row.op_type] = row
    return table


TO_OPSET_8: dict[str, Row] = _by_operator(
    (
        *activations.ROWS,
        *comparison.ROWS,
        *constants.ROWS,
        *elementwise.ROWS,
        *linear.ROWS,
        *normalization.ROWS,
        *pooling.ROWS,
        *reductions.ROWS,
        *selection.ROWS,
        *shapes_ops.ROWS,
        *subgraphs.ROWS,
    )
)
