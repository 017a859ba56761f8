"""The bounds: what they are made of. That they hold is the business of test_lowering_match.py."""

import dataclasses

import numpy as np
import pytest
from lowering_cases import by_scales, cubic, linear
from onnx import TensorProto

from resizefix.equivalences.kernel_arithmetic import UNIT, cubic_coefficients, gain, noise, slope
from resizefix.lowerings.lowering import drift, rounding


def third_axis(*scales, size=100):
    return by_scales(linear(), (1, 1, size), *scales).axes[2]


@pytest.mark.parametrize("scale", [2, 4, 8, 1 / 2, 1 / 4])
def test_a_power_of_two_does_not_drift(scale):
    assert drift(linear(), third_axis(scale)) == 0


def test_drift_grows_with_the_size():
    drifts = [drift(linear(), third_axis(3, size=size)) for size in (10, 100, 1000)]
    assert drifts == sorted(drifts)
    assert 1e-5 < drifts[-1] < 4e-5  # half a step of float32 between 512 and 1024 is 3e-5


@pytest.mark.parametrize("scale", [2, 3, 7, 1 / 3, 1 / 4])
def test_a_dynamic_axis_drifts_as_one_of_1024_at_least(scale):
    drifts = [drift(linear(), third_axis(scale, size=size)) for size in (1024, None)]
    assert drifts == sorted(drifts)
    assert (drifts[1] == 0) == (scale in (2, 1 / 4))


def test_linear_weights_change_by_two_per_pixel_and_sum_to_one():
    assert slope(linear()) == 2
    assert gain(linear()) == 1


def test_cubic_weights_overshoot():
    assert gain(cubic()) == pytest.approx(1.375)  # at ½: 2 · 19/32 + 2 · 3/32
    f, h = np.linspace(0, 1, 1001), 1e-6

    def weights(f):
        a = -0.75
        inner = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (f, 1 - f)]
        outer = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (1 + f, 2 - f)]
        return np.array(inner + outer)

    numeric = np.abs((weights(f + h) - weights(f - h)) / (2 * h)).sum(axis=0).max()
    assert slope(cubic()) == pytest.approx(numeric, rel=1e-3)


@pytest.mark.parametrize("a", [-0.75, -0.5, -1.0, -4.0, 0.0, 0.5])
def test_cubic_weights_in_float32_are_as_near_to_the_true_ones_as_noise_says(a):
    f = np.linspace(0, 1, 50_001, dtype=np.float32)[:-1]
    x = f.astype(np.float64)
    inner = [((a + 2) * t - (a + 3)) * t * t + 1 for t in (x, 1 - x)]
    outer = [((a * t - 5 * a) * t + 8 * a) * t - 4 * a for t in (1 + x, 2 - x)]
    true = np.stack([outer[0], inner[0], inner[1], outer[1]], axis=1)
    off = np.abs(cubic_coefficients(f, a) - true).sum(axis=1).max()
    promised = noise(dataclasses.replace(cubic(), cubic_coeff_a=a))
    assert promised / 20 < off <= promised


def test_rounding_counts_both_sides_and_float16_its_last_step():
    single = by_scales(linear(), (1, 1, 4, 4), 2, 2)
    half = by_scales(linear(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.FLOAT16)
    assert rounding(single, [1.0, 1.0], 6) == 12 * UNIT
    assert rounding(half, [1.0, 1.0], 6) == 12 * UNIT + 2.0**-10 + UNIT
