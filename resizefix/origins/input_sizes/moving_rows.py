"""Operators that move, cut, join or repeat elements: what becomes of the sizes of their axes."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.operator_semantics.moving import slice_positions
from resizefix.origins.input_sizes.dim import Dim
from resizefix.origins.input_sizes.node_reading import DimList, NodeReading, UnknownRankError, axis_of

_ENDLESS = 2**31 - 1
# Up to here the first or last samples of an axis are tokens, margins and shifts rather than a part of an image.
_FEW = 8


def transpose(n: NodeReading) -> list[DimList]:
    """perm, by default reversed."""
    dims = n.dims(0)
    perm = n.attribute("perm", list(range(len(dims)))[::-1])
    return [tuple(dims[axis] for axis in perm)]


def squeeze(n: NodeReading) -> list[DimList]:
    """Drops axes of one sample."""
    dims = n.dims(0)
    given = n.numbers(1, "axes")
    axes = (
        [axis for axis, dim in enumerate(dims) if dim.old == 1]
        if given is None
        else [axis_of(axis, len(dims)) for axis in given]
    )
    for axis in axes:
        n.require(dims[axis], "that its axis has one sample")
    return [tuple(dim for axis, dim in enumerate(dims) if axis not in axes)]


def unsqueeze(n: NodeReading) -> list[DimList]:
    """New axes of one sample."""
    dims = n.dims(0)
    given = n.numbers(1, "axes") or []
    rank = len(dims) + len(given)
    new = {axis_of(axis, rank) for axis in given}
    old = iter(dims)
    return [tuple(n.const(1) if axis in new else next(old) for axis in range(rank))]


def concat(n: NodeReading) -> list[DimList]:
    """Sizes agree on every other axis."""
    many = [n.dims(position) for position in range(len(n)) if n.has(position)]
    many = [dims for dims in many if not (len(dims) == 1 and dims[0].old == 0)] or many[:1]
    rank = len(many[0])
    if any(len(dims) != rank for dims in many):
        raise UnknownRankError
    axis = axis_of(n.attribute("axis", 1), rank)
    made: list[Dim] = []
    for position in range(rank):
        column = [dims[position] for dims in many]
        if position == axis:
            made.append(n.sizes.joined(column))
            continue
        for dim in column[1:]:
            n.meet(column[0], dim)
        moving = [dim for dim in column if n.sizes.varies(dim)]
        made.append(n.sizes.resolve((moving or column)[0]))
    return [tuple(made)]


def split(n: NodeReading) -> list[DimList]:
    """Parts of given or of equal length."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", 0), len(dims))
    dim = dims[axis]
    listed = n.numbers(1, "split")
    if listed is None:
        count = len(n.node.output)
        part = n.sizes.quotient(dim, n.const(count))
        if dim.old is None or dim.old % count:
            raise UnknownRankError
        return [(*dims[:axis], part, *dims[axis + 1 :])] * count
    parts = _parts(n, dim, listed)
    lengths = n.listed(1) if n.has(1) else n.listed_attribute("split") or []
    for found, given in zip(parts, lengths, strict=True):
        n.meet(given, found)
    return [(*dims[:axis], part, *dims[axis + 1 :]) for part in parts]


def _parts(n: NodeReading, dim: Dim, lengths: Sequence[int]) -> list[Dim]:
    """The parts of an axis: those that it was joined of, where their lengths say so; else the last takes the rest."""
    if n.sizes.fixed(dim) is not None:
        return [n.const(length) for length in lengths]
    ends = [_prefix(n, dim, sum(lengths[: place + 1])) for place in range(len(lengths))]
    if all(end is not None for end in ends):
        starts = [n.const(0), *ends[:-1]]
        return [n.sizes.minus(end, start) for end, start in zip(ends, starts, strict=True) if end and start]
    unknowns = n.sizes.unknowns(dim)
    if unknowns and not n.sizes.varies(dim):
        n.require(dim, "the lengths of its parts")
        return [n.const(length) for length in lengths]
    few = [length for length in lengths if _is_few(length, dim.old or 0)]
    if len(few) == len(lengths) - 1:
        rest = n.sizes.plus(dim, -sum(few))
        return [n.const(length) if _is_few(length, dim.old or 0) else rest for length in lengths]
    raise n.refuse("origins.input-size-cut", old=dim.old, numbers=list(lengths))


