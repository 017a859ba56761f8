"""Models of `fixtures/` that many tests read."""

from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
SRCNN, DYNAMIC, UNET, ESRGAN = (
    FIXTURES / f"{name}.onnx"
    for name in ("srcnn_x3_opset11", "srcnn_x3_opset11_dynamic", "unet_nearest_opset11", "esrgan_x4_opset17")
)
