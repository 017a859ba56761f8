"""TensorRT's parser in tests: another in its place, and the mark of what asks the real one."""

from __future__ import annotations

import onnx
import pytest

from resizefix.runtimes.tensorrt import unavailable

missing = unavailable()
needs_tensorrt = pytest.mark.skipif(missing is not None, reason=missing.reason if missing else "")


class StandIn:
    """Gives these answers in order in the place of `LiveParser`, and remembers what it was asked."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, object]] = []
        self.time_limits: list[float] = []

    def __call__(self, *, time_limit: float) -> StandIn:
        self.time_limits.append(time_limit)
        return self

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, model: bytes, folder: object, **options: object) -> object:
        onnx.ModelProto.FromString(model)
        self.asked.append(options)
        return self.answers.pop(0)
