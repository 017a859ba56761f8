"""Weights that the file holds as a shape and one number: ConstantOfShape, of which layers alone read what it makes."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, numpy_helper

from resizefix.document.scopes import is_operator
from resizefix.document.values import Array
from resizefix.scope_path import MAIN
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView

_WEIGHTS = {
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "BatchNormalization": (1, 2, 3, 4),
    "InstanceNormalization": (1, 2),
    "PRelu": (1,),
    "Gemm": (1, 2),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (1, 2, 3)),
}
"""The inputs of layers that were learned: the numbers of their shapes are channels, kernels and units, as those of an
initializer there."""
_MOVING = ("Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def filled_weights(view: ModelView) -> dict[str, Array]:
    """By name, each as a view of its one number."""
    made: dict[str, Array] = {}
    for node in view.model.graph.node:
        if is_operator(node, "ConstantOfShape") and node.input and node.output and _is_weight(view, node.output[0]):
            shape = view.constants.array(view.scopes.main, node.input[0])
            if shape is not None and shape.ndim == 1:
                value = attribute_of(node, "value")
                number = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
                made[node.output[0]] = np.broadcast_to(number.reshape(()), [int(length) for length in shape])
    return made


def _is_weight(view: ModelView, name: str) -> bool:
    """Whether layers alone read a tensor, as weights, or what it becomes where its elements keep their order."""
    readers = view.scopes.readers_of((MAIN, name))
    return bool(readers) and all(
        one.scope is view.scopes.main and one.node is not None and _reads_weight(view, one.node, one.position)
        for one in readers
    )


def _reads_weight(view: ModelView, node: NodeProto, position: int) -> bool:
    if is_operator(node, *_MOVING):
        return position == 0 and len(node.output) == 1 and _is_weight(view, node.output[0])
    return is_operator(node, *_WEIGHTS) and position in _WEIGHTS[node.op_type]
