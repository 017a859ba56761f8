"""What no other size decides: the readings of numbers that nothing in the model had to agree with.

Each rule looks at one kind of use. Where two readings remain, the node is refused with both; `keep` and `follow` name
nodes for which the user has decided.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial

from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.held_numbers import refuse_held
from resizefix.input_sizes.margins import cuts, even_pads, few, halves, pads, tails
from resizefix.input_sizes.refusal import FOLLOW, KEEP, OF_PARTS, refuse
from resizefix.input_sizes.two_readings import follow_shares, listed_again, refuse_loose_tables, refuse_two_readings
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.reading import ResizeUse, Split
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.window_rows import STEP_DOWN

_ROUNDED = 1e-3  # samples: a quotient of two sizes makes the one of the other
_FINEST = 1000  # no factor that somebody writes has a larger denominator


Rule = Callable[[Flow], None]


def tiers() -> tuple[tuple[Rule, ...], ...]:
    """The rules, those first that recognise the most: within a tier, their order does not matter."""
    return (
        (halves, _samplings, _splits, listed_again, _pools, partial(cuts, refusing=False)),
        (pads, few),
        (_joined_resizes,),
        (partial(_resizes, last=False),),
        (cuts, tails),
        (_resizes,),
        (pads, _arithmetic, even_pads),
    )


def decide(flow: Flow) -> None:
    """Bind every unknown that is left. Raises SizeRefusedError."""
    flow.solver.settle()
    for tier in tiers():
        for rule in tier:
            rule(flow)
            flow.solver.settle()
    follow_shares(flow)
    refuse_loose_tables(flow)
    for label, dim, table in flow.positions:
        if not any(flow.sizes.varies(size) for size in table) and not flow.keeps(label):
            raise refuse(label, "origins.input-size-indices", old=dim.old)
    _rest(flow)
    flow.solver.settle()
    refuse_two_readings(flow)
    refuse_held(flow)


def _olds(dims: Iterable[Dim]) -> str:
    return " x ".join(str(dim.old) for dim in dims)


def _samplings(flow: Flow) -> None:
    """A grid that is as large as the map which is sampled at it has a position for each of its samples."""
    for label, sides, grid in flow.samplings:
        if not all(map(flow.is_open, grid)) or [dim.old for dim in grid] != [dim.old for dim in sides]:
            continue
        if flow.keeps(label) or not any(flow.sizes.varies(side) for side in sides):
            continue
        for dim, side in zip(grid, sides, strict=True):
            flow.bind(dim, side)
        flow.assume(label, "grid-as-large-as-its-map", sizes=_olds(sides))


# ---- Reshape: which factor is fixed ----


def _splits(flow: Flow) -> None:
    sizes = flow.sizes
    open_splits = [split for split in flow.solver.splits if all(flow.is_open(part) for part in split.parts)]
    # Those that became 1 and themselves last: the others tell about them.
    open_splits.sort(key=lambda split: split.parts[0].old == 1)
    for split in open_splits:
        if not all(flow.is_open(part) for part in split.parts):
            continue
        said = flow.choices.of(split.node)
        fixed = (1 - OF_PARTS.index(said or "")) if said in OF_PARTS else _fixed_part(flow, split)
        if fixed is None:
            outer, inner = (part.old for part in split.parts)
            raise refuse(split.node, "origins.input-size-split", whole=split.whole.old, outer=outer, inner=inner)
        part = split.parts[fixed]
        parts = "·".join(str(one.old) for one in split.parts)
        taken, other = OF_PARTS if fixed else OF_PARTS[::-1]
        sizes_of = {"whole": split.whole.old, "parts": parts, "fixed": part.old}
        flow.assume(split.node, "windows-of-one-size", reading=taken, others=(other,), **sizes_of)
        flow.bind(part, sizes.const(part.old or 1))
        flow.solver.settle()


def _fixed_part(flow: Flow, split: Split) -> int | None:
    """0 where the outer factor is fixed, 1 for the inner one."""
    votes = set[int]()
    if split.parts[0].old == 1:
        return _fixed_part_of_one(flow, split)
    for other in flow.solver.splits:
        if other.node == split.node and flow.sizes.varies(other.parts[1]):
            votes.add(0)  # so became the other side of the map, to fit weights
        if other.whole.old == split.whole.old:
            continue
        same = [one.old == twin.old for one, twin in zip(split.parts, other.parts, strict=True)]
        if same[0] != same[1]:
            votes.add(0 if same[0] else 1)
    if not votes and split.leading and all(split.leading):
        # An outer factor that becomes one with the batch is a count of windows; an inner one may be the samples of each
        # patch, as in MobileViT, or count the cells of a grid, as in MaxViT.
        votes.add(1)
    return votes.pop() if len(votes) == 1 else None


def _fixed_part_of_one(flow: Flow, split: Split) -> int | None:
    """Of a size that became 1 and itself: it is a single window where the model has such windows elsewhere; else the 1
    is an axis of its own, unless height and width became so together."""
    others = flow.solver.splits
    if any(other.parts[0].old != 1 and other.parts[1].old == split.parts[1].old for other in others):
        return 1
    beside = [other for other in others if other.node == split.node and other.parts[0].old == 1]
    return 0 if len(beside) == 1 and not _has_ones_of_two_sides(flow, split) else None


def _has_ones_of_two_sides(flow: Flow, split: Split) -> bool:
    """Whether each of two equal sides may have become itself and a 1, as in 8, 1, 8, 1: the 1 between is of either."""
    index = next((index for index, label in enumerate(flow.labels) if label == split.node), None)
    made = None if index is None else flow.dims.get(flow.nodes[index].output[0])
    olds = [dim.old for dim in made or ()]
    side = split.parts[1].old
    return any(olds[at : at + 4] in ([side, 1, side, 1], [1, side, 1, side]) for at in range(len(olds)))


# ---- pools ----


_FEW_BINS = 8


def _pools(flow: Flow) -> None:
    sizes = flow.sizes
    for label, kernel in flow.whole_pools:
        flow.assume(label, "pool-over-the-whole-map", kernel=list(kernel))
    for label, made in flow.windows:
        if max(size.old or 0 for size in made) <= _FEW_BINS and flow.choices.of(label) is None:
            flow.assume(label, "window-of-a-pool-stays", reading=KEEP, others=(FOLLOW,), bins=_olds(made))
    for index, _, bins, windows in flow.pools:
        label = flow.labels[index]
        kernel = attribute_of(flow.nodes[index], "kernel_shape")
        said = flow.choices.of(label)
        if not any(flow.is_open(size) for size in bins):
            _keep_window(flow, index, bins, windows, kernel)
            if _is_adaptive(bins, kernel) and any(sizes.fixed(size) is not None for size in bins):
                flow.assume(label, "as-many-windows-on-both-axes", bins=[size.old for size in bins])
            continue
        adaptive = {"keep": False, "follow": True}.get(said or "", _is_adaptive(bins, kernel))
        if adaptive is None:
            raise refuse(label, "origins.input-size-pool", kernel=kernel, bins=[size.old for size in bins])
        for size, window in zip(bins, windows, strict=True):
            flow.bind(size, sizes.const(size.old or 1) if adaptive else window)
        if adaptive:
            flow.adaptive.add(index)
            flow.assume(label, "as-many-windows-on-both-axes", bins=[size.old for size in bins])


def _keep_window(flow: Flow, index: int, bins: Sequence[Dim], windows: Sequence[Dim], kernel: Sequence[int]) -> None:
    """Keep the windows of a pool, if what it meets has the size that they make. That both sizes stay equal becomes a
    rule about the input size."""
    if not all(flow.sizes.same(size, window) for size, window in zip(bins, windows, strict=True)):
        return
    for use in [use for use in flow.attributes if use.node == index]:
        flow.attributes[use] = flow.sizes.const(kernel[use.axis])
    flow.solver.meetings += [(flow.labels[index], *pair) for pair in zip(bins, windows, strict=True)]


def _is_adaptive(bins: Sequence[Dim], kernel: Sequence[int]) -> bool | None:
    equal = len({size.old for size in bins}) == 1
    if equal and len(set(kernel)) > 1:  # as many windows on both axes, of unequal sides
        return True
    if max(kernel) <= STEP_DOWN and len(set(kernel)) > 1:
        return False  # a step down on one axis
    return None


# ---- resizes ----


def _joined_resizes(flow: Flow) -> None:
    """Maps that are resized to one size and joined, of which one has that size already: it is the size of that map."""
    for own in flow.resizes:
        moving = [(before, after) for _, before, after in own.axes if flow.is_open(after)]
        stays = moving and all(before.old == after.old and flow.sizes.varies(before) for before, after in moving)
        if not stays or own.is_scale or flow.keeps(own.label):
            continue
        sizes = [flow.sizes.resolve(after) for _, after in moving]
        others = [use for use in flow.resizes if use is not own]
        beside = [use for use in others if [flow.sizes.resolve(after) for _, _, after in use.axes] == sizes]
        if any(before.old != after.old for use in beside for _, before, after in use.axes):
            for before, after in moving:
                flow.bind(after, before)
            olds = _olds(before for before, _ in moving)
            flow.assume(own.label, "resize-to-the-size-of-a-joined-map", sizes=olds)


def _resizes(flow: Flow, *, last: bool = True) -> None:
    """Decide resizes of open sizes; before the `last` call, only those whose input has a known size."""
    for use in flow.resizes:
        moving = [(axis, before, after) for axis, before, after in use.axes if flow.is_open(after)]
        unknown = {dim for _, *sizes in moving for size in sizes for dim in flow.sizes.unknowns(size)}
        waits = any(flow.sizes.unknowns(before) for _, before, _ in moving) or not unknown.isdisjoint(
            dim for *_, length in flow.cuts for dim in flow.sizes.unknowns(length)
        )
        if not moving or (waits and not last):
            continue
        said = flow.choices.of(use.label)
        windows = _next_windows(flow, use, moving) if said in (None, "windows") else None
        targets: Sequence[Dim | None] | None = windows
        if windows is None and said != "keep":
            targets = _targets(flow, use, moving)
        factor = None if said == "keep" or use.is_scale else _common_factor(flow.sizes, moving)
        if targets is None and said == "follow" and factor is not None:
            targets = [_share(flow.sizes, before, factor) for _, before, _ in moving]
        elif targets is None and said is None and factor is not None:
            sizes = [after.old for _, _, after in moving]
            raise refuse(use.label, "origins.input-size-resize-factor", sizes=sizes, factor=f"{float(factor):.4g}")
        elif targets is None and said == "follow" and not use.is_scale:
            raise refuse(use.label, "origins.input-size-resize-no-factor", sizes=[after.old for _, _, after in moving])
        is_factor = use.is_scale and targets is None and said != "keep"
        for (axis, _, after), target in zip(moving, targets or [None] * len(moving), strict=True):
            if target is not None:
                flow.bind(after, target)
            elif said is None and not use.is_scale and flow.solver.seen.get(after.old or 0):
                raise refuse(use.label, "origins.input-size-resize-map", sizes=[size.old for _, _, size in moving])
            elif is_factor:
                flow.bind(after, _scaled(flow, after))
            else:
                flow.bind(after, flow.sizes.const(after.old or 0))
                flow.kept.add((use.label, axis))
        made = [after for _, _, after in moving]
        stays = not any(map(flow.sizes.varies, made))
        if windows is not None:
            flow.assume(use.label, "resize-to-whole-windows", reading="windows", sizes=_olds(made))
        elif stays and any(flow.sizes.varies(before) for _, before, _ in moving):
            flow.assume(use.label, "resize-to-a-size-of-its-own", reading=KEEP, others=(), sizes=_olds(made))
        elif not stays and not is_factor:
            flow.assume(use.label, "resize-to-a-share-of-the-input", sizes=_olds(made))
        flow.solver.settle()


def _next_windows(flow: Flow, use: ResizeUse, moving: Sequence[tuple[int, Dim, Dim]]) -> list[Dim] | None:
    """The next sizes that windows divide, as in MobileViT, for a resize to sizes that are split into windows; an axis
    that is not split keeps its size. None for any other resize."""
    sizes, made = flow.sizes, []
    for _, before, after in moving:
        splits = [split for split in flow.solver.splits if sizes.resolve(split.whole) is sizes.resolve(after)]
        several = [split.parts[1] for split in splits if (split.parts[0].old or 0) > 1]
        window = math.lcm(*(part.old or 1 for part in several if not sizes.varies(part)))
        if not 0 <= (after.old or 0) - (before.old or 0) < window or use.is_scale:
            return None
        made.append(sizes.product([sizes.ceil_div(before, window), sizes.const(window)]))
    return made if any(before.old != after.old for _, before, after in moving) else None


def _scaled(flow: Flow, after: Dim) -> Dim:
    """What the scales of a resize make; its size may have become one with an unknown that other nodes make."""
    candidates = flow.solver.candidates
    return (candidates.get(flow.sizes.resolve(after)) or candidates[after])[0]


def _targets(flow: Flow, use: ResizeUse, moving: Sequence[tuple[int, Dim, Dim]]) -> list[Dim] | None:
    """What the sizes follow: the input's, or an equal share of it or of the resized map; None where they are fixed."""
    sizes = flow.sizes
    symbols = [_symbol(flow, use, axis, before) for axis, before, _ in moving]
    if any(symbol is None for symbol in symbols):
        return None
    known = [symbol for symbol in symbols if symbol is not None]
    shares = {Fraction(after.old or 0, symbol.old or 1) for (_, _, after), symbol in zip(moving, known, strict=True)}
    if use.is_scale and all(sizes.fixed(before) is None for _, before, _ in moving):
        said, of_image = flow.choices.of(use.label), len(shares) == 1 and _is_simple(next(iter(shares)))
        quotients = any(_is_quotient(flow, before, after) for _, before, after in moving)
        if quotients and (said is None or (said == "of-image" and not of_image)):
            raise refuse(use.label, "origins.input-size-resize-scale", sizes=[after.old for _, _, after in moving])
        return [_share(sizes, symbol, *shares) for symbol in known] if quotients and said == "of-image" else None
    if len(shares) == 1 and _is_simple(next(iter(shares))):
        share = shares.pop()
        if share < 1 and len({symbol.old for symbol in known}) == 1 and flow.choices.of(use.label) != "follow":
            olds = [after.old for _, _, after in moving]
            raise refuse(use.label, "origins.input-size-resize", sizes=olds, share=str(share))
        targets = [_share(sizes, symbol, share) for symbol in known]
        if share != 1 and flow.choices.of(use.label) != "follow":
            # Where the sizes are a share of the resized map as well: both are the same at some sizes of the input.
            flow.readings += [
                (use.label, *pair) for pair in zip(targets, _own_shares(sizes, moving) or (), strict=False)
            ]
        return targets
    return _own_shares(sizes, moving)


