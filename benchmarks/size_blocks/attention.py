"""Attention, tokens, and sequences over the map."""

import numpy as np

from size_blocks.net import Map, Net, block, same


def tokens_of(n: Net, x: Map) -> str:
    """[1, h·w, c]."""
    return n.add("Transpose", n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w])), perm=[0, 2, 1])


def map_of(n: Net, x: Map, y: str) -> Map:
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1]), n.const([1, x.c, x.h, x.w])))


@block
def axial_attention(n: Net, x: Map) -> Map:
    """Along the columns, scaled by the root of the channels."""
    y = n.add("Reshape", n.add("Transpose", x.name, perm=[0, 3, 2, 1]), n.const([x.w, x.h, x.c]))
    score = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    score = n.add("Softmax", n.add("Div", score, n.number(np.sqrt(x.c))), axis=-1)
    y = n.add("Reshape", n.add("MatMul", score, y), n.const([1, x.w, x.h, x.c]))
    return same(x, n.add("Transpose", y, perm=[0, 3, 2, 1]))


@block
def linear_attention(n: Net, x: Map) -> Map:
    """Values are divided by how many tokens there are, and multiplied again."""
    y = tokens_of(n, x)
    count = x.h * x.w
    keys = n.add("Softmax", y, axis=1)
    values = n.add("Div", n.add("MatMul", y, n.weight(x.c, x.c)), n.number(count))
    context = n.add("MatMul", n.add("Transpose", keys, perm=[0, 2, 1]), values)
    return map_of(n, x, n.add("Mul", n.add("MatMul", y, context), n.number(count)))


