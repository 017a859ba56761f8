import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opset_pair import AWKWARD, assert_same, blockers_of, model_of, operators, read_versions

EVERY_OTHER = np.arange(16) % 2 == 0
NAN = np.array([np.nan], np.float32)
LARGE = np.array([0, 1, -1, 2**62, 2**62 + 1, -(2**62), 2**63 - 1, -(2**63), 2**53, 2**53 + 1, 7, -9], np.int64)


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


def test_one_condition_for_all_works_on_dynamic_shapes():
    graph = "g (bool c, float[N] a, float[M,1] b) => (float[M,N] y) { y = Where(c, a, b) }"
    for condition in (True, False):
        feeds = {"c": np.array(condition), "a": AWKWARD, "b": NAN[:, None].repeat(2, 0)}
        assert_same(model_of(16, graph), feeds, bound=0.0)


def test_constants_without_nan_are_chosen_on_dynamic_shapes():
    graph = "g (bool[N] c) => (float[N] y) <float a = {-0.0}, float b = {-inf}> { y = Where(c, a, b) }"
    assert operators(assert_same(model_of(16, graph), {"c": EVERY_OTHER}, bound=0.0))[-1] == "Max"


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_integers_are_chosen_on_dynamic_shapes(kind):
    graph = f"g (bool[N] c, {kind}[N] a, {kind} b) => ({kind}[N] y) {{ y = Where(c, a, b) }}"
    values = LARGE if kind == "int64" else np.arange(12).astype(kind)
    assert_same(model_of(16, graph), {"c": EVERY_OTHER[:12], "a": values, "b": np.array(9, kind)})


@pytest.mark.parametrize("shape", ["16", "N"])
def test_strings_are_chosen_where_the_shape_is_fixed(shape):
    model = model_of(
        16, f"g (bool[{shape}] c, string[{shape}] a, string[1] b) => (string[{shape}] y) {{ y = Where(c, a, b) }}"
    )
    if shape == "N":
        (blocker,) = blockers_of(model)
        assert blocker.reason == "Where came with opset 9, and the shapes here are not fixed"
    else:
        words = np.array([f"w{i}" for i in range(16)], object)
        assert_same(model, {"c": EVERY_OTHER, "a": words, "b": np.array(["other"], object)})


@pytest.mark.parametrize("constant", ["0.0", "nan"])
def test_floats_of_dynamic_shape_are_refused_because_a_nan_would_leak(constant):
    graph = f"g (bool[N] c, float[N] a) => (float[N] y) <float b = {{{constant}}}> {{ y = Where(c, a, b) }}"
    (blocker,) = blockers_of(model_of(16, graph))
    assert blocker.reason == "Where came with opset 9, and the shapes here are not fixed"
    assert "fixed input shapes" in blocker.fix


@pytest.mark.parametrize(("op_type", "version"), read_versions("Trilu"))
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_a_triangle_keeps_its_bits(op_type, version, upper, offset):
    graph = f"g (float[2,4,4] x) => (float[2,4,4] y) <int64 k = {{{offset}}}> {{ y = {op_type}<upper={upper}>(x, k) }}"
    assert_same(model_of(version, graph), {"x": AWKWARD.reshape(1, 4, 4).repeat(2, 0)})


@pytest.mark.parametrize(("op_type", "version"), read_versions("ThresholdedRelu", "Shrink"))
def test_what_is_cut_off_is_zero_even_for_nan_and_infinity(op_type, version):
    attributes = "<alpha=0.75>" if op_type == "ThresholdedRelu" else "<lambd=0.75, bias=0.25>"
    graph = f"g (float[16] x) => (float[16] y) {{ y = {op_type}{attributes}(x) }}"
    assert_same(model_of(version, graph), {"x": AWKWARD})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Max", "Min"))
def test_extremes_of_awkward_floats(op_type, version):
    graph = f"g (float[16] a, float[16,1] b) => (float[16,16] y) {{ y = {op_type}(a, b) }}"
    after = assert_same(model_of(version, graph), {"a": AWKWARD, "b": AWKWARD[:, None].copy()})
    assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Max", "Min"))
def test_extremes_of_int64_are_exact(op_type, version):
    graph = f"g (int64[12] a, int64[12,1] b, int64 c) => (int64[12,12] y) {{ y = {op_type}(a, b, c) }}"
    assert_same(model_of(version, graph), {"a": LARGE, "b": LARGE[:, None].copy(), "c": np.array(5)})


@pytest.mark.parametrize("op_type", ["Max", "Min"])
def test_extremes_of_int32_go_through_doubles(op_type):
    values = np.array([0, -1, 2**31 - 1, -(2**31), 2**24 + 1], np.int32)
    graph = f"g (int32[5] a, int32[5,1] b) => (int32[5,5] y) {{ y = {op_type}(a, b) }}"
    assert_same(model_of(13, graph), {"a": values, "b": values[:, None].copy()})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Clip"))
@pytest.mark.parametrize("bounds", ["x, l, h", "x, l", "x, h, l", "x"])
def test_constant_bounds_become_attributes(op_type, version, bounds):
    graph = f"g (float[16] x) => (float[16] y) <float l = {{-0.5}}, float h = {{2}}> {{ y = {op_type}({bounds}) }}"
    after = assert_same(model_of(version, graph), {"x": AWKWARD})
    assert operators(after) == (["Max", "Min"] if bounds == "x, h, l" else ["Clip"])


def test_an_upper_bound_alone_leaves_the_lower_end_to_the_type():
    graph = "g (float[16] x) => (float[16] y) <float h = {2}> { y = Clip(x, , h) }"
    assert_same(model_of(13, graph), {"x": AWKWARD})


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (1, -1), (np.nan, 1), (-2, np.nan), (-np.inf, 2), (np.inf, 0)])
def test_bounds_fed_at_run_time_become_max_and_min_and_a_nan_binds_nothing(low, high):
    graph = "g (float[16] x, float l, float h) => (float[16] y) { y = Clip(x, l, h) }"
    feeds = {"x": AWKWARD, "l": np.array(low, np.float32), "h": np.array(high, np.float32)}
    assert operators(assert_same(model_of(13, graph), feeds))[-1] == "Min"


def test_a_constant_bound_that_is_no_number_binds_nothing():
    graph = "g (float[16] x) => (float[16] y) <float l = {nan}, float h = {2}> { y = Clip(x, l, h) }"
    assert operators(assert_same(model_of(13, graph), {"x": AWKWARD})) == ["Clip"]


def test_doubles_whose_bounds_attributes_cannot_hold_become_max_and_min():
    graph = "g (double[16] x) => (double[16] y) <double h = {0.1}> { y = Clip(x, , h) }"
    assert_same(model_of(13, graph), {"x": AWKWARD.astype(np.float64)})


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_integers_are_clipped_exactly(kind):
    high = 2**53 + 1 if kind == "int64" else 100
    values = LARGE if kind == "int64" else np.array([0, 1, 2, 99, 100, 101, 127]).astype(kind)
    graph = f"""g ({kind}[{values.size}] x) => ({kind}[{values.size}] y) <{kind} l = {{1}}, {kind} h = {{{high}}}>
        {{ y = Clip(x, l, h) }}"""
    assert_same(model_of(13, graph), {"x": values})
