"""What operators do to the lengths of the axes of their input: keep them, take the longest, or slide a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