@block
def cross_covariance(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w]))
    unit = n.add("Div", y, n.add("Add", n.add("ReduceL2", y, axes=[2], keepdims=1), n.number(1e-6)))
    score = n.add("MatMul", unit, n.add("Transpose", unit, perm=[0, 2, 1]))
    y = n.add("MatMul", n.add("Softmax", score, axis=-1), y)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def non_local(n: Net, x: Map) -> Map:
    """Scores without Softmax, over the number of samples."""
    y = n.add("Reshape", x.name, n.const([1, x.c, -1]))
    score = n.add("MatMul", n.add("Transpose", y, perm=[0, 2, 1]), y)
    score = n.add(*n.pick(("Div", score, n.number(x.h * x.w)), ("Mul", score, n.number(1 / (x.h * x.w)))))
    y = n.add("MatMul", y, score)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def pooled_keys(n: Net, x: Map) -> Map:
    k = n.pick(2, 4)
    small = n.add("AveragePool", x.name, kernel_shape=[k, k], strides=[k, k])
    keys = n.add("Reshape", small, n.const([1, x.c, (x.h // k) * (x.w // k)]))
    score = n.add("Softmax", n.add("MatMul", tokens_of(n, x), keys), axis=-1)
    return map_of(n, x, n.add("MatMul", score, n.add("Transpose", keys, perm=[0, 2, 1])))


@block
def two_extra_tokens(n: Net, x: Map) -> Map:
    y = n.add("Concat", n.weight(1, 2, x.c), tokens_of(n, x), axis=1)
    y = n.add("Softmax", y, axis=1)
    y = n.add("Slice", y, n.const([2]), n.const(n.pick([x.h * x.w + 2], [2**63 - 1])), n.const([1]))
    return map_of(n, x, y)


@block
def tokens_and_levels(n: Net, x: Map) -> Map:
    """Two levels in one list, taken apart by their lengths."""
    small = n.add("AveragePool", x.name, kernel_shape=[2, 2], strides=[2, 2])
    first, second = x.h * x.w, (x.h // 2) * (x.w // 2)
    parts = [n.add("Reshape", one, n.const([1, x.c, -1])) for one in (x.name, small)]
    y = n.add("Relu", n.add("Concat", *parts, axis=2))
    if n.pick(0, 1):
        large, small = n.add("Split", y, n.const([first, second]), outputs=2, axis=2)
    else:
        large = n.add("Slice", y, n.const([0]), n.const([first]), n.const([2]))
        small = n.add("Slice", y, n.const([first]), n.const([first + second]), n.const([2]))
    small = n.add("Reshape", small, n.const([1, x.c, x.h // 2, x.w // 2]))
    large = n.add("Reshape", large, n.const([1, x.c, x.h, x.w]))
    return same(x, n.add("Add", large, n.add("Resize", small, "", n.number([1, 1, 2, 2]), mode="nearest")))


@block
def shifted_windows(n: Net, x: Map) -> Map:
    """Windows of four, shifted by two, with the mask that keeps apart what was not side by side."""
    size, by = 4, 2
    y = x.name
    for axis, whole in ((2, x.h), (3, x.w)):
        first = n.add("Slice", y, n.const([by]), n.const([whole]), n.const([axis]))
        y = n.add("Concat", first, n.add("Slice", y, n.const([0]), n.const([by]), n.const([axis])), axis=axis)
    rows = np.concatenate([np.zeros(x.h - size), np.ones(size - by), np.full(by, 2)])
    columns = np.concatenate([np.zeros(x.w - size), np.ones(size - by), np.full(by, 2)])
    kind = (3 * rows[:, None] + columns).reshape(x.h // size, size, x.w // size, size).transpose(0, 2, 1, 3)
    kind = kind.reshape(-1, size * size)
    mask = np.where(kind[:, None] == kind[:, :, None], 0, -100)
    y = n.add("Reshape", y, n.const([1, x.c, x.h // size, size, x.w // size, size]))
    y = n.add("Transpose", y, perm=[0, 2, 4, 3, 5, 1])
    y = n.add("Reshape", y, n.const([x.h * x.w // size**2, size**2, x.c]))
    score = n.add("Add", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.const(mask, np.float32))
    y = n.add("MatMul", n.add("Softmax", score, axis=-1), y)
    y = n.add("Reshape", y, n.const([1, x.h // size, x.w // size, size, size, x.c]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 5, 1, 3, 2, 4]), n.const([1, x.c, x.h, x.w])))


@block
def bias_by_distance(n: Net, x: Map) -> Map:
    """Scores along a row, less a slope for each sample apart."""
    i = np.arange(x.w)
    score = n.add("MatMul", n.add("Transpose", x.name, perm=[0, 1, 3, 2]), x.name)
    score = n.add("Add", score, n.const(-np.abs(i[:, None] - i) * n.pick(0.5, 1 / x.w), np.float32))
    return same(x, n.add("MatMul", x.name, n.add("Softmax", score, axis=-1)))


@block
def rotary(n: Net, x: Map) -> Map:
    angle = np.arange(x.h * x.w)[:, None] * np.array([1.0, 0.1, 0.01, 0.001])[: max(x.c // 2, 1)]
    if x.c % 2 or x.c > 8:
        return x
    one, other = n.add("Split", tokens_of(n, x), n.const([x.c // 2] * 2), outputs=2, axis=2)
    c, s = n.const(np.cos(angle), np.float32), n.const(np.sin(angle), np.float32)
    first = n.add("Sub", n.add("Mul", one, c), n.add("Mul", other, s))
    second = n.add("Add", n.add("Mul", one, s), n.add("Mul", other, c))
    return map_of(n, x, n.add("Concat", first, second, axis=2))


@block
def recurrent_both_ways(n: Net, x: Map) -> Map:
    """A GRU over the rows, its first states zeros for each column."""
    y = n.add("Reshape", n.add("Transpose", x.name, perm=[2, 0, 3, 1]), n.const([x.h, x.w, x.c]))
    y, _ = n.add(
        "GRU", y, n.weight(2, 12, x.c), n.weight(2, 12, 4), "", "", n.const(np.zeros((2, x.w, 4)), np.float32),
        outputs=2, hidden_size=4, direction="bidirectional",
    )  # fmt: skip
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), n.const([x.h, x.w, 8]))
    return Map(n.add("Transpose", n.add("Unsqueeze", y, n.const([0])), perm=[0, 3, 1, 2]), 8, x.h, x.w)


@block
def scaled_by_log(n: Net, x: Map) -> Map:
    """The entropy of a map, over the largest that it can have."""
    y = n.add("Softmax", n.add("Reshape", x.name, n.const([1, x.c, -1])), axis=2)
    entropy = n.add("ReduceSum", n.add("Mul", y, n.add("Log", n.add("Add", y, n.number(1e-9)))), n.const([2]))
    entropy = n.add("Div", n.add("Neg", entropy), n.number(np.log(x.h * x.w)))
    return same(x, n.add("Mul", x.name, n.add("Unsqueeze", entropy, n.const([3]))))


@block
def temperature(n: Net, x: Map) -> Map:
    """Scores of rows, by a power of a size."""
    score = n.add("MatMul", x.name, n.add("Transpose", x.name, perm=[0, 1, 3, 2]))
    size = n.pick(x.w**-0.5, 1 / x.w, x.w**-0.25, 2 / x.w, np.sqrt(2 / x.w))
    score = n.add("Softmax", n.add("Mul", score, n.number(size)), axis=-1)
    return same(x, n.add("MatMul", score, x.name))


@block
def channel_shuffle(n: Net, x: Map) -> Map:
    if x.c % 2:
        return x
    y = n.add("Reshape", x.name, n.const([1, 2, x.c // 2, x.h, x.w]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3, 4]), n.const([1, x.c, x.h, x.w])))


@block
def coordinate_attention(n: Net, x: Map) -> Map:
    """Both profiles in one column, and taken apart again."""
    rows = n.add("ReduceMean", x.name, axes=[3], keepdims=1)
    columns = n.add("Transpose", n.add("ReduceMean", x.name, axes=[2], keepdims=1), perm=[0, 1, 3, 2])
    y = n.add("Conv", n.add("Concat", rows, columns, axis=2), n.weight(x.c, x.c, 1, 1))
    rows, columns = n.add("Split", y, n.const([x.h, x.w]), outputs=2, axis=2)
    columns = n.add("Sigmoid", n.add("Transpose", columns, perm=[0, 1, 3, 2]))
    return same(x, n.add("Mul", n.add("Mul", x.name, n.add("Sigmoid", rows)), columns))


@block
def response_norm(n: Net, x: Map) -> Map:
    y = n.add("ReduceL2", x.name, axes=[2, 3], keepdims=1)
    y = n.add("Div", y, n.add("Add", n.add("ReduceMean", y, axes=[1], keepdims=1), n.number(1e-6)))
    return same(x, n.add("Mul", x.name, y))


@block
def mean_of_everything(n: Net, x: Map) -> Map:
    total = n.add("ReduceSum", x.name, n.const([1, 2, 3]), keepdims=1)
    return same(x, n.add("Sub", x.name, n.add("Div", total, n.number(x.c * x.h * x.w))))


@block
def mean_of_windows(n: Net, x: Map) -> Map:
    """Sums over windows of four, spread again."""
    y = n.add(
        "ReduceSum", n.add("Reshape", x.name, n.const([1, x.c, x.h // 4, 4, x.w // 4, 4])), n.const([3, 5]), keepdims=0
    )
    y = n.add("Resize", n.add("Div", y, n.number(16)), "", n.number([1, 1, 4, 4]), mode="nearest")
    return same(x, n.add("Sub", x.name, y))


@block
def mean_of_four_strips(n: Net, x: Map) -> Map:
    """Four strips, however wide the map is."""
    y = n.add("ReduceMean", n.add("Reshape", x.name, n.const([1, x.c, x.h, 4, x.w // 4])), axes=[4], keepdims=1)
    y = n.add("Expand", y, n.const([1, x.c, x.h, 4, x.w // 4]))
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def spread_by_strips(n: Net, x: Map) -> Map:
    y = n.add("Softmax", n.add("Reshape", x.name, n.const([1, x.c, x.h // 2, 2 * x.w])), axis=3)
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))
