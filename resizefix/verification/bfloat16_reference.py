"""The reference for resizes of bfloat16, of which onnxruntime has no kernel: their float32 result, rounded once.

It is made by plain edits of the protobuf messages, and shares no code with the operations that it judges.
"""

from __future__ import annotations

from collections.abc import Collection

from onnx import NodeProto, TensorProto, helper

from resizefix.document.document import Document
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import names_in
from resizefix.scope_path import Key
from resizefix.shapes.model_view import ModelView


def with_bfloat16_in_float32(document: Document, sites: Collection[Key]) -> Document:
    """A copy in which those of these nodes that resize bfloat16 do so in float32; the document where there are none."""
    view = ModelView(document)
    wanted = {key for key in sites if key[1] and view.shapes.elem_type(key) == TensorProto.BFLOAT16}
    if not wanted:
        return document
    made = document.copy()
    fresh = FreshNames(names_in(made.proto)).fresh
    for scope in ModelView(made).scopes.all:
        nodes: list[NodeProto] = []
        for node in scope.body.node:
            if not node.output or (scope.path, node.output[0]) not in wanted:
                nodes.append(node)
                continue
            x, y, output = fresh("float32_x"), fresh("float32_y"), node.output[0]
            inner = NodeProto()
            inner.CopyFrom(node)
            inner.input[0], inner.output[0] = x, y
            nodes += [
                helper.make_node("Cast", [node.input[0]], [x], to=TensorProto.FLOAT),
                inner,
                helper.make_node("Cast", [y], [output], to=TensorProto.BFLOAT16),
            ]
        if len(nodes) != len(scope.body.node):
            copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
            del scope.body.node[:]
            scope.body.node.extend(copies)
    return made
