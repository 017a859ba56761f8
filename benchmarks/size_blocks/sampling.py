"""Sampling by grids and indices, decoding of positions, and maps that are made of positions."""

import numpy as np

from size_blocks.attention import tokens_of
from size_blocks.net import Map, Net, block, row, same


def pixel_grid(x: Map, shift: float = 0.0) -> np.ndarray:
    """The column and the row of each sample, [1, 2, h, w]."""
    return np.stack(np.meshgrid(np.arange(x.w) + shift, np.arange(x.h) + shift))[None]


def offsets(n: Net, x: Map) -> str:
    return n.add("Conv", x.name, n.weight(2, x.c, 3, 3), pads=[1] * 4)


def sampled(n: Net, x: Map, grid: str, **attributes) -> Map:
    """The map at a grid of [1, 2, h, w]; the sampling operator itself differs between versions, so its nearest form."""
    y = n.add("Transpose", grid, perm=[0, 2, 3, 1])
    return same(x, n.add("GridSample", x.name, y, mode="bilinear", padding_mode="border", **attributes))


@block
def warp_by_halves(n: Net, x: Map) -> Map:
    """Each coordinate over half of its side, less one."""
    where = n.add("Add", n.const(pixel_grid(x), np.float32), offsets(n, x))
    halves = np.reshape([(x.w - 1) / 2, (x.h - 1) / 2], [1, 2, 1, 1])
    y = n.add("Sub", n.add("Div", where, n.number(halves)), n.number(1))
    return sampled(n, x, y, align_corners=1)


@block
def warp_by_cells(n: Net, x: Map) -> Map:
    where = n.add("Add", n.const(pixel_grid(x), np.float32), offsets(n, x))
    y = n.add("Add", n.add("Mul", where, n.number(2)), n.number(1))
    y = n.add("Div", y, n.number(np.reshape([x.w, x.h], [1, 2, 1, 1])))
    return sampled(n, x, n.add("Sub", y, n.number(1)))


@block
def warp_of_unit_grid(n: Net, x: Map) -> Map:
    """A grid of -1 to 1 and a flow in pixels, by two over the sides."""
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, x.w), np.linspace(-1, 1, x.h)))[None]
    shares = np.reshape([2 / (x.w - 1), 2 / (x.h - 1)], [1, 2, 1, 1])
    y = n.add("Add", n.const(grid, np.float32), n.add("Mul", offsets(n, x), n.number(shares)))
    return sampled(n, x, y, align_corners=1)


@block
def warp_each_alone(n: Net, x: Map) -> Map:
    """x and y apart, by numbers of their own."""
    where = n.add("Add", n.const(pixel_grid(x), np.float32), offsets(n, x))
    xs, ys = n.add("Split", where, n.const([1, 1]), outputs=2, axis=1)
    parts = []
    for one, size in ((xs, x.w), (ys, x.h)):
        y = n.add("Mul", one, n.number(2 / (size - 1))) if n.pick(0, 1) else n.add("Div", one, n.number((size - 1) / 2))
        parts.append(n.add("Sub", y, n.number(1)))
    return sampled(n, x, n.add("Concat", *parts, axis=1), align_corners=1)


@block
def affine_grid(n: Net, x: Map) -> Map:
    """A spatial transformer: a matrix of the map's mean, times the base grid."""
    xs, ys = np.meshgrid((2 * np.arange(x.w) + 1) / x.w - 1, (2 * np.arange(x.h) + 1) / x.h - 1)
    base = np.stack([xs, ys, np.ones_like(xs)], -1).reshape(1, x.h * x.w, 3)
    theta = n.add("MatMul", n.add("ReduceMean", x.name, axes=[2, 3], keepdims=0), n.weight(x.c, 6))
    theta = n.add("Reshape", theta, n.const([1, 3, 2]))
    y = n.add("Reshape", n.add("MatMul", n.const(base, np.float32), theta), n.const([1, x.h, x.w, 2]))
    return same(x, n.add("GridSample", x.name, y, mode="bilinear"))


