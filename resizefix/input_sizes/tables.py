"""Constant tensors made for one size of the input: how they are made for another.

The axes of a table are taken apart into the factors and parts of their sizes: a list of boxes over three maps becomes
three grids. Of each grid every channel must be one number everywhere, or a `Sequence` along one axis.
"""

import contextlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.input_sizes.sequences import Sequence, chosen, readings
from resizefix.shapes.expression import Dim
from resizefix.shapes.sizes import Sizes

Length = Callable[[Dim], int]


_MIDDLE = 0.5
_TELLING = 3  # rows of windows: that all but the last are alike is seen of so many
_WHOLE = 1e-3  # a share of so many pixels is taken for a whole number of them
CENTRES = Sequence("shares", "float64", centre=_MIDDLE)
_SURE = 4  # of so many samples, all multiples of the second


class NoGridError(Exception):
    """The table is not one that can be made for another size."""


class Share(NamedTuple):
    """Pixels over a side of the image; a larger share than `most` is that."""

    pixels: float
    side: Dim
    most: float | None = None

    def make(self, length: Length, count: Array | float = 1.0) -> Any:
        """So many times this share, in float64."""
        made = np.asarray(count, np.float64) * self.pixels / length(self.side)
        return made if self.most is None else np.minimum(made, self.most)


class Channel(NamedTuple):
    """One channel of a grid: a number everywhere, or a sequence along one of the moving axes. `share`: the number, or
    the step of a sequence of shares, as pixels of the image."""

    value: np.generic
    axis: int | None = None
    sequence: Sequence | None = None
    share: Share | None = None

    def row(self, count: int, dtype: np.dtype[np.generic], length: Length) -> Array:
        """The sequence of so many positions."""
        assert self.sequence is not None
        if self.share is None:
            return self.sequence.make(count, dtype)
        return np.asarray(self.share.make(length, np.arange(count) + self.sequence.centre)).astype(dtype)


class Grid(NamedTuple):
    """A table whose axes are the factors `dims`; `moving` of them follow the input. `channels` has one entry for each
    position on the others, in their order. `merged`: the moving axes are one after another, and count as one."""

    shape: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...]
    moving: tuple[int, ...]
    channels: tuple[Channel, ...]
    dtype: np.dtype[np.generic]
    merged: bool = False

    def make(self, length: Length) -> Array:
        """The grid at the lengths of another size."""
        lengths = [length(dim) for dim in self.dims]
        held = [axis for axis in range(len(self.dims)) if axis not in self.moving]
        made = np.empty(lengths, self.dtype)
        moved = [lengths[axis] for axis in self.moving]
        view = np.moveaxis(made, [*held, *self.moving], range(len(lengths)))
        for position, channel in zip(np.ndindex(*[lengths[axis] for axis in held]), self.channels, strict=True):
            if channel.sequence is None or channel.axis is None:
                view[position] = channel.value if channel.share is None else channel.share.make(length)
            elif self.merged:
                view[position] = channel.sequence.make(int(np.prod(moved)), self.dtype).reshape(moved)
            else:
                row = channel.row(moved[channel.axis], self.dtype, length)
                view[position] = _along(row, channel.axis, len(moved))
        return made.reshape(merged_lengths(self.shape, length))


class Joined(NamedTuple):
    """Tables one after another on an axis."""

    axis: int
    parts: "tuple[Table, ...]"

    def make(self, length: Length) -> Array:
        """The table at the lengths of another size."""
        return np.concatenate([part.make(length) for part in self.parts], self.axis)


@dataclass
class KnownTable:
    """What the recognised tables of a model are made of: what is certain of one decides about another."""

    sequences: list[Sequence] = field(default_factory=list)
    masks: list[bytes] = field(default_factory=list)


class WindowMasks(NamedTuple):
    """Masks of shifted windows: a map is rolled before it is cut into windows, so that the last row and column hold
    samples of both ends, which must not see each other (Swin and its kin). All other windows have one mask.

    The axes are `dims`, of which the two in `moving` are rows and columns of windows. `masks` has two of
    each: all but the last, and the last."""

    shape: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...]
    moving: tuple[int, ...]
    masks: Array

    def make(self, length: Length) -> Array:
        """The masks of another number of windows."""
        made = self.masks
        for axis in self.moving:
            count = length(self.dims[axis])
            made = made.take(np.arange(count) == count - 1, axis)
        return made.reshape(merged_lengths(self.shape, length))


