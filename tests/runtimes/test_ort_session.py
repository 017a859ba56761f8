"""Sessions of onnxruntime: what they take, give, refuse, and that they say nothing on stderr."""

import ml_dtypes
import numpy as np
import onnx
import onnx_text
import pytest

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    Session,
    open_session,
    unregistered_operators,
)

TWO_STEPS = "(float[2] x) => (float[2] y) { t = Neg(x) y = Relu(t) }"
ADD = "(float[a,3] x, float[b,3] z) => (float[a,3] y) { y = Add(x, z) }"


WITHOUT_EXTENT = "(float[1,1,2,2] x) => (y) { y = Resize(x) }"


def document(graph: str, opset: int = 17, *domains: str, ir: int = 8) -> Document:
    return onnx_text.document(graph, opset, *domains, ir=ir)


def opened(graph: str, opset: int = 17, *domains: str, **options: object) -> Session:
    return open_session(document(graph, opset, *domains), **{"optimized": False, **options})


def copying(kind: str) -> Session:
    """A session of a model that gives back what it takes."""
    return open_session(document(f"({kind} x) => ({kind} y) {{ y = Identity (x) }}", 21, ir=10), optimized=False)


PAIR = {"x": np.ones((2, 3), np.float32), "z": np.ones((1, 3), np.float32)}
APART = {"x": np.ones((2, 3), np.float32), "z": np.ones((4, 3), np.float32)}


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("optimized", [False, True])
def test_a_session_names_what_it_takes_and_gives(optimized):
    session = opened(ADD, optimized=optimized)
    assert [(entry.name, entry.shape) for entry in session.inputs] == [("x", ("a", 3)), ("z", ("b", 3))]
    assert session.outputs == ("y",)
    np.testing.assert_array_equal(session.run(PAIR)["y"], np.full((2, 3), 2, np.float32))


def test_an_inner_tensor_can_be_looked_at_and_the_document_is_not_touched():
    doc = document(TWO_STEPS)
    before = doc.light_bytes()
    session = open_session(doc, optimized=False, extra_outputs=("t", "y"))
    assert session.outputs == ("y", "t")
    np.testing.assert_array_equal(session.run({"x": floats(1, -2)})["t"], floats(-1, 2))
    assert doc.light_bytes() == before


def test_a_tensor_to_look_at_that_does_not_exist_cannot_be_loaded():
    with pytest.raises(CannotLoadError, match="nope"):
        opened(TWO_STEPS, extra_outputs=("nope",))


def test_a_default_is_used_unless_it_is_fed():
    text = "(float[1] x, float[1] w) => (float[1] y) <float[1] w = {10}> { y = Add(x, w) }"
    for optimized in (False, True):
        session = opened(text, optimized=optimized)
        assert session.run({"x": floats(1)})["y"] == [11]
        assert session.run({"x": floats(1), "w": floats(2)})["y"] == [3]


def test_external_data_are_found_in_the_documents_folder(tmp_path):
    weight = np.arange(2000, dtype=np.float32)
    model = onnx_text.model("(float[2000] x) => (float[2000] y) { y = Add(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    session = open_session(Document.open(tmp_path / "m.onnx"), optimized=True)
    np.testing.assert_array_equal(session.run({"x": np.zeros(2000, np.float32)})["y"], weight)


def test_a_failing_run_names_the_node_and_says_why_in_one_sentence():
    doc = document(ADD)
    doc.proto.graph.node[0].name = "/up/Add"
    session = open_session(doc, optimized=False)
    with pytest.raises(CannotRunError) as caught:
        session.run(APART)
    error = caught.value
    assert (error.node, error.op_type) == ("/up/Add", "Add")
    assert error.reason == "Attempting to broadcast an axis by a dimension other than 1. 2 by 4"
    assert str(error) == f"the model cannot be run at node '/up/Add' (Add): {error.reason}"


def test_a_failing_node_without_a_name_is_named_as_in_our_reports():
    doc = document("(float[a] x, float[b] z) => (y) { t = Neg(x) y = Add(t, z) }")
    with pytest.raises(CannotRunError) as caught:
        open_session(doc, optimized=False).run({"x": floats(1, 2), "z": floats(1, 2, 3)})
    assert caught.value.node == "Add#1"
    assert doc.proto.graph.node[1].name == ""


def test_a_failure_in_the_body_of_an_if_names_the_inner_node():
    doc = document(
        """(float[a] x, float[b] z, bool c) => (y) {
            y = If(c) <then_branch = t () => (float[p] u) { u = Add(x, z) },
                       else_branch = e () => (float[q] v) { v = Identity(x) }>
        }"""
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
        ({"x": PAIR["x"]}, "z"),
        ({**PAIR, "x": np.ones((2, 4), np.float32)}, "Got: 4 Expected: 3"),
        ({**PAIR, "x": np.ones((2, 3), np.float64)}, "double"),
        ({**PAIR, "q": floats(1)}, "q"),
    ],
)
def test_feeds_that_do_not_fit_are_a_failed_run_without_a_node(feeds, words):
    with pytest.raises(CannotRunError, match=words) as caught:
        opened(ADD).run(feeds)
    assert caught.value.node is None


