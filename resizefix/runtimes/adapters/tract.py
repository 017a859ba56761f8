"""tract on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import Arrays, ModelToLoad, Options, Run


def version(options: Options) -> str:
    """The native library's version."""
    return f"tract {import_module('tract').version()}"


def load(model: ModelToLoad, options: Options) -> Run:
    """Read by tract's ONNX front end, typed, and optimised."""
    tract: Any = import_module("tract")
    inferred = tract.onnx().load(model.path)
    names = [inferred.input_name(index) for index in range(inferred.input_count())]
    runnable = inferred.into_model().into_runnable()

    def run(feeds: Arrays) -> Sequence[Any]:
        return [result.to_numpy() for result in runnable.run([feeds[name] for name in names])]

    return run
