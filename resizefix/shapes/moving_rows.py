"""Operators that move, join or repeat elements: what becomes of the sizes of their axes."""

from collections.abc import Sequence
from functools import partial

from resizefix.shapes.cutting_rows import FEW
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import windows
from resizefix.shapes.reading import DimList, NodeSizes, Row, UnknownRankError, axis_of

LEAST_MULTIPLE = 8  # that maps are padded up to


def transpose(n: NodeSizes) -> list[DimList]:
    """perm, by default reversed."""
    dims = n.dims(0)
    perm = n.attribute("perm", list(range(len(dims)))[::-1])
    return [tuple(dims[axis] for axis in perm)]


def squeeze(n: NodeSizes) -> list[DimList]:
    """Drops axes of one sample."""
    dims = n.dims(0)
    given = n.numbers(1, "axes")
    ones = [axis for axis, dim in enumerate(dims) if dim.old == 1]
    axes = ones if given is None else [axis_of(axis, len(dims)) for axis in given]
    if any(dims[axis].old not in (1, None) for axis in axes):
        raise n.misfit(0)
    for axis in axes:
        n.require(dims[axis], "origins.one-sample")
    return [tuple(dim for axis, dim in enumerate(dims) if axis not in axes)]


def unsqueeze(n: NodeSizes) -> list[DimList]:
    """New axes of one sample."""
    dims = n.dims(0)
    given = n.numbers(1, "axes") or []
    rank = len(dims) + len(given)
    new = {axis_of(axis, rank) for axis in given}
    old = list(dims)
    return [tuple(n.const(1) if axis in new else old.pop(0) for axis in range(rank))]


def concat(n: NodeSizes) -> list[DimList]:
    """Sizes agree on every other axis. Of a quantized one every third input is joined, behind a scale and a zero."""
    places = range(2, len(n), 3) if n.node.op_type == "QLinearConcat" else range(len(n))
    many = [n.dims(position) for position in places if n.has(position)]
    many = [dims for dims in many if not (len(dims) == 1 and dims[0].old == 0)] or many[:1]
    rank = len(many[0])
    if any(len(dims) != rank for dims in many):
        raise UnknownRankError
    axis = axis_of(n.attribute("axis", 1), rank)
    joined: list[Dim] = []
    for position in range(rank):
        column = [dims[position] for dims in many]
        if position == axis:
            joined.append(n.sizes.joined(column))
            continue
        for dim in column[1:]:
            n.meet(column[0], dim, *places)
        moving = [dim for dim in column if n.sizes.varies(dim)]
        joined.append(n.sizes.resolve((moving or column)[0]))
    return [tuple(joined)]


def gather(n: NodeSizes) -> list[DimList]:
    """The indices' sizes stand for the axis."""
    dims, indices = n.dims(0), n.dims(1)
    axis = axis_of(n.attribute("axis", 0), len(dims))
    n.reaches(dims[axis])
    if n.sizes.fixed(dims[axis]) is None and n.may_follow(1):
        numbers = n.numbers(1) or []
        whole = len(numbers) > 2 and 2 * max(numbers) >= (dims[axis].old or 0)
        if whole or any(number >= FEW for number in numbers):
            n.notes.positions.append((n.label, dims[axis], indices))
            for dim in indices[:-1]:  # of unfold: as many as the kernel has, then the windows
                n.require(dim, "origins.window-size")
            indices = tuple(n.sizes.resolve(dim) for dim in indices)
    return [(*dims[:axis], *indices, *dims[axis + 1 :])]


def gather_elements(n: NodeSizes) -> list[DimList]:
    """The sizes are those of the indices; on all other axes those of the data, where they are as large here."""
    dims, indices = n.dims(0), n.dims(1)
    axis = axis_of(n.attribute("axis", 0), len(dims))
    n.reaches(dims[axis])
    _require_within(n, dims, indices, axis)
    for place, (dim, index) in enumerate(zip(dims, indices, strict=True)):
        if place != axis and dim.old == index.old and index.kind == "var":
            n.meet(index, dim)
    whole = dims[axis].old == indices[axis].old and (dims[axis].old or 0) >= FEW
    if whole and n.sizes.fixed(dims[axis]) is None and n.may_follow(1):
        n.notes.positions.append((n.label, dims[axis], (indices[axis],)))
    return [tuple(n.sizes.resolve(dim) for dim in indices)]


