"""What `legalize` does with the answer of the target's runtime: it is asked before the file is written."""

import onnx
import onnx_text
import pytest
from fixture_models import FIXTURES

import resizefix
from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.library import live as live_runtimes
from resizefix.library.live import LiveProof, prove_live
from resizefix.library.result import VerificationFailedError
from resizefix.operations.sites import find_sites
from resizefix.outcome import Differences, TensorDifference
from resizefix.runtimes.runtime import Ending, LiveUnavailable, NodeAnswer
from resizefix.targets.catalogue import target_named
from resizefix.verification import verify
from resizefix.verification.verification import Run, SiteDrift, Verification, VerificationStatus, conditions

MODEL = FIXTURES / "bisenet_x8_linear_opset10.onnx"
UP = "(float[1,1,4,5] x) => (float[1,1,8,10] y) <float[4] s = {1, 1, 2, 2}> { y = Resize <%s> (x, , s) }"
CUBIC = onnx_text.model(UP % 'mode = "cubic", exclude_outside = 1')
RAN = Run(values={}, shapes={}, optimized=False, difference=Differences(()))


def drift(differs, input_rel_diff=0.0):
    return SiteDrift("Resize", TensorDifference("y", False, 1.0, 1.0, "why"), input_rel_diff, differs)


def proof_of(monkeypatch, *answers, target="openvino", alone=(), model=None):
    """The proof where the runtime answers so, in this order, and of the rewritten nodes alone."""
    left = list(answers)
    monkeypatch.setattr(live_runtimes, "verify_in_runtime", lambda *_: left.pop(0))
    monkeypatch.setattr(live_runtimes, "nodes_in_runtime", lambda *_: alone)
    document = Document.open(MODEL) if model is None else Document.from_proto(onnx_text.model(model))
    return prove_live(document, document, find_sites(document), target_named(target), conditions())


def failed(*sites, runs=(RAN,), runtime="OpenVINO 1"):
    return Verification(VerificationStatus.FAILED, "it differs", runs, runtime=runtime, sites=sites)


PASSED = Verification(VerificationStatus.PASSED, None, (RAN,), runtime="OpenVINO 1")


def test_right_there_is_said(monkeypatch):
    proof = proof_of(monkeypatch, PASSED)
    assert (proof.fits, str(proof.said)) == (True, "OpenVINO 1 computes the same, within 1e-4 of the largest value")


def test_a_rewritten_node_that_differs_there_does_not_fit(monkeypatch):
    proof = proof_of(monkeypatch, failed(drift(False), drift(True)))
    assert (proof.fits, str(proof.said)) == (False, "the rewritten node Resize is wrong in OpenVINO 1: it differs")


def test_what_differs_before_the_node_is_another_operators(monkeypatch):
    proof = proof_of(monkeypatch, failed(drift(True, input_rel_diff=0.1)))
    assert proof.fits
    assert "what differs begins at other operators" in str(proof.said)


def test_a_model_that_ran_before_and_stops_now_does_not_fit(monkeypatch):
    assert not proof_of(monkeypatch, failed(runs=()), PASSED).fits


ALONE = UP % 'mode = "cubic"'
BESIDE = ALONE.replace("y = R", "a = R").replace("(x, , s) }", "(x, , s) y = Neg (a) }")
(SITE,) = find_sites(Document.from_proto(onnx_text.model(BESIDE)))
RIGHT = NodeAnswer("Resize", SITE.output, Ending.RAN, agrees=True)
CRASHED = NodeAnswer("Resize", SITE.output, Ending.CRASHED_RUN, "it ended")
UNASKED = NodeAnswer("Resize", SITE.output, None, "onnxruntime does not run it")


