"""The simulated samples against the samples onnxruntime reads."""

import numpy as np
import pytest
from resize_runs import count_up, nearest, run, scaled

from resizefix.equivalences.kernel_arithmetic import TIE_TOLERANCES, coordinates, nearest_indices, samples
from resizefix.equivalences.rules import forms_of
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode
from resizefix.shapes.output_size import kernel_length

FORMS = forms_of(Mode.NEAREST)
SCALES = sorted({float(np.float32(a / b)) for a in range(1, 9) for b in range(1, 9)} | {0.3172, 1.0001, 2.71, 5.55})


def names(form):
    return "+".join(part.value for part in form if part)


@pytest.mark.parametrize("form", FORMS, ids=names)
@pytest.mark.measured_on("onnxruntime", "1.24", "ties were compared exactly")
def test_the_simulated_indices_are_those_onnxruntime_reads(form):
    interpolation = nearest(form)
    for size in (*range(1, 24), 31, 32):
        x = count_up(2, size)
        for scale in SCALES:
            out = kernel_length(scale, size)
            if out == 0:
                continue
            # The first axis is scaled too: with all lengths unchanged onnxruntime copies whatever the scale.
            y = run(scaled(interpolation, (2, scale), x), x) % size  # whichever row it is, these are the columns
            assert np.array_equal(y[0], nearest_indices(form, scale, size, out)), (size, scale)


@pytest.mark.parametrize(("rounding", "alike_for"), [(NearestMode.CEIL, 0), (NearestMode.FLOOR, 1)])
def test_the_samples_of_two_forms_differ_if_either_tie_rule_tells_them_apart(rounding, alike_for):
    one, other = ((CoordinateTransformationMode.ASYMMETRIC, r) for r in (NearestMode.ROUND_PREFER_CEIL, rounding))
    known = (float(np.float32(2 / 7)), 7, 2)
    for position, tolerance in enumerate(TIE_TOLERANCES):
        alike = np.array_equal(nearest_indices(one, *known, tolerance), nearest_indices(other, *known, tolerance))
        assert alike == (position == alike_for)
    assert samples(Mode.NEAREST, False, one, *known) != samples(Mode.NEAREST, False, other, *known)


def test_linear_samples_are_compared_after_clamping_and_cubic_ones_before():
    pytorch, half = (
        (c, None) for c in (CoordinateTransformationMode.PYTORCH_HALF_PIXEL, CoordinateTransformationMode.HALF_PIXEL)
    )
    known = (1.5, 1, 1)
    assert samples(Mode.LINEAR, False, pytorch, *known) == samples(Mode.LINEAR, False, half, *known)
    assert samples(Mode.CUBIC, False, pytorch, *known) != samples(Mode.CUBIC, False, half, *known)


def test_antialiasing_filters_also_depend_on_the_scale():
    form = (CoordinateTransformationMode.ALIGN_CORNERS, None)
    assert samples(Mode.LINEAR, False, form, 1.8, 5, 9) == samples(Mode.LINEAR, False, form, 1.81, 5, 9)
    assert samples(Mode.LINEAR, True, form, 1.8, 5, 9) != samples(Mode.LINEAR, True, form, 1.81, 5, 9)


def test_coordinates_that_need_a_roi_are_not_simulated():
    with pytest.raises(ValueError, match="tf_crop_and_resize depend on the roi"):
        coordinates(CoordinateTransformationMode.TF_CROP_AND_RESIZE, 2.0, 4, 8)
