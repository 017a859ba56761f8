"""One trial: two models are run at the same points at both optimisation levels, and compared.

Without optimisation every node runs as it stands; at the default level stored shapes are folded and nodes are fused,
and what the model before does there says how much that moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from resizefix.difference import Differences
from resizefix.error_bound import ErrorBound
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import OutOfMemoryError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    Session,
    only_without_optimisation,
)
from resizefix.verification.bounds import default_level_bounds
from resizefix.verification.compare import compare
from resizefix.verification.engine import Engine
from resizefix.verification.fitting import Runner

Outputs = Mapping[str, Value]
Answer = Outputs | CannotRunError | CannotLoadError  # what a model makes, or why it makes nothing


@dataclass
class Point:
    """What both models are fed, and what they make of it at each level.

    `reference` tells models before apart: points of one share its sessions. `cost` is what a run counts as, in forward
    passes; None: by what is fed. `is_plain`: it is compared without optimisation alone.
    """

    feeds: Feeds
    reference: object = None
    cost: float | None = None
    is_plain: bool = False
    before: dict[bool, Answer] = field(default_factory=dict)
    after: dict[bool, Answer] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        """Whether the model after runs at it without optimisation."""
        return isinstance(self.after.get(False), Mapping)


@dataclass
class Trial:
    """`open_before` opens the model that a point is compared with, `open_after` the other one, each at one level;
    `judge` looks at what both made of a point, and raises DifferenceError. `which` is the model before in words."""

    engine: Engine
    open_before: Callable[[Point, bool], Session]
    open_after: Callable[[bool], Session]
    judge: Callable[[Point, bool], None]
    too_large: Callable[[Runner, Point], CannotRunError | None] = lambda session, point: None
    which: str = "the original"

    def run(self, points: Sequence[Point]) -> None:
        """Compare at every point, without optimisation first. Raises what `judge` raises, and BrokenOffError."""
        self.level(points, optimized=False)
        self.optimised(points)

    def optimised(self, points: Sequence[Point]) -> None:
        """Compare at the default level, at points that were compared without optimisation. Where the model before does
        not run there, a note says so."""
        self._make(_sharing(points[0], points), "before", optimized=True)
        answer = points[0].before[True]
        if isinstance(answer, (CannotLoadError, CannotRunError)):
            self.engine.notes.append(only_without_optimisation(self.which, answer.reason))
            return
        self.level([point for point in points if not point.is_plain], optimized=True)

    def level(self, points: Sequence[Point], *, optimized: bool, after: Runner | None = None) -> None:
        """Compare at one level; `after` is a session of the model after that is open already."""
        self._make(
            [point for point in points if optimized not in point.after], "after", optimized=optimized, runner=after
        )
        for point in points:
            if optimized not in point.before:
                alike = [other for other in _sharing(point, points) if optimized not in other.before]
                self._make(alike, "before", optimized=optimized)
            self.judge(point, optimized)
            point.after.pop(optimized)  # what the model before made says how much optimising moves it
            if optimized:
                point.before.clear()

    def _make(self, points: Sequence[Point], side: str, *, optimized: bool, runner: Runner | None = None) -> None:
        """Run one side at points that share a session, which goes before another is opened: each maps or holds all
        weights."""
        if not points:
            return
        session = runner
        try:
            if session is None:
                opened = self.open_after(optimized) if side == "after" else self.open_before(points[0], optimized)
                self.engine.notes += [note for note in opened.notes if note not in self.engine.notes and optimized]
                session = opened
        except CannotLoadError as error:
            for point in points:
                getattr(point, side)[optimized] = error
            return
        for point in points:
            getattr(point, side)[optimized] = self._answer(session, point)

    def _answer(self, session: Runner, point: Point) -> Answer:
        error = self.too_large(session, point)
        return answer(self.engine, session, point.feeds, point.cost) if error is None else error


def answer(engine: Engine, session: Runner, feeds: Feeds, cost: float | None = None) -> Answer:
    """What the model of a session makes of feeds, or why it makes nothing."""
    try:
        return engine.made(session, feeds, cost)
    except CannotRunError as error:
        return error
    except OutOfMemoryError as error:
        return CannotRunError(error.diagnostic, reason=str(error))


def _sharing(point: Point, points: Sequence[Point]) -> list[Point]:
    return [other for other in points if other is point or other.reference == point.reference]


@dataclass(frozen=True)
class Moved:
    """What the model before makes at the default level, how far that may be from another model's, and by how much it
    differs from itself without optimisation. An original with stale shapes contradicts itself when it is optimised:
    then what it really computes counts."""

    expected: Outputs
    bounds: Mapping[str, ErrorBound]
    level: Differences


def moved_by_optimising(plain: Outputs, optimized: Outputs) -> Moved:
    """What two runs of the model before, at one point, say of the default level."""
    level = compare(plain, optimized)
    expected = plain if level.max_rel_diff == np.inf else optimized
    return Moved(expected, default_level_bounds(plain, optimized, level), level)
