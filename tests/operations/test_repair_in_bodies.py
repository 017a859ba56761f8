"""Faults in functions, in bodies of If and Loop, and in what a function gets as an argument."""

import numpy as np
import onnx
import pytest
from onnx_text import model
from ort_runs import opened
from resize_texts import BY_2, refusal, resizing, statuses
from test_repair import shape_of

import resizefix
from resizefix.outcome import Status


@pytest.mark.parametrize(("opset", "roi"), [(11, "r"), (13, ""), (18, "")])
@pytest.mark.parametrize("kind", ["int64", "double"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_resize_in_a_function_is_repaired_and_computes_what_it_did_in_the_main_graph(opset, roi, kind, nested):
    resize = f'Resize <mode = "linear"> (a, {roi}, s)'
    constants = f"s = Constant <value = {kind}[4] {{1, 1, 2, 2}}> () r = Constant <value = float[0] {{}}> ()"
    body = f"{constants} b = {resize}"
    if nested:
        then, other = (f"{name} () => (float[p,q,u,v] {name}) {{ {constants} {name} = {resize} }}" for name in "te")
        body = f"c = Constant <value = bool {{1}}> () b = If (c) <then_branch = {then}, else_branch = {other}>"
    function = f'<domain: "d", opset_import: ["" : {opset}]> F (a) => (b) {{ {body} }}'
    broken = model(f"(float[1,3,8,8] x) => (float[h, i, j, k] y) {{ y = d.F (x) }} {function}", opset, "d")
    result = resizefix.repair(broken)
    assert result.verification.passed
    plain = resizing(f"y = {resize}", f"{BY_2}, float[0] r = {{}}", "float[1,3,8,8] a", opset=opset)
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    (wanted,) = opened(plain).run(None, {"a": image})
    (found,) = opened(result.model).run(None, {"x": image})
    assert np.array_equal(wanted, found)


def in_a_function(scales: str) -> onnx.ModelProto:
    return model(
        f"""(float[1,3,8,8] x) => (float[a,b,c,e] y) {{ y = d.F (x) }} <domain: "d", opset_import: ["" : 13]>
        F (h) => (z) {{ s = Constant <value = {scales}> () z = Resize (h, "", s) }}""",
        13,
        "d",
    )


def test_too_few_scales_in_a_function_are_named():
    result = resizefix.repair(in_a_function("float[2] {2, 2}"), on_refusal="return")
    assert "it has 2 scales, and its input has 4 axes" in refusal(result)


COUNTS = {
    "a sum of constants": (18, "float[1,3,8,8] a, float[2] f", "s = Add (f, f) b = Resize (a, , s)"),
    "sizes of which one is missing": (18, "float[1,3,n,m] a", "t = Shape <start = 1> (a) b = Resize (a, , , t)"),
    "an input": (13, "float[1,3,8,8] a, float[5] s", "b = Resize (a, , s)"),
    "an argument": (13, "float[1,3,8,8] a, float[2] s", "b = d.F (a, s)"),
    "of some axes": (18, "float[1,3,8,8] a, float[3] s", "b = Resize <axes = [2, 3]> (a, , s)"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_scales_and_sizes_that_are_computed_are_counted(name):
    opset, inputs, nodes = COUNTS[name]
    function = f'<domain: "d", opset_import: ["" : {opset}]> F (x, s) => (y) {{ y = Resize (x, , s) }}'
    broken = model(f"({inputs}) => (float[h,i,j,k] b) {{ {nodes} }} {function if 'd.F' in nodes else ''}", opset, "d")
    result = resizefix.repair(broken, on_refusal="return")
    assert result.outcomes[0].fault == "short-extent"
    assert "write one number for each axis" in refusal(result)


UNCOUNTED = {
    "how many axes its input has is not known, so that its scales were not counted": (
        "float[1,3,8,8] a, float[4] s",
        "c = d.F (a, s) e = Flatten (a) b = d.F (e, s)",
    ),
    "how many scales it reads is known only when the model runs": (
        "float[1,3,8,8] a, float[n] s",
        "b = Resize (a, , s)",
    ),
    "how many sizes it reads is known only when the model runs": (
        "float[1,3,8,8] a, int64[n] s",
        "b = Resize (a, , , s)",
    ),
}


@pytest.mark.parametrize("unseen", UNCOUNTED)
def test_what_cannot_be_counted_is_said(unseen):
    inputs, nodes = UNCOUNTED[unseen]
    function = '<domain: "d", opset_import: ["" : 13]> F (x, s) => (y) { y = Resize (x, , s) }'
    sound = model(f"({inputs}) => (float b) {{ {nodes} }} {function if 'd.F' in nodes else ''}", 13, "d")
    (outcome,) = resizefix.repair(sound, on_refusal="return").outcomes
    assert (outcome.status, outcome.reason) == (Status.UNCHANGED, f"it has no known fault; {unseen}")


def test_scales_nearly_one_in_a_function_are_one():
    made = resizefix.repair(in_a_function("float[4] {1.0, 0.9999999, 2.0, 2.0}"))
    assert made.outcomes[0].fault == "unit-scale"
    assert shape_of(made.model) == (1, 3, 16, 16)


def by_argument(element: str) -> onnx.ModelProto:
    """A function that resizes by an argument, which the one call gives from an initializer of this type."""
    return model(
        f"""(float[1,1,4,4] x) => (float[a,b,c,d] z) <{element}[4] s = {{1, 1, 2, 2}}> {{ [call] z = l.f (x, s) }}
        <domain: "l", opset_import: ["" : 13]> f (x, s) => (y) {{ [R] y = Resize <mode = "nearest"> (x, , s) }}""",
        13,
        "l",
    )


def test_float16_scales_that_are_an_argument_are_rejected_and_repaired():
    broken = by_argument("float16")
    verdict = resizefix.check(broken, target="onnxruntime")
    assert [violation.rule for violation in verdict.violations] == ["extent-type"]
    result = resizefix.repair(broken)
    assert statuses(result) == [Status.CHANGED]
    assert result.verification.passed
    assert resizefix.check(result.model, target="onnxruntime").accepted


def test_float32_scales_that_are_an_argument_are_right_as_they_are():
    assert resizefix.check(by_argument("float"), target="onnxruntime").accepted
    assert not resizefix.repair(by_argument("float")).changed


def test_a_resize_of_two_inputs_is_refused_with_both_readings():
    """onnxscript writes one of today so, sclblonnx leaves one of opset 10: linear, they compute something else."""
    broken = resizing('[R] y = Resize <mode = "linear"> (x, s)', BY_2, "float[1,1,4,4] x", "float[a,b,c,d] y")
    reason = refusal(resizefix.repair(broken, on_refusal="return"))
    assert "as a node of opset 10 it samples asymmetrically, as one of opset 13 at half_pixel" in reason
    assert refusal(resizefix.promote_scales(broken, verify=False, on_refusal="return"))


def test_a_repaired_body_keeps_its_shapes_and_has_nothing_left_to_repair():
    """No inference inside of a body sees scales that stand outside: the stored batch stays known all the same."""
    broken = model(
        """(bool c, float[2,1,4,4] x) => (float[2,1,12,12] z) <float[4] s = {1.0000001, 1, 2, 2}> {
          z = If (c) <then_branch = t () => (float[2,1,12,12] y) <float[2,1,8,8] h, int64[4] n = {2, 1, 12, 12}> {
            h = Resize (x, "", s) y = Resize (h, "", "", n) },
          else_branch = e () => (float[2,1,12,12] k) <int64[4] m = {2, 1, 12, 12}> { k = Resize (x, "", "", m) }> }"""
    )
    result = resizefix.repair(broken)
    assert result.outcomes[0].fault == "unit-scale"
    (h,) = (value for value in result.model.graph.node[0].attribute[0].g.value_info if value.name == "h")
    assert [dim.dim_value for dim in h.type.tensor_type.shape.dim] == [2, 1, 8, 8]
    assert not resizefix.repair(result.model).changed
