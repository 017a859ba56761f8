"""Sessions of onnxruntime: what they take, give, refuse, and that they say nothing on stderr."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, open_session, unregistered_operators

HEADER = '<ir_version: 8, opset_import: ["":17]>'
TWO_STEPS = f"{HEADER} g (float[2] x) => (float[2] y) {{ t = Neg(x) y = Relu(t) }}"
ADD = f"{HEADER} g (float[a,3] x, float[b,3] z) => (float[a,3] y) {{ y = Add(x, z) }}"


def document(text: str) -> Document:
    return Document.from_proto(parser.parse_model(text))


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("optimized", [False, True])
def test_a_session_names_what_it_takes_and_gives(optimized):
    session = open_session(document(ADD), optimized=optimized)
    assert [(entry.name, entry.shape) for entry in session.inputs] == [("x", ("a", 3)), ("z", ("b", 3))]
    assert session.outputs == ("y",)
    result = session.run({"x": np.ones((2, 3), np.float32), "z": np.ones((1, 3), np.float32)})
    np.testing.assert_array_equal(result["y"], np.full((2, 3), 2, np.float32))


def test_an_inner_tensor_can_be_looked_at_and_the_document_is_not_touched():
    doc = document(TWO_STEPS)
    before = doc.light_bytes()
    session = open_session(doc, optimized=False, extra_outputs=("t", "y"))
    assert session.outputs == ("y", "t")
    np.testing.assert_array_equal(session.run({"x": floats(1, -2)})["t"], floats(-1, 2))
    assert doc.light_bytes() == before


def test_a_tensor_to_look_at_that_does_not_exist_cannot_be_loaded():
    with pytest.raises(CannotLoadError, match="nope"):
        open_session(document(TWO_STEPS), optimized=False, extra_outputs=("nope",))


def test_a_default_is_used_unless_it_is_fed():
    text = f"{HEADER} g (float[1] x, float[1] w) => (float[1] y) <float[1] w = {{10}}> {{ y = Add(x, w) }}"
    for optimized in (False, True):
        session = open_session(document(text), optimized=optimized)
        assert session.run({"x": floats(1)})["y"] == [11]
        assert session.run({"x": floats(1), "w": floats(2)})["y"] == [3]


def test_external_data_are_found_in_the_documents_folder(tmp_path):
    weight = np.arange(2000, dtype=np.float32)
    model = parser.parse_model(f"{HEADER} g (float[2000] x) => (float[2000] y) {{ y = Add(x, w) }}")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    session = open_session(Document.open(tmp_path / "m.onnx"), optimized=True)
    np.testing.assert_array_equal(session.run({"x": np.zeros(2000, np.float32)})["y"], weight)


def test_a_failing_run_names_the_node_and_says_why_in_one_sentence():
    doc = document(ADD)
    doc.proto.graph.node[0].name = "/up/Add"
    session = open_session(doc, optimized=False)
    with pytest.raises(CannotRunError) as caught:
        session.run({"x": np.ones((2, 3), np.float32), "z": np.ones((4, 3), np.float32)})
    error = caught.value
    assert (error.node, error.op_type) == ("/up/Add", "Add")
    assert error.reason == "Attempting to broadcast an axis by a dimension other than 1. 2 by 4"
    assert str(error) == f"the model cannot be run at node '/up/Add' (Add): {error.reason}"


def test_a_failing_node_without_a_name_is_named_as_in_our_reports():
    doc = document(f"{HEADER} g (float[a] x, float[b] z) => (y) {{ t = Neg(x) y = Add(t, z) }}")
    with pytest.raises(CannotRunError) as caught:
        open_session(doc, optimized=False).run({"x": floats(1, 2), "z": floats(1, 2, 3)})
    assert caught.value.node == "Add#1"
    assert doc.proto.graph.node[1].name == ""


def test_a_failure_in_the_body_of_an_if_names_the_inner_node():
    doc = document(
        f"""{HEADER} g (float[a] x, float[b] z, bool c) => (y) {{
            y = If(c) <then_branch = t () => (float[p] u) {{ u = Add(x, z) }},
                       else_branch = e () => (float[q] v) {{ v = Identity(x) }}>
        }}"""
    )
    doc.proto.graph.node[0].attribute[0].g.node[0].name = "inner"
    session = open_session(doc, optimized=False)
    feeds = {"x": floats(1, 2), "z": floats(1, 2, 3)}
    with pytest.raises(CannotRunError) as caught:
        session.run({**feeds, "c": np.array(True)})
    assert caught.value.node == "inner"
    np.testing.assert_array_equal(session.run({**feeds, "c": np.array(False)})["y"], floats(1, 2))


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"x": np.ones((2, 3), np.float32)}, "z"),
        ({"x": np.ones((2, 4), np.float32), "z": np.ones((1, 3), np.float32)}, "Got: 4 Expected: 3"),
        ({"x": np.ones((2, 3), np.float64), "z": np.ones((1, 3), np.float32)}, "double"),
        ({"x": np.ones((2, 3), np.float32), "z": np.ones((1, 3), np.float32), "q": floats(1)}, "q"),
    ],
)
def test_feeds_that_do_not_fit_are_a_failed_run_without_a_node(feeds, words):
    with pytest.raises(CannotRunError, match=words) as caught:
        open_session(document(ADD), optimized=False).run(feeds)
    assert caught.value.node is None


def test_an_operator_of_nobody_is_named_as_a_custom_op():
    doc = document(
        '<ir_version: 8, opset_import: ["":17, "acme":1]> g (float[2] x) => (float[2] y) { y = acme.Swish(x) }'
    )
    with pytest.raises(CannotLoadError, match="--custom-op-library") as caught:
        open_session(doc, optimized=False)
    assert caught.value.reason == "no implementation of acme:Swish is registered"


def test_a_model_that_is_refused_for_another_reason_is_no_custom_op():
    doc = document(f"{HEADER} g (float[1,1,2,2] x) => (y) {{ y = Resize(x) }}")
    with pytest.raises(CannotLoadError) as caught:
        open_session(doc, optimized=False)
    assert (caught.value.node, caught.value.op_type) == ("Resize#0", "Resize")


def test_local_functions_and_contrib_operators_are_registered():
    text = """<ir_version: 8, opset_import: ["":17, "local":1, "com.microsoft":1]>
        g (float[2] x) => (y) { a = local.f(x) b = com.microsoft.Gelu(a) y = local.missing(b) }
        <domain: "local", opset_import: ["":17]> f (x) => (y) { y = Neg(x) }"""
    assert unregistered_operators(parser.parse_model(text)) == ("local:missing",)


def test_a_custom_op_library_that_is_missing_or_none_is_a_wrong_argument(tmp_path):
    with pytest.raises(UsageError, match="no custom-op library"):
        open_session(document(TWO_STEPS), optimized=False, custom_op_libraries=[str(tmp_path / "lib.so")])
    (tmp_path / "lib.so").write_text("text")
    with pytest.raises(UsageError, match="cannot load the custom-op library"):
        open_session(document(TWO_STEPS), optimized=False, custom_op_libraries=[str(tmp_path / "lib.so")])


def value_model(type_: onnx.TypeProto) -> Document:
    node = helper.make_node("Identity", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", type_)], [helper.make_value_info("y", type_)])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    return Document.from_proto(model)


def test_sequences_and_optionals_come_and_go():
    floats_type = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    session = open_session(value_model(helper.make_sequence_type_proto(floats_type)), optimized=False)
    result = session.run({"x": [floats(1), floats(2, 3)]})["y"]
    assert [item.tolist() for item in result] == [[1], [2, 3]]
    assert session.run({"x": []}) == {"y": []}

    session = open_session(value_model(helper.make_optional_type_proto(floats_type)), optimized=False)
    np.testing.assert_array_equal(session.run({"x": floats(4)})["y"], floats(4))
    assert session.run({"x": None}) == {"y": None}


def test_strings_come_and_go():
    session = open_session(value_model(helper.make_tensor_type_proto(TensorProto.STRING, [2])), optimized=False)
    assert session.run({"x": np.array(["a", "ü"], object)})["y"].tolist() == ["a", "ü"]


@pytest.mark.parametrize("elem_type", [TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN])
def test_types_that_numpy_lacks_come_and_go(elem_type):
    dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    value = floats(0.5, -1, 2).astype(dtype)
    session = open_session(value_model(helper.make_tensor_type_proto(elem_type, [3])), optimized=False)
    result = session.run({"x": value})["y"]
    assert result.dtype == dtype
    assert result.tobytes() == value.tobytes()


def packed_model(elem_type: int, op_type: str) -> Document:
    """QuantizeLinear to, or DequantizeLinear from, a packed type, with scale 1."""
    packed, wide = helper.make_tensor_type_proto(elem_type, [3]), helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    x, y = (wide, packed) if op_type == "QuantizeLinear" else (packed, wide)
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", "scale", "zero"], ["y"])],
        "g",
        [helper.make_value_info("x", x)],
        [helper.make_value_info("y", y)],
        [helper.make_tensor("scale", TensorProto.FLOAT, [], [1.0]), helper.make_tensor("zero", elem_type, [], [0])],
    )
    return Document.from_proto(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))


@pytest.mark.parametrize(("elem_type", "values"), [(TensorProto.INT4, (-8, 7, -1)), (TensorProto.UINT4, (0, 15, 8))])
def test_packed_integers_come_out_whole(elem_type, values):
    session = open_session(packed_model(elem_type, "QuantizeLinear"), optimized=False)
    result = session.run({"x": floats(*values)})["y"]
    assert result.astype(int).tolist() == list(values)


def test_packed_integers_cannot_be_fed_and_this_is_said():
    session = open_session(packed_model(TensorProto.INT4, "DequantizeLinear"), optimized=False)
    value = np.array([1, 2, 3]).astype(helper.tensor_dtype_to_np_dtype(TensorProto.INT4))
    with pytest.raises(CannotRunError, match="cannot take INT4 inputs"):
        session.run({"x": value})


NOISE = f"{HEADER} g (float[3] x) => (float[3] y) {{ r = RandomNormalLike(x) y = Add(x, r) }}"
SAME_NOISE_ELSEWHERE = (
    f"{HEADER} g (float[3] x) => (float[3] y) {{ n = Neg(x) m = Neg(n) r = RandomNormalLike(m) y = Add(m, r) }}"
)


def test_random_nodes_draw_the_same_in_every_run_and_after_an_edit():
    feeds = {"x": floats(0, 0, 0)}
    session = open_session(document(NOISE), optimized=False)
    first = session.run(feeds)["y"]
    assert np.ptp(first) > 0
    np.testing.assert_array_equal(session.run(feeds)["y"], first)
    np.testing.assert_array_equal(open_session(document(SAME_NOISE_ELSEWHERE), optimized=True).run(feeds)["y"], first)


def test_nothing_is_written_to_stderr_or_stdout(capfd):
    stale_output = (
        f'{HEADER} g (float[1,1,4,4] x, float[4] s) => (float[1,1,8,8] y) {{ y = Resize<mode="nearest">(x,,s) }}'
    )
    deprecated = f"""{HEADER} g (float[1,1,4,4] x) => (y) <float[4] s = {{1,1,2,2}}> {{
        y = Resize<mode="linear", coordinate_transformation_mode="tf_half_pixel_for_nn">(x,,s) }}"""
    unused = f"{HEADER} g (float[1] x, float[1] u) => (y) <float[1] u = {{1}}, float[1] v = {{2}}> {{ y = Neg(x) }}"
    image = np.ones((1, 1, 4, 4), np.float32)
    for optimized in (False, True):
        open_session(document(stale_output), optimized=optimized).run({"x": image, "s": floats(1, 1, 3, 3)})
        open_session(document(deprecated), optimized=optimized).run({"x": image})
        open_session(document(unused), optimized=optimized).run({"x": floats(1)})
        with pytest.raises(CannotRunError):
            open_session(document(ADD), optimized=optimized).run(
                {"x": np.ones((2, 3), np.float32), "z": np.ones((4, 3), np.float32)}
            )
        with pytest.raises(CannotLoadError):
            open_session(document(f"{HEADER} g (float[1,1,2,2] x) => (y) {{ y = Resize(x) }}"), optimized=optimized)
    assert capfd.readouterr() == ("", "")
