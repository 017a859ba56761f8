"""Running models in onnxruntime to prove that a changed one computes what the original did."""
