"""Local functions taken apart: by legalize where the target takes none, else by --inline; bit for bit, or nothing."""

import numpy as np
import onnx
import pytest
from ort_runs import run

import resizefix
from resizefix.diagnostics import RefusedError
from resizefix.library.advice import call_named
from resizefix.library.options import CHANGING, options_of
from resizefix.library.result import VerificationFailedError
from resizefix.opsets import lowering

X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
UP = 'b = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, "", s)'
SCALES = "s = Constant <value = float[4] {1, 1, 2, 2}> ()"
IMPORTS = '<ir_version: 8, opset_import: ["": 13, "l": 1]>'
INSIDE = f"{IMPORTS} g (float[1,3,8,8] x) => (float[1,3,16,16] y) {{ r = Relu (x) y = l.Up (r) }}"
INSIDE += f' <domain: "l", opset_import: ["": 13]> Up (a) => (b) {{ {SCALES} {UP} }}'
BESIDE = f"{IMPORTS} g (float[1,3,8,8] a) => (float[1,3,16,16] y) {{ {SCALES} {UP} y = l.F (b) }}"
BESIDE += ' <domain: "l", opset_import: ["": 13]> F (a) => (b) { b = Relu (a) }'
MODELS = {"inside": onnx.parser.parse_model(INSIDE), "beside": onnx.parser.parse_model(BESIDE)}
REFUSE = ("openvino", "opencv-4", "opencv-5", "tract", "mnn", "ncnn", "tvm")


@pytest.mark.parametrize("target", REFUSE)
@pytest.mark.parametrize("kind", MODELS)
def test_a_target_that_takes_no_functions_is_not_said_to_accept_one(kind, target):
    verdict = resizefix.check(MODELS[kind], target=target)
    assert not verdict.accepted
    assert "functions-are-inlined" in {violation.rule for violation in verdict.violations}


@pytest.mark.parametrize("target", REFUSE)
@pytest.mark.parametrize("kind", MODELS)
def test_legalize_inlines_for_it_bit_for_bit_and_says_so(kind, target):
    before = MODELS[kind]
    result = resizefix.legalize(before, target=target, live=False)
    assert not result.model.functions
    assert result.verification.passed
    assert "the local functions were inlined" in (result.verification.reason or "")
    assert resizefix.check(result.model, target=target).accepted
    feed = before.graph.input[0].name
    assert run(before, {feed: X})[0].tobytes() == run(result.model, {feed: X})[0].tobytes()


@pytest.mark.parametrize("target", ["onnxruntime", "tensorrt-10"])
def test_a_target_that_takes_functions_leaves_them_unless_it_is_asked_for(target):
    before = MODELS["inside"]
    assert not resizefix.legalize(before, target=target, live=False)
    result = resizefix.legalize(before, target=target, live=False, inline=True)
    assert not result.model.functions
    assert result


CALLS = {
    "legalize": {"target": "onnxruntime"},
    "set": {"form": "sizes"},
    "opset": {"opset": 11},
    "promote-scales": {},
    "freeze-scales": {},
    "repair": {},
    "input-size": {"size": (8, 8)},
}


def test_every_command_that_takes_inline_is_tried_here():
    assert set(CALLS) == {command for command in CHANGING if any(one.name == "inline" for one in options_of(command))}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("command", CALLS)
def test_inline_leaves_no_function_and_every_bit(kind, command):
    before = MODELS[kind]
    result = call_named(command)(before, inline=True, **CALLS[command])
    assert result
    assert not result.model.functions
    assert result.verification.status.value in ("passed", "unrefuted")
    feed = {before.graph.input[0].name: X}
    fed = {one.name: np.float32(one.value) for one in result.inputs}
    assert run(before, feed)[0].tobytes() == run(result.model, {**feed, **fed})[0].tobytes()
    assert resizefix.opset(before, opset=11).model.functions


def test_another_size_follows_through_what_was_a_function():
    result = resizefix.input_size(MODELS["inside"], size=(9, 11), inline=True)
    assert [one.shape for one in run(result.model, {"x": np.zeros((1, 3, 9, 11), np.float32)})] == [(1, 3, 18, 22)]


