"""What ends the process that loads or runs a model in onnxruntime, recognised before it does.

Measured on onnxruntime 1.23 to 1.32, which raises no error for any of it: a kernel, an optimizer or shape inference
breaks in C++. A constant list of scales is read when the session is made, where nothing compares its length with the
rank of an input that is not known yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.inference import infer_shapes, infer_without_values
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, is_operator, node_label
from resizefix.document.values import dims_of, has_negative_size, known_types
from resizefix.runtimes.inputs import Feeds

# Fuses casts of float16 initializers, and takes those that may be fed for constants (onnxruntime#32143).
_CAST_FUSION, _CAST_FUSION_RIGHT_FROM = "FuseFp16InitializerToFp32NodeTransformer", (1, 30)
_RESIZES = ("Upsample", "Resize")
# Operators of whose results the rank may be unknown before a run: those that read sizes or axes from an operand, which
# tell where it is constant; and the others.
_BY_OPERAND = frozenset({"Reshape", "Expand", "ConstantOfShape", "Squeeze", "Unsqueeze"})
_ALWAYS = frozenset({"Loop", "If", "Scan", "OptionalGetElement", "SequenceAt", "SequenceMap", "ConcatFromSequence"})
# Where those that make a tensor to a list of sizes read the list.
_LISTED = {"Reshape": 1, "ConstantOfShape": 0}
# Operators that can be given more to cut off than there is, which makes a negative size.
_SHRINKING = ("Conv", "MaxPool", "AveragePool", "LpPool", "Pad", "Resize", "Upsample")


class Crash(NamedTuple):
    """A node that ends the process: what errors call it, its operator, and why."""

    node: str
    op_type: str
    reason: Diagnostic

    @property
    def facts(self) -> dict[str, str]:
        """What the error holds that is raised instead."""
        return {"node": self.node, "op_type": self.op_type, "reason": self.reason, "why": self.reason}


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
        self._by_shapes: dict[frozenset[tuple[str, tuple[int, ...]]], Crash | None] = {}

    @cached_property
    def at_load(self) -> Crash | None:
        """A Slice of what has a negative size: shape inference asserts."""
        operators = {node.op_type for _, body in bodies(self._model) for node in body.node}
        if "Slice" not in operators or operators.isdisjoint(_SHRINKING):
            return None
        for _, body in bodies(self._typed):
            kinds = known_types(body)
            for index, node in enumerate(body.node):
                if is_operator(node, "Slice") and has_negative_size(kinds.get(node.input[0], TypeProto())):
                    return Crash(node_label(node, index), "Slice", Diagnostic("runtimes.slice-of-negative-size"))
        return None

    def in_run(self, feeds: Feeds) -> Crash | None:
        """A resize of the main graph whose input has more dimensions than it has scales, as far as shape inference
        follows the shapes of the feeds."""
        if not self._has_unsure:
            return None
        shapes = frozenset((name, value.shape) for name, value in feeds.items() if isinstance(value, np.ndarray))
        if shapes not in self._by_shapes:
            self._by_shapes[shapes] = self._too_few_scales(dict(shapes))
        return self._by_shapes[shapes]

    @cached_property
    def _typed(self) -> ModelProto:
        return infer_without_values(self._model)

    @cached_property
    def _has_unsure(self) -> bool:
        """Whether there is a resize whose input's rank onnxruntime does not know when it loads the model."""
        resizes = any(is_operator(node, *_RESIZES) for node in self._model.graph.node)
        return (
            resizes
            and _forgets_ranks(self._model)
            and any(rank is None for _, _, rank, _ in _ranks_and_counts(self._typed))
        )

    def _too_few_scales(self, shapes: Mapping[str, tuple[int, ...]]) -> Crash | None:
        fed = ModelProto()
        fed.CopyFrom(self._model)
        for value in fed.graph.input:
            if value.name in shapes and value.type.HasField("tensor_type"):
                dims = value.type.tensor_type.shape.dim
                del dims[:]
                for size in shapes[value.name]:
                    dims.add().dim_value = size
        typed = infer_shapes(fed)
        while _tell_listed_ranks(typed):
            typed = infer_shapes(typed)
        for index, node, rank, count in _ranks_and_counts(typed):
            if rank is not None and rank > count:
                reason = Diagnostic("runtimes.fewer-scales-than-dimensions", rank=rank, count=count)
                return Crash(node_label(node, index), node.op_type, reason)
        return None


def _forgets_ranks(model: ModelProto) -> bool:
    """Whether a tensor may have an unknown rank: most models say of their inputs what they are, and compute no rank."""
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer}
    if any(not value.type.tensor_type.HasField("shape") for value in graph.input if value.name not in constants):
        return True
    for node in graph.node:
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in _ALWAYS or node.domain not in DEFAULT_DOMAINS or _computes_sizes(node, constants):
            return True
    return False


def _computes_sizes(node: NodeProto, constants: set[str]) -> bool:
    return node.op_type in _BY_OPERAND and not (
        constants.issuperset(node.input[-1:])
        or any(attribute.name in ("axes", "shape") for attribute in node.attribute)
    )


def _tell_listed_ranks(typed: ModelProto) -> bool:
    """Store of tensors that are made to a list of sizes as many dimensions as the list is long; whether there are any
    of which that was not known."""
    graph = typed.graph
    kinds = known_types(graph)
    told = False
    for node in graph.node:
        if is_operator(node, *_LISTED) and node.output[0] in kinds and len(node.input) == _LISTED[node.op_type] + 1:
            dims = dims_of(kinds.get(node.input[-1], TypeProto()))
            made = kinds[node.output[0]]
            if len(dims) == 1 and isinstance(dims[0], int) and not made.tensor_type.HasField("shape"):
                shape = helper.make_tensor_type_proto(made.tensor_type.elem_type, [None] * dims[0])
                graph.value_info.append(ValueInfoProto(name=node.output[0], type=shape))
                told = True
    return told


def _ranks_and_counts(typed: ModelProto) -> Iterator[tuple[int, NodeProto, int | None, int]]:
    """The resizes of the main graph whose number of scales is known: position, node, rank of the input, that number."""
    kinds = known_types(typed.graph)
    lengths = {tensor.name: tuple(tensor.dims) for tensor in typed.graph.initializer}
    for index, node in enumerate(typed.graph.node):
        if not is_operator(node, *_RESIZES) or not node.input:
            continue
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if "axes" in attributes:
            continue  # their number is compared
        count = len(attributes["scales"].floats) if "scales" in attributes else _length(node, kinds, lengths)
        tensor = kinds.get(node.input[0], TypeProto()).tensor_type
        if count is not None:
            yield index, node, len(tensor.shape.dim) if tensor.HasField("shape") else None, count


def _length(node: NodeProto, kinds: Mapping[str, TypeProto], stored: Mapping[str, tuple[int, ...]]) -> int | None:
    """How many scales the operand has, if that is known; None for a node that has none."""
    position = 2 if node.op_type == "Resize" and len(node.input) > 2 else 1
    name = node.input[position] if position < len(node.input) else ""
    dims = kinds[name].tensor_type.shape.dim if name in kinds else ()
    known = stored.get(name) or tuple(dim.dim_value for dim in dims)
    return (known[0] or None) if len(known) == 1 else None
