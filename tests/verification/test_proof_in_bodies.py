"""Sites in bodies of a model that onnxruntime cannot run as a whole are proven alone, out of their bodies."""

import onnx
import onnx.parser
import pytest

from resizefix.library.promote_scales import promote_scales
from resizefix.library.result import VerificationFailedError

RESIZE = 'Resize <mode = "linear"> (x, , s)'


def model(else_output: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "vendor" : 1]> g (float[1,1,4,4] x, bool c) => (float[?,?,?,?] z) '
        "<float[4] s = {1, 1, 2, 2}> { "
        f"y = If (c) <then_branch = t () => (float[?,?,?,?] y1) {{ y1 = {RESIZE} }}, "
        f"else_branch = e () => (float[?,?,?,?] {else_output}) {{ {else_output} = {RESIZE} }}> "
        "z = vendor.Op (y) }"
    )


@pytest.mark.parametrize("shared", [False, True])
def test_each_site_is_cut_out_of_its_body_and_proven(shared):
    result = promote_scales(model("y2"), shared=shared)
    assert len(result.inputs) == (1 if shared else 2)
    assert result.verification.passed
    assert result.verification.reason.startswith("only around each changed node")
    assert all(run.bitwise for run in result.verification.runs)


def test_two_sites_of_one_name_are_not_proven_side_by_side():
    assert promote_scales(model("y1")).verification.passed
    with pytest.raises(VerificationFailedError, match="drives nodes in different bodies that write the same name"):
        promote_scales(model("y1"), shared=True)
