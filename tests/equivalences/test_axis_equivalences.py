"""E1 to E13, E20 and E21: proven in onnxruntime on non-square inputs, and shown to end with their conditions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_text import model
from resize_runs import count_up, interpolate, nearest, noise, open_quietly, run, same_bits, scaled, sized

from resizefix.dialects.dialect import DIALECTS
from resizefix.equivalences.kernel_arithmetic import TIE_TOLERANCES, nearest_indices, samples
from resizefix.equivalences.resize_spec import Axis
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
    TF_CROP_AND_RESIZE,
    TF_HALF_PIXEL_FOR_NN,
    forms_of,
)
from resizefix.equivalences.table import EQUIVALENCES, AxisEquivalence
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode
from resizefix.shapes.output_size import kernel_length

ALIGN_CORNERS = CoordinateTransformationMode.ALIGN_CORNERS
BY_NUMBER = {equivalence.number: equivalence for equivalence in EQUIVALENCES}
SQUARELESS = [(height, 33 - height) for height in range(1, 33)] + [(1, 1), (2, 2), (57, 40)]
INTEGERS = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
EVERY_MODE = list(Mode)
KERNELS = [*((mode, False) for mode in Mode), (Mode.LINEAR, True), (Mode.CUBIC, True)]


def reciprocal(k):
    return float(np.float32(1) / np.float32(k))


def alike_by_scale(number: int, scale: float, form, interpolation: Interpolation):
    """The forms this equivalence allows when nothing is known but the scale, as with dynamic axes."""
    equivalence = BY_NUMBER[number]
    return equivalence.alike(Axis(None, None, scale), form, interpolation)


def families(number: int, mode: Mode, scale: float):
    """Each set of two or more forms that the equivalence calls alike at this scale."""
    found = {alike_by_scale(number, scale, form, interpolate(mode, form)) for form in forms_of(mode)}
    return sorted((family for family in found if len(family) > 1), key=sorted)


def outputs_differ(mode, one, other, scales, x) -> bool:
    a, b = (run(scaled(interpolate(mode, form), scales, x), x) for form in (one, other))
    return not same_bits(a, b)


# Scales that fulfil the condition of each row that looks at the scale alone.
SCALES = {
    2: [1.0, 1.25, 1.7, 2.0, 2.5, 3.3, 7.9],
    3: [0.1, 0.3, 0.5, 0.7, 0.75, 0.99],
    5: INTEGERS,
    6: [2.0],
    7: INTEGERS,
    8: [reciprocal(k) for k in range(2, 17)],
    9: [reciprocal(k) for k in range(3, 16, 2)],
    12: [0.5, 0.25, 0.125],
}


@pytest.mark.parametrize("number", SCALES, ids=lambda number: f"E{number}")
def test_nearest_forms_of_one_family_give_the_same_bits_at_every_size(number):
    scales = SCALES[number]
    for first, second in zip(scales, scales[1:] + scales[:1], strict=True):
        pairs = [set(a) & set(b) for a, b in product(*(families(number, Mode.NEAREST, one) for one in (first, second)))]
        assert any(len(family) > 1 for family in pairs)
        for family in pairs:
            for height, width in SQUARELESS:
                x = count_up(height, width)
                results = [run(scaled(nearest(form), (first, second), x), x) for form in sorted(family)]
                assert all(same_bits(results[0], result) for result in results), (first, second, x.shape, family)


@pytest.mark.parametrize("mode", [Mode.NEAREST, Mode.CUBIC])
def test_e4_an_unscaled_axis_is_left_alone_by_every_form(mode):
    x = noise(1, 3, 4, 5)
    (family,) = families(4, mode, 1.0)
    for form in family:
        subject = scaled(interpolate(mode, form), (1, 1, 2, 1), x)
        column_by_column = [run(subject, np.ascontiguousarray(x[..., c : c + 1])) for c in range(x.shape[-1])]
        assert same_bits(run(subject, x), np.concatenate(column_by_column, axis=-1))


def test_e4_an_unscaled_axis_is_left_alone_by_every_linear_form():
    x = noise(1, 3, 1, 5)  # the scaled axis has one sample to read, whatever the form
    (family,) = families(4, Mode.LINEAR, 1.0)
    for form in family:
        assert same_bits(run(scaled(interpolate(Mode.LINEAR, form), (1, 1, 2, 1), x), x), x.repeat(2, axis=2))


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_e4_leaves_out_the_form_whose_formula_moves_an_unscaled_axis(mode):
    form = (TF_HALF_PIXEL_FOR_NN, CEIL if mode is Mode.NEAREST else None)
    assert not alike_by_scale(4, 1.0, form, interpolate(mode, form))


def test_e4_says_nothing_of_a_scale_next_to_one():
    form = (ASYMMETRIC, FLOOR)
    assert not alike_by_scale(4, float(np.nextafter(np.float32(1), np.float32(2))), form, nearest(form))
    assert outputs_differ(Mode.NEAREST, form, (ASYMMETRIC, CEIL), (1.0001, 2), count_up(3, 4))


@pytest.mark.parametrize(("number", "scales"), [(10, [*INTEGERS, 2.5, 3.3]), (11, [2.0, 4.0, 8.0, 16.0])])
@pytest.mark.parametrize(("mode", "antialias"), KERNELS)
def test_e10_and_e11_give_the_same_bits_at_every_size(number, scales, mode, antialias):
    for first, second in zip(scales, scales[1:] + scales[:1], strict=True):
        for family in families(number, mode, first):
            for height, width in SQUARELESS[::3]:
                x = noise(height, width)
                forms = [interpolate(mode, form, antialias=antialias) for form in sorted(family)]
                results = [run(scaled(form, (first, second), x), x) for form in forms]
                assert all(same_bits(results[0], result) for result in results), (first, second, x.shape, family)


@pytest.mark.parametrize("mode", [Mode.NEAREST, Mode.LINEAR])
def test_e10_holds_for_slightly_growing_axes_of_length_one(mode):
    for family, height, scale in product(families(10, mode, 1.5), (1, 2, 3), (1.25, 1.5, 1.9)):
        x = noise(height, 5)
        results = [run(scaled(interpolate(mode, form), (scale, 3.0), x), x) for form in sorted(family)]
        assert all(same_bits(results[0], result) for result in results), (height, scale, family)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(EVERY_MODE), st.integers(1, 24), st.integers(2, 48), st.integers(1, 24), st.integers(2, 48))
def test_e10_holds_for_sizes_above_one_whatever_the_input(mode, height, new_height, width, new_width):
    form = (HALF_PIXEL, ROUND_PREFER_CEIL if mode is Mode.NEAREST else None)
    interpolation = interpolate(mode, form)
    alike = BY_NUMBER[10].alike(Axis(None, new_height, None), form, interpolation)
    assert {coordinates for coordinates, _ in alike} == {HALF_PIXEL, PYTORCH_HALF_PIXEL}
    x = noise(height, width)
    results = [run(sized(interpolate(mode, other), (new_height, new_width), x), x) for other in alike]
    assert same_bits(*results)


OUTSIDE = [
    # number, scale outside, two forms it would be wrong to exchange, an input length that shows it
    (2, 0.75, (ASYMMETRIC, SIMPLE), (ASYMMETRIC, FLOOR), 8),
    (3, 1.5, (ASYMMETRIC, SIMPLE), (ASYMMETRIC, CEIL), 8),
    (5, 1.25, (HALF_PIXEL, ROUND_PREFER_FLOOR), (ASYMMETRIC, FLOOR), 2),
    (5, 3.0, (HALF_PIXEL, FLOOR), (ASYMMETRIC, FLOOR), 4),
    (5, 2.0, (TF_HALF_PIXEL_FOR_NN, ROUND_PREFER_FLOOR), (ASYMMETRIC, FLOOR), 4),
    (5, 3.0, (ALIGN_CORNERS, ROUND_PREFER_FLOOR), (ASYMMETRIC, FLOOR), 3),
    (6, 3.0, (ASYMMETRIC, ROUND_PREFER_FLOOR), (ASYMMETRIC, FLOOR), 4),
    (6, 2.0, (ASYMMETRIC, ROUND_PREFER_CEIL), (ASYMMETRIC, FLOOR), 4),
    (7, 3.0, (HALF_PIXEL, CEIL), (TF_HALF_PIXEL_FOR_NN, ROUND_PREFER_CEIL), 2),
    (8, 0.4, (ASYMMETRIC, ROUND_PREFER_FLOOR), (ASYMMETRIC, CEIL), 10),
    (8, reciprocal(7), (ASYMMETRIC, ROUND_PREFER_FLOOR), (ASYMMETRIC, FLOOR), 14),
    (8, reciprocal(61), (ASYMMETRIC, ROUND_PREFER_FLOOR), (ASYMMETRIC, CEIL), 123),
    (8, reciprocal(61), (ASYMMETRIC, ROUND_PREFER_FLOOR), (ASYMMETRIC, SIMPLE), 123),
    (9, 0.5, (HALF_PIXEL, ROUND_PREFER_FLOOR), (HALF_PIXEL, ROUND_PREFER_CEIL), 8),
    (9, 0.5, (HALF_PIXEL, ROUND_PREFER_FLOOR), (TF_HALF_PIXEL_FOR_NN, FLOOR), 8),
    (10, 0.5, (HALF_PIXEL, ROUND_PREFER_CEIL), (PYTORCH_HALF_PIXEL, ROUND_PREFER_CEIL), 2),
    (11, 2.5, (HALF_PIXEL, ROUND_PREFER_FLOOR), (HALF_PIXEL_SYMMETRIC, ROUND_PREFER_FLOOR), 3),
    (12, reciprocal(3), (HALF_PIXEL, FLOOR), (TF_HALF_PIXEL_FOR_NN, FLOOR), 9),
]


@pytest.mark.parametrize(("number", "scale", "one", "other", "size"), OUTSIDE)
def test_just_outside_the_condition_the_numbers_differ_and_the_equivalence_says_nothing(
    number, scale, one, other, size
):
    assert other not in alike_by_scale(number, scale, one, nearest(one))
    assert outputs_differ(Mode.NEAREST, one, other, (2, scale), count_up(3, size))


def test_legacy_nearest_that_grows_one_axis_and_shrinks_the_other_is_neither_floor_nor_ceil():
    x = count_up(8, 8)
    for rounding in (FLOOR, CEIL):
        assert outputs_differ(Mode.NEAREST, (ASYMMETRIC, SIMPLE), (ASYMMETRIC, rounding), (1.5, 0.75), x)


@pytest.mark.parametrize("mode", [Mode.LINEAR, Mode.CUBIC])
def test_e10_and_e11_end_where_coordinates_differ(mode):
    form = (HALF_PIXEL, None)
    assert not alike_by_scale(10, 0.5, form, interpolate(mode, form))
    assert outputs_differ(mode, form, (PYTORCH_HALF_PIXEL, None), (0.5, 1), noise(2, 5))
    assert not alike_by_scale(11, 3.0, form, interpolate(mode, form))
    assert outputs_differ(mode, form, (HALF_PIXEL_SYMMETRIC, None), (3, 3), noise(20, 21))


def test_e10_needs_a_clamped_mode_for_an_axis_of_length_one():
    form = (HALF_PIXEL, None)
    assert not alike_by_scale(10, 1.5, form, interpolate(Mode.CUBIC, form))
    assert outputs_differ(Mode.CUBIC, form, (PYTORCH_HALF_PIXEL, None), (1.5, 2), noise(1, 5))


LENGTHS = [(i, o) for i in range(1, 10) for o in range(1, 13)] + [(20, 6), (16, 16), (31, 17), (17, 31)]


@pytest.mark.parametrize(("mode", "antialias"), KERNELS)
def test_e13_equal_samples_give_equal_bits(mode, antialias):
    usable = [form for form in forms_of(mode) if form[1] is not SIMPLE]
    for size, out in LENGTHS:
        x = noise(2, size)
        by_samples: dict[bytes, bytes] = {}
        scale = float(np.float32(out) / np.float32(size))
        for form in usable:
            key = samples(mode, antialias, form, scale, size, out)
            y = run(sized(interpolate(mode, form, antialias=antialias), (2, out), x), x).tobytes()
            assert by_samples.setdefault(key, y) == y, (size, out, form)


@pytest.mark.measured_on("onnxruntime", "1.24", "ties were compared exactly")
def test_e13_other_samples_give_other_bits():
    usable = [form for form in forms_of(Mode.NEAREST) if form[1] is not SIMPLE]
    differing = 0
    for size, out in LENGTHS:
        scale = float(np.float32(out) / np.float32(size))
        x = count_up(3, size)
        by_output: dict[bytes, set[bytes]] = {}
        for form in usable:
            y = run(sized(nearest(form), (3, out), x), x).tobytes()
            by_output.setdefault(y, set()).add(nearest_indices(form, scale, size, out).tobytes())
        assert all(len(maps) == 1 for maps in by_output.values())
        differing += len(by_output)
    assert differing > len(LENGTHS)


def test_e13_finds_the_special_cases_of_align_corners():
    form, linear = (ALIGN_CORNERS, None), interpolate(Mode.LINEAR, (ALIGN_CORNERS, None))
    alike = BY_NUMBER[13].alike
    assert (ASYMMETRIC, None) in alike(Axis(7, 1, 1 / 7), form, linear)
    assert (HALF_PIXEL, None) in alike(Axis(1, 5, 5.0), form, linear)
    assert alike(Axis(5, 9, 1.8), form, linear) == {form}


def test_e13_needs_the_length_and_a_form_without_a_roi():
    form = (HALF_PIXEL, None)
    assert not BY_NUMBER[13].alike(Axis(None, None, 2.0), form, interpolate(Mode.LINEAR, form))
    crop = (TF_CROP_AND_RESIZE, None)
    assert not BY_NUMBER[13].alike(Axis(4, 8, 2.0), crop, interpolate(Mode.LINEAR, crop, extrapolation_value=0.0))


def test_no_axis_equivalence_exchanges_a_form_that_reads_a_roi():
    for mode in EVERY_MODE:
        form = (TF_CROP_AND_RESIZE, ROUND_PREFER_FLOOR if mode is Mode.NEAREST else None)
        interpolation = interpolate(mode, form, extrapolation_value=0.0)
        for equivalence, scale in product(EQUIVALENCES, (1.0, 2.0, 0.5, 1.5)):
            if isinstance(equivalence, AxisEquivalence):
                assert not equivalence.alike(Axis(8, kernel_length(scale, 8), scale), form, interpolation)


def test_an_axis_too_long_for_float32_is_left_alone():
    form = (HALF_PIXEL, ROUND_PREFER_FLOOR)
    alike = BY_NUMBER[5].alike
    assert alike(Axis(2**21, 2**22, 2.0), form, nearest(form))
    assert not alike(Axis(2**22, 2**23, 2.0), form, nearest(form))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 64), st.integers(1, 4096), st.data())
def test_e5_and_e8_hold_for_long_axes_under_both_tie_rules(factor, size, data):
    for tolerance in TIE_TOLERANCES:
        family = sorted(alike_by_scale(5, float(factor), (ASYMMETRIC, FLOOR), nearest((ASYMMETRIC, FLOOR))))
        form = data.draw(st.sampled_from(family))
        indices = nearest_indices(form, factor, size, size * factor, tolerance)
        assert np.array_equal(indices, np.arange(size * factor) // factor)
        scale = reciprocal(factor)
        out = kernel_length(scale, size)
        ceil = (ASYMMETRIC, ROUND_PREFER_CEIL)
        family = sorted(alike_by_scale(8, scale, ceil, nearest(ceil)))
        form = data.draw(st.sampled_from(family))
        assert np.array_equal(nearest_indices(form, scale, size, out, tolerance), np.arange(out) * factor)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_the_families_hold_at_every_rank(rank):
    shape, scales = (2, 3, 4, 3, 2)[:rank], (2.0, 3.0, 1.0, 4.0, 2.0)[:rank]
    x = count_up(*shape)
    expected = x
    for axis, scale in enumerate(scales):
        expected = np.repeat(expected, int(scale), axis=axis)
    for form in families(5, Mode.NEAREST, 2.0)[0]:
        assert same_bits(run(scaled(nearest(form), scales, x), x), expected), form


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.float16])
def test_the_families_hold_for_every_element_type(dtype):
    x = count_up(2, 5).astype(dtype)
    for form in families(5, Mode.NEAREST, 3.0)[0]:
        assert same_bits(run(scaled(nearest(form), (2, 3), x), x), x.repeat(2, axis=0).repeat(3, axis=1)), form


@pytest.mark.parametrize("mode", [Mode.LINEAR, Mode.CUBIC])
def test_e20_ends_where_the_scale_is_no_integer(mode):  # its bound: test_kernel_bounds.py
    symmetric, half = ((c, None) for c in (HALF_PIXEL_SYMMETRIC, HALF_PIXEL))
    assert half in alike_by_scale(20, 3.0, symmetric, interpolate(mode, symmetric))
    assert not alike_by_scale(20, 2.5, symmetric, interpolate(mode, symmetric))
    assert outputs_differ(mode, symmetric, half, (2.5, 1), noise(3, 4))


def test_e21_reads_another_sample_only_where_float32_misses_a_tie():
    missed = 0
    pairs = (
        ((TF_HALF_PIXEL_FOR_NN, FLOOR), (HALF_PIXEL, ROUND_PREFER_CEIL)),
        ((TF_HALF_PIXEL_FOR_NN, ROUND_PREFER_FLOOR), (HALF_PIXEL, CEIL)),
    )
    for (one, other), size, out in product(pairs, range(1, 40), range(1, 40)):
        assert other in alike_by_scale(21, out / size, one, nearest(one))
        a, b = (nearest_indices(form, np.float32(out) / np.float32(size), size, out) for form in (one, other))
        for x in np.flatnonzero(a != b):
            missed += 1
            assert (2 * x + 1) * size % out == 0, "the exact coordinate is a whole number or half of one"
            assert abs(a[x] - b[x]) == 1
    assert 0 < missed < 40


def test_e21_is_not_exact_in_onnxruntime():
    x = count_up(1, 20)
    floor, ceil = (
        run(sized(nearest(form), (2, 6), x), x)[0, 4]
        for form in ((TF_HALF_PIXEL_FOR_NN, FLOOR), (HALF_PIXEL, ROUND_PREFER_CEIL))
    )
    tie_rule_is_newer = ceil == 15  # onnxruntime of mid-2026 on; older ones take 14 for both
    assert (floor, ceil) == ((14, 15) if tie_rule_is_newer else (14, 14))


@pytest.mark.parametrize("mode", [Mode.NEAREST, Mode.LINEAR])
def test_e1_every_dialect_computes_the_same_legacy_interpolation(mode):
    scales = [1.0, 1.0, 2.0, 1.5]
    x = noise(1, 2, 5, 6)
    results = {}
    for dialect in DIALECTS[1:]:  # onnxruntime has no kernel for Upsample-1
        more = {} if dialect.attribute("nearest_mode") is None else {"coordinate_transformation_mode": "asymmetric"}
        if more and mode is Mode.NEAREST:
            more["nearest_mode"] = "floor"  # E2
        names = {2: ["x", "s"], 4: ["x", "r", "s"]}.get(len(dialect.inputs), ["x"])
        written = ", ".join(f'{name} = "{value}"' for name, value in {"mode": mode.value, **more}.items())
        if len(names) == 1:
            written += f", scales = {scales}"
        graph = f"""(float[1,2,5,6] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, 2, 1.5}}, float[0] r = {{}}>
            {{ y = {dialect.op_type} <{written}> ({", ".join(names)}) }}"""
        opened = open_quietly(model(graph, dialect.since_version).SerializeToString())
        results[dialect.name] = opened.run(None, {"x": x})[0].tobytes()
    assert len(results) == 7
    assert len(set(results.values())) == 1


def test_e1_half_pixel_linear_is_not_the_legacy_linear():
    x = noise(4, 5)
    assert outputs_differ(Mode.LINEAR, (ASYMMETRIC, None), (HALF_PIXEL, None), (2, 2), x)


def test_the_shortest_condition_is_kept_when_other_fields_change():
    form = (HALF_PIXEL, None)
    cubic = replace(interpolate(Mode.CUBIC, form), exclude_outside=True, cubic_coeff_a=-0.5)
    x = noise(9, 6)
    other = replace(cubic, coordinate_transformation_mode=PYTORCH_HALF_PIXEL)
    assert other.coordinate_transformation_mode in {c for c, _ in alike_by_scale(10, 2.0, form, cubic)}
    assert same_bits(run(scaled(cubic, (2, 3), x), x), run(scaled(other, (2, 3), x), x))
