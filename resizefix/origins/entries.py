"""The entries of a computed operand as functions of sizes: traced, or measured where the walk ended.

A size is one of three: the resized input's own size on an axis, whatever tensor it is read from; a number; or the
size of another tensor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.origins.measure import MeasuredChain
from resizefix.scope_path import Key
from resizefix.shapes.axis_sizes import AxisSizes
from resizefix.shapes.expression import (
    Expression,
    Number,
    Size,
    UntraceableError,
    evaluate,
    numbers_in,
    sizes_in,
    substituted,
)


class DimResolver:
    """What sizes mean to one resize."""

    def __init__(self, axis_sizes: AxisSizes, own: Key, rank: int) -> None:
        self._axis_sizes = axis_sizes
        self._own = own
        self._rank = rank
        self._sources = [axis_sizes.source(own, axis) for axis in range(rank)]
        self._known: dict[Size, Size | Number] = {}  # asked again for each of thousands of lengths

    def own(self, axis: int) -> Size:
        """The input's own size on an axis; the same for axes of provably equal size."""
        source = self._sources[axis]
        return Size(self._own, self._sources.index(source) if sizes_in(source) else axis)

    def of(self, size: Size) -> Size | Number:
        """The input's own size if it is provably that, a number if the file fixes it, else the size as it stands."""
        if size not in self._known:
            self._known[size] = self._meaning(size)
        return self._known[size]

    def _meaning(self, size: Size) -> Size | Number:
        if size.tensor == self._own and size.axis < self._rank:
            return self.own(size.axis)
        source = self._axis_sizes.source(size.tensor, size.axis)
        if sizes_in(source):
            same = [axis for axis in range(self._rank) if self._sources[axis] == source]
            if same:
                return self.own(same[0])
        fixed = self._axis_sizes.fixed(size.tensor, size.axis)
        return size if fixed is None else Number(fixed, "int64")

    def fixed(self, axis: int) -> int | None:
        """The input's own size on an axis if the file fixes it."""
        return self._axis_sizes.fixed(self._own, axis)


@dataclass(frozen=True)
class TracedEntry:
    """One number of the operand, that the walk found."""

    expression: Expression

    @classmethod
    def meaning(cls, expression: Expression, meanings: DimResolver) -> "TracedEntry":
        """The expression over what its sizes mean."""
        return cls(substituted(expression, {size: meanings.of(size) for size in sizes_in(expression)}))

    @property
    def depends(self) -> frozenset[Size]:
        """The sizes that it depends on, each by its meaning."""
        return sizes_in(self.expression)

    @property
    def hints(self) -> tuple[float, ...]:
        """The numbers it is written with, floating-point ones first: a factor rather is one than an index."""
        numbers = sorted(numbers_in(self.expression), key=lambda number: not number.dtype.startswith("float"))
        values = [float(number.value) for number in numbers]
        return tuple(dict.fromkeys([*values, *(1 / value for value in values if value)]))

    def at(self, sizes: Mapping[Size, Array]) -> Array:
        """Its value for given sizes, each an array of one length: by numpy, in the types of the model."""
        lengths = [np.shape(value) for value in sizes.values()]
        return np.broadcast_to(evaluate(self.expression, sizes), np.broadcast_shapes(*lengths))


# Lengths to try for a size on which an entry might depend: small and large ones, so that a maximum or a bound shows.
_OTHER_LENGTHS = (3, 16, 97, 640, 1025, 4099)


class MeasuredEntry(NamedTuple):
    """One number of the operand, whose chain onnxruntime runs."""

    chain: MeasuredChain
    position: int
    meanings: DimResolver
    depends: frozenset[Size]
    hints: tuple[float, ...] = ()
    expression: Expression | None = None

    def at(self, sizes: Mapping[Size, Array]) -> Array:
        """Its value for given sizes, each an array of one length: one run for each element."""
        arrays = np.broadcast_arrays(*sizes.values())
        shape = arrays[0].shape if arrays else ()
        values = []
        for position in np.ndindex(shape):
            lengths = {size: int(array[position]) for size, array in zip(sizes, arrays, strict=True)}
            values.append(operand(self.chain, self.meanings, lengths)[self.position])
        return np.array(values).reshape(shape)


Entry = TracedEntry | MeasuredEntry


def operand(chain: MeasuredChain, meanings: DimResolver, lengths: Mapping[Size, int]) -> Array:
    """The operand where sizes of these meanings have these lengths; others have some length of their own."""

    def length(size: Size) -> int:
        meaning = meanings.of(size)
        return int(meaning.value) if isinstance(meaning, Number) else lengths.get(meaning, 37 + 4 * meaning.axis)

    return chain.run(length)


def measured_entries(chain: MeasuredChain, meanings: DimResolver) -> list[MeasuredEntry]:
    """One entry for each number of the operand, with what it turns out to depend on. Raises UntraceableError."""
    sizes_behind = dict.fromkeys(meaning for size in chain.sizes if isinstance(meaning := meanings.of(size), Size))
    base = operand(chain, meanings, {})
    if base.ndim != 1:
        raise UntraceableError("origins.chain-not-a-vector", ndim=base.ndim)
    depends: list[set[Size]] = [set() for _ in base]
    for size in sizes_behind:
        for length in _OTHER_LENGTHS:
            changed = operand(chain, meanings, {size: length})
            if changed.shape != base.shape:
                raise UntraceableError("origins.length-depends-on-sizes")
            for position in np.flatnonzero(changed != base):
                depends[position].add(size)
    return [MeasuredEntry(chain, position, meanings, frozenset(sizes)) for position, sizes in enumerate(depends)]


def confirm(chain: MeasuredChain, meanings: DimResolver, entries: Sequence[TracedEntry]) -> None:
    """Runs the chain at sizes drawn at random. Raises UntraceableError where the walk's statement does not hold."""
    sizes = sorted({size for entry in entries for size in entry.depends}, key=repr)
    generator = np.random.default_rng(0)
    for _ in range(_CONFIRMATIONS if sizes else 1):
        lengths = {size: int(generator.integers(1, 1500)) for size in sizes}
        given = {size: np.array(length) for size, length in lengths.items()}
        stated = [entry.at(given) for entry in entries]
        run = operand(chain, meanings, lengths)
        if len(run) != len(stated) or any(a != b for a, b in zip(stated, run, strict=True)):
            at = ", ".join(f"{size.tensor[1]}[{size.axis}]={length}" for size, length in lengths.items())
            raise UntraceableError(
                "origins.trace-differs-from-run", run=run.tolist(), at=at, stated=[x.item() for x in stated]
            )


_CONFIRMATIONS = 8
