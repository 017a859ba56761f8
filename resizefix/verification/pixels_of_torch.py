"""The reference of nearest resizes that take PyTorch's pixels: the formula of torch, as operators that run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.view import View
from resizefix.scope_path import Key


def with_formula_of_torch(original: Document, lengths: Mapping[Key, Mapping[int, int]]) -> Document:
    """The original in which each of these nodes gathers, on the axes that are given with their new lengths, the
    elements floor(float32(i) × (float32(in) ÷ float32(out))), at most in − 1 (aten/src/ATen/native/UpSample.h).

    `in` is read from the tensor when the model runs: nothing is shared with the tables that are judged.
    """
    reference = original.copy()
    scopes = View(original.proto).scopes
    copies = dict(bodies(reference.proto))
    places = [(scopes.by_path[key[0]].producers[key[1]], key) for key in lengths]
    for position, key in sorted(places, reverse=True, key=lambda place: place[0]):
        body = copies[key[0]]
        nodes = _gathers(body.node[position], lengths[key])
        del body.node[position]
        for node in reversed(nodes):
            body.node.insert(position, node)
    return reference


def _gathers(resize: NodeProto, lengths: Mapping[int, int]) -> list[NodeProto]:
    nodes: list[NodeProto] = []
    output = resize.output[0]

    def add(op_type: str, *inputs: str, **attributes: Any) -> str:
        name = f"{output}_of_torch_{len(nodes)}"
        nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def constant(value: Any, dtype: type[np.generic]) -> str:
        return add("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    x = resize.input[0]
    for axis, out in lengths.items():
        size = add("Cast", add("Gather", add("Shape", x), constant([axis], np.int64)), to=TensorProto.FLOAT)
        step = add("Div", size, constant([out], np.float32))
        at = add("Floor", add("Mul", constant(range(out), np.float32), step))
        last = add("Sub", size, constant([1], np.float32))
        x = add("Gather", x, add("Cast", add("Min", at, last), to=TensorProto.INT64), axis=axis)
    nodes[-1].output[0] = output
    return nodes
