"""Interpolation that is written as other operators: nodes that pick or mix samples of spatial axes by constants.

What moves elements (Gather, GatherND, Transpose, Reshape and so on) is followed element by element: positions of the
input go through the nodes, and what comes out says which sample each output position copies. Slices and strides are
no resizes, and only axes behind the first two count. Tables of indices that the model computes from open sizes, as
dynamo writes them, are folded with one length and then another: what is the same interpolation at all of these is
one resize."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
from onnx import GraphProto, NodeProto, TensorShapeProto, ValueInfoProto

from resizefix.dialects.dialect import dialect_of
from resizefix.document.edits import NodeBuilder
from resizefix.document.scopes import Scope, bodies, is_operator
from resizefix.interpolation import Interpolation, Mode
from resizefix.lowerings.recovered import NEAREST_EXACT, Recovered, Sampled, nearest_of
from resizefix.operations.linear_chains import MOST_WEIGHTS, blended, deconvolved, multiplied
from resizefix.operations.moved_elements import Moves, constant_of, spatial_samples
from resizefix.scope_path import Key
from resizefix.shapes.output_size import kernel_length
from resizefix.shapes.stored_shapes import ModelView

_PICKING = ("Gather", "GatherND")
_PRODUCTS = ("MatMul",)
_LONGEST_CHAIN = 8
_FIRST_WITH_COORDINATES = 11


@dataclass(frozen=True, eq=False)
class WrittenResize:
    """Nodes of one scope that compute `y` from `x` as a resize would.

    `alternatives` are all interpolations that have these constants, the assumed one first. `axes` are the axes that
    change, from `sizes` to `lengths`; `rank` is that of both tensors, `whole` the output's shape where all of it is
    fixed, and `operators` names the operators.

    Of operators of other domains, which no runtime here runs, `source` says where their meaning is known from;
    `computed` adds the nodes that compute the sizes where no constants give them.
    """

    scope: Scope
    label: str
    operators: tuple[str, ...]
    x: str
    y: str
    rank: int
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    lengths: tuple[int, ...]
    whole: tuple[int, ...] | None
    alternatives: tuple[Recovered, ...]
    source: str | None = None
    computed: Callable[[NodeBuilder], str] | None = None

    @property
    def key(self) -> Key:
        """The output, by which the nodes are known."""
        return self.scope.path, self.y

    @property
    def assumed(self) -> Recovered:
        """What is taken."""
        return self.alternatives[0]

    @property
    def interpolation(self) -> Interpolation:
        """The interpolation that the Resize gets."""
        return self.assumed.interpolation

    @property
    def operator_names(self) -> tuple[str, ...]:
        """The operators, each once."""
        return tuple(dict.fromkeys(self.operators))

    @property
    def others(self) -> tuple[Interpolation, ...]:
        """The interpolations that compute the same here, and other numbers at other sizes."""
        own = self.assumed.interpolation
        return tuple(dict.fromkeys(one.interpolation for one in self.alternatives if one.interpolation != own))


def written_resizes(view: ModelView) -> list[WrittenResize]:
    """All of them outside local functions, in the order of the file."""
    resizes: list[WrittenResize] = []
    for scope in view.scopes.all:
        if scope.in_function:
            continue
        taken: set[int] = set()
        for index, node in enumerate(scope.body.node):
            blend = blended(view, scope, node) if is_operator(node, "Add") and len(node.input) == 2 else None
            if blend is not None:
                x, axis, places, alternatives = blend
                one = _made(view, scope, index, [*sorted(set(places)), index], x, (axis,), alternatives)
                if one is not None:
                    taken |= one[1]
                    resizes.append(one[0])
        for index, node in enumerate(scope.body.node):
            if index not in taken and is_operator(node, *_PICKING, *_PRODUCTS, "ConvTranspose"):
                one = _written(view, scope, index)
                if one is not None:
                    taken |= one[1]
                    resizes.append(one[0])
    return resizes


def behind_computed_tables(view: ModelView, scope: Scope) -> list[NodeProto]:
    """Nodes that pick by a table that other nodes compute, as dynamo does where sizes are open and where they were, and
    those shortly behind them."""
    behind: list[NodeProto] = []
    ends: dict[str, int] = {}
    for index, node in enumerate(scope.body.node):
        picks = is_operator(node, "GatherND") and len(node.input) == 2 and view.value(scope, node.input[1]) is None
        last = index + 2 * _LONGEST_CHAIN if picks else max((ends.get(name, 0) for name in node.input), default=0)
        if index < last and node.output:
            behind.append(node)
            ends |= dict.fromkeys(node.output, last)
    return behind


def _written(view: ModelView, scope: Scope, index: int) -> tuple[WrittenResize, set[int]] | None:
    node = scope.body.node[index]
    if node.op_type in _PICKING:
        return _picked(view, scope, index)
    if node.op_type == "ConvTranspose":
        return _made(view, scope, index, [index], *deconvolved(view, scope, node))
    chain = _chain(view, scope, index, frozenset({*_PRODUCTS, "Transpose", "Reshape", "Identity"}))
    for start, end in _spans(chain.index(index), len(chain)):
        part = chain[start : end + 1]
        x = _data(view, scope, scope.body.node[part[0]])
        axes, alternatives = multiplied(view, scope, [scope.body.node[place] for place in part], x)
        if alternatives:
            resize = _made(view, scope, index, part, x, axes, alternatives)
            if resize is not None:
                return resize
    return None


def _picked(view: ModelView, scope: Scope, index: int) -> tuple[WrittenResize, set[int]] | None:
    chain = _chain(view, scope, index, Moves.OPERATORS)
    strides = scope.body.node[index].op_type == "GatherND"  # a slice with a stride is no list of pairs
    nodes = scope.body.node
    for start, end in _spans(chain.index(index), len(chain)):
        x, y = nodes[chain[start]].input[0], nodes[chain[end]].output[0]
        thin = not Moves.BY_LENGTHS & {nodes[place].op_type for place in chain[start : end + 1]}
        positions, shape = Moves(view, scope, x, thin=thin).of(y)
        samples = None if positions is None else spatial_samples(positions, shape)
        if not samples or any(_is_no_resize(one, strides=strides) for one in samples.values()):
            continue
        is_torch = view.model.producer_name == "pytorch" and nodes[index].op_type == "GatherND"
        alternatives = nearest_of(list(samples.values()), *([NEAREST_EXACT] if is_torch else []))
        if alternatives:
            resize = _made(view, scope, index, chain[start : end + 1], x, tuple(samples), alternatives)
            if resize is not None:
                return resize
    return None


def _is_no_resize(axis: Sampled, *, strides: bool) -> bool:
    """A slice, with a stride (unless `strides` are taken for resizes) or without; one sample; or samples that go
    back."""
    steps = np.diff(axis.indices)
    if axis.size < 2 or len(steps) < 1 or np.any(steps < 0):
        return True
    return bool(np.all(steps == steps[0])) and int(steps[0]) in ((1,) if strides else range(1, axis.size))


def _made(
    view: ModelView, scope: Scope, index: int, part: Sequence[int], x: str, axes: Sequence[int],
    alternatives: Sequence[Recovered],
) -> tuple[WrittenResize, set[int]] | None:  # fmt: skip
    if scope.opset >= _FIRST_WITH_COORDINATES:
        said = dialect_of("Resize", scope.opset).coordinate_transformation_modes
        alternatives = [one for one in alternatives if one.interpolation.coordinate_transformation_mode in said]
    nodes = [scope.body.node[place] for place in part]
    y = nodes[-1].output[0]
    before, after = view.dims(scope, x), view.dims(scope, y)
    if not alternatives or before is None or after is None or len(before) != len(after):
        return None
    if any(_is_cut(*both) for axis, both in enumerate(zip(before, after, strict=True)) if axis not in axes):
        return None
    pairs = [(before[axis], after[axis]) for axis in axes]
    sizes = tuple(size for size, _ in pairs if isinstance(size, int))
    lengths = tuple(length for _, length in pairs if isinstance(length, int))
    if not len(sizes) == len(lengths) == len(axes):
        return None
    label = scope.body.node[index].name or y
    fixed = tuple(size for size in after if isinstance(size, int))
    whole = fixed if len(fixed) == len(after) else None
    operators = tuple(node.op_type for node in nodes)
    resize = WrittenResize(
        scope, label, operators, x, y, len(before), tuple(axes), sizes, lengths, whole, tuple(alternatives)
    )
    return resize, set(part)


def _is_cut(before: int | str | None, after: int | str | None) -> bool:
    """Whether an axis that is not resized has another size behind: samples of a few channels stood for all."""
    return isinstance(after, int) and isinstance(before, int) and before != after


def _spans(anchor: int, length: int) -> Iterator[tuple[int, int]]:
    """Parts of a chain that hold the anchor, the longest first."""
    spans = [(start, end) for start in range(anchor + 1) for end in range(anchor, length)]
    yield from sorted(spans, key=lambda span: span[0] - span[1])


def _chain(view: ModelView, scope: Scope, index: int, operators: frozenset[str]) -> list[int]:
    """The nodes around one, each of which reads the one before and nothing else but constants."""
    nodes, chain = scope.body.node, [index]
    while len(chain) < _LONGEST_CHAIN:
        before = scope.producers.get(_data(view, scope, nodes[chain[0]]))
        if before is None or not is_operator(nodes[before], *operators):
            break
        chain.insert(0, before)
    while len(chain) < 2 * _LONGEST_CHAIN:
        definition = view.scopes.definition(scope, nodes[chain[-1]].output[0])
        readers = [] if definition is None else view.scopes.readers(definition)
        after = readers[0].node_index if len(readers) == 1 and readers[0].scope is scope else None
        if after is None or not is_operator(nodes[after], *operators):
            break
        if _data(view, scope, nodes[after]) != nodes[chain[-1]].output[0]:
            break
        chain.append(after)
    return chain


def _data(view: ModelView, scope: Scope, node: NodeProto) -> str:
    """What a node computes with besides constants."""
    is_left = is_operator(node, *_PRODUCTS) and constant_of(view, scope, node.input[0], MOST_WEIGHTS) is not None
    return str(node.input[1 if is_left else 0])


_TELLING = (19, 32, 42)
"""No two factors that somebody types give the same lengths of all; an even one shows how a tie is rounded,
and none is a multiple of 5, of which a tenth more or less in a float32 is a length."""
_LEAST = 2  # of them show a place: at the other, its sizes may be those of the input
_CHECKED = (*range(2, 13), 16, 21, 32, 47)
"""The lengths at which a table of indices is held against the resize that takes its place."""
_CHECKED_WEIGHTS = (2, 3, 5, 8, 13, 21, 34)  # weights take a second each; runs compare these
_STEP = 2  # between the axes of one input, so that no two have one length
_SPATIAL = 2  # the axes before are batch and channels
_READ: WeakKeyDictionary[ModelView, list[WrittenResize]] = WeakKeyDictionary()


def open_written(view: ModelView) -> list[WrittenResize]:
    """The resizes whose tables follow open sizes; those that the file's own sizes show are none of them."""
    if view not in _READ:
        _READ[view] = _open_written(view) if _has_open_tables(view) else []
    return _READ[view]


