import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from resizefix.origins.fit import EVERY_SIZE, fit
from resizefix.shapes.output_size import inference_lengths, kernel_lengths


def lengths(function):
    return np.asarray(function(EVERY_SIZE)).astype(np.int64)


@pytest.mark.parametrize("scale", [1, 2, 3, 8, 0.5, 0.25, 1.5, 2.75])
def test_a_scale_that_float32_holds_is_found_and_right_under_every_rule(scale):
    made = lengths(lambda n: np.floor(scale * n))
    found = fit(made, made)
    assert (found.scale, found.robust) == (scale, scale)
    assert (found.kernel_differs_at, found.inference_differs_at) == (None, None)


def test_1_8_is_found_with_the_size_at_which_shape_inference_loses_a_pixel():
    made = lengths(lambda n: np.floor(1.8 * n))
    found = fit(made, made)
    assert found.scale == np.float32(1.8)
    assert found.kernel_differs_at is None
    assert found.inference_differs_at == 5
    assert found.made(5) == 9
    assert inference_lengths(found.scale, np.array([5]))[0] == 8
    assert found.robust == np.nextafter(np.float32(1.8), np.float32(2))


@pytest.mark.parametrize(
    "function",
    [
        lambda n: np.ceil(1.5 * n),
        lambda n: np.rint(1.5 * n),
        lambda n: 2 * n + 1,
        lambda n: 2 * n - (n > 900),
        lambda n: n // 2 * 3,
        lambda n: np.minimum(2 * n, 640),
        lambda n: np.full_like(n, 480),
        lambda n: -n,
    ],
    ids=["ceil", "round", "plus one", "one less from somewhere on", "an odd size lost", "at most", "fixed", "negative"],
)
def test_a_size_that_is_no_constant_multiple_has_no_scale(function):
    made = lengths(function)
    assert fit(made, made) is None


def test_a_hint_is_preferred_to_a_simpler_number_that_fits_as_well():
    made = lengths(lambda n: np.floor(0.3333333 * n))
    found = fit(made, made, (0.3333333,))
    assert found.scale == np.float32(0.3333333)


@pytest.mark.parametrize("hint", [float("nan"), float("inf"), -2.0, 0.0, 7.0])
def test_a_hint_that_does_not_fit_does_no_harm(hint):
    made = lengths(lambda n: 2 * n)
    found = fit(made, made, (hint,))
    assert found.scale == 2


def test_a_quotient_that_loses_a_pixel_in_the_kernel_is_named_with_the_size():
    meant = lengths(lambda n: np.floor(1.7 * n))
    quotients = meant.astype(np.float32) / EVERY_SIZE.astype(np.float32)
    made = (quotients * EVERY_SIZE.astype(np.float32)).astype(np.int64)
    found = fit(meant, made)
    assert found.scale == np.float32(1.7)
    size = found.kernel_differs_at
    assert found.made(size) != kernel_lengths(found.scale, np.array([size]))[0]
    assert found.robust is None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 999), st.sampled_from([10, 100, 3, 7, 64, 1]), st.sampled_from([np.float32, np.float64]))
def test_a_found_scale_makes_the_sizes_it_was_found_from(numerator, denominator, dtype):
    scale = numerator / denominator
    assume(0.05 <= scale <= 40)
    made = lengths(lambda n: np.floor(n.astype(dtype) * dtype(scale)))
    found = fit(made, made, (scale,))
    assert found.scale == pytest.approx(scale, rel=1e-4)
    wrong = np.flatnonzero(kernel_lengths(found.scale, EVERY_SIZE) != made)
    assert found.kernel_differs_at == (int(EVERY_SIZE[wrong[0]]) if wrong.size else None)
    if found.robust is not None:
        np.testing.assert_array_equal(kernel_lengths(found.robust, EVERY_SIZE), made)
        np.testing.assert_array_equal(inference_lengths(found.robust, EVERY_SIZE), made)
