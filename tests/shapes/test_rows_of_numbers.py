"""Each row says of sizes what onnxruntime does with tensors of them: the same output, or a failed run."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import helper
from ort_runs import run
from row_nodes import NODES, floats

from resizefix.shapes import (
    cutting_rows,
    elementwise_rows,
    moving_rows,
    moving_values,
    reshape_row,
    window_rows,
)
from resizefix.shapes.inference import ConflictError, NumberReading, Numbers, UnknownSizesError

OPSET = 17


class Tensors:
    """What a row asks of tensors, where the inputs of a node are `arrays`."""

    def __init__(self, node: onnx.NodeProto, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._arrays = dict(zip(filter(None, node.input), arrays, strict=True))

    def dims(self, name, case=0):
        return self._arrays[name].shape

    def value(self, name, case):
        return self._arrays.get(name)

    def type_of(self, name, case):
        array = self._arrays[name]
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


IMPORTS = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]


def ran(node: onnx.NodeProto, arrays: list[np.ndarray[Any, Any]]) -> list[tuple[int, ...] | None] | None:
    """The sizes that onnxruntime makes; None where it fails."""
    feeds = dict(zip(filter(None, node.input), arrays, strict=True))
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(array.dtype),
            # onnxruntime's inference takes a list of unknown length for an empty one.
            array.shape if array.dtype == np.int64 and array.ndim == 1 else [None] * array.ndim,
        )
        for name, array in feeds.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "row", inputs, outputs)
    model = helper.make_model(graph, opset_imports=IMPORTS, ir_version=8)
    try:
        return [value.shape for value in run(model, feeds, optimized=True)]
    except Exception:  # onnxruntime's errors have no common base
        return None


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
        sizes = ran(node, arrays)
        if said is not None and sizes is not None:  # what data decide is not said
            sizes = [None if one is None else size for one, size in zip(said, sizes, strict=True)]
        assert said == sizes, (node, [array.shape for array in arrays])

    holds()


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Relu", ["i0"], ["o0"], domain="acme"),
        helper.make_node("Constant", ["i0"], ["o0"], domain="acme"),
        helper.make_node("Flatten", ["i0"], ["o0"], domain="com.microsoft"),
        helper.make_node("Acme", ["i0"], ["o0"]),
    ],
    ids=lambda node: f"{node.domain or 'ai.onnx'} {node.op_type}",
)
def test_of_an_operator_that_is_not_in_the_table_nothing_is_said(node):
    with pytest.raises(UnknownSizesError):
        NumberReading(Tensors(node, floats((2, 3))), Numbers(), node, OPSET).made(0)


def test_an_attribute_that_the_call_of_a_function_gives_is_not_taken_for_its_default():
    node = helper.make_node("Flatten", ["i0"], ["o0"])
    node.attribute.add(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
    with pytest.raises(UnknownSizesError):
        NumberReading(Tensors(node, floats((2, 3))), Numbers(), node, OPSET).made(0)


def test_no_operator_has_two_rows():
    parts = (cutting_rows, elementwise_rows, moving_rows, reshape_row, window_rows)
    sizes = [operator for part in parts for operator in part.ROWS]
    values = [*moving_values.ROWS, *elementwise_rows.VALUE_ROWS]
    assert len(sizes) == len(set(sizes))
    assert len(values) == len(set(values))
    assert set(values) <= set(sizes)  # what makes values makes them of some sizes
