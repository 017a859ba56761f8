"""What an operator makes of sizes, and which sizes its inputs may not have together.

One row per operator. A row gives the sizes of the outputs, or raises ConflictError where onnxruntime would stop; each
is compared with onnxruntime over generated sizes. Where inputs always fit, or a row here only says whether they do,
onnx's inference of the one node says what comes out. An operator without a row is one of which nothing is known.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from onnx import NodeProto, TypeProto, helper

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.dialects.resized_length import kernel_length
from resizefix.document.output_lengths import BROADCASTING, KEEPING, REDUCTIONS, window
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array
from resizefix.errors import RefusedError
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind
from resizefix.opsets.inference import dims_of, infer

if TYPE_CHECKING:
    from resizefix.origins.size_flow import SizeFlow

Dims = tuple[int, ...]
_Known = TypeVar("_Known")


class ConflictError(Exception):
    """Inputs do not fit together, those at `positions`."""

    def __init__(self, *positions: int) -> None:
        super().__init__(positions)
        self.positions = positions


class UnknownSizesError(Exception):
    """It is not known what comes out, or whether anything does."""


class View:
    """One node in one case, as the rows see it. What is asked for and not known raises UnknownSizesError."""

    def __init__(self, flow: "SizeFlow", node: NodeProto, opset: int, case: int) -> None:
        self._flow = flow
        self.node = node
        self.opset = opset
        self.case = case
        self._attributes: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.node.input)

    def dims(self, position: int) -> Dims:
        """The sizes of an input."""
        return _known(self._flow.dims(self.node.input[position], self.case) if self.has(position) else None)

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.node.input) and bool(self.node.input[position])

    def old(self, position: int) -> Dims:
        """The sizes of an input with the old operands, with which the model is known to run."""
        return _known(self._flow.old(self.node.input[position]))

    def value(self, position: int) -> Array:
        """The value of an input that lists sizes."""
        return _known(self.value_of(self.node.input[position]) if self.has(position) else None)

    def integers(self, position: int, attribute: str) -> list[int] | None:
        """Integers that later opsets take as an input and earlier ones as an attribute; None if left out."""
        given = self.attribute(attribute) or (self.value(position).ravel().tolist() if self.has(position) else None)
        return None if given is None else [int(value) for value in given]

    def value_of(self, name: str) -> Array | None:
        """The value of an input by its name; None where it is not known."""
        return self._flow.value(name, self.case)

    def type_of(self, name: str) -> TypeProto | None:
        """The type of an input by its name; None where it is not known."""
        return self._flow.type_of(name, self.case)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        if self._attributes is None:
            self._attributes = {found.name: helper.get_attribute_value(found) for found in self.node.attribute}
        return self._attributes.get(name, default)


def _known(found: _Known | None) -> _Known:
    if found is None:
        raise UnknownSizesError
    return found


Row = Callable[[View], Sequence["Dims | None"]]


# ---- elementwise ----


def _same(view: View) -> list[Dims | None]:
    dims = view.dims(0)
    return [dims] * len(view.node.output)


def _along_channels(view: View) -> list[Dims | None]:
    """With a parameter for each channel."""
    if view.dims(0)[1:2] != view.old(0)[1:2]:
        raise UnknownSizesError
    return [view.dims(0)]


def _along_axis(view: View) -> list[Dims | None]:
    """With parameters along `axis`, or behind it."""
    dims, old = view.dims(0), view.old(0)
    axis = view.attribute("axis", 1 if "Linear" in view.node.op_type else -1)
    if view.dims(1) not in ((), (1,)) and dims[axis:] != old[axis:]:
        raise UnknownSizesError
    return [dims]


def _broadcast(view: View) -> list[Dims | None]:
    """docs/Broadcasting.md of ONNX, multidirectional: from the last axis on, equal or 1."""
    if view.opset < 7:  # other rules, that onnxruntime does not have
        raise UnknownSizesError
    positions = (0, 3) if view.node.op_type.startswith("QLinear") else range(len(view))
    return [broadcast([view.dims(position) for position in positions])]


def broadcast(shapes: Sequence[Dims]) -> Dims:
    """The common shape. Raises ConflictError."""
    result: list[int] = []
    for axis, sizes in enumerate(zip_longest(*(dims[::-1] for dims in shapes), fillvalue=1)):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise ConflictError(*(at for at, dims in enumerate(shapes) if axis < len(dims) and dims[-1 - axis] != 1))
        result.append(others.pop() if others else 1)
    return tuple(result[::-1])


# ---- windows and products ----


def _convolution(view: View) -> list[Dims | None]:
    data, weight = view.dims(0), view.dims(3 if view.node.op_type == "QLinearConv" else 1)
    if view.node.op_type == "FusedConv" and view.has(3):  # a sum that must have the output's sizes
        raise UnknownSizesError
    if len(data) != len(weight) or data[1] != weight[1] * view.attribute("group", 1):
        raise UnknownSizesError
    return [(data[0], weight[0], *_windows(view, data, weight[2:]))]


def _pool(view: View) -> list[Dims | None]:
    data = view.dims(0)
    if view.attribute("ceil_mode", 0):  # whether a last window that starts in the padding counts differs
        raise UnknownSizesError
    dims = (*data[:2], *_windows(view, data, None))
    return [dims] * len(view.node.output)


def _windows(view: View, data: Dims, kernel: Sequence[int] | None) -> list[int]:
    lengths = view.attribute("kernel_shape", kernel)
    sizes = []
    for spatial, size in enumerate(data[2:]):
        found = window(view.attribute, lengths, spatial)
        made = 0 if found is None else (size + found.before) // found.stride + found.after
        # Nor are windows that skip elements followed where padding follows the size: onnxruntime refuses some.
        if made < 1 or found is None or (not found.after and found.stride > lengths[spatial]):
            raise UnknownSizesError
        sizes.append(made)
    return sizes


def _matmul(view: View) -> list[Dims | None]:
    """As numpy.matmul."""
    left, right = view.dims(0), view.dims(3 if view.node.op_type == "QLinearMatMul" else 1)
    if not left or not right:
        raise UnknownSizesError
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    if left[-1] != (right[-2] if len(right) > 1 else right[0]):
        raise ConflictError(0, 1)
    return [(*broadcast([left[:-2], right[:-2]]), *rows, *columns)]


def _gemm(view: View) -> list[Dims | None]:
    left, right = view.dims(0), view.dims(1)
    if len(left) != 2 or len(right) != 2:
        raise UnknownSizesError
    rows, inner = left[::-1] if view.attribute("transA", 0) else left
    other, columns = right[::-1] if view.attribute("transB", 0) else right
    if inner != other:
        raise ConflictError(0, 1)
    if view.has(2) and broadcast([(rows, columns), view.dims(2)]) != (rows, columns):
        raise ConflictError(0, 2)
    return [(rows, columns)]


# ---- other shapes ----


def _concat(view: View) -> list[Dims | None]:
    shapes = [view.dims(position) for position in range(len(view))]
    first, rank = shapes[0], len(shapes[0])
    axis = view.attribute("axis", 1)
    if any(len(dims) != rank for dims in shapes) or not -rank <= axis < rank:
        raise UnknownSizesError
    axis %= rank
    for dims in shapes[1:]:
        if dims[:axis] != first[:axis] or dims[axis + 1 :] != first[axis + 1 :]:
            raise ConflictError(*range(len(shapes)))
    return [(*first[:axis], sum(dims[axis] for dims in shapes), *first[axis + 1 :])]


def _reshape(view: View) -> list[Dims | None]:
    dims = view.dims(0)
    wanted = [int(size) for size in (view.attribute("shape") or view.value(1).ravel())]
    count = math.prod(dims)
    if not view.attribute("allowzero", 0):
        if any(size == 0 and axis >= len(dims) for axis, size in enumerate(wanted)):
            raise UnknownSizesError
        wanted = [dims[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        if not rest or count % rest:
            raise ConflictError(0, 1)
        wanted[wanted.index(-1)] = count // rest
    if math.prod(wanted) != count or min(wanted, default=0) < 0:
        raise ConflictError(0, 1)
    return [tuple(wanted)]


def _expand(view: View) -> list[Dims | None]:
    return [broadcast([view.dims(0), tuple(int(size) for size in view.value(1))])]


def _transpose(view: View) -> list[Dims | None]:
    dims = view.dims(0)
    perm = view.attribute("perm", range(len(dims))[::-1])
    return [tuple(dims[axis] for axis in perm)] if len(perm) == len(dims) else [None]


def _split(view: View) -> list[Dims | None]:
    length = view.dims(0)[view.attribute("axis", 0)]
    sizes = view.integers(1, "split")
    if sizes is not None and sum(sizes) != length:
        raise ConflictError(0)
    if sizes is None and view.opset < 18 and length % len(view.node.output):
        raise ConflictError(0)
    return inferred(view)


def _squeeze(view: View) -> list[Dims | None]:
    dims = view.dims(0)
    if any(dims[axis] != 1 for axis in view.integers(1, "axes") or ()):
        raise ConflictError(0)
    return inferred(view)


def _space_to_depth(view: View) -> list[Dims | None]:
    if any(size % view.attribute("blocksize", 1) for size in view.dims(0)[2:]):
        raise ConflictError(0)
    return inferred(view)


def _depth_to_space(view: View) -> list[Dims | None]:
    if view.dims(0)[1] != view.old(0)[1]:
        raise UnknownSizesError
    return inferred(view)


def _convolution_transposed(view: View) -> list[Dims | None]:
    if view.dims(0)[:2] != view.old(0)[:2] or view.attribute("output_shape") is not None:
        raise UnknownSizesError
    return inferred(view)


def _reduce(view: View) -> list[Dims | None]:
    dims = view.dims(0)
    listed = view.integers(1, "axes")
    if not listed and view.attribute("noop_with_empty_axes", 0):
        return [dims]
    axes = {axis % len(dims) for axis in listed} if listed else set(range(len(dims)))
    keeps = view.attribute("keepdims", 1)
    return [tuple(1 if axis in axes else size for axis, size in enumerate(dims) if keeps or axis not in axes)]


def _chosen(view: View) -> list[Dims | None]:
    """What takes elements by their positions, which the data may come not to have."""
    if any(size < old for size, old in zip(view.dims(0), view.old(0), strict=False)):
        raise UnknownSizesError
    return inferred(view)


def _resize(view: View) -> list[Dims | None]:
    """A resize whose operand does not move: its scales or sizes as they stand, or as they follow from other sizes."""
    try:
        interpolation, operands = read(view.node, dialect_of(view.node.op_type, view.opset))
    except RefusedError:
        raise UnknownSizesError from None
    if operands.scales_attribute is not None:
        return [resized_by(view.dims(0), ExtentKind.SCALES, interpolation.axes, operands.scales_attribute)]
    scales = None if operands.scales is None else view.value_of(operands.scales)
    sizes = None if operands.sizes is None else view.value_of(operands.sizes)
    crops = interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
    if interpolation.keep_aspect_ratio_policy is not None and sizes is not None:
        raise UnknownSizesError
    if scales is not None and scales.size and not crops:
        if view.node.op_type == "Upsample" and scales.min() < 1:
            raise ConflictError  # it does not shrink, in onnxruntime
        return [resized_by(view.dims(0), ExtentKind.SCALES, interpolation.axes, tuple(scales.tolist()))]
    if sizes is not None and sizes.size:
        return [resized_by(view.dims(0), ExtentKind.SIZES, interpolation.axes, tuple(sizes.tolist()))]
    return [None]  # an operand that data decides: it runs, whatever comes


@lru_cache(maxsize=1024)
def resized_by(dims: Dims, kind: ExtentKind, axes: tuple[int, ...] | None, operand: tuple[float, ...]) -> Dims:
    """What a resize makes of sizes, as onnxruntime's kernels do. Raises UnknownSizesError for what does not run."""
    named = range(len(dims)) if axes is None else axes
    if len(named) != len(operand) or not all(-len(dims) <= axis < len(dims) for axis in named):
        raise UnknownSizesError
    if not all(map(math.isfinite, operand)):
        raise UnknownSizesError
    made = list(dims)
    for axis, number in zip(named, operand, strict=True):
        if kind is ExtentKind.SIZES:
            made[axis] = int(number)
        elif number != 1 or dims[axis] > _EXACT:
            made[axis] = kernel_length(number, dims[axis])
    return tuple(made)


