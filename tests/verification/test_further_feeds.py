"""The feeds behind the first: at random, kept where the model runs, as many as they are worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_text import document

from resizefix.runtimes.inputs import InputKind, TensorInput
from resizefix.runtimes.limits import Limits
from resizefix.runtimes.ort_session import open_session
from resizefix.verification.arms import watched_copy
from resizefix.verification.draws import Drawer
from resizefix.verification.edges import Edges
from resizefix.verification.engine import Watched
from resizefix.verification.feed_rows import row
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import MemoryBudget, fit_feeds
from resizefix.verification.further_feeds import OF_LIGHT, FurtherFeeds, tells
from resizefix.verification.telling_values import TellingValues


def further(graph: str, seed: int = 0, opset: int = 18) -> FurtherFeeds:
    model = document(graph, opset)
    session = Watched(open_session(model, optimized=False))
    feeder = Feeder(session.inputs, seed=seed)
    return FurtherFeeds(
        session, feeder, fit_feeds(session, feeder), TellingValues.of(model), MemoryBudget(model, Limits())
    )


SEEDS = st.integers(0, 2**31)
DTYPES = st.sampled_from(["float32", "float64", "int64", "int32", "bool"])
KINDS = st.sampled_from(["float16", "float32", "uint8", "int8", "int64", "bool", "complex64"])


@settings(max_examples=50, deadline=None)
@given(SEEDS, DTYPES, st.lists(st.integers(1, 4), max_size=3))
def test_the_first_rows_show_every_element_with_both_signs_or_as_both_truths(seed, dtype, shape):
    entry = TensorInput("x", TensorProto.FLOAT, tuple(shape))
    usual = np.ones(shape, dtype)
    one, other = (Drawer(seed).value(entry, usual, row(number)) for number in range(2))
    assert one.dtype == other.dtype == usual.dtype
    assert one.shape == tuple(shape)
    assert (one == (~other if dtype == "bool" else -other)).all()


@settings(max_examples=60, deadline=None)
@given(
    SEEDS, st.integers(0, 60), st.sampled_from(["float16", "float32", "uint8", "int8", "int64", "bool", "complex64"])
)
def test_every_row_is_of_the_type_and_finite_and_comes_again(seed, number, dtype):
    entry, usual = TensorInput("x", TensorProto.FLOAT, (2, 3)), np.ones((2, 3), dtype)
    drawer = Drawer(seed, Edges({"x": (-7e4, 0.25, 300.0)}, ()))
    value = drawer.value(entry, usual, row(number))
    assert (value.dtype, value.shape) == (usual.dtype, usual.shape)
    assert np.isfinite(value).all()
    assert value.tobytes() == drawer.value(entry, usual, row(number)).tobytes()
    assert not np.signbit(value[value == 0]).any() if dtype.startswith("float") else True


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(-1e4, 1e4, width=32))
def test_rows_stand_on_both_sides_of_a_value_that_the_model_names(seed, edge):
    entry, usual = TensorInput("x", TensorProto.FLOAT, (1,)), np.ones(1, np.float32)
    drawer = Drawer(seed, Edges({"x": (edge,)}))
    values = np.concatenate([drawer.value(entry, usual, row(number)) for number in range(40)])
    near = 1.2 * max(abs(edge), 0.01)
    assert (values == np.float32(edge)).any()
    assert ((values < edge) & (values > edge - near)).any()
    assert ((values > edge) & (values < edge + near)).any()


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.lists(st.integers(-50, 50), min_size=1, max_size=20, unique=True), st.booleans())
def test_a_small_model_is_fed_every_number_that_it_names_and_both_sides_of_it(seed, named, is_scalar):
    nodes = "".join(f"y{at} = ThresholdedRelu<alpha = {edge + 0.5}>(x) " for at, edge in enumerate(named))
    outputs = ", ".join(f"y{at}" for at in range(len(named)))
    feeds = further(f"(float{'' if is_scalar else '[3]'} x) => ({outputs}) {{ {nodes} }}", seed)
    first = np.array([fitted.feeds["x"].flat[0] for fitted in feeds.rows(feeds.enough())])
    for edge in np.array(named) + 0.5:
        near = 1.2 * abs(edge)
        assert (first == edge).any()
        assert ((first < edge) & (first > edge - near)).any()
        assert ((first > edge) & (first < edge + near)).any()


def test_an_image_is_smooth_and_has_edges_and_bytes_go_to_255():
    entry = TensorInput("x", TensorProto.FLOAT, (1, 3, 32, 48))
    image = Drawer(0).value(entry, np.ones(entry.shape, np.float32), row(0))
    assert 0 <= image.min() < 0.2
    assert 0.8 < image.max() <= 1
    steps = np.abs(np.diff(image, axis=-1))
    assert np.median(steps) < 0.05 < steps.max()
    pixels = Drawer(0).value(entry, np.ones(entry.shape, np.uint8), row(0))
    assert pixels.max() > 200


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_sizes_and_scales_stay_modest(seed):
    graph = "(float[1,1,8,8] x, float[4] s, int64[4] t) => (y, z) { y = Resize(x, , s) z = Resize(x, , , t) }"
    for fitted in further(graph, seed).rows(20):
        assert fitted.outputs["y"].size <= 8 * 8 * 5**4
        assert fitted.outputs["z"].size <= 16 * 16 * 3**4


def test_what_the_model_refuses_is_not_kept_and_the_others_are_drawn_all_the_same():
    graph = "(float[9] x, int64[1] at) => (y, z) { y = Gather(x, at) z = Neg(x) }"
    kept = further(graph).rows(30)
    assert len(kept) == 30
    assert len({int(fitted.feeds["at"][0]) for fitted in kept}) > 4
    assert all(-9 <= fitted.feeds["at"][0] < 9 for fitted in kept)


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        ("(float[2] x) => (y) { y = Neg(x) }", OF_LIGHT[0][1]),
        ("(float[1,3,64,64] x) => (y) { y = Neg(x) }", OF_LIGHT[1][1]),
        ("(float[1,3,600,600] x) => (y) { y = Neg(x) }", 1),
        ("(float[1,3,600,600] x, float[1] gain) => (y) { y = Mul(x, gain) }", 2),
        ("() => (y) { y = Constant<value_int = 3>() }", 0),
    ],
)
def test_there_are_as_many_as_a_run_is_cheap(graph, count):
    assert further(graph).enough() == count


def test_of_a_dear_model_a_feed_that_overflows_is_replaced():
    nodes = "s = Mul(k, e) t = Exp(s) u = Exp(t) y = Mul(x, u)"
    feeds = further(f"(float[1,3,600,600] x, float[1] k) => (y) <float e = {{30.0}}> {{ {nodes} }}")
    assert not tells(feeds.first)
    for fitted in feeds.rows(1):
        assert np.isfinite(fitted.outputs["y"]).all()


def test_sizes_that_are_open_are_tried_small_and_in_batches():
    found = further("(float[n,3,h,w] x) => (y) { y = Neg(x) }").at_other_sizes()
    assert len({fitted.feeds["x"].shape for fitted in found}) == len(found) >= 3
    assert any(fitted.feeds["x"].shape[0] > 1 for fitted in found)


def test_sequences_of_several_lengths_and_absent_optionals_are_fed():
    drawer, item = Drawer(0), np.ones((2,), np.float32)
    sequence = TensorInput("x", TensorProto.FLOAT, (2,), InputKind.SEQUENCE)
    assert {len(drawer.value(sequence, [item, item], row(number))) for number in range(30)} == {0, 1, 2, 3}
    optional = TensorInput("x", TensorProto.FLOAT, (2,), InputKind.OPTIONAL)
    absent = [drawer.value(optional, item, row(number)) is None for number in range(30)]
    assert any(absent)
    assert not all(absent)


@pytest.mark.parametrize("seed", range(3))
def test_feeds_at_the_border_of_a_condition_leave_the_turns_of_a_loop_as_they_were(seed):
    graph = """(float[2] x, int64 n) => (y) {
        w = Loop(n, , x) <body = b (int64 i, bool g, float[2] s) => (bool h, float[2] t) {
            h = Identity(g) t = Neg(s) }>
        s = ReduceSum<keepdims = 0>(w) p = Cast<to = 9>(s)
        y = If(p) <then_branch = c () => (u) { u = Neg(w) }, else_branch = d () => (v) { v = Abs(w) }> }"""
    model = document(graph, 18)
    copy, *arms = watched_copy(model)
    session = Watched(open_session(copy, optimized=False), *arms)
    feeder = Feeder(session.inputs, seed=seed)
    fed = FurtherFeeds(
        session, feeder, fit_feeds(session, feeder), TellingValues.of(model), MemoryBudget(model, Limits())
    )
    fed.rows(40)
    moved = [fitted.feeds for fitted in fed.borders()]
    assert moved
    assert all(feeds["n"] <= 8 for feeds in moved)