def gather_nd(n: NodeSizes) -> list[DimList]:
    """The indices' sizes but the last, then what they leave of the data."""
    dims, indices = n.dims(0), n.dims(1)
    batch = n.attribute("batch_dims", 0)
    _require_equal(n, dims[:batch], indices[:batch], 0, 1)
    if batch >= min(len(dims), len(indices)) or batch + (indices[-1].old or 0) > len(dims):
        raise n.misfit(0, 1)
    for dim in dims[batch:]:
        n.reaches(dim)
    return [(*indices[:-1], *dims[batch + (indices[-1].old or 0) :])]


def _require_within(n: NodeSizes, dims: DimList, indices: DimList, axis: int) -> None:
    """On all other axes, indices are no longer than the data."""
    if len(dims) != len(indices) or any(
        place != axis and (index.old or 0) > (dim.old or 0)
        for place, (dim, index) in enumerate(zip(dims, indices, strict=True))
    ):
        raise n.misfit(0, 1)


def _require_equal(n: NodeSizes, one: DimList, other: DimList, *positions: int) -> None:
    """Sizes that are equal in the file, if it runs."""
    pairs = zip(one, other, strict=False)
    if len(one) != len(other) or any(None not in (a.old, b.old) and a.old != b.old for a, b in pairs):
        raise n.misfit(*positions)


def _require_updates(n: NodeSizes, dims: DimList) -> None:
    """What is written must be there, as large as the positions say."""
    indices, updates = n.dims(1), n.dims(2)
    if n.node.op_type == "ScatterND":
        count = indices[-1].old or 0
        if count > len(dims):
            raise n.misfit(0, 1)
        _require_equal(n, updates, (*indices[:-1], *dims[count:]), 0, 1, 2)
        for dim in dims[:count]:
            n.reaches(dim)
        return
    axis = axis_of(n.attribute("axis", 0), len(dims))
    n.reaches(dims[axis])
    _require_within(n, dims, indices, axis)
    _require_equal(n, updates, indices, 1, 2)


def scatter(n: NodeSizes) -> list[DimList]:
    """The sizes of the data; constant positions hold for one size alone."""
    dims = n.dims(0)
    if n.sizes.are_numbers:
        _require_updates(n, dims)
        return [dims]
    if any(n.sizes.fixed(dim) is None for dim in dims) and n.may_follow(1):
        array = n.array(1)
        if array is None or (array.ndim and array.size > 0 and int(array.max()) >= FEW):
            raise n.refuse("origins.input-size-indices", old=max(dim.old or 0 for dim in dims))
    elif not n.follows(1):
        n.notes.scattered.append((n.label, dims, n.dims(1)))
    return [dims]


def tile(n: NodeSizes) -> list[DimList]:
    """Each axis so many times, one after another."""
    dims = n.dims(0)
    pattern = not n.follows(0)
    tiled: list[Dim] = []
    for count, dim in zip(n.listed(1), dims, strict=True):
        if pattern and (count.old != 1 or dim.old == 1):
            # A few numbers for each position: how often they are repeated may follow the input.
            n.require(dim, "origins.numbers-of-constant")
        elif dim.old != 1:  # what is longer than one sample is repeated so many times at any size
            n.fix(count, "origins.repeats")
        tiled.append(n.sizes.product([count, dim]))
    return [tuple(tiled)]


def expand(n: NodeSizes) -> list[DimList]:
    """Broadcast to a shape: a 1 in it keeps the axis."""
    return [n.broadcast([n.dims(0), tuple(n.listed(1))], (0, 1))]


def pad(n: NodeSizes) -> list[DimList]:
    """Amounts before and behind each axis."""
    dims = n.dims(0)
    amounts = n.listed(1) if n.has(1) else n.listed_attribute("pads") or n.listed_attribute("paddings") or []
    given = n.numbers(3)
    axes = list(range(len(dims))) if given is None else [axis_of(axis, len(dims)) for axis in given]
    padded = list(dims)
    count = len(axes)
    for place, axis in enumerate(axes):
        if amounts[place].old == amounts[place + count].old and amounts[place].old:
            _note_windows(n, axis, dims[axis], amounts[place].old or 0)
    if _is_written(n, [(dims[axis], amounts[place], amounts[place + count]) for place, axis in enumerate(axes)]):
        for amount in amounts:
            if n.sizes.resolve(amount).kind == "var":
                n.require(amount, "origins.pads")
    for place, axis in enumerate(axes):
        padded[axis] = n.padded(dims[axis], amounts[place], amounts[place + count])
    return [tuple(padded)]