def inferred(view: View) -> list[Dims | None]:
    """What onnx's inference of the one node says."""
    found = infer(view.node, view.opset, view.type_of, view.value_of, {})
    shapes = [dims_of(found.get(name)) for name in view.node.output]
    known = [None if dims is None else tuple(size for size in dims if size is not None) for dims in shapes]
    return [sizes if dims is not None and sizes == dims else None for sizes, dims in zip(known, shapes, strict=True)]


_EXACT = 2**24  # up to here every size is a float32
_CHANNEL_PARAMETERS = ("BatchNormalization", "InstanceNormalization", "GroupNormalization", "ImageScaler")
_AXIS_PARAMETERS = ("LayerNormalization", "RMSNormalization", "QuantizeLinear", "DequantizeLinear")

ROWS: dict[str, Row] = {
    **dict.fromkeys(KEEPING, _same),
    **dict.fromkeys(BROADCASTING, _broadcast),
    **dict.fromkeys(_CHANNEL_PARAMETERS, _along_channels),
    **dict.fromkeys(_AXIS_PARAMETERS, _along_axis),
    **dict.fromkeys(REDUCTIONS, _reduce),
    **dict.fromkeys(("Shape", "Size", "Constant", "ConstantOfShape", "Range", "Tile", "Slice", "Unsqueeze"), inferred),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), inferred),
    **dict.fromkeys(("Flatten", "ArgMax", "ArgMin", "Pad", "OneHot"), inferred),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _pool),
    **dict.fromkeys(("Upsample", "Resize"), _resize),
    **dict.fromkeys(("Gather", "TopK"), _chosen),
    "PRelu": _broadcast,
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), _convolution),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _matmul),
    "DynamicQuantizeLinear": lambda view: [view.dims(0), (), ()],  # the data, a scale, a zero point
    "ConvTranspose": _convolution_transposed,
    "Gemm": _gemm,
    "Concat": _concat,
    "Reshape": _reshape,
    "Expand": _expand,
    "Transpose": _transpose,
    "Split": _split,
    "Squeeze": _squeeze,
    "SpaceToDepth": _space_to_depth,
    "DepthToSpace": _depth_to_space,
}
# com.microsoft, onnxruntime's own operators.
_FOREIGN: dict[str, Row] = {
    **dict.fromkeys(("Gelu", "FastGelu", "QuickGelu", "QLinearSigmoid", "QLinearLeakyRelu"), _same),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), _broadcast),
    "FusedConv": _convolution,
}


def row_of(node: NodeProto) -> Row | None:
    """The row of a node's operator; None where there is none, or a function's call gives an attribute."""
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    rows = ROWS if node.domain in DEFAULT_DOMAINS else _FOREIGN if node.domain == "com.microsoft" else {}
    return rows.get(node.op_type)


PASSING = (KEEPING | BROADCASTING) - {"PRelu", *_CHANNEL_PARAMETERS, *_AXIS_PARAMETERS}
"""Operators whose output has the sizes of the first input where no other input can change them."""
