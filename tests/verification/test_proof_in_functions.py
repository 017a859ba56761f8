"""Nodes of local functions are run alone with what the calls of the function pass."""

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import pytest

from resizefix.library.promote_scales import promote_scales
from resizefix.library.result import VerificationFailedError


def model(x: str, call: str, node: str, constants: str = "float[1] s = {2}") -> onnx.ModelProto:
    """The operator after the call is registered nowhere, so that the model cannot be run as a whole."""
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "local" : 1, "vendor" : 1]> '
        f"g ({x}) => (float z) <{constants}> {{ {call} z = vendor.Op (y) }} "
        f'<domain: "local", opset_import: ["" : 18]> Up (a, b) => (c) {{ [up] c = {node} }}'
    )


def proven(made: onnx.ModelProto) -> None:
    result = promote_scales(made)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed"]
    assert result.verification.reason.startswith("only around each changed node")
    assert len({run.values["up_scales"] for run in result.verification.runs}) == 3
    assert all(run.bitwise for run in result.verification.runs)


def test_an_argument_that_is_an_initializer_is_one_in_the_node_alone():
    proven(model("float[4] x", "y = local.Up (x, s)", "Resize (a, , b)"))


def test_an_argument_that_is_a_constant_node_is_one_in_the_node_alone():
    call = "t = Constant <value_floats = [2.0]> () y = local.Up (x, t)"
    proven(model("float[4] x", call, "Resize (a, , b)"))


def test_the_tensor_alone_has_the_axes_that_the_node_names():
    node = 'Resize <axes = [3, 2], mode = "nearest"> (a, , b)'
    proven(model("float[4] x", "t = vendor.Op (x) y = local.Up (t, s)", node, "float[2] s = {2, 1}"))


def test_the_tensor_alone_has_as_many_axes_as_there_are_scales_computed_in_the_function():
    node = "Resize (a, , b)"
    made = model("float[1,2,3,4,5] x", "v = Identity (x) w = local.Up (v, s) y = local.Up (x, s)", node)
    function = made.functions[0]
    scales = onnx.numpy_helper.from_array(np.array([0.5, 1.5, 1, 0.75, 1]))
    function.node.insert(0, onnx.helper.make_node("Constant", [], ["d"], value=scales))
    function.node.insert(1, onnx.helper.make_node("Cast", ["d"], ["e"], to=1))
    function.node[2].input[2] = "e"
    proven(made)


def test_the_tensor_alone_is_fed_alike_where_the_promoted_model_knows_more_of_its_size():
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "vendor" : 1]> g (float[2,3,2,4] x, float[4] f) => (float z) '
        "<float[4] c = {2, 3, 1, 3}, float[4] s = {1, 1, 2.5, 2.5}, float[p,q,r,t] w> { "
        "a = Resize (x, , f) d = Shape (x) e = Cast <to = 1> (d) k = Div (c, e) b = Resize (x, , k) "
        'w = Add (a, b) [up] y = Resize <mode = "linear"> (w, , s) z = vendor.Op (y) }'
    )
    verification = promote_scales(made).verification
    assert verification.passed
    assert all(run.bitwise for run in verification.runs)


def test_sizes_that_the_call_computes_from_what_is_not_there_alone_are_said_to_follow_it():
    made = model("float[1,1,4,4] x", "d = Shape (x) y = local.Up (x, d)", "Resize (a, , , b)")
    with pytest.raises(VerificationFailedError, match=r"neither the model nor 'up' alone \(its scales follow 'b'\)"):
        promote_scales(made, form="sizes")
