"""Tables of positions that nothing had to agree with: grids that a model samples at, as large as the image.

What is sampled at a grid has the size of the grid, whatever the input is. So such a table is a grid of the image, which
follows it, or a fixed one; the file does not say which.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resizefix.origins.input_sizes.choices import Choices
from resizefix.origins.input_sizes.flow import MOST_IN_A_TABLE, Flow
from resizefix.origins.input_sizes.refusal import refuse
from resizefix.origins.input_sizes.tables import may_be_grid

_SHARES = (1, 2, 3, 4, 8, 16, 32)
_SMALL = 4


def refuse_loose_tables(flow: Flow, choices: Choices) -> None:
    """Raises SizeRefusedError for a table that counts positions on a map of the image, where its axis is still open."""
    lengths = list(_lengths(flow))
    for place, table in flow.operands.tables.items():
        label = flow.labels[place.node]
        if choices.of(label) == "keep" or not any(map(flow.is_read, flow.view.model.graph.node[place.node].output)):
            continue
        for axis, dim in enumerate(table.dims):
            if flow.sizes.resolve(dim).kind != "var":
                continue
            for factors in lengths:
                if int(np.prod(factors)) == dim.old and _counts(flow, table.name, axis, factors):
                    shape = list(flow.operands.shape_of(table.name))
                    raise refuse(label, "origins.input-size-loose-table", name=table.name, shape=shape)


def _lengths(flow: Flow) -> Iterator[tuple[int, ...]]:
    """The sides of maps that are the image, a share or a multiple of it; together and alone."""
    sides = [flow.sizes.symbols[side.data] for side in flow.sizes.sides]
    for share in _SHARES:
        for made in ([side * share for side in sides], [side // share for side in sides]):
            if min(made, default=0) > _SMALL:
                yield tuple(made)
                yield from ((side,) for side in made)


def _counts(flow: Flow, name: str, axis: int, factors: tuple[int, ...]) -> bool:
    array = flow.operands.array(name)
    if array is None or array.size > MOST_IN_A_TABLE or array.dtype.kind not in "fiu":
        return False
    return bool(np.ptp(array, axis=axis).max(initial=0) > 0) and may_be_grid(array, axis, factors)
