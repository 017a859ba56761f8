"""What a worker process sends back must survive the way: results of calls, and errors."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import onnx
import onnx_graphsurgeon as gs
import pytest
from fixture_models import FIXTURES, SRCNN

import resizefix
from resizefix.document.document import Document

CALLS = {
    "promote_scales": resizefix.promote_scales,
    "legalize": lambda model: resizefix.legalize(model, target="tensorrt-5.1"),
    "trt_legacy": resizefix.trt_legacy,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "bisenet_x8_linear_opset9", "unet_nearest_opset11"])
def test_outcomes_inputs_and_verification_survive_pickling(name, call):
    result = call(FIXTURES / f"{name}.onnx")
    for part in (result.outcomes, result.inputs, result.verification, result.blockers):
        assert pickle.loads(pickle.dumps(part)) == part
    assert result.outcomes


def test_the_sites_of_inspect_survive_pickling():
    for path in (SRCNN, FIXTURES / "scripted_if_opset11.onnx"):
        sites = resizefix.inspect(path)
        again = pickle.loads(pickle.dumps(sites))
        assert [(s.key, s.label, s.interpolation, s.reason) for s in again] == [
            (s.key, s.label, s.interpolation, s.reason) for s in sites
        ]


def test_a_verification_of_two_models_survives_pickling():
    verification = resizefix.verify(SRCNN, SRCNN)
    assert pickle.loads(pickle.dumps(verification)) == verification


def said(result):
    return result.outcomes, result.inputs, result.verification


def _promoted(path):
    return resizefix.promote_scales(path)


def _promoted_in_memory(path):
    return resizefix.promote_scales(onnx.load(path))


def test_spawned_workers_give_what_one_process_gives():
    paths = [
        FIXTURES / f"{name}.onnx" for name in ("srcnn_x3_opset11", "bisenet_x8_nearest_opset9", "esrgan_x4_opset17")
    ]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=2, mp_context=spawn) as pool:
        of_workers = list(pool.map(_promoted_in_memory, paths))
        error = pool.submit(_promoted, FIXTURES / "handmade" / "truncated.onnx").exception()
        failed = pool.submit(_promoted, FIXTURES / "handmade" / "size_rules_disagree.onnx").exception()
    for path, there in zip(paths, of_workers, strict=True):
        here = _promoted_in_memory(path)
        assert said(there) == said(here)
        assert there.model == here.model
    assert type(error) is resizefix.UnreadableModelError
    assert "cut off" in str(error)
    assert type(failed) is resizefix.VerificationFailedError


def test_a_call_leaves_no_trace_in_the_next_one():
    alone = resizefix.promote_scales(SRCNN)
    resizefix.promote_scales(gs.import_onnx(onnx.load(FIXTURES / "bisenet_x8_nearest_opset9.onnx")), seed=5, at=[[5]])
    resizefix.trt_legacy(FIXTURES / "bisenet_x8_nearest_opset9.onnx")
    after_others = resizefix.promote_scales(SRCNN)
    assert said(alone) == said(after_others)
    assert alone.model.to_proto() == after_others.model.to_proto()
    assert isinstance(alone.model, Document)
