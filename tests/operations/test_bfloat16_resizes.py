"""Resizes of bfloat16, of which onnxruntime has no kernel: legalize writes Casts, and every proof runs float32."""

import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto
from ort_runs import opened, run
from resize_texts import refusal, resizing, statuses

import resizefix
from resizefix.library import seam
from resizefix.operations import legalize
from resizefix.outcome import Status

EXTENTS = {
    "sizes": ("(b, , , z)", "int64[4] z = {1, 2, 9, 20}", ""),
    "scales": ("(b, , s)", "float[4] s = {1, 1, 1.5, 0.4}", ""),
    "computed sizes": ("(b, , , t)", "int64[4] f = {1, 1, 2, 3}", "a = Shape (x) t = Mul (a, f)"),
}
MODES = {
    "nearest": 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"',
    "nearest half pixel": 'mode = "nearest"',
    "linear": 'mode = "linear"',
    "cubic": 'mode = "cubic", coordinate_transformation_mode = "align_corners"',
}
CASES = list(itertools.product(EXTENTS, MODES))
X = np.random.default_rng(0).standard_normal((1, 2, 6, 10)).astype(np.float32)


COMMANDS = {
    "promote": (resizefix.promote_scales, {}),
    "set a mode": (resizefix.set_interpolation, {"mode": "cubic", "coordinates": "half_pixel"}),
    "set a scale": (resizefix.set_interpolation, {"scale": 3}),
    "set a form": (resizefix.set_interpolation, {"form": "sizes"}),
    "opset": (resizefix.opset, {"opset": 19}),
}


def of(kind: int, extent: str, mode: str) -> ModelProto:
    operands, held, more = EXTENTS[extent]
    nodes = f"b = Cast <to = {kind}> (x) {more} r = Resize <{MODES[mode]}> {operands} y = Cast <to = 1> (r)"
    return resizing(nodes, held, "float[1,2,6,10] x")


@pytest.mark.parametrize(("extent", "mode"), CASES)
def test_a_resize_of_bfloat16_gives_the_float32_numbers_rounded_once(extent, mode):
    model = of(onnx.TensorProto.BFLOAT16, extent, mode)
    with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
        opened(model)
    result = resizefix.legalize(model, target="onnxruntime")
    assert statuses(result) == [Status.CHANGED]
    assert result.verification.passed
    assert result.outcomes[0].bound == (0.0 if mode.startswith("nearest") else 2**-8 if mode == "linear" else None)
    assert all(run.bitwise for run in result.verification.runs)  # the float32 resize, rounded once
    rounded = X.astype(ml_dtypes.bfloat16).astype(np.float32)
    wanted = run(of(onnx.TensorProto.FLOAT, extent, mode), {"x": rounded})[0]
    found = run(result.model, {"x": X})[0]
    assert np.array_equal(found, wanted.astype(ml_dtypes.bfloat16).astype(np.float32))
    if mode.startswith("nearest"):
        assert np.array_equal(found, wanted)
    else:
        assert np.abs(found - wanted).max() <= np.abs(wanted).max() / 256


def test_casts_that_are_forbidden_are_named():
    model = of(onnx.TensorProto.BFLOAT16, "sizes", "nearest")
    reason = refusal(resizefix.legalize(model, target="onnxruntime", lower=False, on_refusal="return"))
    assert "lower=False forbids" in reason


def test_the_verification_finds_a_resize_that_is_not_the_same(monkeypatch):
    right = legalize.in_float32

    def wrong(made, site, fresh):
        cast = right(made, site, fresh)
        cast.nodes[1].attribute[0].CopyFrom(onnx.helper.make_attribute("mode", "linear"))
        return cast

    monkeypatch.setattr(legalize, "in_float32", wrong)
    with pytest.raises(resizefix.VerificationFailedError):
        resizefix.legalize(of(onnx.TensorProto.BFLOAT16, "sizes", "nearest"), target="onnxruntime")


def test_a_target_without_bfloat16_still_refuses_it():
    model = of(onnx.TensorProto.BFLOAT16, "sizes", "nearest")
    assert "bfloat16" in refusal(resizefix.legalize(model, target="tensorrt-8.5", on_refusal="return"))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_proven_in_float32_and_says_so(command):
    call, options = COMMANDS[command]
    result = call(of(onnx.TensorProto.BFLOAT16, "scales", "linear"), **options)
    assert result.verification.passed
    assert "ran in float32" in result.verification.reason
    assert all(run.bitwise for run in result.verification.runs if not run.optimized)
    after = onnx.ModelProto.FromString(result.model.SerializeToString())
    assert [node.op_type for node in after.graph.node] == ["Cast", "Resize", "Cast"]  # none of the proof's


@pytest.mark.parametrize("command", COMMANDS)
def test_the_proof_of_every_command_sees_another_resize(command, monkeypatch):
    def put_in(before, candidate, plan):
        wrong = candidate.copy()
        node = next(node for node in wrong.proto.graph.node if node.op_type == "Resize")
        del node.attribute[:]
        node.attribute.append(onnx.helper.make_attribute("mode", "nearest"))
        return wrong

    monkeypatch.setattr(seam, "submitted", put_in)
    call, options = COMMANDS[command]
    with pytest.raises(resizefix.VerificationFailedError):
        call(of(onnx.TensorProto.BFLOAT16, "scales", "linear"), **options)


def test_a_fault_is_repaired_and_a_sound_node_is_left_to_legalize():
    sound = of(onnx.TensorProto.BFLOAT16, "scales", "nearest")
    broken = of(onnx.TensorProto.BFLOAT16, "scales", "nearest")
    broken.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2, 9, 4]), "z"))
    broken.graph.node[1].input.append("z")
    result = resizefix.repair(broken)
    assert statuses(result) == [Status.CHANGED]
    assert result.verification.passed
    assert resizefix.legalize(result.model, target="onnxruntime").verification.passed
    assert "implementation for Resize" in str(resizefix.repair(sound, on_refusal="return").refusal)


def test_before_opset_13_no_cast_takes_the_type():
    model = resizing("y = Resize <mode = \"linear\"> (x, r, s)", "float[0] r = {}, float[4] s = {1, 1, 2, 2}",
                     "bfloat16[1,2,6,10] x", opset=11)  # fmt: skip
    assert "opset 13 has" in refusal(resizefix.legalize(model, target="onnxruntime", on_refusal="return"))
