"""onnxruntime as users run it: on the CPU, at its default optimization level; also another version of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import Arrays, ModelToLoad, Options, Run


def version(options: Options) -> str:
    """The package's version."""
    return f"onnxruntime {import_module('onnxruntime').__version__}"


def load(model: ModelToLoad, options: Options) -> Run:
    """A session of one thread, or of as many as onnxruntime takes unasked."""
    onnxruntime: Any = import_module("onnxruntime")
    settings = onnxruntime.SessionOptions()
    if options.get("threads") != "default":
        settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.path, settings, providers=["CPUExecutionProvider"])

    def run(feeds: Arrays) -> Sequence[Any]:
        outputs: Sequence[Any] = session.run(list(model.outputs), dict(feeds))
        return outputs

    return run
