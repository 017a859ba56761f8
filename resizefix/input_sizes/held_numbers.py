"""Numbers that stay because of what stands behind them, though what they are made for moves: they are asked for.

A matrix, a list or a table of one size behind a node holds its number as it is. The network may have been exported so,
or all of them may be of the old size: an Expand to as many samples as a map has, a cut of all but one row, a resize to
the image's size, a grid for each of its samples.
"""

from collections.abc import Iterator
from itertools import pairwise

from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.refusal import KEEP, asked

_FEW = 8  # so many samples are cut out for their own sake
_FEWEST = 4  # so many times a sample is repeated for its own sake
_REPEATED = {"Expand": 1, "Tile": 1, "ConstantOfShape": 3}
"""Of how many axes at least: fewer that are filled with one number are biases and factors of channels."""


_Held = tuple[str, object, str, dict[str, object]]


def refuse_held(flow: Flow) -> None:
    """Raises SizeRefusedError for the first such node that the user has not decided about."""
    for label, held, code, said in (*_spread(flow), *_cut(flow), *_resized(flow), *_sampled(flow)):
        if flow.choices.of(label) is None and label not in flow.conventional:
            raise asked(label, held, code, {KEEP: against(KEEP)}, **said)


def _spread(flow: Flow) -> Iterator[_Held]:
    """Nodes that repeat samples as often as a map has some that follows the input."""
    moving = {dim.old for dim in flow.moving_sizes()}
    for place, use in flow.operands.lists.items():
        node = flow.nodes[place.node]
        if node.op_type not in _REPEATED or len(use.dims) < _REPEATED[node.op_type] or not flow.is_read(node.output[0]):
            continue
        source = flow.dims.get(node.input[0]) or ()
        ahead = [None] * (len(use.dims) - len(source)) + [flow.sizes.fixed(dim) for dim in source]
        for dim, before in zip(use.dims, ahead, strict=False):
            held = None if dim is None else flow.sizes.fixed(dim)
            if held is not None and held > _FEWEST and before in (None, 1) and held in moving:
                yield flow.labels[place.node], held, "origins.input-size-all-of-axis", {"old": held}


def _cut(flow: Flow) -> Iterator[_Held]:
    """Cuts of a fixed number of samples, most of all that there are, from an axis that follows the input."""
    for label, dim, first, length in flow.cuts:
        begin, held = flow.sizes.fixed(first), flow.sizes.fixed(length)
        if begin is not None and held is not None and held >= max(_FEW, (dim.old or 0) / 2) and flow.sizes.varies(dim):
            cut = [begin, begin + held]
            yield label, cut, "origins.input-size-cut", {"old": dim.old, "numbers": cut}


def _resized(flow: Flow) -> Iterator[_Held]:
    """Resizes to the size that the image has, or a map that follows it."""
    image = tuple(flow.images[0].old(name) for name in ("height", "width"))
    pairs = (pairwise(dims) for dims in flow.dims.values() if dims)
    maps = {(one.old, other.old) for few in pairs for one, other in few if flow.sizes.are_sides(one, other)}
    for use in flow.resizes if flow.sizes.sides else ():
        after = tuple(flow.sizes.fixed(dim) for axis, _, dim in use.axes if axis)
        if not use.is_scale and after in {image, *maps}:
            yield use.label, list(after), "origins.input-size-resize-held", {"sizes": list(after)}


def _sampled(flow: Flow) -> Iterator[_Held]:
    """Grids of fixed size with a position for each sample of a map that follows the input."""
    for label, sides, grid in flow.samplings:
        held = [flow.sizes.fixed(dim) for dim in grid]
        if held == [dim.old for dim in sides] and any(map(flow.sizes.varies, sides)):
            yield label, held, "origins.input-size-indices", {"old": held[0]}
