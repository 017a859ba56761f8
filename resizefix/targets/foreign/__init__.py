"""Rules of the runtimes besides TensorRT and onnxruntime, loaded only where somebody asks about one of them."""
