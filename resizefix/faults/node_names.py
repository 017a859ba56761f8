"""Two nodes of one name: onnxruntime loads no graph with them, though the name of a node changes no number."""

from copy import deepcopy

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.scopes import is_operator
from resizefix.faults.conversions import DUPLICATE_OUTPUT
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import ResizeNode


def duplicate_name(node: ResizeNode, _: Preferences) -> Fault | None:
    """Names that several nodes of a graph, a body or a function have; told at the first resize that stands there.

    A node of a body may be called as one outside it, and Constant nodes as any other: onnxruntime 1.32.0 makes
    initializers of them before it looks.
    """
    if not node.is_first:
        return None
    seen: set[str] = set()
    others: dict[int, NodeProto] = {}
    for index, one in enumerate(node.scope.body.node):
        if not one.name or is_operator(one, "Constant"):
            continue
        if one.name in seen:
            others[index] = deepcopy(one)
            others[index].name = node.names.fresh(one.name)
        seen.add(one.name)
    if not others:
        return None
    because = Diagnostic("faults.node-name-twice", name=node.scope.body.node[min(others)].name)
    return Fault(
        DUPLICATE_OUTPUT, because, Diagnostic("faults.nodes-renamed"), NodeEdit(others=others), stops_loading=True
    )
