"""A model may move by twice what noise of a rewrite's size moves it."""

import numpy as np
import onnx_text
import pytest

from resizefix.document.document import Document
from resizefix.outcome import ErrorBound
from resizefix.scope_path import MAIN, BodyName, ScopePath
from resizefix.verification.engine import Engine
from resizefix.verification.noise import moved_by_noise
from resizefix.verification.verification import Conditions

FEEDS = {"x": np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)}


def moved(nodes: str, bound: float) -> dict[str, float]:
    text = f"(float[1,1,8,8] x) => (float[1,1,8,8] y) <float c = {{100}}> {{ r = Relu (x) {nodes} }}"
    document = Document.from_proto(onnx_text.model(text))
    return moved_by_noise(Engine(Conditions()), document, {(MAIN, "r"): ErrorBound(False, bound)}, FEEDS)


@pytest.mark.parametrize("bound", [1e-5, 1e-3])
def test_what_passes_noise_on_may_move_by_twice_the_noise(bound):
    assert 1.5 * bound < moved("y = Neg (r)", bound)["y"] <= 2 * bound * 1.01


def test_what_makes_noise_larger_may_move_more():
    assert moved("d = Sub (r, x) e = Mul (d, c) y = Sin (e)", 1e-4)["y"] > 1e-3


def test_what_makes_noise_smaller_may_move_less():
    assert moved("m = GlobalAveragePool (r) k = Sub (m, m) y = Add (k, x)", 1e-2)["y"] < 1e-6


def test_nodes_in_bodies_are_not_looked_at():
    document = Document.from_proto(onnx_text.model("(float[2] x) => (float[2] y) { y = Relu (x) }"))
    key = ScopePath([BodyName("If_0", "then_branch")]), "z"
    assert (
        moved_by_noise(Engine(Conditions()), document, {key: ErrorBound(False, 1e-3)}, {"x": np.ones(2, np.float32)})
        == {}
    )
