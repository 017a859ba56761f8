"""A threshold is tried on both sides of it also where no number of an input says where that is."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from onnx_text import document

from resizefix.document.document import Document
from resizefix.runtimes.ort_session import open_session
from resizefix.scope_path import MAIN
from resizefix.verification.edges import edges
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions
from resizefix.verification.verify import verify

WEIGHTS = "float[4,3] w = {0.5, -1, 2, 1.5, 0.25, -2, 1, 1, -0.5, 3, -1, 0.125}, float[4] g = {1, 2, 0.5, -1}"
KERNEL = "float[2,1,2] c = {0.5, -1, 2, 1}"
REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
# What stands between the threshold and the input, none of which hands on a number as it is.
BETWEEN = (
    *(f"t = Reduce{one}<keepdims = {keep}>(x)" for one in REDUCTIONS for keep in (0, 1)),
    "t = MatMul(x, w)",
    "t = Gemm(x, w)",
    "t = Softmax(x)",
    "t = LogSoftmax(x)",
    "t = LayerNormalization(x, g)",
    "t = LpNormalization(x)",
    "t = CumSum(x, one)",
    "t = Mul(x, x)",
    "s = ReduceMax(x) t = Sub(x, s)",
    "s = Unsqueeze(x, one) t = Conv(s, c)",
    "s = Unsqueeze(x, one) t = AveragePool<kernel_shape = [2]>(s)",
    "s = Unsqueeze(x, one) t = InstanceNormalization(s, g1, g1)",
    "a = Unsqueeze(x, ends) t = Resize<mode = 'linear'>(a, , scales)",
    "s = ReduceMean(x) e = Elu(s) t = Mul(e, k2)",
    "s = MatMul(x, w) r = LeakyRelu(s) t = ReduceSum(r)",
    "t = HardSwish(x)",
    "t = Einsum<equation = 'ab,ac->bc'>(x, x)",
)
# What makes of a number that it is beyond the threshold no more than that it is.
THRESHOLDS = (
    "p = Greater(t, k) y = Cast<to = 1>(p)",
    "p = LessOrEqual(t, k) y = Where(p, k2, one_half)",
    "m = Max(t, k) d = Sub(m, k) y = Sign(d)",
    "d = Sub(t, k) y = ThresholdedRelu<alpha = 0.0>(d) z = Sign(y)",
)
TEXT = "(float[2,4] x) => (y) <float k = {%.9g}, float k2 = {2.0}, float one_half = {0.5}, int64[1] one = {1}, "
TEXT += f"int64[2] ends = {{0, 1}}, float[4] scales = {{1, 1, 1.5, 2}}, float[1] g1 = {{2}}, {WEIGHTS}, {KERNEL}>"


def text(between: str, threshold: str, number: float) -> str:
    return TEXT % number + f" {{ {between} {threshold} }}".replace("'", '"')


def values(between: str, feeds: list[np.ndarray]) -> list[np.ndarray]:
    model = document(text(between, "y = Identity(t)", 1.0), 18)
    session = open_session(model, optimized=False)
    return [session.run({"x": one})["y"] for one in feeds]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(BETWEEN), st.sampled_from(THRESHOLDS), st.sampled_from([0.02, 0.3]))
def test_a_threshold_behind_what_hands_on_no_number_is_told_from_one_that_is_a_little_further(
    seed, between, threshold, part
):
    rng = np.random.default_rng(seed)
    feeds = [(rng.standard_normal((2, 4)) * scale).astype(np.float32) for scale in (0.5, 2, 2)]
    usual = [one.ravel() for one in values(between, feeds)]
    number, spread = float(usual[0][0]), float(np.nanmax(usual[1:]) - np.nanmin(usual[1:]))
    assume(math.isfinite(number) and math.isfinite(spread) and abs(number) > 1e-3 and spread > 1e-3)
    before, after = (
        document(text(between, threshold, one), 18) for one in (number, number - math.copysign(part * number, number))
    )
    conditions, feeding = Conditions(seed=seed % 1000), Feeding(runs=None)
    assert not verify(before, after, conditions, feeding=feeding).passed
    assert verify(before, before, conditions, feeding=feeding).passed


# What may hold the nodes: none of these shows their tensors outside.
HOLDING = {
    "a branch": """y = If(c) <then_branch = b () => (o) { %s },
        else_branch = e () => (f) { f = Constant<value_float = 2.0>() }>""",
    "a branch in a loop": """carried, y = Loop(m, c, one) <body = b (int64 i, bool go, int64[1] s) => (go2, s2, o) {
        go2 = Identity(go) s2 = Identity(s)
        o = If(go) <then_branch = t () => (o1) { %s o1 = Identity(o) },
            else_branch = e () => (f) { f = Constant<value_float = 2.0>() }> }>""",
    "the second turn of a loop": """carried, y = Loop(m, c, x) <body = b (int64 i, bool go, float[2,4] x) =>
        (go2, s2, o) { go2 = Identity(go) s2 = Neg(x) %s }>""",
    "a scan": """i = Unsqueeze(x, zero)
        y = Scan<num_scan_inputs = 1, body = b (float[2,4] x) => (o) { %s }>(i)""",
    "a function": """y = f.g(x) } <domain: "f", opset_import: ["" : 18]> g (x) => (o) { %s""",
}
SUMS = (
    "t = ReduceSumSquare<keepdims = 0>(x)",
    "q = Mul(x, x) t = ReduceMean<keepdims = 0>(q)",
    "n = Softmax(x) t = ReduceMax<keepdims = 0>(n)",
    "t = ReduceLogSumExp<keepdims = 0>(x)",
)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(sorted(HOLDING)), st.sampled_from(SUMS))
@example(8768525, "a function", SUMS[2])  # the nearest feed beyond the threshold is of numbers near 1e38
def test_a_threshold_in_a_body_is_told_from_one_that_is_a_little_further(seed, holding, between):
    x = np.random.default_rng(seed).standard_normal((2, 4)).astype(np.float32) * 2
    number = float(values(between, [x])[0])
    assume(abs(number) > 1e-3)

    def held(threshold: float) -> Document:
        nodes = f"{between} k = Constant<value_float = {threshold:.9g}>() p = Greater(t, k) o = Cast<to = 1>(p)"
        text = "(float[2,4] x) => (y) <bool c = {1}, int64 m = {2}, int64[1] zero = {0}, int64[1] one = {1}> { %s }"
        return document(text % HOLDING[holding] % nodes, 18, "f")

    before, after = held(number), held(number - math.copysign(0.02 * number, number))
    assert any(path != MAIN for (path, _), _ in edges(before).behind)
    conditions, feeding = Conditions(seed=seed % 1000), Feeding(runs=None)
    assert not verify(before, after, conditions, feeding=feeding).passed
    assert verify(before, before, conditions, feeding=feeding).passed


@pytest.mark.parametrize("between", BETWEEN)
def test_the_tensor_in_front_of_the_first_node_that_hands_on_no_number_is_searched(between):
    assert edges(document(text(between, THRESHOLDS[0], 0.25), 18)).behind


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 999), st.integers(-(2**40), 2**40), st.integers(2, 16))
def test_two_thresholds_behind_a_sum_of_integers_are_told_apart_however_near_they_are(seed, number, count):
    sums = "(int64[%d] x) => (y) <int64 k = {%d}> { t = ReduceSum<keepdims = 0>(x) y = Greater(t, k) }"
    before, after = (document(sums % (count, threshold), 18) for threshold in (number, number + 1))
    assert not verify(before, after, Conditions(seed=seed), feeding=Feeding(runs=None)).passed
