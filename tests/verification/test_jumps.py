"""Behind a change that is right but for rounding, what operators that jump read is compared instead of their answer."""

import numpy as np
import onnx_text

from resizefix.document.document import Document
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine
from resizefix.verification.jumps import agree_before_jumps, jumps_of

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
        lambda side, optimized, names: engine.open(pair[side], optimized=optimized, extra_outputs=names),
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
    assert said(documents(1, 1), None) is not None
    assert said(documents(1, 1.001), None) is None


def test_a_model_without_such_operators_has_no_excuse():
    model = Document.from_proto(onnx_text.model("(float[2] x) => (float[2] y) { y = Relu (x) }"))
    assert jumps_of(model, model) is None
