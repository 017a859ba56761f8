"""What is cut off axes and padded to them: fixed amounts, or some that follow; refused where neither is certain."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from resizefix.input_sizes.flow import Flow, PadUse, RemainderRule
from resizefix.input_sizes.refusal import refuse
from resizefix.input_sizes.solver import describe
from resizefix.shapes.expression import Dim
from resizefix.shapes.moving_rows import LEAST_MULTIPLE, lead_up
from resizefix.shapes.output_size import same_padding
from resizefix.shapes.sizes import Sizes

_OF_A_WINDOW = 3  # as much is cut off both ends as a window or a shift leaves; more may be a share of the axis
_USUAL_SHARE = 4  # halves, thirds, quarters
_PARTS = (3, 4, 5, 6, 8, 10)  # into so many an axis is cut


def halves(flow: Flow) -> None:
    """Cuts that begin at half of an axis."""
    for label, start, dim in flow.halves:
        if flow.is_open(start) and not flow.keeps(label):
            flow.bind(start, flow.sizes.quotient(dim, flow.sizes.const(2)))
            flow.assume(label, "cut-at-the-half", old=dim.old)


def few(flow: Flow) -> None:
    """Cuts of a few first samples, such as tokens and the part that a roll moves: their length stays, and what they are
    joined to follows the input."""
    for end in flow.few:
        for unknown in flow.sizes.unknowns(end):
            flow.bind(unknown, flow.sizes.const(unknown.old or 0))


def tails(flow: Flow) -> None:
    """Cuts up to the end of an axis whose length nothing has decided."""
    for label, start, dim, length in flow.tails:
        if flow.is_open(length):
            if not flow.keeps(label):
                raise refuse(label, "origins.input-size-cut", old=dim.old, numbers=[(dim.old or 0) - (length.old or 0)])
            flow.bind(length, flow.sizes.plus(dim, -(start.old or 0)))


def cuts(flow: Flow, *, refusing: bool = True) -> None:
    """Those whose length has one reading. Raises SizeRefusedError for any other if `refusing`; else these stay open."""
    sizes = flow.sizes
    halved = {sizes.resolve(dim) for _, _, dim in flow.halves}
    for label, dim, first, length in flow.cuts:
        begin, old, whole = first.old or 0, length.old or 0, dim.old or 0
        said = flow.choices.of(label)
        if said == "follow" and begin == 0 and old == whole:
            flow.bind(length, dim)
        if not flow.is_open(length):
            bent = begin == 0 and old == whole and sizes.varies(dim) and sizes.fixed(length) is not None
            if bent and said is None:
                raise refuse(label, "origins.input-size-cut", old=whole, numbers=[begin, begin + old])
            centred = said is None and begin > 0 and whole - begin - old == begin and sizes.fixed(first) is not None
            if centred and sizes.same(length, sizes.plus(dim, -2 * begin)) is False:
                raise refuse(label, "origins.input-size-cut", old=whole, numbers=[begin, begin + old])
            continue
        target: Dim | None = None
        if said == "keep" or sizes.fixed(dim) is not None:
            target = sizes.const(old)
        elif begin == 0 and (symbol := _equal_symbol(sizes, dim, old)) is not None:
            target = symbol
        elif begin + old == whole:
            flow.bind(length, sizes.minus(dim, first))
            continue
        elif begin > 0 and whole - begin - old == begin and (_is_margin(begin, whole) or said == "follow"):
            target = sizes.plus(dim, -2 * begin)
        elif begin == 0 and 2 * old == whole and (sizes.resolve(dim) in halved or said == "follow"):
            target = sizes.quotient(dim, sizes.const(2))
        elif begin == 0 and old < whole and said == "follow":
            target = _first_samples(sizes, dim, Fraction(old, whole))
        if target is None and not refusing:
            continue
        if target is None:
            raise refuse(label, "origins.input-size-cut", old=whole, numbers=[begin, begin + old])
        flow.bind(length, target)
        if said is None and sizes.fixed(dim) is None:
            flow.assume(label, "cut-of-the-whole-axis", old=old)


def _is_margin(begin: int, whole: int) -> bool:
    """Whether so much is cut off each end as a window leaves, and no usual share of the axis."""
    return begin <= _OF_A_WINDOW and (begin == 1 or begin not in (whole // part for part in _PARTS))


def _first_samples(sizes: Sizes, dim: Dim, part: Fraction) -> Dim:
    """The part of an axis that follows it: all but a few last samples, a usual share, or else all but as many."""
    whole = dim.old or 0
    left = whole - int(part * whole)
    if left > _OF_A_WINDOW and part.denominator <= _USUAL_SHARE:
        return sizes.floor_div(sizes.product([dim, sizes.const(part.numerator)]), part.denominator)
    return sizes.plus(dim, -left)


def _equal_symbol(sizes: Sizes, dim: Dim, old: int) -> Dim | None:
    """The size of the input that an axis follows, if it is `old`."""
    return next((side for side in sizes.sides if side.old == old and sizes.follows(dim, side.data)), None)


_COARSEST = 32
_NEAR = 64  # sizes of the input that are looked at, one after another


def pads(flow: Flow) -> None:
    """Bind the amounts of every pad that is open. Raises SizeRefusedError."""
    sizes = flow.sizes
    for use in flow.pads:
        if not flow.is_open(use.before) and not flow.is_open(use.after):
            continue  # it was decided the first time
        if flow.is_open(use.made):
            _constant_pad(flow, use)
            continue
        if sizes.fixed(use.made) is not None and sizes.varies(use.dim):
            formula = describe(sizes, use.dim)
            raise refuse(use.node, "origins.input-size-fixed-partner", old=use.made.old, formula=formula)
        total = sizes.minus(use.made, use.dim)
        if _always(sizes, total, use.total):
            _hold_to_remainder(flow, use)
            for amount in (use.before, use.after):
                flow.bind(amount, sizes.const(amount.old or 0))
            continue
        at_end = _pads_at_end(use, _others(flow, use))
        if at_end is None:
            flow.limits.append((use.node, total, 0))
        elif use.total <= 1:
            flow.limits.append((use.node, total, 1))
        before = sizes.const(0) if at_end is not False else sizes.floor_div(total, 2)
        flow.bind(use.before, before)
        flow.bind(use.after, sizes.minus(total, before))


def _hold_to_remainder(flow: Flow, use: PadUse) -> None:
    """Amounts that may lead up to a multiple, as half of them before and the larger half behind: they are the same at
    sizes that leave the same remainder."""
    old, before, after = use.dim.old or 0, use.before.old or 0, use.after.old or 0
    multiple = (old + use.total) & -(old + use.total)
    uneven = after == before + 1 and before > 0 and use.total < multiple and old % multiple
    up = uneven or _lead_up(flow, use)
    if up and not flow.keeps(use.node):
        flow.remainders.append(RemainderRule(use.node, use.dim, min(multiple, _COARSEST)))


def _others(flow: Flow, use: PadUse) -> list[PadUse]:
    return [other for other in flow.pads if other.node == use.node]


def _lead_up(flow: Flow, use: PadUse) -> bool:
    """Whether the axes that the node pads may be padded up to a multiple, which this one, if it lacks nothing, is."""
    padded = [(other.dim.old or 0, other.total) for other in _others(flow, use) if other.total]
    return lead_up(padded) and (use.total > 0 or (use.dim.old or 0) % LEAST_MULTIPLE == 0)


def _always(sizes: Sizes, dim: Dim, number: int) -> bool:
    """Whether a size is this number at every size of the input, not only where strides leave no remainder."""
    steps = np.arange(_NEAR, dtype=np.int64)
    for moved in sizes.symbols:
        around = {name: old + (steps if name == moved else 0 * steps) for name, old in sizes.symbols.items()}
        found = sizes.at(dim, around, {})
        if found is None or np.any(found != number):
            return False
    return True


def _constant_pad(flow: Flow, use: PadUse) -> None:
    sizes, old = flow.sizes, use.dim.old or 0
    whole = old + use.total
    nothing = all(other.total == 0 for other in flow.pads if other.node == use.node)
    # What is taken apart right behind it was padded for that: nothing, at any size that can be taken apart.
    if nothing and not (use.is_written or _is_taken_apart(flow, use.made)) and not flow.keeps(use.node):
        raise refuse(use.node, "origins.input-size-no-padding")
    at_end = (use.after.old or 0) - (use.before.old or 0) > 1  # no window wants it so
    if use.total and (at_end or _lead_up(flow, use)) and not flow.keeps(use.node):
        raise refuse(use.node, "origins.input-size-padding", old=old, total=use.total, whole=whole)
    if use.after.old == (use.before.old or 0) + 1 and not flow.keeps(use.node):
        # Keras pads an odd size by one more in front of a window.
        flow.remainders.append(RemainderRule(use.node, use.dim, 2, uneven=True))
    for amount in (use.before, use.after):
        flow.bind(amount, sizes.const(amount.old or 0))
    flow.bind(use.made, sizes.total([use.before, use.dim, use.after]))


def _is_taken_apart(flow: Flow, made: Dim) -> bool:
    """Whether a Reshape divides the padded size. A pad that a Slice cuts off before was made for something else."""
    sizes = flow.sizes
    cut_back = {length for _, dim, first, length in flow.cuts if first.old == 0 and length.old == dim.old}
    wholes = [split.whole for split in flow.solver.splits if split.whole.old == made.old]
    return any(sizes.resolve(made) in sizes.behind(whole, short_of=cut_back) for whole in wholes)


def _pads_at_end(use: PadUse, beside: Sequence[PadUse]) -> bool | None:
    """Whether what is missing is added behind; False: one half before, the larger behind; None: not to be seen."""
    for other in [use, *beside]:
        before, after = other.before.old or 0, other.after.old or 0
        if before == 0 and after > 0:
            return True
        if before and before == other.total // 2:
            return False
    return None


def even_pads(flow: Flow) -> None:
    """As much on both sides in front of a window with strides: where "SAME" pads this size so, the amounts may have
    been computed of it, and are others at a size that leaves another remainder."""
    for node, made in flow.padded_outputs:
        for side in flow.sizes.sides if not flow.keeps(node) else ():
            wished = [dim for dim in made if dim.old == side.old and flow.sizes.follows(dim, side.data)]
            flow.wished += [(node, dim, side) for dim in wished]
    for node, dim in flow.uneven_windows:
        if not flow.keeps(node) and flow.sizes.fixed(dim) is None:
            flow.remainders.append(RemainderRule(node, dim, _COARSEST))
    for node, dim, amount, extent, stride in flow.even_pads:
        same = same_padding(dim.old or 0, stride, extent)
        if stride > 1 and same == 2 * amount and not flow.keeps(node) and flow.sizes.fixed(dim) is None:
            flow.remainders.append(RemainderRule(node, dim, stride))
