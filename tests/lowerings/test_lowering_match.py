"""Every lowering against the node it replaces: all modes, coordinates, roundings, many sizes, old and new opsets."""

import dataclasses
from collections import Counter, defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest
from exhaustive import EXHAUSTIVE
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering_runs import Batch, difference, native, run, sample
from onnx import TensorProto, helper

from resizefix.equivalences.kernel_arithmetic import GROWS
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings import LOWERINGS, ResizeSpec

COORDINATES = [mode for mode in CoordinateTransformationMode if mode.value != "tf_crop_and_resize"]
ROUNDINGS = [mode for mode in NearestMode if mode is not NearestMode.SIMPLE]
NEAREST = [Interpolation(Mode.NEAREST, *form) for form in product(COORDINATES, ROUNDINGS)]
LINEAR = [Interpolation(Mode.LINEAR, coordinates) for coordinates in COORDINATES]
CUBIC = [
    Interpolation(Mode.CUBIC, coordinates, cubic_coeff_a=a, exclude_outside=exclude)
    for coordinates, a, exclude in product(COORDINATES, (-0.75, -0.5), (False, True))
]
SMOOTH = {"coordinate_transformation_mode": CoordinateTransformationMode.HALF_PIXEL, "antialias": True}
ANTIALIAS = [
    Interpolation(mode, **SMOOTH, cubic_coeff_a=a, exclude_outside=exclude)
    for (mode, a), exclude in product(((Mode.LINEAR, None), (Mode.CUBIC, -0.75)), (False, True))
]
SCALES = [2, 3, 4, 5, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1.5, 0.7, 2.3]
PAIRS = [(a, a) for a in (*SCALES, 1, 1.1)]
PAIRS += [(2, 3), (1, 2), (4, 1), (1 / 2, 1 / 3), (1, 1 / 2), (3, 1 / 2), (1.5, 2), (6, 7)]
IMAGES = [(1, 2, 5, 4), (2, 3, 1, 6), (1, 1, 7, 1), (2, 1, 12, 9), (1, 2, 6, 10)]
SIGNALS = [(1, 3, 7), (2, 1, 12), (1, 1, 1)]
VOLUMES = [(1, 2, 3, 4, 2), (2, 1, 6, 5, 8)]
MATMUL = next(low for low in LOWERINGS if low.name == "matmul")
OPSETS = [7, 8, 9, 10, 11, 13, 18, 19, 23]
ELEM_TYPES = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32]


def scaled(interpolation, shape, scales, *, static=True, elem_type=TensorProto.FLOAT, by_sizes=False):
    """A subject of that shape, its last axes scaled; the output sizes are given instead of the scales on request."""
    full = [1.0] * (len(shape) - len(scales)) + [float(np.float32(scale)) for scale in scales]
    if by_sizes:
        sizes = tuple(max(1, round(size * scale)) for size, scale in zip(shape, full, strict=True))
        return ResizeSpec(interpolation, ExtentKind.SIZES, sizes, shape, elem_type)
    seen = tuple(shape) if static else tuple(n if i == 1 else None for i, n in enumerate(shape))
    return ResizeSpec(interpolation, ExtentKind.SCALES, tuple(full), seen, elem_type)


def worlds():
    """(shape, subject): what is swept."""
    for interpolation, shape, scales, static in product(NEAREST + LINEAR, IMAGES, PAIRS, (True, False)):
        yield shape, scaled(interpolation, shape, scales, static=static)
    for interpolation, shape, scales in product(CUBIC + ANTIALIAS, IMAGES, PAIRS):
        yield shape, scaled(interpolation, shape, scales)
    for interpolation, shape, scale in product(NEAREST + LINEAR, SIGNALS, SCALES):
        yield shape, scaled(interpolation, shape, (scale,))
    for interpolation, shape, scale in product(NEAREST[::3] + LINEAR, VOLUMES, SCALES):
        yield shape, scaled(interpolation, shape, (scale, scale, scale))
    for interpolation, shape, scales in product(NEAREST + LINEAR + CUBIC, IMAGES, PAIRS[::2]):
        yield shape, scaled(interpolation, shape, scales, by_sizes=True)
    for interpolation, shape, scales, elem_type in product(NEAREST, IMAGES, PAIRS[::3], ELEM_TYPES[1:]):
        yield shape, scaled(interpolation, shape, scales, elem_type=elem_type)
    for interpolation, shape, scales in product(LINEAR + CUBIC, IMAGES, PAIRS[::3]):
        yield shape, scaled(interpolation, shape, scales, elem_type=TensorProto.FLOAT16)


