"""What a worker process sends back arrives whole: results of calls, documents, and errors."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import onnx
import onnx_graphsurgeon as gs
import pytest
from fixture_models import FIXTURES, SRCNN, UNET

import resizefix
from resizefix.document.document import Document
from resizefix.runtimes.ort_session import CannotRunError

NEAREST = FIXTURES / "bisenet_x8_nearest_opset9.onnx"
CALLS = {
    "promote_scales": lambda model: resizefix.promote_scales(model, on_refusal="return"),
    "legalize": lambda model: resizefix.legalize(model, target="tensorrt-5.1", on_refusal="return"),
    "trt_legacy": lambda model: resizefix.trt_legacy(model, on_refusal="return"),
}


def there_and_back(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "bisenet_x8_linear_opset9", "unet_nearest_opset11"])
def test_outcomes_inputs_and_verification_survive_pickling(name, call):
    result = call(FIXTURES / f"{name}.onnx")
    for part in (result.outcomes, result.inputs, result.verification, result.blockers):
        assert there_and_back(part) == part
    assert result.outcomes


@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "scripted_if_opset11"])
def test_the_sites_of_inspect_survive_pickling(name):
    def seen(sites):
        return [(site.key, site.label, site.interpolation, site.reason) for site in sites]

    sites = resizefix.inspect(FIXTURES / f"{name}.onnx")
    assert seen(there_and_back(sites)) == seen(sites)


def test_verifications_verdicts_and_errors_survive_pickling():
    verification = resizefix.verify(SRCNN, SRCNN)
    assert there_and_back(verification) == verification
    verdict = there_and_back(resizefix.check(SRCNN, target="tensorrt-7.0"))
    assert verdict.target.name == "tensorrt-7.0"
    assert not verdict.accepted
    error = there_and_back(CannotRunError("it broke", reason="size", node="add"))
    assert (str(error), error.reason, error.node) == ("it broke", "size", "add")


def test_a_document_travels_as_its_light_model_and_its_path(tmp_path):
    result = there_and_back(resizefix.promote_scales(SRCNN, input_name="s"))
    result.model.save(tmp_path / "out.onnx")
    assert resizefix.verify(SRCNN, tmp_path / "out.onnx", feed={"s": [1, 1, 3, 3]}).passed


def test_a_document_whose_file_changed_meanwhile_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(SRCNN.read_bytes())
    sent = pickle.dumps(resizefix.promote_scales(path, verify=False).model)
    path.write_bytes(UNET.read_bytes())
    with pytest.raises(resizefix.UnreadableModelError, match="modified"):
        pickle.loads(sent)


def said(result):
    return result.outcomes, result.inputs, result.verification


def _promoted(path):
    return resizefix.promote_scales(path)


def _promoted_in_memory(path):
    return resizefix.promote_scales(onnx.load(path))


def test_spawned_workers_give_what_one_process_gives():
    paths = [SRCNN, NEAREST, FIXTURES / "esrgan_x4_opset17.onnx"]
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
    resizefix.promote_scales(gs.import_onnx(onnx.load(NEAREST)), seed=5, at=[[5]])
    resizefix.trt_legacy(NEAREST)
    after_others = resizefix.promote_scales(SRCNN)
    assert said(alone) == said(after_others)
    assert alone.model.to_proto() == after_others.model.to_proto()
    assert isinstance(alone.model, Document)
