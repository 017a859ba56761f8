"""One trial: two models are run at the same points at both optimisation levels, and compared.

Every proof is a set of points and a judge of them: promotions, rewrites, repairs, nodes changed on purpose, other sizes
and batches. Without optimisation every node runs as it stands; at the default level stored shapes are folded and nodes
are fused, and what the model before does there says how much that moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from resizefix.document.document import Document
from resizefix.outcome import Differences, ErrorBound
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import OutOfMemoryError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    only_without_optimisation,
)
from resizefix.verification.compare import compare, default_level_bounds, widest, within
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.fitting import Runner

if TYPE_CHECKING:
    from resizefix.verification.signatures import Feeding

Outputs = Mapping[str, Value]


class Opened(Runner, Protocol):
    """A model opened for running."""

    @property
    def notes(self) -> tuple[str, ...]:
        """How it differs from a user's session."""


Answer = Outputs | CannotRunError | CannotLoadError  # what a model makes, or why it makes nothing


class Side(Enum):
    """One of the two models."""

    BEFORE = "before"
    AFTER = "after"


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

    def side(self, side: Side) -> dict[bool, Answer]:
        """What one of the models made of it, by level."""
        return self.after if side is Side.AFTER else self.before

    def outputs(self, side: Side, *, optimized: bool) -> Outputs:
        """What one of the models made of it. Raises why it made nothing."""
        answered = self.side(side)[optimized]
        if not isinstance(answered, Mapping):
            raise answered
        return answered

    @property
    def runs(self) -> bool:
        """Whether the model after runs at it without optimisation."""
        return isinstance(self.after.get(False), Mapping)


@dataclass
class Trial:
    """`open_before` opens the model that a point is compared with, `open_after` the other one, each at one level;
    `judge` looks at what both made of a point, and raises DifferenceError. `which` is the model before in words.

    `run` makes all comparisons, one level after the other; `made` and `at_default` what a proof asks for one by one."""

    engine: Engine
    open_before: Callable[[Point, bool], Opened]
    open_after: Callable[[bool], Opened]
    judge: Callable[[Point, bool], None] = lambda point, optimized: None
    too_large: Callable[[Runner, Point], CannotRunError | None] = lambda session, point: None
    which: str = "the original"

    @classmethod
    def of(
        cls,
        engine: Engine,
        before: Document,
        after: Document,
        which: str = "the original",
        label: Callable[[Side, bool], str | None] = lambda side, optimized: None,
    ) -> Trial:
        """Two models as they are; `label` is what errors call one of them at a level."""
        return cls(
            engine,
            lambda _, optimized: engine.open(before, optimized=optimized, label=label(Side.BEFORE, optimized)),
            lambda optimized: engine.open(after, optimized=optimized, label=label(Side.AFTER, optimized)),
            which=which,
        )

    def answer(self, point: Point, side: Side) -> Answer:
        """What one of the models makes of a point without optimisation, where it is run once, or why it makes
        nothing."""
        if False not in point.side(side):
            self._make([point], side, optimized=False)
        return point.side(side)[False]

    def outputs(self, point: Point, side: Side, *, optimized: bool = False) -> Outputs:
        """What one of the models makes of a point at one level, where it is run once. Raises what opening and running
        it raise, for want of memory too."""
        if optimized not in point.side(side):
            session = self.open_after(optimized) if side is Side.AFTER else self.open_before(point, optimized)
            point.side(side)[optimized] = self.engine.outputs(session, point.feeds, point.cost)
        return point.outputs(side, optimized=optimized)

    def moved(self, point: Point, side: Side) -> BothLevels:
        """How far optimising moves one of the models."""
        return moved_by_optimising(self.outputs(point, side), self.outputs(point, side, optimized=True))

    def at_default(self, point: Point) -> AtDefault | None:
        """What the models make of a point at the default level; None, with a note, where the model before does not run
        there."""
        after = self.outputs(point, Side.AFTER, optimized=True)
        plain = self.outputs(point, Side.BEFORE)
        try:
            before = self.outputs(point, Side.BEFORE, optimized=True)
        except (CannotLoadError, CannotRunError) as error:
            self.engine.notes.append(only_without_optimisation(self.which, error.reason))
            return None
        return AtDefault(plain, before, after)

    def run(self, points: Sequence[Point]) -> None:
        """Compare at every point, without optimisation first. Raises what `judge` raises, and BrokenOffError."""
        self.level(points, optimized=False)
        self.optimised(points)

    def optimised(self, points: Sequence[Point]) -> None:
        """Compare at the default level, at points that were compared without optimisation. Where the model before does
        not run there, a note says so."""
        self._make(_sharing(points[0], points), Side.BEFORE, optimized=True)
        answer = points[0].before[True]
        if isinstance(answer, (CannotLoadError, CannotRunError)):
            self.engine.notes.append(only_without_optimisation(self.which, answer.reason))
            return
        self.level([point for point in points if not point.is_plain], optimized=True)

    def level(self, points: Sequence[Point], *, optimized: bool, after: Runner | None = None) -> None:
        """Compare at one level; `after` is a session of the model after that is open already."""
        self._make(
            [point for point in points if optimized not in point.after], Side.AFTER, optimized=optimized, runner=after
        )
        for point in points:
            if optimized not in point.before:
                alike = [other for other in _sharing(point, points) if optimized not in other.before]
                self._make(alike, Side.BEFORE, optimized=optimized)
            self.judge(point, optimized)
            point.after.pop(optimized)  # what the model before made says how much optimising moves it
            if optimized:
                point.before.clear()

    def _make(self, points: Sequence[Point], side: Side, *, optimized: bool, runner: Runner | None = None) -> None:
        """Run one side at points that share a session, which goes before another is opened: each maps or holds all
        weights."""
        if not points:
            return
        session = runner
        try:
            if session is None:
                is_after = side is Side.AFTER
                opened = self.open_after(optimized) if is_after else self.open_before(points[0], optimized)
                self.engine.notes += [note for note in opened.notes if note not in self.engine.notes and optimized]
                session = opened
        except CannotLoadError as error:
            for point in points:
                point.side(side)[optimized] = error
            return
        for point in points:
            too_large = self.too_large(session, point)
            point.side(side)[optimized] = too_large or answer(self.engine, session, point.feeds, point.cost)


