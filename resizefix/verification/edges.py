"""Values at which a model begins to do something else, as far as its nodes name them: in the units of its inputs.

`Clip(x * 255, 0, 200)` names 0 and 200/255 for `x`. The walk goes from the node back to the inputs and undoes what
operators with a constant operand do; others pass the value on as it is, which still says how large numbers should be.
Where they are no mere copies (`behind`), feeds that give the value are searched for (`crossings.py`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist, StatisticsError
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, DefinitionKind, Scope
from resizefix.document.values import Array
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.operand import value_of_node
from resizefix.shapes.values import Values
from resizefix.verification.upstream import Place, Upstream

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


_MOST_NUMBERS = 64  # of a constant that names values; larger ones are weights
_MOST_OF_ONE = 8  # values of one constant
_MOST_STEPS = 20_000  # of the walk, in all
_MOST_EDGES = 64  # of one input
_MOST_OF_A_TREE = 24  # thresholds of one node
_LARGEST_EXACT = 2**64  # integers beyond are numbers of no type
_LARGEST = 3e38  # exporters write larger numbers for "no limit"


class Edges(NamedTuple):
    """The numbers by input, and all texts that nodes compare with or look up. `behind`: tensors, those of the main
    graph first, with a number for each that follows from no one number of an input."""

    numbers: Mapping[str, tuple[float, ...]]
    texts: tuple[str, ...] = ()
    behind: tuple[tuple[Key, float], ...] = ()


def _clip(asked: Asked) -> list[float]:
    names = [name for name in ("min", "max") if name in asked.attributes]
    return [asked.attributes[name].f for name in names] + asked.operands(1)


def _hard_sigmoid(asked: Asked) -> list[float]:
    alpha, beta = asked.number("alpha", 0.2), asked.number("beta", 0.5)
    return [-beta / alpha, (1 - beta) / alpha] if alpha else []


def _shrink(asked: Asked) -> list[float]:
    return [asked.number("lambd", 0.5), -asked.number("lambd", 0.5)]


def _quantized(asked: Asked) -> list[float]:
    """Where a quantised number is the least, the largest, 0 and the zero point, and half a step beside these, where it
    begins to be so."""
    steps = {step - zero for zero in asked.operand(2) or (0.0,) for step in (0.0, zero, *held(asked))}
    near_steps = sorted(step + half for step in steps for half in (-0.5, 0.0, 0.5))
    return [scale * step for scale in asked.operand(1) for step in near_steps]


def _cast(asked: Asked) -> list[float]:
    to = asked.attributes["to"].i if "to" in asked.attributes else TensorProto.UNDEFINED
    return [float(limit) for limit in LIMITS_OF_A_TYPE.get(to, ())]


def _thresholds(asked: Asked) -> list[float]:
    named = np.unique(np.asarray(asked.attributes["nodes_values"].floats if "nodes_values" in asked.attributes else ()))
    return [float(named[at]) for at in _spread(len(named), _MOST_OF_A_TREE)]


def _others(asked: Asked) -> list[float]:
    return asked.operands()


# What each operator does otherwise below and above. 0 is an edge of every input; it is named where an operator does
# something else at 0 alone, for behind an offset that is another number of the input.
EDGES: dict[str, Callable[[Asked], list[float]]] = {
    "Cast": _cast,
    "Clip": _clip,
    "Equal": _others,
    "Greater": _others,
    "GreaterOrEqual": _others,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda asked: [-3.0, 3.0],
    "Less": _others,
    "LessOrEqual": _others,
    "Max": _others,
    "Min": _others,
    "Mod": _others,
    "DequantizeLinear": lambda asked: [*asked.operand(2)],  # becomes 0
    "QuantizeLinear": _quantized,
    "SequenceAt": lambda asked: [position + 1 if position >= 0 else -position for position in asked.operands(1)],
    "Shrink": _shrink,
    "Sign": lambda asked: [0.0],
    "ThresholdedRelu": lambda asked: [asked.number("alpha", 1.0)],
    "TreeEnsembleClassifier": _thresholds,
    "TreeEnsembleRegressor": _thresholds,
}
_DOMAINS = frozenset({*DEFAULT_DOMAINS, "ai.onnx.ml"})
# Attributes that are a text which the node compares with, or where it splits.
_TEXTS = frozenset({("Constant", "value_string"), ("StringSplit", "delimiter"), ("RegexFullMatch", "pattern")})

_TRUTHS = {"And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not", "Or", "Xor"}
_WITHOUT_VALUES = frozenset({"Shape", "Size", "NonZero", "ArgMax", "ArgMin", "ConstantOfShape", *_TRUTHS})


def edges(document: Document) -> Edges:
    """What the nodes of the model name."""
    walk = _EdgeWalk(document)
    numbers = {name: tuple(sorted(numbers)) for name, numbers in walk.numbers().items()}
    behind = sorted(walk.behind, key=lambda target: target[0][0] != MAIN)
    return Edges(numbers, tuple(walk.texts()), tuple(behind))


class _EdgeWalk:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._upstream = Upstream(document.proto)
        self._computed = Values(document.array, self._upstream.scopes)
        self._constants: dict[Place, Array | None] = {}
        self.behind: dict[tuple[Key, float], None] = {}

    def numbers(self) -> dict[str, set[float]]:
        """The edges of every input. Fills `behind`."""
        by_input: dict[str, set[float]] = {}
        pending = deque((place, value, True) for place, value in self._named())
        seen: set[tuple[Place, float]] = set()
        while pending and len(seen) < _MOST_STEPS:
            place, value, exact = pending.popleft()
            value = value if abs(value) < _LARGEST_EXACT else float(value)
            if (place, value) in seen or not math.isfinite(value):
                continue
            seen.add((place, value))
            step = self._upstream.step(place)
            if step.graph_input is not None and len(by_input.setdefault(step.graph_input, set())) < _MOST_EDGES:
                by_input[step.graph_input].add(value)
            if step.node is None:
                pending += [(source, value, exact) for source in step.sources]
            elif step.node.op_type not in _WITHOUT_VALUES:
                asked = self._asked(step.node, step.sources)
                if exact and not is_undone(asked):
                    exact = False
                    self.behind |= {} if step.definition is None else {(step.definition.key, value): None}
                numbers = undone(asked, value) if step.node.domain in DEFAULT_DOMAINS else []
                read = zip(step.sources, asked.constants, strict=True)
                sources = [source for source, constant in read if constant is None]
                pending += [(source, number, exact) for source in sources for number in numbers]
        return by_input

    def texts(self) -> list[str]:
        """Every text among the constants and attributes of nodes."""
        texts: dict[str, None] = {}
        for scope in self._upstream.scopes.all:
            tensors = list(scope.initializers.values())
            for node in scope.body.node:
                tensors += [attribute.t for attribute in node.attribute if attribute.HasField("t")]
                for attribute in node.attribute:
                    alone = [attribute.s] if attribute.s and (node.op_type, attribute.name) in _TEXTS else []
                    words = [*attribute.strings, *alone]
                    texts.update(dict.fromkeys(word.decode(errors="replace") for word in words))
            for tensor in tensors:
                if tensor.data_type == TensorProto.STRING:
                    texts.update(dict.fromkeys(word.decode(errors="replace") for word in tensor.string_data))
        return list(texts)[:_MOST_EDGES]

    def _named(self) -> Iterator[tuple[Place, float]]:
        """The values that nodes name, each at the operand that it is compared with."""
        for scope in self._upstream.scopes.all:
            for node in scope.body.node:
                rule = EDGES.get(node.op_type) if node.domain in _DOMAINS else None
                if rule is None:
                    continue
                places = [(scope, name) for name in node.input if name]
                asked = self._asked(node, places)
                named = [value for value in rule(asked) if abs(value) < _LARGEST]
                for place, constant in zip(places, asked.constants, strict=True):
                    if constant is None:
                        yield from ((place, value) for value in named)

    def _asked(self, node: NodeProto, places: Sequence[Place]) -> Asked:
        constants = [self._numbers_of(place) for place in places]
        arrays = [self._constants[place] for place in places]
        types = [None if array is None else array.dtype for array in arrays]
        return Asked(node, constants, types, {attribute.name: attribute for attribute in node.attribute})

    def _numbers_of(self, place: Place) -> tuple[float, ...] | None:
        """The numbers of a constant, a few of many; () for one of weights or texts; None for what is no constant."""
        if place not in self._constants:
            self._constants[place] = self._constant(*place)
        array = self._constants[place]
        if array is None:
            return None
        if array.size == 0 or array.size > _MOST_NUMBERS or array.dtype.kind not in "iufbV":
            return ()
        # Integers stay integers: beyond 2^53 a float64 has no odd ones.
        numbers = np.unique(array if array.dtype.kind in "iu" else array.astype(np.float64))
        numbers = numbers[np.isfinite(numbers)]
        return tuple(numbers[_spread(len(numbers), _MOST_OF_ONE)].tolist())

    def _constant(self, scope: Scope, name: str) -> Array | None:
        step = self._upstream.step((scope, name))
        definition = step.definition
        if definition is None:
            return None
        try:
            if definition.kind is DefinitionKind.INITIALIZER and definition.tensor is not None:
                large = math.prod(definition.tensor.dims) > _MOST_NUMBERS
                return np.zeros(0) if large else self._document.array(definition.tensor)
            if step.node is not None and step.node.op_type == "Constant":
                large = any(math.prod(one.t.dims) > _MOST_NUMBERS for one in step.node.attribute if one.HasField("t"))
                return np.zeros(0) if large else value_of_node(step.node, self._document)
            return self._computed.array(scope, name) if step.node is not None else None
        except ResizefixError:  # its numbers cannot be read; the model does not run either
            return np.zeros(0)
        return None


def _spread(count: int, most: int) -> Array:
    """Positions among so many, at most that many of them, from the first to the last."""
    return np.linspace(0, count - 1, min(count, most)).astype(int)
