"""What `legalize` does with the answer of the target's runtime: it is asked before the file is written."""

from types import SimpleNamespace

import onnx
import onnx_text
import pytest
from fixture_models import FIXTURES

import resizefix
from resizefix.diagnostics import Diagnostic
from resizefix.difference import Differences, TensorDifference
from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.library import live as live_runtimes
from resizefix.library.live import prove_live
from resizefix.library.result import VerificationFailedError
from resizefix.library.rewrite import _proven_live
from resizefix.operations.sites import find_sites
from resizefix.runtimes.runtime import LiveUnavailable
from resizefix.targets.catalogue import target_named
from resizefix.verification.conditions import conditions
from resizefix.verification.verification import Run, SiteDrift, Verification, VerificationStatus

MODEL = FIXTURES / "bisenet_x8_linear_opset10.onnx"
UP = "(float[1,1,4,5] x) => (float[1,1,8,10] y) <float[4] s = {1, 1, 2, 2}> { y = Resize <%s> (x, , s) }"
CUBIC = onnx_text.model(UP % 'mode = "cubic", exclude_outside = 1')
RAN = Run(values={}, shapes={}, optimized=False, difference=Differences(()))


def drift(differs, input_rel_diff=0.0):
    return SiteDrift("Resize", TensorDifference("y", False, 1.0, 1.0, "why"), input_rel_diff, differs)


def proof_of(monkeypatch, *answers, target="openvino"):
    """The proof where the runtime answers so, in this order."""
    left = list(answers)
    monkeypatch.setattr(live_runtimes, "verify_in_runtime", lambda *_: left.pop(0))
    document = Document.open(MODEL)
    return prove_live(document, document, find_sites(document), target_named(target), conditions())


def failed(*sites, runs=(RAN,), runtime="OpenVINO 1"):
    return Verification(VerificationStatus.FAILED, "it differs", runs, runtime=runtime, sites=sites)


PASSED = Verification(VerificationStatus.PASSED, None, (RAN,), runtime="OpenVINO 1")


def test_right_there_is_said(monkeypatch):
    proof = proof_of(monkeypatch, PASSED)
    assert (proof[0], str(proof[1])) == (True, "OpenVINO 1 computes the same, within 1e-4 of the largest value")


def test_a_rewritten_node_that_differs_there_does_not_fit(monkeypatch):
    proof = proof_of(monkeypatch, failed(drift(False), drift(True)))
    assert (proof[0], str(proof[1])) == (False, "the rewritten node Resize is wrong in OpenVINO 1: it differs")


def test_what_differs_before_the_node_is_another_operators(monkeypatch):
    proof = proof_of(monkeypatch, failed(drift(True, input_rel_diff=0.1)))
    assert proof[0]
    assert "what differs begins at other operators" in str(proof[1])


def test_a_model_that_ran_before_and_stops_now_does_not_fit(monkeypatch):
    assert not proof_of(monkeypatch, failed(runs=()), PASSED)[0]
    proof = proof_of(monkeypatch, failed(runs=()), failed(runs=()))
    assert (proof[0], str(proof[1])) == (True, "for openvino checked with built-in rules only: it differs")


ALONE = UP % 'mode = "cubic"'


@pytest.mark.parametrize(("text", "fits"), [
    (ALONE, False), (ALONE.replace("y = R", "a = R").replace("(x, , s) }", "(x, , s) y = Neg (a) }"), True),
])  # fmt: skip
def test_a_model_that_never_ran_there_fits_only_where_another_operator_may_be_why(monkeypatch, text, fits):
    document = Document.from_proto(onnx_text.model(text))
    monkeypatch.setattr(live_runtimes, "verify_in_runtime", lambda *_: failed(runs=()))
    proof = prove_live(document, document, find_sites(document), target_named("tract"), conditions())
    assert proof[0] is fits


def test_a_runtime_that_is_not_there_leaves_the_rules(monkeypatch):
    missing = LiveUnavailable(Diagnostic("library.rules-alone-no-runtime", target="openvino"))
    proof = proof_of(monkeypatch, missing)
    assert proof[0]
    assert str(proof[1]).startswith("for openvino checked with built-in rules only: ")
    assert str(proof_of(monkeypatch, target="qnn")[1]).endswith("built-in rules only: it cannot be run here")


def test_what_does_not_fit_is_not_given_back(monkeypatch):
    proof = (False, Diagnostic("library.rules-alone-no-runtime", target="mnn"))
    monkeypatch.setattr(live_runtimes, "prove_live", lambda *_: proof)
    result = SimpleNamespace(verification=PASSED)
    unasked = _proven_live(result, None, None, (), target_named("tensorrt-10"), conditions(), None)
    assert unasked is result
    made = resizefix.legalize(str(MODEL), target="qnn", live=False)
    with pytest.raises(VerificationFailedError, match="built-in rules only"):
        _proven_live(made, Document.open(MODEL), Document.open(MODEL), (), target_named("mnn"), conditions(), None)


def test_the_call_says_what_was_asked_and_no_live_asks_nobody():
    asked = resizefix.legalize(str(MODEL), target="qnn")
    assert str(asked.verification.reason).endswith("for qnn checked with built-in rules only: it cannot be run here")
    assert "built-in" not in str(resizefix.legalize(str(MODEL), target="qnn", live=False).verification.reason)


def test_another_python_may_have_the_runtime(tmp_path):
    pythons = {"openvino": str(tmp_path / "python")}
    made = resizefix.legalize(CUBIC, target="openvino", runtime_python=pythons)
    assert made.changed
    assert "No such file" in str(made.verification.reason)
    linear = onnx_text.model(UP % 'mode = "linear"')
    with pytest.raises(UsageError, match="No such file"):  # the node has other forms there, which are measured
        resizefix.legalize(linear, target="openvino", runtime_python=pythons, fastest=True)


def test_the_command_takes_the_python_of_a_runtime(tmp_path, answered):
    model, python = tmp_path / "in.onnx", f"openvino={tmp_path / 'python'}"
    onnx.save(CUBIC, model)
    words = ("legalize", model, tmp_path / "out.onnx", "--target", "openvino", "--runtime-python", python)
    answer = answered(*words)
    assert answer["exit_code"] == 0
    assert "No such file" in answer["verification"]["reason"]
