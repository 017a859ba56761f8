"""What must hold before the first node is rewritten: no local functions, one spelling of the domain, nodes in order."""

from onnx import GraphProto, ModelProto, inliner

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import bodies, in_order
from resizefix.opsets.constants import replace_nodes
from resizefix.opsets.verdict import Step
from resizefix.scope_path import FunctionName


def inline_functions(model: ModelProto) -> list[Step]:
    """Replace every call of a local function by its body: functions came with IR 8. What cannot be inlined stays."""
    if not model.functions:
        return []
    names = [str(FunctionName.of(function)) for function in model.functions]
    try:
        inlined = inliner.inline_local_functions(model)
    except (RuntimeError, ValueError):
        return []
    model.CopyFrom(inlined)
    return [Step(name, "", 0, Diagnostic("opsets.step-inlined")) for name in names[: len(names) - len(model.functions)]]


def spell_default_domain(model: ModelProto) -> list[Step]:
    """Write the default domain as the empty string everywhere; `ai.onnx` means the same."""
    found = [node for _, body in bodies(model) for node in body.node if node.domain == "ai.onnx"]
    for node in found:
        node.domain = ""
    return [Step(node.name, node.op_type, 0, Diagnostic("opsets.step-domain")) for node in found]


def sort_nodes(model: ModelProto) -> list[Step]:
    """Put nodes after those whose outputs they read, as every opset demands; others keep their places."""
    steps = []
    for _, graph in reversed(list(bodies(model))):
        if isinstance(graph, GraphProto):
            ordered = in_order(list(graph.node))
            if ordered != list(range(len(graph.node))):
                replace_nodes(graph, [graph.node[index] for index in ordered])
                steps.append(Step(graph.name, "", 0, Diagnostic("opsets.step-sorted")))
    return steps
