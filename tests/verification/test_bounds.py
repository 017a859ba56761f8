"""What two optimised runs may differ by."""

import ml_dtypes
import numpy as np
import pytest

from resizefix.verification.compare import FLOAT_BOUND, compare, default_level_bounds, part, within


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("value", "relative"),
    [
        (floats(1), FLOAT_BOUND),
        (np.array([1.0]), FLOAT_BOUND),
        (np.array([1], np.float16), 2 * 2.0**-10),
        (np.array([1], ml_dtypes.bfloat16), 2 * 2.0**-7),
        (np.array([1], np.uint8), FLOAT_BOUND),  # less than one step: integers must agree
        ([floats(1)], FLOAT_BOUND),
        (None, FLOAT_BOUND),
    ],
)
def test_the_bound_is_that_of_the_outputs_type(value, relative):
    bound = default_level_bounds({"y": value}, {"y": value})["y"]
    assert bound.bound == relative


@pytest.mark.parametrize(
    ("plain", "optimised", "relative"),
    [
        (floats(0, 1), floats(0, 1.001), pytest.approx(0.002, rel=1e-3)),  # twice the move
        (floats(1), floats(1 + 1e-6), FLOAT_BOUND),
        (floats(1), floats(1.5), 1.0),
        (floats(1), floats(1, 1), FLOAT_BOUND),  # optimising breaks it
        (floats(1), floats(np.nan), FLOAT_BOUND),
    ],
)
def test_an_original_that_moves_when_it_is_optimised_lends_its_move_twice(plain, optimised, relative):
    bound = default_level_bounds({"y": plain}, {"y": optimised})["y"]
    assert bound.bound == relative
    if optimised[-1] == np.float32(1.001):
        assert bound.note == "optimising moves the original itself by 0.001 of its largest value"


def test_within_holds_every_output_to_its_own_bound():
    comparison = compare({"a": floats(1), "b": floats(1)}, {"a": floats(1.5), "b": floats(1)})
    tight, loose = part(0.1, ""), part(0.5, "")
    assert within(comparison, {"a": loose, "b": tight})
    assert not within(comparison, {"a": tight, "b": loose})
    assert within(comparison, 0.5)
    assert not within(comparison, 0.49)


def test_a_bound_of_zero_lets_signs_of_zero_pass_but_no_other_shape():
    assert within(compare({"a": floats(0.0)}, {"a": floats(-0.0)}), 0)
    assert not within(compare({"a": floats(1)}, {"a": floats(1, 1)}), 1e9)
