"""What one node makes of the types, sizes included, and constant values of its inputs: by onnx's inference, and where
the sizes are numbers by the operator's row.

onnx.shape_inference does the first, one node at a time. So nothing stale can mislead it: no stored shape is looked at,
and what counts as a constant is the caller's decision. Added here is what it does not know: Upsample-7, whose sizes
onnxruntime rounds otherwise and which a model of a newer opset may hold, the rank of a Reshape whose sizes are
computed, and bodies, whose outputs the caller has typed before. Numbers that do not fit together are a conflict, as
onnxruntime would stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, checker, defs, helper, numpy_helper, shape_inference

from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array, has_negative_size
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import MISFITS, attribute_of
from resizefix.shapes.output_size import agreed_length
from resizefix.shapes.reading import DimList, NodeSizes, Notes, UnknownRankError
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.table import RUNS_ANYWAY, TypeOf, output_types, row_for_numbers, why_incomplete

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


FixedDims = tuple[int, ...]


class ConflictError(Exception):
    """Inputs do not fit together, those at `positions`."""

    def __init__(self, *positions: int) -> None:
        super().__init__(positions)
        self.positions = positions


class UnknownSizesError(Exception):
    """It is not known what comes out, or whether anything does."""


class Tensors(Protocol):
    """What is known of the tensors of a model in one of several cases."""

    def dims(self, name: str, case: int) -> FixedDims | None:
        """The sizes of a tensor; None where they are not known."""

    def value(self, name: str, case: int) -> Array | None:
        """Its value, where that is a list of sizes; None where it is not known."""

    def type_of(self, name: str, case: int) -> TypeProto | None:
        """Its type; None where its sizes are not known."""


class NumberReading(NodeSizes):
    """A node of which one case after another is asked, the one with which the model is known to run first."""

    index, label = 0, ""

    def __init__(self, tensors: Tensors, numbers: Numbers, node: NodeProto, opset: int) -> None:
        self.node, self.opset = node, opset
        self.sizes, self.notes = numbers.sizes, numbers.notes
        self._tensors, self._numbers = tensors, numbers
        self._case = 0
        self._row = row_for_numbers(node, opset)
        self._attributes: dict[str, Any] | None = None
        self._made: dict[tuple[FixedDims | None, ...], list[FixedDims | None]] = {}
        self._reads_values = False
        self._required: list[int] = []
        self._reached: list[int] = []
        self._before: tuple[list[int], list[int]] | None = None

    def made(self, case: int) -> list[FixedDims | None]:
        """The sizes of the outputs; None where data decide. Raises ConflictError, UnknownSizesError."""
        self._case = case
        read = tuple(self._tensors.dims(name, case) if name else None for name in self.node.input)
        sizes = self._made.get(read)  # of most nodes many cases give the same sizes
        if sizes is None:
            sizes = self._asked()
            if not self._reads_values:
                self._made[read] = sizes
        return sizes

    def _asked(self) -> list[FixedDims | None]:
        self._required, self._reached = [], []
        try:
            sizes = self._by_row()
        except MISFITS:
            raise UnknownSizesError from None
        if self._before is None:
            self._before = self._required, self._reached
        required, reached = self._before
        # What weights fix must stay as it was, and positions that data give must still be there.
        if self._required != required or any(new < old for new, old in zip(self._reached, reached, strict=True)):
            raise UnknownSizesError
        return sizes

    def _by_row(self) -> list[FixedDims | None]:
        if self._row is None:
            raise UnknownSizesError
        try:
            return [self._numbers.plain(dims) for dims in self._row(self)]
        except UnknownRankError:
            if self.node.op_type not in RUNS_ANYWAY:
                raise UnknownSizesError from None
            return self._inferred()

    def _inferred(self) -> list[FixedDims | None]:
        """What onnx's inference of the one node says."""
        tensors, case = self._tensors, self._case
        self._reads_values = True
        types = infer(
            self.node, self.opset, lambda name: tensors.type_of(name, case), lambda name: tensors.value(name, case), {}
        )
        shapes = [dims_of(types.get(name)) for name in self.node.output]
        return [None if dims is None or None in dims else dims for dims in shapes]  # type: ignore[misc]

    # ---- what operands are ----

    def attribute(self, name: str, default: Any = None) -> Any:
        if self._attributes is None:
            self._attributes = {one.name: helper.get_attribute_value(one) for one in self.node.attribute}
        return self._attributes.get(name, default)

    def dims(self, position: int) -> DimList:
        dims = self._tensors.dims(self.node.input[position], self._case) if self.has(position) else None
        if dims is None:
            raise UnknownRankError
        return self._numbers.dims(dims)

    def array(self, position: int) -> Array | None:
        self._reads_values = True
        return self._tensors.value(self.node.input[position], self._case) if self.has(position) else None

    def listed(self, position: int) -> list[Dim]:
        array = self.array(position)
        if array is None or (array.dtype.kind == "f" and (array % 1).any()):
            raise UnknownRankError
        return [self.const(int(value)) for value in array.flat]

    def scales(self, position: int) -> Array | None:
        array = self.array(position)
        if array is None:
            raise UnknownRankError
        return array

    # ---- what must hold ----

    def meet(self, one: Dim, other: Dim, *positions: int) -> None:
        if one.data != other.data:
            raise ConflictError(*positions)

    def require(self, dim: Dim, what: str) -> None:
        self._required.append(dim.data)

    def fix(self, dim: Dim, what: str) -> None:
        pass  # it is a number

    def reaches(self, dim: Dim) -> None:
        self._reached.append(dim.data)

    def leave_to_runtime(self, when: bool) -> None:
        if when:
            raise UnknownSizesError

    def misfit(self, *positions: int) -> Exception:
        return ConflictError(*positions)

    def refuse(self, code: str, /, **arguments: object) -> Exception:
        return UnknownSizesError()


class Numbers:
    """Sizes that are numbers, in the form that rows take, each made once."""

    def __init__(self) -> None:
        self.sizes = Sizes({})
        self.notes = Notes()
        self._made: dict[FixedDims, DimList] = {}

    def dims(self, sizes: FixedDims) -> DimList:
        """The sizes of a tensor for a row."""
        dims = self._made.get(sizes)
        if dims is None:
            dims = self._made[sizes] = tuple(map(self.sizes.const, sizes))
        return dims

    def plain(self, dims: Sequence[Dim]) -> FixedDims | None:
        """The numbers that a row gave; None where one depends on data. Raises UnknownSizesError for one below 0."""
        if any(dim.kind != "const" for dim in dims):
            return None
        sizes = tuple(dim.data for dim in dims)
        if min(sizes, default=0) < 0:
            raise UnknownSizesError
        return sizes
