"""One state of a model with what is worked out about it, each thing once: for everyone who looks at the same state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from resizefix.document.scopes import Definition, DefinitionKind, Scope, Scopes
from resizefix.scope_path import Key


class CallResolver:
    """Follows definitions into and out of scopes: a formal input is an argument, a call's output a result."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def argument(self, definition: Definition) -> Definition | None:
        """What a function's input is in all its calls; None if it is no such input, or they give it different things.

        An argument that is the input of another function is followed to that one's calls.
        """
        given: dict[Key, Definition] = {}
        for argument in self.arguments(definition):
            if argument is None:
                return None
            argument = self.origin(argument)
            given[argument.key] = argument
        return next(iter(given.values())) if len(given) == 1 else None

    def arguments(self, definition: Definition) -> Iterator[Definition | None]:
        """What each call of a function gives for this input of it, None where that is nothing; none if it is no such
        input."""
        if definition.kind is not DefinitionKind.INPUT or not isinstance(definition.scope.body, FunctionProto):
            return
        for scope, node in self._calls(definition.scope):
            names = dict(zip(definition.scope.body.input, node.input, strict=False))
            name = names.get(definition.name)
            yield self._scopes.definition(scope, name) if name else None

    def origin(self, definition: Definition) -> Definition:
        """What a function's input is in all its calls, as `argument` says; any other definition as it is."""
        return self.argument(definition) or definition

    def elsewhere(self, definition: Definition) -> Definition | None:
        """What a definition is on the other side of a call: an `argument`, or a `result`; None where it is neither."""
        return self.argument(definition) or self.result(definition)

    def argument_attribute(self, scope: Scope, name: str) -> AttributeProto | None:
        """What all calls of the function around `scope` give for its attribute `name`, or the default."""
        while scope.parent is not None:
            scope = scope.parent
        given: dict[bytes, AttributeProto] = {}
        for _, call in self._calls(scope):
            attributes = (*call.attribute, *getattr(scope.body, "attribute_proto", ()))
            attribute = next((attribute for attribute in attributes if attribute.name == name), None)
            if attribute is None or attribute.ref_attr_name:
                return None
            given[attribute.SerializeToString()] = attribute
        return next(iter(given.values())) if len(given) == 1 else None

    def attributes(self, scope: Scope, node: NodeProto) -> dict[str, AttributeProto]:
        """The node's attributes by name; in place of one of the function, what all its calls give, if alike."""
        return {
            attribute.name: (outer and self.argument_attribute(scope, outer)) or attribute
            for attribute in node.attribute
            for outer in [attribute.ref_attr_name]
        }

    def _calls(self, scope: Scope) -> list[tuple[Scope, NodeProto]]:
        function = scope.path.function
        calls = () if function is None or scope.path.is_body else self._scopes.calls[function]
        return [(caller, caller.body.node[index]) for caller, index in calls]

    def result(self, definition: Definition) -> Definition | None:
        """The tensor inside a local function that a call's output is; None if the node calls no local function."""
        node = definition.node
        function = None if node is None else self._scopes.called(node)
        if node is None or function is None:
            return None
        names = dict(zip(node.output, function.body.output, strict=False))
        return self._scopes.definition(function, names[definition.name])

    def branches(self, definition: Definition) -> tuple[Definition, Definition] | None:
        """What the output of an If node is in its then- and else-branch; None if the node is no If."""
        node = definition.node
        if node is None or node.op_type != "If":
            return None
        position = list(node.output).index(definition.name)
        bodies = self._scopes.held.get((definition.scope.path, definition.scope.producers[definition.name]), [])
        outputs = {body.path.attribute: self._output(body, position) for body in bodies}
        then_branch, else_branch = outputs.get("then_branch"), outputs.get("else_branch")
        return None if then_branch is None or else_branch is None else (then_branch, else_branch)

    def _output(self, body: Scope, position: int) -> Definition | None:
        outputs = body.body.output
        return self._scopes.definition(body, outputs[position].name) if position < len(outputs) else None


class View:
    """A model's nodes and names, worked out when they are first asked for; `ModelView` adds values and shapes.

    It answers for the model as it was then: after an edit, take another.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model

    @cached_property
    def scopes(self) -> Scopes:
        """Every node with the names it can see."""
        return Scopes(self.model)

    @cached_property
    def calls(self) -> CallResolver:
        """What names are on the other side of a call or of a branch."""
        return CallResolver(self.scopes)
