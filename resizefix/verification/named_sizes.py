"""Runs that tell which axes of a model's inputs and outputs have one length, for those that share a name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from resizefix.document.document import Document
from resizefix.faults.names import (
    NamedAxis,
    ReusedName,
    Shapes,
    SharedName,
    differ,
    followed_by_name,
    reused_names,
    shapes_by_name,
    shared_names,
)
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.runtimes.ort_session import CannotRunError

if TYPE_CHECKING:
    from resizefix.runtimes.ort_session import Session
    from resizefix.verification.engine import Engine

_MOST_RUNS = 64
_FACTORS = (0.5,)  # of numbers that are fed beside images: a ratio by which a network works on smaller ones
_MOST_NUMBERS = 4
_RANK_OF_LISTS = 3  # tensors of more axes have channels
_STEP = 32  # by how much one image is made larger than another


def names_by_runs(document: Document, engine: Engine) -> list[ReusedName]:
    """The names of a model that stand for several lengths, as runs at different sizes show it.

    Raises CannotLoadError, CannotRunError, BrokenOffError, UsageError where the model is not run.
    """
    shared = shared_names(document.proto)
    several = [one for one in shared if len(one.inputs) > 1]
    followed = followed_by_name(document, shared) if shared and not several else None
    if followed is not None and all(axis.size(followed) is not None for one in shared for axis in one.outputs):
        return reused_names(shared, [followed])
    if not shared:
        return []
    fitted = engine.fit(document)
    session = engine.open(document, optimized=False)
    trials = _Trials(engine, session, fitted.feeds)
    aligned = _aligned(trials, shapes_by_name(document.proto))
    apart: set[frozenset[NamedAxis]] = set()
    for factor in (1.0, *_FACTORS) if several else (1.0,):
        if not trials.scaled(factor):
            continue
        start = trials.run(shapes_of(trials.first))
        trials.run(aligned)
        if several and start is not None:
            _feed_states(trials, start, {axis.tensor for one in several for axis in one.inputs})
            apart.update(pair for one in several for pair in _told_apart(trials, one, apart))
    reused = reused_names(shared, trials.seen, apart)
    if not reused:
        return []
    trials.scaled(1.0)
    trials.run(_one_for_each(reused, aligned))
    return reused_names(shared, trials.seen, apart)


def _aligned(trials: _Trials, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """These shapes, but for channels and for axes of one element, which may be repeated."""
    aligned = shapes_of(trials.first)
    for name, first in aligned.items():
        wanted = shapes.get(name, ())
        if len(wanted) == len(first):
            stays = [
                index > 0 and (size == 1 or (index == 1 and len(first) > _RANK_OF_LISTS))
                for index, size in enumerate(first)
            ]
            aligned[name] = tuple(a if keeps else b for keeps, a, b in zip(stays, first, wanted, strict=True))
    return aligned


def _one_for_each(reused: Sequence[ReusedName], shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Shapes in which every group has a size of its own."""
    apart = dict(shapes)
    for one in reused:
        for number, group in enumerate(one.groups):
            for axis in group:
                if apart.get(axis.tensor) and axis.position and (axis.size(apart) or 0) > 1:
                    apart = _with(apart, axis, (number + 1) * 2 * _STEP)
    return apart


class _Trials:
    """Runs of one model in other shapes of its inputs; `seen` are the shapes of those that went through."""

    def __init__(self, engine: Engine, session: Session, first: Mapping[str, Value]) -> None:
        self._engine, self._session = engine, session
        self.first = {name: value for name, value in first.items() if isinstance(value, np.ndarray)}
        self._given, self._unscaled = dict(first), dict(first)
        self._left = _MOST_RUNS
        self.seen: list[Shapes] = []

    def scaled(self, factor: float) -> bool:
        """From here on a few numbers that are fed are so many times what they were; whether there are any."""
        numbers = {
            name: (value * factor).astype(value.dtype)
            for name, value in self.first.items()
            if value.dtype.kind == "f" and value.ndim < 2 and value.size <= _MOST_NUMBERS
        }
        self._given = {**self._unscaled, **numbers}
        return factor == 1 or bool(numbers)

    def run(self, shapes: Mapping[str, tuple[int, ...]]) -> Shapes | None:
        """The shapes of a run with these, outputs included; None where the model does not take them, or not tried."""
        if not self._left:
            return None
        self._left -= 1
        feeds = dict(self._given)
        for name, shape in shapes.items():
            if shape != self.first[name].shape:
                feeds[name] = np.resize(self.first[name], shape)  # zeros, of an empty one
        try:
            outputs = self._engine.outputs(self._session, feeds)
        except CannotRunError:
            return None
        self.seen.append({**shapes_of(feeds), **shapes_of(outputs)})
        return self.seen[-1]

    @property
    def is_exhausted(self) -> bool:
        """Whether no more runs are made."""
        return not self._left


def _feed_states(trials: _Trials, start: Shapes, names: set[str]) -> None:
    """Runs in which inputs have the shapes of outputs, as states of a recurrent network do: one by one, then all."""
    taken: dict[str, tuple[int, ...]] = {}
    outputs = dict.fromkeys(shape for name, shape in start.items() if name not in trials.first)
    fed = shapes_of(trials.first)
    for name in sorted(names & trials.first.keys()):
        for shape in outputs:
            if len(shape) == len(fed[name]) and shape != fed[name] and trials.run({**fed, name: shape}) is not None:
                taken[name] = shape
                break
    if len(taken) > 1:
        trials.run({**fed, **taken})


def _told_apart(
    trials: _Trials, one: SharedName, apart: Collection[frozenset[NamedAxis]]
) -> Iterator[frozenset[NamedAxis]]:
    """Pairs of input axes of which a run fails with equal sizes above 1, where one goes through with a size of 1. For
    others, a run is made in which their sizes differ."""
    fed = shapes_of(trials.first)
    for first, second in combinations(one.inputs, 2):
        pair, is_fed = frozenset((first, second)), {first.tensor, second.tensor} <= fed.keys()
        if not is_fed or trials.is_exhausted or pair in apart or any(differ(first, second, run) for run in trials.seen):
            continue
        sizes = first.size(fed) or 0, second.size(fed) or 0
        if min(sizes) == 1 and max(sizes) > 1:
            small = first if sizes[0] == 1 else second
            equal = trials.run(_with(fed, small, max(sizes)))
            if equal is None and not trials.is_exhausted:
                yield pair
                continue
        if first.position or second.position:
            base = max(*sizes, 2)
            trials.run(_with(_with(fed, first, base), second, base + _STEP))


def _with(shapes: Shapes, axis: NamedAxis, size: int) -> dict[str, tuple[int, ...]]:
    shape = list(shapes[axis.tensor])
    shape[axis.position] = size
    return {**shapes, axis.tensor: tuple(shape)}