Table = Grid | Joined | WindowMasks


def recognised(sizes: Sizes, array: Array, dims: tuple[Dim, ...], known: KnownTable) -> Table:
    """How a table is made. Raises NoGridError. `known` gets what is found here."""
    for axis, dim in enumerate(dims):
        found = sizes.resolve(dim)
        if found.kind == "joined" and sizes.varies(found):
            with contextlib.suppress(NoGridError):
                return _counted(sizes, array, dims, found, known)
            return _joined(sizes, array, dims, axis, known)
    masks = window_masks(sizes, array, dims, known.masks)
    if masks is not None:
        return masks
    return _grid(sizes, array, dims, known)


def _counted(sizes: Sizes, array: Array, dims: tuple[Dim, ...], joined: Dim, known: KnownTable) -> Grid:
    """A table that counts on over all parts of a joined axis, as over the halves of a map. Raises NoGridError."""
    found = KnownTable([*known.sequences], known.masks)
    made = _grid(sizes, array, dims, found)
    along = {None if one.axis is None else made.dims[made.moving[one.axis]] for one in made.channels}
    if joined not in along or max(part.old or 0 for part in joined.parts) < 2:
        raise NoGridError
    known.sequences[:] = found.sequences
    return made


def _joined(sizes: Sizes, array: Array, dims: tuple[Dim, ...], axis: int, known: KnownTable) -> Table:
    parts = sizes.resolve(dims[axis]).parts
    if any(part.old is None or part.old < 1 for part in parts):
        raise NoGridError
    ends = np.cumsum([part.old or 0 for part in parts])[:-1]
    pieces = np.split(array, ends, axis)
    # The longest first: what is certain of them decides about the short ones.
    order = sorted(range(len(parts)), key=lambda place: -pieces[place].shape[axis])
    made: dict[int, Table] = {}
    for place in order:
        inner = (*dims[:axis], parts[place], *dims[axis + 1 :])
        made[place] = recognised(sizes, pieces[place], inner, known)
    return Joined(axis, tuple(made[place] for place in range(len(parts))))


def _grid(sizes: Sizes, array: Array, dims: tuple[Dim, ...], known: KnownTable) -> Grid:
    """Positions on whole axes of an enlarged map, or else on each of their factors. Raises NoGridError."""
    shape = tuple(tuple(sizes.atoms(dim)) for dim in dims)
    whole = tuple(tuple(_enlarged(sizes, factors)) for factors in shape)
    if whole != shape:
        found = KnownTable([*known.sequences], known.masks)
        with contextlib.suppress(NoGridError):
            made = _grid_of(sizes, array, whole, found)
            known.sequences[:] = found.sequences
            return made
    return _grid_of(sizes, array, shape, known)


def _enlarged(sizes: Sizes, factors: tuple[Dim, ...]) -> list[Dim]:
    """The factors, those that stay as one with the one before them that moves: twice the size of a map, say."""
    made: list[Dim] = []
    for factor in factors:
        if made and sizes.fixed(made[-1]) is None and sizes.fixed(factor) is not None:
            made[-1] = sizes.product([made[-1], factor])
        else:
            made.append(factor)
    return made


def _grid_of(sizes: Sizes, array: Array, shape: tuple[tuple[Dim, ...], ...], known: KnownTable) -> Grid:
    factors = tuple(itertools.chain(*shape))
    lengths = [factor.old for factor in factors if factor.old is not None]
    if len(lengths) < len(factors) or math.prod(lengths) != array.size:  # no lengths, or those of a broken file
        raise NoGridError
    moving = tuple(axis for axis, factor in enumerate(factors) if sizes.fixed(factor) is None)
    held = [axis for axis in range(len(factors)) if axis not in moving]
    spread = array.reshape(lengths)
    view = np.moveaxis(spread, [*held, *moving], range(len(factors)))
    rest = view.shape[: len(held)]
    if int(np.prod(rest, dtype=object)) > 1 << 12:
        raise NoGridError
    rows = view.reshape(*rest, -1)
    merged = len(moving) > 1 and bool(np.all(rows == np.arange(rows.shape[-1])))  # each counts over all positions
    if merged:
        sequence = Sequence("steps", "float64" if array.dtype.kind == "f" else "int64")
        channels = [Channel(view[position].flat[0], 0, sequence) for position in np.ndindex(*rest)]
    else:
        along = tuple(factors[axis] for axis in moving)
        channels = _of_one_kind(sizes, [view[position] for position in np.ndindex(*rest)], along, known)
    return Grid(shape, factors, moving, tuple(channels), array.dtype, merged)


