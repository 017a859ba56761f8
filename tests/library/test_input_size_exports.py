"""What exporters write for networks of other kinds: unfold, windows, anchors with centres, norms of Keras, shifts."""

import numpy as np
import pytest
from onnx import helper
from size_networks import NEW, OLD, assert_follows, built, refused


def anchors(n, h, w):
    """Positions times the stride plus its half, which is also half of the map's height here."""
    h, w = h // 4, w // 4
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    grid = n.add("Identity", n.const(np.stack([xs, ys])[None], np.float32))
    pixels = n.add("Add", n.add("Mul", grid, n.const(4, np.float32)), n.const(OLD[0] // 8, np.float32))
    return n.add("Add", n.conv(n.conv("x", 3, 4, 2), 4, 2, 2), pixels)


def patches(n, h, w):
    """Windows of 2 x 2 as MobileViT takes them: channels and rows of windows become one axis."""
    h, w = h // 4, w // 4
    y = n.conv(n.conv("x", 3, 8, 2), 8, 8, 2)
    y = n.add("Reshape", y, n.const([8 * h // 2, 2, w // 2, 2]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), n.const([1, 8, h * w // 4, 4]))
    y = n.add("Softmax", n.add("Transpose", y, perm=[0, 3, 2, 1]), axis=2)
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 3, 2, 1]), n.const([8 * h // 2, w // 2, 2, 2]))
    return n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), n.const([1, 8, h, w]))


def tiled_pattern(n, h, w):
    """The sizes of two boxes, repeated for each position."""
    boxes = n.add("Tile", n.const([[0.1, 0.1], [0.2, 0.3]], np.float32), n.const([h * w, 1]))
    y = n.add("Transpose", n.conv("x", 3, 4), perm=[0, 2, 3, 1])
    return n.add("Mul", n.add("Reshape", y, n.const([h * w * 2, 2])), boxes)


def shifted(n, h, w):
    """A cost volume: the map without its first column, padded in front to its old width."""
    y = n.conv("x", 3, 4)
    cut = n.add("Slice", y, n.const([0]), n.const([-1]), n.const([3]))
    return n.add("Concat", y, n.add("Pad", cut, n.const([0, 0, 0, 1, 0, 0, 0, 0])), axis=1)


def padded_pool(n, h, w):
    """torch before 2.0 writes a Pad in front of every average pool."""
    return n.add("AveragePool", n.add("Pad", "x", n.const([0] * 8)), kernel_shape=[2, 2], strides=[2, 2])


def keras_layer_norm(n, h, w):
    """Positions are normalised as if each were a channel, with weights of 1 and 0."""
    y = n.add("Reshape", n.add("Transpose", n.conv("x", 3, 4), perm=[0, 2, 3, 1]), n.const([1, h * w, 4, 1]))
    mean = n.add("Squeeze", n.add("ReduceMean", y, axes=[0, 2, 3], keepdims=1), n.const([0, 2, 3]))
    spread = n.add("ReduceMean", n.add("Mul", y, y), axes=[0, 2, 3], keepdims=0)
    one, none = n.const(np.ones(h * w), np.float32), n.const(np.zeros(h * w), np.float32)
    return n.add("Reshape", n.add("BatchNormalization", y, one, none, mean, spread), n.const([1, h, w, 4]))


def unfold_by_range(n, h, w):
    """Positions in steps of two, up to a limit that torch computes."""
    y = n.conv("x", 3, 4)
    line = n.add(
        "Range", n.const(0), n.add("Sub", n.add("Gather", n.add("Shape", y), n.const(2)), n.const(1)), n.const(2)
    )
    rows = n.add("Gather", y, n.add("Add", n.add("Unsqueeze", line, n.const([0])), n.const([[0], [1]])), axis=2)
    return n.add("Reshape", rows, n.const([1, 8, h // 2, w]))


def split_shape(n, h, w):
    """The height taken out of a shape by a Split, as Paddle does."""
    y = n.conv("x", 3, 4)
    n.nodes.append(helper.make_node("Split", [n.add("Shape", y)], ["n", "c", "height", "width"], axis=0))
    line = n.add("Range", n.const(0), n.add("Sub", n.add("Squeeze", "height"), n.const(1)), n.const(2))
    rows = n.add("Gather", y, n.add("Add", n.add("Unsqueeze", line, n.const([0])), n.const([[0], [1]])), axis=2)
    return n.add("Reshape", rows, n.const([1, 8, h // 2, w]))


def pixel_boxes(n, h, w):
    """Corners of boxes around positions in pixels: numbers that are as long as the map here."""
    h, w = h // 2, w // 2
    ys, xs = np.meshgrid(np.arange(h) * 2, np.arange(w) * 2, indexing="ij")
    grid = n.const(np.stack([xs, ys, xs, ys])[None], np.float32)
    corners = np.array([-OLD[0] // 2, -4, OLD[0] // 2, 4], np.float32).reshape(1, 4, 1, 1)
    return n.add("Add", n.conv("x", 3, 4, 2), n.add("Add", n.add("Identity", grid), n.const(corners, np.float32)))


def unfold_by_table(n, h, w):
    """The same with the positions as a table."""
    y = n.conv("x", 3, 4)
    rows = n.add("Gather", y, n.const(np.arange(0, h - 1, 2)[None] + [[0], [1]]), axis=2)
    half = n.add("MaxPool", y, kernel_shape=[2, 1], strides=[2, 1])
    return n.add("Concat", n.add("Reshape", rows, n.const([1, 8, h // 2, w])), half, axis=1)


def two_shares(n, h, w):
    """Each of two coordinates is multiplied by one over its own size, both in one list."""
    h, w = h // 8, w // 8
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    y = n.conv(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), 4, 2, 2)
    y = n.add("Add", n.add("Transpose", y, perm=[0, 2, 3, 1]), n.const(np.stack([xs, ys], -1)[None], np.float32))
    return n.add("Mul", y, n.const([np.float32(1) / np.float32(w), np.float32(1) / np.float32(h)], np.float32))


def counted(n, h, w):
    """A sum over a map and its channels, divided by as many as there are: half of the image's pixels, too."""
    y = n.add("Reshape", n.conv("x", 3, 8, 4), n.const([1, 8, h * w // 16]))
    return n.add("Div", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.const(h * w // 2, np.float32))


FOLLOWING = [
    anchors, patches, tiled_pattern, shifted, padded_pool, keras_layer_norm, unfold_by_range, unfold_by_table,
    two_shares, counted, split_shape, pixel_boxes,
]  # fmt: skip


@pytest.mark.parametrize("build", FOLLOWING)
def test_a_fixed_size_and_any(build):
    assert_follows(build)
    assert_follows(build, "any", at=[OLD, NEW, (64, 32)])


def test_any_size_before_range():
    """Opset 9 has no Range: positions are those of the ones in a list of ones."""

    def table(n, h, w):
        ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
        return n.add("Add", n.conv("x", 3, 2), n.const(np.stack([xs, ys])[None], np.float32))

    assert assert_follows(table, "any", opset=9).opset_import[0].version == 9


def same_by_hand(n, h, w):
    """An odd size is padded by one on both sides in front of strides of 2: as torch writes "SAME", or always."""
    y = n.add("Pad", "x", n.const([0, 0, 1, 1, 0, 0, 1, 1]))
    return n.add("Conv", y, n.weight(4, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2])


def test_pads_that_same_may_have_made():
    odd, even = (33, 49), (48, 64)
    assert refused(built(same_by_hand, odd), even)[1] == "origins.input-size-misfit"
    assert_follows(same_by_hand, (49, 65), old=odd)
    assert_follows(same_by_hand, even, old=odd, keep=["Pad_0"])


def offset(n, h, w):
    line = n.const(np.arange(w).reshape(1, 1, 1, w), np.float32)
    return n.add("Add", n.conv("x", 3, 2), n.add("Add", n.add("Neg", line), n.const(w // 2, np.float32)))


def test_a_number_that_moves_positions_may_be_its_own():
    assert refused(built(offset, OLD), NEW) == ("Add_2", "origins.input-size-scalar-or")
    assert_follows(offset, follow_input=["Add_2"])


def test_positions_that_nothing_explains():
    def picked(n, h, w):
        return n.add("Gather", n.conv("x", 3, 2), n.const([3, 5, 9]), axis=3)

    assert refused(built(picked, OLD), NEW) == ("Gather_1", "origins.input-size-indices")


def test_a_learned_norm_stays_fixed():
    def normed(n, h, w):
        y = n.add("Reshape", n.conv("x", 3, 4), n.const([1, h * w, 4, 1]))
        return n.add("BatchNormalization", y, *(n.const(np.arange(h * w) % 7 + 1, np.float32) for _ in range(4)))

    node, code = refused(built(normed, OLD), NEW)
    assert node == "BatchNormalization_2"
    assert code == "origins.input-size-weights"
