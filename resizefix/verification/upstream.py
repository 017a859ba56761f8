"""From a tensor back to what it is made of, through bodies and calls: towards the inputs of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from resizefix.document.scopes import Definition, DefinitionKind, Scope, is_operator
from resizefix.document.view import View

Place = tuple[Scope, str]
_OUTPUTS_BEFORE = {"Loop": 1}  # of a body, which are no outputs of the node: whether to go on


class Step(NamedTuple):
    """One step back. `node`: it computes the value from `sources`, one for each of its inputs that is given; None: the
    value is that of any of the sources. `graph_input`: it is an input of the model."""

    node: NodeProto | None
    sources: Sequence[Place]
    definition: Definition | None = None
    graph_input: str | None = None


class Upstream:
    """A model's tensors and what each is made of."""

    def __init__(self, model: ModelProto) -> None:
        self.scopes = View(model).scopes

    def step(self, place: Place) -> Step:
        """What the tensor of that name, read in that scope, is made of."""
        definition = self.scopes.definition(*place)
        if definition is None or definition.kind is DefinitionKind.INITIALIZER:
            return Step(None, (), definition)
        if definition.node is not None:
            return self._computed(definition, definition.node)
        if definition.scope is self.scopes.main:
            return Step(None, (), definition, definition.name)
        return Step(None, self._given(definition), definition)

    def _computed(self, definition: Definition, node: NodeProto) -> Step:
        scope, position = definition.scope, list(node.output).index(definition.name)
        function = self.scopes.called(node)
        bodies = (
            [function]
            if function is not None
            else self.scopes.held.get((scope.path, scope.producers[node.output[position]]), [])
        )
        skipped = 0 if function is not None else _OUTPUTS_BEFORE.get(node.op_type, 0)
        results = [(body, output) for body in bodies for output in _outputs(body)[position + skipped :][:1]]
        if bodies:
            # What a Loop carries comes from before the first turn, too.
            carried = (
                []
                if function is not None or is_operator(node, "If")
                else [(scope, name) for name in node.input if name]
            )
            return Step(None, [*results, *carried], definition)
        return Step(node, [(scope, name) for name in node.input if name], definition)

    def _given(self, definition: Definition) -> list[Place]:
        """What the input of a body or a function is, in all its uses."""
        scope = definition.scope
        if isinstance(scope.body, FunctionProto):
            function = scope.path.function
            calls = [] if function is None else self.scopes.calls[function]
            at = list(scope.body.input).index(definition.name)
            given = [(caller, caller.body.node[index].input[at : at + 1]) for caller, index in calls]
            return [(caller, name) for caller, names in given for name in names if name]
        if scope.parent is None or scope.owner is None:
            return []
        node = scope.parent.body.node[scope.owner]
        at = [value.name for value in scope.body.input].index(definition.name)
        next_turn = [(scope, name) for name in _outputs(scope)[at - 1 : at] if node.op_type == "Loop" and at > 0]
        return [*((scope.parent, name) for name in node.input[at : at + 1] if name), *next_turn]


def _outputs(scope: Scope) -> list[str]:
    body: GraphProto | FunctionProto = scope.body
    return [value if isinstance(value, str) else value.name for value in body.output]
