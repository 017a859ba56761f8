"""What networks do with positions behind the map: heads of detectors, matching, sampling, tables of angles."""

import numpy as np

from size_blocks.attention import map_of, tokens_of
from size_blocks.net import Map, Net, block, same


def _grid(x: Map, step: float = 1, offset: float = 0) -> np.ndarray:
    """[h, w, 2]: x and y of each sample."""
    ys, xs = np.meshgrid(np.arange(x.h) * step + offset, np.arange(x.w) * step + offset, indexing="ij")
    return np.stack([xs, ys], -1)


def _to_map(n: Net, x: Map, y: str) -> Map:
    """A row of numbers for each sample, as something that is added to the map."""
    mean = n.add("ReduceMean", n.add("Tanh", y), axes=[2], keepdims=1)
    mean = n.add("Reshape", mean, n.const([1, 1, x.h, x.w]))
    return same(x, n.add("Add", x.name, mean))


@block
def angles_of_two_axes(n: Net, x: Map) -> Map:
    """A rotation by the position's angles: one half of the channels by the row, one by the column."""
    if x.c % 4:
        return x
    pairs = x.c // 4
    speed = 1 / n.pick(100, 10000) ** (np.arange(pairs) / pairs)
    place = _grid(x).reshape(-1, 2)
    angles = np.concatenate([place[:, 1:] * speed, place[:, :1] * speed], 1)
    cos, sin = (n.const(f(np.tile(angles, 2))[None], np.float32) for f in (np.cos, np.sin))
    y = tokens_of(n, x)
    one, two = n.add("Split", y, outputs=2, axis=2)
    turned = n.add("Concat", n.add("Neg", two), one, axis=2)
    return map_of(n, x, n.add("Add", n.add("Mul", y, cos), n.add("Mul", turned, sin)))


@block
def sampled_around(n: Net, x: Map) -> Map:
    """Nine points around each sample, moved by what the map says."""
    moved = n.add("Conv", x.name, n.weight(18, x.c, 1, 1))
    moved = n.add("Transpose", n.add("Reshape", moved, n.const([1, 2, 3, 3, x.h, x.w])), perm=[0, 4, 2, 5, 3, 1])
    around = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1], indexing="xy"), -1)
    base = _grid(x)[:, None, :, None] + around[None, :, None]
    y = n.add("Add", moved, n.const(base[None], np.float32))
    y = n.add("Div", n.add("Mul", y, n.number(2)), n.number([x.w - 1, x.h - 1]))
    y = n.add("Reshape", n.add("Sub", y, n.number(1)), n.const([1, 3 * x.h, 3 * x.w, 2]))
    y = n.add("GridSample", x.name, y, align_corners=1)
    return same(x, n.add("Conv", y, n.weight(x.c, x.c, 3, 3), strides=[3, 3]))


@block
def anchors_of_three(n: Net, x: Map) -> Map:
    """Boxes of three sizes at each sample, in pixels, moved by the map."""
    stride = n.width // x.w
    centres = np.repeat(_grid(x, stride, stride / 2).reshape(-1, 1, 2), 3, 1)
    sides = np.broadcast_to(np.array([[16, 16], [32, 24], [24, 32]]), centres.shape)
    anchors = np.concatenate([centres - sides / 2, centres + sides / 2], -1).reshape(1, -1, 4)
    moved = n.add("Transpose", n.add("Conv", x.name, n.weight(12, x.c, 1, 1)), perm=[0, 2, 3, 1])
    moved = n.add("Reshape", moved, n.const([1, 3 * x.h * x.w, 4]))
    boxes = n.add("Add", moved, n.const(anchors, np.float32))
    return _to_map(n, x, n.add("Reshape", boxes, n.const([1, x.h * x.w, 12])))


