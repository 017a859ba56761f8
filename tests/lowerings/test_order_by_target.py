"""Which lowerings are used for which target: the order of each is data, and what it computes wrong is not in it."""

import itertools

import pytest
from onnx import TensorProto

from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.errors import RefusedError
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings.table import BY_NAME, BY_TARGET, LOWERINGS, lower, lowerings_for
from resizefix.targets.catalogue import TARGETS, target_named

NEAREST = Interpolation(Mode.NEAREST, CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR)
LINEAR = Interpolation(Mode.LINEAR, CoordinateTransformationMode.HALF_PIXEL)


def chosen(target, meaning, scales, shape, elem_type=TensorProto.FLOAT) -> str:
    """The lowering that takes the place of a node for the target."""
    subject = ResizeSpec(meaning, ExtentKind.SCALES, scales, shape, elem_type)
    limits, counter = target_named(target), itertools.count()
    options = {"opset": 13, "fresh": lambda base: f"{base}_{next(counter)}", "among": lowerings_for(target)}
    why_not = lambda lowering: limits.why_not(lowering.operators, elem_type, len(shape))  # noqa: E731
    return lower(subject, x="x", y="y", why_not=why_not, **options).lowering


def test_every_order_is_of_a_target_and_of_lowerings():
    assert BY_TARGET.keys() <= {target.name for target in TARGETS}
    for order in BY_TARGET.values():
        assert set(order) <= set(BY_NAME.values())
        assert len(set(order)) == len(order)
    assert lowerings_for(None) == lowerings_for("openvino") == LOWERINGS


@pytest.mark.parametrize(
    ("target", "meaning", "scales", "shape", "name"),
    [
        ("openvino", NEAREST, (1, 1, 2, 2), (1, 2, 5, 7), "repeat"),
        ("opencv-4", NEAREST, (1, 1, 2, 2), (1, 2, 5, 7), "gather"),
        ("ncnn", NEAREST, (1, 1, 2, 2), (1, 2, 5, 7), "depthwise_conv_transpose"),
        ("ncnn", NEAREST, (1, 1, 1.5, 1.5), (1, 2, 5, 7), "small_matmul"),
        ("ncnn", LINEAR, (1, 1, 200, 200), (1, 2, 20, 20), "matmul"),
        ("opencv-4", LINEAR, (1, 1, 200, 200), (1, 2, 20, 20), "matmul"),
        ("openvino", LINEAR, (1, 1, 20, 20), (1, 2, 40, 40), "conv_transpose"),
        ("opencv-4", LINEAR, (1, 1, 20, 20), (1, 2, 40, 40), "matmul"),
        ("mnn", LINEAR, (1, 1, 0.5, 0.5, 0.5), (1, 2, 8, 8, 8), "small_matmul"),
        ("openvino", LINEAR, (1, 1, 0.5, 0.5, 0.5), (1, 2, 8, 8, 8), "average_pool"),
    ],
)
def test_what_takes_the_place_of_a_node(target, meaning, scales, shape, name):
    assert chosen(target, meaning, scales, shape) == name


def test_a_volume_has_a_form_without_reshapes_in_ncnn():
    assert chosen("ncnn", LINEAR, (1, 1, 1.5, 1.5, 1.5), (1, 2, 8, 8, 8)) == "transposed_matmul"
    with pytest.raises(RefusedError, match="not static"):
        chosen("ncnn", LINEAR, (1, 1, 1.5, 1.5, 1.5), (1, 2, None, 8, 8))


def test_integers_are_copied_sample_by_sample_in_ncnn():
    assert chosen("ncnn", NEAREST, (1, 1, 2, 2), (1, 2, 5, 7), TensorProto.UINT8) == "split_concat"
    with pytest.raises(RefusedError, match="Split"):
        chosen("ncnn", NEAREST, (1, 1, 2, 2, 2), (1, 2, 5, 7, 7), TensorProto.UINT8)
