"""What every proof is made of: models run on feeds that they take, comparisons kept as runs, and a verdict."""

import numpy as np
import pytest
from onnx_text import document

from resizefix.runtimes.ort_session import CannotRunError, open_session
from resizefix.verification.engine import Engine
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import Fitted, fit_feeds
from resizefix.verification.verification import Conditions, VerificationStatus

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
    assert (passed.status, passed.reason) == (VerificationStatus.PASSED, "of one node; of another")
    assert (failed.status, failed.reason) == (VerificationStatus.FAILED, "it differs")
    assert passed.runs == failed.runs
    assert [(run.optimized, run.bitwise, run.bound) for run in passed.runs] == [(False, True, 0.0), (True, False, 0.5)]
    assert Engine(Conditions()).verdict().reason is None


# ---- the first feeds that a model runs with ----


def fitted(graph: str) -> Fitted:
    session = open_session(document(graph, 17), optimized=False)
    return fit_feeds(session, Feeder(session.inputs))


def test_the_first_candidate_that_runs_is_taken():
    found = fitted("(float[1,3,h,w] x) => (y) { t = Transpose<perm = [0, 1, 3, 2]>(x) y = Add(x, t) }")
    assert found.feeds["x"].shape == found.outputs["y"].shape == (1, 3, 64, 64)


RESIZE = '(float[1,3,h,w] x, float[4] s) => (y) { y = Resize<mode="nearest">(x, , s) }'


def test_scales_that_are_an_input_are_fed_as_scales():
    found = fitted(RESIZE)
    assert found.feeds["s"].tolist() == [1, 1, 2, 2]
    assert found.outputs["y"].shape == (1, 3, 64, 96)


SLICED = """(float[1,3,%s] x) => (y) <int64[1] from = {%d}, int64[1] to = {%d}, int64[1] axis = {2}> {
    y = Slice(x, from, to, axis) }"""


def test_a_candidate_with_empty_outputs_is_passed_over():
    found = fitted(SLICED % ("h,w", 32, 999))
    assert not found.vacuous
    assert found.feeds["x"].shape[2] > 32


@pytest.mark.parametrize(
    ("graph", "fed"),
    [
        # the second node makes a third of what the first one makes, and no axis of a matrix is an image's
        (
            "(float[2,6] x, float[2] k) => (y) <float[2] third = {0.33333334, 0.33333334}> "
            "{ a = Resize(x, , k) y = Resize(a, , third) }",
            [3, 3],
        ),
        # the width becomes 3 and the height stays what is not halved to nothing
        (
            "(float[1,1,1,2] x, float[4] s) => (float[1,1,1,3] y) <float[3] w = {1, 2, 3}, "
            "float[4] half = {1, 1, 0.5, 1}> { a = Resize(x, , s) b = Resize(a, , half) y = Mul(b, w) }",
            [1, 1, 2, 1.5],
        ),
    ],
)
def test_what_all_usual_scales_make_empty_is_scaled_otherwise(graph, fed):
    found = fitted(graph)
    assert not found.vacuous
    assert next(value.tolist() for name, value in found.feeds.items() if name != "x") == fed


def test_only_empty_outputs_are_given_and_named_so():
    assert fitted(SLICED % ("8,8", 0, 0)).vacuous


@pytest.mark.parametrize(
    ("outputs", "vacuous"),
    [
        ({"a": np.zeros((0, 3)), "b": []}, True),
        ({"a": np.zeros((0, 3)), "b": np.zeros(1)}, False),
        ({"a": [np.zeros(0), np.zeros(2)]}, False),
        ({"a": None}, True),
        ({}, False),
    ],
)
def test_vacuous_means_no_number_in_any_output(outputs, vacuous):
    assert Fitted({}, outputs).vacuous is vacuous


def test_what_the_most_sensible_candidate_met_is_raised():
    ones = ",".join("1" * 25)
    with pytest.raises(CannotRunError, match="5") as caught:
        fitted(f"(float[1,3,h,w] x) => (y) <float[1,1,5,5] c = {{{ones}}}> {{ c2 = Identity(c) y = Add(x, c2) }}")
    assert caught.value.node == "Add#1"
    assert "32" in caught.value.reason or "48" in caught.value.reason


def test_the_number_of_attempts_is_kept():
    text = RESIZE.replace("Resize", "Upsample").replace("(x, , s)", "(x, s)")
    resize = open_session(document(text, 9), optimized=False)
    feeder = Feeder(resize.inputs, hints={"s": [1, 1, 0.5, 0.5]})
    tried = []
    run = resize.run
    resize.run = lambda feeds: (tried.append(1), run(feeds))[1]
    with pytest.raises(CannotRunError):
        fit_feeds(resize, feeder, attempts=3)
    assert len(tried) == 3


def test_scales_that_contradict_the_size_of_the_output_are_put_off():
    """Optimised, onnxruntime takes the size that the file fixes for true; the file is right at half the size alone."""
    text = '(float[1,3,8,8] x, float[4] s) => (float[1,3,4,4] y) { y = Resize<mode="nearest">(x, , s) }'
    assert fitted(text).outputs["y"].shape == (1, 3, 4, 4)


def test_a_file_that_contradicts_itself_at_all_sizes_is_run_all_the_same():
    assert fitted("(float[1,3,8,8] x) => (float[1,3,5,5] y) { y = Relu(x) }").outputs["y"].shape == (1, 3, 8, 8)