def _prefix(n: NodeReading, dim: Dim, length: int) -> Dim | None:
    """The first `length` samples of an axis, where that is where one of its joined parts ends."""
    if length == dim.old:
        return dim
    if length == 0:
        return n.const(0)
    dim = n.sizes.resolve(dim)
    if dim.kind != "joined":
        return None
    for count in range(1, len(dim.parts)):
        found = n.sizes.joined(dim.parts[:count])
        if found.old == length:
            return found
    return None


def slice_(n: NodeReading) -> list[DimList]:
    """Cuts axes; what is cut off at numbers that depend on the input's size follows it."""
    dims = list(n.dims(0))
    in_attributes = n.attribute("starts") is not None
    if in_attributes:
        starts, ends = n.listed_attribute("starts") or [], n.listed_attribute("ends") or []
        axes = n.attribute("axes", list(range(len(starts))))
        steps = [1] * len(starts)
    else:
        starts, ends = n.listed(1), n.listed(2)
        axes = n.numbers(3) or list(range(len(starts)))
        steps = n.numbers(4) or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        place = axis_of(axis, len(dims))
        if n.solver.is_weight(dims[place]):
            n.require(dims[place], "the numbers of a constant")
        dims[place] = _cut(n, dims[place], start, end, step)
    return [tuple(dims)]


def _cut(n: NodeReading, dim: Dim, start: Dim, end: Dim, step: int) -> Dim:
    sizes, old = n.sizes, dim.old
    if old is None or start.old is None or end.old is None:
        return sizes.opaque()
    if sizes.fixed(dim) is not None and sizes.fixed(end) is None and not sizes.unknowns(end) and dim.old == end.old:
        raise n.refuse("origins.input-size-cut", old=old, numbers=[start.old, end.old])
    if sizes.fixed(dim) is not None:
        return n.const(len(slice_positions(start.old, end.old, step, old)))
    if step < 0:
        if start.old in (-1, old - 1, _ENDLESS) and (end.old < -old or abs(end.old) >= _ENDLESS - 1) and step == -1:
            return dim
        raise n.refuse("origins.input-size-cut", old=old, numbers=[start.old, end.old])
    first = _first(n, dim, start)
    if (
        first.kind != "const"
        and first.old == start.old
        and _is_few(start.old, old)
        and n.sizes.resolve(start).kind == "var"
    ):
        n.require(start, "where its cut begins")
        first = n.sizes.resolve(start)
    last = _last(n, dim, start, end)
    if last is None:
        # A part in the middle or at the beginning: how long it is, something else decides.
        length = sizes.var((end.old if end.old >= 0 else end.old + old) - (first.old or 0))
        n.solver.candidates[length] = []
        n.flow.cuts.append((n.label, dim, first, length))
        n.meet(end, sizes.total([first, length]))
        return sizes.ceil_div(length, step)
    found = sizes.minus(last, first) if sizes.fixed(first) != 0 else last
    return sizes.ceil_div(found, step)


def _first(n: NodeReading, dim: Dim, start: Dim) -> Dim:
    old, number = dim.old or 0, start.old or 0
    if number < 0:
        _margin(n, dim, -number)
        return n.sizes.greatest(n.sizes.plus(dim, number), n.const(0))
    found = _prefix(n, dim, number) if number else n.const(0)
    if number >= old:
        return dim
    if found is not None and number:
        n.meet(start, found)
        return found
    if n.sizes.resolve(start).kind == "var" and not _is_few(number, old):
        if 2 * number != old or number <= _FEW:
            raise n.refuse("origins.input-size-cut", old=old, numbers=[number])
        n.flow.halves.append((n.label, start, dim))
    return start


def _margin(n: NodeReading, dim: Dim, number: int) -> None:
    """Samples counted from the end: a margin, unless they are half of an axis or many."""
    old = dim.old or 0
    if 1 < number < old and n.sizes.fixed(dim) is None and (2 * number == old or number > _FEW):
        raise n.refuse("origins.input-size-cut", old=old, numbers=[-number])


def _is_few(number: int, old: int) -> bool:
    """Whether so many samples at an end of an axis are tokens or a margin, and no share of it."""
    return number <= 1 or (number <= _FEW and 4 * number <= old)


