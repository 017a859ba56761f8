"""Constants in their oldest spelling: every Constant node, however it says its value, becomes an initializer.

Constant-1 (opset 8) knows the attribute `value` alone, and only of floating point types; an initializer may be of any
type. Sources: Changelog, Constant-11 (sparse_value), -12 (value_float, …), -13 (all types).

Constant nodes: the words for a value that are not a dense tensor. Constant-1 takes floats alone (constants.py).

Chains of constants are computed once, so that inputs can become attributes; what is no longer used is removed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic, UnreadableModelError
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, bodies, names_in, names_read, node_label, subgraphs
from resizefix.document.values import Array
from resizefix.document.view import View
from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import Blocked, OpsetStep
from resizefix.shapes.inference import ValueOf
from resizefix.shapes.operand import spelled_value
from resizefix.shapes.table import since_version

_MOST_ELEMENTS = 1 << 28  # a gigabyte of float32: what a file that protobuf can read may hold


def constants_to_initializers(model: ModelProto, value_of: ValueOf) -> list[OpsetStep]:
    """Move the constants of the main graph and of all bodies into initializers; payloads in other files stay there."""
    names = FreshNames(names_in(model))
    steps: list[OpsetStep] = []
    for scope in reversed(View(model).scopes.all):  # inner bodies first: nodes of an outer graph are copied below
        if isinstance(scope.body, GraphProto):
            steps += _in_graph(scope, scope.body, names, value_of)
    return steps


def _in_graph(scope: Scope, graph: GraphProto, names: FreshNames, value_of: ValueOf) -> list[OpsetStep]:
    def tensors_of(node: NodeProto) -> list[TensorProto]:
        tensor = _tensor_of(node, value_of)
        return [] if tensor is None or len(node.output) != 1 else [tensor]

    steps = replace_by_constants(scope, graph, names, tensors_of, Diagnostic("opsets.step-initializer"))
    for sparse in graph.sparse_initializer:
        graph.initializer.append(numpy_helper.from_array(_dense(sparse, value_of), sparse.values.name))
        steps.append(OpsetStep(sparse.values.name, "", 0, Diagnostic("opsets.step-dense")))
    del graph.sparse_initializer[:]
    return steps


def replace_by_constants(
    scope: Scope,
    graph: GraphProto,
    names: FreshNames,
    tensors_of: Callable[[NodeProto], Sequence[TensorProto]],
    what: Diagnostic,
) -> list[OpsetStep]:
    """Let constants take the place of every node of the scope's graph for whose outputs `tensors_of` gives any; a step
    for each, which says `what`."""
    nodes: list[NodeProto] = []
    steps: list[OpsetStep] = []
    for index, node in enumerate(graph.node):
        tensors = tensors_of(node)
        if not tensors:
            nodes.append(node)
            continue
        for name, tensor in zip(node.output, tensors, strict=True):
            _place_constant(graph, nodes, tensor, name, names)
        steps.append(OpsetStep(node_label(node, index), node.op_type, since_version(node.op_type, scope.opset), what))
    if steps:
        replace_nodes(graph, nodes)
    return steps


def _place_constant(
    graph: GraphProto, nodes: list[NodeProto], tensor: TensorProto, name: str, names: FreshNames
) -> None:
    """Let `name` be a constant of `graph`; an output of the graph wants a node, so it becomes an Identity."""
    placed = graph.initializer.add()
    placed.CopyFrom(tensor)
    placed.name = name
    if any(value.name == name for value in graph.output):
        placed.name = names.fresh(f"{name}_constant")
        nodes.append(onnx.helper.make_node("Identity", [placed.name], [name], name=names.fresh(f"{name}_Identity")))


def replace_nodes(graph: GraphProto, nodes: list[NodeProto]) -> None:
    """Give a graph another list of nodes, some of which may be its own."""
    copies = [NodeProto() for _ in nodes]
    for copy, node in zip(copies, nodes, strict=True):
        copy.CopyFrom(node)
    del graph.node[:]
    graph.node.extend(copies)


def _tensor_of(node: NodeProto, value_of: ValueOf) -> TensorProto | None:
    if node.op_type != "Constant" or node.domain not in DEFAULT_DOMAINS or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.ref_attr_name:
        return None
    if attribute.name == "value":
        tensor: TensorProto = attribute.t
        return tensor
    if attribute.name == "sparse_value":
        return numpy_helper.from_array(_dense(attribute.sparse_tensor, value_of))
    value = spelled_value(attribute)
    return None if value is None else numpy_helper.from_array(value)


def _dense(sparse: SparseTensorProto, value_of: ValueOf) -> Array:
    """Raises UnreadableModelError where the indices do not fit, or the dense tensor would fill the memory."""
    values, indices = value_of(sparse.values), value_of(sparse.indices)
    count = math.prod(sparse.dims)
    # One row of coordinates per value, or positions in the flattened tensor.
    bounds = list(sparse.dims) if indices.ndim == 2 else [count]
    fit = indices.shape == (values.size, len(bounds))[: indices.ndim] and 0 <= count <= _MOST_ELEMENTS
    if not fit or not np.all((indices >= 0) & (indices < bounds)):
        raise UnreadableModelError("opsets.sparse-does-not-fit", name=sparse.values.name, dims=list(sparse.dims))
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense


def as_tensor(site: OpsetSite) -> None:
    """value_float, value_ints and others came with 12."""
    attribute = site.node.attribute[0] if len(site.node.attribute) == 1 else None
    if attribute is not None and attribute.name in ("value", "sparse_value"):
        site.copy_node()
        return
    value = None if attribute is None or attribute.ref_attr_name else spelled_value(attribute)
    if attribute is None or value is None:
        raise Blocked("opsets.constant-without-value", "opsets.fix-constant-value")
    site.copy_node(without=[attribute.name], value=numpy_helper.from_array(value))


def as_dense(site: OpsetSite) -> None:
    """sparse_value came with 11. The value is known, as of any constant that is not large."""
    if site.attribute("sparse_value") is None:
        site.copy_node()
        return
    value = site.constant(site.output())
    if value is None:
        raise Blocked("opsets.constant-without-value", "opsets.fix-constant-value")
    site.copy_node(without=["sparse_value"], value=numpy_helper.from_array(value))


# Sources: docs/Changelog.md. Others: more types.


class Unread:
    """Remembers what was unread from the start: that is the model's own and stays."""

    def __init__(self, model: ModelProto) -> None:
        self._from_the_start = _unread(model.graph)
        self._constants = {tensor.name for _, body in bodies(model) for tensor in getattr(body, "initializer", ())}

    def remove(self, model: ModelProto) -> None:
        """Remove nodes and initializers that became unread since, and what is stored about names that are gone."""
        roots = set(self._from_the_start)
        if model.ir_version >= FIRST_IR_WITH_DEFAULTS:
            roots.update(value.name for value in model.graph.input)  # a default may be fed: part of the signature
        _prune(model.graph, roots, self._constants)


