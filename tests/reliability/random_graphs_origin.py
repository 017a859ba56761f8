"""Where a drawn node's scales or sizes come from: every origin that `inspect` tells apart, in several spellings."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from random_graphs_body import Body
from random_graphs_spelling import Spelling

Writer = Callable[[Body, Spelling, str, "np.ndarray"], str]


@dataclass(frozen=True)
class Way:
    """One spelling of an origin. `kind` is the word `inspect` has for it; `write` adds what makes the operand.

    `kinds`: of scales, sizes or both. `main`: only in the main graph, for it needs a graph input.
    `floating`: only where X is floating-point data; `full`: only where the node names no axes; `local`: where a
    function can write it too. `reach` says, for the wanted values and X's sizes, which constants the writer gets and
    which values come out.
    """

    name: str
    kind: str
    write: Writer
    kinds: tuple[str, ...] = ("scales", "sizes")
    weight: int = 1
    main: bool = False
    floating: bool = False
    full: bool = False
    local: bool = True
    reach: Callable[[tuple[float, ...], tuple[int, ...]], tuple[np.ndarray, tuple[float, ...]]] | None = None

    def constants(self, spelling: Spelling, dims: tuple[int, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
        """What the writer gets, and the values of the operand that it makes of it."""
        if self.reach is not None:
            return self.reach(spelling.values, dims)
        value = np.array(spelling.values, np.float32 if spelling.kind == "scales" else np.int64)
        return value, tuple(value.tolist())


def _initializer(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    return body.initializer(value, spelling.kind)


def _constant_node(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    return body.constant_node(value, spelling.kind)


def _through_identity(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    return body.node("Identity", [body.constant(value)], spelling.kind)


def _concat_of_constants(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    if len(value) < 2:
        return body.node("Concat", [body.constant(value)], spelling.kind, axis=0)
    half = len(value) // 2
    return body.node("Concat", [body.constant(value[:half]), body.constant(value[half:])], spelling.kind, axis=0)


def _cast_of_constant(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    other = np.float64 if spelling.kind == "scales" else np.int32
    to = 1 if spelling.kind == "scales" else 7
    return body.node("Cast", [body.constant(value.astype(other))], spelling.kind, to=to)


def _shape_times(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    """sizes = Shape(x) · whole factors: as an exporter writes them. Called with the sizes it shall make."""
    shape = body.node("Shape", [x], "shape")
    return body.node("Mul", [shape, body.constant(value)], "sizes")


def _floor_of_shape(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    shape = body.node("Cast", [body.node("Shape", [x], "shape")], "dims", to=1)
    product = body.node("Mul", [shape, body.constant(value)], "product")
    return body.node("Cast", [body.node("Floor", [product], "floored")], "sizes", to=7)


def _concat_of_shape_and_constant(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    shape = body.node("Shape", [x], "shape")
    kept = body.node(
        "Gather", [shape, body.constant(np.arange(max(1, len(value) - 2), dtype=np.int64))], "kept", axis=0
    )
    rest = value[max(1, len(value) - 2) :]
    return body.node("Concat", [kept, body.constant(rest)], "sizes", axis=0) if len(rest) else kept


def _quotient_of_sizes(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    """scales = wanted size / Cast(Shape(x)): torch's opset 9 and 10."""
    shape = body.node("Cast", [body.node("Shape", [x], "shape")], "dims", to=1)
    return body.node("Div", [body.constant(value), shape], "scales")


def _graph_input(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    return body.source.input(f"{spelling.kind}_in", value)


def _defaulted_input(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    return body.source.input(f"{spelling.kind}_in", value, default=body.source.ir_version >= 4)


def _part_of_input(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    if len(value) < 2:
        return _graph_input(body, spelling, x, value)
    rest = body.source.input("part_in", value[1:])
    return body.node("Concat", [body.constant(value[:1]), rest], spelling.kind, axis=0)


def _moved_by_data(body: Body, spelling: Spelling, x: str, value: np.ndarray) -> str:
    """Constant in what it computes, run-time data in how: value + 0 · max(x)."""
    top = body.node(
        "Cast", [body.node("ReduceMax", [x], "top", keepdims=0)], "top", to=1 if value.dtype.kind == "f" else 7
    )
    nothing = body.node("Mul", [top, body.constant(np.zeros((), value.dtype))], "nothing")
    return body.node("Add", [body.constant(value), nothing], spelling.kind)


def _whole_factors(values: tuple[float, ...], dims: tuple[int, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
    factors = [max(1, round(value / size)) for value, size in zip(values, dims, strict=True)]
    return np.array(factors, np.int64), tuple(size * factor for size, factor in zip(dims, factors, strict=True))


def _fractions(values: tuple[float, ...], dims: tuple[int, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
    factors = np.array([value / size for value, size in zip(values, dims, strict=True)], np.float32)
    made = np.floor(np.array(dims, np.float32) * factors).astype(np.int64)
    return factors, tuple(made.tolist())


def _first_kept(values: tuple[float, ...], dims: tuple[int, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
    kept = max(1, len(values) - 2)
    made = (*dims[:kept], *values[kept:])
    return np.array(made, np.int64), made


def _quotients(values: tuple[float, ...], dims: tuple[int, ...]) -> tuple[np.ndarray, tuple[float, ...]]:
    wanted = np.array([max(1, int(size * value)) for value, size in zip(values, dims, strict=True)], np.float32)
    return wanted, tuple((wanted / np.array(dims, np.float32)).tolist())


WAYS = (
    Way("initializer", "initializer", _initializer, weight=5, local=False),
    Way("Constant", "constant", _constant_node, weight=4),
    Way("Constant→Identity", "constant", _through_identity),
    Way("Concat of constants", "computed", _concat_of_constants),
    Way("Cast of a constant", "computed", _cast_of_constant),
    Way("Shape·k", "computed", _shape_times, ("sizes",), 2, full=True, reach=_whole_factors),
    Way("Floor(Shape·f)", "computed", _floor_of_shape, ("sizes",), 2, full=True, reach=_fractions),
    Way(
        "Concat(Shape, constant)",
        "computed",
        _concat_of_shape_and_constant,
        ("sizes",),
        2,
        full=True,
        reach=_first_kept,
    ),
    Way("size/Shape", "computed", _quotient_of_sizes, ("scales",), 2, full=True, reach=_quotients),
    Way("input", "graph-input", _graph_input, main=True),
    Way("input with default", "graph-input", _defaulted_input, main=True),
    Way("part of an input", "graph-input", _part_of_input, main=True),
    Way("data", "runtime", _moved_by_data, floating=True),
)
ATTRIBUTE = Way("attribute", "attribute", _initializer)
SHARED = Way("shared constant", "initializer", _initializer)
