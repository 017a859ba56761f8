"""Nodes with operands that are drawn at random, edge cases among them: a strategy for each row of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[st.SearchStrategy[Any]], Any]
INTEGERS = ("int64", "int32", "uint8", "int8")
FLOATS = ("float32", "float64", "float16")
SPECIAL = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, -0.3, 1.8, 3.0, -7.9, 255.0, 256.0, 65504.0, 2.0**31, -(2.0**31)]
SPECIAL += [2.0**63, 1e30]
ODD = [float("inf"), float("-inf"), float("nan"), 1e-42]
POSITIONS = st.one_of(st.integers(-7, 7), st.sampled_from([2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**31, 2**40]))


@dataclass
class Drawn:
    """A node of one operator: its operands, None for one that is left out."""

    operator: str
    operands: list[Array | None]
    opset: int = 17
    outputs: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def node(self) -> Any:
        names = ["" if operand is None else f"i{at}" for at, operand in enumerate(self.operands)]
        return helper.make_node(self.operator, names, [f"o{at}" for at in range(self.outputs)], **self.attributes)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def array(draw: Draw, dtype: str, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind == "b":
        numbers = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    elif kind == "f":
        numbers = draw(st.lists(st.sampled_from(SPECIAL + ODD), min_size=count, max_size=count))
    else:
        limits = np.iinfo(dtype)
        edges = [limits.min, limits.min + 1, limits.max, 2**31, -(2**31) - 1, -1, 0, 1]
        within = st.sampled_from([edge for edge in edges if limits.min <= edge <= limits.max])
        numbers = draw(st.lists(st.integers(max(limits.min, -9), 9) | within, min_size=count, max_size=count))
    with np.errstate(all="ignore"):
        return np.array(numbers, np.float64 if kind == "f" else dtype).reshape(shape).astype(dtype)


SHAPES = st.sampled_from([(), (1,), (3,), (2, 3), (1, 3), (2, 1), (0,), (2, 0), (3, 1, 2)])


def broadcast(count: int | None, *dtypes: str, result: str | None = None) -> Callable[[Draw, str], Drawn]:
    def drawn(draw: Draw, operator: str) -> Drawn:
        dtype = draw(st.sampled_from(dtypes))
        number = draw(st.integers(1, 3)) if count is None else count
        shapes = [draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1), (0,)])) for _ in range(number)]
        return Drawn(operator, [array(draw, dtype, shape) for shape in shapes])

    return drawn


def chosen(draw: Draw, operator: str) -> Drawn:
    dtype = draw(st.sampled_from(("int64", "float32")))
    return Drawn(operator, [array(draw, "bool", (3,)), array(draw, dtype, (3,)), array(draw, dtype, (1,))])


def moved(draw: Draw) -> Array:
    return array(draw, draw(st.sampled_from(("int64", "float32", "bool"))), draw(SHAPES))


def listed(draw: Draw, data: Array, attribute: str, numbers: list[int], since: int, operator: str) -> Drawn:
    """Integers by attribute in older versions, by input in newer ones."""
    if draw(st.booleans()):
        return Drawn(operator, [data], since - 1, attributes={attribute: numbers})
    return Drawn(operator, [data, ints(*numbers)])


def _concat(draw: Draw, operator: str) -> Drawn:
    shape = draw(SHAPES)
    dtype = draw(st.sampled_from(("int64", "float32")))
    shapes = st.lists(st.sampled_from([shape, (2, *shape[1:])]), max_size=2)
    others = [array(draw, dtype, other) for other in draw(shapes)]
    axis = draw(st.integers(-len(shape) - 1, len(shape)))
    return Drawn(operator, [array(draw, dtype, shape), *others], attributes={"axis": axis})


def _gather(draw: Draw, operator: str) -> Drawn:
    data = moved(draw)
    shape = draw(st.sampled_from([(), (1,), (2,), (1, 2), (0,)]))
    count = int(np.prod(shape))
    indices = np.array(draw(st.lists(st.integers(-4, 3), min_size=count, max_size=count)), np.int64).reshape(shape)
    return Drawn(operator, [data, indices], attributes={"axis": draw(st.integers(-3, 2))})


def _slice(draw: Draw, operator: str) -> Drawn:
    data = array(draw, "int64", draw(st.sampled_from([(4,), (2, 3), (0,), (1,)])))
    count = draw(st.integers(1, data.ndim))
    starts, ends = ([draw(POSITIONS) for _ in range(count)] for _ in range(2))
    axes = draw(st.sampled_from([None, list(range(count)), [-1, 0][:count], [0] * count]))
    if draw(st.integers(0, 3)) == 0:
        attributes = {"starts": starts, "ends": ends} | ({} if axes is None else {"axes": axes})
        return Drawn(operator, [data], 9, attributes=attributes)
    step = st.sampled_from([1, 2, -1, -2, -3, 2**40, -(2**40)])
    steps = draw(st.none() | st.lists(step, min_size=count, max_size=count))
    operands = [data, ints(*starts), ints(*ends), None if axes is None else ints(*axes)]
    return Drawn(operator, operands if steps is None else [*operands, ints(*steps)])


def _axes(draw: Draw, operator: str) -> Drawn:
    data = moved(draw)
    if operator == "Squeeze" and draw(st.booleans()):
        return Drawn(operator, [data])
    numbers = draw(st.lists(st.integers(-3, 2), min_size=1, max_size=2, unique=True))
    return listed(draw, data, "axes", numbers, 13, operator)


def _reshape(draw: Draw, operator: str) -> Drawn:
    data = moved(draw)
    wanted = draw(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 6]), min_size=0, max_size=3))
    return Drawn(operator, [data, ints(*wanted)], attributes=draw(st.sampled_from([{}, {"allowzero": 1}])))


def _flatten(draw: Draw, operator: str) -> Drawn:
    return Drawn(operator, [moved(draw)], attributes={"axis": draw(st.integers(-3, 3))})


def _transpose(draw: Draw, operator: str) -> Drawn:
    data = moved(draw)
    perm = draw(st.none() | st.permutations(range(data.ndim)))
    return Drawn(operator, [data], attributes={} if not perm else {"perm": list(perm)})


def _split(draw: Draw, operator: str) -> Drawn:
    data, axis = array(draw, "int64", draw(st.sampled_from([(4,), (2, 3), (3, 4)]))), draw(st.integers(-1, 1))
    outputs = draw(st.integers(1, 4))
    size = data.shape[axis] if -data.ndim <= axis < data.ndim else 1
    lengths = draw(st.none() | st.just([size - outputs + 1] + [1] * (outputs - 1)) | st.just([1] * outputs))
    if lengths is None:
        opset = draw(st.sampled_from([11, 13, 18]))
        given = {"num_outputs": outputs} if opset == 18 else {}
        return Drawn(operator, [data], opset, outputs, {"axis": axis, **given})
    found = listed(draw, data, "split", lengths, 13, operator)
    found.attributes["axis"], found.outputs = axis, outputs
    return found


def _sized(draw: Draw, operator: str) -> Drawn:
    data = moved(draw)
    least = data.ndim if operator == "Tile" else 0
    most = data.ndim if operator == "Tile" else 3
    numbers = draw(st.lists(st.integers(0, 3), min_size=least, max_size=most))
    return Drawn(operator, [data, ints(*numbers)])


def _constant_of_shape(draw: Draw, operator: str) -> Drawn:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    value = draw(st.none() | st.sampled_from([ints(7), np.array([True]), np.array([-0.0], np.float32)]))
    attributes = {} if value is None else {"value": numpy_helper.from_array(value)}
    return Drawn(operator, [ints(*shape)], attributes=attributes)


def _range(draw: Draw, operator: str) -> Drawn:
    dtype = draw(st.sampled_from(("int64", "int32", "float32", "float64")))
    steps, least = ([1, 2, -1, -4, 0], st.integers(-9, 9))
    if dtype.startswith("float"):
        steps, least = [0.1, 1.0, 1 / 3, -0.7, 2.5], st.floats(-9, 9, width=32)
    bounds = [draw(least) for _ in range(2)] + [draw(st.sampled_from(steps))]
    return Drawn(operator, [np.array(bound, dtype) for bound in bounds])


def _cast(draw: Draw, operator: str) -> Drawn:
    names = (*INTEGERS, *FLOATS, "bool", "uint16", "uint64", "int16", "uint32")
    data = array(draw, draw(st.sampled_from(names)), draw(SHAPES))
    wanted = draw(st.sampled_from(names))
    if operator == "CastLike":
        return Drawn(operator, [data, np.zeros(1, wanted)])
    return Drawn(operator, [data], attributes={"to": helper.np_dtype_to_tensor_dtype(np.dtype(wanted))})


def _clip(draw: Draw, operator: str) -> Drawn:
    if draw(st.booleans()):
        bounds = {"min": draw(st.sampled_from([-1.0, 0.0])), "max": draw(st.sampled_from([0.5, -2.0]))}
        return Drawn(operator, [array(draw, "float32", (3,))], 10, attributes=bounds)
    dtype = draw(st.sampled_from(("int64", "float32", "int32")))
    low, high = (draw(st.none() | st.just(array(draw, dtype, ()))) for _ in range(2))
    return Drawn(operator, [array(draw, dtype, (3,)), low, high])


def _reduction(draw: Draw, operator: str) -> Drawn:
    data = array(draw, draw(st.sampled_from(("int64", "int32", "float32"))), draw(SHAPES))
    kept = {"keepdims": draw(st.integers(0, 1))}
    axes = draw(st.none() | st.lists(st.integers(-2, 1), min_size=0, max_size=2, unique=True))
    if axes is None or (not axes and operator != "ReduceSum"):
        return Drawn(operator, [data], attributes=kept)
    if operator == "ReduceSum":
        return Drawn(operator, [data, ints(*axes)], attributes=kept | {"noop_with_empty_axes": draw(st.integers(0, 1))})
    return Drawn(operator, [data], attributes=kept | {"axes": axes})


def _identity(draw: Draw, operator: str) -> Drawn:
    return Drawn(operator, [moved(draw)])


def _modulo(draw: Draw, operator: str) -> Drawn:
    found = broadcast(2, *INTEGERS, "float32")(draw, operator)
    found.attributes = draw(st.sampled_from([{}, {"fmod": 1}]))
    return found


ARITHMETIC = broadcast(2, "int64", "int32", "float32", "float64")
CALLS: dict[str, Callable[[Draw, str], Drawn]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), ARITHMETIC),
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), ARITHMETIC),
    **dict.fromkeys(("Min", "Max"), broadcast(None, "int64", "int32", "float32")),
    **dict.fromkeys(("Neg", "Abs"), broadcast(1, "int64", "int32", "float32", "float64")),
    **dict.fromkeys(("Floor", "Ceil", "Round", "Sqrt", "Reciprocal"), broadcast(1, "float32", "float64")),
    **dict.fromkeys(("And", "Or"), broadcast(2, "bool")),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"), _reduction),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), _axes),
    **dict.fromkeys(("Expand", "Tile"), _sized),
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    "Not": broadcast(1, "bool"),
    "Mod": _modulo,
    "Pow": broadcast(2, "int64", "float32"),
    "Where": chosen,
    "Identity": _identity,
    "Concat": _concat,
    "Gather": _gather,
    "Slice": _slice,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Split": _split,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Clip": _clip,
}
