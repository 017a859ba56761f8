"""Faults in functions and in bodies of If and Loop."""

import numpy as np
import onnx
import onnx.parser
import pytest
from ort_runs import opened

import resizefix
from resizefix.outcome import Status


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("kind", ["int64", "double"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_resize_in_a_function_is_repaired_and_computes_what_it_did_in_the_main_graph(opset, kind, nested):
    roi = "r" if opset < 13 else '""'
    resize = f'Resize <mode = "linear"> (a, {roi}, s)'
    constants = f"s = Constant <value = {kind}[4] {{1, 1, 2, 2}}> () r = Constant <value = float[0] {{}}> ()"
    body = f"{constants} b = {resize}"
    if nested:
        branch = f"{constants} d = {resize}"
        body = (
            "c = Constant <value = bool {1}> () b = If (c) <"
            + ", ".join(
                f"{name} = {name[0]} () => (float[p, q, u, v] {name[0]}) {{ {branch.replace('d =', f'{name[0]} =')} }}"
                for name in ("then_branch", "else_branch")
            )
            + ">"
        )
    imports = f'"" : {opset}, "d" : 1'
    broken = onnx.parser.parse_model(
        f"<ir_version: 8, opset_import: [{imports}]> g (float[1,3,8,8] x) => (float[h, i, j, k] y) {{ y = d.F (x) }}"
        f'<domain: "d", opset_import: ["" : {opset}]> F (a) => (b) {{ {body} }}'
    )
    result = resizefix.repair(broken)
    assert result.verification.passed
    plain = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,3,8,8] a) => (float[h, i, j, k] y)'
        f"<float[4] s = {{1, 1, 2, 2}}, float[0] r = {{}}> {{ y = {resize} }}"
    )
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    (wanted,) = opened(plain).run(None, {"a": image})
    (found,) = opened(result.model).run(None, {"x": image})
    assert np.array_equal(wanted, found)


def test_too_few_scales_in_a_function_are_named():
    broken = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "d" : 1]> g (float[1,3,8,8] x) => (float[a,b,c,e] y) { y = d.F (x) }'
        '<domain: "d", opset_import: ["" : 13]> F (h) => (z) {'
        ' s = Constant <value = float[2] {2, 2}> () z = Resize (h, "", s) }'
    )
    (outcome,) = resizefix.repair(broken).outcomes
    assert outcome.status is Status.REFUSED
    assert "it has 2 scales, and its input has 4 axes" in (outcome.reason or "")


def test_scales_nearly_one_in_a_function_are_one():
    broken = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13, "d" : 1]> g (float[1,3,8,8] x) => (float[a,b,c,e] y) { y = d.F (x) }'
        '<domain: "d", opset_import: ["" : 13]> F (h) => (z) {'
        ' s = Constant <value = float[4] {1.0, 0.9999999, 2.0, 2.0}> () z = Resize (h, "", s) }'
    )
    made = resizefix.repair(broken)
    assert made.outcomes[0].fault == "unit-scale"
    (output,) = opened(made.model, optimized=True).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 16, 16)
