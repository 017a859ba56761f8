"""Levels that are joined and taken apart, windows that move, and maps in other layouts."""

import numpy as np

from size_blocks.attention import map_of, tokens_of
from size_blocks.net import Map, Net, block, same


def _halved(n: Net, x: Map, channels: int) -> Map:
    y = n.add("Conv", x.name, n.weight(channels, x.c, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    return Map(y, channels, (x.h + 1) // 2, (x.w + 1) // 2)


def _resized(n: Net, x: Map, height: int, width: int, mode: str = "linear") -> Map:
    sizes = n.const([1, x.c, height, width])
    y = n.add("Resize", x.name, "", "", sizes, mode=mode, coordinate_transformation_mode="half_pixel")
    return Map(y, x.c, height, width)


@block
def moved_windows(n: Net, x: Map) -> Map:
    """Windows of 4 x 4, moved by two, with a learned bias and without a mask."""
    y = n.add("Transpose", x.name, perm=[0, 2, 3, 1])
    for axis, size in ((1, x.h), (2, x.w)):
        tail = n.add("Slice", y, n.const([2]), n.const([size]), n.const([axis]))
        head = n.add("Slice", y, n.const([0]), n.const([2]), n.const([axis]))
        y = n.add("Concat", tail, head, axis=axis)
    y = n.add("Reshape", y, n.const([1, x.h // 4, 4, x.w // 4, 4, x.c]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.const([-1, 16, x.c]))
    score = n.add("Mul", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.number(x.c**-0.5))
    score = n.add("Softmax", n.add("Add", score, n.weight(16, 16)), axis=-1)
    y = n.add("Reshape", n.add("MatMul", score, y), n.const([1, x.h // 4, x.w // 4, 4, 4, x.c]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.const([1, x.h, x.w, x.c]))
    for axis, size in ((1, x.h), (2, x.w)):
        tail = n.add("Slice", y, n.const([size - 2]), n.const([size]), n.const([axis]))
        head = n.add("Slice", y, n.const([0]), n.const([size - 2]), n.const([axis]))
        y = n.add("Concat", tail, head, axis=axis)
    return same(x, n.add("Add", x.name, n.add("Transpose", y, perm=[0, 3, 1, 2])))


@block
def three_levels_joined(n: Net, x: Map) -> Map:
    """Tokens of three levels together, and each level's own again by a Split."""
    levels = [x]
    for _ in range(2):
        levels.append(_halved(n, levels[-1], x.c))
    joined = n.add("Concat", *(tokens_of(n, level) for level in levels), axis=1)
    score = n.add("Softmax", n.add("MatMul", joined, n.weight(x.c, x.c)), axis=-1)
    counts = [level.h * level.w for level in levels]
    parts = n.add("Split", n.add("Add", joined, score), n.const(counts), outputs=3, axis=1)
    made = [map_of(n, level, part) for level, part in zip(levels, parts, strict=True)]
    sums = [made[0].name] + [_resized(n, one, x.h, x.w).name for one in made[1:]]
    return same(x, n.add("Sum", *sums))


@block
def levels_cut_apart(n: Net, x: Map) -> Map:
    """Two levels joined, and cut apart by Slices whose bounds are their counts."""
    low = _halved(n, x, x.c)
    joined = n.add("Concat", tokens_of(n, x), tokens_of(n, low), axis=1)
    joined = n.add("MatMul", joined, n.weight(x.c, x.c))
    first, last = x.h * x.w, x.h * x.w + low.h * low.w
    one = n.add("Slice", joined, n.const([0]), n.const([first]), n.const([1]))
    two = n.add("Slice", joined, n.const([first]), n.const([n.pick(last, 2**31)]), n.const([1]))
    up = _resized(n, map_of(n, low, two), x.h, x.w, "nearest")
    return same(x, n.add("Add", map_of(n, x, one).name, up.name))


@block
def pyramid_with_sizes(n: Net, x: Map) -> Map:
    """Top down: each level to the size of the one below."""
    two = _halved(n, x, x.c)
    four = _halved(n, two, x.c)
    two = same(two, n.add("Add", two.name, _resized(n, four, two.h, two.w, "nearest").name))
    return same(x, n.add("Add", x.name, _resized(n, two, x.h, x.w, "nearest").name))


@block
def mean_of_image_joined(n: Net, x: Map) -> Map:
    """The mean of the map, spread over it by a Resize."""
    y = n.add("Relu", n.add("Conv", n.add("GlobalAveragePool", x.name), n.weight(x.c, x.c, 1, 1)))
    y = _resized(n, Map(y, x.c, 1, 1), x.h, x.w)
    return Map(n.add("Concat", x.name, y.name, axis=1), 2 * x.c, x.h, x.w)


@block
def shuffled_without_batch(n: Net, x: Map) -> Map:
    """Depth to space whose batch is squeezed away."""
    if x.c % 4:
        return x
    y = n.add("Reshape", x.name, n.const([x.c // 4, 2, 2, x.h, x.w]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 3, 1, 4, 2]), n.const([x.c // 4, x.h * 2, x.w * 2]))
    return Map(n.add("Unsqueeze", y, n.const([0])), x.c // 4, 2 * x.h, 2 * x.w)


@block
def learned_table_resized(n: Net, x: Map) -> Map:
    """A learned table of 7 x 7 that a Resize brings to the map's size."""
    table = Map(n.weight(1, x.c, 7, 7), x.c, 7, 7)
    return same(x, n.add("Add", x.name, _resized(n, table, x.h, x.w, n.pick("linear", "cubic")).name))


@block
def cropped_to_multiple(n: Net, x: Map) -> Map:
    """Cut to a multiple of eight, and padded back."""
    h, w = x.h // 8 * 8, x.w // 8 * 8
    y = n.add("Slice", x.name, n.const([0, 0]), n.const([h, w]), n.const([2, 3]))
    y = n.add("Conv", y, n.weight(x.c, x.c, 3, 3), pads=[1, 1, 1, 1])
    return same(x, n.add("Add", x.name, n.add("Pad", y, n.const([0, 0, 0, 0, 0, 0, x.h - h, x.w - w]))))


@block
def channels_last(n: Net, x: Map) -> Map:
    """Pixels as a picture has them: normalised, and resized along its first axes."""
    y = n.add("Transpose", n.add("Squeeze", x.name, n.const([0])), perm=[1, 2, 0])
    y = n.add("Div", n.add("Sub", y, n.weight(x.c)), n.number(n.pick(255, 127.5)))
    y = n.add("Unsqueeze", n.add("Transpose", y, perm=[2, 0, 1]), n.const([0]))
    return _resized(n, same(x, y), 2 * x.h, 2 * x.w, "nearest") if n.pick(0, 1) else same(x, y)


@block
def rows_as_channels(n: Net, x: Map) -> Map:
    """A spectrogram: the rows of fixed height would be channels, here their mean is, along the columns as time."""
    y = n.add("ReduceMean", x.name, axes=[2], keepdims=0)
    y = n.add("Conv", y, n.weight(x.c, x.c, 3), pads=[1, 1], strides=[2])
    length = (x.w + 1) // 2
    y = n.add("ConvTranspose", y, n.weight(x.c, x.c, 4), strides=[2], pads=[1, 1])
    y = n.add("Slice", y, n.const([0]), n.const([n.pick(2 * length, x.w)]), n.const([2]))
    return same(x, n.add("Add", x.name, n.add("Unsqueeze", y, n.const([2]))))


@block
def spread_to_batch(n: Net, x: Map) -> Map:
    """Every second sample as an image of its own, and back."""
    y = n.add("Reshape", x.name, n.const([x.c, x.h // 2, 2, x.w // 2, 2]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[2, 4, 0, 1, 3]), n.const([4, x.c, x.h // 2, x.w // 2]))
    y = n.add("Conv", y, n.weight(x.c, x.c, 3, 3), pads=[1, 1, 1, 1])
    y = n.add("Reshape", y, n.const([2, 2, x.c, x.h // 2, x.w // 2]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[2, 3, 0, 4, 1]), n.const([1, x.c, x.h, x.w])))


@block
def weighted_neighbours(n: Net, x: Map) -> Map:
    """Each sample becomes 2 x 2 means of its neighbours, weighted by the map itself."""
    mask = n.add("Reshape", n.add("Conv", x.name, n.weight(36, x.c, 1, 1)), n.const([1, 1, 9, 2, 2, x.h, x.w]))
    mask = n.add("Softmax", mask, axis=2)
    padded = n.add("Pad", x.name, n.const([0, 0, 1, 1, 0, 0, 1, 1]))
    parts = [
        n.add("Slice", padded, n.const([i, j]), n.const([x.h + i, x.w + j]), n.const([2, 3]))
        for i in range(3)
        for j in range(3)
    ]
    y = n.add("Reshape", n.add("Concat", *parts, axis=1), n.const([1, 9, x.c, 1, 1, x.h, x.w]))
    y = n.add("Mul", n.add("Transpose", y, perm=[0, 2, 1, 3, 4, 5, 6]), mask)
    y = n.add("Transpose", n.add("ReduceSum", y, n.const([2]), keepdims=0), perm=[0, 1, 4, 2, 5, 3])
    return Map(n.add("Reshape", y, n.const([1, x.c, 2 * x.h, 2 * x.w])), x.c, 2 * x.h, 2 * x.w)


@block
def two_tiles(n: Net, x: Map) -> Map:
    """The left and the right half with a margin of four, each by itself."""
    half = x.w // 2
    made = []
    for first, last, begin in ((0, half + 4, 0), (half - 4, x.w, 4)):
        y = n.add("Slice", x.name, n.const([first]), n.const([last]), n.const([3]))
        y = n.add("Conv", y, n.weight(x.c, x.c, 3, 3), pads=[1, 1, 1, 1])
        made.append(n.add("Slice", y, n.const([begin]), n.const([begin + half]), n.const([3])))
    return same(x, n.add("Concat", *made, axis=3))


@block
def up_and_back(n: Net, x: Map) -> Map:
    up = _resized(n, x, 2 * x.h, 2 * x.w)
    y = n.add("Conv", up.name, n.weight(x.c, x.c, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    return same(x, n.add("Add", x.name, y))


@block
def strips_expanded(n: Net, x: Map) -> Map:
    """The mean of each row and each column, spread by Expand."""
    rows = n.add("Expand", n.add("ReduceMean", x.name, axes=[3], keepdims=1), n.const([1, x.c, x.h, x.w]))
    columns = n.add("Tile", n.add("ReduceMean", x.name, axes=[2], keepdims=1), n.const([1, 1, x.h, 1]))
    return same(x, n.add("Add", rows, columns))


@block
def statistics_of_all(n: Net, x: Map) -> Map:
    """Mean and variance over channels and map, by counts."""
    count = n.number(x.c * x.h * x.w)
    mean = n.add("Div", n.add("ReduceSum", x.name, n.const([1, 2, 3]), keepdims=1), count)
    centred = n.add("Sub", x.name, mean)
    square = n.add("ReduceSum", n.add("Mul", centred, centred), n.const([1, 2, 3]), keepdims=1)
    spread = n.add("Sqrt", n.add("Add", n.add("Div", square, count), n.number(1e-5)))
    return same(x, n.add("Div", centred, spread))


@block
def weights_of_the_map(n: Net, x: Map) -> Map:
    """Learned weights for each sample: no other size is possible."""
    return same(x, n.add("Mul", x.name, n.weight(1, 1, x.h, x.w)))


@block
def plane_sweep(n: Net, x: Map) -> Map:
    """The map moved by 0 to 3 columns, as planes of a volume."""
    planes = []
    for far in range(4):
        y = n.add("Slice", x.name, n.const([0]), n.const([x.w - far]), n.const([3]))
        planes.append(n.add("Unsqueeze", n.add("Pad", y, n.const([0, 0, 0, far, 0, 0, 0, 0])), n.const([2])))
    y = n.add("Conv", n.add("Concat", *planes, axis=2), n.weight(x.c, x.c, 3, 3, 3), pads=[1] * 6)
    return same(x, n.add("ReduceMean", y, axes=[2], keepdims=0))


@block
def means_upon_tokens(n: Net, x: Map) -> Map:
    """What is summed over the tokens, over their number as a float: written as its share."""
    y = tokens_of(n, x)
    total = n.add("ReduceSum", y, n.const([1]), keepdims=1)
    mean = n.add("Mul", total, n.number(1 / (x.h * x.w)))
    return map_of(n, x, n.add("Sub", y, mean))


@block
def counted_by_product(n: Net, x: Map) -> Map:
    """Columns meet rows by a product of matrices, over the width or its root."""
    y = n.add("MatMul", x.name, n.add("Transpose", x.name, perm=[0, 1, 3, 2]))
    y = n.add("Div", y, n.number(np.float32(n.pick(x.w, np.sqrt(x.w)))))
    return same(x, n.add("MatMul", n.add("Tanh", y), x.name))
