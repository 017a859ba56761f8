"""OpenVINO on the CPU, in single precision."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import Arrays, ModelToLoad, Options, Run

# The plugin would choose bfloat16 where the processor has it.
_PRECISION = {"INFERENCE_PRECISION_HINT": "f32"}
_ONE_THREAD = {"INFERENCE_NUM_THREADS": 1}


def version(options: Options) -> str:
    """The package's version."""
    return f"OpenVINO {import_module('openvino').__version__.split('-')[0]}"


def load(model: ModelToLoad, options: Options) -> Run:
    """Read by OpenVINO's ONNX front end, compiled for the CPU."""
    openvino: Any = import_module("openvino")
    core = openvino.Core()
    configuration = _PRECISION if options.get("threads") == "default" else {**_PRECISION, **_ONE_THREAD}
    compiled = core.compile_model(core.read_model(model.path), "CPU", configuration)
    inputs = [name for name in model.feeds if any(name in entry.get_names() for entry in compiled.inputs)]

    def run(feeds: Arrays) -> Sequence[Any]:
        results = compiled({name: feeds[name] for name in inputs})
        return [results[index] for index in range(len(compiled.outputs))]

    return run
