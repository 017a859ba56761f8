"""What operators do to the lengths of the axes of their input: keep them, take the longest, or slide a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from resizefix.document.values import Dims

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


class Window(NamedTuple):
    """How a window changes a size: (size + before) // stride + after, in the fewest steps."""

    before: int
    stride: int
    after: int


def window(attribute: Callable[[str, Any], Any], lengths: Dims | None, spatial: int) -> Window | None:
    """floor((size + pads - extent) / stride) + 1 (ONNX's Conv and MaxPool) on a spatial axis, written as short as it
    can be; None where the node does not say it. `lengths` are those of the window on all spatial axes."""
    length = lengths[spatial] if lengths is not None and spatial < len(lengths) else None
    if lengths is None or not isinstance(length, int):
        return None
    count = len(lengths)
    strides, dilations = (attribute(name, [1] * count) for name in ("strides", "dilations"))
    if not len(strides) == len(dilations) == count or strides[spatial] < 1:
        return None
    stride, extent = strides[spatial], dilations[spatial] * (length - 1) + 1
    auto_pad = attribute("auto_pad", b"NOTSET")
    if auto_pad in (b"SAME_UPPER", b"SAME_LOWER"):
        return Window(stride - 1, stride, 0)
    pads = [0] * (2 * count) if auto_pad == b"VALID" else attribute("pads", [0] * (2 * count))
    if len(pads) != 2 * count:
        return None
    change = pads[spatial] + pads[spatial + count] - extent
    return Window(change + 1, 1, 0) if stride == 1 else Window(change, stride, 1)
