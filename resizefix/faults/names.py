"""Names that stand for two things. One name of a dimension for axes of different lengths: which axes of a model's
inputs and outputs truly share one. And two nodes of one name: onnxruntime loads no graph with them, though the name of
a node changes no number.

Exporters give "height" to every image of a model. TensorRT takes one name for one length, and refuses a profile that
gives two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations

from onnx import ModelProto, NodeProto, ValueInfoProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, NodeEdit
from resizefix.document.scopes import is_operator
from resizefix.document.values import tensor_of
from resizefix.faults.conversions import DUPLICATE_OUTPUT
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import ResizeNode
from resizefix.shapes.stored_shapes import ModelView

REUSED = "dimension-name-reused"
Shapes = Mapping[str, tuple[int, ...]]
_STRIDE = 64  # networks that halve an image six times keep its sides
_DIVIDED = 32  # of an image of other sides few networks keep them
_FIRST_SIDE = 2  # of an image, behind batch and channels
_MOST_GIVEN = 4  # names that are told apart by size


@dataclass(frozen=True)
class NamedAxis:
    """One axis of an input or output of the main graph."""

    tensor: str
    position: int

    def size(self, shapes: Shapes) -> int | None:
        """Its size in a run; None where the run does not tell."""
        shape = shapes.get(self.tensor, ())
        return shape[self.position] if self.position < len(shape) else None


@dataclass(frozen=True)
class SharedName:
    """A name that several axes of inputs and outputs have."""

    name: str
    inputs: tuple[NamedAxis, ...]
    outputs: tuple[NamedAxis, ...]


@dataclass(frozen=True)
class ReusedName:
    """A name that stands for several lengths: `groups` are the axes that may share one, that which keeps it first."""

    name: str
    groups: tuple[tuple[NamedAxis, ...], ...]

    @property
    def fault(self) -> Fault:
        """What is wrong, and what `repair` does."""
        first, *others = (group[0].tensor for group in self.groups)
        because = Diagnostic("faults.name-reused", first=first, others=", ".join(map(repr, others)))
        return Fault(REUSED, because, Diagnostic("faults.name-of-its-own"), NodeEdit())


def shared_names(model: ModelProto) -> list[SharedName]:
    """The names that an axis of an input shares with others; a constant that is listed as an input has none."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = list(_named(value for value in model.graph.input if value.name not in constants))
    outputs = list(_named(model.graph.output))
    names = dict.fromkeys(name for name, _ in (*inputs, *outputs))
    shared = (
        SharedName(name, *(tuple(axis for said, axis in axes if said == name) for axes in (inputs, outputs)))
        for name in names
    )
    return [one for one in shared if one.inputs and len(one.inputs) + len(one.outputs) > 1]


def _named(values: Iterator[ValueInfoProto] | Collection[ValueInfoProto]) -> Iterator[tuple[str, NamedAxis]]:
    for value in values:
        tensor = tensor_of(value.type)
        for index, dim in enumerate(tensor.shape.dim if tensor is not None else ()):
            if dim.dim_param.strip("? "):
                yield dim.dim_param, NamedAxis(value.name, index)


def reused_names(
    shared: Sequence[SharedName], runs: Sequence[Shapes], apart: Collection[frozenset[NamedAxis]] = ()
) -> list[ReusedName]:
    """The names that stand for several lengths, as far as runs with these shapes of inputs and outputs show it.

    Two inputs are told apart by a run with two sizes above 1 (a size of 1 may be repeated), or are so in `apart`. Two
    batches are not: images and their masks come in equal numbers, also where nothing in the model says it. An output
    is told apart by its size in runs where the inputs that share the name have one size.
    """
    reused = []
    for one in shared:
        inputs = _input_groups(one, runs, apart)
        telling = [run for run in runs if all(_is_alike(group, run) for group in inputs)]
        groups = _with_outputs(inputs, one.outputs, telling)
        if len(groups) > 1:
            reused.append(ReusedName(one.name, tuple(map(tuple, groups))))
    return reused


def _input_groups(
    one: SharedName, runs: Sequence[Shapes], apart: Collection[frozenset[NamedAxis]]
) -> list[list[NamedAxis]]:
    different = {pair for pair in map(frozenset, combinations(one.inputs, 2)) if pair in apart}
    for first, second in combinations(one.inputs, 2):
        if (first.position or second.position) and any(differ(first, second, run) for run in runs):
            different.add(frozenset((first, second)))
    groups: list[list[NamedAxis]] = []
    for axis in one.inputs:
        home = next((group for group in groups if not any(frozenset((axis, o)) in different for o in group)), None)
        if home is None:
            groups.append([axis])
        else:
            home.append(axis)
    return groups


def differ(first: NamedAxis, second: NamedAxis, run: Shapes) -> bool:
    """Whether two axes have two sizes above 1."""
    sizes = first.size(run) or 0, second.size(run) or 0
    return sizes[0] != sizes[1] and min(sizes) > 1


def _is_alike(group: Sequence[NamedAxis], run: Shapes) -> bool:
    """Whether the inputs of a group have one size, and images one that every network divides."""
    sizes = {axis.size(run) or 0 for axis in group}
    return len(sizes) == 1 and all(
        axis.position < 2 or size == 1 or not size % _DIVIDED for axis in group for size in sizes
    )


