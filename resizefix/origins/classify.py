"""Tells the kinds of origin apart: an operand that is constant, already an input, computed from shapes, or run-time data."""

from __future__ import annotations

import math

from onnx import NodeProto

from resizefix.document.constants import Constant, Constants, NotConstant
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, Scopes, node_label, subgraphs
from resizefix.document.shapes import Dims, Shapes
from resizefix.origins.origin import Origin, OriginKind

# These read the shape of their operand and not its data: what lies behind them is not followed.
_SHAPE_READERS = frozenset({"Shape", "Size"})
# A caller-fed input that drives a resize is a handful of numbers; a larger one is the data that is resized.
_MOST_CONTROL_ELEMENTS = 16


def classify(
    scopes: Scopes, constants: Constants, shapes: Shapes, scope: Scope, operand: str, reader: NodeProto
) -> tuple[Origin, Constant | None]:
    """The origin of tensor `operand` as `reader` reads it in `scope`, and its value where it is constant."""
    found = constants.value_of(scope, operand)
    if isinstance(found, Constant):
        return _constant_origin(scopes, found, operand, reader), found
    definition = scopes.definition(scope, operand)
    if definition is None:
        return Origin(OriginKind.RUNTIME, operand, reason=found.reason), None
    return _moving_origin(scopes, shapes, definition, operand, found), None


def _constant_origin(scopes: Scopes, constant: Constant, operand: str, reader: NodeProto) -> Origin:
    others = tuple(
        "graph output" if place.node is None else node_label(place.node, place.node_index or 0)
        for place in scopes.readers(constant.definition)
        if place.node is not reader
    )
    if constant.chain:
        chain = tuple(node.op_type for node in constant.chain)
        return Origin(OriginKind.COMPUTED, operand, others, chain)
    if constant.definition.kind is DefinitionKind.INITIALIZER:
        return Origin(OriginKind.INITIALIZER, operand, others)
    return Origin(OriginKind.CONSTANT, operand, others)


def _moving_origin(
    scopes: Scopes, shapes: Shapes, operand_definition: Definition, operand: str, why: NotConstant
) -> Origin:
    walk = _Walk(scopes, shapes)
    walk.follow(operand_definition)
    chain = tuple(node.op_type for node in walk.chain)
    if walk.data:
        return Origin(OriginKind.RUNTIME, operand, chain=chain, reason=walk.data[0])
    if walk.controls:
        return Origin(OriginKind.GRAPH_INPUT, walk.controls[0], chain=chain)
    if walk.reads_shapes:
        return Origin(OriginKind.COMPUTED, operand, chain=chain)
    return Origin(OriginKind.RUNTIME, operand, chain=chain, reason=why.reason)


class _Walk:
    """Everything behind an operand, up to shapes, constants, inputs and data."""

    def __init__(self, scopes: Scopes, shapes: Shapes) -> None:
        self._scopes = scopes
        self._shapes = shapes
        self.chain: list[NodeProto] = []
        self.controls: list[str] = []  # caller-fed inputs that are a few numbers
        self.data: list[str] = []  # what makes it run-time data, as sentences
        self.reads_shapes = False

    def follow(self, start: Definition) -> None:
        seen = {start.key}
        pending = [start]
        while pending:
            definition = pending.pop()
            if definition.node is not None:
                sources = self._through(definition, definition.node)
                fresh = [source for source in sources if source.key not in seen]
                seen.update(source.key for source in fresh)
                pending.extend(reversed(fresh))
            elif definition.kind is not DefinitionKind.INITIALIZER:
                self._at_input(definition, direct=definition is start)

    def _through(self, definition: Definition, node: NodeProto) -> list[Definition]:
        self.chain.append(node)
        if node.domain not in DEFAULT_DOMAINS:
            self.data.append(f"{definition.name!r} is computed by {node.domain}::{node.op_type}, an operator unknown here")
            return []
        if any(True for _ in subgraphs(node)):
            self.data.append(f"{definition.name!r} is chosen at run time by the {node.op_type} node that computes it")
            return []
        if node.op_type in _SHAPE_READERS:
            self.reads_shapes = True
            return []
        found = (self._scopes.definition(definition.scope, name) for name in node.input if name)
        return [source for source in found if source is not None]

    def _at_input(self, definition: Definition, *, direct: bool) -> None:
        name = definition.name
        if definition.scope is not self._scopes.main:
            self.data.append(f"it comes from {name!r}, an input of {definition.scope.path[-1]}")
            return
        dims = self._shapes.dims(definition.key)
        few = dims is not None and (
            len(dims) <= 1 if None in dims or any(isinstance(size, str) for size in dims) else _count(dims) <= _MOST_CONTROL_ELEMENTS
        )
        if direct or few:
            self.controls.append(name)
        else:
            self.data.append(f"it depends on the values of the input {name!r}")


def _count(dims: Dims) -> int:
    return math.prod(size for size in dims if isinstance(size, int))
