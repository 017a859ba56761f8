"""Twins to compare with: the original with other scales written as constants, and the neighbourhood of one node alone.

A twin is made with as little machinery as possible and shares none with the operations it judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.shapes import shapes_of
from resizefix.document.constants import Constant, Constants
from resizefix.document.document import Document
from resizefix.document.edits import insert_nodes, remove_unread, set_input, set_shape
from resizefix.document.names import FreshNames
from resizefix.document.scopes import Definition, DefinitionKind, Scope, Scopes
from resizefix.document.shapes import Dims, Key, Shapes
from resizefix.interpolation import ExtentKind
from resizefix.origins.borders import Borders

_MOST_INLINE_ELEMENTS = 4096
_MOST_KEPT = 8  # a size up to this one is a batch or colours, and stays where sizes are opened


@dataclass(frozen=True)
class Baked:
    """The operand to write as a constant: float32 scales or int64 sizes, a number for each entry that the node
    wants."""

    kind: ExtentKind
    values: tuple[float, ...]

    def tensor(self, name: str) -> TensorProto:
        """The operand as a tensor."""
        dtype = np.float32 if self.kind is ExtentKind.SCALES else np.int64
        return numpy_helper.from_array(np.array(self.values, dtype), name)


@dataclass(frozen=True)
class Ratio:
    """Sizes to make of the lengths of the tensor `data`: times `numerators`, over `denominator`, rounded down.

    `axes` are those that the numerators stand for; None: all, in order.
    """

    data: str
    numerators: tuple[int, ...]
    denominator: int
    axes: tuple[int, ...] | None

    def nodes(self, fresh: Callable[[str], str]) -> list[NodeProto]:
        """Nodes that make the sizes; the last one's output holds them.

        In float64, where the quotient of whole numbers below 2⁵³ is never rounded up to a whole number.
        """
        made: list[NodeProto] = []

        def add(op_type: str, *inputs: str, **attributes: Any) -> str:
            output = fresh(f"{self.data}_{op_type}")
            made.append(helper.make_node(op_type, inputs, [output], **attributes))
            return output

        def constant(values: Sequence[int], dtype: type[np.generic]) -> str:
            return add("Constant", value=numpy_helper.from_array(np.array(values, dtype)))

        lengths = add("Shape", self.data)
        if self.axes is not None:
            lengths = add("Gather", lengths, constant(self.axes, np.int64))
        lengths = add("Cast", lengths, to=TensorProto.DOUBLE)
        products = add("Mul", lengths, constant(self.numerators, np.float64))
        quotients = add("Div", products, constant([self.denominator], np.float64))
        add("Cast", add("Floor", quotients), to=TensorProto.INT64)
        return made


def rebake(original: Document, operands: Mapping[Key, Baked | Ratio]) -> Document:
    """The original as it would have been exported with other scales: constants, and no shape that the old ones imply.

    `operands` names each node by scope path and output. The node keeps everything but its scales and sizes. In a
    neighbourhood all nodes stand in the main graph, wherever they came from.
    """
    twin = original.copy()
    model = twin.proto
    scopes = Scopes(model)
    names = FreshNames(scopes.names())
    homes = [(scopes.by_path.get(path, scopes.main), output, baked) for (path, output), baked in operands.items()]
    nodes = [(scope, scope.body.node[scope.producers[output]], baked) for scope, output, baked in homes]
    old = [
        definition.key
        for scope, node, _ in nodes
        for name in node.input[1:]
        if name and (definition := scopes.definition(scope, name)) is not None
    ]
    for scope, node, baked in nodes:
        dialect = dialect_of(node.op_type, scope.opset)
        scales, sizes = dialect.scales_input, dialect.sizes_input
        by_sizes = isinstance(baked, Ratio) or baked.kind is ExtentKind.SIZES
        if scales is None or (by_sizes and sizes is None):
            raise ValueError(f"{dialect.name} takes no {'sizes' if by_sizes else 'scales'} as an input")
        outermost = scope.body if scope.in_function else model.graph
        if isinstance(baked, Ratio):
            made = baked.nodes(names.fresh)
            insert_nodes(scope.body, list(scope.body.node).index(node), made)
            operand = made[-1].output[0]
        else:
            operand = names.fresh(f"{node.output[0]}_{baked.kind.value}")
            insert_nodes(outermost, 0, [_constant_node(baked.tensor(operand))])
        if sizes is not None:
            set_input(node, sizes, operand if by_sizes else "")
        if not by_sizes:
            set_input(node, scales, operand)
        elif dialect.inputs[scales].optional:
            node.input[scales] = ""
        else:  # Resize-11 wants a tensor there, if an empty one
            empty = names.fresh(f"{operand}_no_scales")
            insert_nodes(outermost, 0, [_constant_node(Baked(ExtentKind.SCALES, ()).tensor(empty))])
            set_input(node, scales, empty)
    remove_unread(model, old)  # onnxruntime refuses a model of IR 3 with an initializer that nobody reads
    for scope in scopes.all:
        _forget_shapes(scope)
    return twin


def _constant_node(tensor: TensorProto) -> NodeProto:
    return helper.make_node("Constant", [], [tensor.name], value=tensor)


def _forget_shapes(scope: Scope) -> None:
    body = scope.body
    # One size for each axis, at whatever scale; onnxruntime demands to know how many (onnx/defs/tensor/utils.cc).
    sizes = {name for node in body.node if node.op_type == "Resize" for name in node.input[3:4]}
    kept = [value for value in body.value_info if value.name in sizes]
    del body.value_info[:]
    body.value_info.extend(kept)
    if not isinstance(body, GraphProto):
        return
    for value in body.output:
        if value.type.HasField("tensor_type"):
            set_shape(value, None)
    if scope.parent is not None:  # what a Loop carries may change its size too
        for value in body.input:
            if value.type.tensor_type.HasField("shape"):
                set_shape(value, [None] * len(value.type.tensor_type.shape.dim))  # onnxruntime wants the rank


def may_be_passed_over(key: Key) -> bool:
    """Whether the node stands in a body (of If, Loop, Scan) that need not run when the model does."""
    return key[0].is_body


def neighbourhood(document: Document, data: Mapping[Key, str], *, open_sizes: bool = False) -> Document:
    """A model of the named sites alone: the tensors they resize are its inputs, what drives their operands comes along.

    `data` gives, for each site by scope path and output, the name of the tensor that is resized; whatever stands
    between
    the two belongs to it, be it one node or the several that took its place. For models that onnxruntime cannot run
    as a
    whole. Names are kept, so two neighbourhoods of one site, before and after an edit, can be fed and compared like the
    whole models. `open_sizes` forgets how large the resized tensors are, and keeps how many axes they have.
    """
    scopes = Scopes(document.proto)
    shapes = shapes_of(document.proto)
    cutter = _Cutter(document, scopes, shapes, open_sizes)
    for (path, output), resized in data.items():
        cutter.take(scopes.by_path[path], output, resized)
    model = ModelProto()
    model.ir_version = document.proto.ir_version
    homes = [scopes.by_path[path.outermost] for path, _ in data]
    model.opset_import.extend((homes[-1].body if homes[-1].in_function else document.proto).opset_import)
    model.graph.CopyFrom(cutter.graph)
    return Document.from_proto(model, folder=document.folder)


def neighbourhoods(
    before: Document, after: Document, data: Mapping[Key, str], *, open_sizes: bool = False, sizes_stay: bool = False
) -> tuple[Document, Document]:
    """The neighbourhoods of the same sites before and after an edit, which can be fed alike.

    More may be known of a tensor after it: types, which no edit changes, are taken from there; sizes where they stay,
    as in a rewrite of nodes whose sizes nobody could read, by which those of the nodes behind became known.
    """
    pair = (
        neighbourhood(before, data, open_sizes=open_sizes),
        neighbourhood(after, data, open_sizes=open_sizes),
    )
    old, new = ({value.name: value.type for value in one.proto.graph.input} for one in pair)
    for name in old.keys() & new.keys():
        known = {kind.tensor_type.elem_type for kind in (old[name], new[name])} - {TensorProto.FLOAT}
        old[name].tensor_type.elem_type = min(known, default=TensorProto.FLOAT)
        if sizes_stay:
            _tell_sizes(old[name], new[name])
        new[name].CopyFrom(old[name])
    for (_, output), resized in data.items():
        for value in (value for one in pair for value in one.proto.graph.output if value.name == output):
            if resized in old:
                value.type.tensor_type.elem_type = old[resized].tensor_type.elem_type
    return pair


def _tell_sizes(known: TypeProto, other: TypeProto) -> None:
    """Give `known` the sizes that only `other` has."""
    shape, more = known.tensor_type.shape, other.tensor_type.shape
    if not known.tensor_type.HasField("shape") and other.tensor_type.HasField("shape"):
        shape.CopyFrom(more)
    if len(shape.dim) == len(more.dim):
        for dim, told in zip(shape.dim, more.dim, strict=True):
            if not dim.HasField("dim_value") and told.HasField("dim_value"):
                dim.dim_value = told.dim_value


class _Cutter:
    """Collects the graph of a neighbourhood, operands before the nodes that read them."""

    def __init__(self, document: Document, scopes: Scopes, shapes: Shapes, open_sizes: bool) -> None:
        self._document = document
        self._open_sizes = open_sizes
        self._scopes = scopes
        self._shapes = shapes
        self._borders = Borders(scopes)
        self._constants = Constants(document, scopes)
        self._have: set[str] = set()
        self.graph = GraphProto(name="neighbourhood")

    def take(self, scope: Scope, output: str, data: str) -> None:
        """Everything between the resized tensor `data` and `output`."""
        node = scope.body.node[scope.producers[output]]
        if data not in self._have:
            home = self._source(scope, data)
            dims = None if home is None else self._shapes.dims(home.key)
            elem_type = None if home is None else self._shapes.elem_type(home.key)
            if dims is None:
                dims = self._rank_from_operand(scope, node)
            if self._open_sizes and dims is not None:
                dims = tuple(None if isinstance(size, int) and size > _MOST_KEPT else size for size in dims)
            self._add_input(data, elem_type or TensorProto.FLOAT, dims)
        definition = self._scopes.definition(scope, output)
        assert definition is not None
        self._bring(definition)
        elem_type = next((value.type.tensor_type.elem_type for value in self.graph.input if value.name == data), 0)
        self.graph.output.append(helper.make_tensor_value_info(output, elem_type, None))

    def _source(self, scope: Scope, name: str) -> Definition | None:
        """What defines a name; of a function's argument, what all its calls pass."""
        found = self._scopes.definition(scope, name)
        return None if found is None else self._borders.argument(found) or found

    def _rank_from_operand(self, scope: Scope, node: NodeProto) -> Dims | None:
        least = _least_rank(node)
        for name in filter(None, reversed(node.input[1:])):
            home = self._source(scope, name)
            dims = None if home is None else self._shapes.dims(home.key)
            if dims is None and home is not None:  # no shapes are inferred in a function
                value = self._constants.value_of(home.scope, home.name)
                dims = value.value.shape if isinstance(value, Constant) else None
            if dims and isinstance(dims[0], int) and dims[0]:
                return (None,) * max(dims[0], least)
        return (None,) * least or None

    def _bring(self, definition: Definition) -> None:
        pending: list[tuple[Definition, bool]] = [(definition, False)]
        while pending:
            current, sources_are_there = pending.pop()
            if current.name in self._have:
                continue
            if current.node is not None and not sources_are_there:
                pending.append((current, True))
                sources = (self._scopes.definition(current.scope, name) for name in current.node.input if name)
                pending.extend((source, False) for source in sources if source is not None)
                continue
            self._have.add(current.name)
            if current.node is not None:
                self._have.update(current.node.output)
                self.graph.node.append(current.node)
                for attribute in self.graph.node[-1].attribute:
                    if attribute.HasField("t"):
                        attribute.t.CopyFrom(self._inline(attribute.t))
            elif current.tensor is not None:
                self.graph.initializer.append(self._inline(current.tensor))
                if current.kind is DefinitionKind.DEFAULTED_INPUT or self._document.proto.ir_version < 4:
                    self.graph.input.append(
                        helper.make_tensor_value_info(current.name, current.tensor.data_type, current.tensor.dims)
                    )
            elif not self._passed(current):
                self.graph.input.append(self._declared(current))

    def _passed(self, definition: Definition) -> bool:
        """Whether the definition is a function's argument that is a constant in all its calls: it is one here."""
        given = self._borders.argument(definition)
        if given is None or given.kind is DefinitionKind.DEFAULTED_INPUT:
            return False
        if given.tensor is not None:
            self.graph.initializer.append(self._inline(given.tensor))
            self.graph.initializer[-1].name = definition.name
        elif given.node is not None and given.node.op_type == "Constant":
            self.graph.node.append(given.node)
            self.graph.node[-1].output[0] = definition.name
        else:
            return False
        return True

    def _inline(self, tensor: TensorProto) -> TensorProto:
        # Shape inference wants the numbers of an operand, which some exporters put into an external file.
        if tensor.data_location != TensorProto.EXTERNAL or math.prod(tensor.dims) > _MOST_INLINE_ELEMENTS:
            return tensor
        return numpy_helper.from_array(self._document.array(tensor), tensor.name)

    def _declared(self, definition: Definition) -> ValueInfoProto:
        # A function's inputs are names; one that a promotion passed in is typed where it is fed.
        bodies = (definition.scope.body, self._document.proto.graph)
        declared = [value for body in bodies for value in body.input if isinstance(value, ValueInfoProto)]
        for value in declared:
            if value.name == definition.name:
                return value
        given = self._borders.argument(definition) or definition
        elem_type = self._shapes.elem_type(given.key) or TensorProto.FLOAT
        return helper.make_tensor_value_info(definition.name, elem_type, self._shapes.dims(given.key))

    def _add_input(self, name: str, elem_type: int, dims: Dims | None) -> None:
        self._have.add(name)
        self.graph.input.append(helper.make_tensor_value_info(name, elem_type, dims))


def _least_rank(node: NodeProto) -> int:
    """How many axes a tensor has at least that has those which the node names."""
    axes = next((attribute.ints for attribute in node.attribute if attribute.name == "axes"), ())
    return max((axis + 1 if axis >= 0 else -axis for axis in axes), default=0)
