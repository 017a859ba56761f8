"""The value of a name, if nothing at run time can change it; else why not.

A name is constant when it is an initializer that the caller cannot override, the output of a Constant node (in any of
its spellings), or computed from such names alone by operators that have a row in `operator_semantics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import Definition, DefinitionKind, Scope, Scopes, is_operator
from resizefix.document.values import Array, held_by, longest_extent
from resizefix.scope_path import Key
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import MOST_ELEMENTS
from resizefix.shapes.provenance import operands_first
from resizefix.shapes.value_table import SHAPE_READERS, has_row, values

if TYPE_CHECKING:
    from resizefix.document.document import Document


class Constant(NamedTuple):
    """A value that nothing at run time can change. `chain` are the nodes that compute it, last first; empty for a
    direct one."""

    value: Array
    definition: Definition
    chain: tuple[NodeProto, ...] = ()


class NotConstant(NamedTuple):
    """Why a name has no constant value, as a sentence."""

    reason: str


class Constants:
    """Answers `value_of` over one state of a document's scopes; results are remembered."""

    def __init__(self, document: Document, scopes: Scopes) -> None:
        self._document = document
        self._scopes = scopes
        self._known: dict[Key, Constant | NotConstant] = {}
        self._arrays: dict[tuple[object, ...], Array] = {}
        self._with_chain: dict[Key, Constant | NotConstant] = {}

    def value_of(self, scope: Scope, name: str) -> Constant | NotConstant:
        """The constant value of `name` as read in `scope`."""
        definition = self._scopes.definition(scope, name)
        if definition is None:
            return _not_constant("document.nothing-defines", name=repr(name))
        key = definition.key
        if key in self._with_chain:
            return self._with_chain[key]
        if definition.tensor is not None:  # nothing is behind it
            self._known[key] = self._with_chain[key] = self._fold(definition)
            return self._known[key]
        for current, circular in operands_first(definition, self._operands, self._known):
            self._known[current.key] = (
                _not_constant("document.depends-on-itself", name=repr(current.name))
                if circular
                else self._fold(current)
            )
        found = self._known[key]
        if isinstance(found, Constant) and definition.node is not None:
            found = found._replace(chain=self._chain(definition))
        self._with_chain[key] = found
        return found

    def _chain(self, definition: Definition) -> tuple[NodeProto, ...]:
        chain: dict[Key, NodeProto] = {}
        pending = [definition]
        while pending:
            current = pending.pop()
            if current.key not in chain and current.node is not None and not is_operator(current.node, "Constant"):
                chain[current.key] = current.node
                pending.extend(reversed(self._operands(current)))
        return tuple(chain.values())

    def _operands(self, definition: Definition) -> list[Definition]:
        if definition.kind is not DefinitionKind.NODE or definition.node is None or not has_row(definition.node):
            return []
        if definition.node.op_type in SHAPE_READERS:
            # The shape of a constant is one; behind any other tensor lies the network, and its weights stay on disk.
            found = self._scopes.sources(definition.scope, definition.node)
            return [one for one in found if one.tensor is not None or is_operator(one.node, "Constant")]
        return self._scopes.sources(definition.scope, definition.node)

    def _fold(self, definition: Definition) -> Constant | NotConstant:
        if definition.kind is DefinitionKind.INPUT:
            return _not_constant("document.is-input", name=repr(definition.name))
        if definition.kind is DefinitionKind.DEFAULTED_INPUT:
            return _not_constant("document.is-defaulted-input", name=repr(definition.name))
        if definition.tensor is not None:
            return self._tensor(definition.tensor, definition)
        node = definition.node
        assert node is not None
        if is_operator(node, "Constant"):
            return self._constant_node(node, definition)
        return self._computed(node, definition)

    def _constant_node(self, node: NodeProto, definition: Definition) -> Constant | NotConstant:
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                return _not_constant(
                    "document.is-attribute-of-function", name=repr(definition.name), by=repr(attribute.ref_attr_name)
                )
            if attribute.name == "value":
                return self._tensor(attribute.t, definition)
            value = spelled_value(attribute)
            if value is not None:
                return Constant(value, definition)
        return _not_constant("document.constant-without-tensor", name=repr(definition.name))

    def _tensor(self, tensor: TensorProto, definition: Definition) -> Constant | NotConstant:
        if longest_extent(tensor.dims) > MOST_ELEMENTS:  # asked of the dims, so that large payloads stay on disk
            return _not_constant("document.too-large-for-a-scale", name=repr(definition.name))
        held = held_by(tensor)
        if held is None:
            return Constant(self._document.array(tensor), definition)
        if held not in self._arrays:  # many nodes have a constant of their own with the same few numbers
            self._arrays[held] = self._document.array(tensor)
        return Constant(self._arrays[held], definition)

    def _computed(self, node: NodeProto, definition: Definition) -> Constant | NotConstant:
        if not has_row(node):
            return _not_constant("document.computed-by-other", name=repr(definition.name), by=node.op_type)
        operands: list[Array | None] = []
        for name in node.input:
            operand = self._scopes.definition(definition.scope, name) if name else None
            known = None if operand is None else self._known.get(operand.key)
            if name and not isinstance(known, Constant) and node.op_type in SHAPE_READERS:
                return _not_constant("document.is-shape-of", name=repr(definition.name), by=repr(name))
            if name and not isinstance(known, Constant):
                return known or _not_constant("document.has-no-constant-value", name=repr(name))
            operands.append(known.value if isinstance(known, Constant) else None)
        dims = None if not operands or operands[0] is None else operands[0].shape
        try:
            results = values(node, operands, definition.scope.opset, dims)
        except UntraceableError as error:
            return _not_constant(
                "document.cannot-be-folded", name=repr(definition.name), op_type=node.op_type, why=error
            )
        return Constant(results[list(node.output).index(definition.name)], definition)


def _not_constant(code: str, /, **arguments: object) -> NotConstant:
    return NotConstant(Diagnostic(code, **arguments))


# Constant-12: a single value makes a tensor of rank 0, a list one of rank 1; floats are float32, ints int64.
_SPELLINGS: dict[str, tuple[str, type[np.generic]]] = {
    "value_float": ("f", np.float32),
    "value_floats": ("floats", np.float32),
    "value_int": ("i", np.int64),
    "value_ints": ("ints", np.int64),
    "value_string": ("s", np.object_),
    "value_strings": ("strings", np.object_),
}


def spelled_value(attribute: AttributeProto) -> Array | None:
    """The value of a Constant node's attribute that is no tensor; None if it is one."""
    if attribute.name not in _SPELLINGS:
        return None
    field, dtype = _SPELLINGS[attribute.name]
    return np.array(getattr(attribute, field), dtype)


def value_of_node(node: NodeProto, document: Document) -> Array | None:
    """The value of a Constant node of any size; None where it has none that is dense, or its function's call gives it.

    Raises UnreadableModelError, RefusedError.
    """
    attribute = next(iter(node.attribute), None)
    if attribute is None or attribute.ref_attr_name:
        return None
    return document.array(attribute.t) if attribute.name == "value" else spelled_value(attribute)
