"""The sizes of the output, as onnxruntime's kernels allocate it; where that is not what onnx.shape_inference says.

Inference takes the float64 product of a float32 scale and a size, the kernels the float32 one: 5 scaled by 1.8 is 8
there and 9 here. Nothing may build on the 8.

What operators do to the lengths of the axes of their input: keep them, take the longest, or slide a window.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import SiteReading, read
from resizefix.dialects.resized_length import kernel_length
from resizefix.document.values import Array, Dims
from resizefix.errors import RefusedError
from resizefix.interpolation import Interpolation

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
    | {"Cast", "CastLike", "Identity", "Dropout", "QuantizeLinear", "DequantizeLinear", "CumSum", "ImageScaler"}
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
