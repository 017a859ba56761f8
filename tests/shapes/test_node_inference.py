import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper, numpy_helper
from opset_pair import model_of, normal, run

from resizefix.opsets.constants import Unread, fold
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.shapes.output_size import agreed_length


def hybrid(graph: str, *sites: tuple[str, str, list[float]], opset: int = 13) -> ModelProto:
    """A model of a newer opset with Upsample-7 nodes in front, as the caller of a downgrade makes it."""
    model = model_of(opset, graph)
    for position, (source, result, scales) in enumerate(sites):
        upsample = helper.make_node("Upsample", [source], [result], scales=[float(scale) for scale in scales])
        model.graph.node.insert(position, upsample)
    return model


def dims(model: ModelProto, name: str) -> tuple[int | None, ...] | None:
    knowledge = ValueInfoMap(model, numpy_helper.to_array)
    return knowledge.dims(knowledge.scopes.main, name)


def test_a_stored_shape_that_is_stale_is_not_believed():
    model = model_of(13, "g (float[2,3] x) => (float[9,9] y) <float[7,7] r> { r = Relu(x) y = Relu(r) }")
    assert dims(model, "r") == (2, 3)
    assert dims(model, "y") == (2, 3)
    assert [value.name for value in model.graph.value_info] == ["r"]  # the model itself is left alone


def test_the_stored_shape_of_a_custom_operator_is_all_there_is():
    model = model_of(13, "g (float[2,3] x) => (float[A,B] y) { r = Relu(x) y = Relu(r) }")
    model.graph.node[0].domain = "acme"
    model.opset_import.append(helper.make_opsetid("acme", 1))
    assert dims(model, "r") is None
    model.graph.value_info.append(helper.make_tensor_value_info("r", 1, [4, None]))
    assert dims(model, "y") == (4, None)


def test_a_default_is_no_constant_for_shapes():
    graph = "g (float[2,3] x, int64[2] s) => (float[A,B] y) <int64[2] s = {3,2}> { y = Reshape(x, s) }"
    assert dims(model_of(13, graph), "y") == (None, None)
    assert dims(model_of(13, graph, ir_version=3), "y") == (3, 2)


NINE_FIFTHS = float(np.float32(9) / np.float32(5))  # runtimes disagree on the size that it makes of 5
UPSAMPLES = [
    ("1,2,3,4", [[1, 1, 2, 2], [1, 1, 3, 1.5]], (1, 2, 18, 12)),
    ("N,2,H,4", [[1, 1, 2, 2]], (None, 2, None, 8)),
    ("1,1,5,5", [[1, 1, NINE_FIFTHS, 2]], (1, 1, None, 10)),
]


@pytest.mark.parametrize(("shape", "scales", "sizes"), UPSAMPLES)
def test_upsamples_in_a_newer_opset_are_followed_where_their_sizes_are_known(shape, scales, sizes):
    names = "xabc"
    sites = [(names[k], names[k + 1], each) for k, each in enumerate(scales)]
    model = hybrid(f"g (float[{shape}] x) => (float[A,B,C,D] y) {{ y = Relu({names[len(scales)]}) }}", *sites)
    assert dims(model, "y") == sizes


def test_of_an_upsample_7_in_its_own_opset_no_size_is_folded_on_which_runtimes_disagree():
    # 2.3 · 10 is 23 in float32 and 22.99… in float64
    graph = "g (float[1,10] x) => (float[A,B] y, int64[2] s) { y = Upsample<scales=[1.0, 2.3]>(x) s = Shape(y) }"
    model = model_of(8, graph)
    assert dims(model, "y") == (1, None)
    assert run(model, {"x": normal(1, 10)})[1].tolist() == [1, 23]
    assert not fold(model, numpy_helper.to_array, Unread(model))[1]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300))
def test_where_the_rules_agree_onnxruntime_has_that_size(size, more):
    scale = float(np.float32(size + more) / np.float32(size))
    found = agreed_length(scale, size)
    model = model_of(8, f"g (float[1,{size}] x) => (float[1,M] y) {{ y = Upsample<scales=[1.0, {scale!r}]>(x) }}")
    if found is not None:
        assert run(model, {"x": normal(1, size)})[0].shape == (1, found)


def test_branches_that_agree_in_part_leave_the_rest_unknown():
    graph = """g (bool c, float[2,3] x) => (float[A,B] z) {
        y = If(c) < then_branch = t () => (float[A,B] a) { a = Concat<axis=0>(x, x) },
                    else_branch = e () => (float[A,B] b) { b = Relu(x) } >
        z = Relu(y) }"""
    assert dims(model_of(13, graph), "y") == (None, 3)


