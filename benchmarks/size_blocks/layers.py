"""Layers, resizes, and means over the map with their counts."""

import numpy as np

from size_blocks.net import Map, Net, block, same


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
