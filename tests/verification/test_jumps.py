"""Behind a change that is right but for rounding, what operators that jump read is compared instead of their answer."""

import numpy as np
import onnx_text
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.verification.engine import DifferenceError, Engine
from resizefix.verification.jumps import agree_before_jumps, jumps_of, require_agreement_before
from resizefix.verification.trial import Side
from resizefix.verification.verification import Conditions

PEAKS = """(float[1,1,8,8] x) => (float[1,1,8,8] score, bool[1,1,8,8] peak) <float c = {%s}> {
    y = Mul (x, c)
    m = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (y)
    [picked] peak = Equal (y, m)
    score = Sigmoid (y) }"""


def documents(*factors: float) -> tuple[Document, Document]:
    one, other = (Document.from_proto(onnx_text.model(PEAKS % factor)) for factor in factors)
    return one, other


def said(pair: tuple[Document, Document], relative: float | None) -> str | None:
    engine = Engine(Conditions())
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, 8, 8)).astype(np.float32)}
    return agree_before_jumps(
        engine,
        pair,
        lambda side, optimized, names: engine.open(pair[side is Side.AFTER], optimized=optimized, extra_outputs=names),
        feeds,
        relative,
    )


def test_what_jumps_and_what_it_reads_is_found():
    jumps = jumps_of(*documents(1, 1))
    assert jumps is not None
    assert (jumps.operators, jumps.read, jumps.smooth) == (("Equal",), ("y", "m"), ("score",))


def test_a_difference_within_the_bound_before_the_jump_is_none():
    assert "Equal" in (said(documents(1, 1.00001), 1e-4) or "")
    assert said(documents(1, 1.001), 1e-4) is None


def test_at_the_default_level_the_bound_is_that_of_the_model_before():
    assert said(documents(1, 1.0000002), None) is not None
    assert said(documents(1, 1.001), None) is None


def test_a_jump_that_reads_the_same_numbers_excuses_nothing():
    apart = (
        PEAKS.replace("(y)\n", "(n)\n").replace("Equal (y", "Equal (n").replace("y = Mul", "n = Neg (x)\n    y = Mul")
    )
    behind = apart.replace("Sigmoid (y)", "Where (peak, y, x)")
    one, other = (Document.from_proto(onnx_text.model(behind % factor)) for factor in (1, 1.001))
    assert said((one, other), 1e-4) is None


def test_a_model_without_such_operators_has_no_excuse():
    model = Document.from_proto(onnx_text.model("(float[2] x) => (float[2] y) { y = Relu (x) }"))
    assert jumps_of(model, model) is None


# The mask jumps where a value is 0.3; the resize is replaced by products that come near.
MASKED = """(float[1,3,16,24] x) => (float[1,3,48,72] z) <float[4] s = {1, 1, 3, 3}, float t = {0.3}> {
    y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, "", s)
    sig = Sigmoid (y)
    mask = Greater (%s, t)
    m = Cast <to = 1> (mask)
    z = Mul (y, m) }"""


def test_an_answer_names_what_jumps_behind_a_change_that_is_exact_to_a_bound():
    legalized = resizefix.legalize(onnx_text.model(MASKED % "sig"), target="tensorrt-7.0", live=False)
    assert legalized.verification.passed
    assert "Greater behind the change may answer otherwise" in legalized.verification.reason


def test_what_jumps_beside_the_change_is_not_named():
    text = MASKED.replace("(%s, t)", "(other, t)").replace("x) =>", "x, float[1,3,48,72] other) =>")
    legalized = resizefix.legalize(onnx_text.model(text), target="tensorrt-7.0", live=False)
    assert legalized.verification.passed
    assert "Greater" not in (legalized.verification.reason or "")


@pytest.mark.parametrize(
    ("factor", "moved", "passes"), [(1.00001, 0.0, True), (1.001, 0.0, False), (1.001, 0.01, True)]
)
def test_what_is_read_before_a_jump_is_within_the_bound_or_what_noise_does(factor, moved, passes):
    pair, engine = documents(1, factor), Engine(Conditions())
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, 8, 8)).astype(np.float32)}

    def opened(side, optimized, names):
        return engine.open(pair[side is Side.AFTER], optimized=optimized, extra_outputs=names)

    def judged():
        return require_agreement_before(engine, pair, opened, feeds, 1e-4, lambda names: dict.fromkeys(names, moved))

    if passes:
        assert "Equal" in judged()
    else:
        with pytest.raises(DifferenceError, match="which is read by an operator that jumps"):
            judged()
