"""What is cut, padded or picked, and what is made and spread."""

import numpy as np
from onnx import helper

from size_blocks.net import Map, Net, block, same


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
