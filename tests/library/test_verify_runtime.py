"""A model in another runtime against onnxruntime: which resize differs first, by how much, and what cannot be asked.

The runtime is a package `openvino` that asks onnxruntime and moves the tensors that the test names: it is wrong in a
known place. With `onnxruntime` as the runtime nothing is moved.
"""

import re
import sys

import numpy as np
import onnx
import onnx_text
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.library.live import runtime_verdict
from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.runtime import Ending, LiveUnavailable
from resizefix.verification.in_runtime import compare_values, is_right
from resizefix.verification.verification import conditions

TWO = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13], producer_name: "me">
    g (float[1,2,4,4] x) => (float[1,2,16,16] z) <float[4] s = {1, 1, 2, 2}> {
        [a] r = Relu (x)
        [up1] y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (r, , s)
        [b] t = Sigmoid (y)
        [up2] u = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (t, , s)
        [c] z = Abs (u)
    }""")
OPENVINO = """
import onnx, onnxruntime
__version__ = "9.9"
MOVED = {moved!r}
class Tensor:
    def get_names(self): return {{"x", "r", "t"}}
class Compiled:
    def __init__(self, path):
        model = onnx.load(path)
        if {refused!r} in [node.name for node in model.graph.node]: raise RuntimeError("no {refused}, thanks")
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.outputs = self.session.get_outputs()
        self.inputs = [Tensor()]
    def __call__(self, feeds):
        found = self.session.run(None, dict(feeds))
        return [value + MOVED.get(out.name, 0) for out, value in zip(self.outputs, found)]
class Core:
    def read_model(self, path): return path
    def compile_model(self, model, device, configuration): return Compiled(model)
