"""The engine of every proof: what runs, how often, and what the default level is held against."""

from types import SimpleNamespace

import numpy as np
import onnx_text
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resizefix.document.document import Document
from resizefix.outcome import ErrorBound
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.scope_path import MAIN
from resizefix.verification.compare import FLOAT_BOUND, allows, compare, measured
from resizefix.verification.engine import Engine
from resizefix.verification.trial import Point, Side, Trial, moved_by_optimising
from resizefix.verification.verification import Conditions
from resizefix.verification.verify import prove_rewrite

SUM = onnx_text.model("(float[2] x) => (float[2] y) { y = Add (x, x) }")
X = {"x": np.array([1, 2], np.float32)}
FLOATS = st.lists(st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-6, -3.0, 1e30, np.nan, np.inf]), min_size=3, max_size=3)


def sessions(answers):
    """A trial of models that answer so, by side and level."""
    count = []

    def opened(side, optimized):
        def run(feeds):
            count.append((side, optimized))
            made = answers[side, optimized]
            if isinstance(made, Exception):
                raise made
            return {"y": np.array(made, np.float32)}

        return SimpleNamespace(taken=dict, run=run, notes=())

    trial = Trial(
        Engine(Conditions()),
        lambda _, optimized: opened("before", optimized),
        lambda optimized: opened("after", optimized),
        which="the file",
    )
    return trial, count


def test_a_model_is_run_once_at_a_point_and_a_level():
    document = Document.from_proto(SUM)
    engine, point = Engine(Conditions()), Point(X)
    trial = Trial.of(engine, document, document)
    for _ in range(2):
        assert trial.moved(point, Side.AFTER).agrees
        assert trial.at_default(point).agrees
        assert trial.outputs(point, Side.BEFORE)["y"].tolist() == [2, 4]
    assert engine.sessions == 4


@pytest.mark.parametrize(
    ("fused", "agrees", "near"),
    [([1.0], True, True), ([1.0 + FLOAT_BOUND / 2], True, True), ([1.1], False, False), ([1.0, 1.0], False, False)],
)
def test_the_default_level_is_held_against_what_optimising_moves_the_model_before(fused, agrees, near):
    answers = {("before", False): [1.0], ("before", True): [1.0], ("after", False): [1.0], ("after", True): fused}
    level = sessions(answers)[0].at_default(Point({}))
    assert (level.agrees, level.is_near_plain) == (agrees, near)


def test_a_model_before_that_contradicts_itself_counts_as_what_it_really_computes():
    answers = {("before", False): [1.0], ("before", True): [1.0, 1.0], ("after", True): [1.0]}
    level = sessions(answers)[0].at_default(Point({}))
    assert level.from_expected.bitwise
    assert level.is_near_plain
    assert not level.agrees


def test_a_model_before_that_runs_without_optimisation_alone_is_named():
    why = CannotRunError("verification.not-run", label="the file", why="no kernel", reason="no kernel")
    answers = {("before", False): [1.0], ("before", True): why, ("after", True): [1.0]}
    trial, count = sessions(answers)
    assert trial.at_default(Point({})) is None
    (note,) = trial.engine.notes
    assert "the file" in note
    assert "no kernel" in note
    assert count.count(("after", True)) == 1


@given(FLOATS, FLOATS)
def test_a_model_that_agrees_at_both_levels_is_within_its_own_bounds(plain, fused):
    pair = {"y": np.array(plain, np.float32)}, {"y": np.array(fused, np.float32)}
    moved = moved_by_optimising(*pair)
    assert moved.agrees == (moved.level.max_rel_diff <= moved.bounds["y"].bound)
    assert moved.expected is (pair[0] if np.isinf(moved.level.max_rel_diff) else pair[1])


@given(FLOATS, FLOATS, st.sampled_from([0.0, 1e-7, 1e-3]), st.sampled_from([0.0, 1e-7, 1e-3]))
def test_a_wider_bound_allows_whatever_a_narrower_one_does(before, after, relative, more):
    old, new = {"y": np.array(before, np.float32)}, {"y": np.array(after, np.float32)}
    differences = compare(old, new)
    steps = [
        ErrorBound(),
        ErrorBound(exact=False, bound=relative),
        ErrorBound(exact=False, bound=relative + more),
    ]
    allowed = [allows(bound, old, new, differences) for bound in steps]
    assert allowed == sorted(allowed)
    assert allowed[0] == differences.bitwise
    assert allows(ErrorBound.elementwise(0.0, 0.0), old, new, differences) == differences.bitwise


@pytest.mark.parametrize("value", [np.array(["a", "b"], object), [np.zeros(2)], np.zeros(3), None])
def test_a_tensor_that_is_the_same_has_no_difference_whatever_it_holds(value):
    difference = measured("random values", "y", value, value)
    assert (difference.bitwise, difference.max_abs_diff, difference.mean_abs_diff) == (True, 0.0, 0.0)
    assert (difference.tensor, difference.feed) == ("y", "random values")


def test_a_measured_difference_has_its_mean_and_the_largest_value_before():
    difference = measured("a.npy", "y", np.array([1.0, -4.0, 0.0]), np.array([1.5, -4.0, 0.0]))
    assert (difference.max_abs_diff, difference.largest) == (0.5, 4.0)
    assert difference.mean_abs_diff == pytest.approx(0.5 / 3)
    assert measured("a.npy", "y", np.zeros(2), None).max_abs_diff == np.inf


def test_a_node_alone_costs_its_share_of_the_model():
    body = "{ r = Resize (b, , s) r2 = Relu (r) }"
    text = f"""(float[1,1,4,4] x, bool c) => (y) <float[4] s = {{1, 1, 2, 2}}> {{
        a = Relu (x) b = Relu (a)
        y = If (c) <then_branch = t () => (r2) {body}, else_branch = e () => (r2) {body}>
        }}"""
    document = Document.from_proto(onnx_text.model(text))
    rules = Conditions()
    found = prove_rewrite(document, document.copy(), {(MAIN, "y"): "b"}, 0.0, rules)
    assert found.passed
    whole = rules.spent.passes
    rules = Conditions()
    scopes = {path for path, _ in _resizes(document)}
    assert scopes
    assert prove_rewrite(document, document.copy(), dict(_resizes(document)), 0.0, rules).passed
    nodes = len(document.proto.graph.node)
    assert whole < rules.spent.passes <= whole + len(_resizes(document)) * 8 * 1 / nodes + 1e-9


def _resizes(document):
    from resizefix.operations.sites import find_sites

    return {site.key: site.input for site in find_sites(document)}
