"""Chains of constants are computed once, so that what newer opsets feed as inputs can become attributes."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.names import FreshNames
from resizefix.document.scopes import Scope, names_in
from resizefix.opsets.constants import replace_by_constants
from resizefix.opsets.inference import ValueOf
from resizefix.opsets.prune import Unread
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

    def tensors_of(node: NodeProto) -> list[TensorProto]:
        # An output of the graph that is constant is an Identity of its value: that is as folded as it gets.
        is_folded = node.op_type == "Identity" and outputs & {*node.output}
        values = [] if is_folded else [knowledge.constant(scope, name) for name in node.output]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return []
        return [numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape)) for value in known]

    return replace_by_constants(scope, graph, names, tensors_of, Diagnostic("opsets.step-folded"))