def _open_written(view: ModelView) -> list[WrittenResize]:
    by_key: dict[Key, list[WrittenResize]] = {}
    for length in _TELLING:
        for one in written_resizes(_pinned(view, length)):
            by_key.setdefault(one.key, []).append(one)
    own = {one.key for one in written_resizes(view)}
    common = [reduce(_both, seen) for key, seen in by_key.items() if key not in own and len(seen) >= _LEAST]
    return [replace(one, scope=view.scopes.by_path[one.scope.path]) for one in common if one.alternatives]


def resizes_at_one_size(view: ModelView) -> bool:
    """Whether tables that follow open sizes are resizes once these are fixed."""
    return _has_open_tables(view) and bool(written_resizes(_pinned(view, _TELLING[0])))


def first_other(view: ModelView) -> dict[Key, tuple[int, ...]]:
    """Of each place whose table is another one than the resize's, the first lengths of its axes at which it is."""
    wrong: dict[Key, tuple[int, ...]] = {}
    places = {one.key: one for one in open_written(view)}
    copies = all(one.assumed.interpolation.mode is Mode.NEAREST for one in places.values())
    for length in (_CHECKED if copies else _CHECKED_WEIGHTS) if places else ():
        pinned = _pinned(view, length)
        here = {one.key: one for one in written_resizes(pinned)}
        for key, place in places.items():
            if not (_fits(place, here[key]) if key in here else _shows_nothing(place, pinned)):
                wrong.setdefault(key, here[key].sizes if key in here else (length,))
    return wrong


