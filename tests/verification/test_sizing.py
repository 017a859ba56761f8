"""Sizes for the dimensions that a file leaves open."""

import numpy as np
import pytest
from onnx import TensorProto

from resizefix.runtimes.inputs import Dimension, TensorInput
from resizefix.verification.sizing import (
    SIZINGS,
    Role,
    Sizing,
    image_of,
    is_small_vector,
    roles_of,
    sized,
    vector_value,
)

B, C, S, L = Role.BATCH, Role.CHANNEL, Role.SPATIAL, Role.LENGTH
SIZING = Sizing(1, 3, (32, 48))


def floats(name: str, *shape: Dimension) -> TensorInput:
    return TensorInput(name, TensorProto.FLOAT, shape)


UNKNOWN = TensorInput("u", TensorProto.FLOAT, None)


@pytest.mark.parametrize(
    ("shape", "roles"),
    [
        ((), ()),
        ((7,), (L,)),
        (("x", "y"), (B, C)),
        ((None, None, None, None), (B, C, S, S)),
        ((1, 3, 224, 224), (B, C, S, S)),
        (("u1", "u2", "u3", 3), (B, S, S, C)),
        ((1, 8, 9, 3), (B, S, S, C)),
        ((1, 3, "h", 2), (B, C, S, S)),  # three in the channels' place: NCHW, however narrow the image
        (("h", "w", 3), (S, S, C)),
        (("H", "W"), (S, S)),
        (("batch", 10, "frames"), (B, C, S)),
        ((1, 1, "d", "h", "w"), (B, C, S, S, S)),
    ],
)
def test_a_dimension_counts_what_its_name_or_place_says(shape, roles):
    assert roles_of(shape) == roles


@pytest.mark.parametrize(
    ("inputs", "fixed", "sizes"),
    [
        ({"x": ("n", None, "h", "w")}, {}, {"x": (1, 3, 32, 48)}),
        ({"x": ("n", "h", "w", 3)}, {}, {"x": (1, 32, 48, 3)}),
        ({"x": (2, 5, 7, "w")}, {}, {"x": (2, 5, 7, 48)}),
        ({"x": (1, 1, "d", "h", "w")}, {}, {"x": (1, 1, 8, 32, 48)}),  # depth and time are kept short
        # one symbol has one size everywhere
        ({"x": (1, 3, "h", "w"), "y": ("w", "h")}, {}, {"x": (1, 3, 32, 48), "y": (48, 32)}),
        # a fixed shape fixes its symbols for inputs before and after it
        (
            {"a": (1, 3, "h", 4), "x": (1, 3, "h", "w"), "b": (1, 3, 4, "w")},
            {"x": (1, 3, 5, 6)},
            {"a": (1, 3, 5, 4), "x": (1, 3, 5, 6), "b": (1, 3, 4, 6)},
        ),
    ],
)
def test_known_sizes_stay_and_open_ones_are_chosen_by_role(inputs, fixed, sizes):
    assert sized([floats(name, *shape) for name, shape in inputs.items()], SIZING, fixed) == sizes


def test_a_second_image_of_its_own_size_is_larger_where_sizes_spread():
    inputs = [floats("x", 1, 3, "h", "w"), floats("ref", 1, 1, "rh", "rw"), floats("mask", 1, 1, "h", "w")]
    spread = sized(inputs, Sizing(1, 3, (32, 48), spread=True), {})
    assert spread == {"x": (1, 3, 32, 48), "ref": (1, 1, 64, 96), "mask": (1, 1, 32, 48)}
    assert sized(inputs, SIZING, {})["ref"] == (1, 1, 32, 48)


def test_an_open_vector_beside_an_image_has_one_entry_per_dimension_of_it():
    assert sized([floats("x", 1, 3, 8, 8), floats("s", None)], SIZING, {})["s"] == (4,)
    assert sized([floats("s", None)], SIZING, {})["s"] == (48,)


def test_an_unknown_rank_is_tried_as_an_image_and_as_a_vector():
    tried = {len(sized([floats("x", 1, 3, 8, 8), UNKNOWN], sizing, {})["u"]) for sizing in SIZINGS}
    assert tried == {1, 4}


def test_the_image_is_the_first_input_of_the_highest_rank():
    x, y = floats("x", 1, 3, 8, 8), floats("y", 1, 3, 8, 8)
    assert image_of([floats("v", 4), UNKNOWN, floats("m", 2, 2), x, y]) == x
    assert image_of([floats("v", 4), UNKNOWN]) is None


def test_the_first_attempt_has_height_unlike_width():
    assert SIZINGS[0].spatial[0] != SIZINGS[0].spatial[1]


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
