"""Models of `fixtures/` that many tests read."""

from pathlib import Path

import numpy as np

FIXTURES = Path(__file__).parents[1] / "fixtures"
SRCNN = FIXTURES / "srcnn_x3_opset11.onnx"
DYNAMIC = FIXTURES / "srcnn_x3_opset11_dynamic.onnx"
UNET = FIXTURES / "unet_nearest_opset11.onnx"
ESRGAN = FIXTURES / "esrgan_x4_opset17.onnx"
BISENET = FIXTURES / "bisenet_x8_linear_opset9.onnx"


def srcnn_of_torch(factor: str) -> tuple[np.ndarray, np.ndarray]:
    """An image, and what torch's SRCNN makes of it: of both sides at `2`, `2.5`, `3` or `4`, or at `2x3`."""
    with np.load(FIXTURES / "srcnn_expected.npz") as expected:
        return expected["input"], expected[f"output_x{factor}"]
