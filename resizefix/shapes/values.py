"""What a name is before the run: numbers, or expressions over sizes of tensors.

One walk goes from a name back to what it is computed from, and folds that by the rows of `value_table`. What sizes of
tensors are is the caller's decision: without any, only what nothing at run time can change is known (`constants_of`);
expressions hold at every size (`traced_values`); numbers are those that the file fixes, or that are supposed
(`fixed_values`). All is said in the model's own arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, Scopes, is_operator
from resizefix.document.values import Array, held_by, longest_extent
from resizefix.document.view import CallResolver
from resizefix.scope_path import Key
from resizefix.shapes.expression import Expression, Number, UntraceableError, computed
from resizefix.shapes.operand import (
    MOST_ELEMENTS,
    SHAPE_READERS,
    Call,
    Known,
    operands_first,
    readers_first,
    sizes_read,
    spelled_value,
)
from resizefix.shapes.table import apply, has_row, why_incomplete

SizesOf = Callable[[Definition], Sequence[Expression]]
"""The sizes of a tensor. Raises UntraceableError where it is not known how many there are."""
ValueOf = Callable[[Definition], "Array | None"]
KnownOf = Callable[[Definition], "Known | None"]


class Constant(NamedTuple):
    """A value that nothing at run time can change. `chain` are the nodes that compute it, last first; empty for a
    direct one."""

    value: Array
    definition: Definition
    chain: tuple[NodeProto, ...] = ()


class Unknown(NamedTuple):
    """Why it is not known what a name is, as a sentence."""

    reason: str


def _undefined(name: str) -> Unknown:
    return Unknown(Diagnostic("document.nothing-defines", name=repr(name)))


def _circular(name: str) -> Unknown:
    return Unknown(Diagnostic("document.depends-on-itself", name=repr(name)))


class Values:
    """Answers over one state of a document; results are remembered.

    `sizes` and `calls` let the walk go on to sizes of tensors, over calls and into branches; `constants` are the values
    that are known without them. `given` says what an input is: a graph's, or a function's in one of its calls. `read`
    gives the numbers of a tensor, and operators in `left` are not folded. `unknown`: what stands in for a value that
    is not known.
    """

    def __init__(
        self,
        read: Callable[[TensorProto], Array],
        scopes: Scopes,
        *,
        constants: Values | None = None,
        calls: CallResolver | None = None,
        sizes: SizesOf | None = None,
        given: ValueOf | None = None,
        left: frozenset[str] = frozenset(),
        unknown: KnownOf | None = None,
    ) -> None:
        self.scopes = scopes
        self._read = read
        self._constants = constants
        self._calls = calls
        self._sizes_of = sizes
        self._given = given
        self._left = left
        self._unknown = unknown
        self._known: dict[Key, Known | Unknown] = {}
        self._arrays: dict[tuple[object, ...], Known] = {}
        self._chains: dict[Key, tuple[NodeProto, ...]] = {}

    # ---- what is asked ----

    def of(self, scope: Scope, name: str) -> Known | Unknown:
        """What `name`, read in `scope`, is."""
        definition = self.scopes.definition(scope, name)
        return _undefined(name) if definition is None else self.follow(definition)

    def follow(self, definition: Definition) -> Known | Unknown:
        """What a definition is."""
        if definition.key not in self._known:
            for current, circular in operands_first(definition, self._operands, self._known):
                self._known[current.key] = _circular(current.name) if circular else self._combined(current)
        return self._known[definition.key]

    def array(self, scope: Scope, name: str) -> Array | None:
        """The numbers of `name`, read in `scope`; None where it is not known, or an element is no number."""
        definition = self.scopes.definition(scope, name)
        value = None if definition is None else self.follow(definition)
        return value.value if isinstance(value, Known) else None

    def constant(self, definition: Definition) -> Constant | None:
        """A definition's numbers with the nodes that compute them; None where `array` is."""
        value = self.follow(definition)
        if not isinstance(value, Known) or value.value is None:
            return None
        if definition.key not in self._chains:
            self._chains[definition.key] = self._chain(definition)
        return Constant(value.value, definition, self._chains[definition.key])

    def plain(self, definition: Definition) -> Array | None:
        """The numbers of a definition that is known without sizes and calls: a tensor, a given input, what is folded of
        these alone."""
        value = self._plain(definition)
        return None if value is None else value.value

    def _plain(self, definition: Definition) -> Known | None:
        if self._given is not None and (definition.node is None or is_operator(definition.node, "Constant")):
            value = self._given(definition)
            if value is not None:
                return Known.constant(value)
        constant = None if self._constants is None else self._constants.follow(definition)
        return constant if isinstance(constant, Known) else None

    # ---- what a definition is computed from ----

    def sources(self, definition: Definition) -> list[Definition]:
        """What a definition is computed from, as far as the walk goes: over borders, not into the data of a Shape."""
        return [] if self._plain(definition) is not None else self.across(definition)

    def across(self, definition: Definition, *, chosen: bool = False) -> list[Definition]:
        """The same, also behind constants. `chosen`: of an If whose branch is known, that one alone."""
        node, calls = definition.node, self._calls
        over = None if calls is None else calls.elsewhere(definition)
        if over is not None:
            return [over]
        if node is None or node.op_type in SHAPE_READERS or node.domain not in DEFAULT_DOMAINS:
            return []
        branches = None if calls is None else calls.branches(definition)
        taken = self.chosen(definition) if chosen and branches is not None else None
        return [*self.scopes.sources(definition.scope, node), *(branches or ())] if taken is None else [taken]

    def behind(self, start: Definition) -> Iterator[Definition]:
        """`start` and all `sources`, each once, after one that is computed from it."""
        return readers_first(start, self.sources)

    def chosen(self, definition: Definition) -> Definition | None:
        """The branch output that an If node's output is, where the condition is constant or both branches are equal."""
        branches = None if self._calls is None else self._calls.branches(definition)
        if branches is None or definition.node is None or not definition.node.input:
            return None
        condition = self.of(definition.scope, definition.node.input[0])
        if isinstance(condition, Known) and condition.value is not None:
            return branches[0] if bool(np.all(condition.value)) else branches[1]
        first, second = (self.follow(branch) for branch in branches)
        both = isinstance(first, Known) and isinstance(second, Known) and first.same_as(second)
        return branches[0] if both else None

    def _operands(self, definition: Definition) -> list[Definition]:
        """What must be known first: over calls all, so that a reason names where it begins. Else nothing is looked for
        behind operators that no row folds: there lies the network, and its weights stay on disk."""
        node = definition.node
        if self._calls is not None or node is None:
            return self.sources(definition)
        if node.op_type in SHAPE_READERS and self._sizes_of is None:  # of what is folded they are known
            read = self.scopes.sources(definition.scope, node)
            return [source for source in read if source.node is not None and self._folds(source.node)]
        return self.sources(definition) if self._folds(node) else []

    def _folds(self, node: NodeProto) -> bool:
        return node.op_type not in self._left and has_row(node)

    def _chain(self, definition: Definition) -> tuple[NodeProto, ...]:
        chain: dict[Key, NodeProto] = {}
        pending = [definition]
        while pending:
            current = pending.pop()
            if current.key not in chain and current.node is not None and not is_operator(current.node, "Constant"):
                chain[current.key] = current.node
                pending.extend(reversed(self._operands(current)))
        return tuple(chain.values())

    # ---- what it is ----

    def _combined(self, definition: Definition) -> Known | Unknown:
        try:
            value = self._plain(definition) or self._computed(definition)
        except UntraceableError as error:
            value = Unknown(Diagnostic("origins.at-value", name=definition.name, why=error.diagnostic))
        instead = self._unknown(definition) if self._unknown is not None and isinstance(value, Unknown) else None
        return value if instead is None else instead

    def _computed(self, definition: Definition) -> Known | Unknown:
        over = None if self._calls is None else self._calls.elsewhere(definition)
        if over is not None:
            return self._known.get(over.key) or _circular(over.name)
        if definition.kind is DefinitionKind.INPUT:
            return Unknown(Diagnostic("document.is-input", name=repr(definition.name)))
        if definition.kind is DefinitionKind.DEFAULTED_INPUT:
            return Unknown(Diagnostic("document.is-defaulted-input", name=repr(definition.name)))
        if definition.tensor is not None:
            return self._tensor(definition.tensor, definition)
        assert definition.node is not None
        if is_operator(definition.node, "Constant"):
            return self._constant_node(definition.node, definition)
        return self._by_row(definition.node, definition)

    def _tensor(self, tensor: TensorProto, definition: Definition) -> Known | Unknown:
        if longest_extent(tensor.dims) > MOST_ELEMENTS:  # asked of the dims, so that large payloads stay on disk
            return Unknown(Diagnostic("document.too-large-for-a-scale", name=repr(definition.name)))
        held = held_by(tensor)
        if held is None:
            return Known.constant(self._read(tensor))
        if held not in self._arrays:  # many nodes have a constant of their own with the same few numbers
            self._arrays[held] = Known.constant(self._read(tensor))
        return self._arrays[held]

    def _constant_node(self, node: NodeProto, definition: Definition) -> Known | Unknown:
        for attribute in node.attribute:
            spelling, outer = attribute.name, attribute.ref_attr_name
            if outer and self._calls is None:
                return Unknown(
                    Diagnostic("document.is-attribute-of-function", name=repr(definition.name), by=repr(outer))
                )
            if outer and self._calls is not None:
                passed = self._calls.argument_attribute(definition.scope, outer)
                if passed is None:
                    raise UntraceableError("origins.value-from-calls")
                attribute = passed
            if spelling == "value" and attribute.HasField("t"):
                return self._tensor(attribute.t, definition)
            value = spelled_value(attribute, spelling)
            if value is not None:
                return Known.constant(value)
        return Unknown(Diagnostic("document.constant-without-tensor", name=repr(definition.name)))

    def _by_row(self, node: NodeProto, definition: Definition) -> Known | Unknown:
        if node.domain not in DEFAULT_DOMAINS:
            raise UntraceableError("origins.not-followed", domain=node.domain, operator=node.op_type)
        incomplete = why_incomplete(node, definition.scope.opset)
        if incomplete is not None:
            raise UntraceableError("origins.node-incomplete", operator=node.op_type, incomplete=incomplete)
        if node.op_type in SHAPE_READERS:
            return self._sizes(node, self.sizes_read(definition))
        if node.op_type == "If":
            taken = self.chosen(definition)
            if taken is None:
                raise UntraceableError("origins.if-chooses")
            return self.follow(taken)
        operands: list[Known | None] = []
        for name in node.input:
            operand = self._operand(definition, name) if name else None
            if isinstance(operand, Unknown):
                return operand
            operands.append(operand)
        if node.op_type in self._left:
            raise UntraceableError("document.operator-is-not-followed", operator=node.op_type)
        outputs = apply(Call(node, operands, definition.scope.opset))
        position = list(node.output).index(definition.name)
        if position >= len(outputs):
            raise UntraceableError("document.operator-is-not-followed", operator=node.op_type)
        return outputs[position]

    def _operand(self, definition: Definition, name: str) -> Known | Unknown:
        source = self.scopes.definition(definition.scope, name)
        return _undefined(name) if source is None else self._known.get(source.key) or _circular(name)

    @staticmethod
    def _sizes(node: NodeProto, sizes: Sequence[Expression]) -> Known:
        if node.op_type == "Shape":
            return Known.vector("int64", sizes)
        product: Expression = Number(1, "int64")
        for size in sizes:
            product = computed("Mul", "int64", product, size)
        return Known.single("int64", product)

    def sizes_read(self, definition: Definition) -> Sequence[Expression]:
        """The sizes that a Shape node gives, or a Size node multiplies. Raises UntraceableError."""
        node = definition.node
        assert node is not None
        if not node.input:
            raise UntraceableError("origins.no-input", operator=node.op_type)
        source = self.scopes.definition(definition.scope, node.input[0])
        if source is None:
            raise UntraceableError("origins.shape-of-nothing")
        source = source if self._calls is None else self._calls.origin(source)
        constant = _dims_of_constant(source)
        if constant is None:
            value = self._known.get(source.key) if self._constants is None else self._constants.follow(source)
            constant = value.shape if isinstance(value, Known) else None
        if constant is not None:
            return sizes_read(node, [Number(int(size), "int64") for size in constant])
        if self._sizes_of is None:
            raise UntraceableError("document.sizes-read-not-known", operator=node.op_type)
        return sizes_read(node, self._sizes_of(source))


def _dims_of_constant(definition: Definition) -> Sequence[int] | None:
    """The sizes of an initializer or a Constant node, whose numbers stay on disk; None for anything else."""
    node, dims = definition.node, None
    if definition.kind is DefinitionKind.INITIALIZER and definition.tensor is not None:
        dims = definition.tensor.dims
    elif is_operator(node, "Constant") and len(node.attribute) == 1 and not node.attribute[0].ref_attr_name:
        value = spelled_value(node.attribute[0])
        dims = node.attribute[0].t.dims if node.attribute[0].name == "value" else None if value is None else value.shape
    return None if dims is None or min(dims, default=0) < 0 else dims
