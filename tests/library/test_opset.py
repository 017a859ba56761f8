"""`resizefix.opset`: any opset, exactly or refused with the operator; what need not change stays byte for byte."""

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from child_python import ended
from onnx_text import model as model_of
from ort_runs import run

import resizefix
from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.scopes import default_opset
from resizefix.library.result import VerificationFailedError
from resizefix.opsets.newest import NEWEST_RAISED

FIXTURES = Path(__file__).parents[2] / "fixtures"
X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
IMAGE = "(float[1,3,8,8] x) => (float[a,b,c,d] y)"
RESIZE = 'Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
UNSQUEEZED = (
    f"{IMAGE} <float[4] s = {{1, 1, 2, 2}}, int64[1] one = {{1}}> "
    f'{{ u = Unsqueeze (x, one) v = Squeeze (u, one) w = Clip (v) y = {RESIZE} (w, "", s) }}'
)
FUNCTION = '<ir_version: 8, opset_import: ["": 18, "l": 1]> g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = l.F (x) } '


def opset_of(model) -> int:
    return default_opset(getattr(model, "proto", model).opset_import, fallback=1)


def in_function(nodes: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'{FUNCTION} <domain: "l", opset_import: ["": 18]> F (a) => (b) {{ {nodes} }}')


@pytest.mark.parametrize("opset", [9, 10, 11, 12, 13, 15, 17, 18, 21, NEWEST_RAISED])
@pytest.mark.parametrize("own", [13, 17, 18, 21])
def test_a_model_goes_to_any_opset_and_computes_every_bit(own, opset):
    before = model_of(UNSQUEEZED, own)
    after = resizefix.opset(before, opset=opset).model
    assert opset_of(after) == opset
    onnx.checker.check_model(after, full_check=True)
    if opset <= 21:  # onnxruntime has its kernels
        (expected,), (found,) = run(before, {"x": X}), run(after, {"x": X})
        assert expected.tobytes() == found.tobytes()


def test_nothing_but_what_the_opset_says_otherwise_is_touched():
    before = model_of(UNSQUEEZED, 18)
    before.graph.node[2].doc_string = "kept"
    after = resizefix.opset(before, opset=13).model
    assert list(after.graph.node) == list(before.graph.node)
    assert after.graph.initializer == before.graph.initializer
    after = resizefix.opset(before, opset=12).model
    changed = [new.op_type for new, old in zip(after.graph.node, before.graph.node, strict=True) if new != old]
    assert changed == ["Unsqueeze", "Squeeze", "Resize"]


def test_the_opset_that_it_has_is_nothing_to_do():
    result = resizefix.opset(model_of(UNSQUEEZED, 13), opset=13)
    assert not result
    assert result.outcome.value == "already"


@pytest.mark.parametrize(
    ("nodes", "opset", "told"),
    [
        ("y = Softmax <axis = 1> (x) z, i = TopK (x, k)", 9, "TopK"),
        ("y = GridSample (x, g)", 15, "GridSample"),
        ("y = Gelu (x)", 17, "Gelu"),
        ("y = LayerNormalization (x, w)", 16, "LayerNormalization"),
        ("y = AveragePool <kernel_shape = [2, 2]> (x)", 18, "AveragePool"),
    ],
    ids=["TopK", "GridSample", "Gelu", "LayerNormalization", "AveragePool"],
)
def test_what_has_no_exact_form_is_refused_with_the_operator(nodes, opset, told):
    inputs = "(float[1,3,8,8] x, int64[1] k, float[1,2,2,2] g) => (float[a,b,c,d] y)"
    before = model_of(f"{inputs} <float[8] w = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{ {nodes} }}", 20)
    with pytest.raises(RefusedError) as refused:
        resizefix.opset(before, opset=opset)
    blockers = refused.value.result.blockers
    assert [blocker.op_type for blocker in blockers] == [told]
    assert all(blocker.reason and blocker.fix for blocker in blockers)


@pytest.mark.parametrize(("own", "opset"), [(20, 17), (20, 15), (18, 19)])
def test_operators_that_round_otherwise_are_allowed_with_the_difference(own, opset):
    nodes = {
        17: "y = Gelu (x)", 15: "y = LayerNormalization (x, w)", 19: "y = AveragePool <kernel_shape = [3, 3]> (x)",
    }[opset]  # fmt: skip
    before = model_of(f"{IMAGE} <float[8] w = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{ {nodes} }}", own)
    with pytest.raises(RefusedError):
        resizefix.opset(before, opset=opset)
    result = resizefix.opset(before, opset=opset, allow_inexact=True)
    assert opset_of(result.model) == opset
    assert result.verification.passed
    np.testing.assert_allclose(run(before, {"x": X})[0], run(result.model, {"x": X})[0], rtol=0, atol=1e-5)