@block
def deformable_points(n: Net, x: Map) -> Map:
    """Reference points in 0 to 1, offsets over the sides, and both in -1 to 1."""
    points = (pixel_grid(x, 0.5) / np.reshape([x.w, x.h], [1, 2, 1, 1])).astype(np.float32)
    moved = n.add("Div", offsets(n, x), n.number(np.reshape([x.w, x.h], [1, 2, 1, 1])))
    y = n.add("Add", n.const(points, np.float32), moved)
    return sampled(n, x, n.add("Sub", n.add("Mul", y, n.number(2)), n.number(1)))


@block
def by_flat_indices(n: Net, x: Map) -> Map:
    """Rounded positions, clipped to the map, become indices into its samples."""
    where = n.add("Round", n.add("Add", n.const(pixel_grid(x), np.float32), offsets(n, x)))
    xs, ys = n.add("Split", where, n.const([1, 1]), outputs=2, axis=1)
    xs = n.add("Clip", xs, n.number(0), n.number(x.w - 1))
    ys = n.add("Clip", ys, n.number(0), n.number(x.h - 1))
    flat = n.add("Cast", n.add("Add", n.add("Mul", ys, n.number(x.w)), xs), to=7)
    flat = n.add("Expand", n.add("Reshape", flat, n.const([1, 1, x.h * x.w])), n.const([1, x.c, x.h * x.w]))
    y = n.add("GatherElements", n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w])), flat, axis=2)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def peak_of_map(n: Net, x: Map) -> Map:
    """The largest sample's row and column, as shares."""
    best = n.add("ArgMax", n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w])), axis=2, keepdims=1)
    column, line = n.add("Mod", best, n.const(x.w)), n.add("Div", best, n.const(x.w))
    y = n.add("Add", n.add("Cast", column, to=1), n.add("Cast", line, to=1))
    return same(x, n.add("Add", x.name, n.add("Unsqueeze", n.add("Div", y, n.number(10)), n.const([3]))))


@block
def integral_pose(n: Net, x: Map) -> Map:
    y = n.add("Softmax", n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w])), axis=2)
    y = n.add("Reshape", y, n.const([1, x.c, x.h, x.w]))
    rows, columns = n.add("ReduceSum", y, n.const([3])), n.add("ReduceSum", y, n.const([2]))
    parts = []
    for one, size in ((rows, x.h), (columns, x.w)):
        line = np.arange(size).reshape(1, 1, 1, -1) if one == columns else np.arange(size).reshape(1, 1, -1, 1)
        total = n.add("ReduceSum", n.add("Mul", one, n.const(line, np.float32)), n.const([2, 3]))
        parts.append(n.add("Sub", n.add("Div", total, n.number(n.pick(size, size - 1))), n.number(0.5)))
    return same(x, n.add("Mul", x.name, n.add("Add", *parts)))


@block
def distances_to_boxes(n: Net, x: Map) -> Map:
    """Anchor points in the middle of each cell, and distances in steps of the stride."""
    stride = n.width // x.w
    anchors = pixel_grid(x, 0.5).reshape(1, 2, -1)
    both = n.add("Reshape", n.add("Conv", x.name, n.weight(4, x.c, 1, 1)), n.const([1, 4, x.h * x.w]))
    low, high = n.add("Split", both, n.const([2, 2]), outputs=2, axis=1)
    corners = [n.add("Sub", n.const(anchors, np.float32), low), n.add("Add", n.const(anchors, np.float32), high)]
    y = n.add("Mul", n.add("Concat", *corners, axis=1), n.number(stride))
    y = n.add("Reshape", y, n.const([1, 4, x.h, x.w]))
    return Map(n.add("Concat", x.name, y, axis=1), x.c + 4, x.h, x.w)


@block
def prior_boxes(n: Net, x: Map) -> Map:
    """Centres as shares of the map, and sides of their own."""
    centres = pixel_grid(x, 0.5) / np.reshape([x.w, x.h], [1, 2, 1, 1])
    y = n.add("Conv", x.name, n.weight(2, x.c, 1, 1))
    y = n.add("Add", n.const(centres, np.float32), n.add("Mul", y, n.number(n.pick(0.1, 0.3))))
    return Map(n.add("Concat", x.name, y, axis=1), x.c + 2, x.h, x.w)


