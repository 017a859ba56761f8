"""What a resize by itself knows of its axes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resize_runs import interpolate, nearest, noise, run, sized

from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.rules import ASYMMETRIC, FLOOR, HALF_PIXEL
from resizefix.interpolation import ExtentKind, Interpolation, KeepAspectRatioPolicy, Mode

NEAREST = nearest((ASYMMETRIC, FLOOR))
LINEAR = interpolate(Mode.LINEAR, (HALF_PIXEL, None))
KEPT = replace(LINEAR, keep_aspect_ratio_policy=KeepAspectRatioPolicy.NOT_LARGER)
LISTED = replace(LINEAR, axes=(3, -2))


def by_scales(*scales: float | None, shape: tuple[int | None, ...] | None = None) -> ResizeSpec:
    return ResizeSpec(NEAREST, ExtentKind.SCALES, scales, shape)


def by_sizes(*sizes: int, shape: tuple[int | None, ...] | None = None, of: Interpolation = NEAREST) -> ResizeSpec:
    return ResizeSpec(of, ExtentKind.SIZES, sizes, shape)


def test_scales_are_float32_as_in_every_file():
    assert by_scales(1.3).values == (float(np.float32(1.3)),)


def test_an_axis_of_unknown_length_still_has_its_scale():
    assert by_scales(1.0, 2.0, shape=(4, None)).listed == (Axis(4, 4, 1.0), Axis(None, None, 2.0))
    assert by_scales(None, shape=(4,)).listed == (Axis(4, None, None),)


def test_a_size_has_a_scale_only_where_the_input_length_is_known():
    assert by_sizes(8, 9, shape=(4, None)).listed == (Axis(4, 8, 2.0), Axis(None, 9, None))


def test_listed_axes_pick_their_lengths():
    subject = by_sizes(8, 9, shape=(1, 2, 3, 4), of=LISTED)
    assert [(axis.size, axis.out) for axis in subject.listed] == [(4, 8), (3, 9)]
    assert subject.rank == 4
    assert by_sizes(8, 9, of=LISTED).rank is None
    assert by_scales(2.0, 2.0).rank == 2


@settings(max_examples=100, deadline=None)
@given(*[st.integers(1, 24)] * 4, st.sampled_from([None, *KeepAspectRatioPolicy]))
def test_output_lengths_are_those_of_onnxruntime(height, width, new_height, new_width, policy):
    x = noise(height, width)
    subject = sized(replace(LINEAR, keep_aspect_ratio_policy=policy), (new_height, new_width), x)
    assert run(subject, x).shape == tuple(axis.out for axis in subject.listed)


def test_a_policy_over_unknown_lengths_leaves_every_axis_unknown():
    assert by_sizes(8, 8, shape=(4, None), of=KEPT).listed == (Axis(4, None, None), Axis(None, None, None))


@pytest.mark.measured_on("onnxruntime", "1.24", "the policy was computed otherwise")
def test_a_policy_over_axes_from_the_end_leaves_every_axis_unknown():
    x = noise(3, 4)
    subject = sized(replace(KEPT, axes=(-1,)), (8,), x)
    assert run(subject, x).shape == x.shape  # not the 8 that the spec says
    assert subject.listed == (Axis(4, None, None),)


@pytest.mark.parametrize(
    ("axes", "extent", "values", "shape", "reason"),
    [
        (None, ExtentKind.SCALES, (2.0, 2.0), (1, 3, 4, 4), "2 scales for 4 axes"),
        ((2, 3), ExtentKind.SIZES, (4,), None, "1 size for 2 axes"),
        ((2,), ExtentKind.SIZES, (4,), (3, 4), "for an input of rank 2"),
    ],
)
def test_values_must_fit_the_axes(axes, extent, values, shape, reason):
    with pytest.raises(ValueError, match=reason):
        ResizeSpec(replace(LINEAR, axes=axes), extent, values, shape)


def test_a_factor_is_a_whole_scale():
    axes = (Axis(5, 10, 2.0), Axis(5, 5, 1.0), Axis(5, 7, 1.5), Axis(5, 2, 0.5), Axis(None, 8, None))
    assert [axis.factor for axis in axes] == [2, 1, None, None, None]
    assert Axis(5, None, float("inf")).factor is None


def test_a_divisor_is_k_where_the_scale_is_the_float32_next_to_1_over_k():
    third = np.float32(1) / np.float32(3)
    scales = (float(third), float(np.nextafter(third, np.float32(1))), float(third) * 2, 1.0, 2.0, None)
    axes = [Axis(9, None, scale) for scale in scales]
    assert [axis.divisor for axis in axes] == [3, None, None, None, None, None]


def test_an_axis_that_is_not_listed_is_left_alone():
    spec = by_sizes(8, 9, shape=(None, 2, 3, 4), of=LISTED)
    found = [(axis.index, axis.size, axis.out) for axis in spec.axes]
    assert found == [(0, None, None), (1, 2, 2), (2, 3, 9), (3, 4, 8)]
    assert [axis.index for axis in spec.scaled] == [2, 3]
    with pytest.raises(ValueError, match="the rank of the input is not known"):
        _ = by_sizes(8, 9, of=LISTED).axes


@pytest.mark.parametrize(
    ("scales", "shape", "copies"),
    [
        ((1.2, 1.1), (4, 4), True),
        ((1.0, 1.1), (None, 4), True),
        ((1.2, 1.3), (4, 4), False),
        ((1.2, 1.1), (None, 4), False),
    ],
)
def test_equal_lengths_make_a_copy_whatever_the_scales(scales, shape, copies):
    assert by_scales(*scales, shape=shape).is_copy == copies
