"""How the operators of a lowering are spelled at an opset: arguments that moved from attributes to inputs, mostly.

https://github.com/onnx/onnx/blob/main/docs/Changelog.md: Slice at 10, Unsqueeze at 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

TO_THE_END = 2**31 - 1
"""An `end` beyond any axis; int32, because TensorRT parsers of old narrow it."""


class Spelling:
    """Collects nodes and their constants for a model of one opset. Every method returns the name of its output."""

    def __init__(self, opset: int, fresh: Callable[[str], str], prefix: str) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self._fresh = fresh
        self._prefix = prefix

    def name(self, what: str) -> str:
        """A name nobody has yet."""
        return self._fresh(f"{self._prefix}_{what}")

    def constant(self, values: npt.ArrayLike, what: str, dtype: npt.DTypeLike = np.int64) -> str:
        """A new initializer."""
        name = self.name(what)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype=dtype), name))
        return name

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A new node with one output, which is the node's name too."""
        output = self.name(op_type.lower())
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=output, **attributes))
        return output

    def append(self, node: NodeProto) -> str:
        """A node made elsewhere, with the one output it already has."""
        self.nodes.append(node)
        return str(node.output[0])

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshape to constants: 0 keeps the dimension at that place, -1 is what remains."""
        return self.node("Reshape", x, self.constant(shape, "shape"))

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """New axes of length 1, at these places of the result."""
        if self.opset < 13:
            return self.node("Unsqueeze", x, axes=axes)
        return self.node("Unsqueeze", x, self.constant(axes, "axes"))

    def slice(
        self,
        x: str,
        axes: Sequence[int],
        starts: Sequence[int],
        ends: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> str:
        """x[..., start:end:step, ...] on some axes; negative ends count from the end, `TO_THE_END` cuts nothing.

        `steps` need opset 10. They are written there even if all are 1: TensorRT 6.0 reads all five inputs of Slice.
        """
        if self.opset < 10:
            return self.node("Slice", x, axes=axes, starts=starts, ends=ends)
        inputs = {"starts": starts, "ends": ends, "axes": axes, "steps": steps or [1] * len(axes)}
        return self.node("Slice", x, *(self.constant(values, what) for what, values in inputs.items()))

    def repeat_edges(self, x: str, axis: int, before: int, after: int) -> str:
        """The first sample of an axis `before` times more, the last one `after` times more.

        Slices and a Concat say it at every opset and to every reader; TensorRT reads Pad(mode=edge) from 8.5 on only.
        """
        first = [self.slice(x, [axis], [0], [1])] * before if before else []
        last = [self.slice(x, [axis], [-1], [TO_THE_END])] * after if after else []
        return self.node("Concat", *first, x, *last, axis=axis) if first or last else x
