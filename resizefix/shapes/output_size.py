"""How long the axes of an output are: of a resize, in the arithmetic of each runtime, and of operators that keep the
lengths of their input, take the longest, or slide a window.

onnxruntime's kernels take the float32 product of scale and size, onnx's shape inference (that inside onnxruntime too)
the float64 product of the float32 scale: 5 scaled by 1.8 is 9 and 8, so that an optimised `Shape` is silently wrong.
Nothing may build on the 8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from math import floor, isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import SiteReading, read
from resizefix.document.values import Array, Dims
from resizefix.interpolation import Interpolation

Lengths = npt.NDArray[np.int64]
Scales = npt.NDArray[np.floating[Any]]
_LARGE = 10**38  # below the largest float32
_REACH = 8
"""How many neighbouring float32 values are tried on each side."""


@lru_cache(maxsize=4096)
def kernel_length(scale: float, size: int) -> int:
    """onnxruntime's output length: int of a float32 product (core/providers/cpu/tensor/upsamplebase.h)."""
    # Beyond float32 the kernel's conversion is undefined; what matters is that nothing is that long.
    return int(np.float32(scale) * np.float32(size)) if _is_finite(scale, size) else inference_length(scale, size)


@lru_cache(maxsize=4096)
def inference_length(scale: float, size: int) -> int:
    """onnx's output length: floor of a float64 product (onnx/defs/tensor/utils.cc, resizeShapeInferenceHelper)."""
    return floor(float(np.float32(scale)) * size)


def _is_finite(scale: float, size: int) -> bool:
    if -_LARGE < scale < _LARGE and -_LARGE < size < _LARGE and -_LARGE < scale * size < _LARGE:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.float32(scale) * np.float32(size)))


def agreed_length(scale: float, size: int | None) -> int | None:
    """The output length where both say the same; None where they do not, or the size is not known."""
    if size is None or not _is_finite(scale, size):
        return None
    length = kernel_length(scale, size)
    return length if length == inference_length(scale, size) else None


def torch_length(scale: float, size: int) -> int:
    """What the exported network's author saw, of the double that became a float32 in the file
    (aten/src/ATen/native/UpSample.h, compute_output_size)."""
    return floor(scale * size)


def every_rule_gives(scale: float, size: int, out: int) -> bool:
    """Whether every runtime makes `size` into `out` with this float32 scale."""
    return all(length(scale, size) == out for length in (kernel_length, inference_length, torch_length))


