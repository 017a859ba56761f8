import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from opset_pair import assert_same, blockers_of, lowered, model_of, normal, operators

from resizefix.diagnostics import UnreadableModelError
from resizefix.opsets.constants import constants_to_initializers
from resizefix.opsets.lowering import downgrade

SPELLINGS = [
    (9, "value = float[2] {1, 2}", "float[2]"),
    (11, "value = int64[2] {1, 2}", "int64[2]"),
    (12, "value_float = 1.5", "float"),
    (12, "value_floats = [1.5, 2.5]", "float[2]"),
    (13, "value_int = 7", "int64"),
    (13, "value_ints = [7, 8]", "int64[2]"),
    (19, 'value_string = "a"', "string"),
    (21, 'value_strings = ["a", "b"]', "string[2]"),
    (25, "value = float[2] {1, 2}", "float[2]"),
]


@pytest.mark.parametrize(("opset", "spelling", "kind"), SPELLINGS)
@pytest.mark.parametrize("read", ["", "Identity(k)"])
def test_every_spelling_becomes_an_initializer(opset, spelling, kind, read):
    if opset < 13 and kind == "int64[2]":
        read = read.replace("Identity(k)", "Add(k, k)")
    body = f"k = Constant<{spelling}>() y = {read}" if read else f"y = Constant<{spelling}>()"
    after = assert_same(model_of(opset, f"g (float x) => ({kind} y) {{ {body} }}"), {"x": np.array(1, np.float32)})
    assert "Constant" not in operators(after)
    assert len(after.graph.initializer) == 1


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]])
def test_a_sparse_constant_becomes_dense(indices):
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "v")
    sparse = onnx.helper.make_sparse_tensor(values, numpy_helper.from_array(np.array(indices)), [2, 3])
    model = model_of(13, "g (float[2,3] x) => (float[2,3] y) { y = Add(x, k) }")
    model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["k"], sparse_value=sparse))
    after, _ = lowered(model)
    assert numpy_helper.to_array(after.graph.initializer[0]).tolist() == [[0, 1.5, 0], [0, 0, -2]]


def test_a_sparse_initializer_becomes_dense():
    model = model_of(13, "g (float[3] x) => (float[3] y) { y = Add(x, k) }")
    values = numpy_helper.from_array(np.array([4], np.float32), "k")
    sparse = onnx.helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([2])), [3])
    model.graph.sparse_initializer.append(sparse)
    after, result = lowered(model)
    assert numpy_helper.to_array(after.graph.initializer[0]).tolist() == [0, 0, 4]
    assert not after.graph.sparse_initializer
    assert "a sparse initializer became dense" in [step.what for step in result.steps]


def test_a_constant_without_a_readable_value_is_refused():
    model = model_of(13, "g (float x) => (float y) { k = Constant<value_float = 1.0>() y = Add(x, k) }")
    del model.graph.node[0].attribute[:]
    (blocker,) = blockers_of(model)
    assert "no value that resizefix can read" in blocker.reason


def elsewhere(tensor: TensorProto) -> TensorProto:
    """The tensor without its values, which are said to lie in another file."""
    for field in ("raw_data", "float_data", "int64_data"):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="elsewhere.bin")
    return tensor


def test_payloads_in_another_file_are_moved_and_never_read():
    graph = "g (float[70000] x) => (float[70000] y) { k = Constant<value = float[70000] {1}>() y = Add(x, k) }"
    detached = model_of(13, graph)
    there = elsewhere(detached.graph.node[0].attribute[0].t).external_data[0].value

    def never(tensor: TensorProto) -> np.ndarray:
        raise AssertionError(f"{tensor.name} was read")

    assert not downgrade(detached, value_of=never).blockers
    (moved,) = detached.graph.initializer
    assert moved.name == "k"
    assert [(entry.key, entry.value) for entry in moved.external_data] == [("location", there)]


def test_a_small_operand_in_another_file_is_read_through_the_caller():
    model = model_of(13, "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3,2}> { y = Reshape(x, s) }")
    elsewhere(model.graph.initializer[0])
    asked = []

    def value_of(wanted: TensorProto) -> np.ndarray:
        asked.append(wanted.name)
        return np.array([3, 2])

    assert not downgrade(model, value_of=value_of).blockers
    assert set(asked) == {"s"}
    assert model.graph.initializer[0].data_location == TensorProto.EXTERNAL


def test_two_readers_of_one_constant_keep_it():
    graph = """g (float[2,3] x) => (float[1,2,3] y, int64[1] z) <int64[1] a = {0}>
        { y = Unsqueeze(x, a) z = Identity(a) }"""
    after = assert_same(model_of(13, graph), {"x": normal(2, 3)})
    assert [tensor.name for tensor in after.graph.initializer] == ["a"]


@pytest.mark.parametrize(
    ("dims", "indices"),
    [([3], [3]), ([3], [-1]), ([1 << 40], [2]), ([-3], [0]), ([2, 3], [[1, 3]]), ([2, 3], [[0]]), ([3], [0, 1])],
)
def test_a_sparse_tensor_whose_indices_do_not_fit_is_refused(dims, indices):
    model = model_of(13, "g (float[3] x) => (float[3] y) { y = Add (x, k) }")
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([1], np.float32), "k"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64), "k_indices"))
    with pytest.raises(UnreadableModelError, match="sparse tensor 'k': its indices do not fit its shape"):
        constants_to_initializers(model, numpy_helper.to_array)