"""


@pytest.fixture
def openvino(tmp_path):
    """The option that names a Python whose openvino moves these tensors and refuses models with this node."""

    def made(moved, refused=""):
        place = tmp_path / "packages"
        place.mkdir()
        (place / "openvino.py").write_text(OPENVINO.format(moved=moved, refused=refused))
        python = tmp_path / "python"
        own = ":".join(path for path in sys.path if "site-packages" in path)
        python.write_text(f'#!/bin/sh\nPYTHONPATH={place}:{own} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        return {"openvino": str(python)}

    return made


def told(found):
    """Of every resize whether it differs, and whether it is the first to."""
    return [(site.node, site.differs, site.first) for site in found.sites]


def test_a_model_that_is_right_passes_and_every_resize_is_listed():
    found = resizefix.verify(TWO, runtime="onnxruntime")
    assert found.passed
    assert found.runtime.startswith("onnxruntime ")
    assert told(found) == [("up1", False, False), ("up2", False, False)]
    assert found.runs[0].bound == 1e-4


# The tensors that are moved, what is told of the two resizes, and what the reason says.
WRONG = {
    "those behind the first are not first": (
        {"y": 0.5, "t": 0.1, "u": 0.1, "z": 0.1}, (True, True), (True, False),
        r"^OpenVINO 9\.9 differs from onnxruntime, and the first resize that does is up1: ",
    ),
    "another operator's is no resize's fault": (
        {"t": 0.1, "u": 0.1, "z": 0.1}, (False, False), (True, False), "but not first at a resize",
    ),
    "one inside fails though the outputs agree": (
        {"u": 0.5}, (False, False), (True, True), "the outputs agree, but a resize inside the model does not",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("moved", "first", "second", "says"), WRONG.values(), ids=WRONG)
def test_a_difference_is_told_where_it_begins(openvino, moved, first, second, says):
    found = resizefix.verify(TWO, runtime="openvino", runtime_python=openvino(moved))
    assert not found.passed
    assert told(found) == [("up1", *first), ("up2", *second)]
    assert found.sites[0].max_abs_diff == pytest.approx(moved.get("y", 0))
    assert (found.sites[1].input_rel_diff > 1e-4) == ("t" in moved)
    assert re.search(says, found.reason)


def test_a_small_difference_is_right_within_the_bound_or_within_what_the_user_allows(openvino):
    python = openvino({"z": 5e-5, "u": 5e-5})
    assert resizefix.verify(TWO, runtime="openvino", runtime_python=python).passed
    assert not resizefix.verify(TWO, runtime="openvino", runtime_python=python, atol=1e-5).passed


def test_two_models_are_compared_across_runtimes(openvino):
    result = resizefix.promote_scales(TWO, node="up1", input_name="s1", allow_coupled=True)
    feed = {"s1": [1, 1, 2, 2]}
    python = openvino({"y": 0.5})
    found = resizefix.verify(TWO, result.model, runtime="onnxruntime", feed=feed)
    assert found.passed
    assert found.runs[0].values == {"s1": [1, 1, 2, 2]}
    assert [site.node for site in found.sites] == ["up1", "up2"]
    with pytest.raises(resizefix.UsageError, match="--feed"):
        resizefix.verify(TWO, result.model, runtime="openvino", runtime_python=python)


def test_a_model_that_is_refused_fails_with_the_runtimes_own_words(openvino):
    found = resizefix.verify(TWO, runtime="openvino", runtime_python=openvino({}, refused="b"))
    assert found.reason == "OpenVINO 9.9 did not run the model (refused-load): no b, thanks"


def test_a_runtime_that_is_not_there_is_a_usage_error_with_the_command_that_installs_it(tmp_path):
    with pytest.raises(resizefix.UsageError, match="nowhere does not start"):
        resizefix.verify(TWO, runtime="openvino", runtime_python={"openvino": str(tmp_path / "nowhere")})
    with pytest.raises(resizefix.UsageError, match="there is no runtime 'quux'; there are onnxruntime, openvino"):
        resizefix.verify(TWO, runtime="quux")
    with pytest.raises(resizefix.UsageError, match="with one, name the runtime"):
        resizefix.verify(TWO)


def test_each_node_is_asked_alone_so_that_what_stands_around_it_does_not_count(openvino):
    python = openvino({"u": 0.5}, refused="b")["openvino"]
    found = runtime_verdict(Document.from_proto(TWO), runtime_named("openvino"), conditions(), python=python)
    ran = [(node.node, node.ending, node.agrees) for node in found.nodes]
    assert ran == [("up1", Ending.RAN, True), ("up2", Ending.RAN, False)]
    assert not found.accepted
    assert [error.node for error in found.errors] == ["up2", None]
    assert "computes something else" in found.errors[0].message
    assert "no b, thanks" in found.errors[1].message


def test_a_node_alone_is_fed_what_the_model_feeds_it(openvino):
    """Sigmoid's results lie in 0…1: other values would show in the size of the difference."""
    python = openvino({"u": 0.5})["openvino"]
    found = runtime_verdict(Document.from_proto(TWO), runtime_named("openvino"), conditions(), python=python)
    assert found.nodes[1].max_abs_diff == pytest.approx(0.5, abs=1e-6)
    assert found.nodes[1].max_rel_diff == pytest.approx(0.5, abs=0.05) or 0.5 < found.nodes[1].max_rel_diff < 1.0


def test_where_onnxruntime_does_not_run_the_model_the_nodes_alone_decide():
    nodes = "[own] r = mine.Own (x) [up] z = Resize (r, , s)"
    text = f"(float[1,2,4,4] x) => (float[1,2,8,8] z) <float[4] s = {{1, 1, 2, 2}}> {{ {nodes} }}"
    found = runtime_verdict(onnx_text.document(text, 13, "mine"), runtime_named("onnxruntime"), conditions())
    assert found.accepted
    assert [node.agrees for node in found.nodes] == [True]
    assert "only the resizes alone were compared" in found.unanswered


