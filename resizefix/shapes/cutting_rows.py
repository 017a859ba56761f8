"""Operators that cut axes: numbers that depend on the input's size follow it, and margins and shifts stay."""

from collections.abc import Sequence

from onnx import NodeProto

from resizefix.shapes.expression import Dim
from resizefix.shapes.moving_values import slice_positions
from resizefix.shapes.reading import DimList, NodeSizes, UnknownRankError, axis_of

_ENDLESS = 2**31 - 1
# Up to here the first or last samples of an axis are tokens, margins and shifts rather than a part of an image.
FEW = 8


def split(n: NodeSizes) -> list[DimList]:
    """Parts of given or of equal length."""
    dims = n.dims(0)
    axis = axis_of(n.attribute("axis", 0), len(dims))
    dim = dims[axis]
    listed = n.numbers(1, "split")
    if listed is None:
        return [(*dims[:axis], part, *dims[axis + 1 :]) for part in _even_parts(n, dim, len(n.node.output))]
    if dim.old is not None and sum(listed) != dim.old:
        raise n.misfit(0)
    parts = _parts(n, dim, listed)
    lengths = n.listed(1) if n.has(1) else n.listed_attribute("split") or []
    for length, given in zip(parts, lengths, strict=True):
        n.meet(given, length)
    return [(*dims[:axis], part, *dims[axis + 1 :]) for part in parts]


