"""Numbers and tables that stayed as they are though they may follow the input: refused with both readings."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from onnx import NodeProto

from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import MOST_IN_A_TABLE, Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import KEEP, asked, refuse
from resizefix.input_sizes.resize_readings import RESIZE_READINGS
from resizefix.input_sizes.tables import may_be_grid
from resizefix.shapes.cutting_rows import FEW
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of

_FEWEST = 3  # so many are chosen for their own sake
_MOST_CHOSEN = 8  # as many are written for their own sake
_ROLLED = (3, 4, 8)
_PARTS = (2, 3, 4, 5, 6)  # of an axis
_POOLS = frozenset({"AveragePool", "MaxPool", "LpPool"})
_SHARES = (2, 3, 4, 5, 8, 10, 16)  # of all values, where that many are chosen


def listed_again(flow: Flow) -> None:
    """An Expand to the very list that a Reshape before it has puts back the axes that were reduced between them: its
    sizes are those of the Reshape, whichever of them follow."""
    lists = flow.operands.lists
    reshaped = [(place, use) for place, use in lists.items() if flow.nodes[place.node].op_type == "Reshape"]
    for place, use in lists.items():
        if flow.nodes[place.node].op_type != "Expand" or flow.keeps(flow.labels[place.node]):
            continue
        before = [
            one for earlier, one in reshaped if earlier.node < place.node and np.array_equal(one.array, use.array)
        ]
        for dim, same in zip(use.dims, before[-1].dims if before else (), strict=False):
            if dim is not None and same is not None and flow.is_open(dim):
                flow.bind(dim, same)


def refuse_two_readings(flow: Flow) -> None:
    """Raises SizeRefusedError for a node whose numbers are as likely to follow the input as to stay."""
    for rule in (
        _held_reshapes,
        _ones_of_division,
        _ones_of_windows,
        _blocks_that_follow,
        _bent,
        *RESIZE_READINGS,
        _middles,
        _positions,
        _chosen,
        _rolled,
        _steps,
        _padded_to_the_other_side,
        _windows_of_a_share,
        _even_parts,
        _numbers_given_out,
    ):
        rule(flow)


def _held_reshapes(flow: Flow) -> None:
    """A map that follows the input, put into sizes that all stay: it has as many samples by chance alone."""
    for index, node in enumerate(flow.nodes):
        source = flow.dims_of(Place(index, 0), node.input[0]) if node.op_type == "Reshape" and node.input else None
        made = flow.dims.get(node.output[0]) if source else None
        if source and made and any(map(flow.sizes.varies, source)) and flow.is_moving(node.input[0]):
            sizes = [flow.sizes.fixed(dim) for dim in made]
            if None not in sizes:
                raise refuse(flow.labels[index], "origins.input-size-reshape-held", sizes=sizes)


def _ones_of_division(flow: Flow) -> None:
    """Two sides that are divided in the same way, of which the one became itself and a 1, as in 4, 2, 4, 1 and 5, 4, 1,
    4: the 1 is an axis of its own, or as many windows or samples as there are here."""
    for index, node in enumerate(flow.nodes):
        label = flow.labels[index]
        source = flow.dims_of(Place(index, 0), node.input[0]) if node.op_type == "Reshape" and node.input else None
        made = [dim.old or 0 for dim in flow.dims.get(node.output[0]) or ()] if source else []
        if flow.choices.of(label) is not None or label in flow.conventional:
            continue
        for (one, other), at in product(pairwise(source or ()), range(len(made) - 3)):
            outer, inner, second, last = made[at : at + 4]
            divides = outer * inner == one.old and second * last == other.old
            alike = (outer == second and (inner == 1) != (last == 1)) or (
                inner == last and (outer == 1) != (second == 1)
            )
            moves = flow.sizes.varies(other if 1 in (second, last) else one)
            if divides and alike and moves and min(one.old or 0, other.old or 0) > 1:
                whole, parts = (other.old, (second, last)) if 1 in (second, last) else (one.old, (outer, inner))
                raise refuse(label, "origins.input-size-split", whole=whole, outer=parts[0], inner=parts[1])


def _ones_of_windows(flow: Flow) -> None:
    """A size that became 1 and itself, and follows the input, where other sizes became windows as large as it is, or
    which numbers behind it hold, so that the 1 grows: it is an axis of its own, or there is one such window here."""
    splits = flow.solver.splits
    windows = {one.parts[1].old for one in splits if one.parts[0].old != 1 and flow.sizes.fixed(one.parts[1])}
    for split in splits:
        outer, inner = split.parts
        grows = flow.sizes.varies(outer) and flow.sizes.fixed(inner) is not None
        one = outer.old == 1 and (grows or (inner.old in windows and flow.sizes.varies(inner)))
        if one and split.node not in flow.conventional and flow.choices.of(split.node) is None:
            raise refuse(split.node, "origins.input-size-split", whole=split.whole.old, outer=1, inner=inner.old)


def _blocks_that_follow(flow: Flow) -> None:
    """A Reshape whose outer factor is held, and whose inner one follows though it is far smaller: a table behind it
    may be one of the map, and the block of fixed size."""
    for split in flow.solver.splits:
        outer, inner = split.parts
        held = flow.sizes.fixed(outer) is not None and flow.sizes.varies(inner) and (inner.old or 0) > 1
        small = 2 * (inner.old or 0) < (outer.old or 0)
        if held and small and flow.choices.of(split.node) is None:
            said = {"whole": split.whole.old, "outer": outer.old, "inner": inner.old}
            raise refuse(split.node, "origins.input-size-split", **said)


def _bent(flow: Flow) -> None:
    """A resize to sizes of the file, or a pool of a part of its map, which weights and tables behind it hold."""
    for use in flow.resizes:
        held = [
            after.old
            for axis, before, after in use.axes
            if (use.label, axis) not in flow.kept and flow.sizes.varies(before) and flow.sizes.fixed(after) is not None
        ]
        if held and flow.choices.of(use.label) is None:
            raise refuse(use.label, "origins.input-size-resize-held", sizes=held)
    for index, _, bins, windows in flow.pools:
        label = flow.labels[index]
        held = [size.old for size, window in zip(bins, windows, strict=True) if _is_held(flow, size, window)]
        if held and label not in flow.conventional and flow.choices.of(label) is None:
            kernel = attribute_of(flow.nodes[index], "kernel_shape")
            raise refuse(label, "origins.input-size-pool", kernel=kernel, bins=[size.old for size in bins])


def _is_held(flow: Flow, size: Dim, window: Dim) -> bool:
    return flow.sizes.fixed(size) not in (None, 1) and flow.sizes.varies(window)


def _middles(flow: Flow) -> None:
    """A cut of fixed length from the very middle of an axis: it begins there, or at the middle of another size."""
    for label, dim, first, length in flow.cuts:
        whole, begin, old = dim.old or 0, first.old or 0, length.old or 0
        fixed = flow.sizes.fixed(length) is not None and flow.sizes.fixed(first) is not None
        middle = begin > 0 and (whole - old) // 2 == begin and whole > begin + old
        if fixed and middle and flow.sizes.varies(dim) and not flow.keeps(label):
            raise refuse(label, "origins.input-size-cut", old=whole, numbers=[begin, begin + old])


def _positions(flow: Flow) -> None:
    for label, data, positions in flow.scattered:
        held = [dim for dim in positions[:-1] if flow.sizes.fixed(dim) is not None and (dim.old or 0) > FEW]
        moving = [dim.old or 0 for dim in data if flow.sizes.varies(dim)]
        if held and moving and not flow.keeps(label):
            raise refuse(label, "origins.input-size-indices", old=max(moving))


def _chosen(flow: Flow) -> None:
    for label, dim, count in flow.chosen:
        whole, number = dim.old or 0, flow.sizes.fixed(count) or 0
        share = number > _FEWEST and whole % number == 0 and whole // number in _SHARES
        other = not share and (_is_rounded_share(whole, number) or number in _sides(flow, dim))
        if other and flow.sizes.varies(dim) and not flow.keeps(label):
            meanings = {KEEP: against(KEEP)}
            raise asked(label, number, "origins.input-size-share-of-axis", meanings, count=number, whole=whole)
        if share and flow.sizes.varies(dim) and not flow.keeps(label):
            raise refuse(label, "origins.input-size-share-of-axis", count=number, whole=whole)


def _sides(flow: Flow, dim: Dim) -> set[int]:
    """The sides of a map of which an axis holds all positions."""
    atoms = [atom for atom in flow.sizes.atoms(dim) if flow.sizes.varies(atom)]
    return {atom.old or 0 for atom in atoms if (atom.old or 0) > _MOST_CHOSEN} if len(atoms) > 1 else set()


def _is_rounded_share(whole: int, number: int) -> bool:
    """Whether a count is a usual part of another one, rounded down; or nobody writes it, and it is tenths of that,
    rounded, or twentieths, where it is large."""
    if number > _FEWEST and number in (whole // part for part in _SHARES):
        return True
    if number <= _MOST_CHOSEN or number % 5 == 0 or number & (number - 1) == 0:
        return False
    parts = range(1, 20) if number > 2 * _MOST_CHOSEN else range(2, 20, 2)
    return any(abs(whole * part - number * 20) < 20 for part in parts)


def _rolled(flow: Flow) -> None:
    """A map of which the first samples, a usual share of them, are put behind the others, and that no windows of twice
    as many samples divide."""
    windows = {part.old for split in flow.solver.splits for part in split.parts[1:] if flow.sizes.fixed(part)}
    for index, node in enumerate(flow.nodes):
        dims = flow.dims.get(node.input[0]) if node.op_type == "Slice" and node.input else None
        cut = _numbers(flow, node)
        if not dims or len(cut) != 3:
            continue
        start, end, axis = cut
        dim = dims[axis]
        share = start > 1 and any(start * count == dim.old for count in _ROLLED) and 2 * start not in windows
        ahead = (reader for reader in flow.operands.readers(node.input[0]) if reader.op_type == "Slice")
        rolls = any(_numbers(flow, reader) == [0, start, axis] for reader in ahead) and end >= (dim.old or 0)
        if share and rolls and flow.sizes.varies(dim) and not flow.keeps(flow.labels[index]):
            meanings = {KEEP: against(KEEP)}
            raise asked(flow.labels[index], [start], "origins.input-size-cut", meanings, old=dim.old, numbers=[start])


def _steps(flow: Flow) -> None:
    """A Slice of so long steps that a few samples are left, which may be a share of the axis."""
    for index, node in enumerate(flow.nodes):
        name = node.input[4] if node.op_type == "Slice" and len(node.input) > 4 else ""
        steps = flow.operands.array(name) if name and flow.operands.is_constant(name) else None
        dims = flow.dims.get(node.input[0]) if steps is not None else None
        cut = _numbers(flow, node)
        if steps is None or not dims or steps.size != 1 or len(cut) != 3 or flow.keeps(flow.labels[index]):
            continue
        if not -len(dims) <= cut[2] < len(dims):
            continue
        step, dim = int(steps.flat[0]), dims[cut[2]]
        if step > _SMALL and flow.sizes.varies(dim) and (dim.old or 0) // step in _PARTS:
            said = {"old": dim.old, "numbers": [step]}
            raise asked(flow.labels[index], [step], "origins.input-size-cut", {KEEP: against(KEEP)}, **said)


def _padded_to_the_other_side(flow: Flow) -> None:
    """A side that stays, padded to be as long as the other one, which follows the input, is here."""
    for index, node in enumerate(flow.nodes):
        source = flow.dims_of(Place(index, 0), node.input[0]) if node.op_type == "Pad" and node.input else None
        made = flow.dims.get(node.output[0]) if source else None
        if not source or not made or flow.choices.of(flow.labels[index]) is not None:
            continue
        moving = {dim.old for dim in made if flow.sizes.varies(dim)}
        for before, after in zip(source, made, strict=True):
            old, new = flow.sizes.fixed(before), flow.sizes.fixed(after)
            if old is not None and new is not None and new - old > _SMALL and new in moving:
                said = {"old": old, "total": new - old, "whole": new}
                raise refuse(flow.labels[index], "origins.input-size-padding", **said)


def _windows_of_a_share(flow: Flow) -> None:
    """A pool whose window is the same share of two unequal sides, and that steps by less than a window."""
    for index, node in enumerate(flow.nodes):
        kernel: Sequence[int] = (attribute_of(node, "kernel_shape") or ()) if node.op_type in _POOLS else ()
        dims = (flow.dims.get(node.input[0]) or ())[2:] if kernel else ()
        if (
            len(dims) != 2
            or len(kernel) != 2
            or min(kernel) < 2
            or flow.choices.of(flow.labels[index]) is not None
            or not any(map(flow.sizes.varies, dims))
        ):
            continue
        shares = {Fraction(dim.old or 1, length) for dim, length in zip(dims, kernel, strict=True)}
        counts = {(dim.old or 1) // length for dim, length in zip(dims, kernel, strict=True)}
        share = shares.pop()
        overlaps = list(attribute_of(node, "strides") or (1, 1)) != list(kernel)
        few = (
            not overlaps
            and min(kernel) > _SMALL
            and len(counts) == 1
            and counts <= {2, 3}
            and (shares or share not in counts)
        )
        if few or (not shares and share in _PARTS and kernel[0] != kernel[1] and overlaps):
            said = {"kernel": list(kernel), "bins": [max(counts)] * 2}
            raise asked(flow.labels[index], list(kernel), "origins.input-size-pool", {KEEP: against(KEEP)}, **said)


def _numbers(flow: Flow, node: NodeProto) -> list[int]:
    """The operands of a Slice, where they are single numbers of the file."""
    constant = [name for name in node.input[1:4] if name and flow.operands.is_constant(name)]
    arrays = map(flow.operands.array, constant)
    return [int(array.flat[0]) for array in arrays if array is not None and array.size == 1]


def follow_shares(flow: Flow) -> None:
    """Let a count of what is chosen of an axis be the share of it, where the user says so."""
    for label, dim, count in flow.chosen:
        whole, number = dim.old or 0, count.old or 1
        if flow.choices.of(label) == "follow" and flow.is_open(count) and whole % number == 0:
            flow.bind(count, flow.sizes.quotient(dim, flow.sizes.const(whole // number)))


def _even_parts(flow: Flow) -> None:
    for label, dim, count in flow.shared_out:
        if count > 2 and flow.sizes.varies(dim) and not flow.keeps(label):
            raise refuse(label, "origins.input-size-parts", old=dim.old, count=count, part=(dim.old or 0) // count)


def _numbers_given_out(flow: Flow) -> None:
    """An output that no image decides, and that holds a size of the image."""
    sides = {old for name, old in flow.sizes.symbols.items() if name != "batch"}
    for output in flow.view.model.graph.output:
        index, name = flow.operands.scope.producers.get(output.name), output.name
        if flow.is_moving(name):
            continue
        label = name if index is None else flow.labels[index]
        array = flow.operands.numbers(Place(index or 0, 0), name)
        if array is None or array.dtype.kind not in "iuf" or array.size > FEW or flow.keeps(label):
            continue
        if sides & {float(number) for number in np.ravel(array)}:
            raise refuse(label, "origins.input-size-output", name=name, numbers=array.ravel().tolist())


_MULTIPLES = (1, 2, 3, 4, 8, 16, 32)
_SMALL = 4


def refuse_loose_tables(flow: Flow) -> None:
    """Raises SizeRefusedError for a table that counts positions on a map of the image, where its axis is still open."""
    lengths = list(_lengths(flow))
    for place, table in flow.operands.tables.items():
        label = flow.labels[place.node]
        if flow.keeps(label) or not any(map(flow.is_read, flow.nodes[place.node].output)):
            continue
        for axis, dim in enumerate(table.dims):
            if flow.sizes.resolve(dim).kind != "var":
                continue
            for factors in lengths:
                if int(np.prod(factors)) == dim.old and _counts(flow, table.name, axis, factors):
                    shape = list(flow.operands.shape_of(table.name))
                    raise refuse(label, "origins.input-size-loose-table", name=table.name, shape=shape)


def _lengths(flow: Flow) -> Iterator[tuple[int, ...]]:
    """The sides of maps that are the image, a share or a multiple of it: together, and alone those that follow."""
    image, symbols = flow.images[0], flow.sizes.symbols
    sides = {name: symbols.get(name, image.old(name) or 0) for name in image.axes if name != "batch"}
    for share in _MULTIPLES:
        for made in (
            {name: side * share for name, side in sides.items()},
            {name: side // share for name, side in sides.items()},
        ):
            if min(made.values(), default=0) > _SMALL:
                yield tuple(made.values())
                yield from ((side,) for name, side in made.items() if name in symbols)
    tensors = (map(flow.sizes.resolve, dims) for dims in flow.dims.values() if dims)
    maps = {pair for dims in tensors for pair in pairwise(dims) if all(map(flow.sizes.varies, pair))}
    yield from {(one.old or 0, other.old or 0) for one, other in maps}


def _counts(flow: Flow, name: str, axis: int, factors: tuple[int, ...]) -> bool:
    array = flow.operands.array(name)
    if array is None or array.size > MOST_IN_A_TABLE or array.dtype.kind not in "fiu":
        return False
    return bool(np.ptp(array, axis=axis).max(initial=0) > 0) and may_be_grid(array, axis, factors)
