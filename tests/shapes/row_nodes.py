"""Nodes of single operators with inputs of small sizes, some of which do not fit together."""

from typing import Any

import numpy as np
import onnx
from hypothesis import assume
from hypothesis import strategies as st
from onnx import helper

SHAPE = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
IMAGE = st.tuples(st.just(1), st.sampled_from((2, 4)), st.integers(3, 9), st.integers(3, 9))


def floats(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    return [np.zeros(shape, np.float32) for shape in shapes]


def integers(values: list[int]) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def node_of(operator: str, count: int, outputs: int = 1, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, [f"i{n}" for n in range(count)], [f"o{n}" for n in range(outputs)], **attributes)


def alike(operator, *shapes, **attributes):
    """A node whose inputs are floats of such shapes."""
    return st.tuples(*shapes).map(lambda drawn: (node_of(operator, len(shapes), **attributes), floats(*drawn)))


@st.composite
def concat(draw):
    first, second = draw(SHAPE), draw(SHAPE)
    assume(len(first) == len(second))
    return node_of("Concat", 2, axis=draw(st.integers(-len(first), len(first) - 1))), floats(first, second)


@st.composite
def quantized_concat(draw):
    """A scale and a zero of the output, then the same behind each input."""
    node, (first, second) = draw(concat())
    quantized = node_of("QLinearConcat", 8, axis=node.attribute[0].i, domain="com.microsoft")
    unit, zero = np.array(1, np.float32), np.array(0, np.uint8)
    return quantized, [unit, zero, first.astype(np.uint8), unit, zero, second.astype(np.uint8), unit, zero]


@st.composite
def gemm(draw):
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    flags = {name: draw(st.integers(0, 1)) for name in ("transA", "transB")}
    return node_of("Gemm", 3, **flags), floats(draw(pair), draw(pair), draw(pair))


@st.composite
def reshape(draw):
    shape = draw(st.lists(st.sampled_from((-1, 0, 1, 2, 3, 4, 6)), min_size=1, max_size=4))
    assume(shape.count(-1) < 2)
    return node_of("Reshape", 2, allowzero=draw(st.integers(0, 1))), [*floats(draw(SHAPE)), integers(shape)]


@st.composite
def split(draw):
    shape = draw(SHAPE)
    axis = draw(st.integers(0, len(shape) - 1))
    if draw(st.booleans()):
        return node_of("Split", 1, 2, axis=axis), floats(shape)
    return node_of("Split", 2, 2, axis=axis), [*floats(shape), integers([1, draw(st.integers(1, 3))])]


@st.composite
def squeeze(draw):
    shape = draw(SHAPE)
    return node_of("Squeeze", 2), [*floats(shape), integers([draw(st.integers(-len(shape), len(shape) - 1))])]


@st.composite
def convolution(draw, operator="Conv"):
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    attributes: dict[str, object] = {"strides": draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))}
    padding = draw(st.sampled_from(("none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID")))
    if padding == "pads":
        attributes["pads"] = [draw(st.integers(0, size - 1)) for size in (*kernel, *kernel)]
    elif padding != "none":
        attributes["auto_pad"] = padding
    image = draw(IMAGE)
    if operator != "Conv":
        attributes["ceil_mode"] = draw(st.integers(0, 1)) if "auto_pad" not in attributes else 0
        return node_of(operator, 1, kernel_shape=kernel, **attributes), floats(image)
    if draw(st.booleans()) and "auto_pad" not in attributes:
        attributes["dilations"] = [2, 1]
    return node_of("Conv", 2, **attributes), floats(image, (3, image[1], *kernel))


@st.composite
def reduction(draw):
    shape = draw(SHAPE)
    axes = draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    attributes = {"axes": axes} if axes else {}
    return node_of("ReduceMean", 1, keepdims=draw(st.integers(0, 1)), **attributes), floats(shape)


@st.composite
def gather(draw):
    shape, indices = draw(SHAPE), draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return node_of("Gather", 2, axis=axis), [*floats(shape), np.zeros(indices, np.int64)]


