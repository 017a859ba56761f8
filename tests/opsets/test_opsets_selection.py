import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opset_pair import AWKWARD, assert_same, model_of, operators, read_versions

EVERY_OTHER = np.arange(16) % 2 == 0
NAN = np.array([np.nan], np.float32)


@pytest.mark.parametrize(("op_type", "version"), read_versions("Where"))
def test_floats_of_fixed_shape_are_chosen_by_index_so_that_no_nan_leaks(op_type, version):
    graph = f"g (bool[16,1] c, float[16] a, float[1] b) => (float[16,16] y) {{ y = {op_type}(c, a, b) }}"
    feeds = {"c": EVERY_OTHER[:, None].copy(), "a": AWKWARD, "b": NAN}
    after = assert_same(model_of(version, graph), feeds, bound=0.0)
    assert "Gather" in operators(after)
    assert "Mul" in operators(after)  # of the index, not of the values


SHAPES = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(
    lambda sizes: [1 if size == 2 else size for size in sizes]
)


@settings(max_examples=50, deadline=None)
@given(st.tuples(SHAPES, SHAPES, SHAPES))
def test_any_shapes_that_broadcast_choose_the_same(shapes):
    names = list(zip("cab", ("bool", "float", "float"), shapes, strict=True))
    spelled = [f"{kind}[{','.join(map(str, shape))}]" if shape else kind for _, kind, shape in names]
    declared = ", ".join(f"{kind} {name}" for kind, name in zip(spelled, "cab", strict=True))
    rank = max(len(shape) for shape in shapes)
    result = f"float[{','.join('ABC'[:rank])}]" if rank else "float"
    random = np.random.default_rng(0)
    feeds = {name: np.asarray(random.choice(AWKWARD, shape)) for name, _, shape in names}
    feeds["c"] = np.asarray(feeds["c"] > 0)
    model = model_of(16, f"g ({declared}) => ({result} y) {{ y = Where(c, a, b) }}")
    assert_same(model, feeds, bound=0.0)


def test_constants_without_nan_are_chosen_on_dynamic_shapes():
    graph = "g (bool[N] c) => (float[N] y) <float a = {-0.0}, float b = {-inf}> { y = Where(c, a, b) }"
    assert operators(assert_same(model_of(16, graph), {"c": EVERY_OTHER}, bound=0.0))[-1] == "Max"


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (1, -1), (np.nan, 1), (-2, np.nan), (-np.inf, 2), (np.inf, 0)])
def test_bounds_fed_at_run_time_become_max_and_min_and_a_nan_binds_nothing(low, high):
    graph = "g (float[16] x, float l, float h) => (float[16] y) { y = Clip(x, l, h) }"
    feeds = {"x": AWKWARD, "l": np.array(low, np.float32), "h": np.array(high, np.float32)}
    assert operators(assert_same(model_of(13, graph), feeds))[-1] == "Min"
