"""Two models on the same feeds: which feeds these are, and whether the outputs agree at both levels."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import few
from resizefix.outcome import Differences, ErrorBound
from resizefix.runtimes.inputs import Feeds, shapes_of
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.scope_path import MAIN, Key, ScopePath
from resizefix.shapes.stored_shapes import Shapes
from resizefix.verification.compare import allows, compare, largest_bound, narrowed, reported, widest, within
from resizefix.verification.engine import DifferenceError, Engine, Watched, run_of
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import (
    Fitted,
    MemoryBudget,
    OverBudgetError,
    fit_feeds,
    of_other_sizes,
    with_shapes_to_give,
)
from resizefix.verification.jumps import agree_before_jumps, require_agreement_before
from resizefix.verification.noise import moved_by_noise
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names, require_types
from resizefix.verification.trial import AtDefault, Outputs, Point, Side, Trial
from resizefix.verification.verification import Verification

if TYPE_CHECKING:
    from resizefix.verification.telling_values import TellingValues
    from resizefix.verification.views import PlaneView

_MOST_NAMED = 4
_RUNS = 4  # of each feed: two models at two levels


@dataclass
class ModelPair:
    """Two models on the same feeds. Outputs are compared at the paths of `feeding.files`, too (`Verification.views`).

    `looks`: bodies that no feed ran are looked for, and named. `exact`: feeds are drawn also where the last bits of a
    number decide, and of sizes that no tolerance was given for. `noise`: by how much nodes of the model after may
    differ from those they replaced, as a part of the largest value; what such noise does to outputs is allowed twice.
    `stated`: what the report says that they differ by; a run names it as its bound where it holds. Where `data` names
    the tensor that a single node resizes, no more is allowed.

    `is_part`: the models are nodes extracted from files. Outputs without any element pass if the file fixes all sizes,
    with the note that only types and shapes were compared; and no option gives their inputs shapes.
    """

    before: Document
    after: Document
    engine: Engine
    feeding: Feeding = field(default_factory=Feeding)
    is_part: bool = False
    looks: bool = False
    exact: bool = True
    noise: Mapping[Key, ErrorBound] = field(default_factory=dict)
    stated: Sequence[ErrorBound] = ()
    data: str = ""
    views: tuple[PlaneView, ...] = ()
    _feeder: Feeder | None = None
    _plain: Watched | None = None  # the model before, without optimisation, until it has run
    _first: Point | None = None
    _renamed: Mapping[str, str] = field(default_factory=dict)  # outputs of the model after, by those of the one before
    _origin: TellingValues | None = None
    _is_brief: bool = False  # its runs are
    _random: tuple[str, ...] = ()  # nodes that draw numbers
    _types: dict[str, str] = field(default_factory=dict)  # of the model before
    _special: Sequence[Point] = ()  # at numbers that no row holds
    _unseen: dict[Side, frozenset[ScopePath]] = field(default_factory=dict)  # bodies that did not run, by side

    def verified(self, bound: ErrorBound, fitted: Sequence[Fitted] | None = None) -> Verification:
        """The verdict on feeds that the model before runs with: those that were `fitted`, where they are given."""
        engine, failure, wanted = self.engine, None, math.inf
        try:
            given = self.fit() if fitted is None else fitted
            wanted = len(given)
            self._require_outputs(given)
            self._require_equal(given, bound)
        except DifferenceError as error:
            failure = error.diagnostic
            if self._random:
                failure = Diagnostic(
                    "verification.differs-at-random", why=failure, named=few(self._random, _MOST_NAMED)
                )
        except (NotComparableError, CannotLoadError, CannotRunError) as error:
            failure = str(error)
        except BrokenOffError as error:
            failure = None if len(engine.runs) >= wanted else str(error)
            engine.notes = [Diagnostic("verification.default-level-not-compared", why=str(error))]
        return replace(engine.verdict(failure), views=self.views)

    def fit(self) -> list[Fitted]:
        """The feeds that the model before runs with, and its outputs without optimisation.

        Raises what opening and running it raise, NotComparableError, and UsageError for feeds that do not fit.
        """
        session = self._plain = self._plain or self._watched(Side.BEFORE)
        self._types, self._random = session.session.types, session.session.random
        inputs, hints = common_inputs(self.before, self.after, self.feeding)
        feeder = self._feeder = self.engine.feeder(inputs, hints)
        self.engine.progress.expect(4)
        budget = MemoryBudget(self.before, self.engine.conditions.limits)
        began = time.monotonic()
        first = self._fitted_first(session, feeder, budget)
        seconds = time.monotonic() - began
        if not self.is_part:
            self.engine.start_from(first)
        self.engine.progress.done("running the model before")
        self._unseen = {Side.BEFORE: session.arms_watched - session.ran}
        if not self.looks:
            return [first, *of_other_sizes(session, first, budget)]
        if self.feeding.runs == 1:
            return [first]
        from resizefix.verification.further_feeds import FurtherFeeds, tells  # who looks further

        self._origin = self._named_by_both
        further = FurtherFeeds(session, feeder, first, self._origin, budget)
        self._is_brief = session.session.brief = further.is_brief
        wanted = further.enough(exact=self.exact) if self.feeding.runs is None else self.feeding.runs - 1
        left = self.engine.conditions.limits.left()
        # What a brief run took says how busy the machine was.
        if left is not None and not further.is_brief and seconds * _RUNS * (1 + wanted) > left:
            self.engine.notes.append(Diagnostic("verification.no-time-for-further-feeds", wanted=wanted))
            return [first]
        fitted = [first]
        if self.feeding.runs is None:
            fitted += [*further.at_other_sizes(), *further.at_critical_sizes()]
        fitted += further.rows(wanted)
        if not further.is_light and not tells(first) and any(map(tells, fitted)):
            fitted = [*fitted[1:], *further.rows(1)]
        fitted += further.reaching(self._unseen[Side.BEFORE] - further.ran)
        if self.exact and self.feeding.runs is None:
            fitted += further.borders()
            fitted += further.at_crossings(self.engine, (self.before, self.after), brief=self._is_brief)
            special = further.special() if further.is_light else []
            self._special = [Point(one.feeds, numbers, before={False: one.outputs}) for numbers, one in special]
        self._unseen[Side.BEFORE] -= further.ran
        self.engine.progress.done("running the model before", further.tried)
        self.engine.progress.expect(3 * (len(fitted) - 1))
        return fitted

    def fitted_to(self, feeds: Feeds) -> Fitted:
        """What the model before makes of feeds beside those of `fit`. Raises CannotRunError."""
        session = self._plain = self._plain or self._watched(Side.BEFORE)
        outputs = self.engine.outputs(session, feeds)
        return Fitted(dict(feeds), outputs, is_plain=session.contradicts(outputs))

    def _fitted_first(self, session: Watched, feeder: Feeder, budget: MemoryBudget) -> Fitted:
        """The first feed: the likeliest one, or one drawn at random where the model refuses those or gives nothing."""
        refusal: CannotRunError | None = None
        try:
            usual = fit_feeds(session, feeder, budget=budget, is_part=self.is_part)
            if not (usual.vacuous and self.looks):
                return usual
        except CannotRunError as error:
            if not self.looks or isinstance(error, OverBudgetError):
                raise
            refusal = error
        from resizefix.verification.further_feeds import drawn_first  # few models refuse the likeliest feeds

        drawn = drawn_first(session, feeder, self._named_by_both, budget)
        if drawn is None and refusal is not None:
            raise refusal
        return drawn or usual

    @cached_property
    def _named_by_both(self) -> TellingValues:
        from resizefix.verification.telling_values import TellingValues  # where further feeds are drawn

        return TellingValues.of(self.before, self.after)

    def is_always_empty(self, fitted: Sequence[Fitted]) -> bool:
        """Whether there is no number in any output, at any shape that the file allows."""
        if self._feeder is None or not any(one.vacuous for one in fitted):
            return False
        graphs = ((one.proto.graph, Shapes(one.proto)) for one in (self.before, self.after))
        return self._feeder.sizes_are_fixed or any(
            all(0 in (shapes.dims((MAIN, value.name)) or ()) for value in graph.output) for graph, shapes in graphs
        )

    def _require_outputs(self, fitted: Sequence[Fitted]) -> None:
        if not any(one.vacuous for one in fitted):
            return
        fixed = self.is_always_empty(fitted)
        if not (fixed and self.is_part):
            raise NotComparableError("verification.all-empty-fixed" if fixed else "verification.all-empty")
        self.engine.notes = [Diagnostic("verification.types-compared")]

    def _require_equal(self, fitted: Sequence[Fitted], bound: ErrorBound) -> None:
        """Compare at both levels. Raises DifferenceError with the first disagreement."""
        self._plain = None  # before the next one is opened: each maps or holds all weights
        after = self._watched(Side.AFTER)
        self._renamed = output_names(self.before, self.after)
        require_types(self._types, after.session.types, self._renamed)
        self._unseen[Side.AFTER] = after.arms_watched
        budget = MemoryBudget(self.after, self.engine.conditions.limits)
        trial = Trial(
            self.engine,
            lambda _, optimized: self._open(Side.BEFORE, optimized=optimized),
            lambda optimized: self._open(Side.AFTER, optimized=optimized),
            lambda point, optimized: self._judge(point, optimized, bound),
            lambda session, point: (
                None if self._is_brief else budget.refusal(session.label, session.taken(point.feeds))
            ),
            "the model before",
        )
        points = [Point(one.feeds, before={False: one.outputs}, is_plain=one.is_plain) for one in fitted]
        self._first = points[0]
        trial.level(points, optimized=False, after=after)
        self._unseen[Side.AFTER] -= after.seen
        more = [Point(one.feeds, before={False: one.outputs}) for one in self._reaching_after(after, fitted[0])]
        trial.level(more, optimized=False, after=after)
        self._unseen[Side.AFTER] -= after.seen
        # Without optimisation alone: kernels that are fused keep no NaN.
        replace(trial, judge=self._judge_special).level(self._special, optimized=False, after=after)
        del after
        self._name_what_is_not_compared()
        trial.optimised([*points, *more])

    def _judge(self, point: Point, optimized: bool, allowed: ErrorBound) -> None:
        self.engine.progress.done("running the model after")
        before, after = self._outputs(point, optimized)
        if self.data:
            allowed = narrowed(allowed, self._stated_at(point.feeds), point.feeds.get(self.data), before)
        if optimized:
            plain = point.outputs(Side.BEFORE, optimized=False)
            self._judge_optimised(point, plain, before, after, allowed)
            return
        if self.feeding.files and point is self._first:
            from resizefix.verification.views import views_of  # of what somebody gave to look at

            self.views = views_of(", ".join(self.feeding.files.values()), before, after)
        comparison = compare(before, after)
        bound = self._reported(point.feeds, allowed, before, comparison)
        self.engine.runs.append(run_of(comparison, point.feeds, bound=bound, fed=self.feeding))
        if comparison.bitwise:
            return
        if allows(allowed, before, after, comparison):
            self._look_before_jumps(point.feeds, allowed)
            return
        noise = self._moved_by_noise(point.feeds)
        if noise and allows(allowed, before, after, comparison, noise):
            bound = self._reported(point.feeds, allowed, before, comparison, noise=noise)
            self.engine.runs[-1] = replace(self.engine.runs[-1], bound=bound)
            self._look_before_jumps(point.feeds, allowed)
        elif not (self.noise and self._only_jumps(point.feeds, allowed.bound)):
            raise DifferenceError("verification.differs-unoptimised", why=comparison.reason)

    def _outputs(self, point: Point, optimized: bool) -> tuple[Outputs, Outputs]:
        """What both models made of a point, by the names of the one before. Raises why one made nothing."""
        try:
            after = point.outputs(Side.AFTER, optimized=optimized)
        except CannotRunError as error:
            if self._feeder is None or self.is_part:
                raise
            raise with_shapes_to_give(error, self._feeder) from error
        before = point.outputs(Side.BEFORE, optimized=optimized)
        return before, {self._renamed[name]: value for name, value in after.items()}

    def _judge_special(self, point: Point, optimized: bool) -> None:
        """Compare what both make of special numbers, which are the point's reference.

        Raises DifferenceError where they differ, if the numbers are finite or a node asks for them; else a note says
        it. One NaN is as good as another.
        """
        from resizefix.verification.feed_rows import SpecialNumbers, asks_for_special

        special, before, after = point.reference, *self._outputs(point, optimized)
        assert isinstance(special, SpecialNumbers)
        comparison = compare(before, after)
        if comparison.bitwise or (comparison.max_abs_diff == 0 and not special.is_finite):
            return
        said = {"special": special.name, "why": comparison.reason}
        if special.is_finite or asks_for_special(self.before, self.after):
            self.engine.runs.append(run_of(comparison, point.feeds, bound=0.0, fed=self.feeding))
            raise DifferenceError("verification.differs-at-special", **said)
        self.engine.notes.append(Diagnostic("verification.other-at-special", **said))

    def _reported(
        self,
        feeds: Feeds,
        allowed: ErrorBound,
        before: Outputs,
        differences: Differences,
        least: float = 0.0,
        noise: Mapping[str, float] | None = None,
    ) -> float:
        """The bound that a run names: what is stated of the nodes where that holds, else what is allowed."""
        stated = self._stated_at(feeds)
        if stated is not None and within(differences, stated):
            return stated
        return reported(allowed, before, differences, least, noise or {})

    def _stated_at(self, feeds: Feeds) -> float | None:
        return largest_bound(self.stated, shapes_of(feeds).values()) if self.stated else None

    def _moved_by_noise(self, feeds: Feeds, inner: Sequence[str] = ()) -> dict[str, float]:
        return moved_by_noise(self.engine, self.before, self.noise, feeds, inner) if self.noise else {}

    def _open_showing(self, side: Side, optimized: bool, names: Sequence[str]) -> Session:
        return self.engine.open(self._document(side), optimized=optimized, extra_outputs=names)

    def _look_before_jumps(self, feeds: Feeds, allowed: ErrorBound) -> None:
        """Compare what operators read that jump behind a change exact only to a bound; a note names them."""
        if not self.noise:
            return
        why = require_agreement_before(
            self.engine,
            (self.before, self.after),
            self._open_showing,
            feeds,
            max(allowed.bound, self._stated_at(feeds) or 0.0),
            lambda names: self._moved_by_noise(feeds, names),
        )
        self.engine.notes += [] if why is None else [why]

    def _only_jumps(self, feeds: Feeds, relative: float | None = None) -> bool:
        """Whether the two differ in what operators that jump make of the same; a note says so."""
        why = agree_before_jumps(self.engine, (self.before, self.after), self._open_showing, feeds, relative)
        self.engine.notes += [] if why is None else [why]
        return why is not None

    def _judge_optimised(
        self, point: Point, plain: Outputs, before: Outputs, after: Outputs, allowed: ErrorBound
    ) -> None:
        level = AtDefault(plain, before, after)
        comparison, widest_bound = level.differences, widest(level.moved.bounds)
        bound = self._reported(point.feeds, allowed, before, comparison, widest_bound.bound)
        self.engine.runs.append(run_of(comparison, point.feeds, optimized=True, bound=bound, fed=self.feeding))
        is_near = level.moved.expected is not before and level.is_near_plain
        if level.agrees or is_near or allows(allowed, before, after, comparison):
            return
        noise = self._moved_by_noise(point.feeds)
        if not (noise and allows(allowed, before, after, comparison, noise)) and not self._only_jumps(point.feeds):
            raise DifferenceError("verification.differs-optimised", why=comparison.reason, bound=widest_bound)

    def _reaching_after(self, after: Watched, first: Fitted) -> list[Fitted]:
        """Feeds that reach bodies of the model after which no feed ran, and that the model before runs with."""
        unseen = self._unseen[Side.AFTER]
        if not (self.looks and unseen and self._origin is not None and self._feeder is not None):
            return []
        from resizefix.verification.further_feeds import FurtherFeeds

        budget = MemoryBudget(self.after, self.engine.conditions.limits)
        drawn = FurtherFeeds(after, self._feeder, first, self._origin, budget).reaching(unseen)
        if not drawn:
            return []
        before = self._watched(Side.BEFORE)
        fitted = []
        for one in drawn:
            with suppress(CannotRunError):
                fitted.append(Fitted(one.feeds, before.run(before.taken(one.feeds))))
        return fitted

    def _name_what_is_not_compared(self) -> None:
        """Note the bodies that no feed ran, and the nodes that were made to draw the same numbers."""
        unseen = frozenset[ScopePath]().union(*self._unseen.values()) if self.looks else frozenset()
        if unseen:
            from resizefix.verification.upstream import are_held_alike  # few have bodies that did not run

            named = few(sorted({*map(str, unseen)}), _MOST_NAMED)
            self.engine.notes.append(Diagnostic("verification.bodies-not-run", named=named))
            self.engine.is_refutable = not are_held_alike(self.before, self.after, unseen)
        if self.looks and self._random:
            self.engine.notes.append(Diagnostic("verification.same-seeds", named=few(self._random, _MOST_NAMED)))

    def _document(self, side: Side) -> Document:
        return self.before if side is Side.BEFORE else self.after

    def _label(self, side: Side) -> str:
        path = self._document(side).path  # what was made of BEFORE has its path until it is saved, and is in no file
        is_file = path is not None and (side is Side.BEFORE or path != self.before.path)
        return f"{side.name} ({path})" if is_file else side.name

    def _open(self, side: Side, *, optimized: bool) -> Session:
        plain = self._label(side)
        label = Diagnostic("verification.at-default-level", label=plain) if optimized else plain
        session = self.engine.open(self._document(side), optimized=optimized, label=label)
        session.brief |= self._is_brief
        return session

    def _watched(self, side: Side) -> Watched:
        """A session without optimisation. Where bodies are looked for, it says which ran."""
        if not self.looks:
            return Watched(self._open(side, optimized=False))
        watched = self.engine.open_watched(self._document(side), self._label(side))
        watched.session.brief |= self._is_brief
        return watched