def fold(model: ModelProto, value_of: ValueOf, unread: Unread) -> tuple[ValueInfoMap, list[OpsetStep]]:
    """Replace every node whose value is constant by that value, and remove what only they read.

    Returns what is known of the folded model, and a step for each node that went. Constant nodes must have become
    initializers before; nodes out of order are not looked through.
    """
    knowledge = ValueInfoMap(model, value_of)
    names = FreshNames(names_in(model))
    steps: list[OpsetStep] = []
    for scope in reversed(knowledge.scopes.all):  # inner bodies first: nodes of an outer graph are copied
        if isinstance(scope.body, GraphProto):
            steps += _fold_graph(scope, scope.body, knowledge, names)
    if not steps:
        return knowledge, []
    unread.remove(model)
    return ValueInfoMap(model, value_of), steps


def _fold_graph(scope: Scope, graph: GraphProto, knowledge: ValueInfoMap, names: FreshNames) -> list[OpsetStep]:
    outputs = {value.name for value in graph.output}

    def tensors_of(node: NodeProto) -> list[TensorProto]:
        # An output of the graph that is constant is an Identity of its value: that is as folded as it gets.
        is_folded = node.op_type == "Identity" and outputs & {*node.output}
        values = [] if is_folded else [knowledge.constant(scope, name) for name in node.output]
        constants = [value for value in values if value is not None]
        if len(constants) < len(values):
            return []
        return [numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape)) for value in constants]

    return replace_by_constants(scope, graph, names, tensors_of, Diagnostic("opsets.step-folded"))


def _defined(graph: GraphProto) -> set[str]:
    names = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        names.update(node.output)
        for _, body in subgraphs(node):
            names |= _defined(body)
    return names


def _unread(graph: GraphProto) -> set[str]:
    unread = _defined(graph) - {value.name for value in graph.output}
    for node in graph.node:
        unread -= names_read(node)
    return unread


def _prune(graph: GraphProto, roots: set[str], constants: set[str]) -> None:
    live = {value.name for value in graph.output}
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        if node.output and not any(name in live or name in roots for name in node.output if name):
            del graph.node[index]
            continue
        for _, body in subgraphs(node):
            _prune(body, roots, constants)
        live |= names_read(node)
    dead = {tensor.name for tensor in graph.initializer} - live - roots
    for field in (graph.initializer, graph.input):  # IR 3 lists initializers among the inputs
        for index in reversed(range(len(field))):
            if field[index].name in dead:
                del field[index]
    defined = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    defined |= constants & {tensor.name for tensor in graph.initializer}
    for index in reversed(range(len(graph.value_info))):
        if graph.value_info[index].name not in defined:
            del graph.value_info[index]


ROWS: tuple[OpsetRow, ...] = (OpsetRow("Constant", {11: as_dense, 12: as_tensor}, (9, 13, 19, 21, 23, 24, 25)),)