@st.composite
def like_indices(draw, operator="GatherElements"):
    shape, indices = draw(SHAPE), draw(SHAPE)
    assume(len(shape) == len(indices))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    arrays = [*floats(shape), np.zeros(indices, np.int64)]
    if operator == "ScatterElements":
        arrays += floats(draw(st.sampled_from((shape, indices))))
    return node_of(operator, len(arrays), axis=axis), arrays


@st.composite
def gather_nd(draw, operator="GatherND"):
    shape, count = draw(SHAPE), draw(st.integers(1, 4))
    outer = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    arrays = [*floats(shape), np.zeros((*outer, count), np.int64)]
    if operator == "ScatterND":
        arrays += floats(draw(st.sampled_from(((*outer, *shape[count:]), shape))))
        return node_of(operator, 3), arrays
    return node_of(operator, 2, batch_dims=draw(st.integers(0, 1))), arrays


@st.composite
def top_k(draw):
    shape = draw(SHAPE)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return node_of("TopK", 2, 2, axis=axis), [*floats(shape), integers([draw(st.integers(1, shape[axis]))])]


@st.composite
def slice_(draw):
    shape = draw(SHAPE)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    start, end = draw(st.integers(-6, 6)), draw(st.sampled_from((*range(-6, 7), 2**31 - 1, 2**63 - 1, -(2**63))))
    numbers = [[start], [end], [axis], [draw(st.sampled_from((1, 2, 3, -1, -2)))]]
    return node_of("Slice", 5), [*floats(shape), *map(integers, numbers)]


@st.composite
def pad(draw):
    shape = draw(SHAPE)
    amounts = draw(st.lists(st.integers(-1, 2), min_size=2 * len(shape), max_size=2 * len(shape)))
    return node_of("Pad", 2), [*floats(shape), integers(amounts)]


@st.composite
def tile(draw):
    shape = draw(SHAPE)
    counts = draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape)))
    return node_of("Tile", 2), [*floats(shape), integers(counts)]


@st.composite
def unsqueeze(draw):
    shape = draw(SHAPE)
    axes = draw(st.lists(st.integers(-len(shape) - 1, len(shape)), min_size=1, max_size=1))
    return node_of("Unsqueeze", 2), [*floats(shape), integers(axes)]


@st.composite
def along(draw, operator, **attributes):
    """An operator with an axis and floats alone."""
    shape = draw(SHAPE)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    keeps = {"keepdims": draw(st.integers(0, 1))} if operator.startswith("Arg") else {}
    return node_of(operator, 1, axis=axis, **keeps, **attributes), floats(shape)


@st.composite
def range_(draw):
    start, limit, step = draw(st.integers(-3, 5)), draw(st.integers(-3, 9)), draw(st.sampled_from((1, 2, 3, -1)))
    kind = draw(st.sampled_from((np.int64, np.float32)))
    return node_of("Range", 3), [np.array(number, kind) for number in (start, limit, step)]


@st.composite
def depth_to_space(draw):
    batch, _, height, width = draw(IMAGE)
    channels = draw(st.sampled_from((4, 8)))
    return node_of("DepthToSpace", 1, blocksize=2), floats((batch, channels, height, width))


@st.composite
def conv_transpose(draw):
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    strides = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    attributes: dict[str, object] = {"strides": strides}
    padding = draw(st.sampled_from(("none", "pads", "SAME_UPPER", "VALID", "output_padding")))
    if padding == "pads":
        attributes["pads"] = [draw(st.integers(0, size - 1)) for size in (*kernel, *kernel)]
    elif padding == "output_padding":
        attributes["output_padding"] = [stride - 1 for stride in strides]
    elif padding != "none":
        attributes["auto_pad"] = padding
    image = draw(IMAGE)
    return node_of("ConvTranspose", 2, **attributes), floats(image, (image[1], 3, *kernel))


@st.composite
def normalization(draw, operator):
    image = draw(IMAGE)
    count = {"BatchNormalization": 5, "InstanceNormalization": 3}[operator]
    return node_of(operator, count), floats(image, *[(image[1],)] * (count - 1))


@st.composite
def layer_normalization(draw):
    shape = draw(SHAPE)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return node_of("LayerNormalization", 2, axis=axis), floats(shape, shape[axis:])


