"""Lists of boxes over the maps of a detector: what their sizes and their centres are at another size of the image.

A box's width and height are shares of the image. They stay, or the pixels do: then another size has `pixels / side`,
cut at the whole image where the file cuts. A centre is (i + 0.5) / n of a map of n cells, or (i + 0.5) · stride / side
of the image, which is another number where the stride does not divide the side: there the file says which it is. All
of a list are made in one way, so what one map or one box says holds for all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.refusal import KEEP, READINGS, SizeRefusedError, asked
from resizefix.input_sizes.tables import (
    CENTRES,
    Channel,
    Grid,
    Joined,
    NoGridError,
    Share,
    Table,
    is_size_free,
)
from resizefix.shapes.expression import Dim

Order = tuple[str, str]
_WHOLE = 1e-3  # a share of so many pixels is taken for a whole number of them
_SHOWN = 6
_PAIRS = (2, 4)  # columns of width and height in turn
_OF_MAP, _OF_IMAGE = "of-map", "of-image"
_CENTRES = {_OF_MAP: "origins.reading-centres-of-map", _OF_IMAGE: "origins.reading-centres-of-image"}
_ORDERS: dict[str, Order] = {"pixels": ("width", "height"), "pixels-height-first": ("height", "width")}
"""The sides of two columns, by the name of the reading."""
_CUT = "-cut"


class _Number(NamedTuple):
    """A channel of a table, and where it stands: in which column, and of which box."""

    grid: Grid
    channel: Channel
    column: int | None
    box: tuple[int, ...]

    @property
    def value(self) -> float:
        return float(self.channel.value)


def with_boxes(flow: Flow, label: str, table: Table, old: Array) -> Table:
    """The table, what its boxes are decided. Raises SizeRefusedError where that is to be asked for, and NoGridError
    where numbers are shares of the image and nothing says of what."""
    table = _with_single_cells(table)
    centres = _centre_ways(flow, table)
    if not any(_is_share(flow, number) for number in _numbers(table)):
        if len(centres) > 1 and isinstance(table, Joined):
            return _centres_as_chosen(flow, label, centres)
        return centres.get(_OF_MAP) or centres[_OF_IMAGE]
    named: dict[str, Table] = {}
    meanings: dict[str, str] = {}
    several, chosen = len(centres) > 1, flow.choices.of(label)
    for centre, whole in centres.items():
        sized = {**_in_pixels(flow, whole), KEEP: whole}
        if len(sized) == 1:
            raise NoGridError
        if several and chosen in sized:  # of the centres nothing was said
            return _noted(flow, label, sized[chosen], centres[_OF_IMAGE])
        for name, changed in sized.items():
            joined = f"{name}+{centre}" if several else name
            named[joined] = changed
            meanings[joined] = _meaning(name, centre if several else None)
    if chosen not in named:
        shares = dict.fromkeys(f"{number.value:.4g}" for number in _numbers(table) if _is_share(flow, number))
        numbers = ", ".join([*shares][:_SHOWN])
        raise asked(label, old.ravel()[:_SHOWN].tolist(), "origins.input-size-box-shares", meanings, numbers=numbers)
    return named[chosen]


def _meaning(name: str, centre: str | None) -> str:
    said = against(KEEP) if name == KEEP else Diagnostic(READINGS[name])
    return said if centre is None else f"{said}; {Diagnostic(_CENTRES[centre])}"


def shares_that_stay(table: object) -> set[float]:
    """The numbers below 1 that stand everywhere in a table, and were not taken for shares of the image."""
    if isinstance(table, Joined):
        return set().union(*(shares_that_stay(part) for part in table.parts))
    if not isinstance(table, Grid):
        return set()
    values = {float(one.value) for one in table.channels if one.sequence is None and one.share is None}
    return {value for value in values if 0 < abs(value) < 1 and abs(value) != CENTRES.centre}


# ---- the numbers of a table ----


def _grids(table: Table) -> Iterator[Grid]:
    if isinstance(table, Joined):
        for part in table.parts:
            yield from _grids(part)
    elif isinstance(table, Grid) and not table.merged:
        yield table


def _changed(table: Table, change: Callable[[Grid], Grid]) -> Table:
    """The table with each of its grids changed."""
    if isinstance(table, Joined):
        return table._replace(parts=tuple(_changed(part, change) for part in table.parts))
    return change(table) if isinstance(table, Grid) and not table.merged else table


def _placed(grid: Grid) -> list[_Number]:
    """All channels of a grid with their columns: the last axis of two or four numbers that stays."""
    held = [axis for axis in range(len(grid.dims)) if axis not in grid.moving]
    first, columns = 0, None
    for factors in grid.shape:
        if len(factors) == 1 and first in held and factors[0].old in _PAIRS:
            columns = held.index(first)
        first += len(factors)
    numbers = []
    positions = np.ndindex(*[grid.dims[axis].old or 1 for axis in held])
    for position, channel in zip(positions, grid.channels, strict=True):
        box = position if columns is None else position[:columns] + position[columns + 1 :]
        numbers.append(_Number(grid, channel, None if columns is None else position[columns], box))
    return numbers


def _numbers(table: Table) -> Iterator[_Number]:
    """The numbers of a table that stand everywhere."""
    for grid in _grids(table):
        yield from (one for one in _placed(grid) if one.channel.sequence is None and one.value)


def _is_share(flow: Flow, number: _Number) -> bool:
    grid = number.grid
    return not is_size_free(flow.sizes, number.value, tuple(grid.dims[axis] for axis in grid.moving))


# ---- centres ----


def _with_single_cells(table: Table) -> Table:
    """The centre of the only cell of a map is a number; where other maps count cells in its column, it is counted, too.

    Raises NoGridError where it is no centre."""
    counted: dict[int, Channel] = {}
    for grid in _grids(table):
        for one in _placed(grid):
            if one.column is not None and one.channel.sequence is not None and one.channel.axis is not None:
                counted.setdefault(one.column, one.channel)

    def change(grid: Grid) -> Grid:
        channels = [_counted(one, None if one.column is None else counted.get(one.column)) for one in _placed(grid)]
        return grid._replace(channels=tuple(channels))

    return _changed(table, change) if isinstance(table, Joined) else table


def _counted(one: _Number, like: Channel | None) -> Channel:
    if one.channel.sequence is not None or like is None or like.sequence is None or like.axis is None:
        return one.channel
    moving = one.grid.moving
    if like.axis >= len(moving) or one.grid.dims[moving[like.axis]].old != 1:
        return one.channel
    if like.share is not None or like.sequence.make(1, one.grid.dtype)[0] != one.channel.value:
        raise NoGridError
    return one.channel._replace(axis=like.axis, sequence=like.sequence)


def _centre_ways(flow: Flow, table: Table) -> dict[str, Table]:
    """The table by what its centres are shares of: one where a map says so, or there are none. Raises NoGridError where
    two maps say different things."""
    said = set()
    for grid in _grids(table):
        for channel in grid.channels:
            if channel.share is not None:
                said.add(_OF_IMAGE)
            elif _is_centre(channel) and _image_share(flow, grid, channel) is None:
                said.add(_OF_MAP)
    if len(said) > 1:
        raise NoGridError

    def change(grid: Grid) -> Grid:
        return grid._replace(channels=tuple(_of_image(flow, grid, channel) for channel in grid.channels))

    of_image = _changed(table, change)
    ways: dict[str, Table] = {_OF_MAP: table, _OF_IMAGE: of_image}
    if said:
        return {name: ways[name] for name in said}
    return {_OF_MAP: table} if of_image == table or _is_every_cell(flow, table) else ways


def _is_centre(channel: Channel) -> bool:
    one = channel.sequence
    return one is not None and (one.form, one.factor, one.offset, one.centre) == ("shares", 1.0, 0.0, CENTRES.centre)


def _image_share(flow: Flow, grid: Grid, channel: Channel) -> Share | None:
    """The stride over the side, where so many pixels of each cell are the whole side here."""
    dim = grid.dims[grid.moving[channel.axis or 0]]
    stride = flow.sizes.stride(dim)
    for side in flow.sizes.sides if stride is not None else ():
        if flow.sizes.follows(dim, str(side.data)) and (dim.old or 0) * (stride or 0) == side.old:
            return Share(stride or 1, side)
    return None


def _of_image(flow: Flow, grid: Grid, channel: Channel) -> Channel:
    share = _image_share(flow, grid, channel) if _is_centre(channel) and channel.share is None else None
    return channel if share is None else channel._replace(sequence=CENTRES, share=share)


def _is_every_cell(flow: Flow, table: Table) -> bool:
    """Whether every cell is one pixel: its centre is the same share of both."""
    shares = (_image_share(flow, grid, one) for grid in _grids(table) for one in grid.channels if _is_centre(one))
    return all(share is not None and share.pixels == 1 for share in shares)


def _centres_as_chosen(flow: Flow, label: str, centres: dict[str, Table]) -> Table:
    """The centres as the user says; else they are shares of the map, and noted as open: at sizes of the input that the
    strides divide they are the same."""
    said = flow.choices.of(label)
    return centres[said] if said in centres else _noted(flow, label, centres[_OF_MAP], centres[_OF_IMAGE])


def _noted(flow: Flow, label: str, table: Table, of_image: Table) -> Table:
    """The table, its centres noted as open."""
    for grid in _grids(of_image):
        for channel in grid.channels:
            if channel.share is not None and channel.axis is not None:
                dim = grid.dims[grid.moving[channel.axis]]
                flow.centres.append((label, dim, channel.share.pixels, channel.share.side))
    return table


def ask_for_centres(label: str, stride: float) -> SizeRefusedError:
    """The question where a stride does not divide the input."""
    meanings = {name: Diagnostic(code) for name, code in _CENTRES.items()}
    return asked(label, stride, "origins.input-size-centres", meanings, stride=f"{stride:g}")


# ---- sizes ----


def _in_pixels(flow: Flow, table: Table) -> dict[str, Table]:
    """The table with the same pixels at any size, by the name of each reading that makes the file's numbers."""
    ways: dict[str, Table] = {}
    for name, order in _ORDERS.items() if flow.sizes.sides else ():
        with contextlib.suppress(NoGridError):
            cuts = [_cut_of(flow, grid, order) for grid in _grids(table)]
            stated = {cut for cut in cuts if cut is not None}
            if len(stated) > 1:
                raise NoGridError
            for cut in stated or (False, True):
                changed = _changed(table, partial(_sized, flow, order, 1.0 if cut else None))
                ways[name + _CUT if cut else name] = changed
    return ways


