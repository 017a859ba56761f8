"""What every proof is made of: models run on feeds, comparisons kept as runs, and a verdict over them."""

import numpy as np
from onnx_text import document

from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine
from resizefix.verification.verification import Status

HALVED = "(float[1,N] x) => (float[1,N] y) <float two = {2.0}> { half = Div (x, two) y = Add (half, half) }"


def engine_and_model():
    return Engine(Conditions()), document(HALVED)


def test_a_model_runs_on_the_feeds_that_it_has_an_input_for():
    engine, document = engine_and_model()
    x = np.array([[1.0, 3.0]], np.float32)
    made = engine.run(document, {"x": x, "of another model": x}, extra_outputs=["half"])
    assert made["y"].tolist() == [[1.0, 3.0]]
    assert made["half"].tolist() == [[0.5, 1.5]]
    assert engine.sessions == 1


def test_feeds_are_fitted_with_what_the_model_makes_of_them_at_either_level():
    engine, document = engine_and_model()
    for optimized in (False, True):
        fitted = engine.fit(document, shapes={"x": (1, 5)}, optimized=optimized)
        assert np.array_equal(fitted.outputs["y"], fitted.feeds["x"])
        assert fitted.feeds["x"].shape == (1, 5)
    assert engine.sessions == 2


def test_the_verdict_holds_every_comparison_and_says_each_note_once():
    engine, _ = engine_and_model()
    one, other = {"y": np.array([2.0], np.float32)}, {"y": np.array([1.0], np.float32)}
    assert engine.compared(one, one, {}).bitwise
    assert engine.compared(one, other, {}, optimized=True, bound=0.5).max_rel_diff == 0.5
    engine.notes += ["of one node", "of another", "of one node"]
    passed, failed = engine.verdict(), engine.verdict("it differs")
    assert (passed.status, passed.reason) == (Status.PASSED, "of one node; of another")
    assert (failed.status, failed.reason) == (Status.FAILED, "it differs")
    assert passed.runs == failed.runs
    assert [(run.optimized, run.bitwise, run.bound) for run in passed.runs] == [(False, True, 0.0), (True, False, 0.5)]
    assert Engine(Conditions()).verdict().reason is None
