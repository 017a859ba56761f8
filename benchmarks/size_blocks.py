"""Blocks of networks as exporters write them, each with the numbers of one input size: what `two_sizes.py` draws from.

A block adds nodes to a `Net` behind a `Map` and gives the map that it makes. Whatever depends on the input's size is a
constant of the file, as tracing leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper


class Map(NamedTuple):
    """A tensor [1, c, h, w]."""

    name: str
    c: int
    h: int
    w: int


class Net:
    """A network for one input size; what `pick` draws is the same at every size."""

    def __init__(self, seed: int, height: int, width: int) -> None:
        self.draw, self.seed = np.random.default_rng(seed), seed
        self.height, self.width = height, width
        self.nodes: list = []
        self.constants: list[TensorProto] = []
        self.skips: list[Map] = []

    def const(self, values, dtype=np.int64) -> str:
        self.constants.append(numpy_helper.from_array(np.array(values, dtype), f"k{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value) -> str:
        return self.const(value, np.float32)

    def weight(self, *shape: int) -> str:
        values = np.random.default_rng((self.seed, len(self.constants))).standard_normal(shape)
        return self.const(values / np.sqrt(max(np.prod(shape[1:]), 1)), np.float32)

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"t{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, name=f"{op_type}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def pick(self, *choices):
        return choices[int(self.draw.integers(len(choices)))]

    def model(self, x: Map, further: list[str]) -> ModelProto:
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, self.height, self.width])
        self.nodes.append(helper.make_node("Identity", [x.name], ["out"], name="out"))
        outputs = [helper.make_empty_tensor_value_info(name) for name in ["out", *further]]
        graph = helper.make_graph(self.nodes, "net", [image], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


Block = Callable[[Net, Map], Map]
BLOCKS: dict[str, Block] = {}


def block(function: Block) -> Block:
    """Adds a block under its name."""
    BLOCKS[function.__name__.strip("_")] = function
    return function


def same(x: Map, name: str) -> Map:
    return x._replace(name=name)


def row(n: Net, x: Map, values, axis: int) -> str:
    """A table along the height (2) or the width (3)."""
    shape = [1, 1, -1, 1] if axis == 2 else [1, 1, 1, -1]
    return n.const(np.array(values, np.float32).reshape(shape), np.float32)


def length(x: Map, axis: int) -> int:
    return x.h if axis == 2 else x.w


# ---- layers ----


@block
def conv(n: Net, x: Map) -> Map:
    c = n.pick(4, 6, 8)
    return Map(n.add("Conv", x.name, n.weight(c, x.c, 3, 3), pads=[1] * 4), c, x.h, x.w)


@block
def conv_down(n: Net, x: Map) -> Map:
    n.skips.append(x)
    y = n.add("Conv", x.name, n.weight(8, x.c, 3, 3), pads=[1] * 4, strides=[2, 2])
    return Map(y, 8, (x.h + 1) // 2, (x.w + 1) // 2)


@block
def conv_dilated(n: Net, x: Map) -> Map:
    return Map(n.add("Conv", x.name, n.weight(4, x.c, 3, 3), pads=[2] * 4, dilations=[2, 2]), 4, x.h, x.w)


@block
def conv_transposed(n: Net, x: Map) -> Map:
    return Map(n.add("ConvTranspose", x.name, n.weight(x.c, 4, 2, 2), strides=[2, 2]), 4, 2 * x.h, 2 * x.w)


@block
def max_pool(n: Net, x: Map) -> Map:
    n.skips.append(x)
    return Map(n.add("MaxPool", x.name, kernel_shape=[2, 2], strides=[2, 2]), x.c, x.h // 2, x.w // 2)


@block
def mean_pool(n: Net, x: Map) -> Map:
    return Map(n.add("AveragePool", x.name, kernel_shape=[2, 2], strides=[2, 2]), x.c, x.h // 2, x.w // 2)


@block
def padded_pool(n: Net, x: Map) -> Map:
    y = n.add("MaxPool", x.name, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return Map(y, x.c, (x.h + 1) // 2, (x.w + 1) // 2)


@block
def plain_pool_of_four(n: Net, x: Map) -> Map:
    return Map(n.add("AveragePool", x.name, kernel_shape=[4, 4], strides=[4, 4]), x.c, x.h // 4, x.w // 4)


@block
def pool_up_add(n: Net, x: Map) -> Map:
    k = n.pick(2, 4)
    y = n.add("AveragePool", x.name, kernel_shape=[k, k], strides=[k, k])
    y = n.add("Resize", y, "", n.number([1, 1, k, k]), mode="linear")
    return same(x, n.add("Add", x.name, y))


@block
def activation(n: Net, x: Map) -> Map:
    y = n.add("Clip", n.add("Add", x.name, n.number(3)), n.number(0), n.number(6))
    return same(x, n.add("Mul", x.name, n.add("Div", y, n.number(6))))


@block
def numbers(n: Net, x: Map) -> Map:
    value = n.pick(0.5, 2.0, 0.1, 1.7, 0.044715, 10.0, 0.125)
    return same(x, n.add(n.pick("Mul", "Add"), x.name, n.number(value)))


@block
def batch_norm(n: Net, x: Map) -> Map:
    return same(x, n.add("Mul", n.add("Add", x.name, n.weight(1, x.c, 1, 1)), n.weight(x.c, 1, 1)))


@block
def lstm_of_rows(n: Net, x: Map) -> Map:
    y = n.add("Reshape", n.add("Transpose", x.name, perm=[3, 0, 2, 1]), n.const([x.w, x.h, x.c]))
    y, _, _ = n.add(
        "LSTM", y, n.weight(1, 16, x.c), n.weight(1, 16, 4), "", "", n.const(np.zeros((1, x.h, 4)), np.float32),
        outputs=3, hidden_size=4,
    )  # fmt: skip
    y = n.add("Reshape", n.add("Squeeze", y, n.const([1])), n.const([x.w, 1, x.h, 4]))
    return Map(n.add("Transpose", y, perm=[1, 3, 2, 0]), 4, x.h, x.w)


# ---- resizes ----


@block
def up_two(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", n.number([1, 1, 2, 2]), mode=n.pick("nearest", "linear"))
    return Map(y, x.c, 2 * x.h, 2 * x.w)


@block
def up_by_sizes(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", "", n.const([1, x.c, 2 * x.h, 2 * x.w]), mode="nearest")
    return Map(y, x.c, 2 * x.h, 2 * x.w)


@block
def up_and_a_half(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", n.number([1, 1, 1.5, 1.5]), mode="linear")
    return Map(y, x.c, x.h * 3 // 2, x.w * 3 // 2)


@block
def to_image(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", "", n.const([1, x.c, n.height, n.width]), mode="linear")
    return Map(y, x.c, n.height, n.width)


@block
def to_fixed(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", "", n.const([1, x.c, 20, 28]), mode="linear")
    return Map(y, x.c, 20, 28)


@block
def to_skip(n: Net, x: Map) -> Map:
    if not n.skips:
        return x
    skip = n.skips[-1]
    y = n.add(
        "Resize",
        x.name,
        "",
        "",
        n.const([1, x.c, skip.h, skip.w]),
        mode="linear",
        coordinate_transformation_mode="align_corners",
    )
    return Map(n.add("Concat", y, skip.name, axis=1), x.c + skip.c, skip.h, skip.w)


@block
def down_by_half(n: Net, x: Map) -> Map:
    y = n.add("Resize", x.name, "", n.number([1, 1, 0.5, 0.5]), mode="linear")
    return Map(y, x.c, x.h // 2, x.w // 2)


@block
def pyramid_bins(n: Net, x: Map) -> Map:
    y = n.add("AveragePool", x.name, kernel_shape=[x.h // 2, x.w // 2], strides=[x.h // 2, x.w // 2])
    y = n.add("Resize", y, "", "", n.const([1, x.c, x.h, x.w]), mode="linear")
    return same(x, n.add("Add", x.name, y))


@block
def nearest_by_indices(n: Net, x: Map) -> Map:
    rows, columns = np.meshgrid(np.arange(2 * x.h) // 2, np.arange(2 * x.w) // 2, indexing="ij")
    y = n.add("GatherND", n.add("Transpose", x.name, perm=[2, 3, 0, 1]), n.const(np.stack([rows, columns], -1)))
    return Map(n.add("Transpose", y, perm=[2, 3, 0, 1]), x.c, 2 * x.h, 2 * x.w)


@block
def gathered_up(n: Net, x: Map) -> Map:
    y = n.add("Gather", x.name, n.const(np.arange(2 * x.h) // 2), axis=2)
    return Map(n.add("Gather", y, n.const(np.arange(2 * x.w) // 2), axis=3), x.c, 2 * x.h, 2 * x.w)


# ---- means, sums and their counts ----


@block
def mean_gate(n: Net, x: Map) -> Map:
    y = n.add("ReduceMean", x.name, axes=[2, 3], keepdims=1)
    return same(x, n.add("Mul", x.name, n.add("Sigmoid", y)))


@block
def whole_pool_gate(n: Net, x: Map) -> Map:
    y = n.add("AveragePool", x.name, kernel_shape=[x.h, x.w])
    return same(x, n.add("Mul", x.name, n.add("Sigmoid", y)))


@block
def strip_pools(n: Net, x: Map) -> Map:
    rows = n.add("AveragePool", x.name, kernel_shape=[1, x.w], strides=[1, x.w])
    columns = n.add("AveragePool", x.name, kernel_shape=[x.h, 1], strides=[x.h, 1])
    return same(x, n.add("Add", rows, columns))


@block
def sum_over_area(n: Net, x: Map) -> Map:
    y = n.add("ReduceSum", x.name, n.const([2, 3]), keepdims=1)
    y = n.add(*n.pick(("Div", y, n.number(x.h * x.w)), ("Mul", y, n.number(1 / (x.h * x.w)))))
    return same(x, n.add("Sub", x.name, y))


@block
def variance(n: Net, x: Map) -> Map:
    y = n.add("Sub", x.name, n.add("ReduceMean", x.name, axes=[2, 3], keepdims=1))
    total = n.add("ReduceSum", n.add("Mul", y, y), n.const([2, 3]), keepdims=1)
    y = n.add("Div", y, n.add("Sqrt", n.add("Add", n.add("Div", total, n.number(x.h * x.w - 1)), n.number(1e-4))))
    return same(x, y)


@block
def row_sum_over_width(n: Net, x: Map) -> Map:
    y = n.add("Div", n.add("ReduceSum", x.name, n.const([3]), keepdims=1), n.number(x.w))
    return same(x, n.add("Add", x.name, y))


@block
def over_root_of_width(n: Net, x: Map) -> Map:
    return same(x, n.add("Mul", x.name, n.number(n.pick(1 / np.sqrt(x.w), 1 / np.sqrt(x.h)))))


@block
def over_root_of_area(n: Net, x: Map) -> Map:
    return same(x, n.add("Div", x.name, n.number(np.sqrt(x.h * x.w))))


@block
def norm_by_reshape(n: Net, x: Map) -> Map:
    y = n.add("Reshape", x.name, n.const([1, 2, x.c // 2 * x.h * x.w]))
    y = n.add("InstanceNormalization", y, n.weight(2), n.weight(2))
    return same(x, n.add("Reshape", y, n.const([1, x.c, x.h, x.w])))


@block
def times_size(n: Net, x: Map) -> Map:
    size = n.pick(x.w, x.h, n.width, n.height)
    return same(x, n.add("Mul", n.add("Sigmoid", x.name), n.number(size)))


@block
def plus_half(n: Net, x: Map) -> Map:
    return same(x, n.add("Add", x.name, n.number(n.pick(x.w / 2, (x.w - 1) / 2, (x.h - 1) / 2))))


# ---- shuffles and windows ----


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


# ---- positions ----


@block
def ramp(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    return same(x, n.add("Add", x.name, row(n, x, np.arange(length(x, axis)), axis)))


@block
def ramp_down(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    return same(x, n.add("Add", x.name, row(n, x, np.arange(length(x, axis))[::-1], axis)))


@block
def ramp_centred(n: Net, x: Map) -> Map:
    axis = n.pick(2, 3)
    size = length(x, axis)
    return same(x, n.add("Add", x.name, row(n, x, np.arange(size) - n.pick((size - 1) / 2, size // 2), axis)))


@block
def ramp_in_pixels(n: Net, x: Map) -> Map:
    stride = n.width // x.w
    return same(x, n.add("Add", x.name, row(n, x, (np.arange(x.w) + 0.5) * stride, 3)))


@block
def unit_ramp(n: Net, x: Map) -> Map:
    size = x.h
    made = n.pick(
        np.linspace(0, 1, size), (np.arange(size) + 0.5) / size, np.arange(size) / size, np.linspace(-1, 1, size)
    )
    return same(x, n.add("Add", x.name, row(n, x, made, 2)))


@block
def coordinates(n: Net, x: Map) -> Map:
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, x.h), np.linspace(-1, 1, x.w), indexing="ij"))[None]
    return Map(n.add("Concat", x.name, n.const(grid, np.float32), axis=1), x.c + 2, x.h, x.w)


@block
def sines(n: Net, x: Map) -> Map:
    i = np.arange(x.w)
    made = n.pick(np.sin(i / 10), np.sin(2 * np.pi * i / x.w), np.cos(np.pi * (i + 0.5) / x.w))
    return same(x, n.add("Add", x.name, row(n, x, made, 3)))


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


# ---- cuts ----


@block
def cut_of_all(n: Net, x: Map) -> Map:
    return same(x, n.add("Slice", x.name, n.const([0, 0]), n.const([x.h, x.w]), n.const([2, 3])))


@block
def cut_of_margin(n: Net, x: Map) -> Map:
    ends = n.pick([x.h - 1, x.w - 1], [-1, -1])
    y = n.add("Slice", x.name, n.const([1, 1]), n.const(ends), n.const([2, 3]))
    return Map(y, x.c, x.h - 2, x.w - 2)


@block
def cut_of_fixed(n: Net, x: Map) -> Map:
    y = n.add("Slice", x.name, n.const([0, 0]), n.const([6, 7]), n.const([2, 3]))
    return same(x, n.add("Add", x.name, n.add("ReduceMax", y, axes=[2, 3], keepdims=1)))


@block
def cut_of_centre(n: Net, x: Map) -> Map:
    top, left = (x.h - 6) // 2, (x.w - 6) // 2
    y = n.add("Slice", x.name, n.const([top, left]), n.const([top + 6, left + 6]), n.const([2, 3]))
    return same(x, n.add("Add", x.name, n.add("ReduceMax", y, axes=[2, 3], keepdims=1)))


@block
def cut_of_half(n: Net, x: Map) -> Map:
    y = n.add("Slice", x.name, n.const([0]), n.const([x.w // 2]), n.const([3]))
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[3], keepdims=1)))


@block
def cut_of_quarter(n: Net, x: Map) -> Map:
    y = n.add("Slice", x.name, n.const([x.w // 4]), n.const([3 * (x.w // 4)]), n.const([3]))
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[3], keepdims=1)))


@block
def flipped(n: Net, x: Map) -> Map:
    first, last = n.pick((-1, -(2**63) + 1), (x.w - 1, -(2**63) + 1), (x.w - 1, -x.w - 1))
    return same(x, n.add("Slice", x.name, n.const([first]), n.const([last]), n.const([3]), n.const([-1])))


@block
def every_second(n: Net, x: Map) -> Map:
    y = n.add(
        "Slice", x.name, n.const([0, 1]), n.const(n.pick([x.h, x.w], [2**63 - 1] * 2)), n.const([2, 3]), n.const([2, 2])
    )
    return Map(y, x.c, x.h // 2, x.w // 2)


@block
def rolled(n: Net, x: Map) -> Map:
    by = n.pick(2, x.w // 2)
    first = n.add("Slice", x.name, n.const([by]), n.const([x.w]), n.const([3]))
    last = n.add("Slice", x.name, n.const([0]), n.const([by]), n.const([3]))
    return same(x, n.add("Concat", first, last, axis=3))


@block
def halves(n: Net, x: Map) -> Map:
    one, other = n.add("Split", x.name, n.const([x.h // 2, x.h // 2]), outputs=2, axis=2)
    return same(x, n.add("Concat", other, one, axis=2))


@block
def first_row_apart(n: Net, x: Map) -> Map:
    one, other = n.add("Split", x.name, n.const([1, x.h - 1]), outputs=2, axis=2)
    return same(x, n.add("Concat", other, one, axis=2))


@block
def padded(n: Net, x: Map) -> Map:
    by = n.pick(1, 2)
    y = n.add("Pad", x.name, n.const([0, 0, by, by, 0, 0, by, by]), mode=n.pick("constant", "reflect", "edge"))
    return Map(y, x.c, x.h + 2 * by, x.w + 2 * by)


@block
def padded_to_multiple(n: Net, x: Map) -> Map:
    down, right = -x.h % 12, -x.w % 12
    y = n.add("Pad", x.name, n.const([0, 0, 0, 0, 0, 0, down, right]))
    y = n.add("Relu", y)
    return same(x, n.add("Slice", y, n.const([0, 0]), n.const([x.h, x.w]), n.const([2, 3])))


@block
def picked_rows(n: Net, x: Map) -> Map:
    y = n.add("Gather", x.name, n.const(n.pick([0, 2, 5], [x.h - 1], [x.h // 2], [0, x.h - 1])), axis=2)
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[2], keepdims=1)))


@block
def reversed_rows(n: Net, x: Map) -> Map:
    return same(x, n.add("Gather", x.name, n.const(np.arange(x.h)[::-1]), axis=2))


@block
def largest(n: Net, x: Map) -> Map:
    count = n.pick(x.w, x.w // 2, 3, x.w // 4)
    y, _ = n.add("TopK", x.name, n.const([count]), outputs=2, axis=3)
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[3], keepdims=1)))


@block
def largest_of_area(n: Net, x: Map) -> Map:
    count = n.pick(x.h * x.w // 8, 10, x.h * x.w)
    y, _ = n.add("TopK", n.add("Reshape", x.name, n.const([1, x.c, -1])), n.const([count]), outputs=2, axis=2)
    y = n.add("Unsqueeze", n.add("ReduceMean", y, axes=[2], keepdims=1), n.const([3]))
    return same(x, n.add("Add", x.name, y))


@block
def one_hot(n: Net, x: Map) -> Map:
    y = n.add("OneHot", n.add("ArgMax", x.name, axis=3, keepdims=0), n.const(x.w), n.number([0, 1]), axis=-1)
    return same(x, n.add("Mul", x.name, y))


@block
def rois(n: Net, x: Map) -> Map:
    box = n.pick(
        [0, 0, x.w - 1, x.h - 1], [0, 0, n.width, n.height], [1, 1, 6, 6], [x.w // 4, x.h // 4, x.w // 2, x.h // 2]
    )
    y = n.add("RoiAlign", x.name, n.number([box]), n.const([0]), output_height=2, output_width=2)
    return same(x, n.add("Add", x.name, n.add("ReduceMean", y, axes=[2, 3], keepdims=1)))


@block
def written_row(n: Net, x: Map) -> Map:
    places = n.const(np.full((1, x.c, 1, x.w), n.pick(0, x.h - 1, x.h // 2)))
    return same(x, n.add("ScatterElements", x.name, places, n.const(np.ones((1, x.c, 1, x.w)), np.float32), axis=2))


@block
def upper_part(n: Net, x: Map) -> Map:
    return same(x, n.add("Trilu", x.name, n.const(n.pick(0, 1, x.w // 2))))


# ---- what is made and spread ----


@block
def expanded(n: Net, x: Map) -> Map:
    y = n.add("Expand", n.weight(1, x.c, 1, 1), n.const([1, x.c, x.h, x.w]))
    return Map(n.add("Concat", x.name, y, axis=1), 2 * x.c, x.h, x.w)


@block
def tiled(n: Net, x: Map) -> Map:
    y = n.add("Tile", n.add("ReduceMean", x.name, axes=[2, 3], keepdims=1), n.const([1, 1, x.h, x.w]))
    return Map(n.add("Concat", x.name, y, axis=1), 2 * x.c, x.h, x.w)


@block
def counted_positions(n: Net, x: Map) -> Map:
    ones = n.add("ConstantOfShape", n.const([1, 1, x.h, x.w]), value=helper.make_tensor("v", 1, [1], [1.0]))
    y = n.add("CumSum", ones, n.const(3))
    return same(x, n.add("Add", x.name, n.add("Div", y, n.number(n.pick(x.w, n.width, 10.0)))))


@block
def ranged(n: Net, x: Map) -> Map:
    y = n.add("Range", n.number(0), n.number(x.w), n.number(1))
    return same(x, n.add("Add", x.name, n.add("Mod", y, n.number(n.pick(4, x.w // 2)), fmod=1)))


@block
def checker(n: Net, x: Map) -> Map:
    mask = (np.add.outer(np.arange(x.h), np.arange(x.w)) % 2)[None, None]
    return same(x, n.add("Where", n.const(mask, np.bool_), x.name, n.number(0)))


@block
def rows_by_weights(n: Net, x: Map) -> Map:
    return Map(n.add("MatMul", x.name, n.weight(x.w, x.w)), x.c, x.h, x.w)


@block
def depthwise_of_all(n: Net, x: Map) -> Map:
    y = n.add("Conv", x.name, n.weight(x.c, 1, x.h, x.w), group=x.c)
    return same(x, n.add("Add", x.name, y))
