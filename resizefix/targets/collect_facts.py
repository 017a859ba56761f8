"""From a document to the facts of its Upsample/Resize nodes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from onnx import FunctionProto, NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import (
    DEFAULT_DOMAINS,
    Definition,
    DefinitionKind,
    Scope,
    Scopes,
    is_operator,
    subgraphs,
)
from resizefix.document.values import Array, Dims, numbers_in
from resizefix.interpolation import ExtentKind
from resizefix.scope_path import FunctionName, Key, ScopePath
from resizefix.shapes.operand import readers_first
from resizefix.shapes.stored_shapes import ModelView, fixed_values
from resizefix.targets.facts import (
    OperandSource,
    Roi,
    SiteFacts,
    enclosing,
    extent_of,
    reads_ahead,
    spellings,
    usual_values,
    why_unreadable,
)

_INTEGERS = (TensorProto.INT32, TensorProto.INT64)
_MOST_SHAPE_ELEMENTS = 64  # "Dims::MAX_DIMS" of old; an input with more is data, not a shape
_UNKNOWN = OperandSource.UNKNOWN
_COMPUTED = (OperandSource.FOLDED, OperandSource.SHAPE)
_SHAPES = ("Shape", "Size")
_WORST = (OperandSource.DATA, OperandSource.OTHER_INPUT)


def facts_of(document: Document) -> tuple[SiteFacts, ...]:
    """`facts_in` the document as it is now."""
    return facts_in(ModelView(document))


def facts_in(view: ModelView) -> tuple[SiteFacts, ...]:
    """The facts of every Upsample/Resize node, in the order in which a reader of the file meets them.

    `SiteFacts.node` is the node's name, or `#K` for the K-th node, from 0, where it has none.
    """
    return tuple(facts for _, facts in facts_by_key(view))


def facts_by_key(view: ModelView, keys: Collection[Key] | None = None) -> Iterator[tuple[Key, SiteFacts]]:
    """`facts_in`, each with the scope path and output of its node; `keys`: of these nodes alone."""
    gatherer = Collector(view)
    for label, scope, node in _nodes(view):
        key = scope.path, node.output[0] if node.output else ""
        if keys is None or key in keys:
            yield key, gatherer.named(label, scope, node)


Kind = tuple[SiteFacts, dict[int, Key]]


def kinds_in(view: ModelView) -> list[Kind]:
    """The nodes that differ in more than their names: the facts of the first of each kind, and of all of it the places
    among the nodes, from 0, with their scope paths and outputs."""
    gatherer = Collector(view)
    kinds: dict[object, Kind] = {}
    for place, (label, scope, node) in enumerate(_nodes(view)):
        kind = gatherer.kind(scope, node)
        facts_and_places = kinds.get(kind) or kinds.setdefault(kind, (gatherer.facts(label, scope, node), {}))
        facts_and_places[1][place] = scope.path, node.output[0] if node.output else ""
    return list(kinds.values())


def _nodes(view: ModelView) -> Iterator[tuple[str, Scope, NodeProto]]:
    """Every Upsample/Resize node with its label, in the order of the file."""
    nodes = ((scope, scope.body.node[index]) for scope, index in view.resizes)
    return ((node.name or f"#{k}", scope, node) for k, (scope, node) in enumerate(nodes))


class Collector:
    """Looks at one state of a document."""

    def __init__(self, view: ModelView) -> None:
        self._view = view
        self._scopes = view.scopes
        self._static = fixed_values(view)
        self._operands: dict[Key, object] = {}
        self._read: dict[tuple[ScopePath, tuple[str, ...]], tuple[object, ...]] = {}
        self._alike: dict[tuple[object, ...], SiteFacts] = {}

    @cached_property
    def _initializers_are_inputs(self) -> bool:
        main = self._scopes.main
        return main.initializers.keys() <= main.inputs

    def named(self, label: str, scope: Scope, node: NodeProto) -> SiteFacts:
        """`facts`, gathered once for all nodes that can differ in their names alone."""
        key = self.kind(scope, node)
        facts = self._alike.get(key) or self.facts(label, scope, node)
        if facts.unreadable is None:  # else the reason names the node
            self._alike[key] = facts
        return facts if facts.node == label else replace(facts, node=label)

    def kind(self, scope: Scope, node: NodeProto) -> tuple[object, ...]:
        """Two nodes of one key have the same facts: their attributes, operands, types and shapes are the same."""
        read = scope.path, tuple(node.input)
        if read not in self._read:  # many nodes may read the same
            self._read[read] = self._inputs(scope, read[1])
        made_type = self._type_at((scope.path, node.output[0])) if node.output else None
        attributes = tuple([attribute.SerializeToString() for attribute in node.attribute])
        place = (
            reads_ahead(node, scope.producers),
            *_behind_input(self._scopes, scope, node),
        )
        computed = any(
            isinstance(one, str) and one for one in self._read[read][2:]
        )  # what meets the output counts then
        output = node.output[0] if node.output and computed else ""
        return scope.path, node.op_type, attributes, self._read[read], made_type, place, output

    def _inputs(self, scope: Scope, names: Sequence[str]) -> tuple[object, ...]:
        """What counts of what a node reads."""
        first = tuple(self._type_of(scope, name) for name in names[:1])
        symbols = self._symbols(scope, names[0]) if len(names) > 1 else ()
        return first, symbols, *(self._as_operand(scope, name) for name in names[1:])

    def _as_operand(self, scope: Scope, name: str) -> object:
        """What counts of an operand: a constant's numbers, or the type of what the caller feeds; else its name says."""
        key = scope.path, name
        if key not in self._operands:
            definition = self._scopes.definition(scope, name) if name else None
            self._operands[key] = name if definition is None else self._by_value(scope, name, definition)
        return self._operands[key]

    def _by_value(self, scope: Scope, name: str, definition: Definition) -> object:
        if definition.kind is DefinitionKind.INPUT:
            return name if scope.parent or scope.in_function else self._type_of(scope, name)
        computed = definition.node is not None and definition.node.op_type != "Constant"
        value = None if computed else self._value(scope, name)
        if value is None or value.dtype.kind not in "fiub":
            return name
        return self._source(scope, name), self._type_of(scope, name), value.dtype.str, value.shape, value.tobytes()

    def _type_of(self, scope: Scope, name: str) -> object:
        """The sizes and the element type of a tensor; symbols say nothing to a rule."""
        return self._sizes(scope, name), self._elem_type(scope, name)

    def _type_at(self, key: Key) -> object:
        """The same of the tensor that is defined under this key."""
        dims = self._view.shapes.dims(key)
        return None if dims is None else numbers_in(dims), self._view.shapes.elem_type(key)

    def facts(self, label: str, scope: Scope, node: NodeProto) -> SiteFacts:
        """The facts of one node of that scope."""
        written = self._view.calls.attributes(scope, node)
        operands = list(node.input) + [""] * 4
        shape = self._sizes(scope, operands[0])
        later = node.op_type == "Resize" and scope.opset >= 11  # roi, scales, sizes
        empty_scales = later and self._is_empty(scope, operands[2])
        empty_sizes = later and self._is_empty(scope, operands[3])
        kind, operand, attribute = extent_of(node, scope.opset, written, empty_scales, empty_sizes)
        fields: dict[str, Any] = _attribute_facts(attribute) if attribute else self._operand_facts(scope, operand)
        if fields["source"] is OperandSource.SHAPE and fields["values"] is None and fields["static_values"] is None:
            usual = usual_values(self._view, self._dims(scope, operands[0]) or (), scope, operand)
            same = len({values for _, values in usual}) == 1  # none of the open sizes counts
            fields.update({"static_values": usual[0][1]} if same else {"usual_values": usual})
            start = None if same else self._scopes.definition(scope, operand)
            from resizefix.targets.met_tensors import hidden_at  # few models compute scales of open sizes

            fields["hidden_at"] = "" if start is None else hidden_at(self._view, scope, node, self._above(start))
        spelled = spellings(written)
        unknown_length = fields.get("operand_rank") == 1 and fields["length"] is None and shape is not None
        if unknown_length and self._is_of_integers_with_length(scope, operand):
            fields["length"] = len(spelled.get("axes") or shape or ())  # inference does not know it, TensorRT does
        casts, ends = _behind_input(self._scopes, scope, node)
        return SiteFacts(
            node=label,
            op_type=node.op_type,
            opset=scope.opset,
            ir_version=self._view.model.ir_version,
            producer_name=self._view.model.producer_name,
            names_its_domain=bool(node.domain),
            attributes=frozenset(written),
            **spelled,
            n_inputs=len(node.input),
            reads_ahead=reads_ahead(node, scope.producers),
            roi=self._roi(scope, node) if later else Roi.ABSENT,
            roi_values=_numbers(self._value(scope, operands[1])) if later and operands[1] else None,
            unnamed_scales=later and len(node.input) > 2 and not node.input[2],
            trailing_empty_input=len(node.input) > 1 and not node.input[-1],
            extent=kind,
            both_extents=later and all(operands[2:4]) and not empty_scales and not empty_sizes,
            empty_sizes=empty_sizes and kind is not ExtentKind.SIZES,
            empty_constant=any(self._is_empty_constant(scope, name) for name in node.input[1:]),
            enclosing=enclosing(scope),
            calls_functions=bool(self._scopes.reached),
            initializers_are_inputs=self._initializers_are_inputs,
            unreadable=why_unreadable(node, scope.opset),
            rank=None if shape is None else len(shape),
            input_shape=shape,
            output_shape=self._sizes(scope, node.output[0]) if node.output else None,
            elem_type=self._elem_type(scope, operands[0]),
            casts_behind=casts,
            is_at_the_edges=ends,
            **fields,
        )

    def _operand_facts(self, scope: Scope, name: str) -> dict[str, Any]:
        if not name:
            return {"source": OperandSource.ABSENT}
        dims = self._dims(scope, name)
        value = self._value(scope, name)
        if value is not None:
            dims = value.shape
        count = math.inf if dims is None else _count(dims)
        source = self._source(scope, name)
        static = self._static.array(scope, name) if value is None and source is OperandSource.SHAPE else None
        return {
            "source": source,
            "values": _numbers(value),
            "static_values": _numbers(static),
            "length": int(count) if math.isfinite(count) else None,
            "operand_rank": None if dims is None else len(dims),
            "operand_type": self._elem_type(scope, name),
            "computed_by": self._operators_above(scope, name) if source in _COMPUTED else frozenset(),
        }

    def _operators_above(self, scope: Scope, name: str) -> frozenset[str]:
        start = self._scopes.definition(scope, name)
        above = () if start is None else self._above(start)
        return frozenset(definition.node.op_type for definition in above if definition.node is not None)

    def _symbols(self, scope: Scope, name: str) -> tuple[str, ...]:
        return tuple(size for size in self._dims(scope, name) or () if isinstance(size, str))

    def _value(self, scope: Scope, name: str) -> Array | None:
        """The value a parser sees: that of a constant, and the default of an input that has one."""
        definition = self._scopes.definition(scope, name)
        if definition is not None and definition.kind is DefinitionKind.DEFAULTED_INPUT:
            assert definition.tensor is not None
            return self._view.document.array(definition.tensor)
        return self._view.value(scope, name)

    def _dims(self, scope: Scope, name: str) -> Dims | None:
        return self._view.dims(scope, name) if name else None

    def _sizes(self, scope: Scope, name: str) -> tuple[int | None, ...] | None:
        dims = self._dims(scope, name)
        return None if dims is None else numbers_in(dims)

    def _elem_type(self, scope: Scope, name: str) -> int | None:
        definition = self._scopes.definition(scope, name) if name else None
        return None if definition is None else self._view.shapes.elem_type(self._view.calls.origin(definition).key)

    def _is_empty(self, scope: Scope, name: str) -> bool:
        if not name:
            return False
        value = self._value(scope, name)
        return self._dims(scope, name) == (0,) if value is None else value.size == 0

    def _is_empty_constant(self, scope: Scope, name: str) -> bool:
        definition = self._scopes.definition(scope, name) if name else None
        return definition is not None and is_operator(definition.node, "Constant") and self._is_empty(scope, name)

    def _roi(self, scope: Scope, node: NodeProto) -> Roi:
        if len(node.input) < 2:
            return Roi.ABSENT
        if not node.input[1]:
            return Roi.UNNAMED
        return Roi.EMPTY if self._is_empty(scope, node.input[1]) else Roi.TENSOR

    def _source(self, scope: Scope, name: str) -> OperandSource:
        definition = self._scopes.definition(scope, name)
        if definition is None:
            return OperandSource.UNKNOWN
        if definition.tensor is not None:
            listed = definition.scope is self._scopes.main and name in self._scopes.main.inputs
            return OperandSource.INITIALIZER_AND_INPUT if listed else OperandSource.INITIALIZER
        if definition.node is None:
            return self._of_input(definition)
        if is_operator(definition.node, "Constant"):
            has_value = any(attribute.name == "value" for attribute in definition.node.attribute)
            return OperandSource.CONSTANT if has_value else OperandSource.CONSTANT_LIST
        return self._computed(definition)

    def _of_input(self, definition: Definition) -> OperandSource:
        if isinstance(definition.scope.body, FunctionProto):
            return self._of_parameter(definition.scope.body, definition.name)
        if definition.scope is not self._scopes.main:
            return OperandSource.UNKNOWN
        dims = self._view.shapes.dims(definition.key)
        integer = self._view.shapes.elem_type(definition.key) in (*_INTEGERS, None)
        if dims is not None and len(dims) > 1 and not (integer and _count(dims) <= _MOST_SHAPE_ELEMENTS):
            return OperandSource.DATA
        return OperandSource.INTEGER_INPUT if integer else OperandSource.OTHER_INPUT

    def _of_parameter(self, function: FunctionProto, name: str) -> OperandSource:
        """What the calls of a local function give for an input of it; the worst, where they differ."""
        position = list(function.input).index(name)
        given = {
            self._source(scope, node.input[position])
            for scope, index in self._scopes.calls[FunctionName.of(function)]
            if len((node := scope.body.node[index]).input) > position
        }
        return next((source for source in _WORST if source in given), given.pop() if len(given) == 1 else _UNKNOWN)

    def _computed(self, start: Definition) -> OperandSource:
        """What decides the value of a computed operand: the most fleeting of all it is computed from."""
        leaves: set[OperandSource] = set()
        divided = False
        for definition in self._above(start):
            node = definition.node
            if node is None:
                leaves.add(self._source(definition.scope, definition.name))
            elif _is_closed(node):
                leaves.add(OperandSource.DATA)
            elif node.op_type in _SHAPES:
                leaves.add(OperandSource.SHAPE)
            else:
                divided = divided or self._divides(definition.scope, node)
        if OperandSource.INTEGER_INPUT in leaves and not leaves & {*_WORST, _UNKNOWN}:
            return OperandSource.INTEGER_INPUT_DIVIDED if divided else OperandSource.INTEGER_INPUT_COMPUTED
        sources = (source for source in (*_WORST, _UNKNOWN, OperandSource.SHAPE) if source in leaves)
        return next(sources, OperandSource.FOLDED)

    def _above(self, start: Definition) -> list[Definition]:
        """What decides the value of a computed operand, itself first; nothing behind a Shape, nor behind a node that
        holds a body or is another domain's."""

        def operands(definition: Definition) -> list[Definition]:
            node = definition.node
            ends = node is None or node.op_type in _SHAPES or _is_closed(node)
            return [] if node is None or ends else self._scopes.sources(definition.scope, node)

        return list(readers_first(start, operands))

    def _is_of_integers_with_length(self, scope: Scope, name: str) -> bool:
        """Whether an operand is computed from integer inputs of fixed length and from nothing else that varies but
        shapes."""
        if self._source(scope, name) is not OperandSource.INTEGER_INPUT_COMPUTED:
            return False
        start = self._scopes.definition(scope, name)
        assert start is not None
        inputs = [definition for definition in self._above(start) if definition.kind is DefinitionKind.INPUT]
        shapes = [self._view.shapes.dims(definition.key) for definition in inputs]
        return all(dims is not None and math.isfinite(_count(dims)) for dims in shapes)

    def _divides(self, scope: Scope, node: NodeProto) -> bool:
        """Whether it is a division of floats by a constant that is no power of two."""
        if node.op_type != "Div" or len(node.input) != 2:
            return False
        divisor = self._value(scope, node.input[1])
        if divisor is None or not np.issubdtype(divisor.dtype, np.floating):
            return False
        return any(math.frexp(abs(float(number)))[0] != 0.5 for number in divisor.ravel())


