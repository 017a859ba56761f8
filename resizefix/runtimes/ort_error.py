"""What onnxruntime complains of, as one sentence and the node it names.

The text of an error is read for names and cleaned for people; no decision hangs on it. Where a pattern does not match
(another version of onnxruntime), the sentence is merely less tidy.

What ends the process that loads or runs a model in onnxruntime, recognised before it does.

Measured on onnxruntime 1.23 to 1.32, which raises no error for any of it: a kernel, an optimizer or shape inference
breaks in C++. A constant list of scales is read when the session is made, where nothing compares its length with the
rank of an input that is not known yet; up to 1.30, scales that are fed are copied to where few fit, however many
they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import bodies, is_operator, node_label
from resizefix.document.values import set_shape
from resizefix.runtimes.inputs import Feeds
from resizefix.scope_path import MAIN
from resizefix.shapes.model_types import Types, types_of
from resizefix.shapes.value_types import ValueType, dims_of, has_negative

# Each names the node and its operator; the last match is the innermost: where the body of an If fails, the text reads
# "… running If node … Status Message: … running Add node … Status Message: …".
_NODE_CLAUSES = (
    # while a kernel runs
    re.compile(r"Non-zero status code returned while running (?P<op>\S+) node\. Name:'(?P<node>.*?)' Status Message: "),
    # shape and type inference
    re.compile(r"Node \((?P<node>[^()]*)\) Op \((?P<op>\w+)\) "),
    # the schema check
    re.compile(r"In Node, \(\"(?P<node>.*?)\", (?P<op>\w+), \".*?\", -?\d+\) : .*? , Error ", re.DOTALL),
    # a bad node in a body; it follows the sentence
    re.compile(r"\s*==> Context: Bad node spec for node\. Name: (?P<node>.*?) OpType: (?P<op>\w+)\s*"),
)
# The same as part of a sentence that would be none without it.
_NODE_MENTIONS = (
    re.compile(r"implementation for (?P<op>\w+)\(\d+\) node with name '(?P<node>.*?)'"),
    re.compile(r"of operator \((?P<op>\w+)\) in node \((?P<node>[^()]*)\)"),
    re.compile(r"of Optype \((?P<op>\w+)\) bound to different types .*? in node \((?P<node>[^()]*)\)", re.DOTALL),
    re.compile(r"output arg \([^()]*\) of node \((?P<node>[^()]*)\)(?P<op>) does not match expected type"),
)

_BOILERPLATE = (
    re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : "),
    re.compile(r"Load model from .*? failed:"),
    re.compile(r"Exception during initialization: "),
    re.compile(r"This is an invalid model\. (?:Error: )?"),
    re.compile(r"Fatal error: "),
    re.compile(r"\[(?:Shape|Type)InferenceError\] "),
    # source location: file:line, then the function's full signature (`ns::C::f(T) [with T = …]`) or its bare name
    re.compile(
        r"\S+\.(?:h|hpp|cc|cpp):\d+ "
        r"(?:[^()]*::[^()]*(?:\((?:[^()]|\([^()]*\))*\))+(?: const)?(?: \[with [^\]]*\])? |\w+ )"
    ),
    re.compile(r"^[^.]* was false\. (?=\S)"),  # the C++ condition, where words follow
    re.compile(r"Please fix either the inputs/outputs or the model\."),
)


# Longer texts repeat what the model says (names, paths); the patterns above take time by the square of the length.
_LONGEST_TEXT = 4000


@dataclass(frozen=True)
class OrtError:
    """`reason` in one line; `node` and `op_type` where the text names a node (an unnamed node: None)."""

    reason: str
    node: str | None = None
    op_type: str | None = None

    @property
    def named(self) -> str:
        """The node in quotes, with its operator where the text has it; empty where it names none."""
        operator = f", {self.op_type}" if self.op_type else ""
        return f"'{self.node}'{operator}" if self.node else ""

    @property
    def facts(self) -> dict[str, Any]:
        """What the error holds that is raised where the process would end."""
        return {"node": self.node, "op_type": self.op_type, "reason": self.reason, "why": self.reason}


def read_ort_error(text: str) -> OrtError:
    """Reads the text of an exception that onnxruntime raised."""
    node: str | None = None
    op_type: str | None = None
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT // 2]} … {text[-_LONGEST_TEXT // 2 :]}"
    for pattern in (*_NODE_CLAUSES, *_NODE_MENTIONS):
        for match in pattern.finditer(text):
            node, op_type = match["node"] or None, match["op"] or None
    for pattern in (*_NODE_CLAUSES, *_BOILERPLATE):
        text = pattern.sub("", text)
    return OrtError(" ".join(text.split()).rstrip(". ") or "no reason given", node, op_type)


# Fuses casts of float16 initializers, and takes those that may be fed for constants (onnxruntime#32143).
_CAST_FUSION, _CAST_FUSION_RIGHT_FROM = "FuseFp16InitializerToFp32NodeTransformer", (1, 30)
_RESIZES = ("Upsample", "Resize")
# Where operators that make a tensor to a list of sizes read the list.
# Operators that can be given more to cut off than there is, which makes a negative size.
_SHRINKING = ("Conv", "MaxPool", "AveragePool", "LpPool", "Pad", "Resize", "Upsample")


def crashing_optimizers(model: ModelProto, version: str) -> set[str]:
    """The optimizers of this version of onnxruntime that must not see the model."""
    if tuple(int(number) for number in version.split(".")[:2]) >= _CAST_FUSION_RIGHT_FROM:
        return set()
    fed = {value.name for value in model.graph.input}
    halves = (tensor.name for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT16)
    return set() if fed.isdisjoint(halves) else {_CAST_FUSION}


class Forecast:
    """Where onnxruntime will end the process with a model: `at_load`, and `in_run` for what it is fed."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._by_shapes: dict[frozenset[tuple[str, tuple[int, ...]]], OrtError | None] = {}

    @cached_property
    def at_load(self) -> OrtError | None:
        """A Slice of what has a negative size: shape inference asserts."""
        operators = {node.op_type for _, body in bodies(self._model) for node in body.node}
        if "Slice" not in operators or operators.isdisjoint(_SHRINKING):
            return None
        for path, body in bodies(self._model):
            types = self._types[path]
            for index, node in enumerate(body.node):
                if is_operator(node, "Slice") and has_negative(types.get(node.input[0])):
                    reason = Diagnostic("runtimes.slice-of-negative-size")
                    return OrtError(reason, node_label(node, index), "Slice")
        return None

    def in_run(self, feeds: Feeds) -> OrtError | None:
        """A resize of the main graph with another number of scales or sizes than its input has dimensions, as far as
        shape inference follows the shapes of the feeds."""
        if not self._has_unsure:
            return None
        shapes = frozenset((name, value.shape) for name, value in feeds.items() if isinstance(value, np.ndarray))
        if shapes not in self._by_shapes:
            self._by_shapes[shapes] = self._another_number(dict(shapes))
        return self._by_shapes[shapes]

    @cached_property
    def _types(self) -> Types:
        return types_of(self._model)

    @cached_property
    def _has_unsure(self) -> bool:
        """Whether there is a resize of which onnxruntime cannot compare rank and count when it loads the model."""
        if not any(is_operator(node, *_RESIZES) for node in self._model.graph.node):
            return False
        return any(None in (extent.rank, extent.length) for extent in _extents(self._model, self._types[MAIN]))

    def _another_number(self, shapes: Mapping[str, tuple[int, ...]]) -> OrtError | None:
        fed = ModelProto()
        fed.CopyFrom(self._model)
        for value in fed.graph.input:
            if value.name in shapes and value.type.HasField("tensor_type"):
                set_shape(value, shapes[value.name])
        for node, op_type, operand, rank, count in _extents(fed, types_of(fed)[MAIN]):
            if None not in (rank, count) and rank != count:
                reason = Diagnostic("runtimes.another-number-than-dimensions", rank=rank, count=count, operand=operand)
                return OrtError(reason, node, op_type)
        return None


