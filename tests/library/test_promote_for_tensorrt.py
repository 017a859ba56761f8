"""Inputs that TensorRT takes: whole numbers times the tensor's own shape, with the profile that builds them."""

import numpy as np
import onnx_text
import ort_runs
import pytest

import resizefix


def model(nodes, scales="1, 1, 2, 2", *, opset=13, x="1,3,8,8", extra=None):
    extra = extra or f"<float[{scales.count(',') + 1}] s = {{{scales}}}>"
    return onnx_text.model(f"(float[{x}] x) => (float[?,?,?,?] y) {extra} {{ {nodes} }}", opset)


def promoted(*words, opset=13, x="1,3,8,8", **options):
    return resizefix.promote_scales(model(*words, opset=opset, x=x), for_="tensorrt", on_refusal="return", **options)


def refused(*words, **options):
    """The reason why the node is refused."""
    (outcome,) = promoted(*words, **options).outcomes
    assert outcome.status.value == "refused"
    return outcome.reason


RESIZE = "[up] y = Resize (x, , s)"
LINEAR = '[up] y = Resize <mode = "linear"> (x, , s)'
UPSAMPLE = "y = Upsample (x, s)"


def run(promoted, value, size=8):
    x = np.arange(3 * size * size, dtype=np.float32).reshape(1, 3, size, size)
    feeds = {"x": x, promoted.graph.input[1].name: np.array(value, np.int64)}
    return ort_runs.run(promoted, feeds, optimized=True)[0]


def test_one_factor_multiplies_the_shape_of_the_tensor():
    result = promoted(RESIZE)
    (source,) = result.inputs
    assert (source.elem_type, source.shape, source.value) == ("int64", (1,), (2,))
    assert [node.op_type for node in result.model.graph.node] == ["Shape", "Constant", "Concat", "Mul", "Resize"]
    assert run(result.model, [3]).shape == (1, 3, 24, 24)
    assert all(run.bitwise for run in result.verification.runs)
    assert result.profile["up_scales"].opt == (2,)


def test_a_fraction_is_a_numerator_over_a_denominator():
    result = promoted(RESIZE, "1, 1, 1.5, 1.5")
    assert result.inputs[0].value == (1500,)
    assert run(result.model, [1250]).shape == (1, 3, 10, 10)
    assert promoted(RESIZE, "1, 1, 1.5, 1.5", denominator=2).inputs[0].value == (3,)


def test_a_fraction_that_no_numerator_says_is_refused_with_the_denominator_that_says_it():
    third = RESIZE, "1, 1, 1.3333334, 1.3333334"
    (outcome,) = promoted(*third, x="1,3,9,9").outcomes
    assert outcome.reason == "its scale 1.3333334 is not a whole number over 1000"
    assert outcome.retry_args == ("--denominator", "3")
    assert promoted(*third, x="1,3,9,9", denominator=3).inputs[0].value == (4,)


@pytest.mark.parametrize(("given", "at", "needed"), [(None, 2.5, 2), (None, 0.4, 5), (10, 2.25, 4), (3, 3.3, 10)])
def test_a_scale_to_try_that_the_input_cannot_hold_is_a_usage_error_that_names_the_denominator(given, at, needed):
    for verify in (True, False):
        with pytest.raises(resizefix.UsageError, match=f"^at {at}.* add denominator={needed}$"):
            promoted(RESIZE, denominator=given, at=[[at]], verify=verify)
    result = promoted(RESIZE, denominator=needed, at=[[at]])
    assert any(run.values == {"up_scales": (round(at * needed),)} for run in result.verification.runs)


def test_before_opset_11_no_denominator_is_proposed():
    with pytest.raises(resizefix.UsageError, match="whole factors only"):
        promoted(UPSAMPLE, opset=9, at=[[2.5]])


@pytest.mark.parametrize("mode", ["cubic", "nearest"])
def test_a_scale_of_one_is_tried_at_no_numerator_of_zero(mode):
    text = """(float[1,2,7,8] x) => (float[] y) { y = d.F (x) }
    <domain: "d", opset_import: ["" : 20]> F (a) => (b) { s = Constant <value = float[2] {1, 1}> ()
        [R] b = Resize <axes = [2, 3], coordinate_transformation_mode = "half_pixel", mode = "%s"> (a, "", s) }"""
    found = resizefix.promote_scales(onnx_text.model(text % mode, 20, "d", ir=9), for_="tensorrt")
    assert found.verification.passed
    assert all(min(run.values["R_scales"]) >= 1 for run in found.verification.runs)


