"""Numbers that nothing has decided, on a path that follows the input: one that a formula makes of a size is asked for.

At the old size such a number may be the size, or stand for itself. It is left as it is only where no formula of a size
near it gives its bits, or where it is of a kind that never holds a size: what scales an activation or an attention,
and what pixels are scaled by. A plain number (2, 0.25) is asked for only where it scales a sum over a size that makes
it, or a map by a usual share of its side, or by any of the image's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.document.values import Array
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.own_numbers import is_own
from resizefix.input_sizes.refusal import FOLLOW, KEEP, asked
from resizefix.input_sizes.scalar_use import (
    EVERY_FORM,
    FORMS,
    RARER,
    UNMISTAKABLE,
    ScalarUse,
    SizeForm,
    distinct,
    formula,
    reading,
)
from resizefix.input_sizes.taints import Taint, merged
from resizefix.input_sizes.wide_families import in_wide_family
from resizefix.shapes.expression import Dim

Doubts = dict[Place, Sequence[ScalarUse]]
NumbersRead = Callable[[int, NodeProto], Iterable[Place]]
_MEETING = frozenset(
    {"Add", "Sub", "Sum", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Clip", "Where", "Less", "LessOrEqual", "Greater"}
    | {"GreaterOrEqual", "Equal", "OneHot", "Trilu", "Range", "CumSum", "EyeLike"}
)
_NEVER = frozenset({("Pow", 1), ("OneHot", 2), ("CumSum", 1)})
"""Operands of these that are no number of the map: exponents, values, axes."""
_SMALLEST = 4
"""Sizes up to here are not looked for, nor whole numbers up to it: they stand for themselves."""
_WRITTEN = (0.25, 0.5, 0.75, 1.5, 2.5, 3.5)
_SCALING = frozenset({"Mul", "Div"})
_COMPARING = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
_PARTS = {name: form for name, form in EVERY_FORM.items() if {step for step, _ in form.steps} <= {"Mul", "Div"}}
_TOGETHER = ("minus", "total")  # what two sides are apart, or together
_ROOTS = {name: RARER[name] for name in ("root", "over root")}
_OF_LEVELS = {"Div": {"whole": FORMS["whole"]}, "Mul": {name: FORMS[name] for name in ("reciprocal", "two over")}}
"""Forms of the size of another level that are looked for."""
_FARTHEST = 4
"""Nodes between a number for a whole image and the map that it meets."""


def loose_numbers(
    flow: Flow,
    found: dict[Place, ScalarUse],
    doubtful: Doubts,
    pixels: frozenset[str],
    numbers_read: NumbersRead,
    taints: Mapping[str, Taint],
    steps: Container[Place],
) -> None:
    """Add to `found` what the user chose of the numbers that are left. Raises SizeRefusedError for the others.

    `doubtful` has numbers that may be the listed sizes, as far as rules saw. `pixels` are tensors of the image's own
    values; `numbers_read` says which numbers a node reads, `taints` what the values of a tensor are made of. `steps`
    are numbers by which positions become pixels.
    """
    steps_of_fixed, lengths, areas = _steps_of_fixed(flow), _lengths_that_stay(flow), _areas(flow)
    every = flow.moving_sizes()
    for index, node in enumerate(flow.nodes):
        if node.op_type not in _MEETING or not any(map(flow.is_read, node.output)):
            continue
        near, taint = _sizes_near(flow, node), merged(map(taints.get, node.input))
        sizes = [*near, *taint.along, *taint.summed]
        of_pixels = all(name in pixels or flow.operands.is_constant(name) for name in node.input)
        for place in numbers_read(index, node):
            array = _open_number(flow, place)
            if (
                array is None
                or place in found
                or (node.op_type, place.position) in _NEVER
                or flow.keeps(flow.labels[place.node])
            ):
                continue
            is_scale = _is_scale(flow, node)
            is_plain = _is_plain(array) and not _bounds_positions(node, array, taint)
            formulas = _formulas(flow, sizes, array) if not is_scale and not is_plain else []
            if not is_scale and _is_plain(array) and node.op_type in _SCALING:
                formulas = [*_formulas(flow, taint.summed, array), *_formulas(flow, near, array, FORMS)]
                formulas += _formulas(flow, flow.sizes.sides if near else (), array, _PARTS)
                lengths_near = [dim for dim in near if len(flow.sizes.atoms(dim)) == 1 and dim.kind not in _TOGETHER]
                formulas += _formulas(flow, lengths_near, array, _ROOTS)
            if taint.along and not is_scale and node.op_type in _SCALING:
                formulas += _formulas(flow, _of_lines(flow, every, taint), array, _OF_LEVELS[node.op_type])
            if near and not is_scale and node.op_type in _SCALING:
                formulas += [use for dim in steps_of_fixed if (use := reading(dim, 0, "whole", array)) is not None]
            if place in steps:
                formulas += _formulas(flow, sizes, array)
            if place in steps and flow.choices.of(flow.labels[place.node]) is None:
                _assume_step(flow, place, _named(flow, distinct(flow.sizes, formulas)))
                continue
            uses = doubtful.get(place)
            if uses is None and (of_pixels or is_own(flow, node, flow.nodes[place.node], array, found)):
                continue
            must = uses is not None or (
                not is_scale and in_wide_family(array, _lengths_near(flow, sizes), lengths, areas if sizes else ())
            )
            use = _asked_use(flow, place, array, [*(uses or ()), *formulas], must=must)
            if use is not None:
                found[place] = use


def _is_scale(flow: Flow, node: NodeProto) -> bool:
    """Whether a node multiplies a size, and resizes alone read what follows, as their extent: the factor is a constant
    scale, as one that is listed is."""
    counted, made = flow.operands.values, list(node.output)
    if node.op_type not in _SCALING or not any(name in counted for name in node.input):
        return False
    for name in made:
        readers = flow.operands.readers(name)
        behind = [reader for reader in readers if reader.op_type not in RESIZES or reader.input[0] == name]
        outputs = [output for reader in behind for output in reader.output]
        if not readers or not all(output in counted for output in outputs):
            return False
        made += [output for output in outputs if output not in made]
    return True


def _of_lines(flow: Flow, every: Iterable[Dim], taint: Taint) -> list[Dim]:
    """The sizes along the sides that positions count along: that of another level may divide them."""
    sizes = flow.sizes
    lines = [{name for name in sizes.symbols if sizes.follows(dim, name)} for dim in taint.along]
    return [dim for dim in every if {name for name in sizes.symbols if sizes.follows(dim, name)} in lines]


def _lengths_near(flow: Flow, near: Iterable[Dim]) -> list[float]:
    """How long sizes are, and the diagonal of the image: that of a map is a share of it."""
    lengths = [float(dim.old or 0) for dim in near]
    sides = [old for name in ("height", "width") if (old := flow.images[0].old(name)) is not None]
    return [*lengths, math.hypot(*sides)] if lengths else []


def _areas(flow: Flow) -> frozenset[float]:
    """How many positions there are on each map of which a side follows the image."""
    maps = (pairwise(map(flow.sizes.resolve, dims)) for dims in flow.dims.values() if dims)
    moving = {pair for pairs in maps for pair in pairs if any(map(flow.sizes.varies, pair))}
    return frozenset(float((one.old or 0) * (other.old or 0)) for one, other in moving)


def _lengths_that_stay(flow: Flow) -> frozenset[int]:
    dims = (dim for listed in flow.dims.values() for dim in listed or ())
    return frozenset(length for dim in dims if (length := flow.sizes.fixed(dim)) is not None)


def _steps_of_fixed(flow: Flow) -> list[Dim]:
    """How many pixels of the image one sample is on a map that is resized to a size of its own."""
    sizes, made = flow.sizes, []
    for use in flow.resizes:
        for _, before, after in use.axes:
            held = sizes.fixed(after)
            lines = [side for side in sizes.sides if held and sizes.follows(before, str(side.data))]
            made += [sizes.floor_div(side, held or 1) for side in lines]
    return [dim for dim in dict.fromkeys(made) if (dim.old or 0) >= 1]


def assume_sizes(flow: Flow, found: dict[Place, ScalarUse], doubtful: Doubts, mixed: Container[Place]) -> None:
    """State every single number of `found`: what it divides says that it is a size, and it may stand for itself.

    The side of a square map is the root of its area as well. Where the number meets positions alone, or sums, that is
    what the convention decides against; where it meets what was computed of them and of data (`mixed`), `doubtful` gets
    both readings.
    """
    for place, use in list(found.items()):
        array, label = use.array, flow.labels[place.node]
        if array.size != 1 or place in doubtful:
            continue
        roots = list(_roots(flow, flow.nodes[place.node], array))
        squares = list(_squares(flow, flow.nodes[place.node], use))
        said = flow.choices.of(label)
        if (roots or squares) and (said not in (None, FOLLOW) or (roots and said is None and place in mixed)):
            doubtful[place] = distinct(flow.sizes, [use, *roots, *squares])
            del found[place]
            continue
        taken = formula(flow.sizes, use) if roots or squares else FOLLOW
        others = dict.fromkeys((KEEP, *(formula(flow.sizes, other) for other in (*roots, *squares))))
        flow.assume(label, "divisor-as-large-as-the-map", reading=taken, others=tuple(others), value=array.item())


def _roots(flow: Flow, node: NodeProto, array: Array) -> Iterator[ScalarUse]:
    """The areas near a node of which a number is the root, or one over it."""
    for dim in _sizes_near(flow, node):
        if (dim.old or 0) > _SMALLEST and len(flow.sizes.atoms(dim)) > 1:
            uses = (reading(dim, 0, form, array) for form in ("root", "over root"))
            yield from (use for use in uses if use is not None)


def _squares(flow: Flow, node: NodeProto, use: ScalarUse) -> Iterator[ScalarUse]:
    """What the area of a square map near a node is as well: the square of a side."""
    form = {"whole": "square", "reciprocal": "over square"}.get(use.form)
    for side in _sizes_near(flow, node) if form is not None and not use.less else ():
        other = reading(side, 0, form or "", use.array)
        if other is not None and (side.old or 0) > _SMALLEST:
            yield other


def _assume_step(flow: Flow, place: Place, named: dict[str, ScalarUse]) -> None:
    """A number by which positions become pixels, as many for each step of the map, where it may be a size as well."""
    value = flow.operands.array(flow.nodes[place.node].input[place.position])
    if named and value is not None:
        said = {"value": value.flat[0].item()}
        flow.assume(flow.labels[place.node], "steps-in-pixels", reading=KEEP, others=tuple(named), **said)


def _sizes_near(flow: Flow, node: NodeProto) -> list[Dim]:
    """The sides of the image, and the sizes of what a node reads and makes; with the areas of maps, and what the sides
    of each are together and apart."""
    sizes, image = flow.sizes, flow.images[0]
    near: list[Dim] = []
    maps: list[tuple[Dim, Dim]] = []
    for name in (*node.output, *node.input, *_met_behind(flow, node)):
        dims = [sizes.resolve(dim) for dim in flow.dims.get(name) or ()]
        near += [dim for dim in dims if sizes.varies(dim)]
        maps += [pair for pair in pairwise(dims) if any(map(sizes.varies, pair))]
    if not near and not flow.kept and not any(map(flow.is_moving, node.input)):
        return []  # behind a resize to a size of its own, positions move nothing and meet the map later
    lines = {name: sizes.const(old) for name in ("height", "width") if (old := image.old(name)) is not None}
    lines |= {str(side.data): side for side in sizes.sides}
    whole = [tuple(lines.values())] if len(lines) == 2 else []
    for pair in dict.fromkeys([*whole, *maps]):
        near.append(sizes.product(pair))
        if pair in whole or all(map(sizes.varies, pair)):
            near += [sizes.minus(*pair), sizes.minus(*reversed(pair)), sizes.total(pair)]
    return list(dict.fromkeys([*sizes.sides, *filter(sizes.varies, near)]))


def _met_behind(flow: Flow, node: NodeProto) -> list[str]:
    """Of a node that makes no map: the maps that what it makes meets next, as a share of the width meets columns."""
    made = list(node.output)
    for _ in range(_FARTHEST if any(map(flow.is_moving, made)) else 0):
        if any(flow.sizes.varies(dim) for name in made for dim in flow.dims.get(name) or ()):
            return made
        made = [name for one in made for reader in flow.operands.readers(one) for name in reader.output]
    return []


def _open_number(flow: Flow, place: Place) -> Array | None:
    """A single number of the file that nothing has decided."""
    name = flow.nodes[place.node].input[place.position]
    listed = flow.operands.lists.get(place)
    if listed is not None and any(dim is not None and flow.sizes.varies(dim) for dim in listed.dims):
        return None
    array = flow.operands.array(name)
    return array if array is not None and array.size == 1 and array.dtype.kind in "fiu" else None


def _is_plain(array: Array) -> bool:
    """Whether a number mostly stands for itself: a small whole one, or quarters."""
    size = abs(float(array.flat[0]))
    return not np.isfinite(size) or size in _WRITTEN or (size <= _SMALLEST and size == np.floor(size))


def _bounds_positions(node: NodeProto, array: Array, taint: Taint) -> bool:
    """Whether positions are compared with a number: also a small one may be a share of their axis."""
    return node.op_type in _COMPARING and bool(taint.along) and not taint.is_mixed and abs(float(array.flat[0])) > 1


def _forms_of(flow: Flow, dim: Dim) -> Iterable[str]:
    """The forms that are looked for: a difference may become negative, and of products with channels there are many."""
    if dim.kind == "minus":
        return FORMS
    held = [atom.old or 0 for atom in flow.sizes.atoms(dim) if not flow.sizes.varies(atom)]
    moving = [atom for atom in flow.sizes.atoms(dim) if flow.sizes.varies(atom)]
    if len(held) == len(moving) == 1 and len(flow.sizes.sides) == 1:
        # The area of a map of which one side stays: it is as large as the image's, in strides of the other.
        stays = [flow.images[0].old(name) or 0 for name in ("height", "width") if name not in flow.sizes.symbols]
        stride = flow.sizes.stride(moving[0])
        held = [] if stride is not None and all(abs(held[0] * stride - old) < stride for old in stays) else held
    return FORMS | RARER | UNMISTAKABLE if held else EVERY_FORM


def _formulas(
    flow: Flow, near: Iterable[Dim], array: Array, forms: Mapping[str, SizeForm] | None = None
) -> list[ScalarUse]:
    """Each formula of a size that makes the number; `forms`: one of these."""
    return [
        use
        for dim in near
        for less in (0, 1)
        for form in forms or _forms_of(flow, dim)
        if (dim.old or 0) - less > _SMALLEST and (use := reading(dim, less, form, array)) is not None
    ]


def _asked_use(flow: Flow, place: Place, array: Array, uses: Sequence[ScalarUse], *, must: bool) -> ScalarUse | None:
    """What the user says that a number is; None where it is no formula of a size. `must`: it is asked for even then."""
    label, number = flow.labels[place.node], array.flat[0].item()
    if not uses and not must:
        return None
    named = _named(flow, distinct(flow.sizes, uses))
    chosen = named.get(flow.choices.of(label) or "")
    if chosen is not None:
        return chosen
    meanings = {KEEP: Diagnostic("origins.reading-keep")}
    meanings |= {
        name: Diagnostic("origins.reading-formula", formula=formula(flow.sizes, use)) for name, use in named.items()
    }
    raise asked(label, number, "origins.input-size-number", meanings, value=number)


def _named(flow: Flow, uses: list[ScalarUse]) -> dict[str, ScalarUse]:
    """The readings by name: "follow" where there is one, else formulas."""
    if len(uses) == 1:
        return {FOLLOW: uses[0]}
    named: dict[str, ScalarUse] = {}
    for use in uses:
        named.setdefault(formula(flow.sizes, use), use)
    return named