def _last(n: NodeReading, dim: Dim, start: Dim, end: Dim) -> Dim | None:
    """Where a cut ends; None for a number before the end of the axis that nothing explains."""
    old, number = dim.old or 0, end.old or 0
    if number >= _ENDLESS or number > old:
        return dim
    if number == old and start.old == 0 and n.sizes.resolve(end).kind == "var":
        return None  # it cuts nothing here, and may at another size
    if number < 0:
        _margin(n, dim, -number)
        return n.sizes.plus(dim, number)
    if n.sizes.resolve(end).kind != "var":
        if n.sizes.varies(end) or _is_few(number, old):
            return end
        found = _prefix(n, dim, number)
        if found is not None and n.sizes.unknowns(end):
            n.meet(end, found)
        return found
    found = _prefix(n, dim, number)
    if found is not None:
        n.meet(end, found)
        return found
    return end if _is_few(number, old) else None


def gather(n: NodeReading) -> list[DimList]:
    """The indices' sizes stand for the axis."""
    dims, indices = n.dims(0), n.dims(1)
    axis = axis_of(n.attribute("axis", 0), len(dims))
    if n.sizes.fixed(dims[axis]) is None and n.flow.operands.is_constant(n.node.input[1]):
        numbers = n.numbers(1) or []
        if any(number >= _FEW for number in numbers):
            n.flow.positions.append((n.label, dims[axis], indices))
            for dim in indices[:-1]:  # of unfold: as many as the kernel has, then the windows
                n.require(dim, "the size of its window")
            indices = tuple(n.sizes.resolve(dim) for dim in indices)
    return [(*dims[:axis], *indices, *dims[axis + 1 :])]


def gather_elements(n: NodeReading) -> list[DimList]:
    """The sizes are those of the indices."""
    return [n.dims(1)]


def gather_nd(n: NodeReading) -> list[DimList]:
    """The indices' sizes but the last, then what they leave of the data."""
    dims, indices = n.dims(0), n.dims(1)
    batch = n.attribute("batch_dims", 0)
    return [(*indices[:-1], *dims[batch + (indices[-1].old or 0) :])]


def scatter(n: NodeReading) -> list[DimList]:
    """The sizes of the data; constant positions hold for one size alone."""
    dims = n.dims(0)
    if any(n.sizes.fixed(dim) is None for dim in dims) and n.flow.operands.is_constant(n.node.input[1]):
        shape = n.flow.operands.shape_of(n.node.input[1])
        array = n.flow.operands.array(n.node.input[1])
        if array is None or (len(shape) and array.size > 0 and int(array.max()) >= _FEW):
            raise n.refuse("origins.input-size-indices", old=max(dim.old or 0 for dim in dims))
    return [dims]


def tile(n: NodeReading) -> list[DimList]:
    """Each axis so many times, one after another."""
    dims = n.dims(0)
    pattern = not n.flow.is_moving(n.node.input[0])
    made: list[Dim] = []
    for count, dim in zip(n.listed(1), dims, strict=True):
        if pattern:  # a few numbers for each position: how often they are repeated may follow the input
            n.require(dim, "the numbers of a constant")
        elif dim.old != 1:  # what is longer than one sample is repeated so many times at any size
            n.require(count, "its repeats")
        made.append(n.sizes.product([count, dim]))
    return [tuple(made)]


def expand(n: NodeReading) -> list[DimList]:
    """Broadcast to a shape: a 1 in it keeps the axis."""
    dims, shape = n.dims(0), n.listed(1)
    rank = max(len(dims), len(shape))
    made: list[Dim] = []
    for axis in range(rank):
        own = dims[axis - rank + len(dims)] if axis >= rank - len(dims) else None
        wanted = shape[axis - rank + len(shape)] if axis >= rank - len(shape) else None
        made.append(n.common([dim for dim in (own, wanted) if dim is not None]))
    return [tuple(made)]


