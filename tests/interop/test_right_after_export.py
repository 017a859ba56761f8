"""The recipes of the pages for Python and pipelines, run as they stand there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from child_python import printed
from fixture_models import FIXTURES

DOCS = Path(__file__).parents[2] / "docs"
LIBRARY, PIPELINES = DOCS / "library.md", DOCS / "how-to" / "pipelines.md"


def blocks_of(page: Path, heading: str, language: str = "python") -> list[str]:
    section = page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


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
    recipe = blocks_of(LIBRARY, "Right after an export")[position]
    assert len([line for line in recipe.splitlines() if line and not line.startswith("#")]) == 2
    printed("-c", f"{NETWORK}{recipe}{RUN}", cwd=tmp_path)


TENSORFLOW = """
import tensorflow as tf
class Network(tf.Module):
    def __init__(self):
        self.weights = tf.Variable(tf.random.normal([3, 3, 3, 3]))
    @tf.function(input_signature=[tf.TensorSpec([1, 6, 7, 3], tf.float32)])
    def __call__(self, x):
        return tf.image.resize(tf.nn.conv2d(x, self.weights, 1, "SAME"), [18, 21], method="bilinear")
tf.saved_model.save(Network(), "saved_model")
"""
PADDLE = """
import paddle
class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = paddle.nn.Conv2D(1, 1, 3, padding=1)
    def forward(self, x):
        return paddle.nn.functional.interpolate(self.conv(x), size=[18, 21], mode="bilinear")
network = Network()
network.eval()
spec = [paddle.static.InputSpec([1, 1, 6, 7], "float32")]
paddle.jit.save(paddle.jit.to_static(network, input_spec=spec), "inference/model")
"""


@pytest.mark.parametrize(
    ("packages", "export", "converter", "larger"),
    [
        (("tensorflow", "tf2onnx"), TENSORFLOW, "tf2onnx", (1, 24, 28, 3)),
        (("paddle", "paddle2onnx"), PADDLE, "paddle2onnx", (1, 1, 24, 28)),
    ],
    ids=["tf2onnx", "paddle2onnx"],
)
def test_two_lines_after_a_converter(packages, export, converter, larger, tmp_path):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    recipe = next(block for block in blocks_of(LIBRARY, "Right after an export", "sh") if converter in block)
    assert len(recipe.splitlines()) == 2
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "export.py").write_text(export, encoding="utf-8")  # paddle reads the source of what it traces
    printed("export.py", cwd=tmp_path)
    subprocess.run(["sh", "-e", "-c", recipe], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
    session = onnxruntime.InferenceSession(tmp_path / "any_scale.onnx")
    x, scales = session.get_inputs()
    feeds = {x.name: np.ones(x.shape, np.float32), scales.name: np.array([1, 1, 4, 4], np.float32)}
    assert session.run(None, feeds)[0].shape == larger


def test_a_graph_of_graphsurgeon(tmp_path):
    os.symlink(FIXTURES, tmp_path / "fixtures")
    recipe = next(block for block in blocks_of(LIBRARY, "Right after an export") if "resizefix.graphsurgeon" in block)
    said = printed("-c", f"{recipe}\nprint(resizefix.inspect('any_scale.onnx')[0].origin.kind.value)", cwd=tmp_path)
    assert said.endswith("graph-input\n")


def test_a_folder_of_models_two_at_a_time(tmp_path):
    for name in ("srcnn_x3_opset11", "bisenet_x8_nearest_opset9", "unet_nearest_opset11", "handmade/truncated"):
        target = tmp_path / "exported" / Path(f"{name}.onnx").name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((FIXTURES / f"{name}.onnx").read_bytes())
    under_an_engine = blocks_of(PIPELINES, "From Python, under an engine that you have")
    script = next(block for block in under_an_engine if "ProcessPoolExecutor" in block)
    (tmp_path / "every_model.py").write_text(script, encoding="utf-8")
    assert printed("every_model.py", cwd=tmp_path).splitlines() == [
        "exported/bisenet_x8_nearest_opset9.onnx 1 passed",
        "exported/srcnn_x3_opset11.onnx 1 passed",
        "exported/truncated.onnx UnreadableModelError",
        "exported/unet_nearest_opset11.onnx RefusedError",
    ]
    assert sorted(path.name for path in (tmp_path / "any_scale").iterdir()) == [
        "bisenet_x8_nearest_opset9.onnx",
        "srcnn_x3_opset11.onnx",
    ]
