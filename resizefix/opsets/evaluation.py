"""The value of a node whose operands are constant.

A closed list of operators, each a function on numpy arrays that gives the bits onnxruntime's kernel gives: moves of
data, integer arithmetic, and the float operations that IEEE 754 defines exactly. What could differ (a division by zero,
a cast out of range) has no value here. Shape and Size have one where the sizes they ask for are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, helper, numpy_helper

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import longest_extent
from resizefix.opsets.inference import Array, Dims

Inputs = Sequence["Array | None"]
Rule = Callable[[dict[str, Any], Inputs], "Array | list[Array]"]

# Constants above this many elements are weights: no operand of a rule, and better left on disk.
LARGEST = 1 << 16


class NotFoldable(ValueError):
    """The value would depend on the runtime, or cannot be had."""


def is_evaluated(op_type: str) -> bool:
    """Whether the operator is one of the closed list."""
    return op_type in RULES or op_type in ("Shape", "Size")


def evaluate(node: NodeProto, inputs: Inputs, dims: Dims | None) -> list[Array] | None:
    """The values of the outputs of a node; None where they are not constant. `dims` are the sizes of its first input.

    An operand that is left out, or not constant, is None.
    """
    if node.domain not in DEFAULT_DOMAINS or not all(node.output):
        return None
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if node.op_type in ("Shape", "Size"):
        return None if dims is None else _sizes(node.op_type, attributes, dims)
    rule = RULES.get(node.op_type)
    if rule is None or any(name and value is None for name, value in zip(node.input, inputs, strict=True)):
        return None
    try:
        result = rule(attributes, inputs)
    except (NotFoldable, ValueError, LookupError, TypeError, OverflowError):
        return None  # an invalid node, or one whose value is the runtime's choice
    values = [np.asarray(value) for value in (result if isinstance(result, list) else [result])]
    extents = (longest_extent(value.shape) for value in values)
    return values if len(values) == len(node.output) and sum(extents) <= LARGEST else None


def _sizes(op_type: str, attributes: dict[str, Any], dims: Dims) -> list[Array] | None:
    wanted = dims[_int(attributes, "start", 0) : attributes.get("end")] if op_type == "Shape" else dims
    if None in wanted:
        return None
    sizes = np.array(wanted, np.int64)
    return [sizes if op_type == "Shape" else np.array(np.prod(sizes, dtype=np.int64))]


def _int(attributes: dict[str, Any], name: str, default: int) -> int:
    return int(attributes.get(name, default))


def _operand(inputs: Inputs, position: int) -> Array:
    value = inputs[position] if position < len(inputs) else None
    if value is None:
        raise NotFoldable
    return value


def _listed(attributes: dict[str, Any], name: str, inputs: Inputs, position: int) -> list[int] | None:
    """Integers of an attribute (older versions) or an input (newer ones)."""
    if name in attributes:
        return [int(value) for value in attributes[name]]
    value = inputs[position] if position < len(inputs) else None
    return None if value is None else [int(number) for number in value.reshape(-1)]


def _cast(attributes: dict[str, Any], inputs: Inputs) -> Array:
    source = _operand(inputs, 0)
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"]))
    if source.dtype.kind not in "fiub" or wanted.kind not in "fiub":
        raise NotFoldable
    if source.dtype.kind == "f" and wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if not (np.isfinite(source).all() and (source > limits.min - 1.0).all() and (source < limits.max + 1.0).all()):
            raise NotFoldable
    return source.astype(wanted)


def slice_positions(start: int, end: int, step: int, size: int) -> range:
    """What Slice selects along an axis. Not quite Python's slices: backwards, a start before the first element is moved
    onto it (Slice-13, "clamped to range [0, dims[axes[i]]-1] for negative stepping")."""
    first, last = (position + size if position < 0 else position for position in (start, end))
    if size == 0:
        return range(0)
    if step > 0:
        return range(min(max(first, 0), size), min(max(last, 0), size), step)
    return range(min(max(first, 0), size - 1), min(max(last, -1), size - 1), step)


def _slice(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data = _operand(inputs, 0)
    starts, ends = _listed(attributes, "starts", inputs, 1), _listed(attributes, "ends", inputs, 2)
    if starts is None or ends is None:
        raise NotFoldable
    axes = _listed(attributes, "axes", inputs, 3) or list(range(len(starts)))
    steps = _listed({}, "steps", inputs, 4) or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        data = np.take(data, np.array(slice_positions(start, end, step, data.shape[axis]), np.int64), axis)
    return data


def _reshape(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data, wanted = _operand(inputs, 0), [int(size) for size in _operand(inputs, 1)]
    if not _int(attributes, "allowzero", 0):
        wanted = [data.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return data.reshape(wanted)


def _unsqueeze(attributes: dict[str, Any], inputs: Inputs) -> Array:
    axes = _listed(attributes, "axes", inputs, 1)
    if axes is None:
        raise NotFoldable
    return np.expand_dims(_operand(inputs, 0), tuple(axes))


def _squeeze(attributes: dict[str, Any], inputs: Inputs) -> Array:
    axes = _listed(attributes, "axes", inputs, 1)
    return np.squeeze(_operand(inputs, 0), tuple(axes) if axes else None)


def _divide(attributes: dict[str, Any], inputs: Inputs) -> Array:
    left, right = _operand(inputs, 0), _operand(inputs, 1)
    _affordable(np.broadcast_shapes(left.shape, right.shape))
    if left.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.asarray(np.divide(left, right))
    if left.dtype.kind not in "iu" or (right == 0).any():
        raise NotFoldable
    quotient = np.abs(left) // np.abs(right)  # integers divide towards zero, as in C++
    return np.where((left < 0) ^ (right < 0), -quotient, quotient).astype(left.dtype)


def _modulo(attributes: dict[str, Any], inputs: Inputs) -> Array:
    left, right = _operand(inputs, 0), _operand(inputs, 1)
    if left.dtype.kind not in "iu" or (right == 0).any():
        raise NotFoldable
    _affordable(np.broadcast_shapes(left.shape, right.shape))
    return np.fmod(left, right) if _int(attributes, "fmod", 0) else np.mod(left, right)


def _affordable(sizes: Sequence[int]) -> list[int]:
    """The sizes of a result, if it is small enough: a few numbers can ask for more than the machine holds."""
    if longest_extent(sizes) > LARGEST:
        raise NotFoldable
    return list(sizes)


def _constant_of_shape(attributes: dict[str, Any], inputs: Inputs) -> Array:
    filled = numpy_helper.to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    sizes = _affordable([int(size) for size in _operand(inputs, 0)])
    return np.full(sizes, filled.reshape(-1)[0], filled.dtype)


def _range(attributes: dict[str, Any], inputs: Inputs) -> Array:
    start, limit, delta = (_operand(inputs, position).reshape(-1)[0] for position in range(3))
    if start.dtype.kind not in "iu" or delta == 0:
        raise NotFoldable
    numbers = range(int(start), int(limit), int(delta))
    _affordable([len(numbers)])
    return np.array(numbers, start.dtype)


def _reduced(compute: Callable[..., Array]) -> Rule:
    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        data = _operand(inputs, 0)
        if data.dtype.kind not in "iu":  # the order of float sums is the runtime's choice
            raise NotFoldable
        axes = _listed(attributes, "axes", inputs, 1)
        if not axes and _int(attributes, "noop_with_empty_axes", 0):
            return data
        _affordable(data.shape)
        kept = bool(_int(attributes, "keepdims", 1))
        return np.asarray(compute(data, axis=tuple(axes) if axes else None, keepdims=kept)).astype(data.dtype)

    return rule


def _ordered(compute: Callable[[Array, Array], Array]) -> Rule:
    """For operators on any number of operands whose answer on NaN is the runtime's choice."""

    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        operands = [_operand(inputs, position) for position in range(len(inputs))]
        if any(value.dtype.kind not in "fiu" or not (value == value).all() for value in operands):
            raise NotFoldable
        if any(value.dtype.itemsize == 8 and value.dtype.kind != "f" and _beyond_32_bits(value) for value in operands):
            raise NotFoldable  # onnxruntime's kernel gives the wrong one of two such numbers (1.31.1, measured)
        _affordable(np.broadcast_shapes(*(value.shape for value in operands)))
        result = operands[0]
        for value in operands[1:]:
            result = compute(result, value)
        return result

    return rule


