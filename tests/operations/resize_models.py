"""Models of one resize and what onnxruntime makes of them, written by hand: no line of the package takes part."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from ort_runs import opened

ort.set_default_logger_severity(4)


def resize_model(
    opset: int,
    shape: tuple[int | str, ...],
    *,
    scales: tuple[float, ...] | None = None,
    sizes: tuple[int, ...] | None = None,
    kind: int = TensorProto.FLOAT,
    **attributes: Any,
) -> onnx.ModelProto:
    """x → Relu → Resize (Upsample before opset 10) → y, plus a Relu of y as a second output."""
    constants = []

    def constant(name: str, values: object, dtype: type) -> str:
        constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    if opset < 9:
        inputs, attributes = ["r"], {**attributes, "scales": [float(scale) for scale in scales or ()]}
    elif opset < 11:
        inputs = ["r", constant("s", scales, np.float32)]
    else:
        empty = constant("empty", [], np.float32) if opset < 13 else ""
        inputs = ["r", empty, constant("s", scales, np.float32) if scales else empty]
        inputs += [constant("z", sizes, np.int64)] if sizes else []
    node = helper.make_node("Upsample" if opset < 10 else "Resize", inputs, ["y"], name="up", **attributes)
    rank = len(shape)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["r"], name="in"), node, helper.make_node("Identity", ["y"], ["z2"])],
        "one",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(name, kind, [None] * rank) for name in ("y", "z2")],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(model: onnx.ModelProto, x: np.ndarray, *, optimized: bool = False) -> np.ndarray:
    """What the output `y` is."""
    return opened(model, optimized=optimized).run(["y"], {"x": x})[0]


def sample(shape: tuple[int, ...], kind: int = TensorProto.FLOAT, seed: int = 0) -> np.ndarray:
    """Values of a tensor."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    values = np.random.default_rng(seed).standard_normal(shape) * (40 if np.dtype(dtype).kind in "iu" else 1)
    return np.abs(values).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)
