"""Nothing is run that the memory does not hold; what is not run is said."""

import numpy as np
import pytest
from onnx_text import model

import resizefix
from resizefix.document.document import Document
from resizefix.runtimes import limits
from resizefix.verification.fitting import MemoryBudget

LARGE = model("""(float[1,3,135,240] x) => (float[1,3,"h","w"] y) <float[4] s = {1, 1, 8, 8}>
    { [up] y = Resize <mode = "linear"> (x, , s) }""")
OUTPUT = 3 * 135 * 240 * 64 * 4


def test_other_scales_take_no_more_than_the_old_ones_nearly():
    result = resizefix.promote_scales(LARGE, memory_limit=OUTPUT + OUTPUT // 10)
    tried = {run.values["up_scales"][2:] for run in result.verification.runs}
    assert len(tried) == 3
    assert all(high * wide <= 64 * 1.1 for high, wide in tried)
    assert result.verification.reason is None


def test_a_model_that_does_not_fit_is_proven_around_its_nodes_at_small_sizes():
    result = resizefix.promote_scales(LARGE, memory_limit=OUTPUT // 2)
    assert result.verification.passed
    assert "only around each changed node" in result.verification.reason
    assert "memory_limit" in result.verification.reason
    assert all(max(run.shapes["x"]) < 100 for run in result.verification.runs)


def test_a_rewrite_of_such_a_model_is_proven_so_too():
    result = resizefix.legalize(LARGE, target="tensorrt-7.0", memory_limit=OUTPUT // 2)
    assert result.changed
    assert result.verification.passed
    assert "only around each changed node" in result.verification.reason


def test_a_scale_that_was_asked_for_and_does_not_fit_is_a_failure_that_says_so():
    with pytest.raises(
        resizefix.VerificationFailedError,
        match=r"at up_scales=\[1.0, 1.0, 64.0, 64.0\].*GiB may be used|MiB may be used",
    ):
        resizefix.promote_scales(LARGE, at=[[64]], memory_limit=2 * OUTPUT)


def test_without_a_limit_half_of_the_free_memory_is_one(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: OUTPUT)
    result = resizefix.promote_scales(LARGE)
    assert "only around each changed node" in result.verification.reason


def test_what_is_fed_to_a_node_alone_leaves_room_for_all_results():
    """Those of both models at three scales are kept until they are compared."""
    feeds = {"x": np.zeros((1, 3, 4, 4), np.float32)}
    taken = feeds["x"].nbytes * (1 + 8 * 8)
    for memory, fits in ((8 * taken, True), (8 * taken - 1, False)):
        budget = MemoryBudget(Document.from_proto(LARGE), limits.Limits(memory=memory), alone=True)
        assert (budget.reject_reason(feeds) is None) is fits
