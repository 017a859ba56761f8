"""Two models on the same feeds."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_text
import pytest

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.outcome import ErrorBound
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions, Verification, VerificationStatus
from resizefix.verification.verify import verify

CONSTANT = """(float[1,3,h,w] x) => (float[1,3,oh,ow] y) <float[4] s = {1, 1, 3, 3}> {
    y = Resize<mode="linear">(x, , s)
}"""
PROMOTED = """(float[1,3,h,w] x, float[4] x_scales) => (float[1,3,oh,ow] y) {
    y = Resize<mode="linear">(x, , x_scales)
}"""
NEGATED = "(float[1,3,h,w] x) => (float[1,3,h,w] y) { y = Neg(x) }"


def document(graph: str) -> Document:
    return onnx_text.document(graph, 17, "acme")


def verified(
    before: str, after: str, *, feeds: Mapping[str, object] | None = None, runs: int = 1, **options: Any
) -> Verification:
    allowed = ErrorBound.elementwise(options.pop("atol", 0.0), options.pop("rtol", 0.0))
    feeding = Feeding(feeds or {}, runs=runs)
    return verify(document(before), document(after), Conditions(**options), allowed, feeding)


def test_a_model_equals_itself_at_both_levels():
    result = verified(CONSTANT, CONSTANT)
    assert result.passed
    assert result.reason is None
    assert [(run.optimized, run.bitwise, run.max_abs_diff) for run in result.runs] == [
        (False, True, 0),
        (True, True, 0),
    ]
    assert [run.bound for run in result.runs] == [0, 2e-5]
    assert result.runs[0].shapes == {"x": [1, 3, 32, 48]}
    assert result.runs[0].values == {}


def test_promoted_scales_are_fed_and_shown():
    result = verified(CONSTANT, PROMOTED, feeds={"x_scales": [1, 1, 3, 3]})
    assert result.passed
    assert result.runs[0].values == {"x_scales": [1, 1, 3, 3]}
    assert result.runs[0].shapes == {"x": [1, 3, 32, 48], "x_scales": [4]}


def test_scales_that_are_not_the_old_ones_are_another_output_and_the_shapes_are_said():
    result = verified(CONSTANT, PROMOTED, feeds={"x_scales": [1, 1, 2, 2]})
    assert result.status is VerificationStatus.FAILED
    assert result.reason == (
        "With optimisation disabled, output 'y' is float32[1, 3, 96, 144] before and float32[1, 3, 64, 96] after."
    )
    assert [(run.optimized, run.bitwise) for run in result.runs] == [(False, False)]


def test_an_input_without_a_value_is_a_wrong_argument():
    with pytest.raises(UsageError, match="--feed x_scales=1,1,3,3"):
        verified(CONSTANT, PROMOTED)


# Resize→Shape→Expand with the shape of the old scales left in value_info: at the default level onnxruntime folds Shape
# to 8×8 whatever is fed, expands to that, and no one hears of it.
SHAPE_READ = """(float[1,1,4,4] x, float[1,1,1,1] b, float[4] s) => (float[1,1,oh,ow] y) %s {
    r = Resize<mode="nearest">(x, , s)
    d = Shape(r)
    y = Expand(b, d)
}"""
CLEAN = SHAPE_READ % ""
STALE = SHAPE_READ % "<float[1,1,8,8] r>"


def test_a_stale_shape_that_only_the_default_level_believes_is_found():
    result = verified(CLEAN, STALE, feeds={"s": [1, 1, 3, 3]})
    assert result.status is VerificationStatus.FAILED
    assert [(run.optimized, run.bitwise) for run in result.runs] == [(False, True), (True, False)]
    assert result.reason.startswith(
        "At the default optimisation level, output 'y' is float32[1, 1, 12, 12] before and float32[1, 1, 8, 8] after."
    )


def test_the_same_stale_shape_does_no_harm_at_the_old_scales():
    assert verified(CLEAN, STALE, feeds={"s": [1, 1, 2, 2]}).passed


def test_a_small_difference_is_one_unless_it_is_allowed():
    before = "(float[1,3,4,4] x) => (y) <float c = {1.0}> { y = Mul(x, c) }"
    after = before.replace("1.0", "1.0001")
    result = verified(before, after)
    assert not result.passed
    assert 0 < result.runs[0].max_abs_diff < 1e-3
    assert verified(before, after, rtol=2e-4).passed
    assert verified(before, after, atol=1e-3).passed
    assert not verified(before, after, atol=1e-7).passed
    assert not verified(before, after, rtol=1e-5).passed


def test_further_runs_have_other_feeds():
    # Equal only on the first seed's feeds, where the condition is true.
    text = """(float[9] x, bool c) => (y) {
        y = If(c) <then_branch = t () => (float[9] u) { u = Neg(x) }, else_branch = e () => (float[9] v) { v = %s(x) }>
    }"""
    before, after = text % "Neg", text % "Abs"
    assert verified(before, after).status is VerificationStatus.UNREFUTED
    assert not verified(before, after, runs=2).passed
    assert not verified(before, after, seed=1).passed
    assert len(verified(before, before, runs=3).runs) == 6


def test_given_shapes_are_used():
    result = verified(CONSTANT, CONSTANT, shapes={"x": (1, 3, 5, 7)})
    assert result.runs[0].shapes == {"x": [1, 3, 5, 7]}
    with pytest.raises(UsageError, match="does not fit input 'x'"):
        verified(CONSTANT, CONSTANT, shapes={"x": (1, 4, 5, 7)})


def test_at_least_one_run_is_asked_for():
    with pytest.raises(UsageError, match="at least one run"):
        verified(CONSTANT, CONSTANT, runs=0)


NEVER = "(float[1,3,h,w] x) => (y) <int64[1] c = {1001}> { y = Reshape(x, c) }"  # no multiple of 3
EMPTY = "(float[1,3,8,8] x) => (y) <int64[1] a = {0}, int64[1] b = {2}> { y = Slice(x, a, a, b) }"
CUSTOM = "(float[1,3,h,w] x) => (y) { y = acme.Op(x) }"
FILLED = """(float[1,1,4,4] x, float[4] s) => (float[1,1,oh,ow] y) %s {
    r = Resize<mode="nearest">(x, , s)
    d = Shape(r)
    o = ConstantOfShape<value = float[1] {1.0}>(d)
    y = Add(o, r)
}"""


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (CONSTANT, CONSTANT.replace('"linear"', '"cubic"'), "output 'y' differs in"),
        (NEGATED, "(float[1,3,h,w] x) => (y, z) { y = Neg(x) z = Abs(x) }",
         r"^The models have different outputs. Only BEFORE has: none. Only AFTER has: 'z'.$"),
        (NEVER, NEGATED, r"^BEFORE cannot be run at node 'Reshape#0' \(Reshape\): "),
        (NEGATED, NEVER, r"^AFTER cannot be run at node 'Reshape#0' \(Reshape\): "),
        (CUSTOM, CUSTOM, "acme:Op"),
        (EMPTY, EMPTY, "nothing was compared"),
        (FILLED % "", FILLED % "<float[1,1,8,8] r>", "^AFTER at the default optimisation level cannot be run.*8 by 12"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(before, after, reason):
    result = verified(before, after, feeds={"s": [1, 1, 3, 3]} if before.startswith(FILLED[:30]) else {})
    assert result.status is VerificationStatus.FAILED
    assert re.search(reason, result.reason, re.DOTALL)


def test_a_model_that_cannot_be_loaded_is_named(tmp_path):
    broken = "(float[1,3,h,w] x) => (y) { y = Resize(x) }"
    result = verified(NEGATED, broken)
    assert result.status is VerificationStatus.FAILED
    assert result.reason.startswith("onnxruntime cannot load AFTER (node 'Resize#0', Resize): ")
    assert result.runs == ()
    document(broken).save(tmp_path / "broken.onnx")
    result = verify(Document.open(tmp_path / "broken.onnx"), document(NEGATED))
    assert f"BEFORE ({tmp_path / 'broken.onnx'})" in result.reason


def test_defaults_of_their_own_are_left_to_the_models():
    with_default = PROMOTED.replace("{\n", "<float[4] x_scales = {1, 1, %d, 3}> {\n", 1)
    assert verified(CONSTANT, with_default % 3).passed
    assert not verified(CONSTANT, with_default % 2).passed
    assert verified(with_default % 2, PROMOTED).passed  # the default of one is fed to both


def test_models_that_draw_random_numbers_are_comparable():
    before = "(float[3] x) => (y) { r = RandomNormalLike(x) y = Add(x, r) }"
    after = "(float[3] x) => (y) { a = Neg(x) b = Neg(a) r = RandomNormalLike(x) y = Add(b, r) }"
    found = verified(before, after, runs=2)
    assert found.passed
    assert found.reason == "'RandomNormalLike#0' drew the same random numbers in both models"


def test_a_difference_of_models_that_draw_random_numbers_names_the_nodes():
    before = "(float[3] x) => (y) { r = RandomNormalLike(x) y = Add(x, r) }"
    after = "(float[3] x) => (y) { other = RandomNormalLike(x) y = Add(x, other) }"
    found = verified(before, after)
    assert not found.passed
    assert found.reason.endswith(
        "The model draws random numbers at 'RandomNormalLike#0'; a tensor of another name gets others."
    )


def test_neither_document_is_changed():
    before, after = document(CONSTANT), document(PROMOTED)
    bytes_before = before.light_bytes(), after.light_bytes()
    verify(before, after, feeding=Feeding({"x_scales": np.array([1, 1, 3, 3], np.float32)}))
    assert (before.light_bytes(), after.light_bytes()) == bytes_before


def test_every_run_says_what_it_allowed_as_a_part_of_the_largest_value():
    one = document("(float[1,1,4,4] x) => (float[1,1,4,4] y) { y = Abs (x) }")
    assert {run.bound for run in verify(one, one).runs} == {0.0, 2e-5}
    assert all(run.bound == 0.5 for run in verify(one, one, allowed=ErrorBound.elementwise(0.0, 0.5)).runs)
    for run in verify(one, one, allowed=ErrorBound.elementwise(0.5, 0.0)).runs:
        assert 0.1 < run.bound < 1  # unit-normal values: the largest of 16 is about 2


PACKED = "(float[n,c,h,w] x) => (float[a,b,d,e] y) <int64[4] k = {1, 17, 5, 5}> { r = Reshape (x, k) y = Neg (r) }"
OPEN = "(float[n,c,h,w] x) => (float[a,b,d,e] y) { y = Neg (x) }"


@pytest.mark.parametrize(("before", "after", "side"), [(PACKED, PACKED, "BEFORE"), (OPEN, PACKED, "AFTER")])
def test_a_model_that_runs_at_other_sizes_than_were_chosen_says_which_to_give(before, after, side):
    found = verified(before, after)
    said = "The sizes of 'x' were chosen here; give others with shape"
    assert found.status is VerificationStatus.FAILED
    assert found.reason.startswith(f"{side} cannot be run at node 'Reshape#0'")
    assert found.reason.endswith(said)
    assert verified(before, after, shapes={"x": (1, 17, 5, 5)}).passed
    again = verified(before, after, shapes={"x": (1, 17, 5, 6)})
    assert again.status is VerificationStatus.FAILED
    assert said not in again.reason
