"""What is called exact was compared bit for bit, or cannot differ."""

import numpy as np
import onnx
import onnx_text
import ort_runs
import pytest

import resizefix
from resizefix.verification.compare import half_units

# onnxruntime computes half precision in float32 between casts; a chain that reads the shape keeps a cast where it is.
HALVES = onnx_text.model("""(float16[1,4,5] x) => (float16[] y)
    <int64[3] shape = {1, 12, 15}, float[3] s = {1, 3, 3}, float[3] c = {1, 24, 30}>
    { a = Resize <mode = "linear"> (x, , s) b = Reshape (a, shape) n = Shape (b) f = Cast <to = 1> (n) t = Div (c, f)
      y = Resize <mode = "linear"> (b, , t) }""")


def run(model, **feeds):
    x = np.random.default_rng(0).normal(size=(1, 4, 5)).astype(np.float16)
    return ort_runs.run(model, {"x": x, **feeds})[0]


@pytest.mark.parametrize("verify", [True, False])
def test_frozen_half_precision_whose_last_bits_differ_is_not_called_exact(verify):
    result = resizefix.freeze_scales(HALVES, verify=verify)
    changed = [outcome for outcome in result.outcomes if outcome.status.value == "changed"]
    apart = np.max(np.abs(run(HALVES).astype(np.float64) - run(result.model)))
    assert 0 < apart < 2e-3
    assert [outcome.exact for outcome in changed] == [False] * len(changed) != []
    assert [outcome.max_abs_diff is not None for outcome in changed] == [verify] * len(changed)


def test_promoted_half_precision_passes_with_the_difference_of_its_last_bits():
    result = resizefix.promote_scales(HALVES, node=["#1"])
    assert result.verification.passed
    assert "last bits of half precision" in (result.verification.reason or "")
    assert [(outcome.exact, bool(outcome.max_abs_diff)) for outcome in result.outcomes] == [(False, True)]


def test_single_precision_is_exact():
    model = onnx.ModelProto.FromString(HALVES.SerializeToString())
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for verify in (True, False):
        outcomes = resizefix.freeze_scales(model, verify=verify).outcomes
        assert [(outcome.exact, outcome.max_abs_diff) for outcome in outcomes] == [(True, None)] * 2


def test_half_precision_is_not_called_exact_by_runs_at_other_scales():
    """At the scales that a proof tries the bits may agree; at those a user feeds they need not."""
    text = """(float16[6,2] x) => (float16[] y)
        <float[2] s = {0.5, 0.5}, int64[2] shape = {3, 1}, float[2] c = {4, 2}>
        { a = Resize <mode = "linear"> (x, s) b = Reshape (a, shape) n = Shape (b) f = Cast <to = 1> (n) t = Div (c, f)
          y = Resize <mode = "linear"> (b, t) }"""
    result = resizefix.promote_scales(onnx_text.model(text, 10, ir=5), node=["#1"])
    assert result.verification.passed
    assert all(run.bitwise for run in result.verification.runs)
    assert [(outcome.exact, outcome.max_abs_diff) for outcome in result.outcomes] == [(False, 0.0)]


def test_half_precision_whose_constant_scales_become_an_input_keeps_its_casts_and_is_exact():
    model = onnx_text.model("""(float16[1,4,5] x) => (float16[] y)
        <float[3] s = {1, 1.6, 2.4}> { a = Relu (x) b = Resize <mode = "linear"> (a, , s) y = Sigmoid (b) }""")
    for verify in (True, False):
        promoted = resizefix.promote_scales(model, verify=verify)
        assert [outcome.exact for outcome in promoted.outcomes] == [True]
        (source,) = promoted.inputs
        frozen = resizefix.freeze_scales(promoted.model, set={source.name: source.value}, verify=verify)
        assert [outcome.exact for outcome in frozen.outcomes] == [True]
    before = run(resizefix.freeze_scales(promoted.model, set={source.name: (1.0, 2.5, 0.7)}).model)
    after = run(promoted.model, **{source.name: np.array([1, 2.5, 0.7], np.float32)})
    assert before.tobytes() == after.tobytes()


def test_half_precision_whose_shape_is_multiplied_by_the_new_input_is_not_called_exact():
    model = onnx_text.model("""(float16[1,4,5] x) => (float16[] y)
        <float[3] s = {1, 2, 2}> { a = Relu (x) y = Resize (a, , s) }""")
    promoted = resizefix.promote_scales(model, for_="tensorrt", verify=False)
    assert [outcome.exact for outcome in promoted.outcomes] == [False]


COPIED_AND_SUMMED = onnx_text.model("""(float[1,2,8,10] x) => (float[] y, float[] z)
    <float[4] s = {1, 1, 2, 2}> {
      a = Resize <mode = "nearest", nearest_mode = "round_prefer_floor"> (x, , s)
      y = Relu (a)
      b = Resize <mode = "linear"> (x, , s)
      z = Sigmoid (b) }""")


def test_a_copied_node_stays_exact_beside_one_that_adds_in_another_order():
    result = resizefix.legalize(COPIED_AND_SUMMED, target="tensorrt-7.0")
    assert [(outcome.exact, outcome.max_abs_diff is None) for outcome in result.outcomes] == [(True,) * 2, (False,) * 2]


def test_a_rewrite_and_its_verification_name_one_bound():
    result = resizefix.legalize(COPIED_AND_SUMMED, target="tensorrt-7.0")
    bound = result.outcomes[1].bound
    runs = [run for run in result.verification.runs if not run.optimized and not run.bitwise]
    assert 0 < bound < 1e-5
    assert {run.bound for run in runs} == {bound}