@block
def radial(n: Net, x: Map) -> Map:
    """The distance to the middle, over the largest of them or over the width."""
    i, j = np.arange(x.h)[:, None] - (x.h - 1) / 2, np.arange(x.w) - (x.w - 1) / 2
    distance = np.sqrt(i**2 + j**2)
    made = n.pick(distance / distance.max(), distance / x.w, distance)
    return same(x, n.add("Mul", x.name, n.const(made[None, None], np.float32)))


@block
def centre_prior(n: Net, x: Map) -> Map:
    i, j = np.arange(x.h)[:, None] - (x.h - 1) / 2, np.arange(x.w) - (x.w - 1) / 2
    made = n.pick(np.exp(-((i / 8) ** 2 + (j / 8) ** 2)), np.exp(-((i / x.h) ** 2 + (j / x.w) ** 2) * 8))
    return same(x, n.add("Add", x.name, n.const(made[None, None], np.float32)))


@block
def cosine_basis(n: Net, x: Map) -> Map:
    """A frequency of each channel."""
    u = np.arange(x.c)[:, None]
    rows = np.cos(np.pi * (np.arange(x.h) + 0.5) * u / x.h)
    columns = np.cos(np.pi * (np.arange(x.w) + 0.5) * u / x.w)
    y = n.add("Mul", x.name, n.const(rows[None, :, :, None] * columns[None, :, None], np.float32))
    return same(x, n.add("Mul", x.name, n.add("Sigmoid", n.add("ReduceSum", y, n.const([2, 3]), keepdims=1))))


@block
def sine_positions(n: Net, x: Map) -> Map:
    """Positions of a detector: counted, over the last one, times 2 pi."""
    size, axis = n.pick((x.h, 2), (x.w, 3))
    scaled = (np.arange(size) + 1) / (size + 1e-6) * 2 * np.pi
    return same(x, n.add("Add", x.name, row(n, x, n.pick(np.sin(scaled), np.cos(scaled / 10), scaled), axis)))


@block
def counted_in_graph(n: Net, x: Map) -> Map:
    """CumSum of ones, over its last one."""
    ones = n.add("Expand", n.number([[[[1.0]]]]), n.const([1, 1, x.h, x.w]))
    y = n.add("CumSum", ones, n.const(2))
    last = n.add("Slice", y, n.const(n.pick([x.h - 1], [-1])), n.const([2**63 - 1]), n.const([2]))
    return same(x, n.add("Add", x.name, n.add("Div", y, last)))


@block
def running_mean(n: Net, x: Map) -> Map:
    return same(x, n.add("Div", n.add("CumSum", x.name, n.const(3)), row(n, x, np.arange(x.w) + 1, 3)))


@block
def box_filter(n: Net, x: Map) -> Map:
    """Sums of three, over how many samples each has."""
    y = n.add("AveragePool", x.name, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1], count_include_pad=1)
    rows, columns = np.full(x.h, 3), np.full(x.w, 3)
    rows[[0, -1]], columns[[0, -1]] = 2, 2
    counts = 9 / (rows[:, None] * columns)[None, None]
    return same(x, n.add("Mul", y, n.const(counts, np.float32)))


@block
def levels_of_range(n: Net, x: Map) -> Map:
    """A mask of the columns before the middle, made of a Range."""
    y = n.add("Less", n.add("Range", n.number(0), n.number(x.w), n.number(1)), n.number(n.pick(x.w / 2, 8, x.w // 4)))
    return same(x, n.add("Where", y, x.name, n.number(0)))


@block
def similar_tokens(n: Net, x: Map) -> Map:
    """The best other sample for each, as a share of all."""
    y = tokens_of(n, x)
    best = n.add("ArgMax", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), axis=2, keepdims=1)
    best = n.add("Div", n.add("Cast", best, to=1), n.number(n.pick(x.h * x.w, x.h * x.w - 1)))
    return same(x, n.add("Add", x.name, n.add("Reshape", best, n.const([1, 1, x.h, x.w]))))