def _sized(flow: Flow, order: Order, most: float | None, grid: Grid) -> Grid:
    """A grid whose numbers are pixels over the sides in this order. Raises NoGridError where they are not."""
    numbers = _placed(grid)
    channels = [
        one.channel
        if one.channel.sequence is not None or not one.value
        else one.channel._replace(share=_share(flow, order, one, numbers)._replace(most=most))
        for one in numbers
    ]
    return grid._replace(channels=tuple(channels))


def _share(flow: Flow, order: Order, one: _Number, numbers: Sequence[_Number]) -> Share:
    """The pixels of a number; of one that is the whole side, those of the other side of its box."""
    side = _side_of(flow, order, one)
    if one.value == 1:
        other_column = (one.column or 0) ^ 1
        opposite = next((other for other in numbers if other.box == one.box and other.column == other_column), None)
        share = _share(flow, order, opposite, ()) if opposite is not None and 0 < opposite.value < 1 else None
        if share is None or share.pixels < (side.old or 0):
            raise NoGridError
        return Share(share.pixels, side)
    exact = one.value * (side.old or 0)
    whole = Share(round(exact), side)
    if abs(exact - whole.pixels) < _WHOLE and one.grid.dtype.type(whole.make(_old)) == one.channel.value:
        return whole
    if _is_share(flow, one):
        raise NoGridError
    return Share(exact, side)


def _cut_of(flow: Flow, grid: Grid, order: Order) -> bool | None:
    """Whether boxes are cut at the whole image; None where no box is larger."""
    numbers = _placed(grid)
    cuts = set()
    for one in numbers:
        if one.channel.sequence is None and one.value >= 1:
            larger = one.value > 1 or _share(flow, order, one, numbers).pixels > (_side_of(flow, order, one).old or 0)
            cuts |= {one.value == 1} if larger else set()
    if len(cuts) > 1:
        raise NoGridError
    return next(iter(cuts), None)


def _side_of(flow: Flow, order: Order, one: _Number) -> Dim:
    name = order[(one.column or 0) % 2]
    old = flow.images[0].old(name)
    if old is None or one.column is None:
        raise NoGridError
    return flow.sizes.symbol(name) if name in flow.sizes.symbols else flow.sizes.const(old)


def _old(dim: Dim) -> int:
    return dim.old or 1
