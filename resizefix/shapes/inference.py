"""The types of a node's outputs, sizes included, from the types and constant values of its inputs.

onnx.shape_inference does the work, one node at a time. So nothing stale can mislead it: no stored shape is looked at,
and what counts as a constant is the caller's decision. Done here is what it does not know: Upsample-7, whose sizes
onnxruntime rounds otherwise and which a model of a newer opset may hold, the rank of a Reshape whose sizes are
computed, and bodies, whose outputs the caller has typed before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, checker, defs, helper, numpy_helper, shape_inference

from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array, has_negative_size
from resizefix.shapes.operand import MISFITS, attribute_of
from resizefix.shapes.output_size import agreed_length
from resizefix.shapes.table import TypeOf, output_types, why_incomplete

Dims = tuple["int | None", ...]
ValueOf = Callable[[TensorProto], Array]
ConstantOf = Callable[[str], "Array | None"]
# attribute -> the types of the outputs of the body it holds
Bodies = Mapping[str, Sequence["TypeProto | None"]]

_OF_ONNX = (defs.SchemaError, checker.ValidationError, shape_inference.InferenceError)
# Operands that determine a shape have at most as many elements as a tensor has axes, or parts.
_SMALL = 1024
# operator -> position of the operand that lists the sizes of its output
_SIZES = {"Reshape": 1, "Expand": 1, "ConstantOfShape": 0}
# Function operators that onnx infers by their bodies alone: typed like another operator, or like their first input.
_LIKE = {"GreaterOrEqual": "Greater", "LessOrEqual": "Less"}
_LIKE_ITS_INPUT = frozenset({"GroupNormalization", "MeanVarianceNormalization"})


def infer(
    node: NodeProto, opset: int, type_of: TypeOf, constant_of: ConstantOf, bodies: Bodies
) -> dict[str, TypeProto]:
    """The types of the outputs of an ai.onnx node, as far as they follow from its inputs; nothing of an invalid one."""
    if why_incomplete(node, opset) is not None:
        return {}
    scales = upsample_scales(node)
    try:
        if scales is not None:
            types = [_upsampled(type_of(node.input[0]), scales)]
        elif node.op_type == "If":
            types = [_agreed(pair) for pair in zip(*bodies.values(), strict=True)]
        elif node.op_type == "Loop":
            types = _loop(node, type_of, bodies["body"])
        elif node.op_type == "Scan":
            types = _scan(node, type_of, bodies["body"]) if opset >= 9 else []
        elif node.op_type in _LIKE_ITS_INPUT:
            types = [type_of(node.input[0])]
        elif node.op_type in RESIZES:
            types = [_resized(node, opset, type_of, constant_of)]
        else:
            return by_schema(node, opset, type_of, constant_of)
    except MISFITS:
        return {}
    return {name: kind for name, kind in zip(node.output, types, strict=False) if name and kind is not None}


def by_schema(node: NodeProto, opset: int, type_of: TypeOf, constant_of: ConstantOf) -> dict[str, TypeProto]:
    """The same by onnx alone, of a node of any domain; `opset` is the version of that."""
    # Element types alone, should inference give up.
    types = output_types(node, opset, type_of) if node.domain in DEFAULT_DOMAINS else {}
    inputs = {name: kind for name in node.input if name and (kind := type_of(name)) is not None}
    if node.op_type == "Slice" and any(map(has_negative_size, inputs.values())):  # it ends the process (onnx 1.23)
        return {node.output[0]: of_known_rank(inputs[node.input[0]])} if node.input[0] in inputs else types
    counts = {name: math.prod(size or _SMALL for size in dims_of(kind) or ()) for name, kind in inputs.items()}
    values = {name: value for name in inputs if counts[name] <= _SMALL and (value := constant_of(name)) is not None}
    data = {name: numpy_helper.from_array(value) for name, value in values.items()}
    try:
        domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
        schema = defs.get_schema(_LIKE.get(node.op_type, node.op_type), opset, domain)
        imports = [helper.make_opsetid(domain, opset)]
        given = inputs | {name: TypeProto() for name in node.input if name and name not in inputs}
        own = _with_attributes_of(schema, node)
        types |= shape_inference.infer_node_outputs(schema, own, given, data, opset_imports=imports)
    except (*_OF_ONNX, KeyError, ValueError, RuntimeError):
        pass  # no such operator, an operand of unknown type, or an invalid node: its sizes stay unknown
    position = _SIZES.get(node.op_type)
    if position is not None and dims_of(types.get(node.output[0])) is None:
        rank = _listed_rank(node, position, type_of)
        elem_type = types[node.output[0]].tensor_type.elem_type if node.output[0] in types else 0
        if rank is not None and elem_type:
            types[node.output[0]] = helper.make_tensor_type_proto(elem_type, [None] * rank)
    return types


def _with_attributes_of(schema: defs.OpSchema, node: NodeProto) -> NodeProto:
    """The node without attributes that its version does not have: exporters write them, and runtimes pass over them."""
    spare = [attribute for attribute in node.attribute if attribute.name not in schema.attributes]
    if not spare:
        return node
    own = NodeProto()
    own.CopyFrom(node)
    for attribute in spare:
        own.attribute.remove(attribute)
    return own


def _listed_rank(node: NodeProto, position: int, type_of: TypeOf) -> int | None:
    """The rank of what has as many sizes as an operand lists."""
    sizes = dims_of(type_of(node.input[position]))
    if sizes is None or len(sizes) != 1 or sizes[0] is None:
        return None
    if node.op_type != "Expand":
        return sizes[0]
    data = dims_of(type_of(node.input[0]))
    return None if data is None else max(len(data), sizes[0])


def dims_of(value_type: TypeProto | None) -> Dims | None:
    """The sizes of a tensor type, None where one is dynamic; None altogether where even the rank is unknown."""
    if value_type is None or not value_type.tensor_type.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in value_type.tensor_type.shape.dim)


def _sized(like: TypeProto, sizes: Sequence[int | None] | None) -> TypeProto:
    return helper.make_tensor_type_proto(like.tensor_type.elem_type, sizes)


def of_known_rank(value_type: TypeProto) -> TypeProto:
    """A type without its sizes: a body may be run with others than it declares."""
    dims = dims_of(value_type)
    return value_type if dims is None else _sized(value_type, [None] * len(dims))


def upsample_scales(node: NodeProto) -> list[float] | None:
    """The scales attribute of an Upsample-7; None for any other node."""
    if node.op_type != "Upsample" or node.domain not in DEFAULT_DOMAINS or len(node.input) != 1:
        return None
    scales: list[float] | None = attribute_of(node, "scales")
    return scales


def _upsampled(source: TypeProto | None, scales: list[float]) -> TypeProto | None:
    if source is None:
        return None
    dims = dims_of(source)
    if dims is None or len(dims) != len(scales):
        return _sized(source, None)
    return _sized(source, [agreed_length(scale, size) for size, scale in zip(dims, scales, strict=True)])


def _resized(node: NodeProto, opset: int, type_of: TypeOf, constant_of: ConstantOf) -> TypeProto | None:
    """Resize, and Upsample with an input of scales: inference's own rule for the sizes is not the runtime's."""
    value_type = by_schema(node, opset, type_of, constant_of).get(node.output[0])
    before = dims_of(type_of(node.input[0]))
    if value_type is None or before is None:
        return value_type
    position = 2 if node.op_type == "Resize" and opset >= 11 else 1
    scales = constant_of(node.input[position]) if len(node.input) > position and node.input[position] else None
    policy = attribute_of(node, "keep_aspect_ratio_policy", b"stretch")
    crops = attribute_of(node, "coordinate_transformation_mode") == b"tf_crop_and_resize"
    if scales is None and policy == b"stretch":
        return value_type  # the sizes wanted, or unknown ones
    sizes: list[int | None] = [None] * len(before)
    axes = attribute_of(node, "axes") or range(len(before))
    if scales is not None and not crops:
        if np.shape(scales) != (len(axes),) or not all(-len(before) <= axis < len(before) for axis in axes):
            return value_type  # no valid node
        sizes = list(before)
        for axis, scale in zip(axes, scales, strict=True):
            sizes[axis] = agreed_length(float(scale), before[axis])
    return _sized(value_type, sizes)


def _agreed(kinds: Sequence[TypeProto | None]) -> TypeProto | None:
    """What several types have in common: the element type, the rank, and the sizes on which all agree."""
    tensors = [kind for kind in kinds if kind is not None and kind.WhichOneof("value") == "tensor_type"]
    if len(tensors) < len(kinds) or len({kind.tensor_type.elem_type for kind in tensors}) > 1:
        return None
    first = tensors[0]
    shapes = [dims_of(kind) for kind in kinds]
    known_shapes = [dims for dims in shapes if dims is not None]
    if len(known_shapes) < len(shapes) or len({len(dims) for dims in known_shapes}) > 1:
        return _sized(first, None)
    sizes = [column[0] if len(set(column)) == 1 else None for column in zip(*known_shapes, strict=True)]
    return _sized(first, sizes)


def _stacked(element: TypeProto | None, axis: int = 0) -> TypeProto | None:
    """The type of one element after another along a new axis of unknown length."""
    dims = dims_of(element)
    if element is None or dims is None:
        return element
    place = axis if axis >= 0 else axis + len(dims) + 1
    return _sized(element, [*dims[:place], None, *dims[place:]])


def _loop(node: NodeProto, type_of: TypeOf, body: Sequence[TypeProto | None]) -> list[TypeProto | None]:
    carried = len(node.input) - 2
    # Zero iterations give the initial value, others what the body returned.
    states = [_agreed([type_of(name), kind]) for name, kind in zip(node.input[2:], body[1 : carried + 1], strict=True)]
    return [*states, *(_stacked(kind) for kind in body[carried + 1 :])]


def _scan(node: NodeProto, type_of: TypeOf, body: Sequence[TypeProto | None]) -> list[TypeProto | None]:
    carried = len(node.input) - attribute_of(node, "num_scan_inputs")
    axes = attribute_of(node, "scan_output_axes") or [0] * (len(body) - carried)
    states = [_agreed([type_of(name), kind]) for name, kind in zip(node.input[:carried], body[:carried], strict=True)]
    return [*states, *(_stacked(kind, axis) for kind, axis in zip(body[carried:], axes, strict=True))]
