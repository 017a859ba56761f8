"""Chains of constants are computed once, so that inputs can become attributes; what is no longer used is removed."""

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import Scope, bodies, names_in, names_read, subgraphs
from resizefix.opsets.constants import replace_by_constants
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import OpsetStep
from resizefix.shapes.inference import ValueOf


class Unread:
    """Remembers what was unread from the start: that is the model's own and stays."""

    def __init__(self, model: ModelProto) -> None:
        self._from_the_start = _unread(model.graph)
        self._constants = {tensor.name for _, body in bodies(model) for tensor in getattr(body, "initializer", ())}

    def remove(self, model: ModelProto) -> None:
        """Remove nodes and initializers that became unread since, and what is stored about names that are gone."""
        kept = set(self._from_the_start)
        if model.ir_version >= FIRST_IR_WITH_DEFAULTS:
            kept.update(value.name for value in model.graph.input)  # a default may be fed: part of the signature
        _prune(model.graph, kept, self._constants)


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
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return []
        return [numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape)) for value in known]

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


def _prune(graph: GraphProto, kept: set[str], constants: set[str]) -> None:
    live = {value.name for value in graph.output}
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        if node.output and not any(name in live or name in kept for name in node.output if name):
            del graph.node[index]
            continue
        for _, body in subgraphs(node):
            _prune(body, kept, constants)
        live |= names_read(node)
    dead = {tensor.name for tensor in graph.initializer} - live - kept
    for field in (graph.initializer, graph.input):  # IR 3 lists initializers among the inputs
        for index in reversed(range(len(field))):
            if field[index].name in dead:
                del field[index]
    known = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    known |= constants & {tensor.name for tensor in graph.initializer}
    for index in reversed(range(len(graph.value_info))):
        if graph.value_info[index].name not in known:
            del graph.value_info[index]
