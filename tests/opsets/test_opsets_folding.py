from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from opset_pair import assert_same, lowered, model_of, normal, operators, run, same_bits

from resizefix.opsets.evaluation import RULES, NotFoldable
from resizefix.opsets.folding import fold
from resizefix.opsets.prune import Unread

CONSTANTS = """<float[2,3] a = {0.5, -0.0, -2.5, 1.5, 3, -1e30}, float[2,3] b = {2, -3, 0.1, 7, -0.3, 1e30},
    int64[3] i = {7, -7, 0}, int64[3] j = {2, 2, -3}, int64 k = {1}, int64[1] s = {-1}, int64[1] e = {1},
    int64[2] shape = {3, 2}, int64[2] zero = {0, -1}, int64[2] twice = {2, 1}, int64[2] parts = {1, 2},
    bool[3] c = {1, 0, 1}, int64 low = {9}, int64 high = {-1}, int64 step = {-4},
    int64[1] far = {-9223372036854775807}, float[2] b1 = {2.9, -2.9}, int64[1] first = {0}, int64[1] k1 = {0},
    int64[2] shape_3_3 = {3, 3}>"""
# operator: the opset and the rest of the call
CALLS: dict[str, list[tuple[int, str]]] = {
    "Identity": [(13, "(a)")],
    "Cast": [(13, f"<to={kind}>({value})") for kind, value in ((7, "b1"), (1, "i"), (10, "b1"), (9, "a"), (11, "a"))],
    "Gather": [(13, "<axis=1>(a, k)"), (13, "(a, s)")],
    "Concat": [(13, "<axis=-1>(a, b)"), (13, "<axis=0>(i, j, s)")],
    "Unsqueeze": [(11, "<axes=[0,-1]>(a)"), (13, "(a, zero)")],
    "Squeeze": [(11, "<axes=[0]>(s)"), (13, "(s)"), (13, "(s, first)")],
    "Slice": [(13, "(a, s, far, e, s)"), (13, "(a, k1, e, e)"), (9, "<starts=[-2], ends=[9], axes=[1]>(a)")],
    "Reshape": [(13, "(a, shape)"), (13, "(a, zero)")],
    "Transpose": [(13, "(a)"), (13, "<perm=[1,0]>(a)")],
    "Split": [(13, "<axis=1>(a, parts)"), (11, "<axis=1, split=[1,2]>(a)")],
    "Expand": [(13, "(j, shape_3_3)"), (13, "(k, shape)")],
    "Tile": [(13, "(a, twice)")],
    "ConstantOfShape": [(9, "(shape)"), (9, "<value = int64[1] {5}>(shape)")],
    "Range": [(11, "(low, high, step)")],
    "Add": [(14, "(a, b)"), (14, "(i, j)")],
    "Sub": [(14, "(a, b)"), (14, "(i, j)")],
    "Mul": [(14, "(a, b)"), (14, "(i, j)")],
    "Div": [(14, "(a, b)"), (14, "(i, j)"), (14, "(j, j)")],
    "Mod": [(13, "(i, j)"), (13, "<fmod=1>(i, j)")],
    "Neg": [(13, "(a)"), (13, "(i)")],
    "Abs": [(13, "(a)"), (13, "(i)")],
    "Floor": [(13, "(a)")],
    "Ceil": [(13, "(a)")],
    "Equal": [(13, "(i, j)"), (13, "(a, a)")],
    "Less": [(13, "(i, j)"), (13, "(a, b)")],
    "LessOrEqual": [(16, "(i, j)")],
    "Greater": [(13, "(i, j)")],
    "GreaterOrEqual": [(16, "(i, j)")],
    "Not": [(13, "(c)")],
    "And": [(13, "(c, c)")],
    "Or": [(13, "(c, c)")],
    "Where": [(16, "(c, i, j)"), (16, "(c, a, b)")],
    "Min": [(13, "(i, j)"), (13, "(a, b)")],
    "Max": [(13, "(i, j)"), (13, "(a, b)")],
    "ReduceProd": [(18, "(i)"), (13, "<axes=[0], keepdims=0>(i)")],
    "ReduceSum": [(13, "(i)"), (13, "<keepdims=0>(i, first)"), (13, "<noop_with_empty_axes=1>(i)")],
    "ReduceMin": [(18, "(i)")],
    "ReduceMax": [(18, "<keepdims=0>(i, first)")],
}


def test_every_rule_is_run_here() -> None:
    assert set(CALLS) == set(RULES)


@pytest.mark.parametrize(("op_type", "opset", "call"), [(op, *row) for op, rows in CALLS.items() for row in rows])
def test_a_rule_gives_the_bits_of_onnxruntime(op_type: str, opset: int, call: str) -> None:
    outputs = "y, z" if op_type == "Split" else "y"
    model = model_of(
        opset, f"g (float x) => (int64 unused) {CONSTANTS} {{ {outputs} = {op_type}{call} unused = Shape(x) }}"
    )
    del model.graph.output[:]
    for name in outputs.split(", "):
        model.graph.output.add().name = name
    expected = run(model, {"x": np.zeros((), np.float32)})
    knowledge, steps = fold(model, numpy_helper.to_array, Unread(model))
    if op_type != "Identity":  # an output that is a constant is an Identity of it
        assert [step.op_type for step in steps if step.op_type != "Shape"] == [op_type]
    found = [
        knowledge.constant(knowledge.scopes.main, node.input[0])
        for node in model.graph.node
        if node.op_type == "Identity"
    ]
    assert all(same_bits(one, other) for one, other in zip(expected, found, strict=True)), (expected, found)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3),
    st.lists(st.integers(-50, 50).filter(bool), min_size=3, max_size=3),
    st.sampled_from(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Less", "Equal"]),
)
def test_integer_arithmetic_is_that_of_onnxruntime(left: list[int], right: list[int], op_type: str) -> None:
    kind = "bool" if op_type in ("Less", "Equal") else "int64"
    model = model_of(14, f"g (int64[3] a, int64[3] b) => ({kind}[3] y) {{ y = {op_type}(a, b) }}")
    a, b = np.array(left), np.array(right)
    if op_type in ("Min", "Max"):
        a = a % 2**31  # of larger numbers onnxruntime gives the wrong one
    assert same_bits(run(model, {"a": a, "b": b})[0], RULES[op_type]({}, [a, b]))