def test_functions_bodies_and_other_domains_stay_what_they_are():
    before = in_function("i = Constant <value_ints = [1]> () u = Unsqueeze (a, i) b = Squeeze (u, i)")
    after = resizefix.opset(before, opset=11).model
    assert [node.op_type for node in after.functions[0].node] == ["Constant", "Unsqueeze", "Squeeze"]
    assert [after.opset_import[0].version, after.functions[0].opset_import[0].version] == [11, 11]
    assert after.graph.node[0] == before.graph.node[0]
    (expected,), (found,) = run(before, {"x": X}), run(after, {"x": X})
    assert expected.tobytes() == found.tobytes()

    squeezed = "t () => (float[a,b,d,e] y1) { u = Unsqueeze (x, one) y1 = Squeeze (u, one) }"
    plain = "f () => (float[a,b,d,e] y2) { y2 = Relu (x) }"
    body = f"y = If (c) <then_branch = {squeezed}, else_branch = {plain}>"
    body = f"(float[1,3,8,8] x, bool c) => (float[a,b,d,e] y) <int64[1] one = {{1}}> {{ {body} }}"
    held = model_of(body, 18)
    after = resizefix.opset(held, opset=11).model
    for chosen in (True, False):
        feeds = {"x": X, "c": np.array(chosen)}
        assert run(held, feeds)[0].tobytes() == run(after, feeds)[0].tobytes()

    fused = model_of(f"{IMAGE} {{ z = com.microsoft.FusedMatMul (x, x) y = Relu (z) }}", 18)
    fused.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    assert resizefix.opset(fused, opset=12).model.graph.node[0] == fused.graph.node[0]


def test_a_function_whose_types_are_not_known_is_refused_with_the_option_that_helps():
    before = in_function("b = Clip (a)")
    lower = in_function("i = Constant <value_ints = [-1]> () u = Unsqueeze (a, i) b = Squeeze (u, i)")
    assert resizefix.opset(before, opset=13)
    with pytest.raises(RefusedError, match="inline") as refused:
        resizefix.opset(lower, opset=10)
    assert "F/" in refused.value.result.blockers[0].node
    result = resizefix.opset(lower, opset=10, inline=True)
    assert not result.model.functions
    assert run(lower, {"x": X})[0].tobytes() == run(result.model, {"x": X})[0].tobytes()


def test_a_wrong_result_is_not_written(monkeypatch):
    from resizefix.opsets import table

    row = table.DOWN["Unsqueeze"]
    wrong = dict(row.changes) | {13: lambda site: site.add("Neg", site.data, into=site.output())}
    monkeypatch.setitem(table.DOWN, "Unsqueeze", row._replace(changes=wrong))
    nodes = "u = Unsqueeze (x, one) r = Relu (u) y = Reshape (r, t)"
    before = model_of(f"{IMAGE} <int64[1] one = {{1}}, int64[4] t = {{1, 3, 8, 8}}> {{ {nodes} }}", 13)
    with pytest.raises(VerificationFailedError):
        resizefix.opset(before, opset=12)


@pytest.mark.parametrize("opset", [6, NEWEST_RAISED + 1, None, "13", 13.5])
def test_an_opset_that_there_is_not_is_a_usage_error(opset):
    with pytest.raises(UsageError):
        resizefix.opset(model_of(UNSQUEEZED, 13), opset=opset)


def test_a_fixture_keeps_its_weights_in_place(tmp_path):
    result = resizefix.opset(FIXTURES / "srcnn_x3_opset11.onnx", opset=18)
    result.model.save(tmp_path / "later.onnx")
    back = resizefix.opset(tmp_path / "later.onnx", opset=11)
    weights = [tensor.SerializeToString() for tensor in onnx.load(FIXTURES / "srcnn_x3_opset11.onnx").graph.initializer]
    back.model.save(tmp_path / "back.onnx")
    found = {tensor.SerializeToString() for tensor in onnx.load(tmp_path / "back.onnx").graph.initializer}
    assert {one for one in weights if len(one) > 100} <= found


def test_the_answer_does_not_depend_on_the_seed_of_hashes(tmp_path):
    model, out = FIXTURES / "scripted_loop_opset11.onnx", tmp_path / "out.onnx"
    command = ["-m", "resizefix", "opset", model, out, 10, "--allow-inexact", "--json", "--force"]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in "123"]
    answers = [json.loads(ended(*command, env=seed, timeout=120).stdout) for seed in seeds]
    reasons = [answer["verification"]["reason"] for answer in answers]
    assert reasons[0].count("cannot be run alone") > 1
    assert reasons == reasons[:1] * 3
    assert [answer["verification"]["runs"] for answer in answers[1:]] == [answers[0]["verification"]["runs"]] * 2


AXES = {
    "constant sizes": ("float[b,3,h,w] x", "int64[2] s = {13, 20}", "y = Resize <AXES> (x, , , s)"),
    "computed scales": (
        "float[b,3,h,w] x",
        "float[2] wanted = {13, 20}",
        "q = Shape <start = 2> (x) f = Cast <to = 1> (q) s = Div (wanted, f) y = Resize <AXES> (x, , s)",
    ),
    "another order": ("float[b,3,h,w] x", "int64[2] s = {20, 13}", "y = Resize <axes = [-1, 2]> (x, , , s)"),
}


@pytest.mark.parametrize("opset", [17, 13, 11])
@pytest.mark.parametrize("kind", AXES)
def test_axes_before_opset_18_become_an_operand_for_all_axes(kind, opset):
    """What is not known before the run is written beside the sizes, or scales of 1, of all other axes."""
    inputs, constants, nodes = AXES[kind]
    text = f"g ({inputs}) => (float[N,C,H,W] y) <{constants}> {{ {nodes} }}".replace("AXES", "axes = [2, 3]")
    before = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    result = resizefix.opset(before, opset=opset)
    assert result.outcomes[0].exact
    for shape in ((2, 3, 5, 7), (1, 3, 26, 33)):
        x = np.random.default_rng(0).random(shape, np.float32)
        one, other = (run(each, {"x": x})[0] for each in (before, result.model))
        assert one.tobytes() == other.tobytes()
