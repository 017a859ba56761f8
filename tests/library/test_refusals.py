"""A call of which nothing could be done raises; what it gives back says whether the model changed."""

import pickle

import numpy as np
import onnx
import pytest
from fixture_models import FIXTURES, SRCNN, UNET
from onnx import numpy_helper
from onnx_text import model

import resizefix
from resizefix.library.result import Result, skipped
from resizefix.outcome import ModelOutcome, Status
from resizefix.verification.verification import Verification, VerificationStatus

BY_2 = "<float[4] s = {1, 1, 2, 2}>"
FED = model("(float[1,3,8,8] x, float[4] s) => (float[?,?,?,?] y) { y = Resize (x, , s) }")
OF_DATA = model("(float[1,3,8,8] x, float[4] d) => (float[?,?,?,?] y) { s = Relu (d) y = Resize (x, , s) }")
AREA = model(f'(float[1,3,8,8] x) => (float[?,?,?,?] y) {BY_2} {{ y = Resize <mode = "area"> (x, , s) }}')
SOFTMAX = model(
    f"(float[2,3,8,8] x) => (float[?,?,?,?] y) {BY_2} {{ a = Softmax <axis = 1> (x) y = Resize (a, s) }}", 10
)
WEIGHTS = model("(float[1,3,8,8] x) => (float[?,?] y) { f = Flatten (x) y = Gemm (f, w) }")
WEIGHTS.graph.initializer.append(numpy_helper.from_array(np.ones((192, 2), np.float32), "w"))
# Each call with a model of which it can do nothing, and what stands in the way.
REFUSED = {
    "promote_scales": (UNET, {}, "breaks the model at '/Concat'"),
    "freeze_scales": (FED, {}, "follow the input 's', which has no value"),
    "legalize": (OF_DATA, {"target": "tensorrt-8.0"}, "scales"),
    "trt_legacy": (OF_DATA, {}, "scales"),
    "repair": (AREA, {}, "area"),
    "set_interpolation": (SRCNN, {"form": "repeat"}, "the mode is cubic"),
    "input_size": (WEIGHTS, {"size": (16, 16)}, "its weights fix 192"),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_a_call_of_which_nothing_could_be_done_raises_with_its_result(name, verify):
    given, options, why = REFUSED[name]
    call = getattr(resizefix, name)
    with pytest.raises(resizefix.RefusedError, match=why) as caught:
        call(given, verify=verify, **options)
    result = call(given, verify=verify, on_refusal="return", **options)
    for refused in (caught.value.result, result):
        assert not refused
        assert refused.outcome is ModelOutcome.REFUSED
        assert any(outcome.status is Status.REFUSED for outcome in refused.outcomes)
    assert result.outcomes == caught.value.result.outcomes
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("limits", [{}, {"timeout": 60}])
def test_an_opset_that_the_model_cannot_have_refuses_every_node(limits):
    with pytest.raises(resizefix.RefusedError, match="Softmax node 'a' cannot be raised") as caught:
        resizefix.legalize(SOFTMAX, target="onnxruntime", opset=13, **limits)
    result = resizefix.legalize(SOFTMAX, target="onnxruntime", opset=13, on_refusal="return", **limits)
    for refused in (caught.value.result, result):
        assert [(one.status, one.reason) for one in refused.outcomes] == [(Status.REFUSED, str(caught.value))]
        assert refused.model == SOFTMAX


def test_a_model_that_needs_nothing_is_returned_and_is_not_called_changed():
    again = resizefix.freeze_scales(SRCNN)
    assert not again
    assert again.outcome is ModelOutcome.ALREADY
    with pytest.raises(resizefix.UsageError, match="on_refusal"):
        resizefix.freeze_scales(SRCNN, on_refusal="ignore")


def test_a_result_that_a_verification_refutes_has_failed():
    failed = Result(None, (), (), Verification(VerificationStatus.FAILED, "why"))
    assert (failed.outcome, bool(failed)) == (ModelOutcome.FAILED, False)
    assert Result(None, (), (), skipped("library.no-verify"), is_other_model=True).outcome is ModelOutcome.CHANGED


CALLS = {
    "promote_scales": {"allow_coupled": True},
    "freeze_scales": {},
    "trt_legacy": {},
    "legalize": {"target": "tensorrt-5.0"},
    "repair": {},
    "set_interpolation": {"mode": "nearest"},
    "input_size": {},
}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.onnx")), ids=lambda path: path.stem)
@pytest.mark.parametrize("name", CALLS)
def test_a_result_is_true_exactly_where_its_model_is_another(name, path):
    given = onnx.load(path)
    try:
        result = getattr(resizefix, name)(given, verify=False, on_refusal="return", **CALLS[name])
    except resizefix.UsageError:  # as an input that is no image
        return
    assert bool(result) == (result.model != given)
    if result.outcome is ModelOutcome.REFUSED:
        with pytest.raises(resizefix.RefusedError):
            getattr(resizefix, name)(given, verify=False, **CALLS[name])
