"""Single rewrites and the smallest chain of them, checked in onnxruntime."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from resize_runs import interpolate, nearest, noise, run, same_bits, scaled, sized

from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.rules import (
    ASYMMETRIC,
    CEIL,
    FLOOR,
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ROUND_PREFER_CEIL,
    ROUND_PREFER_FLOOR,
    SIMPLE,
    TF_HALF_PIXEL_FOR_NN,
    forms_of,
)
from resizefix.equivalences.table import reasons, rewrites, smallest_chain
from resizefix.interpolation import ExtentKind, Interpolation, KeepAspectRatioPolicy, Mode

PYTORCH_LINEAR = interpolate(Mode.LINEAR, (PYTORCH_HALF_PIXEL, None))


def legacy(subject: ResizeSpec) -> bool:
    """What Upsample-9 and Resize-10 can say."""
    interpolation = subject.interpolation
    return subject.extent is ExtentKind.SCALES and interpolation in (
        nearest((ASYMMETRIC, SIMPLE)),
        interpolate(Mode.LINEAR, (ASYMMETRIC, None)),
    )


def labels(chain) -> list[str]:
    return [step.label for step in chain]


def dynamic(interpolation: Interpolation, *scales: float) -> ResizeSpec:
    return ResizeSpec(interpolation, ExtentKind.SCALES, scales, (None,) * len(scales), TensorProto.FLOAT)


@st.composite
def subjects(draw):
    mode, antialias = draw(st.sampled_from(Mode)), draw(st.booleans())
    form = draw(st.sampled_from(forms_of(mode)))
    interpolation = interpolate(mode, form, antialias=antialias and mode is not Mode.NEAREST)
    x = noise(1, 2, draw(st.integers(1, 12)), draw(st.integers(1, 12)))
    if form[1] is SIMPLE or draw(st.booleans()):
        scale = st.sampled_from([1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 1 / 3, 1.5, 2.5, 0.7])
        subject = scaled(interpolation, (1, 1, draw(scale), draw(scale)), x)
        return (subject if all(axis.out for axis in subject.listed) else scaled(interpolation, (1, 1, 2, 2), x)), x
    axes = draw(st.none() | st.just((2, 3)))
    policy = draw(st.none() | st.sampled_from(KeepAspectRatioPolicy)) if axes else None
    sizes = (draw(st.integers(1, 24)), draw(st.integers(1, 24)))
    interpolation = replace(interpolation, axes=axes, keep_aspect_ratio_policy=policy)
    return sized(interpolation, sizes if axes else (1, 2, *sizes), x), x


@settings(max_examples=150, deadline=None)
@given(subjects())
def test_every_exact_rewrite_gives_the_same_bits(case):
    subject, x = case
    y = run(subject, x)
    for step in rewrites(subject):
        assert step.exact
        by_sizes, axes = step.subject.extent is ExtentKind.SIZES, step.subject.interpolation.axes
        if step.subject.interpolation.nearest_mode is SIMPLE and (by_sizes or axes is not None):
            continue  # no dialect says it
        assert same_bits(y, run(step.subject, x)), (step.label, step.subject)


@settings(max_examples=100, deadline=None)
@given(subjects())
def test_a_chain_to_the_legacy_form_gives_the_same_bits(case):
    subject, x = case
    chain = smallest_chain(subject, legacy)
    if chain:
        assert same_bits(run(subject, x), run(chain[-1].subject, x)), labels(chain)


def test_an_accepted_subject_needs_no_step():
    assert smallest_chain(dynamic(PYTORCH_LINEAR, 1, 1, 2, 2), lambda subject: True) == ()


def test_a_dynamic_double_upsample_becomes_legacy_in_one_step():
    subject = dynamic(nearest((HALF_PIXEL, ROUND_PREFER_FLOOR)), 1, 1, 2, 2)
    chain = smallest_chain(subject, legacy)
    assert labels(chain) == ["E4, E5"]
    assert chain[0].subject == replace(subject, interpolation=nearest((ASYMMETRIC, SIMPLE)))


def test_axes_may_take_a_form_for_different_reasons():
    subject = dynamic(nearest((ASYMMETRIC, SIMPLE)), 1, 1, 2, 0.5)
    chain = smallest_chain(subject, lambda s: s.interpolation.nearest_mode is FLOOR)
    assert labels(chain) == ["E2, E8"]
    x = noise(1, 2, 6, 7)
    assert same_bits(run(subject, x), run(chain[0].subject, x))


def test_legacy_nearest_that_grows_and_shrinks_has_no_other_form_while_sizes_are_dynamic():
    assert list(rewrites(dynamic(nearest((ASYMMETRIC, SIMPLE)), 1.5, 0.75))) == []


def test_a_chain_may_go_through_axes_and_sizes():
    interpolation = replace(nearest((PYTORCH_HALF_PIXEL, ROUND_PREFER_CEIL)), axes=(3, 2))
    subject = ResizeSpec(interpolation, ExtentKind.SIZES, (12, 8), (1, 3, 4, 6), TensorProto.FLOAT)
    chain = smallest_chain(subject, legacy)
    assert len(chain) == 3
    assert all(step.exact for step in chain)
    assert chain[-1].subject.values == (1, 1, 2, 2)


def test_linear_half_pixel_has_no_legacy_form():
    assert smallest_chain(dynamic(PYTORCH_LINEAR, 1, 1, 2, 2), legacy, allow_inexact=True) is None


def test_an_inexact_step_is_taken_only_on_request():
    subject = dynamic(replace(PYTORCH_LINEAR, antialias=True), 1, 1, 2, 2)

    def without_antialias(candidate: ResizeSpec) -> bool:
        return not candidate.interpolation.antialias

    assert smallest_chain(subject, without_antialias) is None
    chain = smallest_chain(subject, without_antialias, allow_inexact=True)
    assert labels(chain) == ["E19"]
    assert not chain[0].exact


def test_an_exact_chain_comes_before_a_shorter_inexact_one():
    # Powers of two: E11 is exact, E20 would do as well and is not.
    subject = dynamic(interpolate(Mode.LINEAR, (HALF_PIXEL_SYMMETRIC, None)), 1, 1, 4, 4)
    chain = smallest_chain(subject, lambda s: s.form[0] is PYTORCH_HALF_PIXEL, allow_inexact=True)
    assert all(step.exact for step in chain)
    assert {equivalence.number for step in chain for equivalence in step.equivalences} == {4, 10, 11}


def test_the_mend_for_tensorflow_nearest_is_exact_where_it_can_be_proven():
    tensorflow = nearest((TF_HALF_PIXEL_FOR_NN, FLOOR))

    def mended(subject: ResizeSpec) -> bool:
        return subject.form == (HALF_PIXEL, ROUND_PREFER_CEIL)

    (step,) = smallest_chain(ResizeSpec(tensorflow, ExtentKind.SIZES, (9,), (5,)), mended) or ()
    assert step.exact
    assert smallest_chain(ResizeSpec(tensorflow, ExtentKind.SIZES, (6,), (20,)), mended) is None
    (step,) = smallest_chain(ResizeSpec(tensorflow, ExtentKind.SIZES, (6,), (20,)), mended, allow_inexact=True) or ()
    assert (step.label, step.exact) == ("E21", False)


def test_nothing_is_known_of_an_axis_without_a_scale():
    subject = ResizeSpec(nearest((HALF_PIXEL, CEIL)), ExtentKind.SCALES, (1.0, None), (4, 4))
    assert list(rewrites(subject)) == [step for step in rewrites(subject) if step.label == "E15"]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_rewrite_never_returns_its_own_subject(mode):
    form = (HALF_PIXEL, ROUND_PREFER_FLOOR if mode is Mode.NEAREST else None)
    subject = scaled(interpolate(mode, form), (1, 1, 2, 3), noise(1, 2, 4, 5))
    steps = list(rewrites(subject, allow_inexact=True))
    assert steps
    assert subject not in [step.subject for step in steps]


def test_reasons_say_for_each_node_equivalence_why_it_does_not_hold():
    found = {equivalence.number: reason for equivalence, reason in reasons(dynamic(PYTORCH_LINEAR, 1, 1, 2, 2))}
    assert found[14] == "all axes are listed already"
    assert found[16] == "the length of axis 0 of the input is not known"
    assert 15 not in found
