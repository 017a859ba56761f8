"""Files of which onnxruntime's shape inference says other sizes than their nodes compute: what is computed counts."""

import numpy as np
import pytest
from onnx_text import document, model
from ort_runs import run

from resizefix.library.promote_scales import promote_scales
from resizefix.verification.verification import Verification
from resizefix.verification.verify import verify

# 1.8 makes 5 into 9 in the kernel, and into 8 in the inference once the folded scales are known to it.
DISPUTED = """(float[1,1,5,5] x, float[1,1,9,9] skip) => (float[?,?,?,?] z)
    <float[2] one = {1, 1}, float[2] s = {1.8, 1.8}> {
        all = Concat <axis = 0> (one, s)
        y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "%s"> (x, , all)
        z = Add (y, skip)
    }"""
# The else branch is not taken; with a constant scale of 3 its size is known, and is not that of the skip.
NOT_TAKEN = """(float[1,1,4] x, bool c, float[1,1,8] skip) => (float[?,?,?] z) {
        y = If (c) <
            then_branch = t () => (float y1) <double[3] d = {1, 1, 2}> {
                s1 = Cast <to = 1> (d) y1 = Upsample <mode = "linear"> (x, s1) },
            else_branch = e () => (float y2) <float[3] s = {1, 1, 2}> {
                [up] y2 = Upsample <mode = "linear"> (x, s) }>
        z = Add (y, skip)
    }"""


def verified(before: str, after: str) -> Verification:
    return verify(document(before), document(after))


def test_an_original_that_only_loads_without_optimisation_is_compared_there_and_it_is_said():
    found = verified(DISPUTED % "floor", DISPUTED % "floor")
    assert found.passed
    assert [(run.optimized, run.bitwise) for run in found.runs] == [(False, True)]
    assert found.reason == (
        "not compared at the default optimisation level, at which onnxruntime does not run the model before: "
        "Incompatible dimensions"
    )


def test_another_computation_differs_from_it_all_the_same():
    assert not verified(DISPUTED % "floor", DISPUTED % "ceil").passed


def test_its_promotion_is_proven_without_optimisation():
    found = promote_scales(model(DISPUTED % "floor"), allow_coupled=True).verification
    assert found.passed
    assert not any(run.optimized for run in found.runs)
    assert "not compared at the default optimisation level" in found.reason


def test_a_scale_that_shape_inference_refuses_as_a_constant_is_compared_around_the_node():
    result = promote_scales(model(NOT_TAKEN, 9), node=["up"])
    assert result.verification.passed
    tried = [run.values["up_scales"] for run in result.verification.runs if not run.optimized and run.bitwise]
    assert len(set(tried)) == 3
    assert "onnxruntime does not load the original with these scales" in result.verification.reason


# Two sizes by one symbol; a buffer of the one is taken for the other where onnxruntime plans the reuse of buffers.
REUSED = """(float[n] x) => (float[?] z) <float[1] t = {2}%s> {
    a = Abs (x) b = Neg (a) y = Resize <mode = "nearest"> (b, , t) c = Abs (y) d = Neg (c) z = Sqrt (d) }"""
WRONG = ", float[p] a, float[p] b, float[p] y, float[p] c, float[p] d"


def test_a_proof_runs_the_default_level_as_a_usual_session_does():
    with pytest.raises(Exception, match="Shape mismatch attempting to re-use buffer"):
        run(model(REUSED % WRONG), {"x": np.ones(6, np.float32)}, optimized=True)
    assert verified(REUSED % "", REUSED % "").passed
    found = verified(REUSED % "", REUSED % WRONG)
    assert not found.passed
    assert "at the default optimisation level cannot be run at node" in found.reason
