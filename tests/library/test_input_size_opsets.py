"""What exporters write for opsets up to 10, and lengths that are floats."""

import numpy as np
import pytest
from size_networks import NEW, OLD, assert_follows, built, refused


def cropped(n, h, w):
    """The middle of a skip connection, as large as what it meets."""
    y = n.conv("x", 3, 4)
    deep = n.add("ConvTranspose", n.add("Conv", n.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]),
                 n.weight(4, 4, 3, 3)), n.weight(4, 4, 2, 2), strides=[2, 2])  # fmt: skip
    y = n.add("Slice", y, axes=[2, 3], starts=[2, 2], ends=[h - 2, w - 2])
    return n.add("Concat", y, deep, axis=1)


def halves(n, h, w):
    y = n.conv("x", 3, 4)
    top = n.add("Slice", y, axes=[2], starts=[0], ends=[h // 2])
    return n.add("Sub", top, n.add("Slice", y, axes=[2], starts=[h // 2], ends=[2**62]))


def padded_back(n, h, w):
    """A map is cut to pairs of columns and padded to its old width."""
    y = n.conv("x", 3, 4)
    cut = n.add("Slice", y, axes=[3], starts=[0], ends=[-1])
    return n.add("Concat", y, n.add("Pad", cut, pads=[0, 0, 0, 1, 0, 0, 0, 0], mode="constant"), axis=1)


@pytest.mark.parametrize("build", [cropped, halves, padded_back])
def test_sizes_in_attributes(build):
    """Before opset 10 the numbers of Slice and Pad are attributes: they follow the input as operands do."""
    assert_follows(build, opset=9)


@pytest.mark.parametrize("build", [cropped, halves])
def test_no_input_holds_sizes_of_attributes(build):
    assert refused(built(build, OLD, 9), "any")[1] == "origins.input-size-attribute"


def crop_to_the_image(n, h, w):
    """Padded to a multiple of 32, and cut to the image again."""
    y = n.add("Pad", "x", pads=[0, 0, 0, 0, 0, 0, -h % 32, -w % 32], mode="constant")
    return n.add("Slice", n.conv(y, 3, 2), axes=[2, 3], starts=[0, 0], ends=[h, w])


def test_a_crop_to_the_image_is_not_kept_in_silence():
    assert refused(built(crop_to_the_image, (28, 44), 9), (60, 76))[1] == "origins.input-size-padding"
    assert_follows(crop_to_the_image, (60, 76), old=(28, 44), opset=9, keep=["Pad_0"])


def counted_up(n, h, w):
    """torch's arange before opset 11: the positions of the ones in a list of ceil(32.0), one axis of a table."""
    made = []
    for size, shape in ((h // 4, [h // 4, 1]), (w // 4, [1, w // 4])):
        length = n.add("Cast", n.add("Ceil", n.const([size], np.float32)), to=7)
        ones = n.add("ConstantOfShape", length, value=n.tensor([1]))
        line = n.add("Squeeze", n.add("Transpose", n.add("NonZero", ones), perm=[1, 0]), axes=[1])
        line = n.add("Reshape", n.add("Cast", line, to=1), n.const(shape))
        made.append(n.add("Unsqueeze", n.add("Expand", line, n.const([h // 4, w // 4])), axes=[0, 1]))
    return n.add("Concat", n.conv(n.conv("x", 3, 2, 2), 2, 2, 2), *made, axis=1)


@pytest.mark.parametrize("opset", [9, 11])
def test_positions_counted_up_to_a_float(opset):
    assert_follows(counted_up, opset=opset)


def paddle_range(n, h, w):
    """Positions of floats, divided by the size in one number with the weights' order changed beside them."""
    start, limit, step = (n.add("Squeeze", n.const([number], np.float32)) for number in (0, w, 1))
    line = n.add("Reshape", n.add("Range", start, limit, step), n.const([1, 1, 1, w]))
    share = n.add("Mul", n.add("Add", n.conv("x", 3, 2), line), n.const(np.float32(1) / np.float32(w), np.float32))
    weights = n.weight(24, 2)
    parts = [n.add("Slice", weights, n.const([a]), n.const([b]), n.const([0])) for a, b in ((0, 6), (18, 24), (6, 18))]
    return n.add("MatMul", n.add("Transpose", share, perm=[0, 2, 3, 1]),
                 n.add("Transpose", n.add("Concat", *parts, axis=0), perm=[1, 0]))  # fmt: skip


def joined_scales(n, h, w):
    """Scales put together when the model runs, as torch leaves them without folding."""
    scales = n.add("Concat", n.const([1, 1], np.float32), n.const([0.5, 0.5], np.float32), axis=0)
    small = n.add("Resize", "x", "", scales, mode="linear")
    size = n.add("Concat", n.const([1, 3]), n.add("Unsqueeze", n.const(h), n.const([0])), n.const([w]), axis=0)
    return n.add("Sub", "x", n.add("Resize", small, "", "", size, mode="linear"))


@pytest.mark.parametrize("build", [paddle_range, joined_scales])
@pytest.mark.parametrize("size", [NEW, "any"])
def test_positions_of_floats_and_scales_that_are_joined(build, size):
    assert_follows(build, size)
