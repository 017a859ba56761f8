"""Repeating samples: which roundings it is right for, what it writes, what it lets through."""

from itertools import product

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, by_sizes, linear, nearest, text
from lowering_runs import difference, native, run, sample
from onnx import TensorProto, numpy_helper

from resizefix.equivalences.index_map import nearest_indices
from resizefix.equivalences.resize_spec import Axis
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings.repeat import repeats

REPEAT = ROW["repeat"]


def test_height_and_width_are_repeated_by_concat_and_merged():
    lowered = build("repeat", by_scales(nearest(), (1, 3, 4, 5), 2, 3), opset=7)
    assert text(lowered) == [
        "y_unsqueeze = Unsqueeze <axes: ints = [3, 5]> (x)",
        "y_concat = Concat <axis: int = 5> (y_unsqueeze, y_unsqueeze, y_unsqueeze)",
        '"y_concat\'" = Concat <axis: int = 3> (y_concat, y_concat)',
        'y = Reshape ("y_concat\'", y_shape)',
    ]
    assert numpy_helper.to_array(lowered.initializers[0]).tolist() == [0, 0, 8, 15]


def test_one_dynamic_axis_needs_no_shape_arithmetic():
    lowered = build("repeat", by_scales(nearest(), (None, 3, None, 5), 2, 2), opset=7)
    assert numpy_helper.to_array(lowered.initializers[0]).tolist() == [0, 0, -1, 10]


def test_two_dynamic_axes_take_the_shape_of_the_input():
    lowered = build("repeat", by_scales(nearest(), (None, 3, None, None), 2, 3))
    assert text(lowered)[-3:] == [
        "y_shape = Shape (x)",
        "y_mul = Mul (y_shape, y_factors)",
        'y = Reshape ("y_concat\'", y_mul)',
    ]
    assert numpy_helper.to_array(lowered.initializers[1]).tolist() == [1, 1, 2, 3]


@pytest.mark.parametrize("opset", [7, 13])
def test_infinities_nan_and_negative_zero_come_through(opset):
    subject = by_scales(nearest(), (None, 1, None, None), 3, 2)
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-45], np.float32).reshape(1, 1, 2, 3)
    lowered, got = run(REPEAT, subject, x, opset)
    assert lowered.error.exact
    assert got.tobytes() == native(subject, x).tobytes()


def test_a_rounding_repeats_at_any_size_exactly_where_the_index_map_does():
    for coordinates, nearest_mode, factor in product(CoordinateTransformationMode, NearestMode, range(2, 12)):
        crop = coordinates is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        simple = nearest_mode is NearestMode.SIMPLE and coordinates is not CoordinateTransformationMode.ASYMMETRIC
        if crop or simple:
            continue
        interpolation = Interpolation(Mode.NEAREST, coordinates, nearest_mode)
        maps = (nearest_indices((coordinates, nearest_mode), factor, n, n * factor) for n in (*range(1, 70), 100_000))
        truth = all(np.array_equal(each, np.arange(len(each)) // factor) for each in maps)
        assert repeats(interpolation, Axis(None, None, float(factor))) == truth, (interpolation, factor)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 1, 4, 4), 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 1, 4, 4), 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(nearest(), (1, 1, 4, 4), 0.5, 2), "axis 2 is not scaled by a whole number"),
        (by_sizes(nearest(), (1, 1, 4, 4), (1, 1, 8, 9)), "axis 3 is not scaled by a whole"),
        (by_sizes(nearest(), (1, 1, None, 4), (1, 1, 8, 8)), "axis 2 is not scaled by a whole"),
        (by_scales(nearest("asymmetric", "round_prefer_floor"), (1, 1, 4, 4), 2, 3),
         "asymmetric with round_prefer_floor does not repeat the samples of axis 3 3 times"),
        (by_scales(nearest("half_pixel", "floor"), (1, 1, 4, 4), 2, 2),
         "half_pixel with floor does not repeat the samples of axis 2 2 times"),
        (by_scales(nearest("align_corners", "floor"), (1, 1, 4, 4), 2, 2), "align_corners with floor does not repeat"),
        (by_scales(nearest("align_corners", "round_prefer_floor"), (1, 1, None, 4), 2, 2),
         "align_corners with round_prefer_floor does not repeat the samples of axis 2 2 times"),
        (by_scales(nearest("align_corners", "round_prefer_floor"), (1, 1, 4, 2050), 2, 2),
         "align_corners with round_prefer_floor does not repeat the samples of axis 3 2 times"),
    ],
)  # fmt: skip
def test_what_is_no_repetition_is_refused_with_the_reason(subject, reason):
    assert reason in REPEAT.applies(subject, 13)


def test_just_inside_the_conditions_it_applies():
    for subject in (
        by_scales(nearest("asymmetric", "round_prefer_floor"), (1, 1, 4, 4), 2, 2),
        by_sizes(nearest(), (1, 1, 4, 4), (1, 1, 8, 12)),
        by_scales(nearest("align_corners", "round_prefer_floor"), (1, 1, 4, 2049), 2, 2),
    ):
        assert REPEAT.applies(subject, 13) is None


@pytest.mark.parametrize("elem_type", [TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.FLOAT16])
@pytest.mark.parametrize("opset", [7, 11, 13])
def test_any_type_is_repeated(elem_type, opset):
    subject = by_scales(nearest(), (1, 2, None, None), 2, 3, elem_type=elem_type)
    x = sample(subject, (1, 2, 3, 4))
    assert difference(*run(REPEAT, subject, x, opset), native(subject, x)) is None


def test_a_large_factor_stays_exact():
    subject = by_scales(nearest("half_pixel", "round_prefer_ceil"), (1, 1, 500, 3), 31, 64)
    x = sample(subject, (1, 1, 500, 3))
    assert difference(*run(REPEAT, subject, x, 13), native(subject, x)) is None
