"""The weights against the running kernel: of unit vectors it makes the columns of its interpolation matrix."""

from itertools import product

import numpy as np
import pytest
from lowering_cases import by_scales
from lowering_runs import native

from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings.matmul import matrix
from resizefix.shapes.output_size import kernel_length

COORDINATES = [mode for mode in CoordinateTransformationMode if mode.value != "tf_crop_and_resize"]
OUTSIDE = {"cubic_coeff_a": -0.5, "exclude_outside": True}
FILTERS = [{"mode": Mode.LINEAR}, {"mode": Mode.CUBIC, "cubic_coeff_a": -0.75}, {"mode": Mode.CUBIC, **OUTSIDE}]
FILTERS += [{**each, "antialias": True} for each in FILTERS]
FILTERS += [{"mode": Mode.LINEAR, "antialias": True, "exclude_outside": True}]
SIZES = [1, 2, 3, 6, 17]
SCALES = [2, 3, 1 / 2, 1 / 3, 1 / 5, 1.3, 2.7, 0.4, 0.83]


@pytest.mark.parametrize(("mode", "filter_"), list(product(COORDINATES, FILTERS)))
def test_weights_have_the_bits_of_the_kernels(mode, filter_):
    interpolation = Interpolation(coordinate_transformation_mode=mode, **filter_)
    compared = 0
    for size, scale in product(SIZES, SCALES):
        scale = float(np.float32(scale))
        out = kernel_length(scale, size)
        if out in (0, size):
            continue
        subject = by_scales(interpolation, (1, 1, size, size), scale, 1.0)
        weights = native(subject, np.eye(size, dtype=np.float32)[None, None])[0, 0]
        assert weights.tolist() == matrix(interpolation, size, out, scale).tolist(), (size, scale)
        compared += 1
    assert compared > 20


def test_nearest_is_a_matrix_of_unit_rows():
    nearest = Interpolation(Mode.NEAREST, CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR)
    assert matrix(nearest, 3, 4, 1.5).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_the_rows_of_a_matrix_sum_to_1():
    for mode, filter_ in product(COORDINATES, FILTERS):
        weights = matrix(Interpolation(coordinate_transformation_mode=mode, **filter_), 7, 17, 2.5)
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=2e-6)


def test_antialias_copies_an_axis_that_keeps_its_length_whatever_its_scale():
    interpolation = Interpolation(Mode.LINEAR, CoordinateTransformationMode.HALF_PIXEL, antialias=True)
    scale = float(np.float32(1.1))
    assert matrix(interpolation, 4, 4, scale).tolist() == np.eye(4).tolist()
    subject = by_scales(interpolation, (1, 1, 4, 4), scale, 2.0)
    resized = native(subject, np.eye(4, dtype=np.float32)[None, None])[0, 0]
    assert resized.tolist() == matrix(interpolation, 4, 8, 2.0).T.tolist()
