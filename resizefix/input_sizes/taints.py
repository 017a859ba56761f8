"""What the values of a tensor are made of, as far as sizes of the map matter: positions on it, and sums over it.

Where two coordinates stand side by side on an axis (x and y of a grid), each is remembered by itself until that axis
is mixed, so that a division of the one by a size is not taken for a division by the size of the other axis.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from resizefix.input_sizes.node_reading import NodeReading
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.tables import Grid, Joined, Table
from resizefix.shapes.expression import Dim
from resizefix.shapes.reading import UnknownRankError, axis_of
from resizefix.shapes.sizes import Sizes

_ELEMENTWISE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Clip", "Cast", "Floor", "Ceil", "Round", "Neg", "Abs"}
    | {"Sqrt", "Sin", "Cos", "Exp", "Log", "Identity", "Reciprocal", "Sigmoid", "Tanh", "Expand"}
)
_MOST_CHANNELS = 8


class Channels(NamedTuple):
    """An axis of few samples, and the sizes that positions count along in each of them."""

    axis: int
    along: tuple[frozenset[Dim], ...]


@dataclass
class Taint:
    """What values are made of: sizes of axes that positions count along, and sizes that were summed over."""

    along: set[Dim] = field(default_factory=set)
    summed: set[Dim] = field(default_factory=set)
    is_map: bool = False
    is_share: bool = False
    """Whether they are shares of the map rather than samples or pixels."""
    is_pixel: bool = False
    """Whether they are pixels of the image rather than samples of a map."""
    is_index: bool = False
    """Whether they are positions among all samples, as ArgMax and TopK give them."""
    is_mixed: bool = False
    """Whether they are products of positions and of data, which are positions no more."""
    outer: frozenset[Dim] | None = None
    """The sizes that indices count along once the inner axes divided them; None where nothing did."""
    channels: Channels | None = None

    def __bool__(self) -> bool:
        return bool(self.along or self.summed or self.is_map)

    def merge(self, other: "Taint") -> None:
        """Add what another operand is made of."""
        self.channels = _side_by_side(self, other)
        self.outer = other.outer if not self.along else self.outer if not other.along else None
        self.along |= other.along
        self.summed |= other.summed
        self.is_map |= other.is_map
        self.is_share |= other.is_share
        self.is_pixel |= other.is_pixel
        self.is_index |= other.is_index
        self.is_mixed |= other.is_mixed


def merged(taints: Iterable[Taint | None]) -> Taint:
    """What is made of all of these."""
    made = Taint()
    for taint in taints:
        if taint is not None:
            made.merge(taint)
    return made


def _side_by_side(one: Taint, other: Taint) -> Channels | None:
    if not one.along or not other.along:
        return one.channels if one.along else other.channels
    here, there = one.channels, other.channels
    if here is None or there is None or here.axis != there.axis or len(here.along) != len(there.along):
        return None
    return Channels(here.axis, tuple(a | b for a, b in zip(here.along, there.along, strict=True)))


def table_taint(sizes: Sizes, table: Table) -> Taint:
    """What a table of positions is made of."""
    taint = Taint(is_map=True, is_share=_is_share(table), is_pixel=_is_pixel(sizes, table))
    for grid in _grids(table):
        taint.along |= {grid.dims[grid.moving[one.axis]] for one in grid.channels if one.axis is not None}
    if isinstance(table, Grid):
        taint.channels = _channels_of(sizes, table)
    return taint


def _channels_of(sizes: Sizes, grid: Grid) -> Channels | None:
    """The one axis of a table on which coordinates stand side by side."""
    held = [place for place in range(len(grid.dims)) if place not in grid.moving]
    ends = np.cumsum([len(factors) for factors in grid.shape])
    for axis, factors in enumerate(grid.shape):
        if len(factors) != 1 or sizes.fixed(factors[0]) is None or not 1 < (factors[0].old or 0) <= _MOST_CHANNELS:
            continue
        along: list[set[Dim]] = [set() for _ in range(factors[0].old or 0)]
        place = held.index(int(ends[axis]) - 1)
        for position, one in zip(np.ndindex(*[grid.dims[at].old or 1 for at in held]), grid.channels, strict=True):
            if one.axis is not None:
                along[position[place]].add(grid.dims[grid.moving[one.axis]])
        return Channels(axis, tuple(frozenset(one) for one in along))
    return None


def channels_after(n: NodeReading, taints: Sequence[Taint | None]) -> list[Channels | None]:
    """The channels of each output, given what every operand is made of."""
    node, flow = n.node, n.flow
    first = taints[0] if taints else None
    if node.op_type == "Concat":
        return [_joined(n, taints)]
    found = first.channels if first is not None else None
    if node.op_type in _ELEMENTWISE:
        ranks = {len(dims) for name in (*node.input, *node.output) if (dims := flow.dims.get(name)) is not None}
        return [merged(taints).channels if len(ranks) == 1 else None]
    if found is None:
        return [None] * len(node.output)
    dims = flow.dims.get(node.input[0]) or ()
    if node.op_type == "Transpose":
        perm = n.attribute("perm", list(range(len(dims)))[::-1])
        return [Channels(perm.index(found.axis), found.along)]
    if any(len(flow.dims.get(name) or ()) != len(dims) for name in node.output):
        return [None] * len(node.output)
    picked = _picked(n, found, len(dims))
    return [None if one is None else Channels(found.axis, one) for one in picked]


def chosen_along(n: NodeReading, taint: Taint) -> list[set[Dim]] | None:
    """Along which sizes the samples count that each output keeps of an axis; None where nothing is chosen."""
    if taint.channels is None or n.node.op_type not in ("Slice", "Gather", "Split"):
        return None
    picked = _picked(n, taint.channels, len(n.flow.dims.get(n.node.input[0]) or ()))
    if any(one is None for one in picked):
        return None
    return [set().union(*one) for one in picked if one is not None]


def _picked(n: NodeReading, found: Channels, rank: int) -> list[tuple[frozenset[Dim], ...] | None]:
    node = n.node
    nothing: list[tuple[frozenset[Dim], ...] | None] = [None] * len(node.output)

    def listed(position: int, name: str) -> list[int] | None:
        try:
            return n.numbers(position, name)
        except UnknownRankError:
            return None

    if node.op_type == "Gather":
        wanted = listed(1, "indices")
        count = len(found.along)
        if axis_of(n.attribute("axis", 0), rank) != found.axis or wanted is None:
            return nothing
        return nothing if any(not -count <= one < count for one in wanted) else [tuple(found.along[i] for i in wanted)]
    if node.op_type == "Split":
        if axis_of(n.attribute("axis", 0), rank) != found.axis:
            return [found.along] * len(node.output)
        even = [len(found.along) // len(node.output)] * len(node.output)
        parts = listed(1, "split") or even
        if len(parts) != len(node.output) or sum(parts) != len(found.along):
            return nothing
        ends = [sum(parts[: place + 1]) for place in range(len(parts))]
        return [found.along[end - part : end] for end, part in zip(ends, parts, strict=True)]
    if node.op_type == "Slice":
        begins, stops = listed(1, "starts"), listed(2, "ends")
        if begins is None or stops is None:
            return nothing
        every, ones = list(range(len(begins))), [1] * len(begins)
        along = found.along
        cuts = zip(listed(3, "axes") or every, begins, stops, listed(4, "steps") or ones, strict=True)
        for axis, first, last, step in cuts:
            if axis_of(axis, rank) == found.axis:
                along = along[slice(first, None if step < 0 and last < -len(along) else last, step)]
        return [along]
    return nothing


def _joined(n: NodeReading, taints: Sequence[Taint | None]) -> Channels | None:
    along: list[frozenset[Dim]] = []
    made = n.flow.dims.get(n.node.output[0])
    if made is None:
        return None
    axis = axis_of(n.attribute("axis", 1), len(made))
    for position, (name, taint) in enumerate(zip(n.node.input, taints, strict=True)):
        dims = n.flow.dims_of(Place(n.index, position), name)
        count = None if dims is None else n.sizes.fixed(dims[axis])
        if count is None or len(along) + count > _MOST_CHANNELS:
            return None
        inner = taint.channels if taint is not None else None
        if inner is not None and inner.axis == axis and len(inner.along) == count:
            along += inner.along
        else:
            alone = None if taint is None else taint.along if taint.outer is None else taint.outer
            along += [frozenset(alone or ())] * count
    return Channels(axis, tuple(along))


def _grids(table: Table) -> list[Grid]:
    if isinstance(table, Joined):
        return [grid for part in table.parts for grid in _grids(part)]
    return [table] if isinstance(table, Grid) else []


def _is_pixel(sizes: Sizes, table: Table) -> bool:
    """Whether positions are counted in strides of more than one pixel."""
    lines = [(grid, one.axis, one.sequence) for grid in _grids(table) for one in grid.channels]
    return any(
        sequence.is_absolute and sequence.factor > 1 and sizes.stride(grid.dims[grid.moving[axis]]) == sequence.factor
        for grid, axis, sequence in lines
        if axis is not None and sequence is not None
    )


def _is_share(table: Table) -> bool:
    sequences = [one.sequence for grid in _grids(table) for one in grid.channels if one.sequence is not None]
    return bool(sequences) and not any(sequence.is_absolute for sequence in sequences)
