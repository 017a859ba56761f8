"""Every command that is suggested succeeds: benchmarks/suggestions.py, over a few models of each kind."""

import sys
from pathlib import Path

import onnx.parser
import onnx_text
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from suggestions import examine  # noqa: E402

MODELS = (
    "srcnn_x3_opset11",
    "computed_sizes_opset13",
    "unet_nearest_opset11",
    "handmade/scales_graph_input",
    "handmade/scales_graph_input_default",
    "sizes_of_skip_opset11",
)


@pytest.mark.parametrize("name", MODELS)
def test_every_command_that_is_suggested_succeeds(name):
    _, done = examine(str(ROOT / "fixtures" / f"{name}.onnx"))
    assert done
    failed = [(suggestion, ended) for suggestion, ended in done if ended.code != 0]
    assert failed == []


HARD = {
    "an element type that onnxruntime has no kernel for": (
        "(double[1,3,8,8] x) => (double[1,3,?,?] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }"
    ),
    "an operator of another domain, called Upsample": (
        "(float[1,3,8,8] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> { y = other.Upsample (x, s) }"
    ),
    "such an operator beside a resize that all accept": (
        "(float[1,3,8,8] x, float[1,3,k,l] z) => (float[?,?,?,?] y, float[?,?,?,?] w) <float[4] s = {1, 1, 2, 2}> "
        "{ w = other.Upsample (x, s) t = Shape (z) y = Resize (x, , , t) }"
    ),
    "sizes that are an input": (
        '(float[1,3,8,8] x, int64[4] t) => (float[1,3,?,?] y) { a = Resize <mode = "linear"> (x, , , t) y = Neg (a) }'
    ),
    "a form that TensorRT cannot take": (
        "(float[1,3,8,8] x, float[8] roi) => (float[1,3,?,?] y) <float[4] s = {1, 1, 1.5, 1.5}> "
        '{ y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, s) }'
    ),
    "a node that reads two element types": (
        "(float[1,3,8,8] x) => (float[1,3,?,?] y) <float[4] s = {1, 1, 2, 2}> "
        "{ h = Cast <to = 10> (x) z = Add (x, h) y = Resize (z, , s) }"
    ),
    "two axes of two scales before a skip connection": (
        "(float[1,3,8,8] x, float[1,3,12,20] z) => (float[1,3,12,20] y) <float[4] s = {1, 1, 1.5, 2.5}> "
        "{ a = Resize (x, , s) y = Add (a, z) }"
    ),
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_what_cannot_be_done_is_not_suggested(text, tmp_path):
    model = onnx_text.model(text, 13, "other")
    onnx.save(model, tmp_path / "m.onnx")
    _, done = examine(str(tmp_path / "m.onnx"))
    assert [(suggestion, ended) for suggestion, ended in done if ended.code != 0] == []