def test_there_is_no_verdict_where_onnxruntime_runs_neither_the_model_nor_the_node():
    document = onnx_text.document("(float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Resize (x) }")
    found = runtime_verdict(document, runtime_named("onnxruntime"), conditions())
    assert isinstance(found, LiveUnavailable)
    assert str(found.reason).startswith("nothing was compared: onnxruntime cannot load")


def test_the_command_answers_in_json_html_and_markdown(openvino, tmp_path, answered):
    onnx.save(TWO, tmp_path / "two.onnx")
    python = openvino({"y": 0.5, "z": 0.5})["openvino"]
    page, note = tmp_path / "page.html", tmp_path / "note.md"
    words = ["verify", tmp_path / "two.onnx", "--runtime", "OpenVINO", "--runtime-python", f"openvino={python}"]
    answer = answered(*words, "--html", page, "--markdown", note)
    assert (answer["exit_code"], answer["runtime"]) == (1, "OpenVINO 9.9")
    assert [(site["node"], site["first"]) for site in answer["sites"]] == [("up1", True), ("up2", False)]
    assert answer["sites"][0]["max_abs_diff"] == pytest.approx(0.5)
    for text in (page.read_text(), note.read_text()):
        assert "the first that differs" in text
        assert "in OpenVINO 9.9" in text


def test_the_outputs_of_a_cast_model_may_have_other_types():
    """MNN has int32 where ONNX has int64, and is right: see `compare_values`."""
    whole = np.array([1, 2], np.int64)
    assert compare_values({"a": whole}, {"a": whole.astype(np.float32)}).bitwise
    assert not compare_values({"a": whole}, {"a": np.array([1.0, 2.5], np.float32)}).bitwise
    assert not compare_values({"a": whole}, {"a": whole[:, None]}).bitwise


def test_the_last_bits_of_half_precision_are_right():
    before = np.array([2.25, 1.0], np.float16)
    difference = compare_values({"y": before}, {"y": before + np.float16(0.002)}).tensors[0]
    assert is_right(difference, before, before)
    wide = before.astype(np.float32)
    difference = compare_values({"y": wide}, {"y": wide + 0.002}).tensors[0]
    assert not is_right(difference, wide, wide)


IN_BODIES = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13, "own" : 1]>
    g (float[1,1,4,4] x) => (float[1,1,8,8] z, float[1,1,8,8] v) <float[4] s = {1, 1, 2, 2}, bool c = {1}> {
        [choice] z = If (c) <
            then_branch = t () => (float[1,1,8,8] y) { [then] y = Resize <mode = "nearest"> (x, , s) },
            else_branch = e () => (float[1,1,8,8] w) { [else] w = Resize <mode = "linear"> (x, , s) }
        >
        [call] v = own.Up (x)
    }
    <domain: "own", opset_import: ["" : 13]> Up (x) => (b) {
        [four] k = Constant <value = float[4] {1, 1, 2, 2}> ()
        [inside] b = Resize <mode = "linear"> (x, , k)
    }""")


def test_resizes_in_bodies_are_run_alone():
    found = resizefix.verify(IN_BODIES, runtime="onnxruntime")
    assert found.passed
    assert sorted(told(found)) == [(name, False, False) for name in ("else", "inside", "then")]
    assert all(site.alone for site in found.sites)


def test_a_branch_that_was_not_taken_fails_where_its_resize_is_wrong(openvino):
    found = resizefix.verify(IN_BODIES, runtime="openvino", runtime_python=openvino({"w": 0.5}))
    assert not found.passed
    assert "else, which stands in a body, differs in OpenVINO 9.9" in str(found.reason)
    assert sorted(told(found)) == [("else", True, True), ("inside", False, False), ("then", False, False)]


def test_a_resize_in_a_body_that_cannot_be_run_alone_is_named(openvino):
    found = resizefix.verify(IN_BODIES, runtime="openvino", runtime_python=openvino({}, refused="else"))
    assert found.passed
    assert str(found.reason).startswith("else stands in a body and could not be compared alone: ")
    assert [site.node for site in found.sites if site.node == "else"] == []
