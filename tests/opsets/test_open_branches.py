"""Without verification it is not seen that branches give two sizes where the file leaves them open: that is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import resizefix


def model(sizes: list[int | str], other: float) -> onnx.ModelProto:
    """An If whose branches resize the input by 2 and by another scale."""

    def branch(name: str, scale: float) -> onnx.GraphProto:
        scales = numpy_helper.from_array(np.array([1, 1, scale, scale], np.float32), f"s_{name}")
        node = helper.make_node("Resize", ["x", "", f"s_{name}"], [name], f"R_{name}", mode="nearest",
                                coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        made = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, None, None])
        return helper.make_graph([node], name, [], [made], [scales])

    node = helper.make_node("If", ["c"], ["y"], "choice", then_branch=branch("a", 2.0), else_branch=branch("b", other))
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes),
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", 1, [1, 1, None, None])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("other", [2.0, 3.0])
def test_open_sizes_are_refused_without_verification(other):
    result = resizefix.trt_legacy(model([1, 1, "h", "w"], other), verify=False)
    assert not result.changed
    assert "If-1 needs one shape" in result.blockers[0].reason
    assert result.blockers[0].node == "choice"


def test_known_and_equal_sizes_are_converted_without_verification():
    assert resizefix.trt_legacy(model([1, 1, 4, 4], 2.0), verify=False).changed


def test_with_verification_a_run_decides():
    assert resizefix.trt_legacy(model([1, 1, "h", "w"], 2.0)).verification.passed