def _beyond_32_bits(value: Array) -> bool:
    return bool(value.size) and (int(value.min()) < -(2**31) or int(value.max()) >= 2**31)


def _elementwise(compute: Callable[..., Array]) -> Rule:
    """For operators that broadcast their operands."""

    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        operands = [_operand(inputs, position) for position in range(len(inputs))]
        _affordable(np.broadcast_shapes(*(value.shape for value in operands)))
        with np.errstate(all="ignore"):
            return np.asarray(compute(*operands))

    return rule


def _gather(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data, indices, axis = _operand(inputs, 0), _operand(inputs, 1).astype(np.int64), _int(attributes, "axis", 0)
    _affordable([data.size // max(data.shape[axis], 1), indices.size])
    return np.take(data, indices, axis)


def _concat(attributes: dict[str, Any], inputs: Inputs) -> Array:
    _affordable([sum(longest_extent(_operand(inputs, position).shape) for position in range(len(inputs)))])
    return np.concatenate([_operand(inputs, position) for position in range(len(inputs))], attributes["axis"])


def _transpose(attributes: dict[str, Any], inputs: Inputs) -> Array:
    return np.transpose(_operand(inputs, 0), attributes.get("perm"))


def _split(attributes: dict[str, Any], inputs: Inputs) -> list[Array]:
    lengths = _listed(attributes, "split", inputs, 1)
    if lengths is None:
        raise NotFoldable
    return np.split(_operand(inputs, 0), np.cumsum(lengths)[:-1], _int(attributes, "axis", 0))


def _expand(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data, wanted = _operand(inputs, 0), tuple(int(size) for size in _operand(inputs, 1))
    return np.broadcast_to(data, _affordable(np.broadcast_shapes(data.shape, wanted)))


def _tile(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data, repeats = _operand(inputs, 0), [int(count) for count in _operand(inputs, 1)]
    _affordable([longest_extent(data.shape), *repeats])
    return np.tile(data, repeats)


# Versions of one operator differ only in where they keep axes and the like; every function looks in both places.
RULES: dict[str, Rule] = {
    "Identity": _elementwise(lambda x: x),
    "Cast": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Split": _split,
    "Expand": _expand,
    "Tile": _tile,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Add": _elementwise(np.add),
    "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply),
    "Div": _divide,
    "Mod": _modulo,
    "Neg": _elementwise(np.negative),
    "Abs": _elementwise(np.abs),
    "Floor": _elementwise(np.floor),
    "Ceil": _elementwise(np.ceil),
    "Equal": _elementwise(np.equal),
    "Less": _elementwise(np.less),
    "LessOrEqual": _elementwise(np.less_equal),
    "Greater": _elementwise(np.greater),
    "GreaterOrEqual": _elementwise(np.greater_equal),
    "Not": _elementwise(np.logical_not),
    "And": _elementwise(np.logical_and),
    "Or": _elementwise(np.logical_or),
    "Where": _elementwise(np.where),
    "Min": _ordered(np.minimum),
    "Max": _ordered(np.maximum),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMin": _reduced(np.min),
    "ReduceMax": _reduced(np.max),
}
