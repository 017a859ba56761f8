"""Every row of the table against onnxruntime, over operands that are drawn at random: numbers, and sizes by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from exhaustive import EXHAUSTIVE
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import helper
from operator_calls import CALLS, Array, Drawn, ints

from resizefix.document.document import Document
from resizefix.runtimes.ort_session import CannotLoadError, open_session
from resizefix.scope_path import MAIN
from resizefix.shapes.expression import ELEMENTWISE, Size, UntraceableError, evaluate
from resizefix.shapes.operand import Call, Known
from resizefix.shapes.table import OPERATORS, apply

ROWS = {name for name, operator in OPERATORS.items() if operator.values is not None}
EXAMPLES = 500 if EXHAUSTIVE else 4
SETTINGS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def values(drawn: Drawn) -> list[Array]:
    """What the row makes of numbers."""
    operands = [None if value is None else Known.constant(value) for value in drawn.operands]
    outputs = [output.value for output in apply(Call(drawn.node, operands, drawn.opset))]
    assert all(output is not None for output in outputs)
    assert len(outputs) == len(drawn.node.output)
    return outputs


def run(drawn: Drawn) -> list[Array] | None:
    """What onnxruntime makes of it: None where it has no kernel or refuses the node before it runs."""
    node = drawn.node
    feeds = {name: value for name, value in zip(node.input, drawn.operands, strict=True) if value is not None}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)
        for name, value in feeds.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", drawn.opset)])
    try:
        session = open_session(Document.from_proto(model), optimized=False)
    except CannotLoadError:
        return None
    results = session.run(feeds)
    return [np.asarray(results[name]) for name in node.output]


def assert_same_bits(mine: Array, theirs: Array) -> None:
    assert mine.dtype == theirs.dtype
    assert mine.shape == theirs.shape
    both_nan = np.isnan(mine) & np.isnan(theirs) if mine.dtype.kind == "f" else np.zeros(mine.shape, bool)
    assert np.where(both_nan, 0, mine).tobytes() == np.where(both_nan, 0, theirs).tobytes(), (mine, theirs)


@pytest.mark.parametrize("operator", sorted(ROWS - {"Pow"}))
@SETTINGS
@given(data=st.data())
def test_what_a_row_says_of_numbers_is_what_onnxruntime_computes(operator: str, data: Any) -> None:
    drawn = CALLS[operator](data.draw, operator)
    try:
        found = values(drawn)
    except UntraceableError:
        assume(False)
    expected = run(drawn)
    assume(expected is not None)
    assert expected is not None
    for mine, theirs in zip(found, expected, strict=True):
        assert_same_bits(mine, theirs)


# They take numbers, floats or truth values alone.
NOT_OF_SIZES = {"ConstantOfShape", "Range", "And", "Or", "Not", "Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Pow"}


@pytest.mark.parametrize("operator", sorted(ROWS - NOT_OF_SIZES))
@SETTINGS
@given(data=st.data())
def test_what_a_row_says_of_sizes_is_what_onnxruntime_computes_at_them(operator: str, data: Any) -> None:
    """The first operand of integers is the sizes of a tensor, each by name; a Cast makes it the type it has."""
    drawn = CALLS[operator](data.draw, operator)
    first = 1 if operator == "Where" else 0
    given_ = drawn.operands[first]
    assert given_ is not None
    assume(given_.dtype == np.int64 and given_.size > 0)
    numbers = np.asarray(given_ % 100)
    drawn.operands[first] = numbers
    sizes = {Size((MAIN, "x"), axis): np.asarray(value) for axis, value in enumerate(numbers.reshape(-1))}
    elements = np.array(list(sizes), object).reshape(numbers.shape)
    known = [None if value is None else Known.constant(value) for value in drawn.operands]
    known[first] = Known("int64", elements=elements)
    try:
        found = apply(Call(drawn.node, known, drawn.opset))
        at_numbers = values(drawn)
    except UntraceableError:
        assume(False)
    expected = run(drawn)
    assume(expected is not None)
    assert expected is not None
    for mine, same, theirs in zip(found, at_numbers, expected, strict=True):
        assert_same_bits(same, theirs)
        assert (mine.dtype, mine.shape) == (theirs.dtype.name, theirs.shape)
        at = [evaluate(element, sizes) for element in mine.elements.flat]
        np.testing.assert_array_equal(np.array(at, theirs.dtype).reshape(theirs.shape), theirs, strict=True)


COVERED = [
    Drawn("Slice", [ints(1, 2, 3, 4), ints(-9), ints(-9), ints(0), ints(-1)]),
    Drawn("Slice", [ints(1, 2, 3, 4), ints(-1), ints(2**63 - 1), ints(0), ints(-1)]),
    Drawn("Slice", [ints(1, 2, 3, 4), ints(-1), ints(2**31 - 1), ints(0), ints(-1)]),
    Drawn("Slice", [ints(1, 2, 3, 4), ints(-1), ints(-(2**63) + 1), ints(0), ints(-1)]),
    Drawn("Slice", [ints(1, 2, 3, 4), ints(2**63 - 1), ints(-(2**63)), ints(0), ints(-2)]),
    Drawn("Slice", [ints(1, 2, 3, 4), ints(2**40), ints(2**41), ints(0), ints(1)]),
    Drawn("Slice", [ints(), ints(0), ints(5), ints(0), ints(-1)]),
    Drawn("Div", [ints(-7, 7, -8, -(2**63), 2**62), ints(2, -2, 3, 3, -5)]),
    Drawn("Mod", [ints(-7, 7, -8), ints(4, -4, 3)]),
    Drawn("Cast", [np.array([-2.9, 2.9, 2.0**62, -(2.0**63)], np.float32)], attributes={"to": 7}),
    Drawn("Cast", [ints(2**24 + 1, 2**53 + 1)], attributes={"to": 1}),
    Drawn("Cast", [ints(2049, 4097 * 2 + 1, 70000)], attributes={"to": 10}),
    Drawn("Cast", [ints(300, -1)], attributes={"to": 2}),
    Drawn("Cast", [np.array([0.3, -0.0, np.nan], np.float32)], attributes={"to": 9}),
    Drawn("Add", [ints(2**63 - 1), ints(1)]),
    Drawn("ReduceProd", [ints(2**31, -3, 5)]),
    Drawn("Gather", [ints(5, 6), np.array(-1)]),
    Drawn("Unsqueeze", [ints(5, 6), ints(-1, 0)]),
    Drawn("Flatten", [np.zeros((2, 0), np.int64)], attributes={"axis": -1}),
]


@pytest.mark.parametrize("drawn", COVERED, ids=lambda drawn: drawn.operator)
def test_edge_cases_have_an_answer_which_is_that_of_onnxruntime(drawn: Drawn) -> None:
    expected = run(drawn)
    assert expected is not None
    for mine, theirs in zip(values(drawn), expected, strict=True):
        assert_same_bits(mine, theirs)


NAN, HUGE = np.array([np.nan], np.float32), np.array([1e30], np.float32)
LOWEST = np.array([-(2**63)])
UNDEFINED = [
    Drawn("Div", [ints(1), ints(0)]),
    Drawn("Div", [LOWEST, ints(-1)]),
    Drawn("Mod", [ints(1), ints(0)]),
    Drawn("Mod", [LOWEST, ints(-1)]),
    Drawn("Mod", [HUGE, HUGE], attributes={"fmod": 1}),
    Drawn("Cast", [NAN], attributes={"to": 7}),
    Drawn("Cast", [HUGE], attributes={"to": 2}),
    Drawn("Cast", [np.array([-1.0], np.float32)], attributes={"to": 2}),
    Drawn("Max", [NAN, HUGE]),
    Drawn("Min", [ints(-(2**31) - 1), ints(-1)]),  # onnxruntime's kernel gives the wrong one
    Drawn("ReduceSum", [HUGE]),
    Drawn("ReduceSum", [ints(2**53 + 1)]),  # onnxruntime adds doubles
    Drawn("ReduceProd", [ints(2**40, 2**40)]),
    Drawn("ReduceMin", [ints(-1, -(2**31) - 1)]),
    Drawn("ReduceSum", [ints(1), ints(1)]),
    Drawn("ReduceSum", [ints()]),  # onnxruntime gives an empty tensor
    Drawn("Where", [np.array([True]), np.array([-0.0]), np.array([1.0])]),  # onnxruntime makes it 0.0
    Drawn("Pow", [HUGE, HUGE]),
    Drawn("Range", [np.array(value, np.float32) for value in (0, 1, 0)]),
    Drawn("Range", [np.array(value, np.float32) for value in (0, np.inf, 1)]),
    Drawn("Add", [ints(1), ints(1, 1)], 6, attributes={"broadcast": 1, "axis": 0}),
    Drawn("Exp", [HUGE]),
    Drawn("Cast", [HUGE]),
    Drawn("Concat", [ints(1)]),
    Drawn("Mul", [ints(1)]),
    Drawn("Where", [np.array([True]), ints(1)]),
    Drawn("Reshape", [ints(1), None]),
    Drawn("Gather", [ints(1), ints(9)]),
    Drawn("Slice", [np.eye(2), ints(0, 0), ints(1, 1), ints(0, -2)]),
    Drawn("Split", [ints(1, 2, 3), ints(1, 1)], outputs=2),
    Drawn("Split", [ints(1, 2, 3)], 13, 2),
]


@pytest.mark.parametrize("drawn", UNDEFINED, ids=lambda drawn: drawn.operator)
def test_of_what_a_runtime_decides_or_refuses_nothing_is_said(drawn: Drawn) -> None:
    with pytest.raises(UntraceableError):
        values(drawn)


COLUMN, ROW = np.ones((2**16, 1), np.int64), np.ones((1, 2**16), np.int64)
LARGE = [
    Drawn("ConstantOfShape", [ints(2**20, 2**20)]),
    Drawn("ConstantOfShape", [ints(0, 2**40)]),
    Drawn("Expand", [ints(1), ints(2**40)]),
    Drawn("Tile", [np.ones((1, 1)), ints(2**20, 2**20)]),
    Drawn("Tile", [np.ones((1, 1)), ints(2**40, 0)]),
    Drawn("Range", [np.array(0), np.array(2**40), np.array(1)]),
    Drawn("Range", [np.array(value, np.float32) for value in (0, 1e12, 0.5)]),
    Drawn("Gather", [np.ones((256, 256), np.float32), np.zeros((2**16, 1), np.int64)]),
    Drawn("Concat", [np.ones(2**15)] * 2000, attributes={"axis": 0}),
    *(Drawn(operator, [COLUMN, ROW]) for operator in ("Add", "Max", "Div", "Less")),
    Drawn("Where", [np.array(True), COLUMN, ROW]),
]


@pytest.mark.parametrize("drawn", LARGE, ids=lambda drawn: drawn.operator)
def test_a_result_that_no_machine_holds_is_not_even_begun(drawn: Drawn) -> None:
    with pytest.raises(UntraceableError, match="is no part of a size"):
        values(drawn)


def test_a_reduction_over_nothing_is_as_long_as_the_other_axis() -> None:
    drawn = Drawn("ReduceSum", [np.zeros((0, 2**20), np.int64), ints(0)], 13)
    with pytest.raises(UntraceableError):
        values(drawn)


def test_an_operator_that_is_tried_is_in_the_table_and_the_other_way_round() -> None:
    assert set(CALLS) == ROWS >= set(ELEMENTWISE)


@pytest.mark.parametrize("value", [np.zeros(2000, np.int64), np.array(["a"], object), np.zeros((1,) * 40)])
def test_a_large_tensor_is_data_and_no_part_of_an_expression(value: Array) -> None:
    with pytest.raises(UntraceableError, match="no part of a size"):
        _ = Known.constant(value).elements