@pytest.mark.parametrize(("step", "sizes"), [("Relu(x)", (2, 3)), ("Concat<axis=0>(v, x)", (None, 3))])
def test_what_a_loop_carries_has_the_sizes_that_no_iteration_changes(step, sizes):
    graph = f"""g (int64 n, bool c, float[2,3] x) => (float[A,B] z, float[T,C,D] s) {{
        y, s = Loop(n, c, x) <body = b (int64 i, bool ci, float[2,3] v) => (bool co, float[A,B] w, float[A,B] o)
            {{ co = Identity(ci) w = {step} o = Identity(w) }}>
        z = Relu(y) }}"""
    model = model_of(13, graph)
    assert dims(model, "y") == sizes
    assert dims(model, "s") == (None, *sizes)


def test_a_scan_stacks_what_its_body_returns():
    graph = """g (float[3] h, float[T,3] x) => (float[3] y, float[A,B] s) {
        y, s = Scan <num_scan_inputs=1, body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
            { w = Add(v, e) o = Identity(w) }> (h, x) }"""
    assert len(dims(model_of(11, graph), "s")) == 2


@pytest.mark.parametrize("opset", [9, 10, 13, 18, 25])
def test_the_model_is_not_changed_by_looking_into_it(opset):
    graph = "g (float[1,2,3,4] x) => (float[A,B,C,D] y) { r = Relu(a) y = Tanh(r) }"
    model = hybrid(graph, ("x", "a", [1, 1, 2, 2]), opset=opset)
    before = model.SerializeToString()
    assert dims(model, "y") == (1, 2, 6, 8)
    assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("version", "graph"),
    [
        (9, "g (float[2,6,4] x) => (float[A,B,C] y) { y = MeanVarianceNormalization(x) }"),
        (16, "g (float[2,6,4] x, float[6,1] z) => (bool[A,B,C] y) { y = GreaterOrEqual(x, z) }"),
    ],
)
def test_function_operators_are_typed_too(version, graph):
    assert dims(model_of(version, graph), "y") == (2, 6, 4)


def test_a_node_that_is_not_valid_has_no_type():
    model = model_of(13, "g (float[2] x) => (float[2] y) { y = Loop(x) }")
    assert dims(model, "y") is None


def test_an_attribute_that_its_version_does_not_have_is_passed_over_as_in_whole_models():
    model = model_of(17, "g (float[1,1,A,B] x) => (float[C,D,E,F] y) { y = ReduceMean<noop_with_empty_axes=0>(x) }")
    assert dims(model, "y") == (1, 1, 1, 1)


RESIZES = [
    (10, "float[4] s = {1, 1, 1.8, 2}", "Resize(x, s)", (1, 1, None, 10)),
    (9, "float[4] s = {1, 1, 1.8, 2}", "Upsample(x, s)", (1, 1, None, 10)),
    (13, "float[4] s = {1, 1, 1.8, 2}", "Resize(x, , s)", (1, 1, None, 10)),
    (18, "float[2] s = {2, 1.8}", "Resize<axes=[3, 2]>(x, , s)", (1, 1, None, 10)),
    (13, "int64[4] s = {1, 1, 9, 10}", "Resize(x, , , s)", (1, 1, 9, 10)),
    (18, "int64[2] s = {9, 11}", 'Resize<axes=[2, 3], keep_aspect_ratio_policy="not_larger">(x, , , s)', (None,) * 4),
    (13, "float[4] s = {1, 1, 2, 2}", 'Resize<coordinate_transformation_mode="tf_crop_and_resize">(x, r, s)',
     (None,) * 4),
]  # fmt: skip


@pytest.mark.parametrize(("opset", "constant", "call", "sizes"), RESIZES)
def test_a_resize_has_no_size_on_which_runtimes_disagree(opset, constant, call, sizes):
    # 1.8 · 5 is 9 in float32 and 8.99… in float64
    regions = ", float[8] r = {0,0,0,0,1,1,1,1}" if "r, s" in call else ""
    model = model_of(opset, f"g (float[1,1,5,5] x) => (float[A,B,C,D] y) <{constant}{regions}> {{ y = {call} }}")
    assert dims(model, "y") == sizes
    if None not in sizes:
        assert run(model, {"x": normal(1, 1, 5, 5)})[0].shape == sizes


def test_weights_are_not_read_to_learn_of_shapes():
    model = model_of(13, "g (float[1,3,8,8] x) => (float[A,B,C,D] y) { y = Conv(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(normal(64, 3, 3, 3), "w"))

    def never(tensor: object) -> None:
        raise AssertionError(f"{tensor} was read")

    knowledge = ValueInfoMap(model, never)
    assert knowledge.dims(knowledge.scopes.main, "y") == (1, 64, 6, 6)


def test_a_scale_beyond_float32_gives_no_size():
    assert agreed_length(3.4e38, 4) is None
    assert agreed_length(float("inf"), 4) is None
    assert agreed_length(float("inf"), 0) is None
