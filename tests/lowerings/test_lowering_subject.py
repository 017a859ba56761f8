"""What a subject knows of its axes, against what onnxruntime allocates."""

from itertools import product

import numpy as np
import pytest
from lowering_cases import by_scales, linear, nearest
from lowering_runs import native, sample
from onnx import TensorProto

from resizefix.interpolation import CoordinateTransformationMode, Interpolation, KeepAspectRatioPolicy, Mode
from resizefix.lowerings import Subject
from resizefix.lowerings.subject import Axis


def third(k=3):
    return float(np.float32(1) / np.float32(k))


def test_a_factor_is_a_whole_scale():
    assert Axis(2, 5, 10, 2.0).factor == 2
    assert Axis(2, 5, 5, 1.0).factor == 1
    assert Axis(2, 5, 7, 1.5).factor is None
    assert Axis(2, 5, 2, 0.5).factor is None
    assert Axis(2, None, 8, None).factor is None


def test_a_divisor_is_k_where_the_scale_is_the_float32_next_to_1_over_k():
    assert Axis(2, 9, 3, third()).divisor == 3
    assert Axis(2, 9, 3, float(np.nextafter(np.float32(third()), np.float32(1)))).divisor is None
    assert Axis(2, 9, 6, third() * 2).divisor is None
    assert Axis(2, 9, 9, 1.0).divisor is None
    assert Axis(2, 9, 18, 2.0).divisor is None
    assert Axis(2, None, 3, None).divisor is None


def test_sizes_become_the_float32_scale_of_the_kernel():
    axes = Subject(linear(), None, (1, 2, 7, 4), (1, 2, 3, 4), TensorProto.FLOAT).axes
    assert [axis.out for axis in axes] == [1, 2, 7, 4]
    assert [axis.scale for axis in axes] == [1.0, 1.0, float(np.float32(7) / np.float32(3)), 1.0]


def test_a_size_for_a_dynamic_axis_has_no_scale_yet():
    axis = Subject(linear(), None, (1, 2, 8, 8), (1, 2, None, 4), TensorProto.FLOAT).axes[2]
    assert (axis.size, axis.out, axis.scale) == (None, 8, None)
    assert not axis.is_copied


def test_a_size_of_none_leaves_its_axis_alone():
    axis = Subject(linear(), None, (None, None, 8, 8), (None, None, 4, 4), TensorProto.FLOAT).axes[0]
    assert (axis.size, axis.out, axis.scale) == (None, None, 1.0)
    assert axis.is_copied


def test_a_scale_for_a_dynamic_axis_has_no_output_length_yet():
    axis = by_scales(linear(), (1, 2, None, 4), 2, 2).axes[2]
    assert (axis.size, axis.out, axis.scale) == (None, None, 2.0)


@pytest.mark.parametrize("policy", list(KeepAspectRatioPolicy))
def test_an_aspect_ratio_policy_has_the_output_size_of_the_kernel(policy):
    for axes, size, wanted in product([(2, 3), (3, 2), None], [(4, 6), (3, 5), (7, 2)], [(8, 9), (3, 14), (5, 5)]):
        interpolation = Interpolation(
            Mode.LINEAR, CoordinateTransformationMode.HALF_PIXEL, axes=axes, keep_aspect_ratio_policy=policy
        )
        if axes is None:
            subject = Subject(interpolation, None, wanted, size, TensorProto.FLOAT)
        else:
            subject = Subject(interpolation, None, (None, None, *wanted), (1, 1, *size), TensorProto.FLOAT)
        resized = native(subject, sample(subject, subject.input_shape))
        assert resized.shape == tuple(axis.out for axis in subject.axes)
        assert len({axis.scale for axis in subject.axes[-2:]}) == 1


def test_an_aspect_ratio_policy_of_a_dynamic_axis_decides_nothing():
    interpolation = Interpolation(
        Mode.LINEAR,
        CoordinateTransformationMode.HALF_PIXEL,
        axes=(2, 3),
        keep_aspect_ratio_policy=KeepAspectRatioPolicy.NOT_LARGER,
    )
    subject = Subject(interpolation, None, (None, None, 8, 8), (1, 1, None, 4), TensorProto.FLOAT)
    assert [axis.scale for axis in subject.axes] == [1.0, 1.0, None, None]


def test_equal_lengths_make_a_copy_whatever_the_scales():
    assert by_scales(nearest(), (1, 1, 4, 4), 1.2, 1.1).is_copy
    assert by_scales(nearest(), (1, 1, None, 4), 1, 1.1).is_copy
    assert not by_scales(nearest(), (1, 1, 4, 4), 1.2, 1.3).is_copy
    assert not by_scales(nearest(), (1, 1, None, 4), 1.2, 1.1).is_copy


def test_an_extent_has_one_value_for_each_axis():
    with pytest.raises(ValueError, match="an extent of 2 values for an input of rank 4"):
        Subject(linear(), (2.0, 2.0), None, (1, 1, 4, 4), TensorProto.FLOAT)
    with pytest.raises(ValueError, match="scales and sizes are both given"):
        Subject(linear(), (1.0, 2.0), (4, 8), (4, 4), TensorProto.FLOAT)
