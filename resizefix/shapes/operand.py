"""A tensor that is known before run time, by number or by expression, and a node with such operands.

The value of a Constant node, in any of its spellings.

The walk from a value back to what it is computed from, in the two orders in which it is wanted.

The caller gives the step: what a definition is computed from, over calls and branches or not. The stacks are explicit,
since chains may be longer than Python recurses; names that depend on themselves end the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, NodeProto, helper

from resizefix.document.scopes import Definition
from resizefix.document.text import counted
from resizefix.document.values import Array, longest_extent
from resizefix.scope_path import Key
from resizefix.shapes.expression import Expression, Number, UntraceableError, number

if TYPE_CHECKING:
    from resizefix.document.document import Document


# Element types whose arithmetic numpy has.
DTYPES = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"}
)
# Chains of expressions hold a few; constants above so many elements are weights, better left on disk.
MOST_EXPRESSIONS = 1 << 10
MOST_ELEMENTS = 1 << 16
_MOST_AXES = 32  # numpy walks over no more
# What a row over nodes raises where inputs, attributes and operator do not belong together. No schema says it all: how
# long lists must be, say. The caller of a row decides what follows: a refusal, or that nothing is known.
MISFITS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)


_Size = TypeVar("_Size")
# These read the shape of their operand and not its data: what lies behind them is not followed.
SHAPE_READERS = frozenset({"Shape", "Size"})
# The operands that give an output its size, by position: a few numbers there make a tensor of any length.
SIZED_BY = {"ConstantOfShape": (0,), "Expand": (1,), "Tile": (1,), "Range": (0, 1, 2), "OneHot": (1,), "Pad": (1,)}


class Known:
    """A tensor: `value` are its numbers, None where an element is no number; `elements` are its expressions, in an
    array of objects; `dtype` is numpy's name of its element type."""

    def __init__(
        self, dtype: str, *, value: Array | None = None, elements: npt.NDArray[np.object_] | None = None
    ) -> None:
        assert (value is None) != (elements is None)
        if elements is not None and all(isinstance(element, Number) for element in elements.flat):
            value = np.array([element.value for element in elements.flat], dtype).reshape(elements.shape)
        self.dtype = dtype
        self.value = value
        self._elements = elements
        self.shape: tuple[int, ...] = (elements if value is None else value).shape  # type: ignore[union-attr]

    @classmethod
    def constant(cls, value: npt.NDArray[np.generic]) -> Known:
        """A tensor of numbers."""
        return cls(value.dtype.name, value=value)

    @classmethod
    def vector(cls, dtype: str, expressions: Sequence[Expression]) -> Known:
        """A tensor of rank 1."""
        elements = np.empty(len(expressions), object)
        elements[:] = expressions
        return cls(dtype, elements=elements)

    @classmethod
    def single(cls, dtype: str, expression: Expression) -> Known:
        """A tensor of rank 0."""
        elements = np.empty((), object)
        elements[()] = expression
        return cls(dtype, elements=elements)

    @cached_property
    def elements(self) -> npt.NDArray[np.object_]:
        """Raises UntraceableError for a tensor that is too large or of a type without arithmetic."""
        if self._elements is not None:
            return self._elements
        value = self.value
        assert value is not None
        if longest_extent(value.shape) > MOST_EXPRESSIONS or value.ndim > _MOST_AXES or self.dtype not in DTYPES:
            raise UntraceableError(
                "document.type-no-part-of-size", name=self.dtype, size=counted(value.size, "element")
            )
        elements = np.empty(value.shape, object)
        for position in np.ndindex(value.shape):
            elements[position] = number(value[position])
        return elements

    def same_as(self, other: Known) -> bool:
        """Whether both are equal at every size."""
        return self.dtype == other.dtype and self.shape == other.shape and bool(np.all(self.elements == other.elements))

    def moved(self, move: Callable[[Array], Array]) -> Known:
        """The same elements, or some of them, in other places."""
        if self.value is not None:
            return Known(self.dtype, value=_array(move(self.value), self.value.dtype))
        return Known(self.dtype, elements=_array(move(self.elements), np.dtype(object)))


def _array(moved: Any, dtype: np.dtype[Any]) -> Array:
    if isinstance(moved, np.ndarray):
        return moved
    single = np.empty((), dtype)  # instead of an array of rank 0 numpy gives the element itself
    single[()] = moved
    return single


def require_few(sizes: Sequence[int], operands: Sequence[Known]) -> None:
    """To be asked before numpy makes a tensor of these sizes from these operands. Raises UntraceableError."""
    are_values = all(operand.value is not None for operand in operands)
    if longest_extent(sizes) > (MOST_ELEMENTS if are_values else MOST_EXPRESSIONS):
        raise UntraceableError("document.shape-no-part-of-size", sizes=list(sizes))


