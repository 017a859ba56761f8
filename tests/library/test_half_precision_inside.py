"""Half precision before outputs of another type: its last bits come through."""

import onnx.parser
from onnx import TensorProto

from resizefix.library.rewrite import legalize
from resizefix.verification.bounds import half_units


def model(kind):
    return onnx.parser.parse_model(
        '<ir_version: 6, opset_import: ["" : 11]> '
        f"g ({kind}[2,2] x) => (float[?,?] z) "
        "<float[2] s = {2.5, 2.5}, float[2] t = {1.25, 3}, float[0] e = {}> { "
        'a = Abs (x) y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (a, e, s) '
        'c = Cast <to = 1> (y) z = Resize <mode = "cubic"> (c, e, t) }'
    )


def test_the_last_bits_of_what_is_resized_are_allowed_in_any_output_and_reported():
    result = legalize(model("float16"), target="tensorrt-5.1", node=["#0"])
    assert result.verification.passed
    (outcome,) = result.outcomes
    assert not outcome.exact
    assert 1e-5 < outcome.max_abs_diff < 2e-3
    assert all(run.bound < 2e-3 for run in result.verification.runs)


def test_the_last_bits_are_those_of_the_coarsest_type():
    assert half_units([TensorProto.FLOAT, None]) == 0
    assert half_units([TensorProto.FLOAT, TensorProto.FLOAT16]) == 2 * 2.0**-10
    assert half_units([TensorProto.BFLOAT16]) == 2 * 2.0**-7


def test_without_half_precision_the_bound_is_that_of_other_sums():
    result = legalize(model("float"), target="tensorrt-5.1", node=["#0"])
    assert result.verification.passed
    assert all(run.max_rel_diff <= 1e-5 for run in result.verification.runs)
