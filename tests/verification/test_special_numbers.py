"""Models that are one function of usual numbers, and another one of the negative zero, of NaN or of an infinity."""

from __future__ import annotations

import pytest
from onnx_text import model

from resizefix import verify

GRAPH = "(float[N,4] x) => (float[N,4] y) <float z = {0}, float one = {1}> "


def verified(before: str, after: str):
    return verify(model(GRAPH + before), model(GRAPH + after))


@pytest.mark.parametrize(
    ("before", "after", "special"),
    [
        ("{ y = Identity(x) }", "{ y = Add(x, z) }", "-0.0"),
        ("{ s = ReduceSum(x) y = Mul(x, s) }", "{ t = Add(x, z) s = ReduceSum(x) y = Mul(t, s) }", "-0.0"),
        ("{ y = Identity(x) }", "{ c = IsNaN(x) y = Where(c, z, x) }", "NaN"),
        ("{ y = Identity(x) }", "{ c = IsInf(x) y = Where(c, z, x) }", "infinity"),
        (
            "{ c = IsInf(x) y = Where(c, z, x) }",
            "{ c = IsInf <detect_negative = 0> (x) y = Where(c, z, x) }",
            "infinity",
        ),
    ],
)
def test_models_that_a_special_number_tells_apart_are_not_the_same(before, after, special):
    verification = verified(before, after)
    assert not verification.passed
    assert verification.reason.startswith(f"Where an input holds {special}, ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{ y = Identity(x) }", "{ y = Sub(x, z) }"),  # -0.0 - 0.0 is -0.0
        ("{ y = Identity(x) }", "{ y = Mul(x, one) }"),
        ("{ y = Mul(x, x) }", "{ t = Identity(x) y = Mul(t, x) }"),
        ("{ c = IsNaN(x) y = Where(c, z, x) }", "{ t = Identity(x) c = IsNaN(t) y = Where(c, z, t) }"),
    ],
)
def test_models_that_make_the_same_of_special_numbers_are_the_same_without_a_note(before, after):
    verification = verified(before, after)
    assert verification.passed
    assert verification.reason is None


def test_what_models_make_of_a_number_that_no_node_asks_for_is_said_and_no_difference():
    clipped = "{ a = Max(x, z) y = Add(a, one) }"
    chosen = "{ c = Greater(x, z) a = Where(c, x, z) y = Add(a, one) }"
    verification = verified(clipped, chosen)
    assert verification.passed
    assert verification.reason.startswith("not the same where an input holds NaN: output 'y'")
