import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opset_pair import assert_same, blockers_of, declared, lowered, model_of, normal, operators, read_versions, run

X = {"x": normal(2, 3, 4, 5)}


def test_at_ir_3_an_initializer_among_the_inputs_is_a_constant():
    graph = "g (float[1,2] x, int64[1] a) => (float[1,2,1] y) <int64[1] a = {2}> { y = Unsqueeze(x, a) }"
    after = assert_same(model_of(13, graph, ir_version=3), {"x": normal(1, 2)})
    assert [value.name for value in after.graph.input] == ["x"]


def test_a_negative_axis_of_unknown_rank_is_refused():
    model = model_of(13, "g (float[2] x) => (float[2,1] y) <int64[1] a = {-1}> { y = Unsqueeze(x, a) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    (blocker,) = blockers_of(model)
    assert blocker.reason == "the rank of 'x' is unknown"
    assert "fixed input shapes" in blocker.fix


def test_allowzero_with_a_shape_fed_at_run_time_is_the_same_but_for_empty_tensors_and_says_so():
    model = model_of(14, "g (float[2,3] x, int64[2] s) => (float[A,B] y) { y = Reshape<allowzero=1>(x, s) }")
    assert_same(model, {"x": normal(2, 3), "s": np.array([3, -1])})
    _, result = lowered(model)
    assert result.steps[-1].error.note == "the same bits for every tensor that has elements"


SLICES = [
    ([1], [3], [2], None),
    ([1, -1], [-1, -9223372036854775807], [-2, 3], [1, -2]),
    ([-100, 0], [100, 9223372036854775807], [3, 1], [1, 2]),
    ([3], [0], [3], [-1]),
    ([4], [1], [2], [1]),
    ([0, 1], [2, 2], None, None),
]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Slice"))
@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
def test_slices_become_attributes_and_steps_a_gather(op_type, version, starts, ends, axes, steps):
    if version < 11 and axes and min(axes) < 0:
        axes = [axis % 4 for axis in axes]
    operands = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    given = {name: values for name, values in operands.items() if values is not None}
    node = f"y = {op_type}(x, {', '.join(given)})"
    graph = f"g (float[2,3,4,5] x) => (float[A,B,C,D] y) <{declared(given)}> {{ {node} }}"
    after = assert_same(model_of(version, graph), X)
    assert set(operators(after)) <= {"Slice", "Gather"}


SPANS = st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 1, 2, 3, -1, -2]))


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, min_size=1, max_size=3), st.permutations([0, 1, -2, -1]))
def test_any_slice_selects_the_same(spans, order):
    starts, ends, steps = (list(column) for column in zip(*spans, strict=True))
    operands = {"starts": starts, "ends": ends, "axes": order[: len(spans)], "steps": steps}
    node = "y = Slice(x, starts, ends, axes, steps)"
    graph = f"g (float[2,3,4,5] x) => (float[A,B,C,D] y) <{declared(operands)}> {{ {node} }}"
    assert_same(model_of(13, graph), X)


@pytest.mark.parametrize(("op_type", "version"), read_versions("Pad"))
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad_takes_everything_into_attributes(op_type, version, mode):
    pads, operand = ([1, 2, 1, 1], ", p, v, a") if version >= 18 else ([0, 0, 1, 2, 0, 0, 1, 1], ", p, v")
    graph = f"""g (float[2,3,4,5] x) => (float[2,3,6,8] y)
        <int64[{len(pads)}] p = {{{",".join(map(str, pads))}}}, float v = {{1.5}}, int64[2] a = {{-2,-1}}>
        {{ y = {op_type}<mode="{mode}">(x{operand}) }}"""
    after = assert_same(model_of(version, graph), X)
    assert operators(after) == ["Pad"]
    assert list(after.graph.node[0].input) == ["x"]


def test_a_shape_that_fixed_sizes_make_constant_may_be_an_output():
    model = model_of(13, "g (float[2,3] x) => (int64[2] y, float[2,3] z) { y = Shape(x) z = Relu(x) }")
    after = assert_same(model, {"x": normal(2, 3)})
    assert sorted(operators(after)) == ["Identity", "Relu"]
    assert run(after, {"x": normal(2, 3)})[0].tolist() == [2, 3]
