"""`--opset N` of every command: the model is raised too, and that is verified with the rest."""

from functools import partial

import numpy as np
import onnx.parser
import pytest
from fixture_models import BISENET, FIXTURES
from onnx_text import model
from ort_runs import opened

import resizefix
from resizefix.diagnostics import RefusedError, UsageError
from resizefix.library import seam
from resizefix.library.result import VerificationFailedError
from resizefix.outcome import Status

POOLED = """(float[1,1,4,4] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 2, 2}>
    { p = AveragePool <kernel_shape = [2, 2]> (x)  a = Upsample (p, s)  b = Upsample (a, s)  y = Upsample (b, s) }"""
CALLS = {
    "repair": resizefix.repair,
    "legalize": partial(resizefix.legalize, target="tensorrt-8.0"),
    "set_interpolation": partial(resizefix.set_interpolation, coordinates="half_pixel", node="#2"),
}


def outputs(model):
    session = opened(model)
    shape = session.get_inputs()[0].shape
    return session.run(None, {"input": np.random.default_rng(0).standard_normal(shape).astype(np.float32)})


@pytest.mark.parametrize("call", ["repair", "legalize"])
def test_a_model_is_raised_and_computes_the_same(call):
    before = resizefix.Document.open(BISENET).to_proto()
    result = CALLS[call](before, opset=13)
    assert result.model.opset_import[0].version == 13
    assert result.verification.passed
    assert result.verification.runs
    assert {outcome.status for outcome in result.outcomes} == {Status.CHANGED}
    assert all(outcome.reason.startswith("the model is raised to opset 13; ") for outcome in result.outcomes)
    assert all("Upsample" in outcome.before and "Resize" in outcome.after[0] for outcome in result.outcomes)
    assert [a.tobytes() for a in outputs(before)] == [a.tobytes() for a in outputs(result.model)]


def test_a_repaired_model_is_raised():
    result = resizefix.repair(FIXTURES / "broken" / "fp16_scales_const_13.onnx", opset=17)
    (outcome,) = result.outcomes
    assert outcome.fault == "float16-extent"
    assert result.model.proto.opset_import[0].version == 17
    assert "Resize" in outcome.after[0]


@pytest.mark.parametrize("call", CALLS)
def test_an_older_opset_is_a_usage_error(call):
    with pytest.raises(UsageError, match="can only be raised"):
        CALLS[call](FIXTURES / "bisenet_x8_linear_opset10.onnx", opset=9)


@pytest.mark.parametrize("call", CALLS)
def test_an_operator_that_cannot_be_raised_is_named(call):
    with pytest.raises(RefusedError, match="AveragePool node"):
        CALLS[call](model(POOLED, 9, ir=4), opset=19)


@pytest.mark.parametrize("call", CALLS)
def test_a_raise_that_changes_a_number_is_not_written(call, monkeypatch):
    kept = seam.raised

    def wrong(document, opset):
        made = kept(document, opset)
        if made is not document:
            for node in made.proto.graph.node:
                for attribute in node.attribute:
                    if attribute.name == "coordinate_transformation_mode":
                        attribute.s = b"align_corners"
        return made

    for module in ("repair", "legalize", "set_interpolation"):
        monkeypatch.setattr(f"resizefix.library.{module}.raised", wrong)
    with pytest.raises(VerificationFailedError):
        CALLS[call](BISENET, opset=11)


COMPUTED = onnx.parser.parse_model("""
    <ir_version: 5, opset_import: ["" : 10], producer_name: "pytorch">
    g (float[1,3,h,w] x, float[1,3,a,b] like) => (float[1,3,c,d] y)
    <int64[1] two = {2}, int64[1] four = {4}, float[2] ones = {1, 1}>
    {
        mine = Shape (x)  theirs = Shape (like)
        from = Slice (mine, two, four)  to = Slice (theirs, two, four)
        n = Cast <to = 1> (from)  m = Cast <to = 1> (to)
        r = Div (m, n)  s = Concat <axis = 0> (ones, r)
        y = Resize <mode = "linear"> (x, s)
    }
""")


def test_a_node_that_a_target_takes_in_a_later_opset_alone_is_refused_with_the_option_that_raises_it():
    (refused,) = resizefix.legalize(COMPUTED, target="opencv-5", on_refusal="return").outcomes
    assert refused.status is Status.REFUSED
    assert refused.retry_args == ("--opset", "11")
    result = resizefix.legalize(COMPUTED, target="opencv-5", opset=11)
    assert result.outcomes[0].status is Status.CHANGED
    assert result.verification.passed
    assert resizefix.check(result.model, target="opencv-5").accepted


def test_to_raise_is_not_advised_where_it_does_not_help():
    for target in ("tensorrt-7.2", "tensorrt-8.0"):
        (refused,) = resizefix.legalize(COMPUTED, target=target, on_refusal="return").outcomes
        assert refused.status is not Status.REFUSED or "--opset" not in refused.retry_args


HALF = """(float16[1,1,8,8] x) => (float16[a,b,c,d] z)
    <float16[1,1,1,1] w = {14746}, float[4] s = {1, 1, 2, 2}> {
        v = Conv (x, w)  r = Relu (v)  k = Concat <axis = 2> (r, v)  c = Conv (k, w)
        z = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (c, "", s)
    }"""


@pytest.mark.parametrize(
    ("call", "options"), [("repair", {}), ("legalize", {"target": "onnxruntime"}), ("promote_scales", {})]
)
def test_a_raise_that_changes_the_last_bit_is_not_written(call, options, monkeypatch):
    half = model(HALF, 18)
    with pytest.raises(RefusedError, match="Relu node 'r'"):
        getattr(resizefix, call)(half, opset=21, **options)
    monkeypatch.setattr("resizefix.opsets.raising.first_computed_otherwise", lambda *_: None)
    with pytest.raises(VerificationFailedError, match="without optimisation the last bits differ"):
        getattr(resizefix, call)(half, opset=21, **options)


def test_scales_of_a_raised_resize_10_are_promoted_with_the_side_of_1_on_which_it_rounds_as_before():
    text = "(float[1,1,6,9] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, {}, {}}}> {{ [up] y = Resize (x, s) }}"
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 9)).astype(np.float32)
    sides = {
        "while no scale is below 1": ((2, 3), (1.5, 2.5), (1, 2)),
        "while no scale is above 1": ((0.5, 0.4), (1, 0.7)),
    }
    for side, (old, *others) in sides.items():
        (outcome,), promoted = promoted_in_13(text.format(*old), 10)
        assert outcome.condition.startswith(side)
        assert outcome.condition in outcome.reason
        for scales in (old, *others):
            feeds = {"x": x, "up_scales": np.array([1, 1, *scales], np.float32)}
            (wanted,) = opened(model(text.format(*scales), 10)).run(None, {"x": x})
            assert opened(promoted).run(None, feeds)[0].tobytes() == wanted.tobytes()
    linear, upsample = text.replace("Resize", 'Resize <mode = "linear">'), text.replace("Resize", "Upsample")
    for differs, opset in ((linear, 10), (upsample, 9)):
        assert promoted_in_13(differs.format(2, 3), opset)[0][0].condition is None
    assert promoted_in_13(text.format(2, 2), 10, for_="tensorrt")[0][0].condition is None
    assert promoted_in_13(text.format(2, 2), 10, for_="tensorrt", denominator=4)[0][0].condition


def promoted_in_13(text, opset, **options):
    result = resizefix.promote_scales(model(text, opset), opset=13, **options)
    return result.outcomes, result.model
