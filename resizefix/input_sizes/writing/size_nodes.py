"""Sizes computed when the model runs: from the shape of a tensor that has them, else by arithmetic.

Two sizes are one if they are equal at every size of the input that is looked at (`Samples`), so that a size is taken
from whichever tensor has it on an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from resizefix.document.edits import NodeBuilder
from resizefix.input_sizes.following import Following
from resizefix.input_sizes.refusal import refuse
from resizefix.shapes.expression import Computed, Dim, Expression, Number
from resizefix.shapes.sizes import Lengths

_OPERATORS = {"product": "Mul", "total": "Add", "joined": "Add", "minus": "Sub", "quotient": "Div", "floor": "Div"}
_COUNT = 256
_SHAPE_WITH_ENDS = 15  # the opset since which Shape takes `start` and `end`


class Samples:
    """Sizes of the input, small and large, odd and even, at which two sizes are compared."""

    def __init__(self, found: Following) -> None:
        self._found = found
        random = np.random.default_rng(7)
        self.sizes: dict[str, Lengths] = {}
        symbols = found.sizes.symbols
        for row, (name, old) in enumerate(symbols.items()):
            # One size after another of each symbol, so that every remainder by a stride occurs, the others anywhere.
            made = old + random.integers(-old // 2, 4 * old + 64, (len(symbols) + 1, _COUNT))
            made[row] = old + np.arange(_COUNT)
            made[-1, 0] = old
            self.sizes[name] = np.maximum(1, made[[-1, *range(len(symbols))]]).astype(np.int64).ravel()
        self._memo: dict[Dim, Lengths] = {}

    def of(self, dim: Dim) -> Lengths | None:
        """The size at all of them; None for one that depends on data."""
        return self._found.sizes.at(dim, self.sizes, self._memo)

    def number(self, dim: Dim) -> int | None:
        """The number that it always is; None if it changes."""
        found = self.of(dim)
        return int(found[0]) if found is not None and bool(np.all(found == found[0])) else None


class SizeNodes:
    """Adds nodes that compute sizes. Tensors become known in the order of the nodes that make them."""

    def __init__(self, found: Following, builder: NodeBuilder, samples: Samples) -> None:
        self._found, self._builder, self._samples = found, builder, samples
        self._axes: dict[bytes, list[tuple[str, int]]] = {}
        self._made: dict[bytes, str] = {}
        self._shapes: dict[str, str] = {}

    def know(self, name: str, dims: Sequence[Dim] | None) -> None:
        """A tensor whose shape may be read from here on."""
        for axis, dim in enumerate(dims or ()):
            key = self._key(dim)
            if key is not None and self._samples.number(dim) is None:
                self._axes.setdefault(key, []).append((name, axis))

    def _key(self, dim: Dim) -> bytes | None:
        found = self._samples.of(dim)
        return None if found is None else found.tobytes()

    def vector(self, dims: Sequence[Dim], label: str) -> str:
        """An int64 tensor of rank 1 with these sizes."""
        parts: list[str] = []
        place = 0
        while place < len(dims):
            numbers = takewhile(lambda number: number is not None, map(self._samples.number, dims[place:]))
            known = [number or 0 for number in numbers]
            if known:
                parts.append(self._builder.value(known, "sizes", np.int64))
                place += len(known)
                continue
            source, count = self._longest(dims, place)
            parts.append(self._slice(*source, count) if source is not None else self.one(dims[place], label))
            place += count
        return parts[0] if len(parts) == 1 else self._builder.add("Concat", *parts, axis=0, wanted="sizes")

    def _longest(self, dims: Sequence[Dim], place: int) -> tuple[tuple[str, int] | None, int]:
        """The tensor whose shape has most of the sizes one after another."""
        best: tuple[tuple[str, int] | None, int] = (None, 1)
        for name, axis in self._axes.get(self._key(dims[place]) or b"", ()):
            count = 1
            while place + count < len(dims):
                key = self._key(dims[place + count])
                if key is None or (name, axis + count) not in self._axes.get(key, ()):
                    break
                count += 1
            if best[0] is None or count > best[1]:
                best = (name, axis), count
        return best

    def _slice(self, name: str, axis: int, count: int) -> str:
        key = f"{name} {axis} {count}".encode()
        if key not in self._made:
            builder = self._builder
            if builder.opset >= _SHAPE_WITH_ENDS:
                self._made[key] = builder.add("Shape", name, start=axis, end=axis + count, wanted="size")
            else:
                if name not in self._shapes:
                    self._shapes[name] = builder.add("Shape", name, wanted="shape")
                self._made[key] = builder.slice(self._shapes[name], [0], [axis], [axis + count])
        return self._made[key]

    def one(self, dim: Dim, label: str) -> str:
        """An int64 tensor of shape [1] with one size. Raises SizeRefusedError for one that depends on data."""
        dim = self._found.sizes.resolve(dim)
        number = self._samples.number(dim)
        if number is not None:
            return self._builder.value([number], "size", np.int64)
        key = self._key(dim)
        if key is None:
            raise refuse(label, "origins.input-size-data")
        if key not in self._made:
            source = self._axes.get(key)
            self._made[key] = self._slice(*source[0], 1) if source else self._computed(dim, label)
        return self._made[key]

    def _computed(self, dim: Dim, label: str) -> str:
        builder, kind = self._builder, dim.kind
        if kind == "scaled":
            size = builder.as_type(self.one(dim.parts[0], label), np.float32)
            scale = builder.value([dim.data], "scale", np.float32)
            return builder.as_type(builder.add("Floor", builder.add("Mul", size, scale)), np.int64)
        if kind == "computed":
            return self._expression(dim.data, label)
        if kind in ("least", "greatest"):
            one, other = (self.one(part, label) for part in dim.parts)
            if builder.opset >= 12:  # Min and Max of integers
                return builder.add("Min" if kind == "least" else "Max", one, other)
            less = builder.add("Less", one, other) if builder.opset >= 9 else ""
            return builder.add("Where", less, *((one, other) if kind == "least" else (other, one)))
        if kind not in _OPERATORS:
            raise refuse(label, "origins.input-size-data")
        made = self.one(dim.parts[0], label)
        for part in dim.parts[1:]:
            made = builder.add(_OPERATORS[kind], made, self.one(part, label))
        return made

    def _expression(self, expression: Expression, label: str) -> str:
        if isinstance(expression, Dim):
            return self.one(expression, label)
        if isinstance(expression, Number):
            return self._builder.value([expression.value], "number", np.dtype(expression.dtype))
        assert isinstance(expression, Computed)
        operands = [self._expression(operand, label) for operand in expression.operands]
        if expression.operator == "Cast":
            return self._builder.as_type(operands[0], expression.dtype)
        return self._builder.add(expression.operator, *operands)
