"""The walk from an operand back to constants and sizes of tensors: what each of its elements is, as an expression.

A statement made here holds at every size, in the model's own arithmetic. It is confirmed by `measure`, which runs the
chain in onnxruntime.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from onnx import helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, is_operator
from resizefix.document.values import Array
from resizefix.scope_path import Key
from resizefix.shapes.axis_sizes import AxisSizes
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError, computed
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.node_schema import why_incomplete
from resizefix.shapes.operand import Call, Known
from resizefix.shapes.provenance import operands_first
from resizefix.shapes.value_table import SHAPE_READERS, apply, sizes_read


class Untraced(NamedTuple):
    """Why the walk ended, as a sentence."""

    reason: str


def _undefined(name: str) -> Untraced:
    return Untraced(Diagnostic("document.nothing-defines", name=repr(name)))


def _circular(name: str) -> Untraced:
    return Untraced(Diagnostic("document.depends-on-itself", name=repr(name)))


class Tracer:
    """Answers `trace` over one state of a document; results are remembered.

    `given` are values for graph inputs, which are then constants.
    """

    def __init__(self, view: ModelView, given: Mapping[str, Array] | None = None) -> None:
        self.view = view
        self.scopes = view.scopes
        self.axis_sizes = AxisSizes(view)
        self.given = given or {}
        self._known: dict[Key, Known | Untraced] = {}

    def trace(self, scope: Scope, name: str) -> Known | Untraced:
        """What `name`, read in `scope`, is."""
        definition = self.scopes.definition(scope, name)
        return _undefined(name) if definition is None else self.follow(definition)

    def follow(self, definition: Definition) -> Known | Untraced:
        """What a definition is."""
        for current, circular in operands_first(definition, self.sources, self._known):
            self._known[current.key] = _circular(current.name) if circular else self._combined(current)
        return self._known[definition.key]

    def constant(self, definition: Definition) -> Array | None:
        """The value of a definition that is constant without any walk: a tensor, or a given input."""
        if definition.scope is self.scopes.main and definition.name in self.given:
            return self.given[definition.name] if definition.kind is not DefinitionKind.NODE else None
        return self.view.value(definition.scope, definition.name)

    def sources(self, definition: Definition) -> list[Definition]:
        """What a definition is computed from, as far as the walk goes: over borders, not into the data of a Shape."""
        if self.constant(definition) is not None:
            return []
        over = self.view.calls.elsewhere(definition)
        if over is not None:
            return [over]
        node = definition.node
        if node is None or node.op_type in SHAPE_READERS or node.domain not in DEFAULT_DOMAINS:
            return []
        return [*self.scopes.sources(definition.scope, node), *(self.view.calls.branches(definition) or ())]

    def chosen(self, definition: Definition) -> Definition | None:
        """The branch output that an If node's output is, where the condition is constant or both branches are equal."""
        branches = self.view.calls.branches(definition)
        assert definition.node is not None
        if branches is None or not definition.node.input:
            return None
        condition = self._operand(definition, definition.node.input[0])
        if isinstance(condition, Known) and condition.value is not None:
            return branches[0] if bool(np.all(condition.value)) else branches[1]
        first, second = (self.follow(branch) for branch in branches)
        both = isinstance(first, Known) and isinstance(second, Known) and first.same_as(second)
        return branches[0] if both else None

    def _combined(self, definition: Definition) -> Known | Untraced:
        value = self.constant(definition)
        try:
            if value is not None:
                return Known.constant(value)
            over = self.view.calls.elsewhere(definition)
            if over is not None:
                return self._known.get(over.key) or _circular(over.name)
            return self._computed(definition)
        except UntraceableError as error:
            return Untraced(Diagnostic("origins.at-value", name=definition.name, why=error.diagnostic))

    def _computed(self, definition: Definition) -> Known | Untraced:
        node = definition.node
        if node is None:
            return Untraced(Diagnostic("document.is-input", name=repr(definition.name)))
        if is_operator(node, "Constant"):
            return self._argument_constant(definition)
        if node.domain not in DEFAULT_DOMAINS:
            raise UntraceableError("origins.not-followed", domain=node.domain, operator=node.op_type)
        incomplete = why_incomplete(node, definition.scope.opset)
        if incomplete is not None:
            raise UntraceableError("origins.node-incomplete", operator=node.op_type, incomplete=incomplete)
        if node.op_type in SHAPE_READERS:
            return self._sizes(definition)
        if node.op_type == "If":
            chosen = self.chosen(definition)
            if chosen is None:
                raise UntraceableError("origins.if-chooses")
            return self.follow(chosen)
        operands: list[Known | None] = []
        for name in node.input:
            operand = self._operand(definition, name) if name else None
            if isinstance(operand, Untraced):
                return operand
            operands.append(operand)
        outputs = apply(Call(node, operands, definition.scope.opset))
        return outputs[list(node.output).index(definition.name)]

    def _argument_constant(self, definition: Definition) -> Known:
        """A Constant node inside a function whose value is an attribute of the call."""
        assert definition.node is not None
        for attribute in definition.node.attribute:
            given = self.view.calls.argument_attribute(definition.scope, attribute.ref_attr_name)
            if attribute.ref_attr_name and given is not None and attribute.name.startswith("value_"):
                dtype = np.float32 if attribute.name.startswith("value_float") else np.int64
                return Known.constant(np.array(helper.get_attribute_value(given), dtype))
        raise UntraceableError("origins.value-from-calls")

    def _operand(self, definition: Definition, name: str) -> Known | Untraced:
        source = self.scopes.definition(definition.scope, name)
        if source is None:
            return _undefined(name)
        return self._known.get(source.key) or _circular(name)

    def _sizes(self, definition: Definition) -> Known:
        assert definition.node is not None
        sizes = self.sizes_read(definition)
        if definition.node.op_type == "Shape":
            return Known.vector("int64", sizes)
        product: Expression = Number(1, "int64")
        for size in sizes:
            product = computed("Mul", "int64", product, size)
        return Known.single("int64", product)

    def sizes_read(self, definition: Definition) -> list[Size]:
        """The sizes that a Shape node gives, or a Size node multiplies. Raises UntraceableError."""
        assert definition.node is not None
        if not definition.node.input:
            raise UntraceableError("origins.no-input", operator=definition.node.op_type)
        source = self.scopes.definition(definition.scope, definition.node.input[0])
        if source is None:
            raise UntraceableError("origins.shape-of-nothing")
        source = self.view.calls.origin(source)
        rank = self.axis_sizes.rank(source.key)
        if rank is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=source.name)
        return list(sizes_read(definition.node, [Size(source.key, axis) for axis in range(rank)]))
