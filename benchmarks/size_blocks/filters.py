"""Filters, pools and resizes, joins of parts, and tables by which a side is multiplied."""

import numpy as np
from onnx import helper

from size_blocks.net import Map, Net, block, same


@block
def pools_of_three_sizes(n: Net, x: Map) -> Map:
    pools = [n.add("MaxPool", x.name, kernel_shape=[k, k], pads=[k // 2] * 4, strides=[1, 1]) for k in (3, 5, 7)]
    return Map(n.add("Concat", x.name, *pools, axis=1), 4 * x.c, x.h, x.w)


@block
def whole_norm_pool(n: Net, x: Map) -> Map:
    y = n.add("LpPool", x.name, kernel_shape=[x.h, x.w], p=2)
    return same(x, n.add("Div", x.name, n.add("Add", y, n.number(1e-3))))


@block
def blur_pool(n: Net, x: Map) -> Map:
    y = n.add("Pad", x.name, n.const([0, 0, 1, 1, 0, 0, 1, 1]), mode="reflect")
    kernel = np.tile(np.outer([1, 2, 1], [1, 2, 1]) / 16, (x.c, 1, 1, 1))
    y = n.add("Conv", y, n.const(kernel, np.float32), group=x.c, strides=[2, 2])
    return Map(y, x.c, (x.h + 1) // 2, (x.w + 1) // 2)


@block
def unpooled(n: Net, x: Map) -> Map:
    y, where = n.add("MaxPool", x.name, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    return Map(n.add("MaxUnpool", y, where, kernel_shape=[2, 2], strides=[2, 2]), x.c, x.h // 2 * 2, x.w // 2 * 2)


@block
def transposed_to_size(n: Net, x: Map) -> Map:
    y = n.add("MaxPool", x.name, kernel_shape=[2, 2], strides=[2, 2])
    size = [x.h // 2 * 2, x.w // 2 * 2]
    y = n.add("ConvTranspose", y, n.weight(x.c, 4, 3, 3), strides=[2, 2], output_shape=size)
    return Map(y, 4, *size)


@block
def quarter_and_back(n: Net, x: Map) -> Map:
    """Resized to a quarter of the map, and to the map."""
    ways = {"mode": "linear", "coordinate_transformation_mode": n.pick("align_corners", "half_pixel")}
    y = n.add("Resize", x.name, "", "", n.const([1, x.c, x.h // 4, x.w // 4]), **ways)
    y = n.add("Resize", n.add("Relu", y), "", "", n.const([1, x.c, x.h, x.w]), **ways)
    return same(x, n.add("Add", x.name, y))


@block
def fixed_thumbnail(n: Net, x: Map) -> Map:
    """A small picture of one size, whose mean gates the map."""
    y = n.add("Resize", x.name, "", "", n.const([1, x.c, 8, 8]), mode="linear")
    y = n.add("MatMul", n.add("Reshape", y, n.const([1, x.c * 64])), n.weight(x.c * 64, x.c))
    return same(x, n.add("Mul", x.name, n.add("Sigmoid", n.add("Reshape", y, n.const([1, x.c, 1, 1])))))


@block
def squared(n: Net, x: Map) -> Map:
    """Resized to a square of the longer side, and back."""
    side = max(x.h, x.w)
    y = n.add("Relu", n.add("Resize", x.name, "", "", n.const([1, x.c, side, side]), mode="nearest"))
    return same(x, n.add("Resize", y, "", "", n.const([1, x.c, x.h, x.w]), mode="nearest"))


@block
def patches_merged(n: Net, x: Map) -> Map:
    """The four samples of every two by two, as channels."""
    parts = [
        n.add("Slice", x.name, n.const([i, j]), n.const([x.h, x.w]), n.const([2, 3]), n.const([2, 2]))
        for j in (0, 1)
        for i in (0, 1)
    ]
    y = n.add("Conv", n.add("Concat", *parts, axis=1), n.weight(x.c, 4 * x.c, 1, 1))
    return Map(y, x.c, x.h // 2, x.w // 2)


@block
def interleaved(n: Net, x: Map) -> Map:
    """Every row twice, by a new axis."""
    y = n.add("Unsqueeze", x.name, n.const([3]))
    y = n.add("Concat", y, n.add("Relu", y), axis=3)
    return Map(n.add("Reshape", y, n.const([1, x.c, 2 * x.h, x.w])), x.c, 2 * x.h, x.w)


@block
def wavelet(n: Net, x: Map) -> Map:
    even, odd = (n.add("Slice", x.name, n.const([i]), n.const([2**63 - 1]), n.const([3]), n.const([2])) for i in (0, 1))
    y = n.add("Concat", n.add("Add", even, odd), n.add("Sub", even, odd), axis=1)
    return Map(n.add("Mul", y, n.number(0.5)), 2 * x.c, x.h, x.w // 2)


@block
def gradient(n: Net, x: Map) -> Map:
    """Differences of neighbours, with the last column once more."""
    right = n.add("Slice", x.name, n.const([1]), n.const([x.w]), n.const([3]))
    left = n.add("Slice", x.name, n.const([0]), n.const(n.pick([x.w - 1], [-1])), n.const([3]))
    y = n.add("Pad", n.add("Sub", right, left), n.const([0, 0, 0, 0, 0, 0, 0, 1]))
    return same(x, n.add("Add", x.name, n.add("Abs", y)))


@block
def cost_volume(n: Net, x: Map) -> Map:
    """The map beside itself, shifted by none, one and two columns."""
    parts = [n.add("Mul", x.name, x.name)]
    for by in (1, 2):
        y = n.add("Slice", x.name, n.const([0]), n.const([x.w - by]), n.const([3]))
        y = n.add("Pad", y, n.const([0, 0, 0, by, 0, 0, 0, 0]))
        parts.append(n.add("Mul", x.name, y))
    return Map(n.add("Concat", *parts, axis=1), 3 * x.c, x.h, x.w)


@block
def neighbours(n: Net, x: Map) -> Map:
    """Correlation with what lies one sample away."""
    y = n.add("Pad", x.name, n.const([0, 0, 1, 1, 0, 0, 1, 1]))
    parts = []
    for i, j in ((0, 0), (0, 2), (2, 1)):
        cut = n.add("Slice", y, n.const([i, j]), n.const([i + x.h, j + x.w]), n.const([2, 3]))
        parts.append(n.add("ReduceMean", n.add("Mul", x.name, cut), axes=[1], keepdims=1))
    return Map(n.add("Concat", x.name, *parts, axis=1), x.c + 3, x.h, x.w)


@block
def wrapped(n: Net, x: Map) -> Map:
    """A panorama: the last two columns before the first, and the first two behind the last."""
    last = n.add("Slice", x.name, n.const(n.pick([x.w - 2], [-2])), n.const([x.w]), n.const([3]))
    first = n.add("Slice", x.name, n.const([0]), n.const([2]), n.const([3]))
    return Map(n.add("Concat", last, x.name, first, axis=3), x.c, x.h, x.w + 4)


@block
def reflected_by_indices(n: Net, x: Map) -> Map:
    columns = np.pad(np.arange(x.w), 2, mode="reflect")
    return Map(n.add("Gather", x.name, n.const(columns), axis=3), x.c, x.h, x.w + 4)


@block
def shifted_down(n: Net, x: Map) -> Map:
    """One row of zeros above, and the last row gone."""
    zeros = n.add("ConstantOfShape", n.const([1, x.c, 1, x.w]), value=helper.make_tensor("v", 1, [1], [0.0]))
    y = n.add("Slice", x.name, n.const([0]), n.const([x.h - 1]), n.const([2]))
    return same(x, n.add("Concat", zeros, y, axis=2))


@block
def unfolded(n: Net, x: Map) -> Map:
    """Patches of three by indices, as exporters write unfold."""
    y = n.add("Pad", x.name, n.const([0, 0, 1, 1, 0, 0, 1, 1]))
    y = n.add("Gather", y, n.const(np.arange(3)[:, None] + np.arange(x.h)), axis=2)
    y = n.add("Gather", y, n.const(np.arange(3)[:, None] + np.arange(x.w)), axis=4)
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 1, 2, 4, 3, 5]), n.const([1, x.c * 9, x.h * x.w]))
    y = n.add("MatMul", n.weight(x.c, x.c * 9), y)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def kept_of_larger(n: Net, x: Map) -> Map:
    """Padded to a multiple of sixteen on both sides, and cut to its size."""
    up, left = (-x.h % 16) // 2, (-x.w % 16) // 2
    y = n.add("Pad", x.name, n.const([0, 0, up, left, 0, 0, -x.h % 16 - up, -x.w % 16 - left]))
    y = n.add("Relu", y)
    return same(x, n.add("Slice", y, n.const([up, left]), n.const([up + x.h, left + x.w]), n.const([2, 3])))


@block
def middle_three_quarters(n: Net, x: Map) -> Map:
    y = n.add("Slice", x.name, n.const([x.h // 8]), n.const([x.h - x.h // 8]), n.const([2]))
    return same(x, n.add("Add", x.name, n.add("ReduceMax", y, axes=[2], keepdims=1)))


@block
def four_tiles(n: Net, x: Map) -> Map:
    y = n.add("Tile", x.name, n.const([1, 1, 2, 2]))
    y = n.add("Conv", y, n.weight(x.c, x.c, 3, 3), pads=[1] * 4)
    return same(
        x, n.add("Slice", y, n.const([x.h // 2, x.w // 2]), n.const([x.h // 2 + x.h, x.w // 2 + x.w]), n.const([2, 3]))
    )


@block
def border_written(n: Net, x: Map) -> Map:
    """Ones on the left column, by positions."""
    where = np.stack([np.zeros(x.h), np.zeros(x.h), np.arange(x.h), np.zeros(x.h)], -1).astype(np.int64)
    return same(x, n.add("ScatterND", x.name, n.const(where), n.number(np.ones(x.h))))


@block
def mirrored_by_elements(n: Net, x: Map) -> Map:
    columns = np.broadcast_to(np.arange(x.w)[::-1], (1, x.c, x.h, x.w))
    return same(x, n.add("GatherElements", x.name, n.const(columns), axis=3))


@block
def smoothed_by_matrix(n: Net, x: Map) -> Map:
    band = np.eye(x.w) * 0.5 + np.eye(x.w, k=1) * 0.25 + np.eye(x.w, k=-1) * 0.25
    return same(x, n.add("MatMul", x.name, n.const(band, np.float32)))


@block
def halved_by_matrix(n: Net, x: Map) -> Map:
    pairs = np.repeat(np.eye(x.w // 2), 2, axis=0) / 2
    if x.w % 2:
        return x
    return Map(n.add("MatMul", x.name, n.const(pairs, np.float32)), x.c, x.h, x.w // 2)


@block
def summed_by_matrix(n: Net, x: Map) -> Map:
    """What came before each column, over the width."""
    return same(x, n.add("MatMul", x.name, n.const(np.triu(np.ones((x.w, x.w))) / x.w, np.float32)))


@block
def cosine_transform(n: Net, x: Map) -> Map:
    i = np.arange(x.w)
    table = np.cos(np.pi * np.outer(i + 0.5, i) / x.w) * np.sqrt(2 / x.w)
    return same(x, n.add("Einsum", x.name, n.const(table, np.float32), equation="bchw,wk->bchk"))


@block
def sorted_rows(n: Net, x: Map) -> Map:
    y, _ = n.add("TopK", x.name, n.const([x.h]), outputs=2, axis=2)
    return same(x, n.add("Add", x.name, y))


@block
def halves_apart(n: Net, x: Map) -> Map:
    """The left half and the right one, each with a filter of its own."""
    parts = n.add("Split", x.name, n.const([x.w // 2, x.w - x.w // 2]), outputs=2, axis=3)
    parts = [n.add("Conv", one, n.weight(x.c, x.c, 1, 1)) for one in parts]
    return same(x, n.add("Concat", *parts, axis=3))


@block
def strip_apart(n: Net, x: Map) -> Map:
    """The first eight rows and all others."""
    first, rest = n.add("Split", x.name, n.const([8, x.h - 8]), outputs=2, axis=2) if x.h > 8 else (x.name, x.name)
    return same(x, n.add("Concat", n.add("Relu", first), rest, axis=2)) if x.h > 8 else x


@block
def pixels_quantised(n: Net, x: Map) -> Map:
    y = n.add("Round", n.add("Mul", n.add("Sigmoid", x.name), n.number(255)))
    return same(x, n.add("Div", y, n.number(255)))


@block
def flow_limited(n: Net, x: Map) -> Map:
    """Values between minus and plus a size, over it."""
    size = n.pick(x.w, x.w / 4, n.width)
    y = n.add("Clip", x.name, n.number(-size), n.number(size))
    return same(x, n.add("Div", y, n.number(size)))


@block
def loss_scaled(n: Net, x: Map) -> Map:
    """A sum over the map, by a power or a share of its sides."""
    total = n.add("ReduceSum", n.add("Mul", x.name, x.name), n.const([2, 3]), keepdims=1)
    size = n.pick(x.h * x.w, (x.h * x.w) ** 2, x.h + x.w, np.sqrt(x.h * x.w), 2 * x.h * x.w, x.w**2)
    return same(x, n.add("Add", x.name, n.add("Div", total, n.number(size))))


@block
def disparity_scaled(n: Net, x: Map) -> Map:
    size = n.pick(0.3 * n.width, n.width / 8, 3 * n.width / 4, n.width / 3, x.w - 1)
    return same(x, n.add("Mul", n.add("Sigmoid", x.name), n.number(size)))


# ---- numbers of their own that are as large as a size, at some sizes ----


@block
def times_one_over_32(n: Net, x: Map) -> Map:
    return same(x, n.add("Mul", x.name, n.number(1 / n.pick(32, 48, 64, 8, 16))))


@block
def plus_48(n: Net, x: Map) -> Map:
    return same(x, n.add("Add", x.name, n.number(n.pick(48, 32, 24, 31, 47))))


@block
def positions_over_32(n: Net, x: Map) -> Map:
    """Positions in steps of their own, whatever the map is."""
    y = n.add("Range", n.number(0), n.number(x.w), n.number(1))
    return same(x, n.add("Add", x.name, n.add("Div", y, n.number(n.pick(32, 48, 64, 100)))))


@block
def column_over_64(n: Net, x: Map) -> Map:
    y = n.add("Cast", n.add("ArgMax", x.name, axis=3, keepdims=1), to=1)
    return same(x, n.add("Add", x.name, n.add("Mul", y, n.number(1 / n.pick(32, 48, 64, 63)))))


@block
def sum_over_own(n: Net, x: Map) -> Map:
    y = n.add("ReduceSum", x.name, n.const([2, 3]), keepdims=1)
    return same(x, n.add("Add", x.name, n.add("Div", y, n.number(n.pick(1024, 1536, 2048, 384)))))


@block
def first_32_columns(n: Net, x: Map) -> Map:
    """At most so many, as a mask of a Range."""
    y = n.add("Less", n.add("Range", n.number(0), n.number(x.w), n.number(1)), n.number(n.pick(32, 24, 16)))
    return same(x, n.add("Where", y, x.name, n.number(0)))


@block
def largest_16(n: Net, x: Map) -> Map:
    flat = n.add("Reshape", x.name, n.const([1, x.c, -1]))
    y, _ = n.add("TopK", flat, n.const([n.pick(16, 32, 48, 64)]), outputs=2, axis=2)
    y = n.add("Unsqueeze", n.add("ReduceMean", y, axes=[2], keepdims=1), n.const([3]))
    return same(x, n.add("Add", x.name, y))


@block
def fixed_grid_sampled(n: Net, x: Map) -> Map:
    """Seven by seven points of the map."""
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 1, 7)), -1)[None]
    y = n.add("GridSample", x.name, n.const(grid, np.float32), mode="bilinear", align_corners=1)
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[2, 3], keepdims=1)))


@block
def table_of_32(n: Net, x: Map) -> Map:
    """A table of 32 numbers, looked up by rounded values."""
    y = n.add("Cast", n.add("Mul", n.add("Sigmoid", x.name), n.number(31)), to=7)
    return same(x, n.add("Add", x.name, n.add("Gather", n.const(np.linspace(0, 1, 32), np.float32), y, axis=0)))
