"""The operators that chains of sizes are made of: how each moves expressions about or makes new ones of them.

One row per operator; the reader `Call` hides in which opset what was an attribute and what an input. Where a row does
not apply it raises UntraceableError, and the chain is run instead (`measure`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, helper

from resizefix.document.text import counted
from resizefix.document.values import longest_extent
from resizefix.origins.expression import Expression, Number, UntraceableError, computed, number

# Element types whose arithmetic numpy has.
DTYPES = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"}
)
# Chains hold a few numbers; a longer tensor is data.
MOST_ELEMENTS = 1024
_MOST_AXES = 32  # numpy walks over no more
_ENDLESS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Traced:
    """A tensor whose every element is an expression: `elements` is an array of them, `dtype` their type."""

    dtype: str
    elements: npt.NDArray[np.object_]

    @classmethod
    def constant(cls, value: npt.NDArray[np.generic]) -> Traced:
        """A tensor of numbers. Raises UntraceableError for one that is too large or of a type without arithmetic."""
        if longest_extent(value.shape) > MOST_ELEMENTS or value.ndim > _MOST_AXES or value.dtype.name not in DTYPES:
            raise UntraceableError(
                "origins.tensor-part-size", name=value.dtype.name, size=counted(value.size, "element")
            )
        elements = np.empty(value.shape, object)
        for position in np.ndindex(value.shape):
            elements[position] = number(value[position])
        return cls(value.dtype.name, elements)

    @classmethod
    def vector(cls, dtype: str, expressions: Sequence[Expression]) -> Traced:
        """A tensor of rank 1."""
        elements = np.empty(len(expressions), object)
        elements[:] = expressions
        return cls(dtype, elements)

    @property
    def value(self) -> npt.NDArray[np.generic] | None:
        """The tensor's value if every element is a number."""
        if not all(isinstance(element, Number) for element in self.elements.flat):
            return None
        return np.array([element.value for element in self.elements.flat], self.dtype).reshape(self.elements.shape)

    def same_as(self, other: Traced) -> bool:
        """Whether both are equal at every size."""
        return (
            self.dtype == other.dtype
            and self.elements.shape == other.elements.shape
            and bool(np.all(self.elements == other.elements))
        )


class Call:
    """One node with its traced operands. `operands` holds None for an input that is left out."""

    def __init__(self, node: NodeProto, operands: Sequence[Traced | None], opset: int) -> None:
        self.operator = node.op_type
        self.operands = operands
        self.opset = opset
        self.outputs = len(node.output)
        self._attributes = {attribute.name: attribute for attribute in node.attribute}

    def operand(self, position: int) -> Traced:
        """An input that must be there."""
        found = self.optional(position)
        if found is None:
            raise UntraceableError("origins.lacks-input", operator=self.operator, position=position)
        return found

    def optional(self, position: int) -> Traced | None:
        """An input that may be left out."""
        return self.operands[position] if position < len(self.operands) else None

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        found = self._attributes.get(name)
        if found is None:
            return default
        if found.ref_attr_name:
            raise UntraceableError("origins.attribute-function", name=name, operator=self.operator)
        return helper.get_attribute_value(found)

    def integers(self, position: int, attribute: str | None = None) -> list[int] | None:
        """Integers that later opsets take as input `position` and earlier ones as an attribute; None if left out."""
        given = self.attribute(attribute) if attribute is not None else None
        if given is not None:
            return [int(value) for value in np.ravel(given)]
        operand = self.optional(position)
        return None if operand is None else [int(value) for value in np.ravel(self.constant(operand))]

    def constant(self, operand: Traced) -> npt.NDArray[np.generic]:
        """The value of an operand that must be constant."""
        value = operand.value
        if value is None:
            raise UntraceableError("origins.operand-constant-where-needed", operator=self.operator)
        return value


Row = Callable[[Call], "list[Traced]"]


def _moved(operand: Traced, elements: npt.NDArray[np.object_]) -> list[Traced]:
    _require_few(elements.shape)
    return [Traced(operand.dtype, elements)]


def _require_few(sizes: Sequence[int]) -> None:
    """To be asked before numpy makes a tensor of these sizes."""
    if longest_extent(sizes) > MOST_ELEMENTS:
        raise UntraceableError("origins.tensor-shape-part-size", sizes=list(sizes))


