"""Rules of the runtimes besides TensorRT and onnxruntime: tables of what was measured, and files of devices."""
