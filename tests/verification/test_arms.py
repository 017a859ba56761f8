"""Which bodies of a model ran, whatever holds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_text import document

from resizefix.runtimes.ort_session import open_session
from resizefix.verification.arms import watched_copy
from resizefix.verification.engine import Watched

NESTED = """(float[2] x, bool c, bool d, int64 n) => (y) {
    z = If(c) <
        then_branch = t () => (float[2] u) { u = Neg(x) },
        else_branch = e () => (float[2] v) {
            v = If(d) <
                then_branch = t2 () => (float[2] u2) { u2 = Abs(x) },
                else_branch = e2 () => (float[2] v2) { v2 = Exp(x) }>
        }>
    go = Constant<value = bool {1}>()
    y, k = Loop(n, go, z) <body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] so, float[2] scan) {
        co = Identity(ci)
        two = Constant<value_int = 2>()
        w = Equal(i, two)
        so = If(w) <
            then_branch = t3 () => (float[2] u3) { u3 = Neg(s) },
            else_branch = e3 () => (float[2] v3) { v3 = Identity(s) }>
        scan = Identity(so)
    }>
}"""


def watched(graph: str, opset: int = 17, *domains: str) -> Watched:
    copy = watched_copy(document(graph, opset, *domains))
    assert copy is not None
    return Watched(open_session(copy[0], optimized=False), *copy[1:])


@settings(max_examples=30, deadline=None)
@given(st.booleans(), st.booleans(), st.integers(0, 4))
def test_bodies_in_bodies_are_told_as_the_inputs_say(c, d, turns):
    session = watched(NESTED)
    feeds = {"x": np.ones(2, np.float32), "c": np.array(c), "d": np.array(d), "n": np.array(turns)}
    outputs = session.run(feeds)
    inner = f"If(z).else_branch / If(v).{'then' if d else 'else'}_branch"
    expected = {"If(z).then_branch"} if c else {"If(z).else_branch", inner}
    expected |= {"Loop(y, k).body", "Loop(y, k).body / If(so).else_branch"} if turns else set()
    expected |= {"Loop(y, k).body / If(so).then_branch"} if turns > 2 else set()
    assert set(map(str, session.ran)) == expected
    plain = open_session(document(NESTED, 17), optimized=False).run(feeds)
    assert outputs.keys() == plain.keys()
    assert all(outputs[name].tobytes() == plain[name].tobytes() for name in plain)


SCAN = """(float[4,2] x, float[2] s) => (y, z) {
    y, z = Scan<num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] ao, float[2] zo) {
        sum = ReduceSum<keepdims = 0>(e)
        zero = Constant<value_float = 0.0>()
        p = Greater(sum, zero)
        ao = If(p) <
            then_branch = t () => (float[2] u) { u = Neg(e) },
            else_branch = f () => (float[2] v) { v = Abs(a) }>
        zo = Identity(ao)
    }>(s, x)
}"""


@pytest.mark.parametrize(("value", "ran"), [(1, "then"), (-1, "else")])
def test_bodies_of_a_scan_are_watched(value, ran):
    session = watched(SCAN)
    session.run({"x": np.full((4, 2), value, np.float32), "s": np.ones(2, np.float32)})
    assert [str(path) for path in session.ran if "If" in str(path)] == [f"Scan(y, z).body / If(ao).{ran}_branch"]


CALLED = """(float[2] x, bool c, bool d) => (y, z) { y = own.f(x, c) z = own.f(y, d) }
<domain: "own", opset_import: ["" : 17]> f (a, p) => (r) {
    r = If(p) <then_branch = t () => (float[2] u) { u = Neg(a) }, else_branch = e () => (float[2] v) { v = Abs(a) }>
}"""


@pytest.mark.parametrize(("c", "d", "count"), [(True, True, 1), (True, False, 2), (False, False, 1)])
def test_bodies_in_local_functions_are_told_for_all_calls_together(c, d, count):
    session = watched(CALLED, 17, "own")
    session.run({"x": np.ones(2, np.float32), "c": np.array(c), "d": np.array(d)})
    assert len(session.ran) == count
    assert all(path.function is not None for path in session.ran)


def test_a_model_without_bodies_is_not_copied():
    assert watched_copy(document("(float[2] x) => (y) { y = Neg(x) }")) is None
