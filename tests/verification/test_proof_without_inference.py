"""Originals whose constants contradict what onnxruntime's shape inference says of them, with other scales or as they
are: what their nodes compute counts."""

import onnx.parser

from resizefix.document.document import Document
from resizefix.library.promote_scales import promote_scales
from resizefix.verification.verification import Verification
from resizefix.verification.verify import verify

# 1.8 makes 5 into 9 in the kernel, and into 8 in the inference once the folded scales are known to it.
DISPUTED = """<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,5,5] x, float[1,1,9,9] skip) => (float[?,?,?,?] z)
    <float[2] one = {1, 1}, float[2] s = {1.8, 1.8}> {
        all = Concat <axis = 0> (one, s)
        y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "%s"> (x, , all)
        z = Add (y, skip)
    }"""
# The else branch is not taken; with a constant scale of 3 its size is known, and is not that of the skip.
NOT_TAKEN = """<ir_version: 8, opset_import: ["" : 9]> g (float[1,1,4] x, bool c, float[1,1,8] skip) => (float[?,?,?] z)
    {
        y = If (c) <
            then_branch = t () => (float y1) <double[3] d = {1, 1, 2}> {
                s1 = Cast <to = 1> (d) y1 = Upsample <mode = "linear"> (x, s1) },
            else_branch = e () => (float y2) <float[3] s = {1, 1, 2}> {
                [up] y2 = Upsample <mode = "linear"> (x, s) }>
        z = Add (y, skip)
    }"""


def verified(before: str, after: str) -> Verification:
    return verify(*(Document.from_proto(onnx.parser.parse_model(text)) for text in (before, after)))


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
    found = promote_scales(onnx.parser.parse_model(DISPUTED % "floor"), allow_coupled=True).verification
    assert found.passed
    assert not any(run.optimized for run in found.runs)
    assert "not compared at the default optimisation level" in found.reason


def test_a_scale_that_shape_inference_refuses_as_a_constant_is_compared_around_the_node():
    result = promote_scales(onnx.parser.parse_model(NOT_TAKEN), node=["up"])
    assert result.verification.passed
    tried = [run.values["up_scales"] for run in result.verification.runs if not run.optimized and run.bitwise]
    assert len(set(tried)) == 3
    assert "onnxruntime does not load the original with these scales" in result.verification.reason
