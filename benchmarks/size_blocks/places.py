"""Shuffles and windows, and tables of positions."""

import numpy as np

from size_blocks.net import Map, Net, block, length, row, same


def plus(n: Net, x: Map, values: np.ndarray, axis: int) -> Map:
    """The map plus a number for each place along an axis."""
    return same(x, n.add("Add", x.name, row(n, x, values, axis)))


@block
def pixel_shuffle(n: Net, x: Map) -> Map:
    if x.c % 4:
        return x
    y = n.add("Reshape", x.name, n.const([1, x.c // 4, 2, 2, x.h, x.w]))
    y = n.add("Transpose", y, perm=[0, 1, 4, 2, 5, 3])
    return Map(n.add("Reshape", y, n.const([1, x.c // 4, 2 * x.h, 2 * x.w])), x.c // 4, 2 * x.h, 2 * x.w)


@block
def to_depth(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, x.c, x.h // 2, 2, x.w // 2, 2]))
    y = n.add("Transpose", y, perm=[0, 3, 5, 1, 2, 4])
    return Map(n.add("Reshape", y, n.const([1, 4 * x.c, x.h // 2, x.w // 2])), 4 * x.c, x.h // 2, x.w // 2)


@block
def windows(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, x.c, x.h // 4, 4, x.w // 4, 4]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 4, 3, 5, 1]), n.const([x.h * x.w // 16, 16, x.c]))
    y = n.add("Softmax", n.add("MatMul", y, n.weight(x.c, x.c)), axis=1)
    y = n.add("Reshape", y, n.const([1, x.h // 4, x.w // 4, 4, 4, x.c]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 5, 1, 3, 2, 4]), n.const([1, x.c, x.h, x.w])))


@block
def dilated_windows(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, x.c, 4, x.h // 4, 4, x.w // 4]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 3, 5, 2, 4, 1]), n.const([x.h * x.w // 16, 16, x.c]))
    y = n.add("Softmax", n.add("MatMul", y, n.weight(x.c, x.c)), axis=1)
    y = n.add("Reshape", y, n.const([1, x.h // 4, x.w // 4, 4, 4, x.c]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 5, 3, 1, 4, 2]), n.const([1, x.c, x.h, x.w])))


@block
def tokens(n: Net, x: Map) -> Map:
    y = n.add("Transpose", n.add("Reshape", x.name, n.const([1, x.c, x.h * x.w])), perm=[0, 2, 1])
    q, k = n.add("MatMul", y, n.weight(x.c, x.c)), n.add("MatMul", y, n.weight(x.c, x.c))
    score = n.add("MatMul", q, n.add("Transpose", k, perm=[0, 2, 1]))
    score = n.add("Mul", score, n.number(n.pick(1 / np.sqrt(x.c), 1 / np.sqrt(x.h * x.w))))
    y = n.add("MatMul", n.add("Softmax", score, axis=-1), y)
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1]), n.const([1, x.c, x.h, x.w])))


@block
def attention_of_rows(n: Net, x: Map) -> Map:
    score = n.add("MatMul", n.add("Transpose", x.name, perm=[0, 1, 3, 2]), x.name)
    i = np.arange(x.w)
    kind = n.pick("distance", "causal", "near", "scale")
    if kind == "distance":
        score = n.add("Sub", score, n.const(np.abs(i[:, None] - i), np.float32))
    elif kind == "causal":
        score = n.add("Add", score, n.const(np.where(i[:, None] >= i, 0, -1e4), np.float32))
    elif kind == "near":
        score = n.add("Add", score, n.const(np.where(np.abs(i[:, None] - i) <= 3, 0, -1e4), np.float32))
    else:
        score = n.add("Div", score, n.number(np.sqrt(x.h)))
    return same(x, n.add("MatMul", x.name, n.add("Softmax", score, axis=-1)))


@block
def class_token(n: Net, x: Map) -> Map:
    y = n.add("Transpose", n.add("Reshape", x.name, n.const([1, x.c, -1])), perm=[0, 2, 1])
    y = n.add("Softmax", n.add("Concat", n.weight(1, 1, x.c), y, axis=1), axis=1)
    y = n.add("Slice", y, n.const([1]), n.const([x.h * x.w + 1]), n.const([1]))
    return same(x, n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1]), n.const([1, x.c, x.h, x.w])))


@block
def ramp(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    return plus(n, x, np.arange(length(x, axis)), axis)


@block
def ramp_down(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    return plus(n, x, np.arange(length(x, axis))[::-1], axis)


@block
def ramp_centred(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    size = length(x, axis)
    return plus(n, x, np.arange(size) - n.pick((size - 1) / 2, size // 2), axis)


@block
def ramp_in_pixels(n: Net, x: Map) -> Map:
    stride = n.width // x.w
    return plus(n, x, (np.arange(x.w) + 0.5) * stride, 3)


@block
def unit_ramp(n: Net, x: Map) -> Map:
    size = x.h
    made = n.pick(
        np.linspace(0, 1, size), (np.arange(size) + 0.5) / size, np.arange(size) / size, np.linspace(-1, 1, size)
    )
    return plus(n, x, made, 2)


@block
def coordinates(n: Net, x: Map) -> Map:
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, x.h), np.linspace(-1, 1, x.w), indexing="ij"))[None]
    return Map(n.add("Concat", x.name, n.const(grid, np.float32), axis=1), x.c + 2, x.h, x.w)


@block
def sines(n: Net, x: Map) -> Map:
    i = np.arange(x.w)
    made = n.pick(np.sin(i / 10), np.sin(2 * np.pi * i / x.w), np.cos(np.pi * (i + 0.5) / x.w))
    return plus(n, x, made, 3)


@block
def taper(n: Net, x: Map) -> Map:
    size = x.w
    i = np.arange(size)
    middle = (size - 1) / 2
    made = n.pick(
        np.hanning(size), np.exp(-(((i - middle) / 5) ** 2)), np.minimum(i, size - 1 - i), i % 2, i < size // 2
    )
    return same(x, n.add("Mul", x.name, row(n, x, made, 3)))


@block
def fourier(n: Net, x: Map) -> Map:
    i = np.arange(x.w)
    return same(x, n.add("MatMul", x.name, n.const(np.cos(2 * np.pi * np.outer(i, i) / x.w) / x.w, np.float32)))


@block
def border_mask(n: Net, x: Map) -> Map:
    mask = np.zeros((1, 1, x.h, x.w))
    mask[..., 1:-1, 1:-1] = 1
    return same(x, n.add("Mul", x.name, n.const(mask, np.float32)))


@block
def learned_positions(n: Net, x: Map) -> Map:
    return same(x, n.add("Add", x.name, n.weight(1, x.c, x.h, x.w)))


@block
def flow_warp(n: Net, x: Map) -> Map:
    flow = n.add("Conv", x.name, n.weight(2, x.c, 3, 3), pads=[1] * 4)
    grid = np.stack(np.meshgrid(np.arange(x.w), np.arange(x.h)))[None]
    where = n.add("Add", n.const(grid, np.float32), flow)
    parts = []
    for at, size in ((0, x.w), (1, x.h)):
        y = n.add("Slice", where, n.const([at]), n.const([at + 1]), n.const([1]))
        y = n.add("Div", n.add("Mul", y, n.number(2)), n.number(size - 1))
        parts.append(n.add("Sub", y, n.number(1)))
    y = n.add("Transpose", n.add("Concat", *parts, axis=1), perm=[0, 2, 3, 1])
    return (
        same(x, n.add("GridSample", x.name, y, align_corners=1, mode="bilinear"))
        if False
        else same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[3], keepdims=0)))
    )


@block
def boxes(n: Net, x: Map) -> Map:
    y = n.add("Sigmoid", n.add("Conv", x.name, n.weight(2, x.c, 1, 1)))
    y = n.add("Add", y, n.const(np.stack(np.meshgrid(np.arange(x.w), np.arange(x.h)))[None], np.float32))
    y = (
        n.add("Mul", y, n.number(n.width // x.w))
        if n.pick(0, 1)
        else n.add("Div", y, n.number(np.reshape([x.w, x.h], [1, 2, 1, 1])))
    )
    return Map(n.add("Concat", x.name, y, axis=1), x.c + 2, x.h, x.w)


@block
def soft_argmax(n: Net, x: Map) -> Map:
    y = n.add("Softmax", x.name, axis=3)
    y = n.add("ReduceSum", n.add("Mul", y, row(n, x, n.pick(np.arange(x.w), np.linspace(-1, 1, x.w)), 3)), n.const([3]))
    return same(x, n.add("Add", x.name, y))


@block
def arg_max(n: Net, x: Map) -> Map:
    y = n.add("Cast", n.add("ArgMax", x.name, axis=3, keepdims=1), to=1)
    return same(x, n.add("Add", x.name, n.add("Div", y, n.number(n.pick(x.w, x.w - 1, n.width)))))
