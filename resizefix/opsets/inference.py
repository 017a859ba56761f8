"""Types and shapes that can be trusted: onnx.shape_inference over a light copy prepared so that it cannot be misled.

What misleads it, and what is done: stored shapes may be stale (they are dropped where they can be derived); the default
of a graph input is no constant (it is dropped); a small constant may lie in another file (it is read); Upsample-7 in a
model of a newer opset is unknown to it (its output is worked out here); and it gives up the rank of a Reshape whose
sizes are computed, though their number is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    numpy_helper,
    shape_inference,
)

from resizefix.document.edits import set_shape
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes

Array = npt.NDArray[Any]
Dims = tuple["int | None", ...]
ValueOf = Callable[[TensorProto], Array]

# Shape operands have at most as many elements as a tensor has axes; this leaves room for lists of sizes to split into.
_SMALL = 1024
# A domain of no operator, so that inference takes the type stored for the node's output.
_OPAQUE = "resizefix.opaque"


def inferred(model: ModelProto, value_of: ValueOf) -> ModelProto:
    """A copy of `model` with every type and shape that follows from inputs and operators. Nodes keep their places."""
    copy = ModelProto()
    copy.CopyFrom(model)
    if copy.ir_version >= 4:
        _drop_defaults(copy.graph)
    for tensor in copy.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL and math.prod(tensor.dims) <= _SMALL:
            tensor.CopyFrom(numpy_helper.from_array(value_of(tensor), tensor.name))
    for scope in Scopes(copy).all:
        if isinstance(scope.body, GraphProto):
            _forget_derivable(scope.body, is_main=not scope.path)
    upsamples = _hide_upsamples(copy)
    while True:
        result = _infer(copy)
        settled = _settle(upsamples, result)
        if not _rank_by_operand(copy, result) and not settled:
            return result


def _infer(model: ModelProto) -> ModelProto:
    try:
        return shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, ValueError, RuntimeError):
        return model  # an inconsistent model: what is stored is all there is


def _drop_defaults(graph: GraphProto) -> None:
    inputs = {value.name for value in graph.input}
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name in inputs:
            del graph.initializer[index]


def _forget_derivable(graph: GraphProto, *, is_main: bool) -> None:
    opaque = {name for node in graph.node if node.domain not in DEFAULT_DOMAINS for name in node.output}
    kept = [value for value in graph.value_info if value.name in opaque]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    if is_main:
        for value in graph.output:
            if value.name not in opaque and value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")


@dataclass(frozen=True)
class _Hidden:
    """An Upsample-7 that inference must not look into: where it stands, and where its output's type is stored."""

    order: tuple[int, ...]
    index: int
    scales: list[float]
    stored: ValueInfoProto


def _hide_upsamples(model: ModelProto) -> list[_Hidden]:
    """Make each Upsample-7 of a newer opset an operator of a domain of its own."""
    found = []
    for scope in Scopes(model).all:
        if scope.opset < 9 or not isinstance(scope.body, GraphProto):
            continue
        for index, node in enumerate(scope.body.node):
            scales = upsample_scales(node)
            if scales is None:
                continue
            node.domain = _OPAQUE
            found.append(_Hidden(scope.order, index, scales, _stored(scope.body, node.output[0])))
    if found:
        model.opset_import.append(onnx.helper.make_opsetid(_OPAQUE, 1))
    return found


# operator -> position of the operand that lists the sizes of its output
_SIZES = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}


def _rank_by_operand(model: ModelProto, result: ModelProto) -> bool:
    """Store the rank that follows from the length of a list of sizes, where no shape is known; whether any was new."""
    grown = False
    for scope, known in zip(Scopes(model).all, Scopes(result).all, strict=True):
        for node in scope.body.node:
            position = _SIZES.get(node.op_type)
            if position is None or node.domain not in DEFAULT_DOMAINS or not isinstance(scope.body, GraphProto):
                continue
            before = _type_in(known, node.output[0])
            if before is None or before.tensor_type.HasField("shape"):
                continue
            ranks = [_length(_type_in(known, node.input[position]))]
            if node.op_type == "Expand":
                ranks.append(_rank(_type_in(known, node.input[0])))
            if None not in ranks:
                stored = _stored(scope.body, node.output[0])
                stored.type.tensor_type.elem_type = before.tensor_type.elem_type
                set_shape(stored, [None] * max(rank for rank in ranks if rank is not None))
                grown = True
    return grown


def _rank(value_type: TypeProto | None) -> int | None:
    if value_type is None or not value_type.tensor_type.HasField("shape"):
        return None
    return len(value_type.tensor_type.shape.dim)


def _length(value_type: TypeProto | None) -> int | None:
    if value_type is None or _rank(value_type) != 1:
        return None
    (dim,) = value_type.tensor_type.shape.dim
    return dim.dim_value if dim.HasField("dim_value") else None


def _stored(graph: GraphProto, name: str) -> ValueInfoProto:
    """Where the type of a value of this graph is stored: among its outputs, or among the values in between."""
    present: Iterable[ValueInfoProto] = (*graph.output, *graph.value_info)
    for value in present:
        if value.name == name:
            return value
    added: ValueInfoProto = graph.value_info.add()
    added.name = name
    return added


def upsample_scales(node: NodeProto) -> list[float] | None:
    """The scales attribute of an Upsample-7; None for any other node."""
    if node.op_type != "Upsample" or node.domain not in DEFAULT_DOMAINS or len(node.input) != 1:
        return None
    return next((list(attribute.floats) for attribute in node.attribute if attribute.name == "scales"), None)


def _settle(upsamples: list[_Hidden], result: ModelProto) -> bool:
    """Store the output types of hidden Upsamples whose input is known by now; whether any was new."""
    scopes = {scope.order: scope for scope in Scopes(result).all}
    grown = False
    for hidden in upsamples:
        scope = scopes[hidden.order]
        source = _type_in(scope, scope.body.node[hidden.index].input[0])
        if source is None or not source.tensor_type.elem_type:
            continue
        before = hidden.stored.SerializeToString()
        hidden.stored.type.tensor_type.elem_type = source.tensor_type.elem_type
        if source.tensor_type.HasField("shape") and len(source.tensor_type.shape.dim) == len(hidden.scales):
            sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in source.tensor_type.shape.dim]
            set_shape(hidden.stored, [scaled(size, scale) for size, scale in zip(sizes, hidden.scales, strict=True)])
        grown |= hidden.stored.SerializeToString() != before
    return grown


def scaled(size: int | None, scale: float) -> int | None:
    """The output size, where the rules that are in use agree on it: the float32 product (onnxruntime) and the float64
    one (onnx.shape_inference), see upsamplebase.h and onnx/defs/tensor/utils.cc."""
    if size is None:
        return None
    narrow = int(np.float32(scale) * np.float32(size))
    return narrow if narrow == math.floor(float(np.float32(scale)) * size) else None


def _type_in(scope: Scope | None, name: str) -> TypeProto | None:
    while scope is not None:
        graph = scope.body
        assert isinstance(graph, GraphProto)
        stored: Iterable[ValueInfoProto] = (*graph.value_info, *graph.output, *graph.input)
        found = next((value.type for value in stored if value.name == name), None)
        if found is not None:
            return found
        if name in scope.initializers:
            tensor = scope.initializers[name]
            return onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        scope = scope.parent
    return None
