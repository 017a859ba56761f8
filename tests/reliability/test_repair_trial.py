"""Valid models, broken as converters break them: none comes back wrong, and none that is valid is touched."""

import random
from dataclasses import replace

import pytest
from onnx_text import model
from random_graphs_model import draw
from repair_trial import BAD, CONTROLS, FAULTS, Verdict, judge, outputs, planted, trials, valid_models

import resizefix


@pytest.mark.parametrize("seed", [11, 12, 13, 14, 24, 27])
def test_no_broken_model_comes_back_wrong_and_no_valid_one_is_touched(seed):
    rng = random.Random(seed)
    verdicts = list(trials(rng, valid_models(rng, 30, None, 1), per_model=6))
    assert len(verdicts) > 15
    assert [verdict for verdict in verdicts if verdict.verdict in BAD] == []
    assert all(verdict.reason for verdict in verdicts if verdict.verdict == "refused")


@pytest.mark.parametrize("name", [*FAULTS, *CONTROLS])
def test_every_fault_fits_some_model(name):
    rng = random.Random(0)
    assert any(planted(draw(rng).model, [name], rng) for _ in range(200))


VALID = """(float[1,3,8,8] x) => (float[1,3,16,16] z)
  <float[4] s = {1, 1, 2, 2}> { y = Resize <mode = "linear"> (x, "", s) a = Neg (y) z = Abs (a) }"""


def test_a_wrong_repair_and_a_touched_model_are_noticed(monkeypatch):
    valid, other, broken, elsewhere = (
        model(VALID.replace(*change))
        for change in (("", ""), ("linear", "nearest"), ("linear", "bilinear"), ("Abs", "Exp"))
    )
    assert isinstance(outputs(broken, 0), str)
    assert judge("as it is", valid, broken, control=False) == Verdict("as it is", "right")
    assert judge("another", other, valid, control=False).verdict == "missed"
    honest = resizefix.repair(broken, on_refusal="return")
    for before, after, control, verdict in (
        (broken, other, False, "wrong"),
        (broken, elsewhere, False, "moved"),
        (broken, valid, False, "restless"),
        (valid, other, True, "harmed"),
    ):
        monkeypatch.setattr(resizefix, "repair", lambda _, on_refusal, after=after: replace(honest, model=after))
        assert judge("careless", valid, before, control=control).verdict == verdict


# Until the sizes of `a` are int64, nobody knows that 1.8 makes 9 of its 5, or 8 in some runtimes.
UNKNOWN_UNTIL_REPAIRED = """(float[1,3,4,4] x) => (float[1,3,9,9] y)
  <int64[4] sizes = {1, 3, 5, 5}, float[4] s = {1, 1, SCALE, SCALE}> {
    MADE a = Resize (x, , , given) y = Resize <mode = "linear"> (a, "", s) }"""


@pytest.mark.parametrize(("scale", "verdict"), [("1.8", "right"), ("1.8001", "wrong")])
def test_a_scale_that_is_made_safe_as_its_size_becomes_known_is_no_wrong_number(scale, verdict):
    text = UNKNOWN_UNTIL_REPAIRED.replace("SCALE", "1.8")
    broken = model(text.replace("MADE", "given = Cast <to = 6> (sizes)"))
    valid = model(text.replace("MADE", "given = Identity (sizes)").replace("1.8", scale))
    assert "lost-pixel" in {outcome.fault for outcome in resizefix.repair(broken, on_refusal="return").outcomes}
    assert judge("sizes cast to int32", valid, broken, control=False).verdict == verdict


def test_stored_sizes_that_a_rounded_scale_may_have_made_are_not_taken_in_silence():
    broken = model(
        "(float[1,3,8,8] x) => (float[1,3,12,12] y)"
        ' <float[4] s = {1, 1, 0, 0}> { y = Resize <mode = "linear"> (x, "", s) }'
    )
    (outcome,) = resizefix.repair(broken, on_refusal="return").outcomes
    assert outcome.status.value == "refused"
    assert 'prefer="sizes"' in outcome.reason
