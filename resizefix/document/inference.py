"""onnx's shape inference, kept from what makes it fail: an inconsistent model gets what it stores, nothing else.

With `data_prop` onnx also follows the values of small integer tensors, without any limit: twenty-four Concat nodes that
each join a tensor with itself take gigabytes (onnx 1.23). So how long such values can get is worked out before.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from resizefix.document.scopes import bodies
from resizefix.scope_path import FunctionName

# Shapes have a few numbers, lists of sizes to split into some more.
_LONGEST_VALUE = 1 << 16


def infer_shapes(model: ModelProto) -> ModelProto:
    """A copy with every type and shape that onnx can derive; the model itself where it cannot."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=_longest_value(model) <= _LONGEST_VALUE)
    except (
        onnx.shape_inference.InferenceError,
        onnx.checker.ValidationError,
        ValueError,
        RuntimeError,
        MemoryError,
    ):
        return model


def _longest_value(model: ModelProto) -> int:
    """How many elements a value can have that is made of constants and shapes alone."""
    lengths = _Lengths(model)
    for path, body in bodies(model):
        if path.function is None:
            lengths.follow(body, lengths.of)
    return lengths.longest


class _Lengths:
    """The length of every value that onnx may follow, by name; data of unknown value have the length 0.

    A name that two bodies define has the longer of the two.
    """

    def __init__(self, model: ModelProto) -> None:
        self.of: dict[str, int] = {}
        self.longest = 0
        self._functions = {FunctionName.of(function): function for function in model.functions}
        self._growths: dict[FunctionName, int] = {}
        values = (*model.graph.input, *model.graph.output, *model.graph.value_info)
        self._rank = max((len(value.type.tensor_type.shape.dim) for value in values), default=0) + 8

    def follow(self, body: GraphProto | FunctionProto, lengths: dict[str, int]) -> None:
        """Add what the nodes of a body write, in the order in which they stand there."""
        if isinstance(body, GraphProto):
            lengths.update((tensor.name, _length(tensor)) for tensor in body.initializer)
        for node in body.node:
            length = self._written(node, lengths)
            self.longest = max(self.longest, length)
            for name in node.output:
                lengths[name] = max(length, lengths.get(name, 0))

    def _written(self, node: NodeProto, lengths: Mapping[str, int]) -> int:
        read = [lengths.get(name, 0) for name in node.input if name]
        if node.op_type in ("Shape", "Size"):
            return self._rank
        if node.op_type == "Constant":
            return max((_length(attribute.t) + len(attribute.ints) for attribute in node.attribute), default=0) or 1
        if not read or not all(read):
            return 0
        if (called := FunctionName.called_by(node)) in self._functions:
            return max(read) * self._growth(called)
        return sum(read) if node.op_type == "Concat" else max(read)

    def _growth(self, key: FunctionName) -> int:
        """How many times longer than its arguments a function's results can be. Calls go no deeper than 100."""
        if key not in self._growths:
            function = self._functions[key]
            local = dict.fromkeys(function.input, 1)
            self.follow(function, local)
            self._growths[key] = max((local.get(name, 0) for name in function.output), default=0) or 1
        return self._growths[key]


def _length(tensor: TensorProto) -> int:
    return max(tensor.dims[0], 1) if len(tensor.dims) == 1 else int(not tensor.dims)
