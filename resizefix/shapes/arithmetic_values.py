"""What elementwise operators, casts and reductions compute of values that are known: their rows in the table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper

from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.shapes.expression import (
    ELEMENTWISE,
    UntraceableError,
    are_ordered,
    cast,
    computed,
    is_cast_defined,
)
from resizefix.shapes.operand import DTYPES, Call, Known, ValueRow, require_few

_REDUCTIONS = {"ReduceMax": "Max", "ReduceMin": "Min", "ReduceSum": "Add", "ReduceProd": "Mul"}
_REDUCING = {"Max": np.maximum, "Min": np.minimum, "Add": np.add, "Mul": np.multiply}


def _elementwise(call: Call) -> list[Known]:
    operands = call.all_operands()
    if call.opset < 7 and len({operand.shape for operand in operands}) > 1:
        raise UntraceableError("document.old-broadcast", operator=call.operator)
    if call.operator == "Mod" and (call.attribute("fmod", 0) or operands[0].dtype[0] == "f"):
        raise UntraceableError("document.mod-of-c")
    dtype = operands[-1 if call.operator == "Where" else 0].dtype
    return [_applied(call.operator, "bool" if ELEMENTWISE[call.operator].gives_bool else dtype, operands)]


def _applied(operator: str, dtype: str, operands: Sequence[Known]) -> Known:
    row = ELEMENTWISE[operator]
    if not {dtype, *(operand.dtype for operand in operands)} <= DTYPES:
        raise UntraceableError("document.arithmetic-not-followed", dtype=dtype)
    if row.operands not in (None, len(operands)):
        raise UntraceableError("document.operand-count", operator=operator, operands=counted(len(operands), "operand"))
    sizes = np.broadcast_shapes(*(operand.shape for operand in operands))
    require_few(sizes, operands)
    values = [operand.value for operand in operands if operand.value is not None]
    if len(values) == len(operands):
        if not row.defined(*values):
            raise UntraceableError("document.left-to-runtime", operator=operator)
        with np.errstate(all="ignore"):
            return Known.constant(np.asarray(row.compute(*values)).astype(dtype))
    arrays = np.broadcast_arrays(*(operand.elements for operand in operands))
    elements = np.empty(sizes, object)
    for position in np.ndindex(*sizes):
        elements[position] = computed(operator, dtype, *(array[position] for array in arrays))
    return Known(dtype, elements=elements)


def _clip(call: Call) -> list[Known]:
    data = call.operand(0)
    result = data
    for position, name, operator in ((1, "min", "Max"), (2, "max", "Min")):
        bound = call.optional(position)
        given = call.attribute(name)
        if given is not None:
            bound = Known.constant(np.array(given, data.dtype))
        elif bound is None and data.value is not None and data.value.dtype.kind == "f":
            limits = np.finfo(data.dtype)  # what onnxruntime takes for a bound that is left out: of inf it makes that
            bound = Known.constant(np.array(limits.min if name == "min" else limits.max, data.dtype))
        if bound is not None:
            result = _applied(operator, data.dtype, [result, bound])
    return [result]


def _cast(call: Call) -> list[Known]:
    to = call.attribute("to")
    if isinstance(to, bytes):  # Cast-1 names the type
        raise UntraceableError("document.old-cast")
    return [_converted(call.operand(0), np.dtype(helper.tensor_dtype_to_np_dtype(to)).name)]


def _converted(operand: Known, dtype: str) -> Known:
    if not {dtype, operand.dtype} <= DTYPES:
        raise UntraceableError("document.cast-not-followed", source=operand.dtype, dtype=dtype)
    if operand.value is not None:
        if not is_cast_defined(operand.value, dtype):
            raise UntraceableError("document.cast-out-of-range", dtype=dtype)
        with np.errstate(all="ignore"):
            return Known.constant(cast(operand.value, dtype))
    elements = np.empty(operand.shape, object)
    for position in np.ndindex(*operand.shape):
        elements[position] = computed("Cast", dtype, operand.elements[position])
    return Known(dtype, elements=elements)


def _reduction(call: Call) -> list[Known]:
    data, axes = call.operand(0), call.integers(1, "axes")
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [data]
    require_few(data.shape, [data])
    operator = _REDUCTIONS[call.operator]
    rank = len(data.shape)
    if any(not -rank <= axis < rank for axis in axes or ()):
        raise UntraceableError("document.no-such-axis", operator=call.operator)
    reduced = sorted({axis % rank for axis in axes} if axes else range(rank))
    kept_dims = bool(call.attribute("keepdims", 1))
    if data.value is not None:
        if data.value.dtype.kind not in "iu" or not _is_reduced_exactly(operator, data.value):
            raise UntraceableError("document.left-to-runtime", operator=call.operator)
        compute: np.ufunc = _REDUCING[operator]
        reduced_value = compute.reduce(data.value, axis=tuple(reduced), keepdims=kept_dims, dtype=data.value.dtype)
        return [Known.constant(np.asarray(reduced_value))]
    staying = [axis for axis in range(rank) if axis not in reduced]
    shape = [data.shape[axis] for axis in staying]
    rows = data.moved(lambda elements: np.transpose(elements, [*staying, *reduced]).reshape([*shape, -1]))
    if rows.shape[-1] == 0:
        raise UntraceableError("document.nothing-to-reduce", operator=call.operator)
    result = rows.moved(lambda elements: elements[..., 0])
    for position in range(1, rows.shape[-1]):
        element = rows.moved(lambda elements, position=position: elements[..., position])  # type: ignore[misc]
        result = _applied(operator, data.dtype, [result, element])
    if kept_dims:
        return [result.moved(lambda elements: np.expand_dims(elements, tuple(reduced)))]
    return [result]


def _is_reduced_exactly(operator: str, value: Array) -> bool:
    """onnxruntime adds and multiplies integers as doubles, and what is beyond the type becomes its largest (1.31.1)."""
    if not value.size:
        return False
    if operator in ("Max", "Min"):
        return are_ordered(value)
    most = min(2**53, int(np.iinfo(value.dtype).max))
    sizes = [abs(int(number)) for number in value.flat]
    return (sum(sizes) if operator == "Add" else math.prod(size for size in sizes if size)) <= most


ROWS: dict[str, ValueRow] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "Clip": _clip,
    "Cast": _cast,
    "CastLike": lambda call: [_converted(call.operand(0), call.operand(1).dtype)],
}