@st.composite
def quantize(draw):
    shape = draw(SHAPE)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    scale = draw(st.sampled_from(((), (shape[axis],))))
    return node_of("QuantizeLinear", 2, axis=axis), [*floats(shape), np.ones(scale, np.float32)]


@st.composite
def einsum(draw):
    equation = draw(st.sampled_from(("ij,jk->ik", "bij,bjk->bik", "ij,ij->", "ij,jk", "ii->i", "bhqd,bhkd->bhqk")))
    size = st.integers(1, 3)
    shapes = [tuple(draw(size) for _ in letters) for letters in equation.split("->")[0].split(",")]
    return node_of("Einsum", len(shapes), equation=equation), floats(*shapes)


@st.composite
def grid_sample(draw):
    image, count = draw(IMAGE), draw(st.integers(1, 2))
    return node_of("GridSample", 2), floats(image, (count, *draw(IMAGE)[2:], 2))


@st.composite
def resize(draw):
    image = draw(IMAGE)
    if draw(st.booleans()):
        sizes = [*image[:2], draw(st.integers(1, 9)), draw(st.integers(1, 9))]
        node = helper.make_node("Resize", ["i0", "", "", "i1"], ["o0"])
        return node, [*floats(image), integers(sizes)]
    scale = st.sampled_from((0.5, 1.0, 1.3, 2.0, 2.5, 1 / 3))
    scales = np.array([1, 1, draw(scale), draw(scale)], np.float32)
    return helper.make_node("Resize", ["i0", "", "i1"], ["o0"]), [*floats(image), scales]


NODES = {
    **{name: alike(name, SHAPE, SHAPE) for name in ("Add", "Pow", "Max", "PRelu", "MatMul")},
    "Where": st.tuples(SHAPE, SHAPE, SHAPE).map(
        lambda drawn: (node_of("Where", 3), [np.zeros(drawn[0], bool), *floats(*drawn[1:])])
    ),
    "Expand": st.tuples(SHAPE, SHAPE).map(
        lambda drawn: (node_of("Expand", 2), [*floats(drawn[0]), integers(list(drawn[1]))])
    ),
    "Relu": alike("Relu", SHAPE),
    "SpaceToDepth": st.integers(1, 3).flatmap(lambda size: alike("SpaceToDepth", IMAGE, blocksize=size)),
    "Transpose": SHAPE.flatmap(
        lambda shape: st.permutations(range(len(shape))).flatmap(
            lambda perm: alike("Transpose", st.just(shape), perm=perm)
        )
    ),
    "GlobalAveragePool": alike("GlobalAveragePool", IMAGE),
    "QLinearConcat": quantized_concat(),
    "Concat": concat(), "Gemm": gemm(), "Reshape": reshape(), "Split": split(), "Squeeze": squeeze(),
    "Conv": convolution(), "MaxPool": convolution("MaxPool"), "AveragePool": convolution("AveragePool"),
    "ReduceMean": reduction(),
    "Gather": gather(), "GatherElements": like_indices(), "ScatterElements": like_indices("ScatterElements"),
    "GatherND": gather_nd(), "ScatterND": gather_nd("ScatterND"), "TopK": top_k(), "Slice": slice_(), "Pad": pad(),
    "Tile": tile(), "Unsqueeze": unsqueeze(), "Range": range_(), "DepthToSpace": depth_to_space(),
    **{name: along(name) for name in ("ArgMax", "ArgMin", "Flatten", "Softmax")},
    "ConvTranspose": conv_transpose(), "LayerNormalization": layer_normalization(), "QuantizeLinear": quantize(),
    **{name: normalization(name) for name in ("BatchNormalization", "InstanceNormalization")},
    "Einsum": einsum(), "GridSample": grid_sample(), "Resize": resize(),
    **{name: alike(name, IMAGE) for name in ("GlobalMaxPool", "Shape", "Size", "NonZero", "Identity")},
    "DynamicQuantizeLinear": SHAPE.map(lambda shape: (node_of("DynamicQuantizeLinear", 1, 3), floats(shape))),
    "Trilu": alike("Trilu", st.tuples(st.integers(1, 4), st.integers(1, 4))),
    "ConstantOfShape": SHAPE.map(lambda shape: (node_of("ConstantOfShape", 1), [integers(list(shape))])),
}  # fmt: skip