def stated_attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """The value of a node's attribute, `default` where it has none. Raises UntraceableError for a value that does not
    stand at the node: the call of a function gives it, or the file states no type."""
    for attribute in node.attribute:
        if attribute.name == name:
            if attribute.ref_attr_name or not attribute.type:
                raise UntraceableError("document.attribute-of-function", name=name, operator=node.op_type)
            return helper.get_attribute_value(attribute)
    return default


def attribute_of(node: NodeProto, name: str, default: Any = None) -> Any:
    """The value of a node's attribute, `default` where none stands at the node."""
    try:
        return stated_attribute(node, name, default)
    except UntraceableError:
        return default


class Call:
    """One node with its operands. `operands` holds None for an input that is left out; hides in which opset what was an
    attribute and what an input."""

    def __init__(self, node: NodeProto, operands: Sequence[Known | None], opset: int) -> None:
        self.operator = node.op_type
        self.operands = operands
        self.opset = opset
        self.outputs = len(node.output)
        self._node = node

    def operand(self, position: int) -> Known:
        """An input that must be there."""
        operand = self.optional(position)
        if operand is None:
            raise UntraceableError("document.lacks-input", operator=self.operator, position=position)
        return operand

    def optional(self, position: int) -> Known | None:
        """An input that may be left out."""
        return self.operands[position] if position < len(self.operands) else None

    def all_operands(self) -> list[Known]:
        """The inputs of an operator that takes any number of them."""
        return [self.operand(position) for position in range(len(self.operands))]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        return stated_attribute(self._node, name, default)

    def integers(self, position: int, attribute: str | None = None) -> list[int] | None:
        """Integers that later opsets take as input `position` and earlier ones as an attribute; None if left out."""
        given = self.attribute(attribute) if attribute is not None else None
        if given is not None:
            return [int(value) for value in np.ravel(given)]
        operand = self.optional(position)
        return None if operand is None else [int(value) for value in np.ravel(self.numbers(operand))]

    def numbers(self, operand: Known) -> Array:
        """The value of an operand that must be constant."""
        if operand.value is None:
            raise UntraceableError("document.operand-not-constant", operator=self.operator)
        return operand.value


ValueRow = Callable[[Call], list[Known]]
"""What an operator makes of values that are known. Raises UntraceableError."""


def sizes_read(node: NodeProto, sizes: Sequence[_Size]) -> Sequence[_Size]:
    """Those of a tensor's sizes that a Shape node gives, or a Size node multiplies. Raises UntraceableError."""
    call = Call(node, [], 0)
    return sizes if node.op_type == "Size" else sizes[call.attribute("start", 0) : call.attribute("end")]


# Constant-12: a single value makes a tensor of rank 0, a list one of rank 1; floats are float32, ints int64.
_SPELLINGS: dict[str, tuple[str, type[np.generic]]] = {
    "value_float": ("f", np.float32),
    "value_floats": ("floats", np.float32),
    "value_int": ("i", np.int64),
    "value_ints": ("ints", np.int64),
    "value_string": ("s", np.object_),
    "value_strings": ("strings", np.object_),
}


def spelled_value(attribute: AttributeProto, spelling: str | None = None) -> Array | None:
    """The value of a Constant node's attribute that is no tensor; None if it is one. `spelling`: the attribute's name,
    where a function's call gives it under another."""
    spelling = spelling or attribute.name
    if spelling not in _SPELLINGS:
        return None
    field, dtype = _SPELLINGS[spelling]
    return np.array(getattr(attribute, field), dtype)


def value_of_node(node: NodeProto, document: Document) -> Array | None:
    """The value of a Constant node of any size; None where it has none that is dense, or its function's call gives it.

    Raises UnreadableModelError, RefusedError.
    """
    attribute = next(iter(node.attribute), None)
    if attribute is None or attribute.ref_attr_name:
        return None
    return document.array(attribute.t) if attribute.name == "value" else spelled_value(attribute)


Sources = Callable[[Definition], Iterable[Definition]]


def operands_first(start: Definition, sources: Sources, visited: Container[Key]) -> Iterator[tuple[Definition, bool]]:
    """Every definition behind `start` and itself, each after all that it is computed from, but for those in `visited`.

    The second of each pair is True where the definition depends on itself. The caller puts each into `visited`.
    """
    pending: list[tuple[Definition, bool]] = [(start, False)]
    opened: set[Key] = set()
    while pending:
        current, sources_are_known = pending.pop()
        if current.key in visited:
            continue
        if sources_are_known:
            yield current, False
        elif current.key in opened:
            yield current, True
        else:
            opened.add(current.key)
            pending.append((current, True))
            pending.extend((source, False) for source in sources(current) if source.key not in visited)


def readers_first(start: Definition, sources: Sources) -> Iterator[Definition]:
    """`start` and every definition behind it, each once, after one that is computed from it."""
    seen = {start.key}
    pending = [start]
    while pending:
        current = pending.pop()
        yield current
        fresh = [source for source in sources(current) if source.key not in seen]
        seen.update(source.key for source in fresh)
        pending.extend(reversed(fresh))
