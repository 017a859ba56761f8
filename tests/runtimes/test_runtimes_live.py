"""The runtimes themselves, where they are installed, each in its own process."""

import math

import numpy as np
import onnx
import pytest
from fixture_models import FIXTURES
from live_runtimes import asked, require
from onnx_text import model
from ort_runs import opened

import resizefix
from resizefix.runtimes.catalogue import ROWS, runtime_named
from resizefix.runtimes.runtime import Ending, Runtime

DOUBLED = model(
    """(float[1,2,3,4] x) => (float[1,2,6,8] y, float[1,2,3,4] r) <float[4] s = {1, 1, 2, 2}> {
        r = Relu (x) [up] y = Resize
            <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (r, , s) }"""
)


@pytest.mark.parametrize("name", [row.name for row in ROWS])
def test_it_computes_what_onnx_says_of_the_plainest_upsampling_and_keeps_the_order_of_outputs(name):
    require(name)
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 4)).astype(np.float32)
    with Runtime(runtime_named(name), time_limit=120) as runtime:
        answer = asked(runtime, DOUBLED, {"x": x}, {"x": -x})
    assert answer.ending is Ending.RAN, answer.message
    for given, found in zip((x, -x), answer.results, strict=True):
        relu = np.maximum(given, 0)
        np.testing.assert_array_equal(found["r"], relu)
        np.testing.assert_array_equal(found["y"], relu.repeat(2, axis=2).repeat(2, axis=3))


def promoted_srcnn(runtime: Runtime, mode: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What the runtime and onnxruntime without optimisation make of it at ×2, ×3, ×4 and ×2.5, in one session."""
    srcnn = onnx.load(FIXTURES / "srcnn_x3_opset11.onnx")
    (resize,) = (node for node in srcnn.graph.node if node.op_type == "Resize")
    next(attribute for attribute in resize.attribute if attribute.name == "mode").s = mode.encode()
    result = resizefix.promote_scales(srcnn)
    (source,) = result.inputs
    x = np.load(FIXTURES / "srcnn_expected.npz")["input"]
    feeds = [{"input": x, source.name: np.array([1, 1, k, k], np.float32)} for k in (2, 3, 4, 2.5)]
    answer = asked(runtime, result.model, *feeds)
    assert answer.ending is Ending.RAN, answer.message
    (output,) = answer.results[0]
    session = opened(result.model)
    return [found[output] for found in answer.results], [session.run([output], one)[0] for one in feeds]


@pytest.mark.parametrize(
    ("name", "mode", "bound"),
    [
        ("onnxruntime", "cubic", 1e-5),
        ("openvino", "cubic", 1e-5),
        ("opencv-5", "cubic", 1e-5),
        ("openvino", "linear", 1e-5),
        ("mnn", "linear", 2e-4),  # measured: 9.2e-5, of values up to 1.2, behind convolutions
    ],
)
def test_the_promoted_srcnn_runs_at_many_scales_in_one_session(name, mode, bound):
    """1e-5 is the bound of onnxruntime against torch; the convolutions of others add up in another order."""
    require(name)
    with Runtime(runtime_named(name), time_limit=120) as runtime:
        found, wanted = promoted_srcnn(runtime, mode)
    assert [one.shape for one in found] == [one.shape for one in wanted]
    assert max(np.abs(one - other).max() for one, other in zip(found, wanted, strict=True)) <= bound


def test_the_promoted_cubic_srcnn_runs_in_mnn_and_is_wrong_at_the_upper_and_left_border_alone():
    """MNN's cubic is wrong where the source coordinate is negative (3.6.1), fed scales or not: i < k/2. Behind it stand
    convolutions 9×9, 1×1 and 5×5, which reach 6 further; measured inside: 9.6e-5."""
    require("mnn")
    with Runtime(runtime_named("mnn"), time_limit=120) as runtime:
        found, wanted = promoted_srcnn(runtime, "cubic")
    assert [one.shape for one in found] == [one.shape for one in wanted]
    for k, one, other in zip((2, 3, 4, 2.5), found, wanted, strict=True):
        border = math.ceil(k / 2) + 6
        assert np.abs(one - other)[:, :, border:, border:].max() <= 2e-4


def test_the_memory_of_an_input_lives_until_ncnn_has_computed_from_it():
    require("ncnn")
    # pnnx knows no batch here, and the input has four axes: such a clone reads the array that it was made of.
    parts = [f"p{index}" for index in range(16)]
    made = model(
        f"""(float[1,8,16,16] x) => (float[1,8,16,16] y) <int64[16] lengths = {{{", ".join("1" * 16)}}}> {{
            {", ".join(parts)} = Split <axis = 2> (x, lengths) y = Concat <axis = 2> ({", ".join(parts[::-1])}) }}"""
    )
    x = np.random.default_rng(0).standard_normal((1, 8, 16, 16)).astype(np.float32)
    with Runtime(runtime_named("ncnn"), time_limit=120) as runtime:
        answer = asked(runtime, made, *[{"x": x}] * 3)
    assert answer.ending is Ending.RAN, answer.message
    for found in answer.results:
        np.testing.assert_array_equal(found["y"], x[:, :, ::-1])
