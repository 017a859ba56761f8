"""Networks as exporters write them, whose numbers are computed of sizes; each follows its input to another size."""

import numpy as np
from size_networks import OLD, grid


def linspace_channels(n, h, w):
    def line(size):
        i = np.arange(size, dtype=np.float32)
        return i / np.float32(size - 1) * np.float32(2) - np.float32(1)

    return n.conv(n.Concat("x", n.floats(grid(line(h), line(w))), axis=1), 5, 2)


def mean(n, h, w):
    return n.Div(n.ReduceSum(n.conv("x", 3, 4, 2), [2, 3]), n.floats(h // 2 * (w // 2)))


def anchors(n, h, w):
    """Positions times the stride plus its half, which is also half of the map's height here."""
    h, w = h // 4, w // 4
    places = n.Identity(n.floats(grid(np.arange(h), np.arange(w))))
    pixels = n.Add(n.Mul(places, n.floats(4)), n.floats(OLD[0] // 8))
    return n.Add(n.conv(n.conv("x", 3, 4, 2), 4, 2, 2), pixels)


def tiled_pattern(n, h, w):
    """The sizes of two boxes, repeated for each position."""
    boxes = n.Tile(n.floats([[0.1, 0.1], [0.2, 0.3]]), [h * w, 1])
    y = n.Transpose(n.conv("x", 3, 4), perm=[0, 2, 3, 1])
    return n.Mul(n.Reshape(y, [h * w * 2, 2]), boxes)


def keras_layer_norm(n, h, w):
    """Positions are normalised as if each were a channel, with weights of 1 and 0."""
    y = n.Reshape(n.Transpose(n.conv("x", 3, 4), perm=[0, 2, 3, 1]), [1, h * w, 4, 1])
    mean = n.Squeeze(n.ReduceMean(y, axes=[0, 2, 3], keepdims=1), [0, 2, 3])
    spread = n.ReduceMean(n.Mul(y, y), axes=[0, 2, 3], keepdims=0)
    one, none = n.floats(np.ones(h * w)), n.floats(np.zeros(h * w))
    return n.Reshape(n.BatchNormalization(y, one, none, mean, spread), [1, h, w, 4])


def pixel_boxes(n, h, w):
    """Corners of boxes around positions in pixels: numbers that are as long as the map here."""
    h, w = h // 2, w // 2
    places = n.floats(np.tile(grid(np.arange(h) * 2, np.arange(w) * 2), (1, 2, 1, 1)))
    corners = np.array([-OLD[0] // 2, -4, OLD[0] // 2, 4], np.float32).reshape(1, 4, 1, 1)
    return n.Add(n.conv("x", 3, 4, 2), n.Add(n.Identity(places), n.floats(corners)))


def two_shares(n, h, w):
    """Each of two coordinates is multiplied by one over its own size, both in one list."""
    h, w = h // 8, w // 8
    y = n.conv(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), 4, 2, 2)
    places = grid(np.arange(h), np.arange(w)).transpose(0, 2, 3, 1)
    y = n.Add(n.Transpose(y, perm=[0, 2, 3, 1]), n.floats(places))
    return n.Mul(y, n.floats([np.float32(1) / np.float32(w), np.float32(1) / np.float32(h)]))


def counted(n, h, w):
    """A sum over a map and its channels, divided by as many as there are: half of the image's pixels, too."""
    y = n.Reshape(n.conv("x", 3, 8, 4), [1, 8, h * w // 16])
    return n.Div(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), n.floats(h * w // 2))


def box_head(n, h, w):
    """Centres of boxes count positions and are divided by the size of the map; so are their widths."""
    y = n.conv("x", 3, 4)
    centre = n.Div(n.Add(n.Sigmoid(y), n.floats(np.arange(w).reshape(1, 1, 1, w))), n.floats(w))
    width = n.Div(n.Exp(y), n.floats(w))
    return n.Concat(centre, width, axis=1)


def flow_in_shares(n, h, w):
    return n.Div(n.conv("x", 3, 2), n.floats((w - 1) / 2))


def two_coordinates(n, h, w):
    """Each of two coordinates is divided by its own size, also where the image is square."""
    places = n.Add(n.conv("x", 3, 2), n.floats(grid(np.arange(h), np.arange(w))))
    made = []
    for channel, size in enumerate((w, h)):
        made.append(n.Div(n.Slice(places, [channel], [channel + 1], [1]), n.floats(size - 1)))
    return n.Concat(*made, axis=1)


def boxes_in_pixels(n, h, w):
    y = n.Transpose(n.Reshape(n.conv("x", 3, 4), [1, 4, h * w]), perm=[0, 2, 1])
    return n.Mul(y, n.floats([w, h, w, h]))


def strip(n, h, w):
    y = n.conv("x", 3, 4)
    return n.Add(y, n.AveragePool(y, kernel_shape=[1, w], strides=[1, w]))


def counted_up(n, h, w):
    """torch's arange before opset 11: the positions of the ones in a list of ceil(32.0), one axis of a table."""
    made = []
    for size, shape in ((h // 4, [h // 4, 1]), (w // 4, [1, w // 4])):
        length = n.Cast(n.Ceil(n.floats([size])), to=7)
        ones = n.ConstantOfShape(length, value=n.tensor([1]))
        line = n.Squeeze(n.Transpose(n.NonZero(ones), perm=[1, 0]), axes=[1])
        line = n.Reshape(n.Cast(line, to=1), shape)
        made.append(n.Unsqueeze(n.Expand(line, [h // 4, w // 4]), axes=[0, 1]))
    return n.Concat(n.conv(n.conv("x", 3, 2, 2), 2, 2, 2), *made, axis=1)


def paddle_range(n, h, w):
    """Positions of floats, divided by the size in one number with the weights' order changed beside them."""
    start, limit, step = (n.Squeeze(n.floats([number])) for number in (0, w, 1))
    line = n.Reshape(n.Range(start, limit, step), [1, 1, 1, w])
    share = n.Mul(n.Add(n.conv("x", 3, 2), line), n.floats(np.float32(1) / np.float32(w)))
    weights = n.weight(24, 2)
    parts = [n.Slice(weights, [a], [b], [0]) for a, b in ((0, 6), (18, 24), (6, 18))]
    turned = n.Transpose(n.Concat(*parts, axis=0), perm=[1, 0])
    return n.MatMul(n.Transpose(share, perm=[0, 2, 3, 1]), turned)


def middles_of_boxes(n, h, w):
    """Two corners at positions of a map of 4 rows, added and halved: 2 is no half of the map."""
    fh, fw = h // 8, w // 8
    y = n.Reshape(n.conv("x", 3, 4, 8), [1, 4, fh * fw])
    points = n.floats(grid(np.arange(fh) + 0.5, np.arange(fw) + 0.5).reshape(1, 2, -1))
    first = n.Sub(points, n.Slice(y, [0], [2], [1]))
    last = n.Add(points, n.Slice(y, [2], [4], [1]))
    return n.Div(n.Add(first, last), n.floats(2))


def linear_attention(n, h, w):
    """Values are divided by how many there are before they are summed, and the sum is multiplied again."""
    y = n.Reshape(n.conv("x", 3, 4, 4), [1, 4, h * w // 16])
    count = n.floats(h * w // 16)
    kv = n.MatMul(n.Div(y, count), n.Transpose(y, perm=[0, 2, 1]))
    return n.Mul(n.MatMul(kv, y), count)


def boxes_on_a_map(n, h, w):
    """Boxes of a few queries, scaled to a map: nothing that they are computed of follows the input."""
    y = n.conv("x", 3, 4, 4)
    few = n.Transpose(n.Reshape(n.GlobalAveragePool(y), [1, 4]), perm=[0, 1])
    boxes = n.Mul(few, n.floats([w // 4, h // 4, w // 4, h // 4]))
    return n.Add(n.Transpose(y, perm=[0, 2, 3, 1]), boxes)


def attention_with_waves(n, h, w):
    """Sines of positions are no positions: what similarities are multiplied by, 1/4, is no 2 over 8 rows."""
    fh, fw = h // 4, w // 4
    ys = np.repeat(np.arange(fh), fw)[:, None]
    line = n.floats(np.concatenate([ys, ys], 1)[None])
    waves = n.Sin(n.Mul(line, n.floats([1, 0.1])))
    y = n.Transpose(n.Reshape(n.conv("x", 3, 2, 4), [1, 2, fh * fw]), perm=[0, 2, 1])
    y = n.Add(y, waves)
    return n.Mul(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), n.floats(0.25))


def unbiased(n, h, w):
    """A variance as torch wrote it before 2.0: the mean times n, over n - 1."""
    y = n.Reshape(n.conv("x", 3, 4), [1, 4, -1])
    power = n.Abs(n.ReduceMean(n.Mul(y, y), axes=[2]))
    count = n.Mul(power, n.floats(h * w))
    return n.Div(count, n.floats(h * w - 1))


def linspace_of(lanes):
    """torch.linspace(-1, 1, n) with products that are fused with their sum, in vectors of `lanes`."""

    def spaced(size):
        step, made = np.float32(2) / np.float32(size - 1), []
        for i in range(size):
            first = i // lanes * lanes if i < size - size % (2 * lanes) and lanes > 1 else i
            up, down = -1 + float(step) * first, 1 - float(step) * (size - 1 - first)
            made.append(np.float32(up if first < size // 2 else down) + step * np.float32(i - first))
        return np.array(made, np.float32)

    def build(n, h, w):
        return n.conv(n.Concat("x", n.floats(grid(spaced(h), spaced(w))), axis=1), 5, 2)

    build.__name__ = f"linspace_{lanes}"
    return build


def rays(n, h, w):
    """Pixels turned by a camera's matrix, times a depth: both are constants."""
    pixels = np.concatenate([grid(np.arange(h), np.arange(w)).reshape(2, -1), np.ones((1, h * w))])
    turned = n.MatMul(n.floats([[0.5, 0, -1], [0, 0.25, 2], [0, 0, 1]]), n.floats(pixels))
    return n.Mul(turned, n.Reshape(n.conv("x", 3, 1), [1, 1, h * w]))


def root_computed(n, h, w):
    """Sums over a map, over the root of how many there were, which the file computes."""
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, 2, h * w // 16])
    alike = n.MatMul(y, n.Transpose(y, perm=[0, 2, 1]))
    return n.Mul(alike, n.Pow(n.floats(h * w // 16), n.floats(-0.5)))


def larger_table(n, h, w):
    """Learned positions for maps of up to 20 x 20, of which the first are added."""
    table = n.weight(1, 2, 20, 20)
    for axis, size in ((2, h // 4), (3, w // 4)):
        table = n.Slice(table, [0], [size], [axis])
    return n.Add(n.conv("x", 3, 2, 4), table)


def affine_grid(n, h, w):
    """Positions between the middles of the first and last sample, as torch's affine_grid makes them."""

    def line(size):
        end = np.float32(size - 1) / np.float32(size)
        step = (end + end) / np.float32(size - 1)
        i = np.arange(size, dtype=np.float32)
        return np.where(i < size // 2, -end + step * i, end - step * (size - 1 - i)).astype(np.float32)

    return n.Add(n.conv("x", 3, 2), n.Mul(n.floats(grid(line(h), line(w))), n.floats(3)))


def prior_shares(n, h, w):
    """Sizes of boxes as shares of the image that are no whole number of pixels."""
    sides = np.broadcast_to(np.reshape([0.13, 0.21], (1, 2, 1, 1)), (1, 2, h, w))
    boxes = np.concatenate([grid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w), sides], 1)
    return n.Add(n.conv("x", 3, 4), n.floats(boxes))


def best_cell(n, h, w):
    """The largest sample of a map with channels last: its row and column, as shares of the map."""
    h, w = h // 2, w // 2
    y = n.Transpose(n.conv("x", 3, 2, 2), perm=[0, 2, 3, 1])
    at = n.ArgMax(n.Reshape(y, [1, h * w * 2]), axis=1)
    cell = n.Div(at, 2)
    row = n.Div(cell, w)
    column = n.Sub(cell, n.Mul(row, w))
    shares = [n.Mul(n.Cast(one, to=1), n.floats(1 / np.float32(size))) for one, size in ((row, h), (column, w))]
    return n.Concat(*shares, axis=1)


def table_of_positions(n, h, w):
    return n.Add(n.conv("x", 3, 2), n.floats(grid(np.arange(h), np.arange(w))))


def frequencies(n, h, w):
    """Positions times frequencies are a grid."""
    rows = np.arange(h, dtype=np.float32)[:, None] * np.array([1, 0.31622776], np.float32)
    return n.Mul(n.Transpose(n.conv("x", 3, 2), perm=[0, 3, 2, 1]), n.Cos(n.floats(rows)))


def norm_without_weights(n, h, w):
    """torch writes the weights that it does not have as ones and zeros, as large as the map."""
    ones, zeros = (n.floats(np.full((4, h, w), value)) for value in (1, 0))
    return n.LayerNormalization(n.conv("x", 3, 4), ones, zeros, axis=1)


def halves_changed_and_counted(n, h, w):
    """The halves of a map change places; positions count on over both."""
    y = n.conv("x", 3, 2)
    turned = n.Concat(n.Slice(y, [h // 2], [h], [2]), n.Slice(y, [0], [h // 2], [2]), axis=2)
    return n.Add(turned, n.floats(grid(np.arange(h), np.arange(w))))


def warped(n, h, w):
    """Positions on a map of twice the size over half of its last column and row, in one list."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 2 * h, 2 * w], mode="nearest")
    places = n.Add(y, n.floats(grid(np.arange(2 * h), np.arange(2 * w))))
    return n.Div(n.Transpose(places, perm=[0, 2, 3, 1]), n.floats([w - 0.5, h - 0.5]))


# Each with what is said of it.
def counted_over_the_last(n, h, w):
    """Positions from 1 over the last of them: rows counted up in ones, columns of a list that is repeated."""
    h, w = h // 4, w // 4
    rows = n.CumSum(n.floats(np.ones((1, h, w))), np.int64(1))
    columns = n.Tile(n.Expand(n.floats(np.arange(1, w + 1)), [1, 1, 1]), [1, h, 1])
    end = 2**63 - 1
    rows = n.Div(rows, n.Add(n.Slice(rows, [-1], [end], [1], [1]), n.floats(1e-6)))
    columns = n.Div(columns, n.Add(n.Slice(columns, [-1], [end], [2], [1]), n.floats(1e-6)))
    positions = n.Unsqueeze(n.Concat(rows, columns, axis=0), [0])
    positions = n.Tile(n.Conv(positions, n.weight(4, 2, 1, 1)), [1, 1, 1, 1])
    return n.Add(n.Reshape(n.conv("x", 3, 4, 4), [1, 4, h * w]), n.Reshape(positions, [1, 4, h * w]))


FOLLOWING = {
    counted_over_the_last: {},
    linspace_channels: {}, linspace_of(1): {}, linspace_of(8): {}, affine_grid: {}, mean: {}, unbiased: {}, counted: {},
    root_computed: {}, linear_attention: {}, attention_with_waves: {}, anchors: {}, tiled_pattern: {},
    pixel_boxes: {}, two_shares: {}, box_head: {}, boxes_in_pixels: {}, boxes_on_a_map: {}, middles_of_boxes: {},
    prior_shares: {}, flow_in_shares: {}, best_cell: {}, paddle_range: {}, frequencies: {}, rays: {}, larger_table: {},
    keras_layer_norm: {}, halves_changed_and_counted: {},
    strip: {"rtol": 1e-5},  # a sum in another order
    two_coordinates: {"old": (32, 32)}, warped: {"old": (32, 32)},
    counted_up: {"opset": 9},
    table_of_positions: {"opset": 9},  # which has no Range: positions are those of the ones in a list of ones
    norm_without_weights: {"opset": 17},
}  # fmt: skip
