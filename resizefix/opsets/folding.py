"""Chains of constants are computed once, so that what newer opsets feed as inputs can become attributes."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.names import FreshNames
from resizefix.document.scopes import Scope, names_in, node_label
from resizefix.opsets.constants import place_constant, replace_nodes
from resizefix.opsets.inference import ValueOf
from resizefix.opsets.prune import Unread
from resizefix.opsets.signatures import since_version
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import Step


def fold(model: ModelProto, value_of: ValueOf, unread: Unread) -> tuple[ValueInfoMap, list[Step]]:
    """Replace every node whose value is constant by that value, and remove what only they read.

    Returns what is known of the folded model, and a step for each node that went. Constant nodes must have become
    initializers before; nodes out of order are not looked through.
    """
    knowledge = ValueInfoMap(model, value_of)
    names = FreshNames(names_in(model))
    steps: list[Step] = []
    for scope in reversed(knowledge.scopes.all):  # inner bodies first: nodes of an outer graph are copied
        if isinstance(scope.body, GraphProto):
            steps += _fold_graph(scope, scope.body, knowledge, names)
    if not steps:
        return knowledge, []
    unread.remove(model)
    return ValueInfoMap(model, value_of), steps


def _fold_graph(scope: Scope, graph: GraphProto, knowledge: ValueInfoMap, names: FreshNames) -> list[Step]:
    outputs = {value.name for value in graph.output}
    nodes: list[NodeProto] = []
    steps: list[Step] = []
    for index, node in enumerate(graph.node):
        values = [knowledge.constant(scope, name) for name in node.output]
        # An output of the graph that is constant is an Identity of its value: that is as folded as it gets.
        if (
            not values
            or any(value is None for value in values)
            or (node.op_type == "Identity" and outputs & {*node.output})
        ):
            nodes.append(node)
            continue
        for name, value in zip(node.output, values, strict=True):
            assert value is not None
            tensor = numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape))
            place_constant(graph, nodes, tensor, name, names)
        since = since_version(node.op_type, scope.opset)
        steps.append(Step(node_label(node, index), node.op_type, since, Diagnostic("opsets.step-folded")))
    if steps:
        replace_nodes(graph, nodes)
    return steps
