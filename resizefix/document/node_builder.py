"""New nodes and their constants, with names that are not used yet, and such nodes in the place of another.

How an operator is written depends on the opset, where arguments moved from attributes to inputs: Slice at 10, Unsqueeze
at 13 (https://github.com/onnx/onnx/blob/main/docs/Changelog.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.difference import BITWISE, ErrorBound


class FreshNames:
    """Gives out names that collide with none of `taken` and none given before."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}  # up to which all numbers behind a name are taken

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … : the first that is free."""
        name = wanted
        count = self._counts.get(wanted, 0)
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        self._counts[wanted] = count
        return name

    def is_free(self, name: str) -> bool:
        """Whether `name` is still to be had."""
        return name not in self._taken


Fresh = Callable[[str], str]

TO_THE_END = 2**31 - 1
"""An `end` beyond any axis; int32, because TensorRT parsers of old narrow it."""


@dataclass(eq=False)
class NodeBuilder:
    """Collects nodes and their constants for a graph of one opset. A method returns the name of what it adds.

    `_fresh` makes a name that is not used yet from a suggestion; `_prefix`, where it is not empty, begins all of them.
    `_node_name` makes the name of a node from its operator and first output.
    """

    _fresh: Fresh
    opset: int
    _prefix: str
    _node_name: Callable[[str, str], str] = lambda op_type, output: output
    nodes: list[NodeProto] = field(default_factory=list, init=False)
    initializers: list[TensorProto] = field(default_factory=list, init=False)

    def fresh(self, wanted: str) -> str:
        """A name that is not used yet."""
        return self._fresh(f"{self._prefix}_{wanted}" if self._prefix else wanted)

    def value(self, values: npt.ArrayLike, wanted: str = "constant", dtype: npt.DTypeLike | None = None) -> str:
        """A new initializer, in the numpy type of `values` unless `dtype` is given."""
        name = self.fresh(wanted)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype=dtype), name))
        return name

    def constant_node(self, values: npt.ArrayLike, wanted: str) -> str:
        """A new Constant node."""
        name = self.fresh(wanted)
        return self.add("Constant", into=name, value=numpy_helper.from_array(np.asarray(values), name))

    def add(
        self,
        op_type: str,
        *inputs: str,
        into: str | Sequence[str] | None = None,
        wanted: str | None = None,
        **attributes: Any,
    ) -> str:
        """A new node; `into` names its outputs, by default one new name like `wanted`. Gives its first output."""
        outputs = [into] if isinstance(into, str) else list(into or ()) or [self.fresh(wanted or op_type.lower())]
        name = self._node_name(op_type, outputs[0])
        return self.append(helper.make_node(op_type, inputs, outputs, name=name, **attributes))

    def append(self, node: NodeProto) -> str:
        """A node made elsewhere, with the outputs that it has."""
        self.nodes.append(node)
        return str(node.output[0])

    def as_type(self, x: str, dtype: npt.DTypeLike) -> str:
        """The tensor in another numpy type."""
        return self.add("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshape to constants: 0 keeps the dimension at that place, -1 is what remains."""
        return self.add("Reshape", x, self.value(shape, "shape", np.int64))

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """New axes of length 1, at these places of the result."""
        if self.opset < 13:
            return self.add("Unsqueeze", x, axes=axes)
        return self.add("Unsqueeze", x, self.value(axes, "axes", np.int64))

    def split(self, x: str, axis: int, lengths: Sequence[int]) -> list[str]:
        """Parts of these lengths along an axis."""
        parts = [self.fresh("part") for _ in lengths]
        if self.opset < 13:
            self.add("Split", x, into=parts, axis=axis, split=lengths)
        else:
            self.add("Split", x, self.value(lengths, "lengths", np.int64), into=parts, axis=axis)
        return parts

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
            return self.add("Slice", x, axes=axes, starts=starts, ends=ends)
        inputs = {"starts": starts, "ends": ends, "axes": axes, "steps": steps or [1] * len(axes)}
        return self.add("Slice", x, *(self.value(values, what, np.int64) for what, values in inputs.items()))

    def repeat_edges(self, x: str, axis: int, before: int, after: int) -> str:
        """The first sample of an axis `before` times more, the last one `after` times more.

        Slices and a Concat say it at every opset and to every reader; TensorRT reads Pad(mode=edge) from 8.5 on only.
        """
        first = [self.slice(x, [axis], [0], [1])] * before if before else []
        last = [self.slice(x, [axis], [-1], [TO_THE_END])] * after if after else []
        return self.add("Concat", *first, x, *last, axis=axis) if first or last else x


@dataclass(frozen=True)
class Replacement:
    """Nodes that write a node's output, in order, the constants that they read, and how near they come (`error`).

    The last node's output has the name asked for. A local function has no initializers: there the caller makes them
    Constant nodes; in a model of IR 3 it lists them among the graph's inputs.

    `how` names what was done, `description` says so to a person (empty: as `how` does), `why` what made it necessary.
    `elem_type` is the type of the output where it becomes another.
    """

    nodes: tuple[NodeProto, ...]
    initializers: tuple[TensorProto, ...] = ()
    error: ErrorBound = BITWISE
    how: str = ""
    description: str = ""
    why: str = ""
    elem_type: int | None = None

    @property
    def without_names(self) -> object:
        """The operators with their attributes, and the constants: two replacements may be the same."""
        operators = [(node.op_type, [one.SerializeToString() for one in node.attribute]) for node in self.nodes]
        return operators, [(tuple(one.dims), numpy_helper.to_array(one).tobytes()) for one in self.initializers]

    def under(self, conditions: Sequence[str]) -> Replacement:
        """The same, which comes that near under these conditions besides."""
        return replace(self, error=replace(self.error, conditions=(*self.error.conditions, *conditions)))