def _attribute_facts(values: tuple[float, ...]) -> dict[str, Any]:
    facts = {"source": OperandSource.ATTRIBUTE, "values": values, "length": len(values), "operand_rank": 1}
    return {**facts, "operand_type": TensorProto.FLOAT}


def _numbers(value: Array | None) -> tuple[float, ...] | None:
    return tuple(map(float, value.ravel())) if value is not None and value.dtype.kind in "fiub" else None


def _count(dims: Dims) -> float:
    """The number of elements; infinite where a size is not known."""
    return math.prod(size if isinstance(size, int) else math.inf for size in dims)


def _is_closed(node: NodeProto) -> bool:
    """It holds a body, or is of another domain: its operands are not followed."""
    return node.domain not in DEFAULT_DOMAINS or any(True for _ in subgraphs(node))


def _behind_input(scopes: Scopes, scope: Scope, node: NodeProto) -> tuple[bool, bool]:
    """Whether a node resizes an input of the model, and Casts alone read its result; or it is an output and no more."""
    if scope is not scopes.main or not node.input or not node.input[0] or not node.output:
        return False, False
    read = scopes.definition(scope, node.input[0])
    readers = scopes.readers_of((scope.path, node.output[0]))
    if read is None or read.kind is not DefinitionKind.INPUT or not readers:
        return False, False
    casts = all(is_operator(reader.node, "Cast") for reader in readers)
    return casts, all(reader.node_index is None for reader in readers)