def _is_written(n: NodeSizes, padded: Sequence[tuple[Dim, Dim, Dim]]) -> bool:
    """Whether as much on both sides was written so: what lacks on one side, or nothing at all, can be what a size
    lacked; so can what leads up to a multiple, unless a window behind takes it away."""
    doubled = [(dim, 2 * (before.old or 0)) for dim, before, after in padded if before.old or after.old]
    even = bool(doubled) and all(before.old == after.old for _, before, after in padded)
    taken = {(dim, extent - 1) for label, dim, _, extent, _ in n.notes.even_pads if label == n.label}
    up = [(dim.old or 0, total) for dim, total in doubled if (dim, total) not in taken]
    return even and not (len(up) == len(doubled) and lead_up(up))


def lead_up(padded: Sequence[tuple[int, int]]) -> bool:
    """Whether axes of these sizes may be padded by these amounts, of which one is no margin, up to a multiple."""
    wholes = [(total, size + total) for size, total in padded]
    return any(total > 3 for total, _ in wholes) and all(
        total < (whole & -whole) >= LEAST_MULTIPLE for total, whole in wholes
    )


def _note_windows(n: NodeSizes, axis: int, dim: Dim, amount: int) -> None:
    """An axis that is padded evenly in front of a convolution or pool that pads nothing itself."""
    for reader in n.readers(n.node.output[0]):
        place, attribute = axis - 2, partial(attribute_of, reader)
        kernel = attribute("kernel_shape", [])
        if reader.op_type in ("Conv", "MaxPool", "AveragePool") and 0 <= place < len(kernel):
            moves = windows(attribute, len(kernel))
            if not any(moves.pads):
                extent = moves.extent(place, kernel[place])
                n.notes.even_pads.append((n.label, dim, amount, extent, moves.strides[place]))


def range_(n: NodeSizes) -> list[DimList]:
    """From a number in steps of another: as many as the limit says."""
    start, limit, step = (n.listed(position)[0] for position in range(3))
    for dim in (start, step):
        if n.sizes.resolve(dim).kind == "var":
            n.require(dim, "origins.start-and-step")
    first, by = n.sizes.fixed(start), n.sizes.fixed(step)
    if start.old == 0 and step.old == 1:
        return [(limit,)]
    if first is not None and by is not None and by > 0 and n.sizes.varies(limit):
        return [(n.sizes.ceil_div(n.sizes.plus(limit, -first), by),)]
    if all(n.sizes.fixed(dim) is not None for dim in (start, limit, step)) and step.old:
        return [(n.const(max(0, -(-((limit.old or 0) - (start.old or 0)) // step.old))),)]
    return [(n.sizes.opaque(),)]


def top_k(n: NodeSizes) -> list[DimList]:
    """K of an axis; all of them where K is its length."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", -1), len(dims))
    n.reaches(dims[axis])
    count = n.listed(1)[0] if n.has(1) else n.const(n.attribute("k", 1))
    if count.old == dims[axis].old and n.sizes.fixed(dims[axis]) is None:
        raise n.refuse("origins.input-size-all-of-axis", old=count.old)
    n.notes.chosen.append((n.label, dims[axis], count))
    return [(*dims[:axis], count, *dims[axis + 1 :])] * len(n.node.output)


def depth_to_space(n: NodeSizes) -> list[DimList]:
    """Blocks of channels become blocks of samples."""
    dims, block = n.dims(0), n.attribute("blocksize")
    n.require(dims[1], "origins.block-size")
    sides = (n.sizes.product([dim, n.const(block)]) for dim in dims[2:])
    return [(dims[0], n.const((dims[1].old or 0) // block**2), *sides)]


def space_to_depth(n: NodeSizes) -> list[DimList]:
    """Blocks of samples become channels."""
    dims, block = n.dims(0), n.attribute("blocksize")
    if any((dim.old or 0) % block for dim in dims[2:]):
        raise n.misfit(0)
    channels = n.sizes.product([dims[1], n.const(block**2)])
    return [(dims[0], channels, *(n.sizes.quotient(d, n.const(block)) for d in dims[2:]))]


ROWS: dict[str, Row] = {
    "Transpose": transpose,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    **dict.fromkeys(("Concat", "ConcatFromSequence", "QLinearConcat"), concat),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    **dict.fromkeys(("ScatterND", "ScatterElements", "Scatter"), scatter),
    "Tile": tile,
    "Expand": expand,
    "Pad": pad,
    "ConstantOfShape": lambda n: [tuple(n.listed(0))],
    "Range": range_,
    "TopK": top_k,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
}
