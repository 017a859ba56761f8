"""How many axes the tensors of a model can have, worked out before anybody makes a list of them.

Twenty-four Gather nodes that each take a tensor by itself make one of 2²⁴ axes; shape inference, onnx's and
onnxruntime's alike, writes them all down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from resizefix.document.scopes import DEFAULT_DOMAINS, Scopes, node_label, subgraphs
from resizefix.document.values import known_types
from resizefix.scope_path import FunctionName

MOST_AXES = 1 << 10
# An unknown rank, and one that a computed list of sizes makes.
_USUAL = 8
# Where an operator takes a list of sizes or axes from: an input, or an attribute in older versions.
_LISTS = {"Reshape": (1, "shape"), "Expand": (1, ""), "ConstantOfShape": (0, ""), "RandomNormal": (9, "shape")}
_AXES = {"Unsqueeze": 1, "Squeeze": -1, "ReduceSum": -1, "ReduceMax": -1, "ReduceMin": -1, "ReduceMean": -1}
_DOUBLING = frozenset({"Gather", "GatherND"})  # what they make has the axes of both operands
_GROWING = frozenset({"Unsqueeze", "OneHot", "Loop", "Scan", "ConcatFromSequence", "SplitToSequence", "SequenceMap"})
_LONG = MOST_AXES >> 6
_FIXED = {"Shape": 1, "Size": 0, "NonZero": 2, "Flatten": 2}
_ONE_MORE = frozenset({"OneHot", "Loop", "Scan", "ConcatFromSequence", "SplitToSequence", "SequenceMap"})


def node_of_many_axes(scopes: Scopes) -> str | None:
    """The label of a node that makes a tensor of more axes than any has; None where there is none."""
    if not _may_be_many(scopes):
        return None
    ranks = _Ranks(scopes.model)
    try:
        ranks.follow(scopes.model.graph, {})
    except _FoundError as found:
        return str(found)
    return None


def _may_be_many(scopes: Scopes) -> bool:
    """Whether ranks need to be followed: most models have no list of so many sizes, and double no rank often."""
    doubling = growing = 0
    most = _USUAL
    for scope in scopes.all:
        if scope.in_function:
            return True
        body = scope.body
        graph_values = [value.type.tensor_type.shape.dim for value in body.input if isinstance(value, ValueInfoProto)]
        sizes = [len(dims) for dims in graph_values]
        sizes += [
            tensor.dims[0]
            for tensor in getattr(body, "initializer", ())
            if len(tensor.dims) == 1 and tensor.data_type == TensorProto.INT64
        ]
        sizes += [len(tensor.dims) for tensor in getattr(body, "initializer", ())]
        for node in body.node:
            operator = node.op_type
            if operator in _DOUBLING:
                doubling += 1
            elif operator in _GROWING or operator in _LISTS or operator == "Constant":
                growing += operator in _GROWING
                for attribute in node.attribute:
                    sizes += [len(attribute.ints), len(attribute.t.dims), *attribute.t.dims[:1]]
        most = max(most, *sizes, 0)
        if most > _LONG:
            return True
    # Of what grows a rank each adds one list of sizes at most.
    return doubling > _LONG or (most + growing * _LONG) << doubling > MOST_AXES


class _FoundError(Exception):
    """The label of the node."""


class _Ranks:
    def __init__(self, model: ModelProto) -> None:
        self._functions = {FunctionName.of(function): function for function in model.functions}
        self._results: dict[tuple[FunctionName, int], int] = {}

    def follow(self, body: GraphProto | FunctionProto, ranks: dict[str, int]) -> None:
        """Add the ranks of what a body holds, nodes in the order of the file; a name that two bodies have, in both."""
        lists: dict[str, int] = {}
        types = known_types(body) if isinstance(body, GraphProto) else {}
        stored = {name: len(kind.tensor_type.shape.dim) for name, kind in types.items() if kind.HasField("tensor_type")}
        ranks.update(stored)
        for tensor in getattr(body, "initializer", ()):
            ranks[tensor.name] = len(tensor.dims)
            lists[tensor.name] = math.prod(tensor.dims[:2])
        for index, node in enumerate(body.node):
            rank = self._rank(node, ranks, lists)
            if rank > MOST_AXES:
                raise _FoundError(node_label(node, index))
            for name in node.output:
                ranks[name] = stored.get(name) or rank

    def _rank(self, node: NodeProto, ranks: dict[str, int], lists: dict[str, int]) -> int:
        operator = node.op_type
        read = [ranks.get(name, _USUAL) for name in node.input if name]
        most = max(read, default=0)
        if node.domain not in DEFAULT_DOMAINS:
            return self._called(node, most)
        inner = [graph for _, graph in subgraphs(node)] if node.attribute else []
        for graph in inner:
            self.follow(graph, ranks)
            most = max(most, *(ranks.get(value.name, 0) for value in graph.output), 0)
        if operator == "Constant":
            tensor = next((attribute.t for attribute in node.attribute if attribute.HasField("t")), None)
            count = sum(len(attribute.ints) for attribute in node.attribute)
            lists.update((name, count if tensor is None else math.prod(tensor.dims[:2])) for name in node.output)
            return int(count > 0) if tensor is None else len(tensor.dims)
        if operator in ("Gather", "GatherND") and len(read) > 1:
            return read[0] + read[1] - 1
        if operator in _LISTS:
            return max(most if operator == "Expand" else 0, _listed(node, *_LISTS[operator], lists, _USUAL))
        if operator in _AXES:
            keeps_axes = next((attribute.i for attribute in node.attribute if attribute.name == "keepdims"), 1)
            few = 0 if keeps_axes and operator.startswith("Reduce") else _listed(node, 1, "axes", lists, 0)
            return read[0] + _AXES[operator] * few if read else 0
        return _FIXED.get(operator, most + (operator in _ONE_MORE))

    def _called(self, node: NodeProto, most: int) -> int:
        function = self._functions.get(name := FunctionName.called_by(node))
        if function is None:
            return most
        if (name, most) not in self._results:
            ranks = dict.fromkeys(function.input, most)
            self.follow(function, ranks)
            self._results[name, most] = max((ranks.get(output, most) for output in function.output), default=0)
        return self._results[name, most]


def _listed(node: NodeProto, position: int, attribute: str, lists: Mapping[str, int], unknown: int) -> int:
    """How many numbers the list of a node has."""
    given = next((len(entry.ints) for entry in node.attribute if entry.name == attribute), 0)
    return given or (lists.get(node.input[position], unknown) if position < len(node.input) else unknown)