@pytest.mark.parametrize(
    ("model", "alone", "fits", "said"),
    [
        (ALONE, (RIGHT,), False, "does not compute what takes the place of"),
        (BESIDE, (RIGHT,), True, "each rewritten resize alone is right there: it differs"),
        (BESIDE, (UNASKED,), True, "runs neither the original nor this file, so the resizes"),
        (BESIDE, (), True, "runs neither the original nor this file, so the resizes"),
        (BESIDE, (CRASHED,), False, "does not compute what takes the place of Resize (with size it may): it ended"),
    ],
)
def test_of_a_model_that_never_ran_there_each_node_is_asked_alone(monkeypatch, model, alone, fits, said):
    proof = proof_of(monkeypatch, failed(runs=()), failed(runs=()), alone=alone, model=model)
    assert (proof.fits, said in str(proof.said)) == (fits, True), proof.said
    assert proof.refuted == (frozenset({SITE.key}) if CRASHED in alone else frozenset())


def test_a_runtime_that_is_not_there_leaves_the_rules(monkeypatch):
    missing = LiveUnavailable(Diagnostic("library.rules-alone-no-runtime", target="openvino"))
    proof = proof_of(monkeypatch, missing)
    assert proof.fits
    assert str(proof.said).startswith("for openvino checked with built-in rules only: ")
    assert str(proof_of(monkeypatch, target="qnn").said).endswith("built-in rules only: it cannot be run here")


CEIL = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"'
TWO = onnx_text.model(f"""(float[1,1,4,5] x) => (float[1,1,8,10] y, float[1,1,8,10] z) <float[4] s = {{1, 1, 2, 2}}> {{
    [one] y = Resize <{CEIL}> (x, , s) [other] z = Resize <{CEIL}> (x, , s) }}""")


def operators_of(model, output):
    """What an output is computed with."""
    makers = {node.output[0]: node for node in model.graph.node}
    found, names = [], [output]
    for name in names:
        if name in makers:
            found.append(makers[name].op_type)
            names.extend(makers[name].input)
    return found


def refuting(monkeypatch, times, *outputs):
    """`prove_live` refutes as often, and blames what makes these outputs."""
    said, asked = Diagnostic("library.rules-alone-no-runtime", target="mnn"), []

    def prove(before, after, changed, *_):
        asked.append(after.proto)
        blamed = frozenset(site.key for site in changed if site.output in outputs)
        return LiveProof(len(asked) > times, said, blamed)

    monkeypatch.setattr(live_runtimes, "prove_live", prove)
    return asked


def test_what_no_form_fits_is_not_given_back_and_no_form_is_tried_twice(monkeypatch):
    asked = refuting(monkeypatch, 99)
    with pytest.raises(VerificationFailedError, match="built-in rules only"):
        resizefix.legalize(TWO, target="mnn")
    assert len(asked) > 1
    assert len({model.SerializeToString() for model in asked}) == len(asked)


def test_a_form_that_is_refuted_makes_room_for_the_next_one_of_that_node_alone(monkeypatch):
    asked = refuting(monkeypatch, 1, "z")
    made = resizefix.legalize(TWO, target="mnn").model
    first, second = asked
    assert made == second
    assert operators_of(first, "y") == operators_of(first, "z") == operators_of(second, "y")
    assert operators_of(second, "z") != operators_of(first, "z")


def test_what_is_refuted_for_no_known_node_gets_other_forms_everywhere(monkeypatch):
    first, second = refuting(monkeypatch, 1), resizefix.legalize(TWO, target="mnn").model
    assert operators_of(second, "y") == operators_of(second, "z") != operators_of(first[0], "y")


def test_a_form_that_onnxruntime_refutes_makes_room_for_the_next_one(monkeypatch):
    wrong = Verification(VerificationStatus.FAILED, "it differs", (RAN,))
    prove, refuted = verify.prove_rewrite, [wrong]
    monkeypatch.setattr(verify, "prove_rewrite", lambda *a, **k: refuted.pop() if refuted else prove(*a, **k))
    made = resizefix.legalize(TWO, target="mnn", live=False)
    assert (made.verification.passed, refuted) == (True, [])
    monkeypatch.undo()
    assert operators_of(made.model, "y") != operators_of(resizefix.legalize(TWO, target="mnn", live=False).model, "y")


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
