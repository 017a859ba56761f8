"""What torch's F.interpolate becomes in ONNX, measured: `python -m benchmarks.torch_interpolate`."""