def _own_shares(sizes: Sizes, moving: Sequence[tuple[int, Dim, Dim]]) -> list[Dim] | None:
    """The sizes as one simple share of the map that is resized; None if they are no such share, or if that map stays as
    it is."""
    own = {Fraction(after.old or 0, before.old or 1) for _, before, after in moving}
    if len(own) != 1 or not all(sizes.varies(before) for _, before, _ in moving):
        return None
    (share,) = own
    return [_share(sizes, before, share) for _, before, _ in moving] if _is_simple(share) else None


def _is_quotient(flow: Flow, before: Dim, after: Dim) -> bool:
    """Whether a scale may be that of two sizes, and not a factor that somebody wrote: 1.5 of 23 is 34.5."""
    if _is_simple(Fraction(after.old or 0, before.old or 1)):
        return False
    scale = float(_scaled(flow, after).data)
    made = scale * (before.old or 0)
    return not _is_simple(Fraction(scale)) or abs(made - round(made)) < _ROUNDED


def _common_factor(sizes: Sizes, moving: Sequence[tuple[int, Dim, Dim]]) -> Fraction | None:
    """The plainest factor that makes every size, rounded down, of the one that is resized; None where there is none."""
    if not all(sizes.varies(before) for _, before, _ in moving):
        return None
    least = max(Fraction(after.old or 0, before.old or 1) for _, before, after in moving)
    most = min(Fraction((after.old or 0) + 1, before.old or 1) for _, before, after in moving)
    for denominator in range(1, _FINEST):
        numerator = -(-least.numerator * denominator // least.denominator)
        if Fraction(numerator, denominator) < most:
            return Fraction(numerator, denominator)
    return None


def _symbol(flow: Flow, use: ResizeUse, axis: int, before: Dim) -> Dim | None:
    """The size of the input that an axis follows, or would if it were not fixed on the way."""
    sizes = flow.sizes
    for side in sizes.sides:
        if sizes.follows(before, side.data):
            return side
    if not sizes.sides:
        return None  # the batch alone changes
    listed = [known for known, _, _ in use.axes]
    place = listed.index(axis) if len(listed) == 2 else None
    if sizes.fixed(before) is None or place is None:
        return None
    name = ("height", "width")[place]
    if name in sizes.symbols:
        return sizes.symbol(name)
    old = flow.images[0].old(name)
    return None if old is None else sizes.const(old)


def _is_simple(share: Fraction) -> bool:
    """A factor that networks have: whole, one over a whole number, or quarters."""
    return share.denominator == 1 or share.numerator == 1 or share.denominator in (2, 4)


def _share(sizes: Sizes, whole: Dim, share: Fraction) -> Dim:
    return sizes.floor_div(sizes.product([whole, sizes.const(share.numerator)]), share.denominator)


# ---- the rest ----

_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg", "Cast", "Floor", "Ceil"})
_MAKING = frozenset({"ConstantOfShape", "Expand", "Tile", "Range", "Concat"})


def _arithmetic(flow: Flow) -> None:
    """Numbers in arithmetic with sizes, and sizes of what is made: one that is a size of the input is that size."""
    sizes = flow.sizes
    for place, use in flow.operands.lists.items():
        node = flow.nodes[place.node]
        if node.op_type not in _ARITHMETIC | _MAKING or not flow.is_read(node.output[0]):
            continue
        open_dims = [dim for dim in use.dims if dim is not None and flow.is_open(dim)]
        for order, dim in enumerate(open_dims):
            equal = [side for side in sizes.sides if side.old == dim.old]
            if not equal or flow.keeps(flow.labels[place.node]):
                continue
            if len(equal) > 1 and len(open_dims) == 1 and not sizes.tied:
                raise refuse(flow.labels[place.node], "origins.input-size-square", old=dim.old)
            flow.bind(dim, equal[min(order, len(equal) - 1)])
            flow.assume(flow.labels[place.node], "side-in-arithmetic", old=dim.old, side=equal[0].data)


def _rest(flow: Flow) -> None:
    """All else is what it is in the file."""
    sizes = flow.sizes
    listed = (dim for use in flow.operands.lists.values() for dim in use.dims if dim is not None)
    of_tables = (dim for table in flow.operands.tables.values() for dim in table.dims)
    for dim in (*listed, *of_tables, *flow.attributes.values()):
        flow.bind(dim, sizes.const(dim.old or 0))
    for _, *pair in flow.solver.meetings:
        for dim in pair:
            for unknown in sizes.unknowns(dim):
                flow.solver.bind(unknown, sizes.const(unknown.old or 0))