def _identity(call: Call) -> list[Traced]:
    return [call.operand(0)]


def _concat(call: Call) -> list[Traced]:
    operands = [call.operand(position) for position in range(len(call.operands))]
    _require_few([sum(longest_extent(part.elements.shape) for part in operands)])
    return _moved(operands[0], np.concatenate([part.elements for part in operands], axis=call.attribute("axis", 1)))


def _gather(call: Call) -> list[Traced]:
    data, indices = call.operand(0), call.constant(call.operand(1))
    taken = np.take(data.elements, indices.astype(np.int64), axis=call.attribute("axis", 0))
    elements = np.empty(np.shape(taken) if isinstance(taken, np.ndarray) else (), object)
    elements[...] = taken
    return _moved(data, elements)


def _slice(call: Call) -> list[Traced]:
    data = call.operand(0)
    starts, ends = call.integers(1, "starts"), call.integers(2, "ends")
    if starts is None or ends is None:
        raise UntraceableError("origins.slice-lacks-bounds")
    axes = call.integers(3, "axes") or list(range(len(starts)))
    steps = call.integers(4) or [1] * len(starts)
    elements = data.elements
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        length = elements.shape[axis]
        if step < 0 and end >= _ENDLESS:  # the first element for the specification, past it for onnxruntime
            raise UntraceableError("origins.slice-backwards-largest-integer")
        low, high = (0, length) if step > 0 else (-1, length - 1)
        first, last = (bound + length if bound < 0 else bound for bound in (start, end))
        first, last = min(max(first, 0), high), min(max(last, low), length)
        elements = np.take(elements, range(first, last, step), axis=axis)
    return _moved(data, elements)


def _squeeze(call: Call) -> list[Traced]:
    data, axes = call.operand(0), call.integers(1, "axes")
    if axes is None:
        return _moved(data, data.elements.reshape([size for size in data.elements.shape if size != 1]))
    return _moved(data, np.squeeze(data.elements, axis=tuple(axes)))


def _unsqueeze(call: Call) -> list[Traced]:
    data, axes = call.operand(0), call.integers(1, "axes")
    if axes is None:
        raise UntraceableError("origins.unsqueeze-lacks-axes")
    return _moved(data, np.expand_dims(data.elements, axis=tuple(axes)))


