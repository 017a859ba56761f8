"""What small vectors beside an image say."""

import numpy as np
import pytest

from resizefix.verification.sizing import Role, is_small_vector, roles_of, vector_value

NCHW = (1, 3, 4, 6)
NHWC = (1, 8, 6, 3)


def vector(shape: tuple[int, ...], kind: str, image: tuple[int, ...], factor: float) -> object:
    value = vector_value(shape, kind, image, roles_of(image), factor)
    return None if value is None else value.tolist()


@pytest.mark.parametrize(
    ("shape", "kind", "image", "factor", "expected"),
    [
        ((4,), "f", NCHW, 2.0, [1, 1, 2, 2]),  # scales
        ((4,), "f", NHWC, 2.0, [1, 2, 2, 1]),
        ((2,), "f", NCHW, 0.5, [0.5, 0.5]),  # scales of the spatial axes
        ((), "f", NCHW, 2.0, 2.0),  # a factor
        ((1,), "f", NCHW, 2.0, [2.0]),
        ((8,), "f", NCHW, 2.0, [0, 0, 0.25, 0.25, 1, 1, 0.75, 0.75]),  # a roi
        ((4,), "i", NCHW, 2.0, [1, 3, 8, 12]),  # sizes
        ((2,), "i", NCHW, 0.5, [2, 3]),
        ((3, 2), "i", NCHW, 2.0, [[8, 12]] * 3),  # a table of sizes
        ((), "i", NCHW, 2.0, 2),  # a trip count
        ((1,), "i", (1, 3, 7), 2.0, [14]),  # the one spatial size of a signal
        ((), "i", NCHW, 0.5, 1),
        ((4,), "i", (1, 3, 1, 1), 0.5, [1, 3, 1, 1]),  # never nothing
        ((4,), "f", (), 2.0, None),  # without an image only single numbers have a reading
        ((1,), "f", (), 2.0, [2.0]),
        ((3,), "f", NCHW, 2.0, None),
        ((8,), "i", NCHW, 2.0, None),
    ],
)
def test_a_vector_is_read_by_its_length(shape, kind, image, factor, expected):
    assert vector(shape, kind, image, factor) == expected


@pytest.mark.parametrize(
    ("shape", "kind", "small"),
    [
        ((), "f", True),
        ((8,), "f", True),
        ((9,), "f", False),
        ((0,), "f", False),  # an absent roi
        ((2, 2), "f", False),
        ((2, 2), "i", True),
        ((1, 2, 2), "i", False),
        ((2, 9), "i", False),
        ((), "b", True),
        ((1,), "b", True),
        ((2,), "b", False),
        ((1,), "O", False),
    ],
)
def test_what_is_small_enough_to_have_a_meaning(shape, kind, small):
    assert is_small_vector(shape, kind) is small


def test_a_role_list_of_another_image_changes_which_axes_scale():
    value = vector_value((2,), "f", (5, 5), (Role.SPATIAL, Role.SPATIAL), 3.0)
    np.testing.assert_array_equal(value, [3.0, 3.0])
