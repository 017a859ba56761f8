"""What operators make of one number, undone: the number of an operand for which a node gives another one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist, StatisticsError
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

_MOST_OF_A_QUANTISATION = 2  # scales and zero points of one node
_ALPHAS = {"Celu": 1.0, "Elu": 1.0, "Selu": 1.67326319217681884765625}
_GAMMA_OF_SELU = 1.05070102214813232421875

# What a Cast keeps: the range of an integer type; the whole numbers up to which a floating-point type has them all;
# the one number that is no truth.
LIMITS_OF_A_TYPE: dict[int, tuple[int, ...]] = {
    TensorProto.INT4: (-(2**3), 2**3 - 1),
    TensorProto.INT8: (-(2**7), 2**7 - 1),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
    TensorProto.UINT4: (0, 2**4 - 1),
    TensorProto.UINT8: (0, 2**8 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
    TensorProto.UINT32: (0, 2**32 - 1),
    TensorProto.FLOAT: (-(2**24), 2**24),
    TensorProto.DOUBLE: (-(2**53), 2**53),
    TensorProto.FLOAT16: (-(2**11), 2**11),
    TensorProto.BFLOAT16: (-(2**8), 2**8),
    TensorProto.BOOL: (0,),
}


class Asked(NamedTuple):
    """A node, with the constants among its operands (None: no constant), their types, and its attributes."""

    node: NodeProto
    constants: list[tuple[float, ...] | None]
    types: list[np.dtype[np.generic] | None]
    attributes: Mapping[str, AttributeProto]

    def number(self, name: str, default: float) -> float:
        """An attribute that is one number."""
        return float(self.attributes[name].f) if name in self.attributes else default

    def operands(self, first: int = 0) -> list[float]:
        """The numbers of all constant operands, from one on."""
        return [number for constant in self.constants[first:] for number in constant or ()]

    def operand(self, at: int) -> tuple[float, ...]:
        """The first numbers of one constant operand, () where there is none."""
        return ((self.constants[at : at + 1] or [None])[0] or ())[:_MOST_OF_A_QUANTISATION]


def held(asked: Asked) -> tuple[int, ...]:
    """The least and the largest number that a node quantises to."""
    dtype = next(iter(asked.types[2:3]), None) or np.dtype(np.uint8)
    return LIMITS_OF_A_TYPE.get(helper.np_dtype_to_tensor_dtype(dtype), ())


def _undo_quantising(asked: Asked, out: float) -> list[float]:
    limits = held(asked)
    if limits and not limits[0] <= out <= limits[1]:
        return []
    return [(out - zero) * scale for scale in asked.operand(1) for zero in asked.operand(2) or (0.0,)]


def _undo_dequantising(asked: Asked, out: float) -> list[float]:
    return [out / scale + zero for scale in asked.operand(1) for zero in asked.operand(2) or (0.0,)]


def _undo_slope(asked: Asked, out: float) -> list[float]:
    return [out if out >= 0 else out / asked.number("alpha", 0.01)]


def _undo_exponential(asked: Asked, out: float) -> list[float]:
    """What Elu, Celu and Selu are made of."""
    alpha, gamma = asked.number("alpha", _ALPHAS[asked.node.op_type]), asked.number("gamma", _GAMMA_OF_SELU)
    out = out / gamma if asked.node.op_type == "Selu" else out
    stretch = alpha if asked.node.op_type == "Celu" else 1.0
    return [out if out >= 0 else stretch * math.log(out / alpha + 1)]


def _undo_shrinking(asked: Asked, out: float) -> list[float]:
    return [out + math.copysign(asked.number("bias", 0.0), out)]


def _undo_hard_sigmoid(asked: Asked, out: float) -> list[float]:
    return [(out - asked.number("beta", 0.5)) / asked.number("alpha", 0.2)]


# For each operator the operand that gives `out`, `c` being the constant beside it; `first`: the operand is the first.
_BESIDE_A_CONSTANT: dict[str, Callable[[float, float, bool], float]] = {
    "Add": lambda out, c, first: out - c,
    "Div": lambda out, c, first: out * c if first else c / out,
    "Mul": lambda out, c, first: out / c,
    "Pow": lambda out, c, first: math.pow(out, 1 / c) if first else math.log(out, c),
    "Sub": lambda out, c, first: out + c if first else c - out,
}
_ALONE: dict[str, Callable[[float], float]] = {
    "Atan": math.tan,
    "Erf": lambda out: NormalDist().inv_cdf((out + 1) / 2) / math.sqrt(2),
    "Exp": math.log,
    "Log": math.exp,
    "Neg": lambda out: -out,
    "Reciprocal": lambda out: 1 / out,
    "Sigmoid": lambda out: math.log(out / (1 - out)),
    "Sin": math.asin,
    "Softplus": lambda out: math.log(math.exp(out) - 1),
    "Softsign": lambda out: out / (1 - abs(out)) if abs(out) < 1 else math.nan,
    "Sqrt": lambda out: out * out,
    "Tanh": math.atanh,
}
# The same of operators with several constants or with attributes.
_BY_SEVERAL: dict[str, Callable[[Asked, float], list[float]]] = {
    "Celu": _undo_exponential,
    "DequantizeLinear": _undo_dequantising,
    "Elu": _undo_exponential,
    "HardSigmoid": _undo_hard_sigmoid,
    "LeakyRelu": _undo_slope,
    "QuantizeLinear": _undo_quantising,
    "Selu": _undo_exponential,
    "Shrink": _undo_shrinking,
}
# What gives the numbers of an operand as they are, in another order, or those within limits.
_COPIES = {
    "Abs", "Cast", "Ceil", "Clip", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Floor",
    "Gather", "GatherElements", "GatherND", "Identity", "Max", "Min", "OptionalGetElement", "Pad", "Relu",
    "Reshape", "Round", "SequenceAt", "Slice", "SpaceToDepth", "Split", "Squeeze", "ThresholdedRelu", "Tile",
    "Transpose", "Unsqueeze", "Where",
}  # fmt: skip
_HAND_ON = frozenset({*_ALONE, *_BY_SEVERAL, *_COPIES})


def is_undone(asked: Asked) -> bool:
    """Whether a number of an operand that is no constant makes that of the node, whatever the others are."""
    if asked.node.op_type in _BESIDE_A_CONSTANT:
        return sum(constant is None for constant in asked.constants) == 1
    return asked.node.op_type in _HAND_ON


def undone(asked: Asked, out: float) -> list[float]:
    """The numbers of the operands for which the node gives `out`; () where it never does. An operator that is not in
    the tables passes numbers on."""
    op_type, constants = asked.node.op_type, asked.constants
    try:
        if op_type in _BESIDE_A_CONSTANT and len(constants) == 2 and is_undone(asked):
            first = constants[0] is None
            return [_BESIDE_A_CONSTANT[op_type](out, c, first) for c in constants[1 if first else 0] or ()]
        if op_type in _BY_SEVERAL and constants[0] is None:
            return _BY_SEVERAL[op_type](asked, out)
        return [_ALONE[op_type](out)] if op_type in _ALONE else [out, -out] if op_type == "Abs" else [out]
    except (ValueError, ZeroDivisionError, OverflowError, StatisticsError):  # it never gives that
        return []
