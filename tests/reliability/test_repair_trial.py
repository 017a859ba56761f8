"""Valid models, broken as converters break them: none comes back wrong, and none that is valid is touched."""

import random
from dataclasses import replace

import onnx.parser
import pytest
from repair_breakers import BREAKERS, CONTROLS
from repair_trial import Verdict, judge, made, outputs, trials, valid_models
from resize_nodes import NotHere

import resizefix


@pytest.mark.parametrize("seed", [11, 12])
def test_no_broken_model_comes_back_wrong_and_no_valid_one_is_touched(seed):
    rng = random.Random(seed)
    verdicts = list(trials(rng, valid_models(rng, 10, None, 1), per_model=7))
    assert len(verdicts) > 15
    assert [verdict for verdict in verdicts if verdict.verdict in ("wrong", "harmed")] == []
    assert [verdict for verdict in verdicts if verdict.verdict == "missed"] == []
    assert all(verdict.reason for verdict in verdicts if verdict.verdict == "refused")


def test_every_breaker_breaks_some_model():
    left = {*BREAKERS, *CONTROLS}
    rng = random.Random(0)
    for _ in range(400):
        _, model = made(rng)
        for breaker in list(left):
            broken = onnx.ModelProto()
            broken.CopyFrom(model)
            try:
                breaker(broken, rng)
            except NotHere:
                continue
            if broken != model:
                left.discard(breaker)
        if not left:
            break
    assert {breaker.__name__ for breaker in left} == set()


VALID = """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[1,3,16,16] y)
  <float[4] s = {1, 1, 2, 2}> { y = Resize <mode = "linear"> (x, "", s) }"""


def test_a_wrong_repair_and_a_touched_model_are_noticed(monkeypatch):
    valid, other = onnx.parser.parse_model(VALID), onnx.parser.parse_model(VALID.replace("linear", "nearest"))
    broken = onnx.parser.parse_model(VALID.replace("linear", "bilinear"))
    assert isinstance(outputs(broken, 0), str)
    assert judge("as it is", valid, broken, control=False) == Verdict("as it is", "right")
    honest = resizefix.repair

    def careless(model, **options):
        return replace(honest(broken, **options), model=other)

    monkeypatch.setattr(resizefix, "repair", careless)
    assert judge("careless", valid, broken, control=False).verdict == "wrong"
    assert judge("careless", valid, valid, control=True).verdict == "harmed"