def pad(n: NodeReading) -> list[DimList]:
    """Amounts before and behind each axis."""
    dims = n.dims(0)
    amounts = n.listed(1) if n.has(1) else n.listed_attribute("pads") or n.listed_attribute("paddings") or []
    given = n.numbers(3)
    axes = list(range(len(dims))) if given is None else [axis_of(axis, len(dims)) for axis in given]
    made = list(dims)
    count = len(axes)
    # As much on both sides was written so; what lacks on one side, or nothing at all, can be what a size lacked.
    even = all(amounts[place].old == amounts[place + count].old for place in range(count))
    if even and any(amount.old for amount in amounts):
        for amount in amounts:
            if n.sizes.resolve(amount).kind == "var":
                n.require(amount, "its pads")
    for place, axis in enumerate(axes):
        made[axis] = n.flow.padded(n, dims[axis], amounts[place], amounts[place + count])
        if amounts[place].old == amounts[place + count].old and amounts[place].old:
            _note_windows(n, axis, dims[axis], amounts[place].old or 0)
    return [tuple(made)]


def _note_windows(n: NodeReading, axis: int, dim: Dim, amount: int) -> None:
    """An axis that is padded evenly in front of a convolution or pool that pads nothing itself."""
    for reader in n.flow.readers(n.node.output[0]):
        listed = {a.name: list(a.ints) for a in reader.attribute if a.name in _WINDOW}
        kernel = listed.get("kernel_shape", [])
        place = axis - 2
        if (
            reader.op_type in ("Conv", "MaxPool", "AveragePool")
            and 0 <= place < len(kernel)
            and not any(listed.get("pads", []))
        ):
            strides, dilations = (listed.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
            extent = dilations[place] * (kernel[place] - 1) + 1
            n.flow.even_pads.append((n.label, dim, amount, extent, strides[place]))


_WINDOWS = ("Conv", "MaxPool", "AveragePool")
_WINDOW = ("kernel_shape", "strides", "dilations", "pads")


def constant_of_shape(n: NodeReading) -> list[DimList]:
    """A shape as a list."""
    return [tuple(n.listed(0))]


def range_(n: NodeReading) -> list[DimList]:
    """From a number in steps of another: as many as the limit says."""
    start, limit, step = (n.listed(position)[0] for position in range(3))
    for dim in (start, step):
        if n.sizes.resolve(dim).kind == "var":
            n.require(dim, "its start and step")
    first, by = n.sizes.fixed(start), n.sizes.fixed(step)
    if start.old == 0 and step.old == 1:
        return [(limit,)]
    if first is not None and by is not None and by > 0 and n.sizes.varies(limit):
        return [(n.sizes.ceil_div(n.sizes.plus(limit, -first), by),)]
    if all(n.sizes.fixed(dim) is not None for dim in (start, limit, step)) and step.old:
        return [(n.const(max(0, -(-((limit.old or 0) - (start.old or 0)) // step.old))),)]
    return [(n.sizes.opaque(),)]


def top_k(n: NodeReading) -> list[DimList]:
    """K of an axis; all of them where K is its length."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", -1), len(dims))
    count = n.listed(1)[0] if n.has(1) else n.const(n.attribute("k", 1))
    if count.old == dims[axis].old and n.sizes.fixed(dims[axis]) is None:
        raise n.refuse("origins.input-size-all-of-axis", old=count.old)
    return [(*dims[:axis], count, *dims[axis + 1 :])] * len(n.node.output)


def depth_to_space(n: NodeReading) -> list[DimList]:
    """Blocks of channels become blocks of samples."""
    dims, block = n.dims(0), n.attribute("blocksize")
    n.require(dims[1], "its block size")
    return [
        (dims[0], n.const((dims[1].old or 0) // block**2), *(n.sizes.product([d, n.const(block)]) for d in dims[2:]))
    ]


def space_to_depth(n: NodeReading) -> list[DimList]:
    """Blocks of samples become channels."""
    dims, block = n.dims(0), n.attribute("blocksize")
    channels = n.sizes.product([dims[1], n.const(block**2)])
    return [(dims[0], channels, *(n.sizes.quotient(d, n.const(block)) for d in dims[2:]))]


ROWS = {
    "Transpose": transpose,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    **dict.fromkeys(("Concat", "ConcatFromSequence"), concat),
    "Split": split,
    "Slice": slice_,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    **dict.fromkeys(("ScatterND", "ScatterElements", "Scatter"), scatter),
    "Tile": tile,
    "Expand": expand,
    "Pad": pad,
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    "TopK": top_k,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
