"""Where a later node rounds to steps, another order of sums is a whole step: refused, with what lets it pass."""

import onnx.parser
import pytest

from resizefix.library.result import VerificationFailedError
from resizefix.library.rewrite import legalize

# Of multiples of a step a linear interpolation makes many halves, which are rounded up or down.
MODEL = """<ir_version: 9, opset_import: ["" : 19]>
g (float[1,3,6,4,4] x) => (uint8[1,3,9,12,4] y)
<float step = {0.05}, uint8 zero = {128}, float[5] s = {1, 1, 1.5, 3, 1}> {
    q = QuantizeLinear (x, step, zero)
    d = DequantizeLinear (q, step, zero)
    r = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (d, , s)
    y = QuantizeLinear (r, step, zero)
}"""


def test_a_rounding_turned_by_a_last_bit_is_refused_and_reported_how_it_may_pass():
    with pytest.raises(VerificationFailedError, match=r"by at most 1: .*--allow-inexact lets up to 0\.5 of"):
        legalize(onnx.parser.parse_model(MODEL), target="tensorrt-7.0")


def test_it_passes_so_and_the_difference_is_reported():
    result = legalize(onnx.parser.parse_model(MODEL), target="tensorrt-7.0", allow_inexact=True)
    assert result.verification.passed
    assert [outcome.max_abs_diff for outcome in result.outcomes] == [1]


def test_where_every_output_is_empty_the_verdict_says_that_only_the_node_was_compared():
    cut = "int64[1] zero64 = {0}, "
    empty = MODEL.replace("<float step", f"<{cut}float step").replace("[1,3,9", "[N,3,9")
    empty = empty.replace("y = Quant", "t = Quant").replace("\n}", "\n    y = Slice (t, zero64, zero64)\n}")
    verification = legalize(onnx.parser.parse_model(empty), target="tensorrt-7.0").verification
    assert verification.passed
    assert "only around each changed node" in (verification.reason or "")
    assert "Every output is empty" in (verification.reason or "")
    assert verification.runs