def test_where_later_nodes_make_more_of_a_difference_the_node_alone_is_held_to_its_bound():
    model = onnx_text.model("""(float[1,2,8,10] x) => (float[] z)
        <float[4] s = {1, 1, 2, 2}, float most = {0.9}> {
          b = Resize <mode = "linear"> (x, , s)
          c = Resize <mode = "linear"> (x, , s)
          d = Mul (c, most)
          z = Sub (b, d) }""")
    result = resizefix.legalize(model, target="tensorrt-7.0", node=["#0"])
    (outcome,) = result.outcomes
    plain = [run for run in result.verification.runs if not run.optimized]
    assert plain[0].max_rel_diff > outcome.bound
    assert [run.bound == outcome.bound for run in plain] == [False, True]


@pytest.mark.parametrize("dims", ["1,1,3,1000", "1,1,h,w"])
def test_a_bound_holds_at_the_users_size_or_its_condition_is_stated(dims):
    """E20 on a long axis: one number for all sizes was exceeded from about 500 samples on."""
    node = 'y = Resize <mode = "cubic", coordinate_transformation_mode = "half_pixel_symmetric"> (x, , s)'
    text = f"(float[{dims}] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, 1, 7}}> {{ {node} }}"
    model = onnx_text.model(text, 19, ir=9)
    result = resizefix.legalize(model, target="tensorrt-8.5", allow_inexact=True, lower=False)
    (outcome,) = result.outcomes
    x = np.random.default_rng(0).choice([-1, 1], (1, 1, 3, 1000)).astype(np.float32)
    apart = np.abs(run(model, x=x) - run(result.model, x=x)).max()
    assert 0 < apart < outcome.bound < 100 * apart
    assert outcome.measured_at == {"x": [int(size) for size in dims.split(",")] if "h" not in dims else [1, 1, 32, 48]}
    assert ("for axes of up to 1,024 samples" in outcome.reason) == ("h" in dims)
    assert f"within {outcome.bound:.2g} of the input's largest value" in outcome.reason


# Of multiples of a step a linear interpolation makes many halves, which are rounded up or down.
ROUNDED = """(float[1,3,6,4,4] x) => (uint8[1,3,9,12,4] y)
<float step = {0.05}, uint8 zero = {128}, float[5] s = {1, 1, 1.5, 3, 1}> {
    q = QuantizeLinear (x, step, zero)
    d = DequantizeLinear (q, step, zero)
    r = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (d, , s)
    y = QuantizeLinear (r, step, zero)
}"""


@pytest.mark.parametrize("allow_inexact", [False, True])
def test_a_rounding_turned_by_a_last_bit_passes_as_noise_turns_it_too_and_is_reported(allow_inexact):
    result = resizefix.legalize(onnx_text.model(ROUNDED, 19), target="tensorrt-7.0", allow_inexact=allow_inexact)
    assert result.verification.passed
    assert [(outcome.exact, outcome.max_abs_diff) for outcome in result.outcomes] == [(False, 1)]


def test_where_every_output_is_empty_the_verdict_says_that_only_the_node_was_compared():
    cut = "int64[1] zero64 = {0}, "
    empty = ROUNDED.replace("<float step", f"<{cut}float step").replace("[1,3,9", "[N,3,9")
    empty = empty.replace("y = Quant", "t = Quant").replace("\n}", "\n    y = Slice (t, zero64, zero64)\n}")
    verification = resizefix.legalize(onnx_text.model(empty, 19), target="tensorrt-7.0").verification
    assert verification.passed
    assert "only around each changed node" in (verification.reason or "")
    assert "Every output is empty" in (verification.reason or "")
    assert verification.runs


def halved_inside(kind):
    constants = "float[2] s = {2.5, 2.5}, float[2] t = {1.25, 3}, float[0] e = {}"
    nodes = """a = Abs (x) y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (a, e, s)
        c = Cast <to = 1> (y) z = Resize <mode = "cubic"> (c, e, t)"""
    return onnx_text.model(f"({kind}[2,2] x) => (float[?,?] z) <{constants}> {{ {nodes} }}", 11, ir=6)


def test_the_last_bits_of_what_is_resized_are_allowed_in_any_output_and_reported():
    result = resizefix.legalize(halved_inside("float16"), target="tensorrt-5.1", node=["#0"])
    assert result.verification.passed
    (outcome,) = result.outcomes
    assert not outcome.exact
    assert 1e-5 < outcome.max_abs_diff < 2e-3
    assert all(run.bound < 2e-3 for run in result.verification.runs)


def test_the_last_bits_are_those_of_the_coarsest_type():
    assert half_units([onnx.TensorProto.FLOAT, None]) == 0
    assert half_units([onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16]) == 2 * 2.0**-10
    assert half_units([onnx.TensorProto.BFLOAT16]) == 2 * 2.0**-7


def test_trt_legacy_says_why_a_model_of_half_precision_comes_near_only():
    text = "(float16[1,1,4,4] x) => (float16[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }"
    (outcome,) = resizefix.trt_legacy(onnx_text.model(text)).outcomes
    assert not outcome.exact
    assert outcome.reason.endswith("; float16 results are rounded at other places from opset to opset")


def test_without_half_precision_the_bound_is_that_of_other_sums():
    result = resizefix.legalize(halved_inside("float"), target="tensorrt-5.1", node=["#0"])
    assert result.verification.passed
    assert all(run.max_rel_diff <= 1e-5 for run in result.verification.runs)