def _even_parts(n: NodeSizes, dim: Dim, count: int) -> list[Dim]:
    """The last is shorter where the length has a remainder, since opset 18."""
    if dim.old is None:
        raise UnknownRankError
    if dim.old % count == 0:
        n.notes.shared_out.append((n.label, dim, count))
        return [n.sizes.quotient(dim, n.const(count))] * count
    if n.opset < 18 or n.sizes.fixed(dim) is None:
        raise n.misfit(0)
    part = -(-dim.old // count)
    return [*[n.const(part)] * (count - 1), n.const(dim.old - part * (count - 1))]


def _parts(n: NodeSizes, dim: Dim, lengths: Sequence[int]) -> list[Dim]:
    """The parts of an axis: those that it was joined of, where their lengths say so; else the last takes the rest."""
    if n.sizes.fixed(dim) is not None:
        return [n.const(length) for length in lengths]
    ends = [_prefix(n, dim, sum(lengths[: place + 1])) for place in range(len(lengths))]
    if all(end is not None for end in ends):
        starts = [n.const(0), *ends[:-1]]
        return [n.sizes.minus(end, start) for end, start in zip(ends, starts, strict=True) if end and start]
    unknowns = n.sizes.unknowns(dim)
    if unknowns and not n.sizes.varies(dim):
        n.require(dim, "origins.lengths-of-parts")
        return [n.const(length) for length in lengths]
    if len(lengths) == 2 and lengths[0] == lengths[1] > FEW:
        return [n.sizes.quotient(dim, n.const(2))] * 2
    few = [length for length in lengths if _is_few(length, dim.old or 0)]
    if len(few) == len(lengths) - 1:
        rest = n.sizes.plus(dim, -sum(few))
        return [n.const(length) if _is_few(length, dim.old or 0) else rest for length in lengths]
    raise n.refuse("origins.input-size-cut", old=dim.old, numbers=list(lengths))


def _prefix(n: NodeSizes, dim: Dim, length: int) -> Dim | None:
    """The first `length` samples of an axis, where that is where one of its joined parts ends."""
    if length == dim.old:
        return dim
    if length == 0:
        return n.const(0)
    dim = n.sizes.resolve(dim)
    if dim.kind != "joined":
        return None
    for count in range(1, len(dim.parts)):
        joined = n.sizes.joined(dim.parts[:count])
        if joined.old == length:
            return joined
    return None


def slice_(n: NodeSizes) -> list[DimList]:
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
        if n.is_weight(dims[place]):
            n.require(dims[place], "origins.numbers-of-constant")
        shift = _shift(n, place, dims[place]) if len(axes) == 1 and step == 1 else 0
        if shift:
            dims[place] = _rolled(n, dims[place], start, end, shift)
        else:
            dims[place] = _cut(n, dims[place], start, end, step)
    return [tuple(dims)]


def _shift(n: NodeSizes, axis: int, dim: Dim) -> int:
    """How few last samples of an axis a Concat puts before all others, as torch.roll does; 0 where it does not."""
    data, old = n.node.input[0], dim.old or 0
    if n.sizes.fixed(dim) is not None or not n.has(1):
        return 0
    cuts = {name: ends for node in n.readers(data) for name, ends in _whole_cut(n, node, axis, old)}
    for reader in n.readers(n.node.output[0]):
        parts = [cuts.get(name) for name in reader.input]
        if reader.op_type == "Concat" and len(parts) == 2 and None not in parts:
            (first, end), (begin, last) = parts[0] or (0, 0), parts[1] or (0, 0)
            if begin == 0 and end == old and first == last and not _is_few(first, old) and _is_few(old - first, old):
                return old - first
    return 0


def _whole_cut(n: NodeSizes, node: NodeProto, axis: int, old: int) -> list[tuple[str, tuple[int, int]]]:
    """The output of a Slice of one axis by numbers of the file, and from where to where it cuts."""
    arrays = n.cuts_of(node)
    if node.op_type != "Slice" or len(arrays) != 3 or any(array is None or array.size != 1 for array in arrays):
        return []
    first, last, at = (int(array.flat[0]) for array in arrays if array is not None)
    rank = len(n.dims(0))
    return [(node.output[0], (first, min(last, old)))] if axis_of(at, rank) == axis else []


def _rolled(n: NodeSizes, dim: Dim, start: Dim, end: Dim, shift: int) -> Dim:
    """The last samples of an axis that is rolled, or all others: the shift stays, and the cut follows the axis."""
    cut = n.sizes.plus(dim, -shift)
    if start.old == 0:
        n.meet(end, cut)
        return cut
    n.meet(start, cut)
    if end.old == dim.old:
        n.meet(end, dim)
    return n.const(shift)


def _cut(n: NodeSizes, dim: Dim, start: Dim, end: Dim, step: int) -> Dim:
    sizes, old = n.sizes, dim.old
    if old is None or start.old is None or end.old is None:
        return sizes.opaque()
    if sizes.fixed(dim) is not None and sizes.fixed(end) is None and not sizes.unknowns(end) and dim.old == end.old:
        raise n.refuse("origins.input-size-cut", old=old, numbers=[start.old, end.old])
    if sizes.fixed(dim) is not None and _is_cut_to_map(n, start, end, step, old):
        return end
    if sizes.fixed(dim) is not None:
        return n.const(len(slice_positions(start.old, end.old, step, old)))
    if step < 0:
        # All of it the other way round: from the last sample, whatever its place, to one before the first.
        if (start.old == -1 or start.old >= _ENDLESS) and end.old <= 1 - _ENDLESS and step == -1:
            return dim
        raise n.refuse("origins.input-size-cut", old=old, numbers=[start.old, end.old])
    if _may_be_tail(n, dim, start, end):
        # How much is left is what it meets; it begins where the rest ends.
        left = n.unknown(old - start.old)
        n.notes.tails.append((n.label, start, dim, left))
        n.meet(start, sizes.minus(dim, left))
        if sizes.resolve(end).kind == "var" and end.old == old:
            n.meet(end, dim)
        return sizes.ceil_div(left, step)
    first = _first(n, dim, start)
    few = first.kind != "const" and first.old == start.old and _is_few(start.old, old)
    if few and n.sizes.resolve(start).kind == "var":
        n.require(start, "origins.start-of-cut")
        first = n.sizes.resolve(start)
    last = _last(n, dim, start, end)
    if start.old == -1 and last is dim:
        return n.const(1)  # the last sample alone, however long the axis is
    if last is None:
        # A part in the middle or at the beginning: how long it is, something else decides.
        length = n.unknown((end.old if end.old >= 0 else end.old + old) - (first.old or 0), [])
        n.notes.cuts.append((n.label, dim, first, length))
        if n.choice == "follow" and start.old == 0 and end.old == old:
            n.meet(length, dim)
        n.meet(end, sizes.total([first, length]))
        return sizes.ceil_div(length, step)
    span = sizes.minus(last, first) if sizes.fixed(first) != 0 else last
    return sizes.ceil_div(span, step)


def _may_be_tail(n: NodeSizes, dim: Dim, start: Dim, end: Dim) -> bool:
    """Whether it cuts off so many first samples that they may be a share of the axis, and keeps all others."""
    number, old = start.old or 0, dim.old or 0
    if not 0 < number < old or 2 * number == old or (end.old or 0) < old:
        return False
    quarter = 4 * number == old and number > 1 and not _is_rolled(n, number)
    if _is_few(number, old) and not quarter:
        return False
    return n.sizes.resolve(start).kind == "var" and _prefix(n, dim, number) is None


def _is_rolled(n: NodeSizes, number: int) -> bool:
    """Whether another Slice takes the first samples that this one cuts off, as torch.roll puts them behind the rest."""
    cuts = [n.cuts_of(node) for node in n.readers(n.node.input[0]) if node.op_type == "Slice"]
    ends = [[array.flat[0] for array in arrays if array is not None and array.size == 1] for arrays in cuts]
    return any(len(cut) == 3 and cut[:2] == [0, number] for cut in ends)


def _is_cut_to_map(n: NodeSizes, start: Dim, end: Dim, step: int, old: int) -> bool:
    """Whether the first numbers of a constant are taken: of a table of positions as many as the map has."""
    unknown = n.sizes.resolve(end).kind == "var" and not n.follows(0)
    return (unknown or n.sizes.varies(end)) and start.old == 0 and step == 1 and 0 < (end.old or 0) < old


def _first(n: NodeSizes, dim: Dim, start: Dim) -> Dim:
    old, number = dim.old or 0, start.old or 0
    if number < 0:
        _margin(n, dim, -number)
        return n.sizes.greatest(n.sizes.plus(dim, number), n.const(0))
    first = _prefix(n, dim, number) if number else n.const(0)
    if number >= old:
        return dim
    if first is not None and number:
        n.meet(start, first)
        return first
    if n.sizes.resolve(start).kind == "var" and not _is_few(number, old):
        if 2 * number != old or number <= FEW:
            raise n.refuse("origins.input-size-cut", old=old, numbers=[number])
        n.notes.halves.append((n.label, start, dim))
    return start


def _margin(n: NodeSizes, dim: Dim, number: int) -> None:
    """Raises SizeRefusedError for samples counted from the end that are half of an axis or many, since they may be no
    margin; not where a window of the model has that length."""
    old = dim.old or 0
    windows = (split.parts[1] for split in n.splits if split.parts[1].old == number)
    if any(n.sizes.fixed(window) is not None for window in windows):
        return
    if 1 < number < old and n.sizes.fixed(dim) is None and (2 * number == old or number > FEW):
        raise n.refuse("origins.input-size-cut", old=old, numbers=[-number])


def _is_few(number: int, old: int) -> bool:
    """Whether so many samples at an end of an axis are tokens or a margin, and no share of it."""
    return number <= 1 or (number <= FEW and 4 * number <= old)


def _last(n: NodeSizes, dim: Dim, start: Dim, end: Dim) -> Dim | None:
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
        if n.sizes.varies(end):
            return end
        if _is_few(number, old):
            return _noted(n, end)
        last = _prefix(n, dim, number)
        if last is not None and n.sizes.unknowns(end):
            n.meet(end, last)
        return last
    last = _prefix(n, dim, number)
    if last is not None:
        n.meet(end, last)
        return last
    return _noted(n, end) if _is_few(number, old) else None


def _noted(n: NodeSizes, end: Dim) -> Dim:
    """The end of a cut of few first samples, noted for `margins.few`: it stays unless other nodes decide it."""
    n.notes.few.append(end)
    return end


def crop(n: NodeSizes) -> list[DimList]:
    """Cuts off a border of left, top, right and bottom: of ONNX before 1.3, and onnxruntime still runs it."""
    dims, border = n.dims(0), n.attribute("border", [])
    if len(dims) != 4 or len(border) != 4 or n.attribute("scale") is not None:
        raise n.refuse("origins.input-size-attribute", name="scale")
    left, top, right, bottom = border
    for dim, number in ((dims[2], top), (dims[2], bottom), (dims[3], left), (dims[3], right)):
        if n.choice != "keep":
            _margin(n, dim, number)
    return [(*dims[:2], n.sizes.plus(dims[2], -top - bottom), n.sizes.plus(dims[3], -left - right))]


ROWS = {"Split": split, "Slice": slice_, "Crop": crop}
