"""Sizes of axes as functions of the input's height and width.

A `Dim` is a node of an expression over symbols ("height", "width", "batch") and unknowns (`var`), shared wherever the
same size is meant. It is evaluated at many sizes of the input at once, with int64 arrays.

Two sizes are compared at sizes of the input that leave the old one's remainder by 13440 = 2⁷·3·5·7 (`Sizes.regime`):
there every window and every scale in use divides without a remainder, so that sizes which differ only by rounding are
equal. Whether they are equal at one given size is asked of `Sizes.at`.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from resizefix.shapes.expression import Dim, Expression, dims_in, evaluate
from resizefix.shapes.output_size import kernel_length, kernel_lengths

Lengths = npt.NDArray[np.int64]

PERIOD = 13440
_BEYOND = 1 << 63
_LONGEST = 1 << 48  # at any size of the input that is tried, int64 holds what follows it
# Small steps in general position: no two polynomials of the degrees that occur agree on all of them by accident.
_STEPS = {
    "height": (0, 1, 0, 0, 0, 1, 2, 3, 5, 2, 7),
    "width": (0, 0, 1, 0, 0, 1, 3, 1, 2, 7, 3),
    "batch": (0, 0, 0, 1, 0, 1, 2, 5, 3, 3, 1),
    "depth": (0, 0, 0, 0, 1, 1, 5, 2, 7, 1, 3),
}


class Sizes:
    """Makes sizes, each expression once, binds unknowns, and evaluates.

    `symbols` gives the old value of every symbol that may change; without any, all sizes are numbers. `tied`: height
    and width stay equal, so that it does not matter which of the two a size follows.
    """

    def __init__(self, symbols: Mapping[str, int], *, tied: bool = False) -> None:
        self.symbols, self.tied = dict(symbols), tied
        self.are_numbers = not symbols
        self.bound: dict[Dim, Dim] = {}
        self._made: dict[tuple[str, tuple[int, ...], object], Dim] = {}
        self._numbers: dict[int, Dim] = {}
        self._count = 0
        apart = {
            name: np.array([old + PERIOD * step for step in _STEPS[name]], np.int64) for name, old in symbols.items()
        }
        self.regime = {**apart, "width": apart["height"]} if tied else apart
        self._apart = apart
        self._regime_memo: dict[Dim, Lengths] = {}
        self._apart_memo: dict[Dim, Lengths] = {} if tied else self._regime_memo

    # ---- making ----

    def _make(self, kind: str, parts: Sequence[Dim], data: Any, old: int | None) -> Dim:
        key = kind, tuple(part.index for part in parts), data
        dim = self._made.get(key)
        if dim is None:
            dim = self._made[key] = self._new(kind, tuple(parts), data, old)
        return dim

    def _new(self, kind: str, parts: tuple[Dim, ...], data: Any, old: int | None) -> Dim:
        self._count += 1
        return Dim(self._count, kind, parts, data, old)

    def const(self, value: int) -> Dim:
        """A number; not followed beyond int64, where no runtime has it."""
        dim = self._numbers.get(value)
        if dim is None:
            if not -_BEYOND <= value < _BEYOND:
                return self.opaque()
            dim = self._numbers[value] = self._new("const", (), int(value), int(value))
        return dim

    def symbol(self, name: str) -> Dim:
        """A size of the input that may change."""
        return self._make("symbol", (), name, self.symbols[name])

    def var(self, old: int) -> Dim:
        """A number of the file that may follow the input: an unknown."""
        return self._new("var", (), None, old)

    def opaque(self) -> Dim:
        """A size that depends on data."""
        return self._new("opaque", (), None, None)

    def root(self, name: Hashable, old: int | None) -> Dim:
        """A size of which only its name is known, and perhaps its value in the file."""
        return self._make("root", (), name, old)

    def product(self, factors: Iterable[Dim]) -> Dim:
        """The length of merged axes, the outermost first."""
        atoms = [atom for factor in factors for atom in self.atoms(factor)]
        if len(atoms) <= 1:
            return atoms[0] if atoms else self.const(1)
        if all(atom.kind == "const" for atom in atoms):
            return self.const(math.prod(int(atom.data) for atom in atoms))
        return self._make("product", atoms, None, _known_old(atoms, math.prod))

    def joined(self, parts: Iterable[Dim]) -> Dim:
        """The length of joined axes, in their order: where one ends and the next begins is remembered."""
        return self._sum("joined", parts)

    def total(self, parts: Iterable[Dim]) -> Dim:
        """A sum."""
        return self._sum("total", parts)

    def _sum(self, kind: str, parts: Iterable[Dim]) -> Dim:
        flat: list[Dim] = []
        for part in parts:
            resolved = self.resolve(part)
            flat += resolved.parts if resolved.kind == kind else [resolved]
        if all(part.kind == "const" for part in flat):
            return self.const(sum(part.data for part in flat))
        flat = [part for part in flat if part.kind != "const" or part.data != 0]
        return flat[0] if len(flat) == 1 else self._make(kind, flat, None, _known_old(flat, sum))

    def plus(self, dim: Dim, amount: int) -> Dim:
        """dim + amount"""
        if dim.kind == "const":
            return self.const(dim.data + amount)
        return self.total([dim, self.const(amount)]) if amount else dim

    def minus(self, dim: Dim, other: Dim) -> Dim:
        """dim - other"""
        dim, other = self.resolve(dim), self.resolve(other)
        if dim is other:
            return self.const(0)
        if dim.kind == "joined":
            for count in range(1, len(dim.parts)):
                first = self.joined(dim.parts[:count])
                if first is other or (first.old == other.old and self.same(first, other)):
                    return self.joined(dim.parts[count:])
        if other.kind == "const":
            return self.plus(dim, -int(other.data))
        return self._plain("minus", dim, other)

    def quotient(self, dim: Dim, divisor: Dim) -> Dim:
        """dim / divisor, where that has no remainder at the old size."""
        divisor, dim = self.resolve(divisor), self.resolve(dim)
        if divisor.kind == "const" and divisor.data == 1:
            return dim
        if dim is divisor:
            return self.const(1)
        factors = self.atoms(dim)
        for position, factor in enumerate(factors):
            if factor is divisor:
                return self.product(factors[:position] + factors[position + 1 :])
        return self._plain("quotient", dim, divisor)

    def floor_div(self, dim: Dim, divisor: int) -> Dim:
        """dim // divisor"""
        if dim.kind == "const":
            return self.const(dim.data // divisor)
        return dim if divisor == 1 else self._plain("floor", dim, self.const(divisor))

    def ceil_div(self, dim: Dim, divisor: int) -> Dim:
        """dim / divisor, rounded up."""
        return self.floor_div(self.plus(dim, divisor - 1), divisor) if divisor != 1 else dim

    def least(self, dim: Dim, other: Dim) -> Dim:
        """min(dim, other)"""
        return self._plain("least", dim, other)

    def greatest(self, dim: Dim, other: Dim) -> Dim:
        """max(dim, other)"""
        return self._plain("greatest", dim, other)

    def _plain(self, kind: str, dim: Dim, other: Dim) -> Dim:
        dim, other = self.resolve(dim), self.resolve(other)
        old = None
        if dim.old is not None and other.old is not None and (other.old or kind not in ("quotient", "floor")):
            old = int(_ARITHMETIC[kind]([dim.old, other.old]))
        if dim.kind == "const" and other.kind == "const" and old is not None:
            return self.const(old)
        return self._make(kind, (dim, other), None, old)

    def scaled(self, dim: Dim, scale: float) -> Dim:
        """The length of an axis resized by a float32 scale, as onnxruntime computes it; opaque beyond all tensors."""
        dim = self.resolve(dim)
        if not math.isfinite(scale):
            return self.opaque()
        old = None if dim.old is None else kernel_length(scale, dim.old)
        if old is not None and abs(old) >= _LONGEST:
            return self.opaque()
        if dim.kind == "const" and old is not None:
            return self.const(old)
        return dim if scale == 1 else self._make("scaled", (dim,), float(scale), old)

    def computed(self, expression: Expression) -> Dim:
        """What a chain of small tensors computes of sizes."""
        parts = tuple(dims_in(expression))
        old: int | None = None
        if all(part.old is not None for part in parts):
            olds = {part: np.array([part.old], np.int64) for part in parts}
            old = int(np.ravel(evaluate(expression, olds))[0])
        return self._new("computed", parts, expression, old)

    # ---- looking ----

    def resolve(self, dim: Dim) -> Dim:
        """What an unknown is bound to; anything else is itself."""
        while dim in self.bound:
            dim = self.bound[dim]
        return dim

    def bind(self, var: Dim, dim: Dim) -> bool:
        """Let an unknown be `dim`; whether that can be (an unknown is no part of itself)."""
        if self.lengths(dim) is None and any(part is var for part in self.behind(dim)):
            return False
        self.bound[var] = dim
        return True

    def behind(self, *dims: Dim, short_of: Set[Dim] = frozenset()) -> list[Dim]:
        """The sizes and all that they are made of, without what is bound to the unknowns `short_of`."""
        behind: dict[Dim, None] = {}
        pending = list(dims)
        while pending:
            current = pending.pop()
            while current in self.bound and current not in short_of:
                current = self.bound[current]
            if current not in behind:
                behind[current] = None
                pending += current.parts
        return list(behind)

    def unknowns(self, dim: Dim) -> list[Dim]:
        """The unbound unknowns in it."""
        if self.lengths(dim) is not None:
            return []
        return [part for part in self.behind(dim) if part.kind == "var"]

    def is_opaque(self, dim: Dim) -> bool:
        """Whether it depends on data."""
        return self.lengths(dim) is None and any(part.kind == "opaque" for part in self.behind(dim))

    def atoms(self, dim: Dim) -> list[Dim]:
        """The factors of a size, the outermost first, without ones."""
        dim = self.resolve(dim)
        if dim.kind == "product":
            return [atom for part in dim.parts for atom in self.atoms(part)]
        return [] if dim.kind == "const" and dim.data == 1 else [dim]

    def fixed(self, dim: Dim) -> int | None:
        """The number that it is at every size of the input; None if it changes or is not known."""
        if dim.kind == "const":
            return int(dim.data)
        values = self.lengths(dim)
        return None if values is None or np.any(values != values[0]) else int(values[0])

    def varies(self, dim: Dim) -> bool:
        """Whether it is known to change with the input."""
        if dim.kind == "const":
            return False
        values = self.lengths(dim)
        return values is not None and bool(np.any(values != values[0]))

    def follows(self, dim: Dim, symbol: str) -> bool:
        """Whether it changes with this size of the input, the others as they are."""
        lengths = self.at(dim, self._apart, self._apart_memo)
        position = list(_STEPS).index(symbol) + 1
        return symbol in self.symbols and lengths is not None and bool(lengths[position] != lengths[0])

    @property
    def sides(self) -> list[Dim]:
        """The height and the width of the input, as far as they may change."""
        return [self.symbol(name) for name in ("height", "width") if name in self.symbols]

    def are_sides(self, height: Dim, width: Dim) -> bool:
        """Whether the one follows the input's height alone, and the other its width."""
        lines = [self.follows(dim, name) for dim in (height, width) for name in ("height", "width")]
        return lines == [True, False, False, True]

    def stride(self, dim: Dim) -> float | None:
        """How many samples of the input one sample of an axis stands for; None where it follows neither size."""
        lengths = self.at(dim, self._apart, self._apart_memo)
        for position, name in enumerate(("height", "width"), 1):
            if lengths is not None and self.follows(dim, name):
                whole = self._apart[name]
                return float((whole[position] - whole[0]) / (lengths[position] - lengths[0]))
        return None

    def same(self, one: Dim, other: Dim) -> bool | None:
        """Whether they are equal but for rounding; None where that is not known yet."""
        one, other = self.resolve(one), self.resolve(other)
        if one is other:
            return True
        left, right = self.lengths(one), self.lengths(other)
        return None if left is None or right is None else bool(np.array_equal(left, right))

    def lengths(self, dim: Dim) -> Lengths | None:
        """Its values at the sizes of the regime, the old one first; None while an unknown is in it."""
        return self.at(dim, self.regime, self._regime_memo)

    def at(self, dim: Dim, sizes: Mapping[str, Lengths], memo: dict[Dim, Lengths]) -> Lengths | None:
        """Its values at other sizes of the input; `memo` belongs to these sizes."""
        start = self.resolve(dim)
        pending = [start]
        while pending:
            current = pending[-1]
            if current in memo:
                pending.pop()
                continue
            if current.kind in ("var", "opaque", "root"):
                return None
            parts = [self.resolve(part) for part in current.parts]
            missing = [part for part in parts if part not in memo]
            if missing:
                pending += missing
                continue
            memo[current] = self._value(current, [memo[part] for part in parts], sizes)
            pending.pop()
        return memo[start]

    def _value(self, dim: Dim, parts: list[Lengths], sizes: Mapping[str, Lengths]) -> Lengths:
        shape = next((lengths.shape for lengths in sizes.values()), (1,))
        if dim.kind == "const":
            return np.full(shape, dim.data, np.int64)
        if dim.kind == "symbol":
            return sizes[str(dim.data)] if dim.data in sizes else np.full(shape, dim.old, np.int64)
        if dim.kind == "scaled":
            return kernel_lengths(float(dim.data), parts[0])
        if dim.kind == "computed":
            values = evaluate(dim.data, dict(zip(dim.parts, parts, strict=True)))
            return np.broadcast_to(np.asarray(values), shape).astype(np.int64)
        with np.errstate(all="ignore"):
            return np.asarray(_ARITHMETIC[dim.kind](parts), np.int64)


_ARITHMETIC: dict[str, Callable[[list[Any]], Any]] = {
    "product": lambda parts: np.prod(parts, axis=0),
    "total": lambda parts: np.sum(parts, axis=0),
    "joined": lambda parts: np.sum(parts, axis=0),
    "minus": lambda parts: parts[0] - parts[1],
    "quotient": lambda parts: parts[0] // np.where(parts[1] == 0, 1, parts[1]),
    "floor": lambda parts: parts[0] // parts[1],
    "least": lambda parts: np.minimum(parts[0], parts[1]),
    "greatest": lambda parts: np.maximum(parts[0], parts[1]),
}


def _known_old(parts: Sequence[Dim], combine: Callable[[list[int]], int]) -> int | None:
    olds = [part.old for part in parts]
    numbers = [old for old in olds if old is not None]
    return int(combine(numbers)) if len(numbers) == len(olds) else None