def _reshape(call: Call) -> list[Traced]:
    data, shape = call.operand(0), call.integers(1, "shape")
    if shape is None:
        raise UntraceableError("origins.reshape-lacks-shape")
    if not call.attribute("allowzero", 0):
        shape = [data.elements.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    return _moved(data, data.elements.reshape(shape))


def _flatten(call: Call) -> list[Traced]:
    data, axis = call.operand(0), call.attribute("axis", 1)
    rows = int(np.prod(data.elements.shape[:axis]))
    return _moved(data, data.elements.reshape(rows, -1))


def _transpose(call: Call) -> list[Traced]:
    data = call.operand(0)
    return _moved(data, np.transpose(data.elements, call.attribute("perm")))


def _split(call: Call) -> list[Traced]:
    data, axis = call.operand(0), call.attribute("axis", 0)
    sizes = call.integers(1, "split")
    length = data.elements.shape[axis]
    if sizes is None:
        each = -(-length // call.outputs)  # the last is shorter (Split-18)
        sizes = [max(min(each, length - each * index), 0) for index in range(call.outputs)]
    ends = np.cumsum(sizes)[:-1]
    return [Traced(data.dtype, part) for part in np.split(data.elements, ends, axis=axis)]


def _expand(call: Call) -> list[Traced]:
    data, shape = call.operand(0), call.integers(1)
    wanted = np.broadcast_shapes(data.elements.shape, tuple(shape or ()))
    _require_few(wanted)
    return _moved(data, np.broadcast_to(data.elements, wanted))


def _elementwise(call: Call) -> list[Traced]:
    operands = [call.operand(position) for position in range(len(call.operands))]
    if call.opset < 7 and len({operand.elements.shape for operand in operands}) > 1:
        raise UntraceableError("origins.broadcasts-rules-before-opset", operator=call.operator)
    if call.attribute("fmod", 0) or (call.operator == "Mod" and operands[0].dtype[0] == "f"):
        raise UntraceableError("origins.mod-c-kind-followed")
    dtype = "bool" if call.operator in _COMPARISONS else operands[-1 if call.operator == "Where" else 0].dtype
    return [_applied(call.operator, dtype, operands)]


def _clip(call: Call) -> list[Traced]:
    data = call.operand(0)
    result = data
    for position, name, operator in ((1, "min", "Max"), (2, "max", "Min")):
        bound = call.optional(position)
        given = call.attribute(name)
        if given is not None:
            bound = Traced.constant(np.array(given, data.dtype))
        if bound is not None:
            result = _applied(operator, data.dtype, [result, bound])
    return [result]


def _cast(call: Call) -> list[Traced]:
    to = call.attribute("to")
    if isinstance(to, bytes):  # Cast-1 names the type
        raise UntraceableError("origins.cast-before-opset-followed")
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(to)).name
    return [_applied("Cast", dtype, [call.operand(0)])]


def _cast_like(call: Call) -> list[Traced]:
    return [_applied("Cast", call.operand(1).dtype, [call.operand(0)])]


def _reduction(call: Call) -> list[Traced]:
    data = call.operand(0)
    axes = call.integers(1, "axes")
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [data]
    rank = data.elements.ndim
    reduced = {axis % rank for axis in axes} if axes else set(range(rank))
    operator = _REDUCTIONS[call.operator]
    kept = [axis for axis in range(rank) if axis not in reduced]
    rows = np.transpose(data.elements, [*kept, *sorted(reduced)])
    shape = [data.elements.shape[axis] for axis in kept]
    rows = rows.reshape([*shape, -1])
    elements = np.empty(shape, object)
    for position in np.ndindex(*shape):
        first, *rest = rows[position]
        for element in rest:
            first = computed(operator, data.dtype, first, element)
        elements[position] = first
    if call.attribute("keepdims", 1):
        elements = np.expand_dims(elements, axis=tuple(sorted(reduced)))
    return _moved(data, elements)


def _applied(operator: str, dtype: str, operands: Sequence[Traced]) -> Traced:
    if dtype not in DTYPES:
        raise UntraceableError("origins.arithmetic-followed", dtype=dtype)
    if operator not in _ANY_NUMBER and len(operands) != _OPERANDS.get(operator, 2):
        raise UntraceableError("origins.has", operator=operator, operands=counted(len(operands), "operand"))
    arrays = np.broadcast_arrays(*(operand.elements for operand in operands))
    _require_few(arrays[0].shape)
    elements = np.empty(arrays[0].shape, object)
    for position in np.ndindex(elements.shape):
        elements[position] = computed(operator, dtype, *(array[position] for array in arrays))
    return Traced(dtype, elements)


_COMPARISONS = frozenset({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or"})
_ARITHMETIC = frozenset(
    {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max", "Neg", "Abs", "Where"}
    | {"Floor", "Ceil", "Round", "Sqrt", "Reciprocal"}
)
# How many operands an operator takes where it is not two; a file may give it any number.
_OPERANDS = {
    **dict.fromkeys(("Neg", "Abs", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Not", "Cast"), 1),
    "Where": 3,
}
_ANY_NUMBER = frozenset({"Min", "Max"})
_REDUCTIONS = {"ReduceMax": "Max", "ReduceMin": "Min", "ReduceSum": "Add", "ReduceProd": "Mul"}

ROWS: dict[str, Row] = {
    **dict.fromkeys(_COMPARISONS | _ARITHMETIC, _elementwise),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "Identity": _identity,
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
    "Clip": _clip,
    "Cast": _cast,
    "CastLike": _cast_like,
}


def apply(call: Call) -> list[Traced]:
    """The outputs of a node, as far as its row gives them. Raises UntraceableError."""
    row = ROWS.get(call.operator)
    if row is None:
        raise UntraceableError("origins.is-not-followed", operator=call.operator)
    try:
        return row(call)
    except (ValueError, IndexError, TypeError, KeyError) as error:  # what numpy and onnx say of what does not fit
        raise UntraceableError("origins.does-fit-operands", operator=call.operator, error=error) from error
