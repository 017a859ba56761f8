"""What an input is fed from the second run on: values drawn at random, a table of distributions by the kind of value.

The first feed has the likeliest values (`feeds.py`). What it cannot tell apart, another feed may: the sign of a number,
the other branch, values beyond a limit, ties, an image instead of noise. The first two rows see every number with both
signs and every truth as both; later ones take a distribution for each input at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, cast

import numpy as np

from resizefix.document.values import Array
from resizefix.runtimes.inputs import InputKind, TensorInput, Value
from resizefix.verification.edges import Edges
from resizefix.verification.feed_rows import FeedRow
from resizefix.verification.feeds import generator_of, picture
from resizefix.verification.sizing import Shape

Generator = np.random.Generator
SMALL = 64  # elements: fewer of them need not show both sides of a value by chance
_LARGEST_INTEGER = 2**62  # but beside an edge that is larger
_LEAST_POWER, _MOST_POWER = -6.0, 9.0  # of ten, for the size of all numbers of an input
_GOLDEN = (5**0.5 - 1) / 2  # its multiples leave no part of 0..1 out for long
_FAR = 4.0  # powers of ten that drawn magnitudes span
_MOST_ITEMS = 3  # of a sequence
_MOST_NAMED_ITEMS = 32  # of a sequence where the model names a number
_MOST_PARTS = 5  # of a text
_WORDS = ("a", "b", "A b", " a ", "", "é", "10")


class Wanted(NamedTuple):
    """One tensor to draw. `edges` are numbers that the model names for it, `usual` what the first feed had; `edge` and
    `side`: one of the edges that a row is about, and whether below (-1), on it (0) or above (1)."""

    dtype: np.dtype[np.generic]
    shape: Shape
    edges: tuple[float, ...] = ()
    usual: Array | None = None
    texts: tuple[str, ...] = ()
    edge: int | None = None
    side: int = 0

    @property
    def lowest(self) -> int:
        """The least integer of the type; of wide types one that few sums of them leave."""
        return 0 if self.dtype.kind == "u" else int(max(_info(self.dtype).min, -(2**31) + 1))

    @property
    def highest(self) -> int:
        """The largest integer of the type, or as above."""
        return int(min(_info(self.dtype).max, 2**31 - 1))

    @property
    def held(self) -> tuple[int, int]:
        """The least and the largest integer that may stand beside an edge: further out than others of wide types."""
        least = -_LARGEST_INTEGER if self.dtype.itemsize == 8 and self.dtype.kind == "i" else self.lowest
        return least, int(min(_info(self.dtype).max, _LARGEST_INTEGER))


def _info(dtype: np.dtype[np.generic]) -> Any:
    return np.iinfo(cast("Any", dtype))


Draw = Callable[[Generator, Wanted], Array]


def _is_image(shape: Shape) -> bool:
    return len(shape) >= 3 and math.prod(shape[-2:]) >= SMALL


def _image_or_normal(generator: Generator, wanted: Wanted) -> Array:
    if not _is_image(wanted.shape):
        return generator.standard_normal(wanted.shape)
    image = picture(generator, np.dtype(np.float32), wanted.shape)
    if wanted.edges:  # a few pixels beside the edges
        image = np.where(generator.random(wanted.shape) < 1 / 16, _near_edges(generator, wanted), image)
    return image


_STEPS = (1e-3, 0.1, 1.0)  # from an edge, relative to it


def _near_edges(generator: Generator, wanted: Wanted) -> Array:
    """Numbers that the model names, a little less, a little more, and far from them. Where a row is about one of them,
    most numbers stand on one side of it."""
    named = np.array(_named(wanted.edges))
    at, side = _edge_and_side(generator, wanted, len(named))
    steps = side * generator.choice(_STEPS, wanted.shape)
    return np.asarray(named[at] + steps * np.maximum(np.abs(named[at]), 0.01))


def _edge_and_side(generator: Generator, wanted: Wanted, named: int) -> tuple[Array, Array]:
    """For each number which of so many edges it is about, and where it stands: -1 below, 0 on it, 1 above. Of a row
    that is about one, the first number and most others are about that."""
    at, side = generator.integers(named, size=wanted.shape), generator.choice([-1, 0, 1], wanted.shape)
    if wanted.edge is not None:
        others = np.asarray(generator.random(wanted.shape) < 1 / 4)
        others.flat[:1] = False
        at = np.where(others, at, _in_turn(named, wanted.edge))
        side = np.where(others, side, wanted.side)
    return at, side


def _named(edges: Sequence[float]) -> list[float]:
    """The numbers that a row may be about, each once."""
    return sorted({0, 1, *edges})


def _in_turn(named: int, turn: int) -> int:
    """One of so many for each turn, from the last on: each comes once in as many turns, and fewer turns spread evenly
    over them."""
    step = next(step for step in count(round(_GOLDEN * named) or 1) if math.gcd(step, named) == 1)
    return named - 1 - turn * step % named


def _beyond_edges(generator: Generator, wanted: Wanted) -> Array:
    """Numbers on the scale of what the model names, out to twice the largest."""
    named = [abs(edge) for edge in wanted.edges if edge] or [1.0]
    most = 2 * named[int(generator.integers(len(named)))]
    return _within_type(generator.uniform(-most, most, wanted.shape), wanted)


def _on_one_side(generator: Generator, wanted: Wanted) -> Array:
    """All numbers on one side of one edge: what a limit on the largest of them, or on several inputs at once, needs."""
    named = _named(wanted.edges)
    edge = named[_in_turn(len(named), wanted.edge or 0)]
    if wanted.dtype.kind in "iu":
        return np.asarray(_beside(wanted, [edge])[0, wanted.side * generator.integers(1, 3, wanted.shape)])
    if wanted.dtype.kind == "b":
        return np.full(wanted.shape, wanted.side > 0)
    return np.asarray(edge + wanted.side * generator.choice(_STEPS, wanted.shape) * max(abs(edge), 0.01))


def _within_type(numbers: Array, wanted: Wanted) -> Array:
    """As far as an integer type holds them."""
    return np.asarray(np.clip(np.round(numbers), *wanted.held)) if wanted.dtype.kind in "iu" else numbers


def _magnitudes(generator: Generator, wanted: Wanted) -> Array:
    """Numbers of every size from 0.01 to 100, of both signs."""
    sign = generator.choice([-1.0, 1.0], wanted.shape)
    return np.asarray(sign * 10.0 ** generator.uniform(-_FAR / 2, _FAR / 2, wanted.shape))


def _of_one_size(generator: Generator, wanted: Wanted) -> Array:
    """Numbers of one size, from tiny to huge: what reaches limits behind weights that nothing undoes."""
    size = 10.0 ** generator.uniform(_LEAST_POWER, _MOST_POWER)
    return np.asarray(generator.standard_normal(wanted.shape) * size)


def _vast(generator: Generator, wanted: Wanted) -> Array:
    """Numbers of one size, anywhere in the range of the type: where squares, sums and exponentials leave it."""
    bounds = np.finfo(cast("Any", wanted.dtype if wanted.dtype.kind == "f" else np.float32))
    size = 10.0 ** generator.uniform(np.log10(float(bounds.tiny)) + 1, np.log10(float(bounds.max)) - 1)
    return np.asarray(generator.standard_normal(wanted.shape) * size)


def _halves(generator: Generator, wanted: Wanted) -> Array:
    """Whole numbers and halves, where rounding and comparisons have ties."""
    return np.asarray(generator.integers(-10, 11, wanted.shape) / 2)


def _integers(low: float, high: float) -> Draw:
    def draw(generator: Generator, wanted: Wanted) -> Array:
        least, most = max(int(low), wanted.lowest), min(int(high), wanted.highest)
        return generator.integers(least, most + 1, wanted.shape)

    return draw


def _integers_near_edges(generator: Generator, wanted: Wanted) -> Array:
    info = _info(wanted.dtype)
    named = _named([edge for edge in wanted.edges if info.min - 2 <= edge <= info.max + 2])
    at, side = _edge_and_side(generator, wanted, len(named))
    return np.asarray(_beside(wanted, named)[at, side * generator.integers(1, 3, wanted.shape)])


def _beside(wanted: Wanted, edges: Sequence[float]) -> Array:
    """For each edge the integers from it to two above, then two and one below, as far as the type holds them."""
    info = _info(wanted.dtype)
    steps = (0, 1, 2, -2, -1)
    return np.array(
        [[min(max(round(edge) + step, info.min), info.max) for step in steps] for edge in edges], wanted.dtype
    )


def _integer_image(generator: Generator, wanted: Wanted) -> Array:
    low = 0 if wanted.dtype.itemsize > 1 else wanted.lowest
    if not _is_image(wanted.shape):
        return generator.integers(low, low + 256 if wanted.dtype.itemsize == 1 else 3, wanted.shape)
    return np.asarray(low + picture(generator, np.dtype(np.uint8), wanted.shape).astype(np.int64))


def _integer_magnitudes(generator: Generator, wanted: Wanted) -> Array:
    sign = generator.choice([-1.0, 1.0], wanted.shape)
    return np.asarray(np.clip(sign * 10.0 ** generator.uniform(0, 5, wanted.shape), wanted.lowest, wanted.highest))


def _near_usual(generator: Generator, wanted: Wanted) -> Array:
    """Sizes, counts and scales: about what the first feed had, up to twice that; never large."""
    usual = np.ones(wanted.shape) if wanted.usual is None else wanted.usual.astype(np.float64)
    if wanted.dtype.kind in "iu":
        return np.asarray(np.maximum(np.round(usual * generator.uniform(0.4, 2.1, wanted.shape)), 0))
    return np.asarray(usual * generator.choice([1.0, 1.5, 0.5, 2.0, 0.75], wanted.shape))


def _few(generator: Generator, wanted: Wanted) -> Array:
    """Sizes, counts and scales at which something is left out: none, one, and below none."""
    numbers = [-1, 0, 1, 2, 3] if wanted.dtype.kind in "iu" else [-1, 0, 0.5, 1, 2, 3]
    return np.asarray(np.maximum(generator.choice(numbers, wanted.shape), -1 if wanted.dtype.kind != "u" else 0))


def _last_of(draw: Draw) -> Draw:
    """The same with the first numbers of a vector as they were in the first feed."""

    def last(generator: Generator, wanted: Wanted) -> Array:
        drawn = draw(generator, wanted)
        if wanted.usual is None or drawn.ndim != 1 or drawn.size < 2:
            return drawn
        is_usual = np.arange(drawn.size) < generator.integers(1, drawn.size)
        return np.where(is_usual, wanted.usual.astype(np.float64), drawn)

    return last


def _truths(generator: Generator, wanted: Wanted) -> Array:
    return generator.integers(0, 2, wanted.shape)


def _other_truths(generator: Generator, wanted: Wanted) -> Array:
    return _truths(generator, wanted) if wanted.usual is None else ~wanted.usual


def _texts(generator: Generator, wanted: Wanted) -> Array:
    """Words and the texts that the model names; words with such a text between them; characters of one."""
    words, named = [*_WORDS, *wanted.texts], wanted.texts or _WORDS
    drawn = np.empty(wanted.shape, object)
    for at in np.ndindex(wanted.shape):
        text = named[int(generator.integers(len(named)))]
        kind, count = generator.integers(5), int(generator.integers(1, _MOST_PARTS + 1))
        if kind == 0:
            drawn[at] = text.join(words[int(one)] for one in generator.integers(0, len(words), count))
        elif kind <= 2 and (letters := text if kind == 1 else "".join(filter(str.isalnum, text))):
            drawn[at] = "".join(letters[int(one)] for one in generator.integers(0, len(letters), count))
        else:
            drawn[at] = words[int(generator.integers(len(words)))]
    return drawn


def _complex(generator: Generator, wanted: Wanted) -> Array:
    return np.asarray(_magnitudes(generator, wanted) + 1j * _magnitudes(generator, wanted))


# By the kind of value: what the first row draws, what a row about an edge draws, and what else any later one may.
FLOATS = (
    _image_or_normal,
    _near_edges,  # limits, thresholds, comparisons with constants
    _beyond_edges,  # both sides of them
    _magnitudes,  # saturating functions, and limits that nothing names
    _halves,  # ties
    lambda generator, wanted: generator.uniform(0, 1, wanted.shape),  # shares and probabilities
    lambda generator, wanted: generator.standard_normal(wanted.shape),
    lambda generator, wanted: np.full(wanted.shape, generator.standard_normal() * 3),  # nothing varies
)
INTEGERS = (
    _integer_image,
    _integers_near_edges,
    _integers(0, 1),  # indices into anything
    _integers(0, 8),
    _integers(-4, 4),  # from the end, and signs
    _integers(0, 255),
    _integers(-128, 127),
    _integer_magnitudes,
)
TRUTHS: tuple[Draw, ...] = (_other_truths, _truths)
TEXTS: tuple[Draw, ...] = (_texts,)
COMPLEX: tuple[Draw, ...] = (_complex,)
WIDE: Mapping[str, Draw] = {"f": _of_one_size, "V": _of_one_size, "i": _integer_magnitudes, "u": _integer_magnitudes}
VAST: Mapping[str, Draw] = {"f": _vast, "V": _vast}
# Inputs that decide sizes or counts; most models want the first numbers (batch, channels) as they are.
MODEST: tuple[Draw, ...] = (_near_usual, _last_of(_few), _last_of(_near_usual), _few)

BY_KIND: Mapping[str, tuple[Draw, ...]] = {
    "f": FLOATS,
    "V": FLOATS,  # bfloat16, float8 and other types that numpy lacks
    "i": INTEGERS,
    "u": INTEGERS,
    "b": TRUTHS,
    "O": TEXTS,
    "c": COMPLEX,
}


@dataclass(frozen=True)
class Drawer:
    """Draws values for the inputs of a model. `deciding`: those that decide sizes or counts."""

    seed: int
    edges: Edges = field(default_factory=lambda: Edges({}))
    deciding: frozenset[str] = frozenset()

    def value(self, entry: TensorInput, usual: Value, row: FeedRow) -> Value:
        """A value for one input in place of the usual one, of the same shapes."""
        generator = self._generator("" if row.alike else entry.name, row)
        if entry.kind.is_optional and row.number > 1 and generator.integers(4) == 0:
            return None
        if entry.kind.is_list:
            items = [item for item in usual or () if isinstance(item, np.ndarray)] if isinstance(usual, list) else []
            if not items:
                return usual
            count = self._count(generator, entry) if row.number > 1 else len(items)
            return [self._drawn(generator, entry, items[index % len(items)], row) for index in range(count)]
        if entry.kind not in (InputKind.TENSOR, InputKind.OPTIONAL) or not isinstance(usual, np.ndarray):
            return usual
        return self._drawn(generator, entry, usual, row)

    def _count(self, generator: Generator, entry: TensorInput) -> int:
        """Of the items of a sequence: a few, or as many as a number that the model names, one less or one more."""
        named = [int(edge) for edge in self.edges.numbers.get(entry.name, ()) if 1 < edge < _MOST_NAMED_ITEMS]
        if not named or generator.integers(2) == 0:
            return int(generator.integers(0, _MOST_ITEMS + 1))
        return named[int(generator.integers(len(named)))] + int(generator.integers(-1, 2))

    def _generator(self, name: str, row: FeedRow) -> Generator:
        return generator_of(self.seed, name, row.number, 1)

    def _drawn(self, generator: Generator, entry: TensorInput, usual: Array, row: FeedRow) -> Array:
        dtype = usual.dtype
        decides = entry.name in self.deciding and usual.size <= SMALL
        table = MODEST if decides else BY_KIND[dtype.kind]
        wanted = Wanted(dtype, usual.shape, self.edges.numbers.get(entry.name, ()), usual, self.edges.texts)
        wanted = wanted._replace(edge=row.edge, side=row.side)
        if row.together and not decides and dtype.kind in "iufVb":
            everywhere = tuple(sorted({edge for numbers in self.edges.numbers.values() for edge in numbers}))
            draw = _on_one_side if row.edge is not None else _beyond_edges if dtype.kind != "b" else _truths
            return _cast(draw(generator, wanted._replace(edges=everywhere)), dtype)
        if decides and dtype.kind not in "iufV":
            return usual  # what tells a loop to go on
        if row.wide and not decides and dtype.kind in WIDE:
            table = (WIDE[dtype.kind],)
        if row.vast and not decides and dtype.kind in VAST:
            table = (VAST[dtype.kind],)
        drawn = _by_row(generator, table, wanted, row)
        if row.opposite and not decides:
            drawn = _opposite(drawn, wanted)
        return _cast(drawn, dtype)


def _by_row(generator: Generator, table: Sequence[Draw], wanted: Wanted, row: FeedRow) -> Array:
    if row.first:
        return table[0](generator, wanted)
    if row.edge is not None and len(table) > 1:
        return table[1](generator, wanted)
    if row.mixed and len(table) > 1:
        choice = generator.integers(0, len(table), wanted.shape)
        # Each as the type, for of large integers a mean of types has not all.
        return np.asarray(np.choose(choice, [_cast(draw(generator, wanted), wanted.dtype) for draw in table]))
    return table[int(generator.integers(len(table)))](generator, wanted)


def _opposite(drawn: Array, wanted: Wanted) -> Array:
    """Each number with the other sign, each truth as the other; within the range of a type without a sign."""
    kind = wanted.dtype.kind
    if kind == "b":
        return np.asarray(1 - drawn.astype(np.int8))
    if kind == "u" or (kind == "i" and wanted.dtype.itemsize == 1):
        return np.asarray(wanted.lowest + wanted.highest - drawn) if wanted.dtype.itemsize == 1 else drawn
    return drawn if kind == "O" else np.asarray(0 - drawn)


def _cast(drawn: Array, dtype: np.dtype[np.generic]) -> Array:
    """As the type of the input, without infinities: 0 is never negative, for its sign says nothing."""
    if dtype.kind in "fVc":
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.asarray(np.asarray(drawn) + 0.0).astype(dtype)
            wide = array.astype(np.complex128 if dtype.kind == "c" else np.float64)
        return np.where(np.isfinite(wide), array, np.ones((), dtype))
    return np.asarray(drawn).astype(dtype)
