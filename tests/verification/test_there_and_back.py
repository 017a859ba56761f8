"""A model of another size, converted back, gives the bits of the original; else it is refuted."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import numpy_helper
from onnx_text import document

sys.path.insert(0, str(Path(__file__).parents[1] / "library"))

from size_networks import NEW, OLD, built

import resizefix
from resizefix.input_sizes.experiments.image_experiments import Original
from resizefix.input_sizes.experiments.proof import prove_any
from resizefix.input_sizes.experiments.there_and_back import require_same_back
from resizefix.input_sizes.refusal import SizeRefusedError
from resizefix.interop import opened
from resizefix.verification.engine import Engine
from resizefix.verification.plan import SizeStep
from resizefix.verification.verification import conditions


def pooled(n, h, w):
    """A network with a pool over the whole map, and a Resize to a constant size."""
    y = n.conv("x", 3, 2)
    gate = n.AveragePool(y, kernel_shape=[h, w])
    return n.Mul(n.Resize(y, "", "", [1, 2, 2 * h, 2 * w], mode="linear"), gate)


def back(model, kept=()):
    engine = Engine(conditions(), "the new model")
    before = opened(built(pooled, OLD))
    after = resizefix.input_size(model, size=OLD, verify=False)
    document = opened(after.model)
    require_same_back(engine, Original.run(engine, before, document), document, lambda label: label in kept)
    return engine


def test_a_right_model_comes_back_with_the_same_bits():
    engine = back(built(pooled, NEW))
    assert [sentence.code for sentence in engine.tested] == ["verification.tested-back"]


def wrong():
    model = built(pooled, NEW)
    weight = model.graph.initializer[0]
    values = numpy_helper.to_array(weight).copy()
    values.flat[0] = np.nextafter(values.flat[0], np.float32(np.inf)) + np.float32(0.25)
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    return model


def test_a_model_with_another_number_is_refuted_at_its_node():
    with pytest.raises(SizeRefusedError) as found:
        back(wrong())
    assert found.value.node == "Conv_0"
    assert found.value.reason.code == "verification.other-bits-back"


def test_what_the_user_decided_may_come_back_as_something_else():
    assert back(wrong(), kept=("Conv_0",)).tested == []


def test_a_fixed_size_is_converted_back_before_it_is_written():
    result = resizefix.input_size(built(pooled, OLD), size=NEW)
    codes = {getattr(sentence, "code", "") for sentence in result.verification.tested}
    assert {"verification.tested-back", "verification.tested-locality", "verification.tested-coverage"} <= codes


@pytest.mark.parametrize("optimised_as", ["Neg", "Abs"])
def test_a_model_for_any_size_is_compared_at_the_default_level_too(monkeypatch, optimised_as):
    text = "(float[1,2,n,n] x) => (float[1,2,n,n] y) { y = %s(x) }"
    before, after, fused = (document(text % operator) for operator in ("Neg", "Neg", optimised_as))
    original = Engine.open

    def opens_otherwise(engine, model, *, optimized, **more):
        return original(engine, fused if optimized and model is after else model, optimized=optimized, **more)

    monkeypatch.setattr(Engine, "open", opens_otherwise)
    step, nothing_derived = SizeStep(before, after, frozenset()), SimpleNamespace(flow=SimpleNamespace(dims={}))
    proof = prove_any(before, conditions(), step, nothing_derived, [({"n": 4}, before), ({"n": 6}, before)], exact=True)
    assert proof.passed == (optimised_as == "Neg")
    assert any(run.optimized for run in proof.runs)
