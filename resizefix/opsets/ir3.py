"""IR version 3, which parsers of 2018 read: every initializer is also a graph input, and only the main graph has any.

Fields that IR 3 does not know, but that only annotate (metadata_props of nodes and values, quantization_annotation,
training_info, device configurations), stay: protobuf readers skip them, and onnx.checker and onnxruntime take them.
Data in external files came with IR 4 too; whether any is used is decided when the model is saved.
"""

from collections import Counter

import onnx
from onnx import GraphProto, ModelProto, TensorProto, TypeProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import bodies, names_in, subgraphs
from resizefix.document.text import counted
from resizefix.document.view import View
from resizefix.opsets.verdict import Blocker, Downgrade, OpsetStep
from resizefix.outcome import ErrorBound

IR3 = 3

# onnx.proto, "IR VERSION 4 … Add type BFLOAT16"; all later element types came after it.
_ELEM_TYPES = frozenset(range(TensorProto.FLOAT, TensorProto.BFLOAT16))
_NO_DEFAULTS = ErrorBound(note=Diagnostic("opsets.defaults-are-constants"))


def to_ir3(model: ModelProto) -> Downgrade:
    """Rewrite `model`, in place, as IR version 3. Its opset must be 8 or lower: IR 3 was published with opsets 1 to 8.

    Returns blockers for what IR 3 cannot hold: local functions, sparse initializers, optional or sparse inputs, and
    element types that came later. With blockers the model is left as it was.
    """
    blockers = _blockers(model)
    if blockers:
        return Downgrade(tuple(blockers), ())
    steps = [*_hoist_initializers(model), *_settle_defaults(model), *list_initializers(model)]
    model.ir_version = IR3
    return Downgrade((), tuple(steps))


def list_initializers(model: ModelProto) -> list[OpsetStep]:
    """List every initializer of the main graph among its inputs, as IR 3 demands."""
    listed = {value.name for value in model.graph.input}
    added = [tensor for tensor in model.graph.initializer if tensor.name not in listed]
    for tensor in added:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    listing = Diagnostic("opsets.step-listed", count=counted(len(added), "initializer"))
    return [OpsetStep(model.graph.name, "", 0, listing)] if added else []


def _settle_defaults(model: ModelProto) -> list[OpsetStep]:
    listed = {value.name for value in model.graph.input}
    defaults = [tensor.name for tensor in model.graph.initializer if tensor.name in listed]
    if not defaults or model.ir_version <= IR3:
        return []
    return [OpsetStep(", ".join(defaults), "", 0, Diagnostic("opsets.step-defaults"), _NO_DEFAULTS)]


def _blockers(model: ModelProto) -> list[Blocker]:
    blockers = [
        _blocker(f"{function.domain}::{function.name}", "opsets.no-functions-in-ir3", "opsets.fix-inline")
        for function in model.functions
    ]
    for _, body in bodies(model):
        if not isinstance(body, GraphProto):
            continue
        for sparse in body.sparse_initializer:
            blockers.append(_blocker(sparse.values.name, "opsets.no-sparse-in-ir3", "opsets.fix-dense"))
        for tensor in body.initializer:
            if tensor.data_type not in _ELEM_TYPES:
                kind = TensorProto.DataType.Name(tensor.data_type)
                blockers.append(
                    _blocker(tensor.name, "opsets.no-such-initializer-in-ir3", "opsets.fix-cast", kind=kind)
                )
        for value in (*body.input, *body.output):
            why = _newer_type(value.type)
            if why:
                blockers.append(_blocker(value.name, "opsets.no-such-value-in-ir3", "opsets.fix-older-type", why=why))
    return blockers


def _blocker(name: str, reason: str, fix: str, **arguments: str) -> Blocker:
    return Blocker(name, "", 0, Diagnostic(reason, **arguments), Diagnostic(fix))


def _newer_type(value_type: TypeProto) -> str | None:
    kind = value_type.WhichOneof("value")
    if kind in ("optional_type", "sparse_tensor_type"):
        return Diagnostic("opsets.optional-value" if kind == "optional_type" else "opsets.sparse-value")
    elem_type = value_type.tensor_type.elem_type
    if kind == "tensor_type" and elem_type and elem_type not in _ELEM_TYPES:
        return Diagnostic("opsets.element-type", kind=TensorProto.DataType.Name(elem_type))
    return None


def _hoist_initializers(model: ModelProto) -> list[OpsetStep]:
    """Move the initializers of bodies into the main graph, under names that are free there."""
    scopes = View(model).scopes
    names = FreshNames(names_in(model))
    seen = Counter(name for one in scopes.all for name in (*one.producers, *one.initializers, *one.inputs))
    steps = []
    for scope in scopes.all:
        graph = scope.body
        if scope.parent is None or not isinstance(graph, GraphProto):
            continue
        inputs = {value.name for value in graph.input}
        for index in reversed(range(len(graph.initializer))):
            tensor = graph.initializer[index]
            if tensor.name in inputs:
                continue
            old = tensor.name
            hoisted = model.graph.initializer.add()
            hoisted.CopyFrom(tensor)
            del graph.initializer[index]
            if seen[old] > 1 or any(value.name == old for value in graph.output):
                hoisted.name = names.fresh(old)
                _rename_reads(graph, old, hoisted.name)
            steps.append(OpsetStep(hoisted.name, "", 0, Diagnostic("opsets.step-hoisted", scope=scope.path)))
    return steps


def _rename_reads(graph: GraphProto, old: str, new: str) -> None:
    """Let what reads `old` in this graph, and in bodies that do not define it anew, read `new`."""
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name == old:
                node.input[position] = new
        for _, body in subgraphs(node):
            if old not in _definitions(body):
                _rename_reads(body, old, new)
    if any(value.name == old for value in graph.output):
        graph.node.append(onnx.helper.make_node("Identity", [new], [old], name=f"{new}_Identity"))


def _definitions(graph: GraphProto) -> set[str]:
    produced = {name for node in graph.node for name in node.output}
    return produced | {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
