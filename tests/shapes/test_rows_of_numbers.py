"""Each row says of sizes what onnxruntime does with tensors of them: the same output, or a failed run."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper
from ort_runs import run

from resizefix.shapes.number_reading import ConflictError, NumberReading, Numbers, UnknownSizesError

OPSET = 17
SHAPE = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
IMAGE = st.tuples(st.just(1), st.sampled_from((2, 4)), st.integers(3, 9), st.integers(3, 9))


class Tensors:
    """What a row asks of tensors, where the inputs of a node are `arrays`."""

    def __init__(self, node: onnx.NodeProto, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._arrays = dict(zip(node.input, arrays, strict=True))

    def dims(self, name, case=0):
        return self._arrays[name].shape

    def value(self, name, case):
        return self._arrays.get(name)

    def type_of(self, name, case):
        array = self._arrays[name]
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def ran(node: onnx.NodeProto, arrays: list[np.ndarray[Any, Any]]) -> list[tuple[int, ...]] | None:
    """The sizes that onnxruntime makes; None where it fails."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim)
        for name, array in zip(node.input, arrays, strict=True)
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "row", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    try:
        return [value.shape for value in run(model, dict(zip(node.input, arrays, strict=True)), optimized=True)]
    except Exception:  # onnxruntime's errors have no common base
        return None


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
    "Concat": concat(), "Gemm": gemm(), "Reshape": reshape(), "Split": split(), "Squeeze": squeeze(),
    "Conv": convolution(), "MaxPool": convolution("MaxPool"), "AveragePool": convolution("AveragePool"),
    "ReduceMean": reduction(),
}  # fmt: skip


@pytest.mark.parametrize("operator", NODES)
def test_a_row_says_what_onnxruntime_does(operator):
    @settings(deadline=None, max_examples=25, derandomize=True)
    @given(NODES[operator])
    def holds(made):
        node, arrays = made
        try:
            said = NumberReading(Tensors(node, arrays), Numbers(), node, OPSET).made(0)
        except ConflictError:
            said = None
        except UnknownSizesError:
            return
        assert said == ran(node, arrays), (node, [array.shape for array in arrays])

    holds()
