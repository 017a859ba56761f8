"""Operands that a local function gets as arguments are judged by what its calls pass."""

from __future__ import annotations

import onnx
import onnx.parser

import resizefix
from resizefix.outcome import Status


def model(element: str) -> onnx.ModelProto:
    """A function that resizes by an argument, which the one call gives from an initializer of this type."""
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[1,1,4,4] x) => (float[a,b,c,d] z)
        <{element}[4] s = {{1, 1, 2, 2}}> {{ [call] z = l.f (x, s) }}
        <domain: "l", opset_import: ["" : 13]> f (x, s) => (y) {{ [R] y = Resize <mode = "nearest"> (x, , s) }}"""
    )


def test_float16_scales_are_rejected_and_repaired():
    broken = model("float16")
    verdict = resizefix.check(broken, target="onnxruntime")
    assert [violation.rule for violation in verdict.violations] == ["extent-type"]
    result = resizefix.repair(broken)
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED]
    assert result.verification.passed
    assert resizefix.check(result.model, target="onnxruntime").accepted


def test_float32_scales_are_right_as_they_are():
    assert resizefix.check(model("float"), target="onnxruntime").accepted
    assert not resizefix.repair(model("float")).changed


def test_a_resize_of_two_inputs_is_refused_with_both_readings():
    """onnxscript writes one of today so, sclblonnx leaves one of opset 10: linear, they compute something else."""
    broken = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,4,4] x) => (float[a,b,c,d] y)
        <float[4] s = {1, 1, 2, 2}> { [R] y = Resize <mode = "linear"> (x, s) }"""
    )
    (outcome,) = resizefix.repair(broken).outcomes
    assert outcome.status is Status.REFUSED
    assert "as a node of opset 10 it samples asymmetrically, as one of opset 13 at half_pixel" in (outcome.reason or "")
    refused = resizefix.promote_scales(broken, verify=False).outcomes
    assert [one.status for one in refused] == [Status.REFUSED]
