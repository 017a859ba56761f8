"""Operators that put the elements of their operands in other places, whatever the elements are.

Sources: onnx's docs/Operators.md, and onnxruntime's core/providers/cpu/tensor where it says more (slice_helper.h).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import numpy_helper

from resizefix.document.values import Array, longest_extent
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import Call, Known, ValueRow, require_few

# Slice: an end that means "as far as there is", in either direction.
_ENDLESS = (2**31 - 1, 2**63 - 1)


def _concat(call: Call) -> list[Known]:
    operands, axis = call.all_operands(), call.attribute("axis", 1 if call.opset < 4 else None)
    if axis is None:
        raise UntraceableError("document.concat-lacks-axis")
    require_few([sum(longest_extent(operand.shape) for operand in operands)], operands)
    if all(operand.value is not None for operand in operands):
        return [Known.constant(np.concatenate([call.numbers(operand) for operand in operands], axis))]
    elements = np.concatenate([operand.elements for operand in operands], axis)
    return [Known(operands[0].dtype, elements=elements)]


def _gather(call: Call) -> list[Known]:
    data, axis = call.operand(0), call.attribute("axis", 0)
    indices = call.numbers(call.operand(1)).astype(np.int64)
    require_few([longest_extent(data.shape) // max(data.shape[axis], 1), longest_extent(indices.shape)], [data])
    return [data.moved(lambda elements: np.take(elements, indices, axis))]


def slice_positions(start: int, end: int, step: int, size: int) -> range:
    """What Slice selects along an axis, as onnxruntime does: backwards, a start beyond an end of the axis is moved onto
    its first or last element, and the largest integer as an end takes the first one too."""
    if size == 0:
        return range(0)
    first = start + size if start < 0 else start
    last = end + size if end < 0 else end
    if step > 0:
        return range(min(max(first, 0), size), size if end in _ENDLESS else min(max(last, 0), size), step)
    return range(min(max(first, 0), size - 1), -1 if end in _ENDLESS else min(max(last, -1), size), step)


def _slice(call: Call) -> list[Known]:
    data = call.operand(0)
    starts, ends = call.integers(1, "starts"), call.integers(2, "ends")
    if starts is None or ends is None:
        raise UntraceableError("document.slice-lacks-bounds")
    axes = call.integers(3, "axes")
    axes = list(range(len(starts))) if axes is None else _distinct(axes, len(data.shape))
    steps = call.integers(4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        taken = np.array(slice_positions(start, end, step, data.shape[axis]), np.int64)
        data = data.moved(lambda elements, taken=taken, axis=axis: np.take(elements, taken, axis))  # type: ignore[misc]
    return [data]


def _distinct(axes: Sequence[int], rank: int) -> list[int]:
    from_front = [axis + rank if axis < 0 else axis for axis in axes]
    if len(set(from_front)) < len(from_front):
        raise UntraceableError("document.axis-named-twice")
    return from_front


def _squeeze(call: Call) -> list[Known]:
    axes = call.integers(1, "axes")
    return [call.operand(0).moved(lambda elements: np.squeeze(elements, tuple(axes) if axes else None))]


def _unsqueeze(call: Call) -> list[Known]:
    axes = call.integers(1, "axes")
    if axes is None:
        raise UntraceableError("document.unsqueeze-lacks-axes")
    return [call.operand(0).moved(lambda elements: np.expand_dims(elements, tuple(axes)))]


def _reshape(call: Call) -> list[Known]:
    data, shape = call.operand(0), call.integers(1, "shape")
    if shape is None:
        raise UntraceableError("document.reshape-lacks-shape")
    if not call.attribute("allowzero", 0):
        shape = [data.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    return [data.moved(lambda elements: elements.reshape(shape))]


def _flatten(call: Call) -> list[Known]:
    data, axis = call.operand(0), call.attribute("axis", 1)
    if not -len(data.shape) <= axis <= len(data.shape):
        raise UntraceableError("document.no-such-axis", operator=call.operator)
    axis += len(data.shape) if axis < 0 else 0
    shape = math.prod(data.shape[:axis]), math.prod(data.shape[axis:])
    return [data.moved(lambda elements: elements.reshape(shape))]


def _transpose(call: Call) -> list[Known]:
    perm = call.attribute("perm")
    return [call.operand(0).moved(lambda elements: np.transpose(elements, perm))]


def _split(call: Call) -> list[Known]:
    data, axis, lengths = call.operand(0), call.attribute("axis", 0), call.integers(1, "split")
    size = data.shape[axis]
    if lengths is None:
        each = -(-size // call.outputs)
        last = size - each * (call.outputs - 1)
        if last != each and (call.opset < 18 or last < 1):
            raise UntraceableError("document.split-has-no-equal-parts")
        lengths = [each] * (call.outputs - 1) + [last]
    if sum(lengths) != size or min(lengths, default=0) < 0 or len(lengths) != call.outputs:
        raise UntraceableError("document.split-parts-are-not-whole")
    ends = [sum(lengths[: index + 1]) for index in range(len(lengths))]
    return [
        data.moved(lambda elements, part=range(end - length, end): np.take(elements, part, axis))  # type: ignore[misc]
        for end, length in zip(ends, lengths, strict=True)
    ]


def _expand(call: Call) -> list[Known]:
    data, shape = call.operand(0), call.integers(1)
    wanted = np.broadcast_shapes(data.shape, tuple(shape or ()))
    require_few(wanted, [data])
    return [data.moved(lambda elements: np.broadcast_to(elements, wanted))]


def _tile(call: Call) -> list[Known]:
    data, repeats = call.operand(0), call.integers(1)
    if repeats is None or len(repeats) != len(data.shape) or min(repeats, default=0) < 0:
        raise UntraceableError("document.tile-repeats-each-axis")
    require_few([longest_extent(data.shape), *repeats], [data])
    return [data.moved(lambda elements: np.tile(elements, repeats))]


def _constant_of_shape(call: Call) -> list[Known]:
    sizes, value = call.integers(0), call.attribute("value")
    require_few(sizes or (), [])
    filled: Array = np.zeros(1, np.float32) if value is None else numpy_helper.to_array(value)
    return [Known.constant(np.full(sizes or (), filled.reshape(-1)[0], filled.dtype))]


def _range(call: Call) -> list[Known]:
    """onnxruntime counts in doubles, and adds the step again and again, in the element type."""
    bounds = [call.numbers(operand) for operand in call.all_operands()]
    dtype = bounds[0].dtype
    if any(bound.dtype.kind not in "iuf" or bound.size != 1 or bound.dtype == np.float16 for bound in bounds):
        raise UntraceableError("document.range-of-floats")
    start, limit, step = (bound.reshape(-1)[0].item() for bound in bounds)
    if dtype.kind != "f":
        numbers = range(start, limit, step)
        require_few([len(numbers)], [])
        return [Known.constant(np.array(numbers, dtype))]
    steps = (limit - start) / step if step else math.nan
    if not math.isfinite(steps):
        raise UntraceableError("document.range-of-floats")
    count = max(math.ceil(steps), 0)
    require_few([count], [])
    terms = np.full(count, step, dtype)
    terms[:1] = start
    return [Known.constant(np.add.accumulate(terms, dtype=dtype))]


ROWS: dict[str, ValueRow] = {
    "Identity": lambda call: [call.operand(0)],
    "Concat": _concat,
    "Gather": _gather,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": _transpose,
    "Split": _split,
    "Expand": _expand,
    "Tile": _tile,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
}
