import numpy as np
import pytest
from opset_pair import assert_same, ints, model_of, normal, operators, read_versions

from resizefix.opsets.reductions import ROWS

REDUCTIONS = [row.op_type for row in ROWS if row.op_type.startswith("Reduce")]


@pytest.mark.parametrize(("op_type", "version"), read_versions(*REDUCTIONS))
@pytest.mark.parametrize("keepdims", [0, 1])
def test_a_reduction_takes_its_axes_into_an_attribute(op_type, version, keepdims):
    first_with_input = 13 if op_type == "ReduceSum" else 18
    declared, operand, attribute = ints("axes", [-1, 1], version < first_with_input)
    attributes = ", ".join(filter(None, [f"keepdims={keepdims}", attribute]))
    shape = "A,B,C,D" if keepdims else "A,B"
    graph = f"g (float[2,3,4,5] x) => (float[{shape}] y) <{declared}> {{ y = {op_type}<{attributes}>(x{operand}) }}"
    after = assert_same(model_of(version, graph.replace("<>", "")), {"x": np.abs(normal(2, 3, 4, 5)) + np.float32(0.1)})
    axes = next(attribute for attribute in after.graph.node[0].attribute if attribute.name == "axes")
    assert list(axes.ints) == [3, 1]


@pytest.mark.parametrize("op_type", REDUCTIONS)
def test_without_axes_everything_is_reduced(op_type):
    graph = f"g (float[N,M] x) => (float[A,B] y) {{ y = {op_type}(x) }}"
    assert_same(model_of(18, graph), {"x": np.abs(normal(2, 3)) + np.float32(0.1)})


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"])
def test_a_reduction_over_nothing_is_the_identity(op_type):
    graph = f"g (float[2,3] x) => (float[2,3] y) {{ y = {op_type}<noop_with_empty_axes=1>(x) }}"
    assert operators(assert_same(model_of(18, graph), {"x": normal(2, 3)})) == ["Identity"]


@pytest.mark.parametrize(("op_type", "version"), [("ReduceMax", 12), ("ReduceMin", 18), ("ReduceMax", 20)])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_extremes_of_small_integers_go_through_int32(op_type, version, kind):
    declared, operand, attribute = ints("axes", [-1], version < 18)
    graph = f"g ({kind}[2,3] x) => ({kind}[2,1] y) <{declared}> {{ y = {op_type}<{attribute}>(x{operand}) }}"
    data = np.array([[1, 200, 3], [127, 128, 129]]).astype(kind)
    assert operators(assert_same(model_of(version, graph.replace("<>", "")), {"x": data})) == ["Cast", op_type, "Cast"]


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_that_were_always_taken_stay(kind):
    graph = f"g ({kind}[2,3] x) => ({kind}[2,1] y) <int64[1] a = {{1}}> {{ y = ReduceSum(x, a) }}"
    data = np.array([[2**30, 2**30, 2**30], [1, 2, 3]]).astype(kind)
    assert operators(assert_same(model_of(13, graph), {"x": data})) == ["ReduceSum"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("ArgMax", "ArgMin"))
def test_the_first_of_equal_extremes_is_found(op_type, version):
    graph = f"g (float[3,5] x) => (int64[3,1] y) {{ y = {op_type}<axis=-1>(x) }}"
    data = np.array([[0, 1, 1, 0, 0], [2, 2, 2, 2, 2], [3, 1, 3, 1, 0]], np.float32)
    assert_same(model_of(version, graph), {"x": data})
