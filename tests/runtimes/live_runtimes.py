"""The runtimes that are installed here; a test that needs another is skipped, and says which and how to install it."""

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import pytest

from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.runtime import LiveUnavailable, Runtime, RuntimeAnswer

ANY = onnx_text.model("(float[1,2,3,4] x) => (float[1,2,3,4] y) { y = Relu (x) }")


@cache
def why_missing(name: str) -> str | None:
    with Runtime(runtime_named(name), time_limit=60) as runtime:
        answer = asked(runtime, ANY, {"x": np.zeros((1, 2, 3, 4), np.float32)})
    return answer.reason if isinstance(answer, LiveUnavailable) else None


def require(name: str) -> None:
    missing = why_missing(name)
    if missing is not None:
        pytest.skip(missing)


def asked(runtime: Runtime, model: onnx.ModelProto, *feeds: dict[str, np.ndarray]) -> RuntimeAnswer | LiveUnavailable:
    path = Path(runtime.folder) / "model.onnx"
    onnx.save(model, path)
    return runtime.run(path, feeds, [value.name for value in model.graph.output])