def _of_one_kind(sizes: Sizes, blocks: list[Array], dims: tuple[Dim, ...], known: KnownTable) -> list[Channel]:
    """All channels, along moving axes of these sizes, in the arithmetic of one type where one makes them all: nodes for
    any size compute in one."""
    made = _channels(sizes, blocks, dims, known, None)
    for kind in ("float32", "float64"):
        if len({one.sequence.dtype for one in made if one.sequence is not None}) <= 1:
            break
        with contextlib.suppress(NoGridError):
            made = _channels(sizes, blocks, dims, known, kind)
    return made


def _channels(
    sizes: Sizes, blocks: list[Array], dims: tuple[Dim, ...], known: KnownTable, kind: str | None
) -> list[Channel]:
    """Each channel by itself; beside one that counts positions, another is these times a number, and no share."""
    found: list[Channel | None] = []
    for block in blocks:
        try:
            found.append(_channel(sizes, block, dims, known, kind))
        except NoGridError:
            found.append(None)
    axes = {one.axis for one in found if one is not None and one.sequence == Sequence("steps", "float32")}
    made: list[Channel] = []
    for one, block in zip(found, blocks, strict=True):
        spans = one is not None and one.axis in axes and one.sequence is not None and not one.sequence.is_absolute
        made.append(one if one is not None and not spans else _multiple(block, axes))
    return made


def _multiple(block: Array, axes: set[int | None]) -> Channel:
    """Positions times a number, in float32, along an axis on which another channel counts them. Raises NoGridError."""
    for axis in axes:
        if axis is None or block.dtype != np.float32 or block.shape[axis] < _SURE:
            continue
        row = _row(block, axis)
        sequence = Sequence("steps", "float32", float(row[1]))
        if np.all(block == _along(sequence.make(len(row), block.dtype), axis, block.ndim)):
            return Channel(block.flat[0], axis, sequence)
    raise NoGridError


def _row(block: Array, axis: int) -> Array:
    """The first samples along an axis."""
    row: Array = block[tuple(slice(None) if at == axis else 0 for at in range(block.ndim))]
    return row


def _along(row: Array, axis: int, rank: int) -> Array:
    """A row as it is broadcast over a block of this rank, along one of its axes."""
    return row.reshape([-1 if at == axis else 1 for at in range(rank)])


def _channel(sizes: Sizes, block: Array, dims: tuple[Dim, ...], known: KnownTable, kind: str | None) -> Channel:
    value = block.flat[0]
    if np.all(block == value):
        return Channel(value)
    for axis in range(len(dims)):
        row = _row(block, axis)
        if np.all(block == _along(row, axis, block.ndim)):
            sequence = chosen(row, known.sequences, kind)
            share = _centres_of_image(sizes, row, dims[axis]) if sequence is None else None
            if share is not None:
                return Channel(value, axis, CENTRES, share)
            if sequence is None or not _is_told(sizes, sequence, len(row), dims[axis], known):
                raise NoGridError
            if not sequence.is_absolute and _is_span_of_image(sizes, sequence):
                raise NoGridError
            if len(row) > 3:
                known.sequences.append(sequence)
            return Channel(value, axis, sequence)
    raise NoGridError


def _centres_of_image(sizes: Sizes, row: Array, dim: Dim) -> Share | None:
    """The stride over the image's side, where a row has the centres of cells of that many pixels."""
    stride = sizes.stride(dim)
    for side in sizes.sides if stride is not None and row.dtype.kind == "f" else ():
        share = Share(stride or 1, side)
        made = np.asarray(share.make(lambda one: one.old or 1, np.arange(len(row)) + CENTRES.centre))
        if sizes.follows(dim, str(side.data)) and np.array_equal(made.astype(row.dtype), row):
            return share
    return None


def _is_told(sizes: Sizes, sequence: Sequence, length: int, dim: Dim, known: KnownTable) -> bool:
    """Whether a row counts in steps. Any two numbers make a step: it must be 1, the stride, or that of another row."""
    steps = {1.0, sizes.stride(dim), *(other.factor for other in known.sequences if other.is_absolute)}
    return length > 2 or not sequence.is_absolute or sequence.factor in steps


