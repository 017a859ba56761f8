"""OpenCV's dnn module, version 4 or 5; version 5 with the engine that `options` name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from resizefix.runtimes.adapters import Arrays, ModelToLoad, Options, Run, UnavailableError


def version(options: Options) -> str:
    """The package's version, which must begin with `options["major"]`."""
    installed: str = import_module("cv2").__version__
    if installed.split(".")[0] != options["major"]:
        raise UnavailableError(f"the cv2 that is installed is version {installed}")
    engine = options.get("engine")
    return f"OpenCV {installed} dnn" + (f", engine {engine}" if engine else "")


def load(model: ModelToLoad, options: Options) -> Run:
    """Read by cv2.dnn.readNetFromONNX."""
    cv2: Any = import_module("cv2")
    if options.get("threads") != "default":
        cv2.setNumThreads(1)
    engine = options.get("engine")
    arguments = [getattr(cv2.dnn, f"ENGINE_{engine.upper()}")] if engine else []
    net = cv2.dnn.readNetFromONNX(model.path, *arguments)

    def run(feeds: Arrays) -> Sequence[Any]:
        for name, value in feeds.items():
            net.setInput(value, name)
        return [value.copy() for value in net.forward(list(model.outputs))]

    return run