def _with_outputs(
    inputs: Sequence[Sequence[NamedAxis]], outputs: Sequence[NamedAxis], telling: Sequence[Shapes]
) -> list[list[NamedAxis]]:
    groups = [list(group) for group in inputs]
    for axis in outputs:
        home = next((group for group in groups if all(_fits(axis, group[0], run) for run in telling)), None)
        if home is None:
            groups.append([axis])
        else:
            home.append(axis)
    return groups


def _fits(axis: NamedAxis, other: NamedAxis, run: Shapes) -> bool:
    sizes = axis.size(run), other.size(run)
    return None in sizes or sizes[0] == sizes[1]


def clashing_names(model: ModelProto, ranges: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> list[str]:
    """The names for which these smallest and largest shapes of the inputs have no length in common: TensorRT's builder
    refuses such a profile."""
    clashing = []
    for one in shared_names(model):
        bounds = [(*ranges[axis.tensor], axis.position) for axis in one.inputs if axis.tensor in ranges]
        if bounds and max(low[at] for low, _, at in bounds) > min(high[at] for _, high, at in bounds):
            clashing.append(one.name)
    return clashing


def are_images_alike(document: Document) -> bool:
    """Whether two images of a model share the name of a height or width: what follows from equal names shows nothing
    of them, and only a run does."""
    sides = ([axis for axis in one.inputs if axis.position >= _FIRST_SIDE] for one in shared_names(document.proto))
    return any(len({axis.tensor for axis in axes}) > 1 for axes in sides)


def known_names(document: Document) -> list[ReusedName]:
    """Those that show without a run: outputs whose sizes follow from the inputs', which have equal sizes by name."""
    shared = shared_names(document.proto)
    run = followed_by_name(document, shared) if shared else None
    return [] if run is None else reused_names(shared, [run])


def followed_by_name(document: Document, shared: Sequence[SharedName]) -> Shapes | None:
    """The shapes of inputs in which equal names are equal sizes, and of the outputs as far as they follow from these;
    None where the model does not take such inputs."""
    shapes = shapes_by_name(document.proto)
    from resizefix.shapes.walk import OldSizesError, SizeFlow  # few models use a name twice

    flow = SizeFlow(ModelView(document), shapes)
    names = dict.fromkeys(axis.tensor for one in shared for axis in one.outputs)
    try:
        flow.work_out(names)
    except OldSizesError:
        return None
    return {**shapes, **{name: dims for name in names if (dims := flow.old(name)) is not None}}


def shapes_by_name(model: ModelProto) -> dict[str, tuple[int, ...]]:
    """Shapes of all inputs in which equal names are equal sizes: of images those that a network divides."""
    sizes: dict[str, int] = {}
    constants = {tensor.name for tensor in model.graph.initializer}
    shapes = {}
    for value in model.graph.input:
        tensor = tensor_of(value.type)
        if value.name in constants or tensor is None:
            continue
        for index, dim in enumerate(tensor.shape.dim):
            if not dim.HasField("dim_value"):
                # a batch of two, images of 64 by 128; what else is open is of one length
                length = 2 if index == 0 else _STRIDE * (1 + len(sizes) % _MOST_GIVEN)
                sizes.setdefault(dim.dim_param or f"{value.name} {index}", length)
        shapes[value.name] = tuple(
            int(dim.dim_value) if dim.HasField("dim_value") else sizes[dim.dim_param or f"{value.name} {index}"]
            for index, dim in enumerate(tensor.shape.dim)
        )
    return shapes


def with_names_apart(document: Document, reused: Sequence[ReusedName]) -> Document:
    """A copy in which each group of axes but the first has a name of its own; `document` stays as it is."""
    renamed = document.copy()
    graph = renamed.proto.graph
    values = {value.name: value for value in (*graph.output, *graph.input)}
    stored = [*graph.input, *graph.output, *graph.value_info]
    taken = {name for name, _ in _named(stored)}
    names = FreshNames(taken)
    for one in reused:
        for group in one.groups[1:]:
            name = names.fresh(f"{group[0].tensor}_{one.name}")
            for axis in group:
                tensor = tensor_of(values[axis.tensor].type)
                assert tensor is not None
                tensor.shape.dim[axis.position].dim_param = name
    return renamed


def duplicate_name(node: ResizeNode, _: Preferences) -> Fault | None:
    """Names that several nodes of a graph, a body or a function have; told at the first resize that stands there.

    A node of a body may be called as one outside it, and Constant nodes as any other: onnxruntime 1.32.0 makes
    initializers of them before it looks.
    """
    if not node.is_first:
        return None
    seen: set[str] = set()
    others: dict[int, NodeProto] = {}
    for index, one in enumerate(node.scope.body.node):
        if not one.name or is_operator(one, "Constant"):
            continue
        if one.name in seen:
            others[index] = deepcopy(one)
            others[index].name = node.names.fresh(one.name)
        seen.add(one.name)
    if not others:
        return None
    because = Diagnostic("faults.node-name-twice", name=node.scope.body.node[min(others)].name)
    return Fault(
        DUPLICATE_OUTPUT, because, Diagnostic("faults.nodes-renamed"), NodeEdit(others=others), stops_loading=True
    )