def first_disagreement(scale: float, sizes: Iterable[int]) -> tuple[int, int, int] | None:
    """The first of `sizes` whose output is one long in onnxruntime's kernel and another in shape inference, with both.

    There an optimised `Shape` of the output is folded to the wrong number. None: they agree at all of `sizes`.
    """
    tried = np.array(tuple(sizes), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        differing = kernel_lengths(scale, tried) != inference_lengths(scale, tried)
    disagreements = (
        (size, kernel_length(scale, size), inference_length(scale, size)) for size in tried[differing].tolist()
    )
    return next((one for one in disagreements if one[1] != one[2]), None)


def kernel_lengths(scale: float | Scales, sizes: Lengths) -> Lengths:
    """`kernel_length` of many sizes, by one scale or a scale for each; the products are below 2⁶³."""
    return np.asarray((np.float32(scale) * sizes.astype(np.float32)).astype(np.int64))


def inference_lengths(scale: float | Scales, sizes: Lengths) -> Lengths:
    """`inference_length` of many sizes, by one scale or a scale for each; the products are below 2⁶³."""
    return np.asarray(np.floor(np.float64(np.float32(scale)) * sizes).astype(np.int64))


@lru_cache(maxsize=4096)
def sampled_scale(size: int, out: int) -> float:
    """The scale that a runtime samples by when it is given sizes: float32(out)/float32(in) (upsamplebase.h,
    `ParseScalesDataAndAdjustOutputSize`; the parsers of TensorRT likewise)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # an axis may have no sample
        return float(np.float32(out) / np.float32(size))


def robust_scale(size: int, out: int) -> float | None:
    """The float32 scale nearest to out/in that makes `size` into `out` under every output-size rule; None: none does.

    For sizes up to 2²² that is the quotient, or one unit in the last place above it.

    Raises:
        ValueError: a size below 1.

    """
    return next((scale for scale in near_scales(size, out) if every_rule_gives(scale, size, out)), None)


def near_scales(size: int, out: int) -> Iterator[float]:
    """The quotient and then its float32 neighbours, the nearer first and, of two equally near, the larger first."""
    if size < 1 or out < 1:
        raise ValueError(f"no scale makes {size} into {out}")
    up = down = np.float32(sampled_scale(size, out))
    yield float(up)
    for _ in range(_REACH):
        up = np.nextafter(up, np.float32(np.inf))
        down = np.nextafter(down, np.float32(0))
        yield float(up)
        yield float(down)


ValueOf = Callable[[str], "Array | None"]

BATCH_AND_CHANNEL = 2  # so many axes, the first as a rule


def corrected(node: NodeProto, opset: int, source: Dims, claimed: Dims, value_of: ValueOf) -> Dims | None:
    """The output's sizes on the axes where the claim is not what the kernel makes; None where it can stand."""
    reading = _reading(node, opset)
    if reading is None or len(source) != len(claimed):
        return None
    axes = _axes(reading.interpolation, len(source))
    if axes is None:
        return None
    true = list(claimed)
    if reading.interpolation.keep_aspect_ratio_policy is not None:
        # onnxruntime leaves out axes that are counted from the end; inference does not
        if min(reading.interpolation.axes or (0,)) >= 0:
            return None
        true = [None if isinstance(size, int) else size for size in claimed]
    scales = _scales(reading, value_of)
    if scales is not None and len(scales) == len(axes):
        for axis, scale in zip(axes, scales, strict=True):
            size = source[axis]
            if isinstance(size, int) and isinstance(claimed[axis], int):
                true[axis] = kernel_length(scale, size)
    return None if tuple(true) == claimed else tuple(true)


def _reading(node: NodeProto, opset: int) -> SiteReading | None:
    """What the node computes."""
    try:
        return read(node, dialect_of(node.op_type, opset))
    except RefusedError:
        return None  # nothing runs it


def _axes(interpolation: Interpolation, rank: int) -> list[int] | None:
    axes = range(rank) if interpolation.axes is None else interpolation.axes
    return [axis % rank for axis in axes] if all(-rank <= axis < rank for axis in axes) else None


def _scales(reading: SiteReading, value_of: ValueOf) -> list[float] | None:
    """Constant scales, each finite and above 0; None where sizes count, or the scales are not known."""
    if reading.operands.scales_attribute is not None:
        return list(reading.operands.scales_attribute)
    value: Array | None = None if reading.operands.scales is None else value_of(reading.operands.scales)
    if value is None or value.dtype != np.float32 or value.ndim != 1 or value.size == 0:
        return None
    scales: list[float] = value.tolist()
    return scales if all(isfinite(scale) and scale > 0 for scale in scales) else None


def kept_axes(node: NodeProto, opset: int, rank: int, value_of: ValueOf) -> Iterable[int]:
    """The axes that a node does not resize: those that it leaves out, and those with a scale of 1."""
    reading = _reading(node, opset)
    axes = None if reading is None else _axes(reading.interpolation, rank)
    if reading is None or axes is None:
        return ()
    scales = _scales(reading, value_of) if reading.operands.sizes is None else None
    resized = set(axes)
    if scales is not None and len(scales) == len(axes):
        resized = {axis for axis, scale in zip(axes, scales, strict=True) if scale != 1}
    return set(range(rank)) - resized


def batch_and_channel(rank: int, scaled: Collection[int]) -> set[int]:
    """Batch and channel axes, which no other extent resizes: the first two, or first and last where the second is
    scaled (NHWC)."""
    if rank <= BATCH_AND_CHANNEL:
        return set()
    channel = 1 if 1 not in scaled else rank - 1
    return {0, channel}.difference(scaled)


# Operators whose first output has the sizes of their first input.
KEEPING = frozenset(
    # activations and other functions of one number
    {"Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "Elu", "Selu", "Celu", "Gelu", "Mish", "Swish", "Sigmoid", "Tanh"}
    | {"HardSigmoid", "HardSwish", "Softplus", "Softsign", "Shrink", "Clip", "Erf", "Exp", "Log", "Sqrt", "Reciprocal"}
    | {"Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Not", "IsNaN", "IsInf", "BitwiseNot"}
    | {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"}
    # normalisations
    | {"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LayerNormalization", "LpNormalization"}
    | {"MeanVarianceNormalization", "RMSNormalization", "LRN", "Softmax", "LogSoftmax", "Hardmax"}
    # other types, other names
    | {"Cast", "CastLike", "Identity", "Dropout", "QuantizeLinear", "DequantizeLinear", "CumSum"}
    # of ONNX before 1.3: onnxruntime still runs them
    | {"ImageScaler", "Affine"}
)
# Elementwise over several inputs, of which each axis of the output has the longest.
BROADCASTING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Sum", "Mean", "Max", "Min", "Where"}
    | {"And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
)


REDUCTIONS = frozenset(
    f"Reduce{name}" for name in ("Max", "Min", "Mean", "Sum", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
)


class Windows(NamedTuple):
    """What attributes say of windows: a number for each spatial axis; of pads those before all, then those behind."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    is_same: bool

    def extent(self, axis: int, length: int) -> int:
        """How many samples a window of so many numbers spans."""
        return self.dilations[axis] * (length - 1) + 1


def windows(attribute: Callable[[str, Any], Any], count: int) -> Windows:
    """The windows of a node with so many spatial axes. What is left out, or is an empty list as torch 1.4 writes the
    strides of a pool, is 1, or no padding."""
    auto_pad = attribute("auto_pad", b"NOTSET")
    pads = None if auto_pad == b"VALID" else attribute("pads", None)
    strides, dilations = (attribute(name, None) or [1] * count for name in ("strides", "dilations"))
    return Windows(strides, dilations, pads or [0] * (2 * count), auto_pad in (b"SAME_UPPER", b"SAME_LOWER"))


def same_padding(size: int, stride: int, extent: int) -> int:
    """How much "SAME" pads on both sides together, so that a window begins at every stride; below 0 where none is
    needed."""
    return (-(-size // stride) - 1) * stride + extent - size