@pytest.mark.parametrize("op_type", ["Min", "Max"])
def test_the_smaller_of_two_numbers_beyond_32_bits_is_not_said(op_type: str) -> None:
    with pytest.raises(NotFoldable):
        RULES[op_type]({}, [np.array([-(2**31) - 1]), np.array([-1])])


@settings(max_examples=80, deadline=None)
@given(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 2, -1, -2, -3]), st.integers(1, 5))
def test_a_slice_selects_what_onnxruntime_selects(start: int, end: int, step: int, size: int) -> None:
    inputs = ", ".join(f"int64[1] {name}" for name in "seat")
    model = model_of(13, f"g (int64[{size}] x, {inputs}) => (int64[N] y) {{ y = Slice(x, s, e, a, t) }}")
    x, s, e, a, t = np.arange(size), np.array([start]), np.array([end]), np.array([0]), np.array([step])
    assert same_bits(run(model, {"x": x, "s": s, "e": e, "a": a, "t": t})[0], RULES["Slice"]({}, [x, s, e, a, t]))


@pytest.mark.parametrize(
    "call",
    [
        "Div(i, zero)",
        "Mod(i, zero)",
        "Cast<to=7>(wide)",
        "Cast<to=2>(wide)",
        "Max(wide, wide)",
        "ReduceSum(wide)",
        "Exp(wide)",
    ],
)
def test_what_the_runtime_decides_is_not_folded(call: str) -> None:
    graph = f"""g (float x) => (float y) <int64[1] i = {{1}}, int64[1] zero = {{0}}, float[2] wide = {{nan, 1e30}}>
        {{ d = {call} y = Relu(x) }}"""
    model = model_of(13, graph)
    _, steps = fold(model, numpy_helper.to_array, Unread(model))
    assert not steps


def test_a_default_that_may_be_overridden_is_not_folded() -> None:
    graph = (
        "g (float[2] x, int64[2] s) => (float[1,2] y) <int64[2] s = {1,2}> { t = Neg(s) u = Neg(t) y = Reshape(x, u) }"
    )
    model, feeds = model_of(13, graph), {"x": normal(2), "s": np.array([2, 1])}
    after, _ = lowered(model)
    assert operators(after) == ["Neg", "Neg", "Reshape"]
    assert same_bits(run(model, feeds)[0], run(after, feeds)[0])


def test_a_chain_from_a_fixed_shape_is_folded_though_one_shape_waits_for_another() -> None:
    graph = """g (float[2,3,4] x) => (float[8,3] y) <int64 two = {2}, int64[1] three = {3}, int64[1] ax = {0}>
        { s = Shape(x) h = Gather(s, two) d = Mul(h, two) u = Unsqueeze(d, ax) t = Concat<axis=0>(u, three)
          r = Reshape(x, t) n = Shape(r) y = Reshape(r, n) }"""
    after, result = lowered(model_of(13, graph))
    assert operators(after) == ["Reshape", "Reshape"]
    assert len(result.steps) == 6
    assert {tensor.name for tensor in after.graph.initializer} == {"t", "n"}


def test_a_large_constant_is_left_on_disk() -> None:
    graph = "g (float[1] x) => (float[A] y) <int64[1] n = {100000}> { w = ConstantOfShape(n) y = Add(x, w) }"
    after = assert_same(model_of(13, graph), {"x": normal(1)})
    assert operators(after) == ["Expand", "Add"]


@pytest.mark.parametrize(
    "call",
    [
        "ConstantOfShape(huge)",
        "Expand(one, huge)",
        "Tile(square, huge)",
        "Range(low, high, one0)",
        "Add(column, row)",
        "Max(column, row)",
        "Div(column, row)",
        "Where(yes, column, row)",
        "Gather(wide, many)",
    ],
)
def test_a_result_that_no_machine_holds_is_not_even_begun(call: str) -> None:
    model = model_of(16, f"g (float x) => (float y) {{ d = {call} y = Relu(x) }}")
    constants = {
        "huge": np.array([2**20, 2**20]),
        "one": np.array(1.0, np.float32),
        "square": np.ones((1, 1), np.float32),
        "low": np.array(0),
        "high": np.array(2**40),
        "one0": np.array(1),
        "column": np.ones((2**16, 1), np.int64),
        "row": np.ones((1, 2**16), np.int64),
        "yes": np.array(True),
        "wide": np.ones((256, 256), np.float32),
        "many": np.zeros((2**16, 1), np.int64),
    }
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    _, steps = fold(model, numpy_helper.to_array, Unread(model))
    assert not steps
