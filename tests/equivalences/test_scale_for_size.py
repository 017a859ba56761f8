"""Scales for wanted sizes: the right length everywhere, and the samples that sizes would read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resize_runs import count_up, nearest, run, scaled, sized

from resizefix.equivalences.kernel_arithmetic import nearest_indices, samples, scale_for_size
from resizefix.equivalences.rules import forms_of
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode
from resizefix.shapes.output_size import every_rule_gives, robust_scale, sampled_scale

NEAREST = forms_of(Mode.NEAREST)
ASYMMETRIC, HALF_PIXEL = CoordinateTransformationMode.ASYMMETRIC, CoordinateTransformationMode.HALF_PIXEL


def test_a_robust_scale_exists_for_every_pair_of_small_sizes():
    for size in range(1, 129):
        for out in range(1, 129):
            scale = robust_scale(size, out)
            assert every_rule_gives(scale, size, out)
            quotient = np.float32(sampled_scale(size, out))
            assert scale in (float(quotient), float(np.nextafter(quotient, np.float32(9e9))))


@settings(max_examples=500, deadline=None)
@given(st.integers(1, 2**22), st.integers(1, 2**22))
def test_a_robust_scale_exists_for_large_sizes(size, out):
    scale = robust_scale(size, out)
    assert every_rule_gives(scale, size, out)


def test_the_plain_quotient_is_not_robust():
    assert not every_rule_gives(sampled_scale(5, 9), 5, 9)
    assert robust_scale(5, 9) == float(np.nextafter(np.float32(1.8), np.float32(2)))


@pytest.mark.filterwarnings("error")
def test_an_axis_without_samples_is_divided_without_a_warning():
    sampled_scale.cache_clear()
    assert np.isnan(sampled_scale(0, 0))
    assert np.isinf(sampled_scale(0, 1))


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from(NEAREST))
def test_a_scale_for_a_size_does_in_onnxruntime_what_the_size_does(size, out, form):
    scale = scale_for_size(size, out, Mode.NEAREST, form)
    if scale is None:
        return
    interpolation = nearest(form)
    x = count_up(2, size)
    y = run(scaled(interpolation, (2, scale), x), x)
    if form[1] is NearestMode.SIMPLE:  # Resize-10 has no sizes to compare with
        assert np.array_equal(y[0], nearest_indices(form, sampled_scale(size, out), size, out))
    else:
        assert np.array_equal(y, run(sized(interpolation, (4, out), x), x))


def test_where_no_scale_exists_every_neighbour_fails_by_length_or_by_samples():
    form = (ASYMMETRIC, NearestMode.FLOOR)
    hopeless = [(i, o) for i in range(1, 33) for o in range(1, 33) if scale_for_size(i, o, Mode.NEAREST, form) is None]
    assert hopeless
    for size, out in hopeless:
        wanted = samples(Mode.NEAREST, False, form, sampled_scale(size, out), size, out)
        for ulps in range(-8, 9):
            bits = np.float32(sampled_scale(size, out)).view(np.int32) + ulps
            scale = float(np.int32(bits).view(np.float32))
            right_length = every_rule_gives(scale, size, out)
            assert not right_length or samples(Mode.NEAREST, False, form, scale, size, out) != wanted


@pytest.mark.parametrize(
    ("rounding", "share"), [(NearestMode.FLOOR, 0.86), (NearestMode.CEIL, 0.97), (NearestMode.SIMPLE, 0.91)]
)
def test_most_pairs_have_a_scale(rounding, share):
    form = (ASYMMETRIC, rounding)
    found = [scale_for_size(i, o, Mode.NEAREST, form) is not None for i in range(1, 65) for o in range(1, 65)]
    assert share <= np.mean(found) < 1


def test_align_corners_takes_any_scale_of_the_right_length():
    form = (CoordinateTransformationMode.ALIGN_CORNERS, None)
    assert scale_for_size(5, 9, Mode.LINEAR, form) == robust_scale(5, 9)
    assert scale_for_size(5, 9, Mode.LINEAR, form, antialias=True) is None
    assert scale_for_size(5, 9, Mode.LINEAR, (HALF_PIXEL, None)) is None


def test_an_empty_axis_has_no_scale():
    with pytest.raises(ValueError, match="no scale makes 0 into 4"):
        robust_scale(0, 4)
    with pytest.raises(ValueError, match="no scale makes 4 into 0"):
        robust_scale(4, 0)
