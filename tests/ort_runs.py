"""onnxruntime as the judge in tests: one thread, no optimisation unless it is asked for, and nothing printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnxruntime as ort
from onnx import ModelProto


def opened(model: ModelProto | bytes | str, *, optimized: bool = False) -> ort.InferenceSession:
    """A session of a model, its bytes or its path."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    given = model.SerializeToString() if isinstance(model, ModelProto) else model
    return ort.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def run(model: ModelProto | bytes | str, feeds: Mapping[str, Any], *, optimized: bool = False) -> list[Any]:
    """All outputs. Of the feeds those count that the model has an input for."""
    session = opened(model, optimized=optimized)
    names = {entry.name for entry in (*session.get_inputs(), *session.get_overridable_initializers())}
    return list(session.run(None, {name: value for name, value in feeds.items() if name in names}))
