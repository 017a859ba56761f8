"""A verification opens no session that it does not need, and says how many it opened."""

import onnx_text
import pytest
from fixture_models import SRCNN

import resizefix
from resizefix.runtimes.ort_session import Session


def test_a_promotion_opens_two_sessions_for_each_model_that_it_compares():
    """The original, the new model and the original with other scales, at two optimisation levels each; with the scales
    of the first point without optimisation alone."""
    assert resizefix.promote_scales(SRCNN).verification.sessions == 2 * 3 + 1
    assert resizefix.promote_scales(SRCNN, at=[[2.0]]).verification.sessions == 2 * 4 + 1


def test_a_promoted_model_that_is_wrong_when_it_is_optimised_and_at_another_scale_alone_fails(monkeypatch):
    result = Session.run

    def run(session, feeds):
        made = result(session, feeds)
        optimized = "DISABLE" not in str(session._options.graph_optimization_level)
        if optimized and any(name.endswith("_scales") and value[2] != 2 for name, value in feeds.items()):
            made["y"] = made["y"] + 1
        return made

    monkeypatch.setattr(Session, "run", run)
    text = "(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { [up] y = Resize (x, , s) }"
    with pytest.raises(resizefix.VerificationFailedError, match="default optimisation level"):
        resizefix.promote_scales(onnx_text.model(text))


def test_two_models_are_compared_by_two_sessions_each():
    assert resizefix.verify(SRCNN, SRCNN).sessions == 2 * 2


def test_the_count_is_in_the_verbose_report_alone(tmp_path, call):
    for options, said in (((), False), (("-v",), True)):
        _, out, error = call("promote-scales", SRCNN, tmp_path / "out.onnx", "--force", *options)
        assert ("7 sessions of onnxruntime opened" in out + error) == said


def test_a_rewrite_opens_each_model_once_at_each_level():
    assert resizefix.legalize(SRCNN, target="tensorrt-7.0").verification.sessions == 4


def test_a_repair_counts_its_sessions():
    model = onnx_text.model("""(float[1,1,4,4] x) => (float[] y)
        <float[4] s = {1, 1, 2, 2}, int64[4] sizes = {1, 1, 8, 8}> { y = Resize <mode = "nearest"> (x, , s, sizes) }""")
    assert resizefix.repair(model, prefer="scales").verification.sessions > 0


def test_an_original_whose_sizes_optimising_folds_otherwise_is_opened_at_both_levels():
    """Its promoted model gives the same bits at both levels, and users run the original at the default one."""
    with pytest.raises(resizefix.VerificationFailedError, match="default optimisation level"):
        resizefix.promote_scales(SRCNN.parent / "handmade" / "size_rules_disagree.onnx")
