"""MNN on the CPU in single precision: its native converter and its native engine.

Its Python package is never imported: the wrapper around the converter installs and runs telemetry.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import AdapterRefusedError, Arrays, ModelToLoad, Options, Run

# What a variable of MNN can hold; the types of ONNX that it lacks are given as its converter has them in the model.
_HELD = {
    **dict.fromkeys(("f4", "f2", "f8"), ("float", "f4")),
    **dict.fromkeys(("i4", "i8", "b1"), ("int", "i4")),
    "u1": ("uint8", "u1"),
    "i1": ("int8", "i1"),
}


def version(options: Options) -> str:
    """The engine's version."""
    import_module("_tools")
    return f"MNN {import_module('_mnncengine').version()}"


def load(model: ModelToLoad, options: Options) -> Run:
    """Converted, then opened as a module, whose sizes may change between two runs."""
    engine: Any = import_module("_mnncengine")
    converted = os.path.join(model.folder, "model.mnn")
    if os.path.exists(converted):
        os.remove(converted)
    arguments = {"-f": "ONNX", "--modelFile": model.path, "--MNNModel": converted, "--keepInputFormat": "1"}
    import_module("_tools").mnnconvert(["mnnconvert", *(word for pair in arguments.items() for word in pair)])
    if not os.path.exists(converted):
        raise AdapterRefusedError("the converter wrote no model")
    expr = engine._expr
    threads = 4 if options.get("threads") == "default" else 1  # four by default (ScheduleConfig)
    # No runtime manager; not dynamic, sizes may change, not rearranged.
    settings = (False, True, False, expr.Backend.CPU, expr.MemoryMode.Normal, expr.PowerMode.Normal)
    module = engine._nn.load_module_from_file(
        None, list(model.feeds), list(model.outputs), converted, *settings, expr.PrecisionMode.High, threads
    )

    def run(feeds: Arrays) -> Sequence[Any]:
        results = module.forward([_variable(expr, value) for value in feeds.values()])
        return [_array(expr, result) for result in (results if isinstance(results, list) else [results])]

    return run


def _variable(expr: Any, value: Any) -> Any:
    held = _HELD.get(value.dtype.str[1:])
    if held is None:
        raise AdapterRefusedError(f"MNN's Python interface has no tensors of type {value.dtype}")
    kind, dtype = held
    return expr.const(value.astype(dtype), list(value.shape), expr.NCHW, getattr(expr, kind))


def _array(expr: Any, result: Any) -> Any:
    if result.data_format != expr.NCHW:
        result = expr.convert(result, expr.NCHW)
    return result.read().reshape(result.shape)
