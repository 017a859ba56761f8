"""Windows that take a padded map, borders that are cut off, and sizes that a ConvTranspose lists."""

import pytest
from size_networks import NEW, OLD, assert_follows, built, refused

SQUARE = (48, 48)


def padded_mean(n, h, w):
    """A pool over the whole map whose window is one sample larger than that: as Caffe rounded up."""
    y = n.conv("x", 3, 5, 8)
    y = n.AveragePool(y, kernel_shape=[h // 8 + 1, w // 8 + 1], strides=[1, 1], pads=[0, 0, 1, 1])
    return n.Gemm(n.Reshape(y, [1, 5]), n.weight(5, 3))


def padded_step(n, h, w):
    """A step down, of which one is left of a small map."""
    y = n.conv("x", 3, 5, 16)
    return n.AveragePool(y, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])


def counted_with_its_padding(n, h, w):
    y = n.conv("x", 3, 5, 8)
    pool = {"kernel_shape": [h // 8 + 1, w // 8 + 1], "strides": [1, 1], "pads": [0, 0, 1, 1], "count_include_pad": 1}
    return n.Gemm(n.Reshape(n.AveragePool(y, **pool), [1, 5]), n.weight(5, 3))


def residual_without_padding(n, h, w):
    y = n.Conv("x", n.weight(3, 3, 3, 3), auto_pad="VALID")
    return n.Affine(n.Add(y, n.Crop("x", border=[1, 1, 1, 1])), alpha=2.0, beta=0.5)


def wide_border(n, h, w):
    return n.Crop(n.conv("x", 3, 2), border=[w // 4, h // 4, w // 4, h // 4])


def twice_as_large(n, h, w):
    """As Core ML wrote it: one sample more than the windows reach, and a border that is cut off."""
    y = n.ConvTranspose(
        "x", n.weight(3, 2, 3, 3), strides=[2, 2], auto_pad="VALID", output_shape=[2 * h + 2, 2 * w + 2]
    )
    return n.Crop(y, border=[1, 1, 1, 1])


@pytest.mark.parametrize("size", [NEW, "any"])
def test_a_window_as_large_as_a_padded_map_takes_all_of_it(size):
    assert_follows(padded_mean, size, old=SQUARE, rtol=1e-5)


def test_a_step_down_keeps_its_window():
    assert_follows(padded_step, (64, 96), old=(32, 32))


def test_a_mean_that_counts_its_padding_is_no_mean_of_the_map():
    assert refused(built(counted_with_its_padding, SQUARE), NEW)[0] == "Gemm_3"


@pytest.mark.parametrize("size", [NEW, "any"])
@pytest.mark.parametrize("build", [residual_without_padding, twice_as_large])
def test_borders_stay_and_listed_sizes_follow(build, size):
    assert_follows(build, size, opset=7)


def test_a_border_as_wide_as_a_part_of_the_map_is_asked_for():
    assert refused(built(wide_border, SQUARE, 7), NEW) == ("Crop_1", "origins.input-size-cut")
    assert_follows(lambda n, h, w: wide_border(n, *SQUARE), NEW, old=SQUARE, opset=7, keep=["Crop_1"])


def padded_to(n, lengths):
    """The image padded behind to these lengths, computed of its size when the model runs."""
    amounts = [n.Sub([length], n.Gather(n.Shape("x"), [axis])) for axis, length in zip((2, 3), lengths, strict=True)]
    return n.Pad("x", n.Concat([0] * 6, *amounts, axis=0))


def same_of_numbers(n, h, w):
    """timm's "SAME": torch traced how far the windows reach as a number."""
    return n.Conv(padded_to(n, (h + 1, w + 1)), n.weight(4, 3, 3, 3), strides=[2, 2])


def on_a_canvas(n, h, w):
    return n.conv(padded_to(n, (72, 72)), 3, 4)


@pytest.mark.parametrize("size", [NEW, "any"])
def test_a_number_that_the_size_is_taken_from_follows_it_or_is_a_canvas(size):
    assert refused(built(same_of_numbers, OLD), size) == ("Sub_2", "origins.input-size-number")
    assert_follows(same_of_numbers, size, follow_input=["Sub_*"])
    assert refused(built(on_a_canvas, OLD), size) == ("Sub_2", "origins.input-size-number")
    assert_follows(on_a_canvas, size, keep=["Sub_*"])
