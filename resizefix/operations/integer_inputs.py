"""A float input that decides sizes holds whole numbers instead: int64, with a Cast behind it that every reader reads.

TensorRT takes no float input that decides a shape. What such an input says are mostly sizes, whole numbers that an
exporter cast to float; scales are numerators over a fixed denominator.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from onnx import TensorProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, NodeBuilder, insert_nodes
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, names_in, node_label
from resizefix.document.view import View
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.operand import SHAPE_READERS
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import DENOMINATOR
from resizefix.targets.other_domains import foreign_domain_resizes
from resizefix.targets.target import Effect, Target, Violation, judge
from resizefix.targets.tensorrt import FED_AS_INTEGER

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
_MOST_NUMBERS = 64  # of a shape tensor; an input with more is data
_SCALES, _SIZES = "scales", "sizes"
# Operands that TensorRT must know before it runs the network, by operator: what they say, by their position.
_DECIDING: dict[str, dict[int, str]] = {
    "Resize": {1: _SCALES, 2: _SCALES, 3: _SIZES},
    "Upsample": {1: _SCALES},
    "Slice": dict.fromkeys((1, 2, 4), _SIZES),
    "Reshape": {1: _SIZES},
    "Expand": {1: _SIZES},
    "Tile": {1: _SIZES},
    "Pad": {1: _SIZES},
    "ConstantOfShape": {0: _SIZES},
    "Range": dict.fromkeys((0, 1, 2), _SIZES),
}
_RESIZES = ("Resize", "Upsample")


@dataclass(frozen=True)
class IntegerInput:
    """A float input of the main graph that decides sizes, and that can hold int64 numbers, each over `denominator`.

    `shape` and `elem_type` are those that the file gives it; `resizes` are the nodes whose extents follow it, `slices`
    the labels of other nodes whose operands do. `gives_scales`: some resize reads it as scales.
    """

    name: str
    shape: tuple[int, ...]
    elem_type: int
    resizes: frozenset[Key]
    slices: tuple[str, ...]
    gives_scales: bool
    denominator: int = 1


def deciding_floats(view: ModelView) -> list[IntegerInput]:
    """The float inputs that decide sizes, in the order of the file: numbers or vectors of fixed length, from which and
    from shapes and constants alone some operand is computed that TensorRT must know.

    One that the graph gives as an output, too, is left out: that output has its type.
    """
    definitions = (view.scopes.definition(view.scopes.main, value.name) for value in view.model.graph.input)
    if not any(one is not None and _is_small(view, one) for one in definitions):
        return []
    uses_of: dict[str, _Uses] = {}
    for scope, index, position, says in _operands(view):
        node = scope.body.node[index]
        for name in _numbers_behind(view, scope, node.input[position]):
            uses = uses_of.setdefault(name, _Uses())
            if node.op_type in _RESIZES:
                uses.resizes.add((scope.path, node.output[0]))
                uses.gives_scales |= says is _SCALES
            else:
                uses.slices[node_label(node, index)] = None
    scopes = view.scopes
    return [
        IntegerInput(
            value.name,
            tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim),
            value.type.tensor_type.elem_type,
            frozenset(uses_of[value.name].resizes),
            tuple(uses_of[value.name].slices),
            uses_of[value.name].gives_scales,
        )
        for value in view.model.graph.input
        if value.name in uses_of and all(reader.node is not None for reader in scopes.readers_of((MAIN, value.name)))
    ]


def shape_input_options(inputs: Sequence[IntegerInput]) -> tuple[str, ...]:
    """The options with which `legalize` makes these inputs integers."""
    gives_scales = any(one.gives_scales for one in inputs)
    return ("--shape-inputs", *(("--denominator", str(DENOMINATOR)) if gives_scales else ()))


def violations_of_the_whole(view: ModelView, target: Target) -> tuple[Violation, ...]:
    """What the target has against a model besides the rules that its resizes break one by one: nodes of other domains
    that it takes for resizes, and all else whose shape a float input decides."""
    return (*foreign_domain_resizes(view, target), *_decided_by_floats(view, target))


def _decided_by_floats(view: ModelView, target: Target) -> Iterator[Violation]:
    """A violation for each node with such an operand, but for resizes that the target refuses by another rule."""
    rule = next((rule for rule in target.rules if rule.name == FED_AS_INTEGER), None)
    inputs = deciding_floats(view) if rule is not None else []
    if rule is None or not inputs:
        return
    resizes = {}
    for (scope, index), facts in zip(view.resizes, facts_in(view), strict=True):
        node = scope.body.node[index]
        if not any(broken.effect is Effect.REJECTED for broken in judge(target, facts)):
            resizes[scope.path, node.output[0] if node.output else ""] = facts.node
    for one in inputs:
        options = " ".join(shape_input_options([one]))
        for label in (*(resizes[key] for key in resizes if key in one.resizes), *one.slices):
            yield Violation(
                node=label,
                rule=rule.name,
                because=Diagnostic("operations.float-decides-shape", name=one.name),
                source=rule.source,
                fix=Diagnostic("operations.make-input-integer", target=target.typed, options=options),
            )


class _Uses:
    """What one input decides, as it is gathered."""

    def __init__(self) -> None:
        self.resizes: set[Key] = set()
        self.slices: dict[str, None] = {}
        self.gives_scales = False


def _operands(view: ModelView) -> Iterator[tuple[Scope, int, int, str]]:
    """Every operand that decides sizes: the scope, the node's place in it, the position, and what it says."""
    for scope in view.scopes.all:
        for index, node in enumerate(scope.body.node):
            if node.domain not in DEFAULT_DOMAINS or not node.output or not node.output[0]:
                continue
            for position, says in _DECIDING.get(node.op_type, {}).items():
                is_roi = node.op_type == "Resize" and position == 1 and scope.opset >= 11
                if position < len(node.input) and node.input[position] and not is_roi:
                    yield scope, index, position, says