@block
def distances_in_strides(n: Net, x: Map) -> Map:
    """Bins of 16 to a distance for each side, from cell centres, times a table of strides."""
    y = n.add("Reshape", n.add("Conv", x.name, n.weight(32, x.c, 1, 1)), n.const([1, 2, 16, x.h * x.w]))
    y = n.add("Softmax", y, axis=2)
    bins = n.const(np.arange(16).reshape(1, 1, 16, 1), np.float32)
    y = n.add("ReduceSum", n.add("Mul", y, bins), n.const([2]), keepdims=0)
    centres = n.const(_grid(x, 1, 0.5).reshape(-1, 2).T[None], np.float32)
    strides = n.const(np.full((1, 1, x.h * x.w), n.width // x.w), np.float32)
    y = n.add("Mul", n.add("Add", centres, y), strides)
    return _to_map(n, x, n.add("Transpose", y, perm=[0, 2, 1]))


@block
def grid_and_strides(n: Net, x: Map) -> Map:
    """Two values for each sample: an offset in its cell, times the stride."""
    y = n.add("Sigmoid", n.add("Conv", x.name, n.weight(2, x.c, 1, 1)))
    y = n.add("Transpose", n.add("Reshape", y, n.const([1, 1, 2, x.h, x.w])), perm=[0, 1, 3, 4, 2])
    y = n.add("Sub", n.add("Mul", y, n.number(2)), n.number(0.5))
    y = n.add("Mul", n.add("Add", y, n.const(_grid(x)[None, None], np.float32)), n.number(n.width // x.w))
    return _to_map(n, x, n.add("Reshape", y, n.const([1, -1, 2])))


@block
def sides_from_points(n: Net, x: Map) -> Map:
    """Four distances from points in pixels, over the image's sides."""
    stride = n.width // x.w
    points = n.const(_grid(x, stride, stride // 2).reshape(1, -1, 2), np.float32)
    y = n.add("Transpose", n.add("Conv", x.name, n.weight(2, x.c, 1, 1)), perm=[0, 2, 3, 1])
    y = n.add("Sub", points, n.add("Relu", n.add("Reshape", y, n.const([1, -1, 2]))))
    return _to_map(n, x, n.add("Div", y, n.number([n.width, n.height])))


@block
def peaks_of_classes(n: Net, x: Map) -> Map:
    """The ten best of all classes: their class, row and column by divisions."""
    flat = n.add("Reshape", x.name, n.const([1, x.c * x.h * x.w]))
    score, place = n.add("TopK", flat, n.const([10]), outputs=2, axis=1)
    inner = n.add("Mod", place, n.const(x.h * x.w))
    row = n.add("Cast", n.add("Div", inner, n.const(x.w)), to=1)
    column = n.add("Cast", n.add("Mod", inner, n.const(x.w)), to=1)
    y = n.add("Mul", score, n.add("Add", row, column))
    y = n.add("ReduceMean", y, axes=[1], keepdims=1)
    return same(x, n.add("Add", x.name, n.add("Reshape", y, n.const([1, 1, 1, 1]))))


@block
def matched_columns(n: Net, x: Map) -> Map:
    """Along each row, the expected column of the best match, and how far it is."""
    y = n.add("Transpose", n.add("Reshape", x.name, n.const([x.c, x.h, x.w])), perm=[1, 2, 0])
    score = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    score = n.add("Softmax", n.add("Div", score, n.number(np.sqrt(x.c))), axis=-1)
    columns = n.const(np.arange(x.w).reshape(1, x.w, 1), np.float32)
    far = n.add("Sub", n.add("MatMul", score, columns), columns)
    return same(x, n.add("Add", x.name, n.add("Reshape", far, n.const([1, 1, x.h, x.w]))))


@block
def matched_everywhere(n: Net, x: Map) -> Map:
    """The expected position among all samples, less the own, over the map's sides."""
    y = tokens_of(n, x)
    score = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    score = n.add("Softmax", n.add("Div", score, n.number(x.c**0.5)), axis=-1)
    grid = n.const(_grid(x).reshape(1, -1, 2), np.float32)
    far = n.add("Sub", n.add("MatMul", score, grid), grid)
    return _to_map(n, x, n.add("Div", far, n.number([x.w, x.h])))


@block
def moved_positions(n: Net, x: Map) -> Map:
    """Positions plus a flow, sampled there."""
    flow = n.add("Conv", x.name, n.weight(2, x.c, 1, 1))
    y = n.add("Add", n.const(_grid(x).transpose(2, 0, 1)[None], np.float32), flow)
    column, row = n.add("Split", y, outputs=2, axis=1)
    column = n.add("Sub", n.add("Div", n.add("Mul", column, n.number(2)), n.number(x.w - 1)), n.number(1))
    row = n.add("Sub", n.add("Div", n.add("Mul", row, n.number(2)), n.number(x.h - 1)), n.number(1))
    y = n.add("Transpose", n.add("Concat", column, row, axis=1), perm=[0, 2, 3, 1])
    return same(x, n.add("GridSample", x.name, y, align_corners=1))


@block
def masks_cut_to_boxes(n: Net, x: Map) -> Map:
    """A mask is zero left of a fraction of the width that the map says."""
    share = n.add("Sigmoid", n.add("ReduceMean", x.name, axes=[1, 2, 3], keepdims=1))
    first = n.add("Mul", share, n.number(x.w))
    columns = n.const(np.arange(x.w).reshape(1, 1, 1, -1), np.float32)
    return same(x, n.add("Mul", x.name, n.add("Cast", n.add("Greater", columns, first), to=1)))


@block
def linear_by_indices(n: Net, x: Map) -> Map:
    """Twice as wide: two neighbours by indices, weighted by a table."""
    place = np.maximum((np.arange(2 * x.w) + 0.5) / 2 - 0.5, 0)
    left = np.floor(place).astype(np.int64)
    share = n.const((place - left).reshape(1, 1, 1, -1), np.float32)
    one = n.add("Gather", x.name, n.const(left), axis=3)
    two = n.add("Gather", x.name, n.const(np.minimum(left + 1, x.w - 1)), axis=3)
    return Map(n.add("Add", one, n.add("Mul", n.add("Sub", two, one), share)), x.c, x.h, 2 * x.w)


@block
def running_positions(n: Net, x: Map) -> Map:
    """Ones are counted along both axes, over the last count, as angles."""
    ones = n.add("Expand", n.number([[[[1]]]]), n.const([1, 1, x.h, x.w]))
    made = []
    for axis, size in ((2, x.h), (3, x.w)):
        y = n.add("CumSum", ones, n.const(axis))
        last = n.add("Slice", y, n.const([size - 1]), n.const([size]), n.const([axis]))
        y = n.add("Div", y, n.add("Add", last, n.number(1e-6)))
        made.append(n.add("Sin", n.add("Mul", y, n.number(2 * np.pi))))
    return same(x, n.add("Sum", x.name, *made))


@block
def nearest_cell_read(n: Net, x: Map) -> Map:
    """The sample at a position that the map says, by flat indices."""
    share = n.add("Sigmoid", n.add("Conv", x.name, n.weight(2, x.c, 1, 1)))
    row, column = n.add("Split", share, outputs=2, axis=1)
    row = n.add("Floor", n.add("Mul", row, n.number(x.h - 1)))
    column = n.add("Floor", n.add("Mul", column, n.number(x.w - 1)))
    place = n.add("Add", n.add("Mul", row, n.number(x.w)), column)
    place = n.add("Reshape", n.add("Cast", place, to=7), n.const([x.h * x.w]))
    y = n.add("Gather", n.add("Reshape", x.name, n.const([1, x.c, -1])), place, axis=2)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def clipped_positions(n: Net, x: Map) -> Map:
    """Columns that are moved, and clipped to the map."""
    flow = n.add("Conv", x.name, n.weight(1, x.c, 1, 1))
    y = n.add("Add", flow, n.const(np.arange(x.w).reshape(1, 1, 1, -1), np.float32))
    y = n.add("Clip", n.add("Floor", y), n.number(0), n.number(x.w - 1))
    index = n.add("Expand", n.add("Cast", y, to=7), n.const([1, x.c, x.h, x.w]))
    return same(x, n.add("GatherElements", x.name, index, axis=3))


@block
def distance_to_centre(n: Net, x: Map) -> Map:
    """How far each sample is from the middle, as a share of the diagonal."""
    far = _grid(x) - [(x.w - 1) / 2, (x.h - 1) / 2]
    far = np.hypot(far[..., 0], far[..., 1]) / np.hypot(x.w, x.h)
    return Map(n.add("Concat", x.name, n.const(far[None, None], np.float32), axis=1), x.c + 1, x.h, x.w)


@block
def order_of_rows(n: Net, x: Map) -> Map:
    """The row of the largest value in each column, counted from the bottom, over the height."""
    best = n.add("Cast", n.add("ArgMax", x.name, axis=2, keepdims=1), to=1)
    y = n.add("Div", n.add("Sub", n.number(x.h - 1), best), n.number(x.h))
    return same(x, n.add("Add", x.name, y))


@block
def flow_over_sides(n: Net, x: Map) -> Map:
    """A flow in samples as shares of the map: no positions are near."""
    flow = n.add("Conv", x.name, n.weight(2, x.c, 1, 1))
    column, row = n.add("Split", flow, outputs=2, axis=1)
    column = n.add("Mul", column, n.number(2 / x.w))
    row = n.add("Mul", row, n.number(2 / x.h))
    return same(x, n.add("Sum", x.name, column, row))
