import numpy as np
import pytest
from opset_pair import AWKWARD, assert_same, blockers_of, model_of, normal, operators


@pytest.mark.parametrize("opset", [8, 13])
@pytest.mark.parametrize(("before", "shape"), [("3,1", [2, 1, 4]), ("3,1", [3, 4]), ("4", [4]), ("2,3,1", [1])])
def test_expand_of_fixed_sizes_repeats(opset, before, shape):
    sizes = [int(size) for size in before.split(",")]
    rank = max(len(sizes), len(shape))
    graph = f"""g (float[{before}] x) => (float[{",".join("ABC"[:rank])}] y)
        <int64[{len(shape)}] s = {{{",".join(map(str, shape))}}}> {{ y = Expand(x, s) }}"""
    after = assert_same(model_of(opset, graph), {"x": normal(*sizes)}, to=7)
    assert "Tile" in operators(after)


def test_a_constant_of_a_run_time_shape_repeats_a_single_value():
    graph = "g (int64[2] s) => (float[A,B] y) { y = ConstantOfShape<value = float[1] {2}>(s) }"
    assert operators(assert_same(model_of(13, graph), {"s": np.array([2, 3])}, to=7)) == ["Reshape", "Tile"]


def test_expand_to_a_run_time_shape_is_refused():
    (blocker,) = blockers_of(model_of(8, "g (float[3,1] x, int64[2] s) => (float[A,B] y) { y = Expand(x, s) }"), to=7)
    assert blocker.reason == "Expand came with opset 8, and the sizes here are not fixed"


@pytest.mark.parametrize("op_type", ["Max", "Min"])
def test_extremes_that_broadcast_fixed_shapes_repeat(op_type):
    graph = f"g (float[16] a, float[16,1] b, float c) => (float[16,16] y) {{ y = {op_type}(a, b, c) }}"
    feeds = {"a": AWKWARD, "b": AWKWARD[:, None].copy(), "c": np.array(1, np.float32)}
    assert_same(model_of(13, graph), feeds, to=7)


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
def test_equal_shapes_need_nothing(op_type):
    graph = f"g (float[2,3] a, float[2,3] b) => (float[2,3] y) {{ y = {op_type}(a, b) }}"
    feeds = {"a": normal(2, 3), "b": normal(2, 3, seed=1)}
    after = assert_same(model_of(13, graph), feeds, to=7, bound=2e-7 if op_type == "Mean" else None)
    assert operators(after) == [op_type]


@pytest.mark.parametrize("op_type", ["Max", "Min"])
def test_extremes_that_broadcast_dynamic_shapes_are_refused(op_type):
    model = model_of(13, f"g (float[N,3] a, float[3] b) => (float[N,3] y) {{ y = {op_type}(a, b) }}")
    (blocker,) = blockers_of(model, to=7)
    assert blocker.reason == "the shape of 'a' is not fixed"


@pytest.mark.parametrize("op_type", ["Sum", "Mean"])
def test_sums_that_broadcast_dynamic_shapes_add_one_by_one(op_type):
    graph = f"g (float[N,1] a, float[4] b, float[1] c) => (float[N,4] y) {{ y = {op_type}(a, b, c) }}"
    feeds = {"a": normal(3, 1), "b": normal(4), "c": normal(1)}
    after = assert_same(model_of(13, graph), feeds, to=7, bound=2e-7 if op_type == "Mean" else None)
    assert operators(after)[:2] == ["Add", "Add"]


def test_max_pool_loses_its_storage_order_and_is_refused_with_indices():
    plain = "g (float[1,1,4,4] x) => (float[1,1,3,3] y) { y = MaxPool<kernel_shape=[2,2], storage_order=0>(x) }"
    assert_same(model_of(12, plain), {"x": normal(1, 1, 4, 4)}, to=7)
    indexed = "g (float[1,1,4,4] x) => (float[1,1,3,3] y, int64[1,1,3,3] i) { y, i = MaxPool<kernel_shape=[2,2]>(x) }"
    (blocker,) = blockers_of(model_of(12, indexed), to=7)
    assert blocker.reason == "the indices of MaxPool came with opset 8"


def test_a_scan_is_refused():
    graph = """g (float[3] h, float[T,3] x) => (float[3] y, float[T,3] s) {
        y, s = Scan <num_scan_inputs=1, body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
            { w = Add(v, e) o = Identity(w) }> (h, x) }"""
    (blocker,) = blockers_of(model_of(11, graph), to=7)
    assert blocker.reason == "Scan came with opset 8"


def test_rows_for_opset_8_may_need_rows_for_opset_7():
    graph = "g (bool[16,1] c, float[16] a, float[1] b) => (float[16,16] y) { y = Where(c, a, b) }"
    feeds = {"c": (np.arange(16) % 2 == 0)[:, None].copy(), "a": AWKWARD, "b": np.array([np.nan], np.float32)}
    assert "Tile" in operators(assert_same(model_of(16, graph), feeds, to=7, bound=0.0))
