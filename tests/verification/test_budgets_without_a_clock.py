"""What a proof tries, and what it says that it cost, does not depend on how fast the machine is."""

from types import SimpleNamespace

import numpy as np
import onnx_text
import pytest

import resizefix
from resizefix.runtimes.ort_session import open_session
from resizefix.verification import pair
from resizefix.verification.arms import watched_copy
from resizefix.verification.engine import Watched

NETWORK = """(float[1,3,16,16] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> {
    a = Resize<mode = "nearest">(x, , s) b = Relu(a) c = Resize<mode = "linear">(b, , s) y = Neg(c) }"""
BRANCH = """(float[2] x) => (y) { s = ReduceSum<keepdims = 0>(x) h = Cast<to = 9>(s)
    y = If(h) <then_branch = t () => (u) { u = Neg(x) }, else_branch = e () => (v) { v = Abs(x) }> }"""


@pytest.mark.parametrize("graph", [NETWORK, NETWORK.replace("16,16", "h,w")])
def test_two_equal_calls_state_the_same_forward_passes(graph):
    stated = [resizefix.promote_scales(onnx_text.model(graph)).verification.forward_passes for _ in range(3)]
    assert stated[0] > 4
    assert len(set(stated)) == 1


@pytest.mark.parametrize("graph", ["(float[3] x) => (y) { y = Neg(x) }", BRANCH])
def test_a_small_model_is_tried_on_as_many_feeds_where_its_first_run_took_long(graph, monkeypatch):
    model = onnx_text.model(graph)
    usual = resizefix.verify(model, model)
    now = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(pair, "time", SimpleNamespace(monotonic=lambda: next(now)))
    slow = resizefix.verify(model, model)
    assert len(slow.runs) == len(usual.runs) > 200
    assert slow.reason == usual.reason
    assert slow.forward_passes == usual.forward_passes


LOOP = """(float[2] x, int64 n) => (y) {
    y = Loop(n, , x) <body = b (int64 i, bool g, float[2] s) => (bool h, float[2] t) {
        h = Identity(g) o = ReduceSum<keepdims = 0>(s) p = Cast<to = 9>(o)
        t = If(p) <then_branch = c () => (u) { u = Neg(s) }, else_branch = d () => (v) { v = Abs(s) }> }> }"""


@pytest.mark.parametrize("turns", [0, 1, 7, 100])
def test_the_turns_of_a_loop_are_counted(turns):
    model = onnx_text.document(LOOP, 18)
    copy, *arms = watched_copy(model)
    watched = Watched(open_session(copy, optimized=False), *arms)
    outputs = watched.run({"x": np.ones(2, np.float32), "n": np.array(turns)})
    assert watched.turns == max(turns, 1)
    assert set(outputs) == {"y"}
    assert len(watched.ran) == (2 if turns else 0)  # the body, and the branch that every turn takes
