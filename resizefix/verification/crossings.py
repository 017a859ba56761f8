"""Feeds at which a tensor inside a model passes a number that a node behind it names: found by halving.

Where a threshold stands behind a reduction, a product with weights or a normalisation, no number of an input says where
it is (`edges.py`). Of two feeds of the same shapes between which the tensor passes the number, one half is kept until
they are next to each other. And feeds made of others: half way between two, or with a number added to all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from resizefix.document.document import Document
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.scope_path import MAIN, Key
from resizefix.verification.arms import ELEMENTS, InnerTensors, with_inner_tensors
from resizefix.verification.edges import edges
from resizefix.verification.engine import Engine
from resizefix.verification.fitting import Fitted

_MOST_TARGETS = 24  # tensors of one model
_MOST_FEEDS = 64  # that are looked at for two to begin with
_MOST_SHAPES = 2  # of feeds: those with most numbers, where reductions differ most, and the usual ones
_MOST_RUNS = 800  # in all
_MOST_COMPUTED = 2**28  # elements in all, which take some tenths of a second
_HALVINGS = 160  # until float32 numbers, and integers, are next to each other, from the largest on
_YIELDED = (8, 16)  # before that: what is computed behind the tensor may round a last bit the other way


def numbers_of(value: Value) -> int:
    """How many numbers a value has; a text, a truth or a map is one."""
    if isinstance(value, np.ndarray):
        return value.size
    return sum(map(numbers_of, value)) if isinstance(value, list) else 1


def numbers_fed(feeds: Mapping[str, Value]) -> int:
    """How many numbers all values have."""
    return sum(map(numbers_of, feeds.values()))


def half_way(one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """The feed half way between two, in all that is numbers; the rest as in the first."""
    feeds = dict(one)
    for name, value in one.items():
        end = other.get(name)
        if isinstance(value, np.ndarray) and isinstance(end, np.ndarray) and value.dtype.kind in "iufV":
            if value.dtype.kind in "iu":  # exact, whatever the size
                feeds[name] = np.asarray((value & end) + ((value ^ end) >> 1))
            else:
                feeds[name] = np.asarray((value.astype(np.float64) + end.astype(np.float64)) / 2).astype(value.dtype)
    return feeds


def half_of_each(one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """The first feed with half of the numbers in which the second differs, rounded down, in place of its own."""
    feeds = dict(one)
    differing = {
        name: np.flatnonzero(value != other[name])
        for name, value in one.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and name in other
    }
    left = sum(map(len, differing.values())) // 2
    for name, places in differing.items():
        value = np.array(one[name])
        value.flat[places[:left]] = np.asarray(other[name]).flat[places[:left]]
        feeds[name], left = value, max(left - len(places), 0)
    return feeds


def moved(feeds: Mapping[str, Value], by: float) -> dict[str, Value]:
    """The feed with a number added to all numbers, as far as their types hold it."""
    moved = dict(feeds)
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            sums = value.astype(np.float64) + by
            limits = np.iinfo(value.dtype) if value.dtype.kind in "iu" else np.finfo(value.dtype)
            moved[name] = np.asarray(
                np.clip(np.round(sums) if value.dtype.kind in "iu" else sums, limits.min, limits.max)
            ).astype(value.dtype)
    return moved


def _numbers(feeds: Mapping[str, Value]) -> list[Array]:
    values = [value for value in feeds.values() if isinstance(value, np.ndarray) and value.dtype.kind in "iuf"]
    return [np.abs(value.astype(np.float64)) for value in values if value.size]


def mean_size(feeds: Mapping[str, Value]) -> float:
    """The mean of all numbers without their signs."""
    return float(np.mean([numbers.mean() for numbers in _numbers(feeds)] or [0.0]))


def largest(feeds: Mapping[str, Value]) -> float:
    """The largest of all numbers without their signs."""
    return float(max((numbers.max() for numbers in _numbers(feeds)), default=0.0))


@dataclass
class Crossings:
    """Searches with a session that gives the tensors of `targets`, each with the number that it is to pass: those of
    the main graph as outputs, others in `inner`."""

    session: Session
    targets: Sequence[tuple[Key, float]]
    inner: InnerTensors | None = None
    computed_per_number: float = 1.0
    _runs: int = 0
    _computed: float = 0.0

    def between(self, fitted: Sequence[Fitted]) -> Iterator[dict[str, Value]]:
        """Feeds on both sides of each number, nearer and nearer to each other."""
        groups: dict[object, list[dict[str, Value]]] = {}
        for one in fitted:
            groups.setdefault(tuple(shapes_of(one.feeds).items()), []).append(one.feeds)
        largest = max(groups, key=lambda shapes: numbers_fed(groups[shapes][0]))
        for shapes in list(dict.fromkeys([largest, *groups]))[:_MOST_SHAPES]:
            feeds = groups[shapes][:_MOST_FEEDS]
            tensors = [self._tensors_of(one) for one in feeds]
            for key, number in self.targets:
                values = [one.get(key) if one is not None else None for one in tensors]
                for at, low, high in _two_sides(values, number):
                    if self._is_spent:  # feeds that are far apart tell no more than the usual ones
                        return
                    yield from self._narrowed(key, number, at, feeds[low], feeds[high])

    def _narrowed(
        self, key: Key, number: float, at: int, low: dict[str, Value], high: dict[str, Value]
    ) -> Iterator[dict[str, Value]]:
        for halving in range(_HALVINGS):
            if halving in _YIELDED:
                yield from (low, high)
            middle = half_way(low, high)
            if _same(middle, low) or _same(middle, high):  # next to each other, number by number
                middle = half_of_each(low, high)
            if _same(middle, low):
                break
            tensors = self._tensors_of(middle)
            values = None if tensors is None else tensors.get(key)
            if values is None or values.size <= at:
                break
            if values.flat[at] >= number:
                high = middle
            else:
                low = middle
        yield from (low, high)

    @property
    def _is_spent(self) -> bool:
        return self._runs >= _MOST_RUNS or self._computed >= _MOST_COMPUTED

    def _tensors_of(self, feeds: Mapping[str, Value]) -> dict[Key, Array] | None:
        """The tensors for these feeds as float64; None where the model does not run or has run often enough."""
        if self._is_spent:
            return None
        self._runs += 1
        self._computed += self.computed_per_number * numbers_fed(feeds)
        with suppress(CannotRunError):
            outputs = self.session.run(self.session.taken(feeds))
            values = ((key, self._value(outputs, key)) for key, _ in self.targets)
            numbers = ((key, value) for key, value in values if isinstance(value, np.ndarray))
            return {
                key: value if value.dtype.kind in "iu" else value.astype(np.float64)
                for key, value in numbers
                if value.dtype.kind in "iufV"
            }
        return None

    def _value(self, outputs: Mapping[str, Value], key: Key) -> Value:
        """A tensor, or of one in a body the first elements; None where no output gives it."""
        if key[0] == MAIN:
            return outputs[key[1]]
        vector = None if self.inner is None or key not in self.inner.parts else outputs[self.inner.name]
        return vector[self.inner.parts[key]] if isinstance(vector, np.ndarray) and self.inner is not None else None


def _two_sides(values: Sequence[Array | None], number: float) -> Iterator[tuple[int, int, int]]:
    """An element of the tensor, and the positions of two feeds where it is nearest below and above the number."""
    sizes = [value.size for value in values if value is not None]
    for at in range(min(min(sizes, default=0), ELEMENTS)):
        # Numbers of Python, for of integers a float64 has not all.
        numbers = {feed: value.flat[at].item() for feed, value in enumerate(values) if value is not None}
        below = [feed for feed, value in numbers.items() if -math.inf < value < number]
        above = [feed for feed, value in numbers.items() if number <= value < math.inf]
        if below and above:
            yield at, max(below, key=numbers.__getitem__), min(above, key=numbers.__getitem__)


def _same(one: Mapping[str, Value], other: Mapping[str, Value]) -> bool:
    return all(
        not isinstance(value, np.ndarray) or np.array_equal(value, other[name])  # type: ignore[arg-type]
        for name, value in one.items()
    )


def crossings_of(engine: Engine, document: Document, computed_per_number: float, *, brief: bool) -> Crossings | None:
    """The searches in a model; None where no node names a number that a tensor is to pass, or it cannot be opened."""
    targets = edges(document).behind[:_MOST_TARGETS]
    keys = dict.fromkeys(key for key, _ in targets)
    names = [name for path, name in keys if path == MAIN]
    # Without those in bodies where one of them is of a type that is no number.
    for inner in (with_inner_tensors(document, keys), None) if targets else ():
        with suppress(CannotLoadError):
            opened = document if inner is None else inner.document
            session = engine.open(opened, optimized=False, extra_outputs=names)
            session.brief = brief
            return Crossings(session, targets, inner, computed_per_number)
    return None
