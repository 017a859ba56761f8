import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from opset_pair import assert_same, blockers_of, lowered, model_of, normal, operators

from resizefix.errors import UnreadableModelError
from resizefix.opsets.constants import constants_to_initializers
from resizefix.opsets.downgrade import downgrade

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
@pytest.mark.parametrize("through", ["Identity", None])
def test_every_spelling_becomes_an_initializer(opset, spelling, kind, through):
    name = "k" if through else "y"
    body = f"{name} = Constant<{spelling}>()" + (" y = Identity(k)" if through else "")
    if opset < 13 and kind == "int64[2]":
        body = body.replace("Identity(k)", "Add(k, k)")
    model = model_of(opset, f"g (float x) => ({kind} y) {{ {body} }}")
    after = assert_same(model, {"x": np.array(1, np.float32)})
    assert "Constant" not in operators(after)
    assert len(after.graph.initializer) == 1


def test_a_sparse_constant_becomes_dense():
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "v")
    for indices in (np.array([1, 5]), np.array([[0, 1], [1, 2]])):
        sparse = onnx.helper.make_sparse_tensor(values, numpy_helper.from_array(indices), [2, 3])
        node = onnx.helper.make_node("Constant", [], ["k"], sparse_value=sparse)
        model = model_of(13, "g (float[2,3] x) => (float[2,3] y) { y = Add(x, k) }")
        model.graph.node.insert(0, node)
        after, _ = lowered(model)
        expected = np.zeros((2, 3), np.float32)
        expected[0, 1], expected[1, 2] = 1.5, -2
        assert (numpy_helper.to_array(after.graph.initializer[0]) == expected).all()


def test_a_sparse_initializer_becomes_dense():
    model = model_of(13, "g (float[3] x) => (float[3] y) { y = Add(x, k) }")
    values = numpy_helper.from_array(np.array([4], np.float32), "k")
    model.graph.sparse_initializer.append(
        onnx.helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([2])), [3])
    )
    after, result = lowered(model)
    assert numpy_helper.to_array(after.graph.initializer[0]).tolist() == [0, 0, 4]
    assert not after.graph.sparse_initializer
    assert "a sparse initializer became dense" in [step.what for step in result.steps]


def test_a_constant_without_a_readable_value_is_refused():
    model = model_of(13, "g (float x) => (float y) { k = Constant<value_float = 1.0>() y = Add(x, k) }")
    del model.graph.node[0].attribute[:]
    (blocker,) = blockers_of(model)
    assert "no value that resizefix can read" in blocker.reason


def test_payloads_in_another_file_are_moved_and_never_read():
    model = model_of(
        13, "g (float[70000] x) => (float[70000] y) { k = Constant<value_floats = [1.0]>() y = Add(x, k) }"
    )
    detached = model.graph.node[0].attribute[0]
    detached.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(0, np.float32))))
    del detached.t.dims[:]
    detached.t.dims.append(70000)
    detached.t.ClearField("raw_data")
    detached.t.data_location = TensorProto.EXTERNAL
    detached.t.external_data.add(key="location", value="elsewhere.bin")

    def never(tensor: TensorProto) -> np.ndarray:
        raise AssertionError(f"{tensor.name} was read")

    copy = ModelProto()
    copy.CopyFrom(model)
    assert not downgrade(copy, value_of=never).blockers
    (moved,) = copy.graph.initializer
    assert moved.name == "k"
    assert moved.external_data == detached.t.external_data


def test_a_small_operand_in_another_file_is_read_through_the_caller():
    model = model_of(
        13, "g (float[2,3] x) => (float[3,2] y) <int64[2] s = {3,2}> { y = Reshape(x, s) z = Squeeze(y, a) }"
    )
    model.graph.node[1].input[1] = "s"
    del model.graph.node[1]
    tensor = model.graph.initializer[0]
    tensor.ClearField("int64_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="elsewhere.bin")
    asked = []

    def value_of(wanted: TensorProto) -> np.ndarray:
        asked.append(wanted.name)
        return np.array([3, 2])

    copy = ModelProto()
    copy.CopyFrom(model)
    assert not downgrade(copy, value_of=value_of).blockers
    assert asked
    assert set(asked) == {"s"}
    assert copy.graph.initializer[0].data_location == TensorProto.EXTERNAL


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
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[3] x) => (float[3] y) { y = Add (x, k) }'
    )
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([1], np.float32), "k"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array(indices, np.int64), "k_indices"))
    with pytest.raises(UnreadableModelError, match="sparse tensor 'k': its indices do not fit its shape"):
        constants_to_initializers(model, numpy_helper.to_array)
