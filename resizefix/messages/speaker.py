"""Which runtime printed a text that no row knows: by the names that its logs begin with."""

from __future__ import annotations

import re

# In the order in which they are looked for; providers of onnxruntime name themselves, and it beside them.
_SPEAKERS = (
    ("tensorrt", r"\btensorrt\b|\[trt\]|trtexec|nvonnxparser|onnx-tensorrt|onnx2trt|builtin_op_importers"),
    ("qnn", r"\bqnn\b"),
    ("coreml", r"core ?ml"),
    ("nnapi", r"\bnnapi\b"),
    ("migraphx", r"migraphx"),
    ("rknn", r"\brknn\b"),
    ("tidl", r"\btidl\b"),
    ("openvino", r"openvino|\bov::|ngraph|model optimizer"),
    ("opencv", r"\bopencv\b|\bcv2?::|\bcv2\."),
    ("ncnn", r"\bncnn\b|\bpnnx\b|onnx2ncnn"),
    ("mnn", r"\bmnn\b|mnnconvert"),
    ("tract", r"\btract\b|tract_onnx"),
    ("tvm", r"\btvm\b|\brelax\b|\brelay\b"),
    ("onnxruntime", r"onnxruntime|\bort\b"),
)


def speaker(pasted: str) -> str | None:
    """The runtime's name, as `--target` takes it; None: the text names none."""
    return next((name for name, words in _SPEAKERS if re.search(words, pasted, re.IGNORECASE)), None)
