"""Coordinates and roundings against the running kernel: an input that counts its samples tells which one was taken."""

from itertools import product

import numpy as np
import onnx
import pytest
from lowering_runs import native_node, session
from onnx import TensorProto, helper

from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings import Subject
from resizefix.lowerings.sampling import coordinates, nearest_indices, output_size

COORDINATES = [mode for mode in CoordinateTransformationMode if mode.value != "tf_crop_and_resize"]
SIZES = [1, 2, 3, 5, 7, 12, 31]
SCALES = [2, 3, 4, 6, 1 / 2, 1 / 3, 1 / 4, 1 / 6, 1.1, 1.5, 2.3, 4.7, 0.3, 0.61, 0.9]


def kernel(interpolation, opset=19):
    """A session that resizes float32[1, n] by scales fed at run time."""
    subject = Subject(interpolation, (1.0, 2.0), None, (1, None), TensorProto.FLOAT)
    node, (scales,) = native_node(subject, "x", "y", opset)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in SHAPES]
    graph = helper.make_graph(
        [node], "kernel", [infos[0], helper.make_tensor_value_info(scales.name, 1, [2])], infos[1:]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    loaded = session(model)

    def run(size, scale):
        x = np.arange(size, dtype=np.float32)[None]
        return loaded.run(None, {"x": x, scales.name: np.array([1, scale], np.float32)})[0][0]

    return run


SHAPES = [("x", [1, None]), ("y", [None, None])]


@pytest.mark.parametrize(("mode", "nearest_mode"), list(product(COORDINATES, list(NearestMode)[:4])))
def test_nearest_takes_the_samples_the_kernel_takes(mode, nearest_mode):
    run = kernel(Interpolation(Mode.NEAREST, mode, nearest_mode))
    for size, scale in product(SIZES, SCALES):
        scale = float(np.float32(scale))
        out = output_size(scale, size)
        if out not in (0, size):
            taken = run(size, scale)
            assert taken.shape == (out,)
            assert taken.tolist() == nearest_indices(size, out, scale, mode, nearest_mode).tolist(), (size, scale)


def test_simple_takes_the_samples_resize_10_takes():
    asymmetric = CoordinateTransformationMode.ASYMMETRIC
    run = kernel(Interpolation(Mode.NEAREST, asymmetric, NearestMode.SIMPLE), opset=10)
    for size, scale in product(SIZES, SCALES):
        scale = float(np.float32(scale))
        out = output_size(scale, size)
        if out not in (0, size):
            indices = nearest_indices(size, out, scale, asymmetric, NearestMode.SIMPLE)
            assert run(size, scale).tolist() == indices.tolist(), (size, scale)


@pytest.mark.parametrize("nearest_mode", list(NearestMode)[:4])
def test_a_tie_within_a_millionth_is_a_tie(nearest_mode):
    asymmetric = CoordinateTransformationMode.ASYMMETRIC
    run = kernel(Interpolation(Mode.NEAREST, asymmetric, nearest_mode))
    for position, near in ((1, 2.0), (3, 2.0), (5, 2.0), (9, 2.0), (21, 2.0), (7, 14.0)):
        scale = np.float32(near)
        steps = range(-60, 61)
        scales = [float(np.float32(near + k * np.spacing(scale))) for k in steps]  # coordinates around position / near
        taken = [int(run(30, each)[position]) for each in scales]
        indices = [
            nearest_indices(30, output_size(each, 30), each, asymmetric, nearest_mode)[position] for each in scales
        ]
        assert taken == [int(index) for index in indices]


@pytest.mark.parametrize("mode", COORDINATES)
def test_coordinates_are_float32_and_those_of_the_linear_kernel(mode):
    run = kernel(Interpolation(Mode.LINEAR, mode))  # on a ramp the result is the coordinate, clamped
    for size, scale in product(SIZES, SCALES):
        scale = float(np.float32(scale))
        out = output_size(scale, size)
        if out not in (0, size):
            position = coordinates(size, out, scale, mode)
            assert position.dtype == np.float32
            np.testing.assert_allclose(run(size, scale), np.clip(position, 0, size - 1), rtol=0, atol=4e-6)


def test_the_output_length_is_the_float32_product_cut_off():
    scale = float(np.float32(9 / 5))
    assert scale * 5 < 9  # the exact product, which shape inference cuts off to 8
    assert output_size(scale, 5) == 9
    assert output_size(0.5, 7) == 3
    assert output_size(float(np.float32(1 / 41)), 41) == 0


def test_pytorch_half_pixel_takes_the_first_sample_where_the_output_is_one_long():
    mode = CoordinateTransformationMode.PYTORCH_HALF_PIXEL
    assert coordinates(5, 1, 0.2, mode).tolist() == [0]
    assert coordinates(10, 2, 0.2, mode).tolist() == [2, 7]


def test_align_corners_takes_the_first_sample_where_the_output_is_one_long():
    mode = CoordinateTransformationMode.ALIGN_CORNERS
    assert coordinates(5, 1, 0.2, mode).tolist() == [0]
    assert coordinates(5, 3, 0.6, mode).tolist() == [0, 2, 4]


def test_a_scale_of_1_skips_the_transformation():
    for mode in COORDINATES:
        assert coordinates(4, 4, 1.0, mode).tolist() == [0, 1, 2, 3]


def test_a_crop_has_no_coordinates_without_its_roi():
    with pytest.raises(KeyError):
        coordinates(4, 8, 2.0, CoordinateTransformationMode.TF_CROP_AND_RESIZE)
