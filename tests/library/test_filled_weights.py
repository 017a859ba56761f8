"""Weights that ConstantOfShape fills: their channels are no sizes of the image, also where they are equal to one."""

import pytest
from onnx import helper
from size_networks import NEW, OLD, Net, assert_follows, built, refused


def filled(n: Net, shape, value=0.5) -> str:
    tensor = helper.make_tensor("value", 1, [1], [value])
    return n.ConstantOfShape(list(shape), value=tensor)


def as_many_channels_as_rows(n, h, w):
    y = n.Conv("x", filled(n, [OLD[0], 3, 3, 3]), filled(n, [OLD[0]]), pads=[1] * 4)
    y = n.BatchNormalization(y, *(filled(n, [OLD[0]], 1 + place) for place in range(4)))
    return n.Conv(y, filled(n, [OLD[1], OLD[0], 1, 1]))


def of_a_position_each(n, h, w):
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, 2 * h * w // 16])
    return n.Gemm(y, filled(n, [3, 2 * h * w // 16]), filled(n, [3]), transB=1)


@pytest.mark.parametrize("size", [NEW, "any"])
def test_the_channels_of_filled_weights_stay(size):
    assert_follows(as_many_channels_as_rows, size)


@pytest.mark.parametrize("size", [NEW, "any"])
def test_filled_weights_of_a_position_each_fix_the_size(size):
    assert refused(built(of_a_position_each, OLD), size) == ("Gemm_4", "origins.input-size-weights")


def test_what_is_filled_for_another_use_follows():
    def framed(n, h, w):
        return n.Concat(n.conv("x", 3, 2), filled(n, [1, 1, h, w]), axis=1)

    assert_follows(framed)
