"""Operands that a local function gets as arguments are judged by what its calls pass."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import resizefix
from resizefix.outcome import Status


def model(dtype: type) -> onnx.ModelProto:
    """A function that resizes by an argument, which the one call gives from an initializer of this type."""
    resize = helper.make_node("Resize", ["x", "", "s"], ["y"], "R", mode="nearest")
    function = helper.make_function("l", "f", ["x", "s"], ["y"], [resize], [helper.make_opsetid("", 13)])
    graph = helper.make_graph(
        [helper.make_node("f", ["x", "s"], ["z"], "call", domain="l")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1, 1, 2, 2], dtype), "s")],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("l", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)


def test_float16_scales_are_rejected_and_repaired():
    broken = model(np.float16)
    verdict = resizefix.check(broken, target="onnxruntime")
    assert [violation.rule for violation in verdict.violations] == ["extent-type"]
    result = resizefix.repair(broken)
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED]
    assert result.verification.passed
    assert resizefix.check(result.model, target="onnxruntime").accepted


def test_float32_scales_are_right_as_they_are():
    assert resizefix.check(model(np.float32), target="onnxruntime").accepted
    assert not resizefix.repair(model(np.float32)).changed


def test_a_resize_of_two_inputs_is_refused_with_both_readings():
    """onnxscript writes one of today so, sclblonnx leaves one of opset 10: linear, they compute something else."""
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "s"], ["y"], "R", mode="linear")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")],
    )
    broken = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (outcome,) = resizefix.repair(broken).outcomes
    assert outcome.status is Status.REFUSED
    assert "as a node of opset 10 it samples asymmetrically, as one of opset 13 at half_pixel" in (outcome.reason or "")
    refused = resizefix.promote_scales(broken, verify=False).outcomes
    assert [one.status for one in refused] == [Status.REFUSED]