def _numbers_behind(view: ModelView, scope: Scope, name: str) -> Collection[str]:
    """The float inputs whose numbers make an operand; none where data of a tensor do, or what a body computes."""
    start = view.scopes.definition(scope, name)
    pending: list[Definition | None] = [start]
    seen: set[Key] = set()
    floats: dict[str, None] = {}
    while pending:
        one = pending.pop()
        if one is None:
            return ()
        if one.key in seen:
            continue
        seen.add(one.key)
        if one.node is None:
            if one.tensor is not None:
                continue
            if one.scope is view.scopes.main:
                if not _is_small(view, one):
                    return ()
                if view.shapes.elem_type(one.key) in _FLOATS:
                    floats[one.name] = None
                continue
            given = list(view.calls.arguments(one))
            if not given:  # what a Loop or a Scan gives its body
                return ()
            pending += given
        elif one.node.op_type not in SHAPE_READERS:
            behind = _behind_node(view, one)
            if behind is None:
                return ()
            pending += behind
    return tuple(floats)


def _behind_node(view: ModelView, definition: Definition) -> Sequence[Definition | None] | None:
    """What a node computes its output from; None where it cannot be followed."""
    branches, result = view.calls.branches(definition), view.calls.result(definition)
    if branches is not None:
        return branches
    if result is not None:
        return [result]
    node = definition.node
    assert node is not None
    if (
        node.domain not in DEFAULT_DOMAINS
        or (definition.scope.path, definition.scope.producers[definition.name]) in view.scopes.held
    ):
        return None
    return view.scopes.sources(definition.scope, node)


def _is_small(view: ModelView, definition: Definition) -> bool:
    """Whether an input of the main graph is a number or a vector whose length the file fixes."""
    dims = view.shapes.dims(definition.key)
    if definition.kind is not DefinitionKind.INPUT or dims is None or len(dims) > 1:
        return False
    sizes = [size for size in dims if isinstance(size, int)]
    return len(sizes) == len(dims) and math.prod(sizes) <= _MOST_NUMBERS


def with_integer_inputs(document: Document, inputs: Sequence[IntegerInput]) -> Document:
    """A copy in which these inputs are int64 and every reader of each reads a Cast of it, divided by its denominator;
    `document` stays as it is."""
    changed = document.copy()
    graph = changed.proto.graph
    scopes = View(changed.proto).scopes
    builder = NodeBuilder(FreshNames(names_in(changed.proto)).fresh, scopes.main.opset, "")
    for one in inputs:
        readers = scopes.readers_of((MAIN, one.name))
        value = next(value for value in graph.input if value.name == one.name)
        value.type.tensor_type.elem_type = TensorProto.INT64
        name = builder.add("Cast", one.name, wanted=f"{one.name}_float", to=one.elem_type)
        if one.denominator != 1:
            dtype = helper.tensor_dtype_to_np_dtype(one.elem_type)
            divisor = builder.constant_node(dtype.type(one.denominator), f"{one.name}_denominator")
            name = builder.add("Div", name, divisor, wanted=f"{one.name}_quotient")
        for reader in readers:
            assert reader.node is not None  # deciding_floats leaves out what is an output, too
            reader.node.input[reader.position] = name
    insert_nodes(graph, 0, builder.nodes)
    return changed
