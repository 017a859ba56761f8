"""The README's recipes, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from kinds_of_model import FIXTURES

README = Path(__file__).parents[2] / "README.md"


def blocks_of(heading: str) -> list[str]:
    section = README.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


NETWORK = """
import torch, resizefix
class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 1, 3, padding=1)
    def forward(self, x):
        return torch.nn.functional.interpolate(self.conv(x), scale_factor=3, mode="bicubic")
network, image = Network().eval(), torch.rand(1, 1, 6, 7)
"""
RUN = """
import onnxruntime, numpy
session = onnxruntime.InferenceSession("any_scale.onnx")
x, scales = session.get_inputs()
(y,) = session.run(None, {x.name: image.numpy(), scales.name: numpy.array([1, 1, 4, 4], numpy.float32)})
assert y.shape == (1, 1, 24, 28)
"""


@pytest.mark.parametrize("position", [0, 1], ids=["TorchScript exporter", "dynamo exporter"])
def test_two_lines_after_an_export_of_torch(position, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript, which torch exports with, is not installed")
    recipe = blocks_of("Right after an export")[position]
    assert len([line for line in recipe.splitlines() if line and not line.startswith("#")]) == 2
    script = f"{NETWORK}{recipe}{RUN}"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_graph_of_graphsurgeon(tmp_path):
    os.symlink(FIXTURES, tmp_path / "fixtures")
    recipe = next(block for block in blocks_of("Right after an export") if "resizefix.graphsurgeon" in block)
    script = f"{recipe}\nassert resizefix.inspect('any_scale.onnx')[0].origin.kind.value == 'graph-input'"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_folder_of_models_two_at_a_time(tmp_path):
    for name in ("srcnn_x3_opset11", "bisenet_x8_nearest_opset9", "unet_nearest_opset11", "handmade/truncated"):
        target = tmp_path / "exported" / Path(f"{name}.onnx").name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((FIXTURES / f"{name}.onnx").read_bytes())
    script = next(block for block in blocks_of("Many models") if "ProcessPoolExecutor" in block)
    (tmp_path / "every_model.py").write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, "every_model.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "exported/bisenet_x8_nearest_opset9.onnx 1 passed",
        "exported/srcnn_x3_opset11.onnx 1 passed",
        "exported/truncated.onnx UnreadableModelError",
        "exported/unet_nearest_opset11.onnx 0 skipped",
    ]
    assert sorted(path.name for path in (tmp_path / "any_scale").iterdir()) == [
        "bisenet_x8_nearest_opset9.onnx",
        "srcnn_x3_opset11.onnx",
    ]