@cache
def all_worlds():
    return tuple(worlds())


def runs_dry(shape, subject):
    """An axis shorter than k scaled by 1/k: an empty output, which a subject of dynamic size cannot exclude."""
    return any(axis.scale is not None and axis.scale * n < 1 for axis, n in zip(subject.axes, shape, strict=True))


def applying(subject, opset=13):
    return [lowering for lowering in LOWERINGS if lowering.applies(subject, opset) is None]


def chunks(opset, rest):
    """Every opset has its own share of the subjects; of each lowering 20 to 40, in batches of 60."""
    most = 40 if EXHAUSTIVE else 20
    mine = [world for k, world in enumerate(all_worlds()) if k % 17 == rest and not runs_dry(*world)]
    lowered = [[(low, *world) for world in mine if low.applies(world[1], opset) is None] for low in LOWERINGS]
    cases = [case for each in lowered for case in each[:: max(1, len(each) // most)]]
    return [cases[k : k + 60] for k in range(0, len(cases), 60)]


@pytest.mark.parametrize(("rest", "opset"), list(enumerate(OPSETS)))
def test_a_lowering_comes_as_near_to_the_node_as_it_promises(rest, opset):
    wrong, applied = [], Counter()
    for chunk in chunks(opset, rest):
        before, after, feeds, promised, world = Batch(19), Batch(opset), {}, {}, {}
        for k, (lowering, shape, subject) in enumerate(chunk):
            x = world.setdefault((shape, subject), f"x{k}")  # the node itself runs once for all that replace it
            if x not in feeds:
                before.add_native(subject, x, f"{x}_y")
                feeds[x] = sample(subject, shape, seed=k)
            promised[f"y{k}"] = after.add(lowering, subject, x, f"y{k}")
        want, got = before.run(feeds), after.run(feeds)
        for k, (lowering, shape, subject) in enumerate(chunk):
            applied[lowering.name] += 1
            problem = difference(promised[f"y{k}"], got[f"y{k}"], want[f"{world[shape, subject]}_y"])
            if problem:
                wrong.append(f"{lowering.name} of {subject}: {problem}")
    assert wrong == []
    assert set(applied) == {low.name for low in LOWERINGS if low.since_opset <= opset}
    assert min(applied.values()) >= 8, applied


@st.composite
def subjects(draw):
    interpolation = draw(st.sampled_from(NEAREST + LINEAR + CUBIC + ANTIALIAS))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 40)), draw(st.integers(1, 40)))
    whole, inverse = st.integers(2, 9).map(float), st.integers(2, 9).map(lambda k: 1 / k)
    scale = st.one_of(whole, inverse, st.floats(0.125, 5, width=32), st.just(1.0))
    subject = scaled(interpolation, shape, (draw(scale), draw(scale)), static=draw(st.booleans()))
    return shape, subject


@given(subjects(), st.sampled_from(OPSETS))
@settings(max_examples=150, deadline=None)
def test_what_applies_holds_for_arbitrary_scales_and_sizes(world, opset):
    shape, subject = world
    if runs_dry(shape, subject):
        return
    x = sample(subject, shape)
    lowerings = applying(subject, opset)
    want = native(subject, x) if lowerings else None
    for lowering in lowerings:
        assert difference(*run(lowering, subject, x, opset), want) is None, lowering.name


