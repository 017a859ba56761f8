"""The law of bounds: two spellings never lie further apart than `spelling_bound` says, at any length and type."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from resize_runs import interpolate, run, scaled, sized

from resizefix.equivalences.kernel_arithmetic import GROWS, spelling_bound
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.rules import HALF_PIXEL, HALF_PIXEL_SYMMETRIC, forms_of
from resizefix.equivalences.table import rewrites
from resizefix.interpolation import ExtentKind, Mode
from resizefix.outcome import DYNAMIC_SIZE

MODES = st.sampled_from([Mode.LINEAR, Mode.CUBIC])
LENGTHS = st.one_of(st.integers(1, 64), st.integers(65, 3000), st.sampled_from([4095, 8191, 16_000, 20_000]))
SHORT, FACTORS, SEEDS = st.integers(1, 4), st.integers(2, 9), st.integers(0, 99)
MOST_MADE = 500_000  # elements of an output: a tenth of a second
DTYPES = st.sampled_from([np.float32, np.float32, np.float16])


def drawn(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    """Random signs: neighbours differ as much as they can, so that a moved coordinate shows most."""
    return np.random.default_rng(seed).choice([-1, 1], shape).astype(dtype)


def within(before: ResizeSpec, after: ResizeSpec, x: np.ndarray, *, is_open: bool = False) -> bool:
    """Whether the two lie within what is promised, where the file says the sizes or (`is_open`) does not."""
    near = spelling_bound(opened(before), opened(after)) if is_open else spelling_bound(before, after)
    assert near is not None
    assert bool(near.conditions) >= bool(near.drift)  # it says for which length it holds
    bound = near.at(max(x.shape))
    a, b = (run(subject, x).astype(np.float64) for subject in (before, after))
    assert a.shape == b.shape
    return float(np.max(np.abs(a - b), initial=0.0)) <= bound


def opened(subject: ResizeSpec) -> ResizeSpec:
    """The same node where the file says no size."""
    return replace(subject, shape=(None,) * len(subject.shape or ()))


def stepped(subject: ResizeSpec, number: int) -> ResizeSpec | None:
    for step in rewrites(subject, allow_inexact=True):
        if [equivalence.number for equivalence in step.equivalences if not equivalence.exact] == [number]:
            return step.subject
    return None


@settings(max_examples=60, deadline=None)
@given(MODES, st.data(), SHORT, LENGTHS, DTYPES, st.booleans(), st.booleans(), SEEDS)
def test_e19_keeps_its_bound_at_every_length(mode, data, height, width, dtype, exclude_outside, is_open, seed):
    form = data.draw(st.sampled_from(forms_of(mode)))
    scale = data.draw(st.sampled_from([2.0, 3.0, 13.0, 2.5, 7.3, np.float32(7 / 3)]))
    interpolation = interpolate(mode, form, antialias=True, exclude_outside=exclude_outside and mode is Mode.CUBIC)
    x = drawn((1, 1, height, width), dtype, seed)
    before = scaled(interpolation, (1, 1, data.draw(st.sampled_from([1.0, 2.0, 3.0])), scale), x)
    after = stepped(before, 19)
    if after is None:  # tf_half_pixel_for_nn
        return
    assert within(before, after, x, is_open=is_open)


@settings(max_examples=40, deadline=None)
@given(MODES, FACTORS, st.integers(2, 40), SHORT, LENGTHS, DTYPES, st.booleans(), st.booleans(), SEEDS)
def test_e20_keeps_its_bound_at_every_length(mode, first, second, height, width, dtype, antialias, is_open, seed):
    second = max(2, min(second, MOST_MADE // (first * height * width)))
    x = drawn((1, 1, height, width), dtype, seed)
    before = scaled(interpolate(mode, (HALF_PIXEL_SYMMETRIC, None), antialias=antialias), (1, 1, first, second), x)
    after = replace(before, interpolation=interpolate(mode, (HALF_PIXEL, None), antialias=antialias))
    assert within(before, after, x, is_open=is_open)


@settings(max_examples=60, deadline=None)
@given(MODES, st.data(), SHORT, LENGTHS, SHORT, LENGTHS, DTYPES, st.booleans(), st.booleans(), SEEDS)
def test_e22_keeps_its_bound_at_every_length(
    mode, data, height, width, new_height, new_width, dtype, antialias, exclude_outside, seed
):
    form = data.draw(st.sampled_from(forms_of(mode)))
    more = {"antialias": antialias, "exclude_outside": exclude_outside and mode is Mode.CUBIC}
    x = drawn((1, 1, height, width), dtype, seed)
    before = sized(interpolate(mode, form, **more), (1, 1, new_height, new_width), x)
    after = stepped(before, 22)
    if after is None:
        return
    assert within(before, after, x)


def test_the_bound_of_a_long_axis_is_larger_and_that_of_an_open_one_has_a_condition():
    symmetric, half = (interpolate(Mode.CUBIC, (form, None)) for form in (HALF_PIXEL_SYMMETRIC, HALF_PIXEL))
    images = [np.zeros((1, 1, 3, length), np.float32) for length in (64, 1000, 8000)]
    pairs = [[scaled(one, (1, 1, 1, 7), x) for one in (symmetric, half)] for x in images]
    bounds = [spelling_bound(*pair) for pair in pairs]
    assert [near.conditions for near in bounds] == [(), (), ()]
    assert 1e-6 < bounds[0].bound < bounds[1].bound < bounds[2].bound < 1e-2
    open_bound = spelling_bound(*map(opened, pairs[0]))
    assert open_bound.conditions == (GROWS,)
    assert open_bound.at(32) < open_bound.bound / 16  # or an error of that size passes in a run of a small image
    assert open_bound.at(DYNAMIC_SIZE) == open_bound.bound == open_bound.at(4 * DYNAMIC_SIZE) / 4


@pytest.mark.parametrize("element_type", [TensorProto.UINT8, None])
def test_integers_have_no_bound(element_type):
    symmetric, half = (interpolate(Mode.LINEAR, (form, None)) for form in (HALF_PIXEL_SYMMETRIC, HALF_PIXEL))
    before = ResizeSpec(symmetric, ExtentKind.SCALES, (3.0,), (5,), element_type)
    assert spelling_bound(before, replace(before, interpolation=half)) is None
