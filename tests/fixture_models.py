"""Models of `fixtures/` that many tests read."""

from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
SRCNN = FIXTURES / "srcnn_x3_opset11.onnx"
DYNAMIC = FIXTURES / "srcnn_x3_opset11_dynamic.onnx"
UNET = FIXTURES / "unet_nearest_opset11.onnx"
ESRGAN = FIXTURES / "esrgan_x4_opset17.onnx"
BISENET = FIXTURES / "bisenet_x8_linear_opset9.onnx"
