"""Resizes of bfloat16, of which onnxruntime has no kernel: run as their float32 result, rounded once."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, TensorProto, helper

from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import bodies, is_operator, names_in
from resizefix.document.view import View
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView

_FIRST_CAST = 13  # of bfloat16; no resize before takes it, either
_MAKERS = frozenset({"Cast", "Constant", "ConstantOfShape"})


def in_float32(prepared: PreparedModel, document: Document) -> PreparedModel:
    """What was prepared of the document, with its resizes of bfloat16 between Casts to float32 and back; the same where
    there are none.

    It is made by plain edits of the protobuf messages, and shares no code with the operations that a proof judges.
    """
    wanted = _resizes_of_bfloat16(document)
    if not wanted:
        return prepared
    model = ModelProto()
    model.CopyFrom(prepared.model)
    fresh = FreshNames(names_in(model)).fresh
    for scope in View(model).scopes.all:
        nodes: list[NodeProto] = []
        for node in scope.body.node:
            inner = NodeProto.FromString(node.SerializeToString())
            if not node.output or (scope.path, node.output[0]) not in wanted:
                nodes.append(inner)
                continue
            inner.input[0], inner.output[0] = fresh("float32_x"), fresh("float32_y")
            before = helper.make_node("Cast", [node.input[0]], [inner.input[0]], to=TensorProto.FLOAT)
            back = helper.make_node("Cast", [inner.output[0]], [node.output[0]], to=TensorProto.BFLOAT16)
            nodes += [before, inner, back]
        del scope.body.node[:]
        scope.body.node.extend(nodes)
    return prepared.with_constants(model)


def _resizes_of_bfloat16(document: Document) -> set[Key]:
    if not _has_bfloat16(document.proto):
        return set()
    view = ModelView(document)
    return {
        (scope.path, node.output[0])
        for scope in view.scopes.all
        if scope.opset >= _FIRST_CAST
        for node in scope.body.node
        if is_operator(node, *RESIZES) and view.elem_type(scope, node.output[0]) == TensorProto.BFLOAT16
    }


def _has_bfloat16(model: ModelProto) -> bool:
    """Whether a tensor of the type comes into the model or is made in it."""
    for _, body in bodies(model):
        inputs = [value.type.tensor_type.elem_type for value in body.input if not isinstance(value, str)]
        if TensorProto.BFLOAT16 in inputs:
            return True
        if any(one.data_type == TensorProto.BFLOAT16 for one in getattr(body, "initializer", ())):
            return True
        for node in body.node:
            if node.op_type in _MAKERS and any(
                TensorProto.BFLOAT16 in (one.i, one.t.data_type) for one in node.attribute
            ):
                return True
    return False