def size_to_fix(view: ModelView) -> str:
    """A size that `input-size` takes of the first input with open axes."""
    for value in view.model.graph.input:
        if any(not dim.HasField("dim_value") for dim in _spatial(value)):
            dims = value.type.tensor_type.shape.dim
            first = [str(dims[1].dim_value)] if len(dims) == _SPATIAL + 1 and dims[1].dim_value else []
            return "x".join([*first, *["64"] * max(len(dims) - _SPATIAL, 2 - len(first))])
    return "64x64"


def _shows_nothing(place: WrittenResize, pinned: ModelView) -> bool:
    """Whether a table of these sizes does not show its resize: each length stays, or an axis has one sample left."""
    dims = pinned.dims(place.scope, place.x)
    sizes = [dims[axis] for axis in place.axes] if dims is not None else []
    whole = [size for size in sizes if isinstance(size, int)]
    if len(whole) < len(place.axes):
        return False
    scaled = (kernel_length(scale, size) for size, scale in zip(whole, place.assumed.scales, strict=True))
    lengths = list(scaled if place.assumed.is_by_scales else place.lengths)
    return lengths == whole or min(lengths) < _LEAST


def _fits(place: WrittenResize, one: WrittenResize) -> bool:
    """Whether the place's interpolation is among those that have the table at these sizes. An axis whose length stays
    is not resized there, and weights that are all 1 are those of a nearest, too."""
    scales = dict(zip(place.axes, place.assumed.scales, strict=True)) if place.assumed.is_by_scales else {}
    lengths = dict(zip(place.axes, place.lengths, strict=True))
    for axis, size, out in zip(one.axes, one.sizes, one.lengths, strict=True):
        if out != (kernel_length(scales[axis], size) if axis in scales else lengths.get(axis)):
            return False
    wanted, modes = place.assumed.interpolation, {other.interpolation.mode for other in one.alternatives}
    is_one_hot = wanted.mode is not Mode.NEAREST and modes == {Mode.NEAREST}
    return is_one_hot or any(wanted == other.interpolation for other in one.alternatives)


