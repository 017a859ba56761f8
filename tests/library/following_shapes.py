"""Networks as exporters write them, whose constants are sizes of maps; each follows its input to another size."""

import numpy as np
from onnx import helper


def unet(n, h, w):
    skip = n.conv("x", 3, 4)
    deep = n.conv(skip, 4, 4, 2)
    up = n.Resize(deep, "", "", [1, 4, h, w], mode="nearest")
    return n.conv(n.Concat(up, skip, axis=1), 8, 2)


def windows(n, h, w):
    y = n.Transpose(n.conv("x", 3, 4, 2), perm=[0, 2, 3, 1])
    y = n.Reshape(y, [1, h // 8, 4, w // 8, 4, 4])
    y = n.Transpose(y, perm=[0, 1, 3, 2, 4, 5])
    y = n.Softmax(n.Reshape(y, [-1, 16, 4]), axis=1)
    y = n.Reshape(y, [1, h // 8, w // 8, 4, 4, 4])
    y = n.Transpose(y, perm=[0, 1, 3, 2, 4, 5])
    return n.Reshape(y, [1, h // 2, w // 2, 4])


def pyramid(n, h, w):
    y = n.conv("x", 3, 4, 2)
    made = [y]
    for bins in (2, 4):
        window = [h // 2 // bins, w // 2 // bins]
        pooled = n.AveragePool(y, kernel_shape=window, strides=window)
        made.append(n.Resize(pooled, "", "", [1, 4, h // 2, w // 2], mode="linear"))
    return n.Concat(*made, axis=1)


def sizes_of_parts(n, h, w):
    one = n.Reshape(n.conv("x", 3, 4), [1, 4, h * w])
    two = n.Reshape(n.conv("x", 3, 4, 2), [1, 4, h * w // 4])
    both = n.Concat(one, two, axis=2)
    small = n.Slice(both, [h * w], [h * w + h * w // 4], [2])
    return n.Reshape(small, [1, 4, h // 2, w // 2])


def frozen_scales(n, h, w):
    """Sizes over the shape at run time: what torch writes for interpolate(size=...) before opset 11."""
    skip = n.conv("x", 3, 4)
    deep = n.conv(skip, 4, 4, 2)
    shape = n.Slice(n.Shape(deep), [2], [4], [0])
    scales = n.Div(n.floats([h, w]), n.Cast(shape, to=1))
    scales = n.Concat(n.floats([1, 1]), scales, axis=0)
    return n.Add(n.Resize(deep, "", scales, mode="nearest"), skip)


def same_padded(n, h, w):
    """Pads of "SAME" that tf2onnx wrote as numbers: an even size is padded behind alone, an odd one on both sides."""
    pads = [(0 if size % 2 == 0 else 1) for size in (h, w)] + [1, 1]
    return n.Relu(n.Conv("x", n.weight(4, 3, 3, 3), pads=pads, strides=[2, 2]))


def stretched(n, h, w):
    """A global pool that is stretched over a map by scales, at an opset without sizes."""
    y = n.conv("x", 3, 4, 2)
    back = n.Resize(n.GlobalAveragePool(y), "", n.floats([1, 1, h // 2, w // 2]), mode="nearest")
    return n.Concat(y, back, axis=1)


def stretched_by_scales(n, h, w):
    y = n.conv("x", 3, 4, 2)
    return n.Concat(y, n.Resize(n.GlobalAveragePool(y), n.floats([1, 1, h // 2, w // 2]), mode="nearest"), axis=1)


def three_halves(n, h, w):
    """A scale stays one where it makes half samples."""
    return n.Resize(n.conv("x", 3, 2), n.floats([]), n.floats([1, 1, 1.5, 1.5]), mode="linear")


def shifted(n, h, w):
    """A cost volume: the map without its first column, padded in front to its old width."""
    y = n.conv("x", 3, 4)
    return n.Concat(y, n.Pad(n.Slice(y, [0], [-1], [3]), [0, 0, 0, 1, 0, 0, 0, 0]), axis=1)


def shifted_copies(n, h, w):
    """A cost volume: slices of a padded map, of which the last begins 8 samples in."""
    y = n.conv("x", 3, 2, 2)
    wide = n.Pad(y, [0, 0, 4, 0, 0, 0, 4, 0])
    made = [n.Mul(y, n.Slice(wide, [first], [first + h // 2], [2])) for first in (0, 4, 8)]
    return n.Concat(*made, axis=1)


def row_pairs(n, y, height):
    """Rows at positions in steps of two, up to a limit that the file computes of the height."""
    line = n.Range(0, n.Sub(height, 1), 2)
    return n.Gather(y, n.Add(n.Unsqueeze(line, [0]), [[0], [1]]), axis=2)


def unfold_by_range(n, h, w):
    y = n.conv("x", 3, 4)
    return n.Reshape(row_pairs(n, y, n.Gather(n.Shape(y), 2)), [1, 8, h // 2, w])


def split_shape(n, h, w):
    """The height taken out of a shape by a Split, as Paddle does."""
    y = n.conv("x", 3, 4)
    n.Split(n.Shape(y), outputs=["n", "c", "height", "width"], axis=0)
    return n.Reshape(row_pairs(n, y, n.Squeeze("height")), [1, 8, h // 2, w])


def unfold_by_table(n, h, w):
    """Pairs of rows by a table of positions."""
    y = n.conv("x", 3, 4)
    rows = n.Gather(y, np.arange(0, h - 1, 2)[None] + [[0], [1]], axis=2)
    half = n.MaxPool(y, kernel_shape=[2, 1], strides=[2, 1])
    return n.Concat(n.Reshape(rows, [1, 8, h // 2, w]), half, axis=1)


def cropped(n, h, w):
    """The middle of a skip connection, as large as what it meets."""
    y = n.conv("x", 3, 4)
    deep = n.Conv(n.MaxPool(y, kernel_shape=[2, 2], strides=[2, 2]), n.weight(4, 4, 3, 3))
    deep = n.ConvTranspose(deep, n.weight(4, 4, 2, 2), strides=[2, 2])
    y = n.Slice(y, axes=[2, 3], starts=[2, 2], ends=[h - 2, w - 2])
    return n.Concat(y, deep, axis=1)


def halves(n, h, w):
    y = n.conv("x", 3, 4)
    top = n.Slice(y, axes=[2], starts=[0], ends=[h // 2])
    return n.Sub(top, n.Slice(y, axes=[2], starts=[h // 2], ends=[2**62]))


def halves_by_split(n, h, w):
    """torch.chunk(2) of an axis, with the lengths listed."""
    y = n.conv("x", 3, 2)
    n.Split(y, [w // 2, w // 2], outputs=["left", "right"], axis=3)
    return n.Mul("left", "right")


def joined_scales(n, h, w):
    """Scales put together when the model runs, as torch leaves them without folding."""
    scales = n.Concat(n.floats([1, 1]), n.floats([0.5, 0.5]), axis=0)
    small = n.Resize("x", "", scales, mode="linear")
    size = n.Concat([1, 3], n.Unsqueeze(h, [0]), [w], axis=0)
    return n.Sub("x", n.Resize(small, "", "", size, mode="linear"))


def lacking(n, size):
    """What a size lacks to whole windows, as torch traces (8 - size % 8) % 8."""
    return n.Unsqueeze(n.Mod(n.Sub(8, n.Mod(size, 8)), 8), [0])


def padded_to_windows(n, h, w):
    h, w, zeros = h // 2, w // 2, [0, 0, 0, 0]
    y = n.conv("x", 3, 4, 2)
    lack = {size: lacking(n, size) for size in (h, w)}
    y = n.Pad(y, n.Concat(zeros, [0, 0], lack[h], lack[w], axis=0))
    sides = [n.Div(n.Add([size], lack[size]), [8]) for size in (h, w)]
    apart = n.Concat([1, 4], sides[0], [8], sides[1], [8], axis=0)
    return n.ReduceMean(n.Reshape(y, apart), axes=[3, 5])


def windows_behind_no_pad(n, h, w):
    """A pad up to whole windows, which adds nothing here and at every size that has whole windows."""
    y = n.Pad(n.conv("x", 3, 4), [0] * 8)
    y = n.Reshape(y, [1, 4, h // 8, 8, w // 8, 8])
    return n.ReduceMean(y, axes=[3, 5])


def keypoints(n, h, w):
    """Six values each of the best positions, looked up and taken apart into three pairs."""
    y = n.Reshape(n.conv("x", 3, 6, 4), [1, 6, h * w // 16])
    score = n.Slice(y, [0], [1], [1])
    n.TopK(score, [8], outputs=["best", "places"])
    found = n.GatherElements(y, n.Expand("places", [1, 6, 8]), axis=2)
    return n.Reshape(found, [1, 3, 2, 8])


def rolled(n, h, w):
    """torch.roll by two as dynamo writes it: the last two rows, before all others."""
    y = n.conv("x", 3, 4)
    ends = [n.Slice(y, [a], [b], [2]) for a, b in ((h - 2, h), (0, h - 2))]
    return n.Concat(*ends, axis=2)


def rolled_and_resized(n, h, w):
    """A map that is rolled by one sample, and then resized to three times its size."""
    y = n.conv("x", 3, 2)
    y = n.Concat(n.Slice(y, [1], [w], [3]), n.Slice(y, [0], [1], [3]), axis=3)
    return n.Resize(y, "", "", [1, 2, 3 * h, 3 * w], mode="nearest")


def squeezed(n, h, w):
    """torch writes squeeze(1) as an If where it does not know the axis."""
    y = n.conv("x", 3, 1)
    channels = n.Gather(n.Shape(y), [1], axis=0)
    then = helper.make_graph(
        [helper.make_node("Constant", [], ["axes"], value=n.tensor([1])),
         helper.make_node("Squeeze", [y, "axes"], ["squeezed"])],
        "then", [], [helper.make_empty_tensor_value_info("squeezed")])  # fmt: skip
    same = helper.make_node("Identity", [y], ["same"])
    other = helper.make_graph([same], "else", [], [helper.make_empty_tensor_value_info("same")])
    z = n.If(n.Equal(channels, [1]), then_branch=then, else_branch=other)
    return n.Reshape(z, [1, h * w])


def maps_of_one_size(n, h, w):
    """Maps are resized to the size that the first has already, and joined."""
    first = n.conv(n.conv("x", 3, 4, 2), 4, 4, 2)
    size = [1, 4, h // 4, w // 4]
    made = [n.Resize(y, "", "", size, mode="linear") for y in (first, n.conv(first, 4, 4, 2))]
    return n.Concat(*made, axis=1)


def window_mask(h, w, window):
    """As Swin makes it: samples of a window that come from other ends of the map do not see each other."""
    regions = np.zeros((h, w))
    cuts = [slice(0, -window), slice(-window, -window // 2), slice(-window // 2, None)]
    for at, (rows, columns) in enumerate((a, b) for a in cuts for b in cuts):
        regions[rows, columns] = at
    windows = regions.reshape(h // window, window, w // window, window).transpose(0, 2, 1, 3).reshape(-1, window**2)
    return np.where(windows[:, None] != windows[:, :, None], -100, 0).astype(np.float32)


def shifted_windows(n, h, w):
    h, w, window = h // 4, w // 4, 4
    windows = h // window * (w // window)
    y = n.Transpose(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), perm=[0, 2, 3, 1])
    y = n.Reshape(y, [1, h // window, window, w // window, window, 4])
    y = n.Reshape(n.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [windows, window**2, 4])
    score = n.MatMul(y, n.Transpose(y, perm=[0, 2, 1]))
    score = n.Reshape(score, [1, windows, window**2, window**2])
    score = n.Softmax(n.Add(score, n.floats(window_mask(h, w, window)[None])), axis=3)
    y = n.MatMul(n.Reshape(score, [windows, window**2, window**2]), y)
    y = n.Reshape(y, [1, h // window, w // window, window, window, 4])
    return n.Reshape(n.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [1, h, w, 4])


def averaged_down(n, h, w):
    """A short cut past a convolution of stride 2, as in ResNet-D: what is left at an odd end is a window, too."""
    y = n.conv("x", 3, 4)
    return n.Add(n.conv(y, 4, 4, 2), n.AveragePool(y, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1))


def averaged_where_it_divides(n, h, w):
    """The same where nothing is left: the sides must be even."""
    y = n.conv("x", 3, 4)
    return n.Add(n.conv(y, 4, 4, 2), n.AveragePool(y, kernel_shape=[2, 2], strides=[2, 2]))


def without_the_last_window(n, h, w):
    """Windows of 4 that weights fix, and a cut of as many rows, which are half of the map by chance."""
    h, w = h // 4, w // 4
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, 2, h // 4, 4, w // 4, 4])
    y = n.Add(n.Transpose(y, perm=[0, 1, 2, 4, 3, 5]), n.weight(4, 4))
    y = n.Reshape(n.Transpose(y, perm=[0, 1, 2, 4, 3, 5]), [1, 2, h, w])
    return n.Slice(y, [0], [-4], [2])


def stretched_to_windows(n, h, w):
    """Windows of 2 of a map that they do not divide: it is resized for them, and back, as in MobileViT."""
    h, w = -(-h // 4), -(-w // 4)
    wide = [h + h % 2, w + w % 2]
    y = n.conv(n.conv("x", 3, 4, 2), 4, 4, 2)
    z = n.Resize(y, "", "", [1, 4, *wide], mode="linear")
    z = n.Reshape(z, [4 * wide[0] // 2, 2, wide[1] // 2, 2])
    z = n.Reshape(n.Transpose(z, perm=[0, 2, 1, 3]), [4, wide[0] * wide[1] // 4, 4])
    z = n.Reshape(n.MatMul(z, n.weight(4, 4)), [4 * wide[0] // 2, wide[1] // 2, 2, 2])
    z = n.Reshape(n.Transpose(z, perm=[0, 2, 1, 3]), [1, 4, *wide])
    return n.Concat(y, n.Resize(z, "", "", [1, 4, h, w], mode="linear"), axis=1)


def stretched_on_one_side(n, h, w):
    """Windows of 2 and of 4 on one side of a map, which is resized for both; the other side stays as long."""
    h, w = -(-h // 4), -(-w // 4)
    tall = h + -h % 4
    y = n.Resize(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), "", "", [1, 4, tall, w], mode="linear")
    parts = [n.Transpose(n.Reshape(y, [4, tall // length, length, w]), perm=[0, 1, 3, 2]) for length in (2, 4)]
    return n.Concat(*(n.MatMul(part, n.weight(2 * at, 3)) for at, part in enumerate(parts, 1)), axis=1)


# Each with what is said of it.
FOLLOWING = {
    stretched_to_windows: {"old": (44, 40), "new": (36, 60)},
    stretched_on_one_side: {"old": (92, 40), "new": (108, 60)},
    averaged_down: {}, averaged_where_it_divides: {}, without_the_last_window: {},
    unet: {}, windows: {}, sizes_of_parts: {}, frozen_scales: {}, same_padded: {}, stretched: {}, shifted: {},
    shifted_copies: {}, unfold_by_range: {}, split_shape: {}, unfold_by_table: {}, halves_by_split: {},
    joined_scales: {}, padded_to_windows: {}, windows_behind_no_pad: {}, keypoints: {}, rolled: {}, squeezed: {},
    rolled_and_resized: {},
    maps_of_one_size: {"old": (32, 32)},
    shifted_windows: {"old": (48, 64), "new": (80, 96)},
    three_halves: {"old": (33, 49), "new": (50, 64)},
    stretched_by_scales: {"opset": 10},
}  # fmt: skip
# What an attribute holds cannot follow any size: a kernel, and before opset 10 the numbers of Slice and Pad.
IN_ATTRIBUTES = {pyramid: 13, cropped: 9, halves: 9}
