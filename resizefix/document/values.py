"""The types that a graph stores of its values, the sizes in them, and how many axes its tensors can have, worked out
before anybody makes a list of them.

Twenty-four Gather nodes that each take a tensor by itself make one of 2²⁴ axes; shape inference, onnx's and
onnxruntime's alike, writes them all down.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy.typing as npt
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
)

from resizefix.document.scopes import (
    DEFAULT_DOMAINS,
    Scopes,
    bodies,
    node_label,
    subgraphs,
)
from resizefix.scope_path import FunctionName

Array = npt.NDArray[Any]
Dims = tuple[int | str | None, ...]
HALF = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
"""The element types of half precision."""


def stored_values(body: GraphProto | FunctionProto) -> Iterator[ValueInfoProto]:
    """Every value whose type a graph or function stores."""
    yield from body.value_info
    if isinstance(body, GraphProto):
        yield from body.output
        yield from body.input


def has_negative_size(value_type: TypeProto) -> bool:
    """Whether a size of a tensor is below 0, a spelling of "unknown" that onnx does not know."""
    return any(dim.dim_value < 0 for dim in value_type.tensor_type.shape.dim)


def longest_extent(dims: Sequence[int]) -> int:
    """How many elements a tensor of these sizes has, an empty axis counted as one: a reduction over the empty axis
    makes so many, and so many positions are walked over."""
    return math.prod(max(size, 1) for size in dims)


def held_by(constant: TensorProto | NodeProto) -> tuple[object, ...] | None:
    """What an initializer or a Constant node holds, whatever it is called: the same of two that have one value. None
    where it is not known without decoding it, or does not stand in the model."""
    if isinstance(constant, NodeProto):
        attributes = list(constant.attribute)
        if len(attributes) != 1 or attributes[0].ref_attr_name:
            return None
        (attribute,) = attributes
        return held_by(attribute.t) if attribute.name == "value" else (attribute.SerializeToString(),)
    if constant.data_location == TensorProto.EXTERNAL or not constant.raw_data:
        return None
    return constant.data_type, tuple(constant.dims), constant.raw_data


def known_types(body: GraphProto | FunctionProto, names: Container[str] | None = None) -> dict[str, TypeProto]:
    """The type of every value, by name; of `names` alone where they are given. Of one that is stored twice, as an input
    that is an output too, the type that tells most: exporters write the shape in one of the two places alone."""
    types: dict[str, TypeProto] = {}
    for value in stored_values(body):
        name = value.name
        if names is not None and name not in names:
            continue
        there = types.get(name)
        if there is None or _certainty(there) < _certainty(value.type):
            types[name] = value.type
    return types


def _certainty(value_type: TypeProto) -> tuple[bool, bool, int, int]:
    tensor = value_type.tensor_type
    dims = dims_of(value_type)
    whole = sum(isinstance(size, int) for size in dims)
    return bool(tensor.elem_type), tensor.HasField("shape"), whole, sum(size is not None for size in dims)


def dims_of(value_type: TypeProto) -> Dims:
    """The sizes stored in a tensor type; a negative one is a spelling of "unknown"."""
    return dims_in(value_type.tensor_type.shape)


def dims_in(shape: TensorShapeProto) -> Dims:
    """`dims_of` for a shape by itself."""
    return _dims_in(shape.SerializeToString())


@lru_cache(maxsize=1024)
def _dims_in(serialized: bytes) -> Dims:
    """Models have many tensors of few shapes, and reading one takes ten times as long as looking it up."""
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in TensorShapeProto.FromString(serialized).dim
    )


def tensor_of(value_type: TypeProto) -> TypeProto.Tensor | None:
    """The type of the tensor that a value is, or that a sequence or an optional holds; None for other values."""
    kind = value_type.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        value_type = getattr(value_type, kind).elem_type
        kind = value_type.WhichOneof("value")
    return value_type.tensor_type if kind == "tensor_type" else None


def forget_shape(value: ValueInfoProto) -> None:
    """Leave nothing but the kind of value and the element type."""
    tensor = tensor_of(value.type)
    if tensor is not None:
        tensor.ClearField("shape")


@lru_cache(maxsize=1024)
def numbers_in(dims: Dims) -> tuple[int | None, ...]:
    """The sizes that are numbers, None for the others, symbols too."""
    return tuple(size if isinstance(size, int) else None for size in dims)


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
    except _FoundError as error:
        return str(error)
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


_LONGEST = 2**63 - 1  # dim_value is an int64


def rename_symbols(model: ModelProto, names: Mapping[str, str]) -> None:
    """Give symbols of stored shapes other names."""
    for _, body in bodies(model):
        for value in stored_values(body):
            tensor = tensor_of(value.type)
            for dim in tensor.shape.dim if tensor is not None else ():
                if dim.dim_param in names:
                    dim.dim_param = names[dim.dim_param]


def set_shape(value: ValueInfoProto, dims: Sequence[int | str | None] | None) -> None:
    """Give a tensor value another shape: numbers stay numbers, names become symbols, None is unknown; no list, no
    rank. A number above what the file can say (int64) is left unknown, too: nothing that long is ever run.

    A size that it has already stays as it is written; of another one the denotation and unknown fields stay.
    """
    if dims is None:
        value.type.tensor_type.ClearField("shape")
        return
    write_dims(value.type.tensor_type.shape, dims)


def write_dims(shape: TensorShapeProto, dims: Sequence[int | str | None]) -> None:
    """`set_shape` for a shape by itself."""
    shape.SetInParent()
    if len(shape.dim) != len(dims):
        del shape.dim[:]
        shape.dim.extend(TensorShapeProto.Dimension() for _ in dims)
    for dim, old, size in zip(shape.dim, dims_in(shape), dims, strict=True):
        if size == old:
            continue
        dim.ClearField("value")
        if isinstance(size, str):
            dim.dim_param = size
        elif size is not None and abs(size) <= _LONGEST:
            dim.dim_value = size
