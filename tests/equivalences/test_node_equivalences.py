"""E14 to E19 and E22: proven in onnxruntime, and refused with the reason just outside their conditions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from resize_runs import count_up, interpolate, noise, run, same_bits, scaled, sized

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.rules import (
    ASYMMETRIC,
    CEIL,
    FLOOR,
    HALF_PIXEL,
    ROUND_PREFER_FLOOR,
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN,
    forms_of,
)
from resizefix.equivalences.table import EQUIVALENCES
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, KeepAspectRatioPolicy, Mode, NearestMode
from resizefix.shapes.output_size import kernel_length

ALIGN_CORNERS = CoordinateTransformationMode.ALIGN_CORNERS
SCALES, SIZES = ExtentKind.SCALES, ExtentKind.SIZES
BY_NUMBER = {equivalence.number: equivalence for equivalence in EQUIVALENCES}
FORMS = [
    (mode, form) for mode in Mode for form in forms_of(mode) if form[1] is not NearestMode.SIMPLE
]  # Resize-10 has neither sizes nor axes
LINEAR = interpolate(Mode.LINEAR, (HALF_PIXEL, None))
NEAREST = interpolate(Mode.NEAREST, (ASYMMETRIC, FLOOR))
any_form = st.sampled_from(FORMS)
lengths = st.integers(1, 24)
scales = st.floats(0.25, 6, width=32) | st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0])


def rewritten(number: int, subject: ResizeSpec) -> tuple[ResizeSpec, ...]:
    equivalence = BY_NUMBER[number]
    result = equivalence.rewrite(subject)
    assert not isinstance(result, Diagnostic), result
    return result


def holds(number: int, subject: ResizeSpec) -> bool:
    return not isinstance(BY_NUMBER[number].rewrite(subject), Diagnostic)


def reason(number: int, subject: ResizeSpec) -> str:
    return BY_NUMBER[number].rewrite(subject)


def same_results(subject: ResizeSpec, others: tuple[ResizeSpec, ...], x: np.ndarray) -> bool:
    y = run(subject, x)
    return all(same_bits(y, run(other, x)) for other in others)


# E14 and E15: axes


@settings(max_examples=150, deadline=None)
@given(any_form, lengths, lengths, scales, scales, st.permutations([2, 3]))
def test_e14_filling_in_the_axes_gives_the_same_bits(mode_and_form, height, width, first, second, axes):
    x = noise(1, 2, height, width)
    subject = scaled(interpolate(*mode_and_form, axes=tuple(axes)), (first, second), x)
    assume(all(axis.out for axis in subject.listed))
    (full,) = rewritten(14, subject)
    assert full.interpolation.axes is None
    assert full.values[:2] == (1, 1)
    assert full.values[axes[0]] == subject.values[0]
    assert same_results(subject, (full,), x)


@settings(max_examples=100, deadline=None)
@given(any_form, lengths, lengths, lengths, lengths)
def test_e14_fills_in_sizes_too(mode_and_form, height, width, new_height, new_width):
    x = noise(1, 2, height, width)
    subject = sized(interpolate(*mode_and_form, axes=(3, 2)), (new_width, new_height), x)
    (full,) = rewritten(14, subject)
    assert full.values == (1, 2, new_height, new_width)
    assert same_results(subject, (full,), x)


def test_e14_counts_axes_from_the_end_where_the_rank_is_known():
    subject = ResizeSpec(replace(NEAREST, axes=(-1,)), SCALES, (2.0,), (None, None, None))
    assert rewritten(14, subject)[0].values == (1, 1, 2)


@settings(max_examples=100, deadline=None)
@given(any_form, lengths, lengths, scales)
def test_e15_leaving_out_unscaled_axes_gives_the_same_bits(mode_and_form, height, width, scale):
    assume(scale != 1)
    x = noise(1, 2, height, width)
    subject = scaled(interpolate(*mode_and_form), (1, 1, scale, 1), x)
    assume(subject.listed[2].out)
    (short,) = rewritten(15, subject)
    assert (short.interpolation.axes, short.values) == ((2,), (scale,))
    assert same_results(subject, (short,), x)
    assert rewritten(14, short) == (subject,)


def test_e15_keeps_an_axis_whose_scale_is_not_known():
    subject = ResizeSpec(NEAREST, SIZES, (1, 3, 8, 8), (None, 3, 4, None))
    assert rewritten(15, subject)[0].interpolation.axes == (0, 2, 3)


CROP = interpolate(Mode.LINEAR, (TF_CROP_AND_RESIZE, None), extrapolation_value=0.0)
NOT_LARGER = KeepAspectRatioPolicy.NOT_LARGER
AXIS_1 = replace(NEAREST, axes=(1,))
AXES_REFUSALS = [
    (14, ResizeSpec(NEAREST, SCALES, (2.0,)), "all axes are listed already"),
    (14, ResizeSpec(replace(NEAREST, axes=(2,)), SCALES, (2.0,)), "the rank of the input is not known"),
    (14, ResizeSpec(AXIS_1, SIZES, (8,), (None, 4)), "the length of axis 0 is not known"),
    (15, ResizeSpec(AXIS_1, SCALES, (2.0,)), "the axes are listed already"),
    (15, ResizeSpec(NEAREST, SCALES, (2.0, 2.0)), "no axis can be left out"),
    (15, ResizeSpec(CROP, SCALES, (1.0, 2.0)), "the roi of tf_crop_and_resize"),
    (15, ResizeSpec(NEAREST, SCALES, (1.0, 1.0)), "axes must not be empty"),
    (14, ResizeSpec(replace(AXIS_1, keep_aspect_ratio_policy=NOT_LARGER), SIZES, (8,), (4, 4)),
     "one scale for the listed axes"),
    (14, ResizeSpec(replace(CROP, axes=(1,)), SCALES, (2.0,), (4, 4)), "the roi of tf_crop_and_resize"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "subject", "why"), AXES_REFUSALS)
def test_e14_and_e15_say_why_they_do_not_hold(number, subject, why):
    assert why in reason(number, subject)


# E16: scales to sizes


@settings(max_examples=200, deadline=None)
@given(any_form, lengths, lengths, scales, scales)
def test_e16_sizes_in_place_of_scales_give_the_same_bits(mode_and_form, height, width, first, second):
    x = noise(1, 2, height, width)
    subject = scaled(interpolate(*mode_and_form), (1, 1, first, second), x)
    if holds(16, subject):
        assert same_results(subject, rewritten(16, subject), x)


@pytest.mark.parametrize(("mode", "form"), FORMS)
def test_e16_holds_for_integer_scales_of_known_sizes(mode, form):
    x = noise(1, 2, 7, 4)
    subject = scaled(interpolate(mode, form), (1, 1, 3, 2), x)
    (by_size,) = rewritten(16, subject)
    assert by_size.values == (1, 2, 21, 8)
    assert same_results(subject, (by_size,), x)


def test_e16_ends_where_the_scale_is_not_the_quotient():
    x = noise(1, 2, 5, 4)
    subject = scaled(LINEAR, (1, 1, 1.5, 2), x)
    assert "makes 5 into 7 on axis 2, but the size 7 would be sampled by 7/5 = 1.39999998" in reason(16, subject)
    assert not same_results(subject, (sized(LINEAR, (1, 2, 7, 8), x),), x)


def test_e16_is_free_for_align_corners_but_not_for_its_antialiased_kind():
    x = noise(1, 2, 5, 4)
    interpolation = interpolate(Mode.CUBIC, (ALIGN_CORNERS, None))
    subject = scaled(interpolation, (1, 1, 1.5, 1.3), x)
    assert same_results(subject, rewritten(16, subject), x)
    shrinking = scaled(replace(interpolation, antialias=True), (1, 1, 0.7, 1), x)
    assert not holds(16, shrinking)
    assert not same_results(shrinking, (sized(shrinking.interpolation, (1, 2, 3, 4), x),), x)


# E17: sizes to scales


@settings(max_examples=300, deadline=None)
@given(any_form, lengths, lengths, lengths, lengths, st.booleans())
def test_e17_scales_in_place_of_sizes_give_the_same_bits(
    mode_and_form, height, width, new_height, new_width, antialias
):
    mode, form = mode_and_form
    x = noise(1, 2, height, width)
    interpolation = interpolate(mode, form, antialias=antialias and mode is not Mode.NEAREST)
    subject = sized(interpolation, (1, 2, new_height, new_width), x)
    if holds(17, subject):
        assert same_results(subject, rewritten(17, subject), x)


@pytest.mark.parametrize(("size", "out"), [(5, 9), (3, 7), (24, 23)])
def test_e17_moves_a_nearest_scale_where_the_quotient_is_too_short(size, out):
    x = count_up(2, size)
    subject = sized(interpolate(Mode.NEAREST, (ASYMMETRIC, CEIL)), (2, out), x)
    (by_scale,) = rewritten(17, subject)
    assert by_scale.values[1] >= np.float32(out / size)
    assert same_results(subject, (by_scale,), x)


def test_e17_ends_where_every_safe_scale_changes_the_numbers():
    x = noise(1, 2, 5, 5)
    subject = sized(LINEAR, (1, 2, 9, 9), x)
    assert "no float32 scale makes 5 into 9 in every runtime and samples as the size does" in reason(17, subject)
    (near,) = rewritten(22, subject)
    assert not same_results(subject, (near,), x)


EXTENT_REFUSALS = [
    (16, ResizeSpec(LINEAR, SIZES, (8,), (4,)), "given by sizes already"),
    (17, ResizeSpec(LINEAR, SCALES, (2.0,), (4,)), "given by scales already"),
    (16, ResizeSpec(LINEAR, SCALES, (2.0, 2.0), (4, None)), "the length of axis 1 of the input is not known"),
    (17, ResizeSpec(LINEAR, SIZES, (8,)), "the length of axis 0 of the input is not known"),
    (17, ResizeSpec(LINEAR, SIZES, (None,), (4,)), "the sizes entry of axis 0 is not known"),
    (17, ResizeSpec(LINEAR, SIZES, (0,), (4,)), "axis 0 is empty"),
    (16, ResizeSpec(LINEAR, SCALES, (0.1,), (4,)), "scale 0.1 leaves nothing of axis 0"),
    (17, ResizeSpec(CROP, SIZES, (8,), (4,)), "depends on the roi"),
    (17, ResizeSpec(replace(LINEAR, keep_aspect_ratio_policy=NOT_LARGER), SIZES, (8,), (4,)),
     "keep_aspect_ratio_policy changes the sizes first"),
    (22, ResizeSpec(NEAREST, SIZES, (9,), (5,), TensorProto.FLOAT), "in mode nearest"),
    (22, ResizeSpec(LINEAR, SIZES, (9,), (5,), TensorProto.UINT8), "floating-point tensors only"),
    (22, ResizeSpec(LINEAR, SIZES, (9,), (5,)), "floating-point tensors only"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "subject", "why"), EXTENT_REFUSALS)
def test_e16_e17_and_e22_say_why_they_do_not_hold(number, subject, why):
    assert why in reason(number, subject)


# E18: the aspect policy


@settings(max_examples=200, deadline=None)
@given(any_form, lengths, lengths, lengths, lengths, st.sampled_from(KeepAspectRatioPolicy))
def test_e18_the_policy_spelled_out_gives_the_same_bits(mode_and_form, height, width, new_height, new_width, policy):
    x = noise(1, 2, height, width)
    interpolation = interpolate(*mode_and_form, axes=(2, 3), keep_aspect_ratio_policy=policy)
    subject = sized(interpolation, (new_height, new_width), x)
    if holds(18, subject):
        plain = rewritten(18, subject)
        assert all(other.interpolation.keep_aspect_ratio_policy is None for other in plain)
        assert same_results(subject, plain, x)


def test_e18_gives_scales_and_sizes_where_both_are_right():
    subject = sized(replace(LINEAR, axes=(2, 3), keep_aspect_ratio_policy=NOT_LARGER), (8, 12), noise(1, 2, 4, 4))
    assert [(other.extent, other.values) for other in rewritten(18, subject)] == [(SCALES, (2, 2)), (SIZES, (8, 8))]


def test_e18_ends_where_the_rounded_length_is_neither():
    x = noise(1, 2, 5, 6)
    subject = sized(replace(LINEAR, axes=(2, 3), keep_aspect_ratio_policy=NOT_LARGER), (9, 8), x)
    assert "the policy scales every axis by 1.33333337, to [7, 8]" in reason(18, subject)
    plain = replace(LINEAR, axes=(2, 3))
    assert run(subject, x).shape == (1, 2, 7, 8)
    assert not same_results(subject, (sized(plain, (7, 8), x), scaled(plain, (4 / 3, 4 / 3), x)), x)


@pytest.mark.measured_on("onnxruntime", "1.24", "the policy was computed otherwise")
def test_e18_refuses_axes_from_the_end_since_onnxruntime_then_resizes_nothing():
    x = noise(1, 2, 4, 4)
    subject = sized(replace(LINEAR, axes=(-2, -1), keep_aspect_ratio_policy=NOT_LARGER), (8, 8), x)
    assert "with which onnxruntime resizes nothing" in reason(18, subject)
    assert run(subject, x).shape == x.shape


def test_e18_says_why_without_a_policy_or_a_length():
    assert reason(18, scaled(LINEAR, (2,), noise(4))) == "it has no keep_aspect_ratio_policy"
    kept = replace(LINEAR, keep_aspect_ratio_policy=KeepAspectRatioPolicy.NOT_SMALLER)
    assert "the length of axis 0" in reason(18, ResizeSpec(kept, SIZES, (8,)))


# E19 and E22; their bounds: test_kernel_bounds.py


SMOOTH = replace(LINEAR, antialias=True)
ANTIALIAS_REFUSALS = [
    (scaled(LINEAR, (1, 2), noise(3, 4)), "it has no antialias"),
    (scaled(SMOOTH, (1, 0.5), noise(3, 4)), "axis 1 is not known to become longer"),
    (scaled(SMOOTH, (2, 1.2), noise(3, 4)), "axis 1 is not known to become longer"),
    (ResizeSpec(SMOOTH, SCALES, (1.0, 1.5), None, TensorProto.FLOAT), "axis 1 is not known"),
    (scaled(SMOOTH, (1, 2), noise(3, 4).astype(np.uint8)), "floating-point tensors only"),
    (scaled(replace(SMOOTH, exclude_outside=True), (1, 2), noise(3, 4)), "exclude_outside needs"),
    (scaled(interpolate(Mode.CUBIC, (TF_HALF_PIXEL_FOR_NN, None), antialias=True), (1, 2), noise(3, 4)),
     "samples beyond the edge"),
]  # fmt: skip


@pytest.mark.parametrize(("subject", "why"), ANTIALIAS_REFUSALS)
def test_e19_says_why_it_does_not_hold(subject, why):
    assert why in reason(19, subject)


@pytest.mark.parametrize("scale", [0.5, 1.2])
def test_e19_ends_where_an_axis_shrinks_or_keeps_its_length(scale):
    x = noise(3, 4)  # 4 · 1.2 is 4: the antialiasing kernel copies that axis, the other samples it
    subject = scaled(SMOOTH, (2, scale), x)
    difference = np.abs(run(subject, x) - run(replace(subject, interpolation=LINEAR), x)).max()
    assert difference > 5e-3


def test_e19_keeps_growing_dynamic_axes():
    assert holds(19, ResizeSpec(SMOOTH, SCALES, (1.0, 1.0, 2.0, 2.5), None, TensorProto.FLOAT16))


def test_output_sizes_of_rewritten_scales_are_right_in_the_kernel():
    (near,) = rewritten(22, ResizeSpec(LINEAR, SIZES, (9,), (5,), TensorProto.FLOAT))
    assert kernel_length(near.values[0], 5) == 9
    assert holds(17, ResizeSpec(interpolate(Mode.NEAREST, (HALF_PIXEL, ROUND_PREFER_FLOOR)), SIZES, (9,), (5,)))