def test_a_scale_that_no_small_denominator_holds_is_reported_with_the_digits_that_make_it_none():
    nodes = "shape = Shape (x) kept = Gather (shape, k) s = Concat <axis = 0> (kept, hw) y = Resize (x, , , s)"
    text = model(nodes, x="n,3,10,10", extra="<int64[2] k = {0, 1}, int64[2] hw = {23, 20}>")
    (outcome,) = resizefix.promote_scales(text, for_="tensorrt", verify=False, on_refusal="return").outcomes
    assert outcome.reason == "its scale 2.3000002 is not a whole number over 1000, nor over any other up to 10,000"
    assert outcome.retry_args == ("--for", "onnxruntime")


def test_where_sizes_decide_the_samples_the_original_with_those_sizes_is_the_reference():
    """A factor that makes a whole size samples as the scale does; else the size decides, and the difference is said."""
    result = promoted(LINEAR, x="1,3,10,14", denominator=10, at=[[1.5], [1.7]])
    runs = {(run.values["up_scales"], run.optimized): run for run in result.verification.runs}
    for optimized in (False, True):
        whole, rounded = runs[(15,), optimized], runs[(17,), optimized]
        assert (whole.reference, whole.bitwise, whole.from_scales) == ("scales", True, None)
        assert (rounded.reference, rounded.bitwise or optimized) == ("sizes", True)
        assert rounded.from_scales > 1e-3
    reason = result.verification.reason or ""
    assert reason.count("no whole number") == 1
    assert reason.endswith("(up_scales: multiples of 5)")


@pytest.mark.parametrize("place", ["main", "function"])
def test_the_reference_by_sizes_is_found_wherever_the_node_stands(place):
    """Its lengths need not be seen: the original works the sizes out itself, in another way than the new model."""
    resize = '[R] y = Resize <mode = "linear"> (x, , s)'
    scales = "s = Constant <value = float[4] {1, 1, 1.3, 1.3}> ()"
    nodes = f"{{ {scales} {resize} }}"
    if place == "function":
        nodes = f'{{ y = d.F (x) }} <domain: "d", opset_import: ["" : 13]> F (x) => (y) {nodes}'
    original = onnx_text.model(f"(float[1,1,h,w] x) => (float[?,?,?,?] y) {nodes}", 13, "d")
    result = resizefix.promote_scales(original, for_="tensorrt", denominator=10, shape={"x": (1, 1, 9, 9)})
    assert {run.reference for run in result.verification.runs} >= {"sizes"}
    assert all(run.bitwise for run in result.verification.runs if not run.optimized)
    (outcome,) = result.outcomes
    assert (outcome.exact, (outcome.max_abs_diff or 0) > 0) == (False, True)
    assert "other points are sampled" in (outcome.reason or "")


def test_the_lengths_of_a_tensor_in_a_function_are_not_asked_for():
    """Its name is none of the main graph; there, the sentence about sizes that are rounded down names no factors."""
    function = """<domain: "d", opset_import: ["" : 13]> F (inner) => (z) {
        s = Constant <value = float[4] {1, 1, 1.5, 1.5}> ()
        [R] z = Resize <mode = "linear"> (inner, , s) }"""
    original = onnx_text.model(f"(float[1,1,h,w] x) => (float[?,?,?,?] y) {{ y = d.F (x) }} {function}", 13, "d")
    result = resizefix.promote_scales(original, for_="tensorrt", denominator=2, shape={"x": (1, 1, 8, 9)})
    assert "no whole number" in (result.verification.reason or "")


def test_sizes_that_all_calls_of_a_function_pass_move_the_samples_as_those_of_the_main_graph_do():
    function = """<domain: "d", opset_import: ["" : 13]> F (inner) => (z) {
        s = Constant <value = float[4] {1, 1, 1.5, 1.5}> ()
        [R] z = Resize <mode = "linear"> (inner, , s) }"""
    for width, status in ((9, "refused"), (8, "changed")):
        text = f"(float[1,1,8,{width}] x) => (float[?,?,?,?] y) {{ y = d.F (x) }} {function}"
        original = onnx_text.model(text, 13, "d")
        result = resizefix.promote_scales(original, for_="tensorrt", denominator=2, on_refusal="return")
        assert result.outcomes[0].status.value == status


def test_sizes_that_are_known_to_move_the_samples_are_refused():
    """Fed its old value, the new model would not compute what the old one did."""
    for size, changed in ((9, False), (8, True)):
        (outcome,) = promoted(LINEAR, "1, 1, 1.5, 1.5", x=f"1,3,{size},{size}").outcomes
        assert (outcome.status.value == "changed", outcome.exact) == (changed, True)
        assert changed or "13/9 is another scale" in (outcome.reason or "")


