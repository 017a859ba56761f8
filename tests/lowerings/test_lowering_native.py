"""What has no answer in onnxruntime is refused, and has none; what passes has one."""

import pytest
from lowering_cases import by_scales, by_sizes, cubic, linear, nearest
from lowering_runs import Batch, native, sample
from onnx import TensorProto

from resizefix.interpolation import CoordinateTransformationMode, Interpolation, KeepAspectRatioPolicy, Mode
from resizefix.lowerings.lowering import why_not_native

CROP = Interpolation(Mode.LINEAR, CoordinateTransformationMode.TF_CROP_AND_RESIZE, extrapolation_value=0.0)
NEGATIVE_AXES = Interpolation(
    Mode.LINEAR,
    CoordinateTransformationMode.HALF_PIXEL,
    axes=(-2, -1),
    keep_aspect_ratio_policy=KeepAspectRatioPolicy.NOT_LARGER,
)

WITHOUT_A_KERNEL = [
    (by_scales(linear(), (4,), 2), "no linear kernel for rank 1 with axes 0 scaled"),
    (by_scales(linear(), (2, 4, 4, 4), 2, 2, 2, 2), "no linear kernel for rank 4 with axes 0, 1, 2, 3 scaled"),
    (by_scales(linear(), (1, 4, 4, 4), 2, 2, 2), "no linear kernel for rank 4 with axes 1, 2, 3 scaled"),
    (by_scales(linear(), (1, 2, 2, 2, 2, 2), 2, 2), "no linear kernel for rank 6 with axes 4, 5 scaled"),
    (by_scales(cubic(), (1, 2, 4), 2), "no cubic kernel for rank 3 with axes 2 scaled"),
    (by_scales(cubic(), (1, 1, 2, 4, 4), 2, 2), "no cubic kernel for rank 5 with axes 3, 4 scaled"),
    (by_scales(cubic(), (1, 4, 4, 3), 0.5, 2, 1), "no cubic kernel for rank 4 with axes 1, 2 scaled"),
    (by_scales(nearest(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.DOUBLE), "no nearest resize of double"),
    (by_scales(cubic(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.INT32), "no cubic resize of int32"),
]


@pytest.mark.parametrize(("subject", "reason"), WITHOUT_A_KERNEL, ids=[reason for _, reason in WITHOUT_A_KERNEL])
def test_a_node_without_a_kernel_is_refused_for_that(subject, reason):
    assert reason in why_not_native(subject)
    batch = Batch(19)
    batch.add_native(subject, "x", "y")
    with pytest.raises(Exception, match=r"mode only support|NOT_IMPLEMENTED|Cubic|IsPrimitiveDataType"):
        batch.run({"x": sample(subject, subject.shape)})


def test_a_node_with_a_kernel_passes_and_runs():
    for subject in (
        by_scales(linear(), (3, 4), 2, 2),
        by_scales(linear(), (2, 3, 4), 2, 2, 2),
        by_scales(linear(), (1, 4, 4, 3), 2, 0.5, 1),
        by_scales(linear(), (1, 1, 2, 4, 4), 2, 2, 2),
        by_scales(cubic(), (3, 4), 2, 0.5),
        by_scales(cubic(), (1, 4, 4, 3), 2, 2, 1),
        by_scales(cubic(antialias=True), (1, 4, 4, 3), 0.5, 0.5, 1),
        by_scales(nearest(), (2, 2, 2, 2, 2, 2), 2, 2, 2, 2, 2, 2),
        by_scales(linear(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.FLOAT16),
    ):
        assert why_not_native(subject) is None
        native(subject, sample(subject, subject.shape))


OTHER = [
    (by_sizes(linear(), (1, 1, 4, 4), (None,) * 4), "neither scales nor sizes are constant"),
    (by_scales(CROP, (1, 1, 4, 4), 2, 2), "tf_crop_and_resize reads a roi"),
    (by_sizes(NEGATIVE_AXES, (1, 1, 4, 4), (8, 8)), "for negative axes"),
    (by_scales(linear(), (1, 1, 4, 4), 2, 0), "not a positive number"),
    (by_scales(linear(), (1, 1, 4, 4), 2, -2), "not a positive number"),
    (by_scales(linear(), (1, 1, 4, 4), 2, float("inf")), "not a positive number"),
    (by_scales(linear(), (1, 1, 4, 4), 2, float("nan")), "not a positive number"),
    (by_scales(linear(), (1, 1, 4, 4), 2, 0.2), "the output has no elements"),
    (by_scales(linear(), (1, 0, 4, 4), 2, 2), "the output has no elements"),
    (by_scales(linear(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.UINT8), "linear on uint8 drops fractions"),
]


@pytest.mark.parametrize(("subject", "reason"), OTHER, ids=[reason for _, reason in OTHER])
def test_what_cannot_be_compared_is_refused(subject, reason):
    assert reason in why_not_native(subject)


def test_onnxruntime_cuts_the_fraction_of_integers_off():
    subject = by_scales(linear(), (1, 1, 2, 2), 1, 2, elem_type=TensorProto.UINT8)
    x = sample(subject, (1, 1, 2, 2)) * 0 + [[[[0, 3]]]]
    assert native(subject, x.astype("uint8"))[0, 0, 0].tolist() == [0, 0, 2, 3]