def test_an_operator_of_nobody_is_named_as_a_custom_op():
    with pytest.raises(CannotLoadError, match="custom_op_library") as caught:
        opened("(float[2] x) => (float[2] y) { y = acme.Swish(x) }", 17, "acme")
    assert caught.value.reason == "no implementation of acme:Swish is registered"


def test_a_model_that_is_refused_for_another_reason_is_no_custom_op():
    with pytest.raises(CannotLoadError) as caught:
        opened(WITHOUT_EXTENT)
    assert (caught.value.node, caught.value.op_type) == ("Resize#0", "Resize")


def test_local_functions_and_contrib_operators_are_registered():
    text = """(float[2] x) => (y) { a = local.f(x) b = com.microsoft.Gelu(a) y = local.missing(b) }
        <domain: "local", opset_import: ["":17]> f (x) => (y) { y = Neg(x) }"""
    assert unregistered_operators(onnx_text.model(text, 17, "local", "com.microsoft")) == ("local:missing",)


def test_a_custom_op_library_that_is_missing_or_none_is_a_wrong_argument(tmp_path):
    with pytest.raises(UsageError, match="no custom-op library"):
        opened(TWO_STEPS, custom_op_libraries=[str(tmp_path / "lib.so")])
    (tmp_path / "lib.so").write_text("text")
    with pytest.raises(UsageError, match="cannot load the custom-op library"):
        opened(TWO_STEPS, custom_op_libraries=[str(tmp_path / "lib.so")])


def test_sequences_and_optionals_come_and_go():
    session = copying("seq(float[])")
    assert [item.tolist() for item in session.run({"x": [floats(1), floats(2, 3)]})["y"]] == [[1], [2, 3]]
    assert session.run({"x": []}) == {"y": []}
    session = copying("optional(float[])")
    np.testing.assert_array_equal(session.run({"x": floats(4)})["y"], floats(4))
    assert session.run({"x": None}) == {"y": None}


def test_strings_come_and_go():
    assert copying("string[2]").run({"x": np.array(["a", "ü"], object)})["y"].tolist() == ["a", "ü"]


@pytest.mark.parametrize("kind", ["bfloat16", "float8e4m3fn"])
def test_types_that_numpy_lacks_come_and_go(kind):
    value = floats(0.5, -1, 2).astype(getattr(ml_dtypes, kind.replace("float8e4", "float8_e4")))
    result = copying(f"{kind}[3]").run({"x": value})["y"]
    assert result.dtype == value.dtype
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize(("kind", "values"), [("int4", (-8, 7, -1)), ("uint4", (0, 15, 8))])
def test_packed_integers_come_out_whole(kind, values):
    graph = f"(float[3] x) => ({kind}[3] y) <float s = {{1}}, {kind} z = {{0}}> {{ y = QuantizeLinear (x, s, z) }}"
    session = open_session(document(graph, 21, ir=10), optimized=False)
    assert session.run({"x": floats(*values)})["y"].astype(int).tolist() == list(values)


def test_packed_integers_cannot_be_fed_and_this_is_said():
    graph = "(int4[3] x) => (float[3] y) <float s = {1}, int4 z = {0}> { y = DequantizeLinear (x, s, z) }"
    with pytest.raises(CannotRunError, match="cannot take INT4 inputs"):
        open_session(document(graph, 21, ir=10), optimized=False).run({"x": np.array([1, 2, 3]).astype(ml_dtypes.int4)})


NOISE = "(float[3] x) => (float[3] y) { r = RandomNormalLike(x) y = Add(x, r) }"
SAME_NOISE_ELSEWHERE = "(float[3] x) => (float[3] y) { n = Neg(x) m = Neg(n) r = RandomNormalLike(m) y = Add(m, r) }"


def test_random_nodes_draw_the_same_in_every_run_and_after_an_edit():
    feeds = {"x": floats(0, 0, 0)}
    session = opened(NOISE)
    first = session.run(feeds)["y"]
    assert np.ptp(first) > 0
    np.testing.assert_array_equal(session.run(feeds)["y"], first)
    np.testing.assert_array_equal(opened(SAME_NOISE_ELSEWHERE, optimized=True).run(feeds)["y"], first)


def test_nothing_is_written_to_stderr_or_stdout(capfd):
    stale_output = '(float[1,1,4,4] x, float[4] s) => (float[1,1,8,8] y) { y = Resize<mode="nearest">(x,,s) }'
    deprecated = """(float[1,1,4,4] x) => (y) <float[4] s = {1,1,2,2}> {
        y = Resize<mode="linear", coordinate_transformation_mode="tf_half_pixel_for_nn">(x,,s) }"""
    unused = "(float[1] x, float[1] u) => (y) <float[1] u = {1}, float[1] v = {2}> { y = Neg(x) }"
    image = np.ones((1, 1, 4, 4), np.float32)
    for optimized in (False, True):
        opened(stale_output, optimized=optimized).run({"x": image, "s": floats(1, 1, 3, 3)})
        opened(deprecated, optimized=optimized).run({"x": image})
        opened(unused, optimized=optimized).run({"x": floats(1)})
        with pytest.raises(CannotRunError):
            opened(ADD, optimized=optimized).run(APART)
        with pytest.raises(CannotLoadError):
            opened(WITHOUT_EXTENT, optimized=optimized)
    assert capfd.readouterr() == ("", "")