class _Extent(NamedTuple):
    """A resize of the main graph: its label and operator, `scales` or `sizes`, the rank of its input, and how many
    numbers it has; None where that is not known."""

    node: str
    op_type: str
    operand: str
    rank: int | None
    length: int | None


def _extents(model: ModelProto, types: Mapping[str, ValueType]) -> Iterator[_Extent]:
    stored = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    for index, node in enumerate(model.graph.node):
        attributes = {attribute.name: attribute for attribute in node.attribute}
        # The number of scales of axes that are named is compared with the axes.
        if not is_operator(node, *_RESIZES) or not node.input or "axes" in attributes:
            continue
        source = dims_of(types.get(node.input[0]))
        rank = None if source is None else len(source)
        if "scales" in attributes:
            yield _Extent(node_label(node, index), node.op_type, "scales", rank, len(attributes["scales"].floats))
            continue
        sizes = "".join(node.input[3:4])
        name = sizes or node.input[min(2, len(node.input) - 1)]
        dims = stored.get(name) or dims_of(types.get(name))
        is_known = bool(dims) and all(isinstance(size, int) for size in dims or ())
        operand, count = "sizes" if sizes else "scales", math.prod(map(int, dims or ())) if is_known else None
        yield _Extent(node_label(node, index), node.op_type, operand, rank, count)