def _both(first: WrittenResize, second: WrittenResize) -> WrittenResize:
    """The first with the alternatives that the second, of other sizes, has as well."""
    if first.axes == second.axes and first.lengths == second.lengths:  # of other lengths before: these are the sizes
        named = {one.interpolation for one in second.alternatives}
        alternatives = [one._replace(is_by_scales=False) for one in first.alternatives if one.interpolation in named]
    else:
        scaled = {(one.interpolation, one.scales) for one in second.alternatives if one.is_by_scales}
        alternatives = [one for one in first.alternatives if (one.interpolation, one.scales) in scaled]
    return replace(first, alternatives=tuple(alternatives))


def _has_open_tables(view: ModelView) -> bool:
    return _has_open_axes(view.model.graph) and bool(behind_computed_tables(view, view.scopes.main))


def _has_open_axes(graph: GraphProto) -> bool:
    return any(not dim.HasField("dim_value") for value in graph.input for dim in _spatial(value))


def _spatial(value: ValueInfoProto) -> list[TensorShapeProto.Dimension]:
    return list(value.type.tensor_type.shape.dim[_SPATIAL:])


def _pinned(view: ModelView, length: int) -> ModelView:
    """The model with lengths in the place of the open ones of its inputs, one for each name, and no stored shapes."""
    copy = view.document.copy()
    graph = copy.proto.graph
    lengths: dict[str, int] = {}
    for value in graph.input:
        for place, dim in enumerate(_spatial(value)):
            if not dim.HasField("dim_value"):
                own = dim.dim_param or f"{value.name} {place}"
                dim.dim_value = lengths.setdefault(own, length + _STEP * len(lengths))
    for _, body in bodies(copy.proto):
        del body.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    return ModelView(copy)
