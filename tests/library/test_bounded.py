"""Limits of time and memory end a verification, whatever it is doing, and say what was not done."""

import onnx
import pytest
from onnx import numpy_helper
from onnx_text import model

import resizefix

# One node that takes a minute: no look at the clock between two nodes breaks it off.
ENDLESS = model("""(float[1,1,8,8] x) => (float[1,1,16,16] y, float[10000,10000] z)
    <float[4] s = {1, 1, 2, 2}, int64[2] many = {10000, 10000}>
    { [up] y = Resize (x, , s) a = ConstantOfShape (many) [slow] z = MatMul (a, a) }""")
SIMPLE = model("""(float[1,1,"h","w"] x) => (float[1,1,"H","W"] y) <float[4] s = {1, 1, 2, 2}>
    { [up] y = Resize (x, , s) }""")


def test_within_its_limits_a_call_gives_what_it_gives_without():
    free, bound = resizefix.promote_scales(SIMPLE), resizefix.promote_scales(SIMPLE, timeout=60, memory_limit=2**30)
    assert bound.model == free.model
    assert isinstance(bound.model, onnx.ModelProto)
    assert bound.outcomes == free.outcomes
    assert bound.verification == free.verification


def test_what_a_call_refuses_it_refuses_within_limits_too():
    with pytest.raises(resizefix.UsageError, match="no resize node matches 'nothing'"):
        resizefix.promote_scales(SIMPLE, node=["nothing"], timeout=60)


def test_a_node_that_does_not_end_is_ended_and_nothing_is_said_to_be_proven(monkeypatch):
    monkeypatch.setattr("resizefix.process.GRACE", 1.0)
    with pytest.raises(resizefix.VerificationFailedError, match=r"time was up after 1 s \(timeout\)") as failed:
        resizefix.promote_scales(ENDLESS, timeout=1)
    assert failed.value.result.verification.status.value == "failed"
    assert failed.value.result.model.proto == ENDLESS


def test_models_are_compared_within_limits(monkeypatch):
    monkeypatch.setattr("resizefix.process.GRACE", 1.0)
    assert resizefix.verify(SIMPLE, SIMPLE, timeout=60).passed
    verification = resizefix.verify(ENDLESS, ENDLESS, timeout=1)
    assert not verification.passed
    assert "time was up after 1 s" in verification.reason


def test_a_process_that_dies_is_a_failed_verification(monkeypatch):
    monkeypatch.setattr("resizefix.library.bounded.WORKER", "sys:exit")  # it ends and has said nothing
    with pytest.raises(resizefix.VerificationFailedError, match="the process that worked on it ended with status 1"):
        resizefix.promote_scales(SIMPLE, timeout=60)


def test_progress_is_reported_from_both_sides_of_the_border():
    for limits in ({}, {"timeout": 60}):
        steps = []
        resizefix.promote_scales(SIMPLE, progress=lambda *step, steps=steps: steps.append(step), **limits)
        assert [made for made, _, _ in steps] == list(range(1, len(steps) + 1))
        assert steps[-1][0] == steps[-1][1] == 5  # two points at two levels, one without optimisation
        assert "up_scales" in steps[-1][2]


def test_time_that_is_up_after_enough_was_compared_is_said_and_no_failure(monkeypatch):
    from resizefix.runtimes import limits
    from resizefix.runtimes.ort_session import Session

    ran = []
    run = Session.run

    def counted(self, feeds):
        ran.append(1)
        if len(ran) > 7:  # the original, the probe, three comparisons and two twins
            raise limits.TimeIsUpError("time was up after 9 s (--timeout)")
        return run(self, feeds)

    monkeypatch.setattr(Session, "run", counted)
    result = resizefix.promote_scales(SIMPLE)
    assert result.verification.passed
    assert [run.optimized for run in result.verification.runs] == [False, False, False]
    assert result.verification.reason == (
        "time was up after 9 s (--timeout): not compared were the default optimisation level"
    )


def test_the_value_that_is_fed_stays_an_array_across_the_border():
    promoted = resizefix.promote_scales(SIMPLE).model
    frozen = resizefix.freeze_scales(promoted, set={"up_scales": [1, 1, 2, 2]}, timeout=60)
    assert [numpy_helper.to_array(t).tolist() for t in frozen.model.graph.initializer] == [[1, 1, 2, 2]]
