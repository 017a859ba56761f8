"""Resizes of bfloat16, of which onnxruntime has no kernel, legalized for it: float32 between Casts."""

import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto
from ort_runs import opened, run
from resize_texts import refusal, resizing, statuses

import resizefix
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
