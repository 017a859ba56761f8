"""A file that computes what it says and not what its framework did: who hands it on to a device hears of it."""

from __future__ import annotations

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN
from onnx_text import model

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


def test_a_difference_that_no_option_removes_is_named_without_one(call, tmp_path):
    """By size to 24, PyTorch takes pixels that no scale gives at every length; the answer ended "choose that with "."""
    export = model(
        """(float[1, 1, L] x) => (float[1, 1, 24] y) <int64[3] s = {1, 1, 24}> {
          y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
            (x, , , s) }""",
        17,
    )
    export.producer_name = "pytorch"
    onnx.save(export, tmp_path / "nearest.onnx")
    code, out, _ = call("repair", tmp_path / "nearest.onnx", tmp_path / "out.onnx", "--prefer", "pytorch")
    assert code == 0
    assert "no option of repair brings what PyTorch computes" in " ".join(out.split())
