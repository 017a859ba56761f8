"""Without verification it is not seen that branches give two sizes where the file leaves them open: that is refused."""

import onnx
import onnx.parser
import pytest

import resizefix

FLOOR = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'


def model(sizes: str, other: float) -> onnx.ModelProto:
    """An If whose branches resize the input by 2 and by another scale."""

    def branch(name: str, scale: float) -> str:
        return f"""{name} () => (float[1,1,u_{name},v_{name}] {name}) <float[4] s_{name} = {{1, 1, {scale}, {scale}}}>
        {{ [R_{name}] {name} = Resize <{FLOOR}> (x, , s_{name}) }}"""

    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (bool c, float[{sizes}] x) => (float[1,1,u,v] y)
        {{ [choice] y = If (c) <then_branch = {branch("a", 2.0)}, else_branch = {branch("b", other)}> }}"""
    )


@pytest.mark.parametrize("other", [2.0, 3.0])
def test_open_sizes_are_refused_without_verification(other):
    result = resizefix.trt_legacy(model("1,1,h,w", other), verify=False, on_refusal="return")
    assert not result.changed
    assert "If-1 needs one shape" in result.blockers[0].reason
    assert result.blockers[0].node == "choice"


def test_known_and_equal_sizes_are_converted_without_verification():
    assert resizefix.trt_legacy(model("1,1,4,4", 2.0), verify=False).changed


def test_with_verification_a_run_decides():
    assert resizefix.trt_legacy(model("1,1,h,w", 2.0)).verification.passed