def test_promises_hold_where_float32_coordinates_drift_far_from_the_origin():
    shape, reached = (1, 1, 3, 2000), defaultdict(float)
    for interpolation, scale in product((LINEAR[0], CUBIC[0]), (3, 5, 1 / 3, 1 / 6)):
        subject = scaled(interpolation, shape, (1, scale))
        x = np.where(sample(subject, shape) > 0, 1, -1).astype(np.float32)
        want = native(subject, x)
        for lowering in applying(subject):
            if lowering.name != "matmul":  # its weights drift along
                lowered, got = run(lowering, subject, x, 13)
                assert difference(lowered, got, want) is None, lowering.name
                share = np.abs(got - want).max() / lowered.error.bound
                reached[lowering.name] = max(reached[lowering.name], share)
    assert reached.keys() == {"average_pool", "conv_transpose", "pad_upsample_slice"}
    assert reached["conv_transpose"] > 0.5  # the bound does not hide an error: half of it is reached
    assert reached["pad_upsample_slice"] > 0.25


@pytest.mark.parametrize("length", [9, 100, 1000, 1025, 2049, 20_000])
@pytest.mark.parametrize("scale", [3, 5, 7, 1 / 3, 1 / 6])
@pytest.mark.parametrize("elem_type", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_the_bound_of_a_dynamic_axis_holds_as_its_note_says(length, scale, elem_type):
    """Up to 1,024 samples as it stands, and doubled each time the axis is twice as long."""
    shape = (1, 1, 2, length)
    for interpolation in (LINEAR[0], CUBIC[0]):
        subject = scaled(interpolation, shape, (1, scale), static=False, elem_type=elem_type)
        x = np.where(sample(subject, shape) > 0, 1, -1).astype(helper.tensor_dtype_to_np_dtype(elem_type))
        want = native(subject, x)
        for lowering in applying(subject):
            lowered, got = run(lowering, subject, x, 13)
            assert GROWS in lowered.error.conditions or lowered.error.exact
            bound = lowered.error.at(length)
            promised = dataclasses.replace(lowered, error=dataclasses.replace(lowered.error, bound=bound))
            assert difference(promised, got, want) is None, lowering.name


@pytest.mark.parametrize("opset", [7, 8, 9, 10])
def test_the_rounding_of_upsample_and_resize_10_is_lowered(opset):
    simple = Interpolation(Mode.NEAREST, CoordinateTransformationMode.ASYMMETRIC, NearestMode.SIMPLE)
    applied = Counter()
    for shape, scales in product(IMAGES, PAIRS):
        subject = scaled(simple, shape, scales)
        if runs_dry(shape, subject) or (opset < 10 and min(subject.values) < 1):
            continue
        want = native(subject, sample(subject, shape), opset)
        for lowering in applying(subject, opset):
            applied[lowering.name] += 1
            assert difference(*run(lowering, subject, sample(subject, shape), opset), want) is None
    assert applied["repeat"] > 10
    assert applied["gather"] > 20


def test_linear_is_lowered_for_channels_last_images_and_plain_matrices_too():
    for shape, scales in product([(1, 5, 4, 3), (2, 1, 6, 1)], [(1, 2, 3, 1), (1, 1.5, 0.7, 1), (1, 2, 1, 1)]):
        full = tuple(float(np.float32(scale)) for scale in scales)
        for interpolation in LINEAR:
            subject = ResizeSpec(interpolation, ExtentKind.SCALES, full, (None, *shape[1:]), TensorProto.FLOAT)
            x = sample(subject, shape)
            assert difference(*run(MATMUL, subject, x, 13), native(subject, x)) is None
    for interpolation in LINEAR + CUBIC:
        subject = scaled(interpolation, (5, 4), (2.5, 0.6))
        x = sample(subject, (5, 4))
        assert difference(*run(MATMUL, subject, x, 8), native(subject, x)) is None


def test_nearest_is_lowered_on_any_axis_batch_and_channels_included():
    shapes, by = [(2, 3, 4, 5), (4,), (2, 3, 2, 2, 3, 2)], [(2, 2, 3, 2, 1, 2), (1 / 2, 1, 1.7, 1 / 2, 3, 1)]
    for interpolation, shape, scales in product(NEAREST, shapes, by):
        subject = scaled(interpolation, shape, scales[: len(shape)])
        x = sample(subject, shape)
        for lowering in applying(subject):
            assert difference(*run(lowering, subject, x, 13), native(subject, x)) is None, lowering.name