def test_a_model_that_nothing_loads_is_repaired_without_its_functions():
    text = BESIDE.replace(SCALES, "s = Constant <value = float16[4] {15360, 15360, 16384, 16384}> ()")  # 1, 1, 2, 2
    result = resizefix.repair(onnx.parser.parse_model(text), inline=True)
    assert not result.model.functions
    assert "does not load the original" in (result.verification.reason or "")
    assert run(result.model, {"a": X})[0].tobytes() == run(MODELS["beside"], {"a": X})[0].tobytes()


def test_a_node_that_a_function_keeps_from_changing_is_told_to_inline_it():
    before = MODELS["inside"]
    (refused,) = resizefix.set_interpolation(before, form="gather", on_refusal="return").outcomes
    assert refused.retry_args == ("--inline",)
    assert resizefix.set_interpolation(before, form="gather", inline=True)
    with pytest.raises(RefusedError, match="inline=True"):
        resizefix.input_size(before, size=(9, 11))


def test_a_model_without_functions_is_worked_on_as_ever():
    flat = resizefix.opset(MODELS["inside"], opset=11, inline=True).model
    assert resizefix.opset(flat, opset=13, inline=True).model.graph.node[0].op_type == "Relu"


def test_a_function_that_cannot_be_inlined_is_named():
    before = onnx.parser.parse_model(INSIDE)
    before.functions[0].opset_import[0].version = 11
    with pytest.raises(RefusedError, match="l::Up"):
        resizefix.opset(before, opset=17, inline=True)


def test_functions_that_are_inlined_wrongly_are_not_written(monkeypatch):
    inlined = lowering.inline_functions

    def wrong(model):
        steps = inlined(model)
        for node in model.graph.node:
            node.op_type = "Neg" if node.op_type == "Relu" else node.op_type
        return steps

    monkeypatch.setattr(lowering, "inline_functions", wrong)
    with pytest.raises(VerificationFailedError):
        resizefix.legalize(MODELS["beside"], target="openvino", live=False)


INSIDE_OF = {
    "If": "y = If (c) <then_branch = t () => (float[1,3,16,16] p) { p = RESIZE }, "
    "else_branch = e () => (float[1,3,16,16] q) { r = RESIZE q = Neg (r) }>",
    "Loop": "w = RESIZE y = Loop (n, c, w) <body = b (int64 i, bool k, float[1,3,16,16] v) => "
    "(bool k2, float[1,3,16,16] u) { k2 = Identity (k) r = RESIZE u = Add (v, r) }>",
    "Scan": "z = Unsqueeze (a, zero) t = Scan <num_scan_inputs = 1, body = b (float[1,3,8,8] a1) => "
    "(float[1,3,16,16] u) { u = RESIZE1 }> (z) y = Squeeze (t, zero)",
}
ENTERS = {  # measured: models with a resize in such a body, loaded and run by each runtime
    "openvino": {"If", "Loop", "Scan"}, "opencv-4": set(), "opencv-5": {"If"}, "tract": {"If", "Scan"},
    "mnn": {"If", "Loop"}, "ncnn": set(), "tvm": {"If"},
}  # fmt: skip


@pytest.mark.parametrize("target", ENTERS)
@pytest.mark.parametrize("body", INSIDE_OF)
def test_a_resize_in_a_body_is_refused_by_those_that_do_not_enter_it(body, target):
    resize = UP.removeprefix("b = ")
    nodes = INSIDE_OF[body].replace("RESIZE1", resize.replace("(a,", "(a1,")).replace("RESIZE", resize)
    inputs = (
        "(float[1,3,8,8] a, int64 n, bool c) => (float[1,3,16,16] y) <float[4] s = {1, 1, 2, 2}, int64[1] zero = {0}>"
    )
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g {inputs} {{ {nodes} }}')
    onnx.checker.check_model(model, full_check=True)
    refused = {violation.rule for violation in resizefix.check(model, target=target).violations}
    assert ("body-is-imported" in refused) == (body not in ENTERS[target])