def _is_span_of_image(sizes: Sizes, sequence: Sequence) -> bool:
    """Whether a row leads up to a size of the image or the last of its pixels, which another size has elsewhere."""
    sides = {side - less for side in sizes.symbols.values() for less in (0, 1)}
    return abs(sequence.factor) in sides and abs(sequence.factor) > _SURE


def is_size_free(sizes: Sizes, value: float, dims: tuple[Dim, ...]) -> bool:
    """Whether a number that stands everywhere is no share of the image or the map. A share is below 1, and a whole
    number of pixels or samples, as 30 of 300."""
    if abs(value) in (0.0, _MIDDLE) or abs(value) >= 1 or not np.isfinite(value):
        return True
    sides = {*sizes.symbols.values(), *(dim.old or 1 for dim in dims)}
    return all(abs(value * side - round(value * side)) > _WHOLE for side in sides)


def may_be_grid(array: Array, axis: int, lengths: tuple[int, ...]) -> bool:
    """Whether a constant could be a table of positions on an axis of these factors: linear in each, or the same."""
    if array.dtype.kind not in "fiu" or any(length < 1 for length in lengths):
        return False
    if may_be_masks(array, axis, lengths):
        return True
    shape = (*array.shape[:axis], *lengths, *array.shape[axis + 1 :])
    spread = array.reshape(shape).astype(np.float64)
    for place, length in enumerate(lengths):
        lines = np.moveaxis(spread, axis + place, -1)
        if length > 2:
            bend = np.abs(np.diff(lines, 2, axis=-1)).max(initial=0)
            if bend > 1e-4 * max(1e-30, float(np.abs(lines).max(initial=0))):
                return False
        elif length == 2:
            flat = lines.reshape(-1, 2)
            if not all(len(set(row)) == 1 or readings(row.astype(array.dtype)) for row in flat[:64]):
                return False
    return True


def merged_lengths(shape: tuple[tuple[Dim, ...], ...], length: Length) -> list[int]:
    """The lengths of axes that are made of these factors."""
    return [math.prod(length(dim) for dim in factors) for factors in shape]


def window_masks(sizes: Sizes, array: Array, dims: tuple[Dim, ...], known: list[bytes]) -> WindowMasks | None:
    """How a table is such masks; None where it is not. `known` are those found so far: they decide where there are two
    rows or columns of windows, of which the first could be any."""
    shape = tuple(tuple(sizes.atoms(dim)) for dim in dims)
    factors = [factor for axis in shape for factor in axis]
    moving = tuple(axis for axis, factor in enumerate(factors) if sizes.fixed(factor) is None)
    counts = [factors[axis].old or 0 for axis in moving]
    if len(moving) != 2 or moving[1] != moving[0] + 1 or min(counts) < 2 or len(np.unique(array)) != 2:
        return None
    spread = array.reshape([factor.old or 1 for factor in factors])
    if not all(_is_alike(spread, axis) for axis in moving):
        return None
    if all(np.array_equal(spread.take(0, axis), spread.take(-1, axis)) for axis in moving):
        return None  # numbers that stand everywhere
    masks = spread
    for axis in moving:
        masks = masks.take([0, masks.shape[axis] - 1], axis)
    pattern = repr(masks.squeeze().shape).encode() + masks.tobytes()
    if min(counts) < _TELLING and pattern not in known:
        return None
    known.append(pattern)
    return WindowMasks(shape, tuple(factors), moving, masks)


def _is_alike(array: Array, axis: int) -> bool:
    """Whether all but the last on an axis are the same."""
    lines = np.moveaxis(array, axis, 0)[:-1]
    return bool(np.all(lines == lines[:1]))


def may_be_masks(array: Array, axis: int, lengths: tuple[int, ...]) -> bool:
    """Whether a constant could hold a mask for each window on an axis of these factors."""
    if len(lengths) != 2 or min(lengths) < 2 or array.ndim < 3 or len(np.unique(array)) != 2:
        return False
    spread = array.reshape((*array.shape[:axis], *lengths, *array.shape[axis + 1 :]))
    return _is_alike(spread, axis) and _is_alike(spread, axis + 1)
