"""Whether a runtime may load a model: what onnxruntime loads is no fault, whatever onnx.checker says."""

import onnx_text
import ort_runs
import pytest

from resizefix.document.structure import why_invalid, why_not_loaded

BEFORE_9 = {
    "a Constant of integers": """(float[6] x) => (float[2,3] y) {
        s = Constant <value = int64[2] {2, 3}> () y = Reshape (x, s) }""",
    "a Constant of integers in a body": """(bool c, float[6] x) => (float[2,3] y) { y = If (c) <
        then_branch = a () => (float[2,3] t) { s = Constant <value = int64[2] {2, 3}> () t = Reshape (x, s) },
        else_branch = b () => (float[2,3] e) { r = Constant <value = int64[2] {2, 3}> () e = Reshape (x, r) }> }""",
}


@pytest.mark.parametrize("text", BEFORE_9.values(), ids=BEFORE_9.keys())
def test_integers_of_a_constant_are_loaded_before_opset_9(text):
    model = onnx_text.model(text, 8)
    ort_runs.opened(model)
    assert why_invalid(model)
    assert why_not_loaded(model) is None


@pytest.mark.parametrize("field", ["name", "shape"])
def test_a_graph_without_a_name_and_an_output_without_a_shape_are_loaded(field):
    model = onnx_text.model("(float[1] x) => (float[1] y) { y = Relu (x) }")
    (model.graph if field == "name" else model.graph.output[0].type.tensor_type).ClearField(field)
    ort_runs.opened(model)
    assert why_invalid(model)
    assert why_not_loaded(model) is None


def test_a_type_that_does_not_fit_is_not_loaded_before_opset_9_either():
    text = "(float[6] x) => (float[6] y) { s = Constant <value = int64[1] {2}> () y = Mul (x, s) }"
    assert "Mul" in (why_not_loaded(onnx_text.model(text, 8)) or "")
