"""Three lines of Python that run a promoted model in onnxruntime, with its own input names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

from onnx import ModelProto, TensorProto, TypeProto

from resizefix.document.text import number_text
from resizefix.document.values import dims_in, numbers_in
from resizefix.library.result import Result

# As numpy calls them; inputs of other types need more than a line.
_DTYPES = {
    TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
    TensorProto.INT64: "int64", TensorProto.INT32: "int32", TensorProto.INT16: "int16", TensorProto.INT8: "int8",
    TensorProto.UINT8: "uint8", TensorProto.UINT16: "uint16", TensorProto.BOOL: "bool_",
}  # fmt: skip
_MOST_NAMED = 16


def python_lines(result: Result, model: ModelProto, path: str) -> tuple[str, ...]:
    """Lines that feed the promoted inputs the old values and the others zeros, at the shapes that were verified.

    Empty where an input has a type that numpy lacks.
    """
    first = result.verification.runs[0] if result.verification.runs else None
    values: dict[str, Sequence[Any]] = {} if first is None else dict(first.values)
    values.update((source.name, source.value) for source in result.inputs)
    shapes: Mapping[str, Sequence[int]] = {} if first is None else first.shapes
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds: list[tuple[str, str]] = []
    for entry in model.graph.input:
        if entry.name in constants:
            continue
        dtype = _DTYPES.get(entry.type.tensor_type.elem_type)
        if dtype is None:
            return ()
        if entry.name in values:
            array = _array(tuple(values[entry.name]), dtype)
        else:
            array = f"np.zeros({_shape(entry.type.tensor_type, shapes.get(entry.name))}, np.{dtype})"
        feeds.append((entry.name, array))
    return (
        "import numpy as np, onnxruntime as ort",
        f"session = ort.InferenceSession({path!r}, providers=['CPUExecutionProvider'])",
        f"outputs = session.run(None, {{{_fed(feeds)}}})",
    )


def _shape(declared: TypeProto.Tensor, verified: Sequence[int] | None) -> tuple[int, ...]:
    """The verified shape if it fits the declared one; that of a node that was run alone may not."""
    if not declared.HasField("shape"):
        return tuple(verified or ())
    sizes = numbers_in(dims_in(declared.shape))
    if verified is None or len(verified) != len(sizes):
        verified = [size or 1 for size in sizes]
    return tuple(found if size is None else size for size, found in zip(sizes, verified, strict=True))


@lru_cache(maxsize=64)
def _array(values: tuple[float, ...], dtype: str) -> str:
    """An array in Python; most of a thousand inputs get the same values."""
    numbers = (number_text(value) if isinstance(value, float) else str(value) for value in values)
    return f"np.array([{', '.join(numbers)}], np.{dtype})"


def _fed(feeds: Sequence[tuple[str, str]]) -> str:
    """The items of a dict. Many inputs at the end that are fed alike, as those of a thousand sites, are one item."""
    alike = len(list(takewhile(lambda feed: feed[1] == feeds[-1][1], reversed(feeds))))
    named = len(feeds) - alike if alike > _MOST_NAMED else len(feeds)
    items = [f"{name!r}: {array}" for name, array in feeds[:named]]
    if named < len(feeds):
        items.append(f"**{{i.name: {feeds[-1][1]} for i in session.get_inputs()[{named}:]}}")
    return ", ".join(items)