def test_a_size_that_whole_numbers_make_otherwise_is_refused():
    scale = float(np.float32(0.7))  # 0.7 × 10 is 7 in float32, 699999988 × 10 over 10⁹ is 6
    reason = refused(LINEAR, f"1, 1, {scale!r}, {scale!r}", x="1,3,10,10", denominator=10**9)
    assert "6/10 is another scale" in reason


def test_what_was_not_measured_is_not_called_exact():
    for sizes, exact in (("h,w", False), ("8,8", True)):
        result = promoted(LINEAR, "1, 1, 1.5, 1.5", x=f"1,3,{sizes}", verify=False)
        assert [outcome.exact for outcome in result.outcomes] == [exact]


def test_axes_pick_the_lengths_they_name():
    result = promoted("[up] y = Resize <axes = [3, 2]> (x, , s)", "2, 3", opset=18)
    assert result.inputs[0].value == (2, 3)
    assert run(result.model, [2, 3]).shape == (1, 3, 24, 16)


def test_before_opset_11_the_whole_number_is_cast():
    result = promoted(UPSAMPLE, opset=9)
    assert "Cast" in [node.op_type for node in result.model.graph.node]
    assert run(result.model, [4]).shape == (1, 3, 32, 32)


@pytest.mark.parametrize(
    ("node", "scales", "options", "why"),
    [
        (UPSAMPLE, "1, 1, 1.5, 1.5", {"opset": 9}, "opset 11"),
        ('y = Resize <mode = "linear", antialias = 1> (x, , s)', "1, 1, 2, 2", {"opset": 18}, "antialias"),
        (RESIZE, "1, 1, 2, 2", {"form": "scales"}, "no float input"),
    ],
)
def test_what_tensorrt_refuses_anyway_is_refused_with_the_rule(node, scales, options, why):
    assert why in refused(node, scales, **options)


def test_a_default_would_silently_become_a_constant():
    with pytest.raises(resizefix.UsageError, match="constant"):
        promoted(RESIZE, keep_default=True)


def test_the_profile_covers_dynamic_inputs_and_the_flags_spell_it():
    from resizefix.library.tensorrt_profile import trtexec_flags

    result = promoted(RESIZE, x="n,3,h,w", shape={"x": [1, 3, 20, 30]})
    ranges = result.profile["x"]
    assert (ranges.min, ranges.opt, ranges.max) == ((1, 3, 10, 15), (1, 3, 20, 30), (2, 3, 40, 60))
    assert trtexec_flags("m.onnx", result.profile) == (
        "trtexec --onnx=m.onnx --minShapes=x:1x3x10x15,up_scales:1 --optShapes=x:1x3x20x30,up_scales:2 "
        "--maxShapes=x:2x3x40x60,up_scales:4"
    )


def test_a_second_run_has_nothing_to_do():
    again = resizefix.promote_scales(promoted(RESIZE).model, for_="tensorrt")
    assert not again.changed
    assert "already follow the graph input" in (again.outcomes[0].reason or "")


def test_a_single_entry_before_opset_11_is_cast_too():
    made = onnx_text.model("(float[4] x) => (float[] y) <float[1] s = {2}> { [up] y = Resize (x, s) }", 10, ir=5)
    result = resizefix.promote_scales(made, for_="tensorrt")
    assert [node.op_type for node in result.model.graph.node] == ["Cast", "Resize"]
    assert result.verification.passed


def test_a_scale_that_leaves_nothing_of_an_axis_is_no_size():
    """Scales may make an axis empty; a size of 0 no runtime takes. So is an input that is given back, too."""
    halved = onnx_text.model(
        f"(float[1,3,1,8] x) => (float[1,3,0,4] y, float[] x) <float[4] s = {{1, 1, 0.5, 0.5}}> {{ {LINEAR} }}"
    )
    halved.graph.output[1].type.tensor_type.ClearField("shape")
    result = resizefix.promote_scales(halved, for_="tensorrt", verify=False, on_refusal="return")
    assert not result.changed
    assert "makes 1 into 0" in (result.outcomes[0].reason or "")


def test_where_an_axis_may_become_empty_it_is_said():
    for scale, said in (("0.5", True), ("1.5", False)):
        (outcome,) = promoted(LINEAR, f"1, 1, {scale}, {scale}", x="1,3,h,w", verify=False).outcomes
        assert ("no runtime takes the size 0" in (outcome.reason or "")) == said


def test_scales_that_follow_a_float_input_that_must_stay_are_refused_with_what_to_do():
    fed = resizefix.promote_scales(model(RESIZE), input_name="fed").model
    (outcome,) = resizefix.promote_scales(fed, for_="tensorrt", shape_inputs=False, on_refusal="return").outcomes
    assert outcome.status.value == "refused"
    assert "make the input int64 (resizefix legalize --target tensorrt-rtx --shape-inputs" in outcome.reason
