"""Which sites are refused as coupled, where the promotion of others decides it."""

from pathlib import Path

import onnx.parser
import onnx_text
import pytest

import resizefix
from resizefix.outcome import Status

CHANGED, REFUSED = Status.CHANGED, Status.REFUSED
# By what is to be seen: the model, and what becomes of its nodes.
COUPLED = {
    "a node before fixed sizes is free, though these are coupled": (
        """(float[1,1,4,4] x) => (float[1,1,6,6] y)
        <float[4] s = {1, 1, 0.5, 0.5}, int64[4] k = {1, 1, 6, 6}, int64[4] shape = {1, 1, 6, 6}>
        { [first] a = Resize (x, , s) [second] b = Resize (a, , , k) y = Reshape (b, shape) }""", [CHANGED, REFUSED]),
    # The chain divides 4 by the size that comes: the Reshape binds `second` alone.
    "a chain that makes a fixed size absorbs what comes when its node is refused": (
        """(uint8[3] x) => (uint8[4] y) <float[1] s = {0.75}, float[1] four = {4}, int64[1] shape = {4}>
        { [first] a = Resize (x, , s) n = Shape (a) f = Cast <to = 1> (n) t = Div (four, f)
          [second] b = Resize (a, , t) y = Reshape (b, shape) }""", [CHANGED, REFUSED]),
    "of two nodes with fixed sizes in a row the last alone is coupled": (
        """(float[4,3] x, float[18,12] skip) => (float[18,12] y) <int64[2] k = {4, 6}, int64[2] m = {18, 12}>
        { [first] a = Resize (x, , , k) [second] b = Resize (a, , , m) y = Add (b, skip) }""", [CHANGED, REFUSED]),
    # `second` is refused for the last Add; then it no longer follows `first`, and the Add before it does not fit.
    "a node that moves apart from one that keeps its sizes is coupled too": (
        """(float[1,1,4,4] x, float[1,1,8,8] skip) => (float[] y, float[] z)
        <float[4] s = {1, 1, 2, 2}, int64[4] k = {1, 1, 8, 8}>
        { [first] a = Resize (x, , s) [second] b = Resize (a, , , k) z = Add (a, b)
          y = Add (b, skip) }""", [REFUSED, REFUSED]),
    # Half of 2 is 1, and so is three quarters: only a step by a whole sample shows that the Reshape does not fit.
    "a short axis that rounding keeps does not pass for free": (
        """(float[1,1,2,2] x) => (float[1] y) <float[4] s = {1, 1, 0.5, 0.5}, int64[1] shape = {1}>
        { [first] a = Resize (x, , s) y = Reshape (a, shape) }""", [REFUSED]),
}  # fmt: skip


@pytest.mark.parametrize("what", COUPLED)
def test_a_site_whose_scale_breaks_the_model_is_refused_and_no_other(what):
    text, statuses = COUPLED[what]
    result = resizefix.promote_scales(onnx_text.model(text, 18))
    assert [outcome.status for outcome in result.outcomes] == statuses
    assert all("breaks the model" in outcome.reason for outcome in result.outcomes if outcome.status is REFUSED)
    assert result.verification.passed == (CHANGED in statuses)
    verdicts = {CHANGED: "free", REFUSED: "coupled"}
    found = [(coupling.node, coupling.verdict.value) for coupling in result.verification.coupling]
    assert found == [(name, verdicts[one]) for name, one in zip(("first", "second"), statuses, strict=False)]


@pytest.mark.parametrize("name", ["unet_nearest_opset11", "unet_linear_dynamo23"])
def test_without_verification_what_sizes_show_to_be_coupled_is_refused_too(name):
    path = Path(__file__).parents[2] / "fixtures" / f"{name}.onnx"
    unverified = resizefix.promote_scales(path, verify=False)
    verified = resizefix.promote_scales(path)
    assert [outcome.status for outcome in unverified.outcomes] == [outcome.status for outcome in verified.outcomes]
    assert [outcome.reason for outcome in unverified.outcomes] == [outcome.reason for outcome in verified.outcomes]
    assert resizefix.promote_scales(path, verify=False, allow_coupled=True).changed


def test_where_a_model_does_not_run_as_a_whole_what_sizes_show_to_be_coupled_is_refused():
    """The Sum of two element types keeps onnxruntime from loading it."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,4,4] x, float16[1] h) => (float[1,1,8,8] y)
        <float[4] s = {1, 1, 2, 2}>
        { [first] a = Resize (x, , s) [second] b = Resize (x, , s) [add] y = Add (a, b) [bad] z = Mul (y, h) }"""
    )
    alone, together = resizefix.promote_scales(model), resizefix.promote_scales(model, shared=True)
    assert [outcome.status for outcome in alone.outcomes] == [REFUSED, REFUSED]
    assert all(outcome.retry_args == ("--shared",) for outcome in alone.outcomes)
    assert together.changed
    assert together.verification.passed
