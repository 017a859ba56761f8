"""Each output-size rule against the runtime it is named after."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from resize_runs import nearest, open_quietly, run, scaled

from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.shapes.output_size import every_rule_gives, inference_length, kernel_length, torch_length

FLOOR = nearest((CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR))


def lengths():
    return st.integers(1, 512)


def model(size, scale):
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[1,{size}] x) => (float[a,b] y, int64[2] shape)
        <float[2] scales = {{2, {scale!r}}}> {{ y = Resize (x, , scales) shape = Shape (y) }}"""
    )


@settings(max_examples=200, deadline=None)
@given(lengths(), lengths())
def test_the_kernels_rule_is_what_onnxruntime_allocates(size, out):
    scale = float(np.float32(out / size))
    x = np.zeros((1, size), np.float32)
    assert run(scaled(FLOOR, (2, scale), x), x).shape[1] == kernel_length(scale, size)


@settings(max_examples=100, deadline=None)
@given(lengths(), lengths())
@pytest.mark.measured_on("onnx", "1.20", "inference multiplied in float32")
def test_onnxs_rule_is_what_shape_inference_says(size, out):
    scale = float(np.float32(out / size))
    inferred = onnx.shape_inference.infer_shapes(model(size, scale)).graph.output[0].type.tensor_type.shape
    assert inferred.dim[1].dim_value == inference_length(scale, size)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12))
def test_onnxs_rule_is_what_the_reference_evaluator_computes(size, out):
    scale = float(np.float32(out / size))
    y = ReferenceEvaluator(model(size, scale)).run(["y"], {"x": np.zeros((1, size), np.float32)})[0]
    assert y.shape[1] == inference_length(scale, size)


def test_torch_sees_the_double_scale():
    assert torch_length(1.8, 5) == 9
    assert torch_length(float(np.float32(1.8)), 5) == inference_length(1.8, 5) == 8


@pytest.mark.measured_on("onnx", "1.20", "inference multiplied in float32")
def test_five_to_nine_is_where_the_kernel_and_its_own_shape_inference_disagree():
    scale = float(np.float32(9 / 5))
    y, shape = open_quietly(model(5, scale).SerializeToString()).run(None, {"x": np.zeros((1, 5), np.float32)})
    assert y.shape[1] == kernel_length(scale, 5) == 9
    assert shape[1] == inference_length(scale, 5) == 8
    assert not every_rule_gives(scale, 5, 9)
    assert not every_rule_gives(scale, 5, 8)


def test_every_rule_agrees_on_an_exact_scale():
    assert every_rule_gives(2.0, 5, 10)
    assert every_rule_gives(0.5, 5, 2)
    assert not every_rule_gives(0.5, 5, 3)


def test_a_product_beyond_float32_is_a_length_that_nothing_has():
    assert kernel_length(3.4e38, 4) > 2**62
    assert kernel_length(1e30, 2**31) > 2**62
