"""A file that computes what it says and not what its framework did: who hands it on to a device hears of it."""

from __future__ import annotations

import pytest
from fixture_models import FIXTURES, SRCNN

BISENET = FIXTURES / "bisenet_x8_linear_opset9.onnx"
WARNING = (
    "warning: 1 resize computes other numbers than the framework did; for its numbers, first: resizefix repair IN OUT"
)


@pytest.mark.parametrize("words", [("trt-legacy",), ("legalize", "--target", "tensorrt-5.0"), ("check",)])
def test_who_hands_the_model_on_is_warned(call, words):
    writing = () if words == ("check",) else ("--dry-run", "--no-verify", "--allow-inexact")
    _, out, _ = call(words[0], BISENET, *words[1:], *writing)
    assert WARNING in " ".join(out.split())


@pytest.mark.parametrize("words", [("legalize", "--target", "tensorrt-5.0"), ("check",)])
def test_where_the_file_computes_what_the_framework_did_nothing_is_said(call, words):
    writing = () if words == ("check",) else ("--dry-run", "--no-verify", "--allow-inexact")
    _, out, err = call(words[0], SRCNN, *words[1:], *writing)
    assert "framework" not in out + err