def answer(engine: Engine, session: Runner, feeds: Feeds, cost: float | None = None) -> Answer:
    """What the model of a session makes of feeds, or why it makes nothing."""
    try:
        return engine.outputs(session, feeds, cost)
    except CannotRunError as error:
        return error
    except OutOfMemoryError as error:
        return CannotRunError(error.diagnostic, reason=str(error))


def _sharing(point: Point, points: Sequence[Point]) -> list[Point]:
    return [other for other in points if other is point or other.reference == point.reference]


@dataclass(frozen=True)
class BothLevels:
    """What a model makes at the default level, how far that may be from another model's, and by how much it differs
    from itself without optimisation. An original with stale shapes contradicts itself when it is optimised: then what
    it really computes counts."""

    expected: Outputs
    bounds: Mapping[str, ErrorBound]
    level: Differences

    @property
    def agrees(self) -> bool:
        """Whether the model gives at both levels what sums in another order allow."""
        return within(self.level, self.bounds)


def moved_by_optimising(plain: Outputs, optimized: Outputs) -> BothLevels:
    """What two runs of one model, at one point, say of the default level."""
    level = compare(plain, optimized)
    expected = plain if level.max_rel_diff == np.inf else optimized
    return BothLevels(expected, default_level_bounds(plain, optimized, level), level)


@dataclass(frozen=True)
class AtDefault:
    """What the model after makes at the default level, held against the model before: what that makes there, and
    `plain`, without optimisation."""

    plain: Outputs
    before: Outputs
    after: Outputs

    @cached_property
    def moved(self) -> BothLevels:
        """How far optimising moves the model before."""
        return moved_by_optimising(self.plain, self.before)

    @cached_property
    def differences(self) -> Differences:
        """How the two differ there."""
        return compare(self.before, self.after)

    @cached_property
    def from_expected(self) -> Differences:
        """How the model after differs from what the one before really computes, where that contradicts itself."""
        return self.differences if self.moved.expected is self.before else compare(self.moved.expected, self.after)

    @property
    def agrees(self) -> bool:
        """Whether that is within what optimising moves the model before."""
        return within(self.differences, self.moved.bounds)

    @property
    def is_near_plain(self) -> bool:
        """Whether the model after computes there what the one before does without optimisation."""
        return within(compare(self.plain, self.after), self.moved.bounds)

    def require(
        self, engine: Engine, feeds: Feeds, code: str = "verification.differs-optimised", fed: Feeding | None = None
    ) -> None:
        """One more of the runs: the model after must compute what the one before does, at that level or without
        optimisation. Raises DifferenceError of that code."""
        bound = widest(self.moved.bounds)
        engine.runs.append(run_of(self.from_expected, feeds, optimized=True, bound=bound.bound, fed=fed))
        if not (self.agrees or self.is_near_plain):
            raise DifferenceError(code, why=self.from_expected.reason, bound=bound)
