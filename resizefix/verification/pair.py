"""Two models on the same feeds: which feeds these are, and whether the outputs agree at both levels."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.output_size import shapes_of
from resizefix.document.document import Document
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    Session,
    only_without_optimisation,
)
from resizefix.scope_path import MAIN, ScopePath
from resizefix.verification.arms import Watched, watched_copy
from resizefix.verification.bounds import Bound, Tolerance, default_level_bounds, within
from resizefix.verification.compare import compare
from resizefix.verification.engine import DifferenceError, Engine, Fitted, fit_feeds, run_of, with_shapes_to_give
from resizefix.verification.feeds import Feeder
from resizefix.verification.further_feeds import FurtherFeeds, Origin, tells
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names, require_types
from resizefix.verification.verification import Verification
from resizefix.verification.views import View, views_of

_MOST_NAMED = 4
_RUNS = 4  # of each feed: two models at two levels


@dataclass
class Pair:
    """Two models that are run on the same feeds. Outputs are compared at the paths of `feeding.files`, too
    (`Verification.views`).

    `looks`: bodies that no feed ran are looked for, and named. `exact`: feeds are drawn also where the last bits of a
    number decide, and of sizes that no tolerance was given for.

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
    views: tuple[View, ...] = ()
    _feeder: Feeder | None = None
    _plain: Watched | None = None  # the model before, without optimisation, until it has run
    _origin: Origin | None = None
    _is_brief: bool = False  # its runs are
    _random: tuple[str, ...] = ()  # nodes that draw numbers
    _types: dict[str, str] = field(default_factory=dict)  # of the model before
    _unseen: dict[str, frozenset[ScopePath]] = field(default_factory=dict)  # bodies that did not run, by side

    def verified(self, tolerance: Tolerance, fitted: Sequence[Fitted] | None = None) -> Verification:
        """The verdict on feeds that the model before runs with: those that were `fitted`, where they are given."""
        engine, failure, wanted = self.engine, None, math.inf
        try:
            given = self.fit() if fitted is None else fitted
            wanted = len(given)
            self._require_outputs(given)
            self._require_equal(given, tolerance)
        except DifferenceError as error:
            failure = error.diagnostic
            if self._random:
                failure = Diagnostic("verification.differs-at-random", why=failure, named=_named(self._random))
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
        session = self._plain = self._plain or self._watched("BEFORE", self.before)
        self._types, self._random = session.session.types, session.session.random
        inputs, hints = common_inputs(self.before, self.after, self.feeding)
        feeder = self._feeder = self.engine.feeder(inputs, hints)
        self.engine.progress.expect(4)
        budget = MemoryBudget(self.before, self.engine.conditions.limits)
        began, used = time.monotonic(), time.process_time()
        first = fit_feeds(session, feeder, budget=budget, is_part=self.is_part)
        seconds, used = time.monotonic() - began, time.process_time() - used
        self.engine.progress.done("running the model before")
        self._unseen = {"BEFORE": session.arms_watched - session.ran}
        if self.feeding.runs == 1:
            return [first]
        self._origin = Origin.of(self.before, self.after)
        further = FurtherFeeds(session, feeder, first, self._origin, budget, used)
        self._is_brief = session.session.brief = further.is_brief
        wanted = further.enough(exact=self.exact) if self.feeding.runs is None else self.feeding.runs - 1
        left = self.engine.conditions.limits.left()
        if left is not None and seconds * _RUNS * (1 + wanted) > left:
            self.engine.notes.append(Diagnostic("verification.no-time-for-further-feeds", wanted=wanted))
            return [first]
        fitted = [first, *(further.at_other_sizes() if self.feeding.runs is None else ()), *further.rows(wanted)]
        if not further.is_light and not tells(first) and any(map(tells, fitted)):
            fitted = [*fitted[1:], *further.rows(1)]
        if self.looks:
            fitted += further.reaching(self._unseen["BEFORE"] - further.ran)
            fitted += further.borders() if self.exact and self.feeding.runs is None else ()
        self._unseen["BEFORE"] -= further.ran
        self.engine.progress.done("running the model before", further.tried)
        self.engine.progress.expect(3 * (len(fitted) - 1))
        return fitted

    def is_always_empty(self, fitted: Sequence[Fitted]) -> bool:
        """Whether there is no number in any output, at any shape that the file allows."""
        if self._feeder is None or not any(one.vacuous for one in fitted):
            return False
        graphs = ((one.proto.graph, shapes_of(one.proto)) for one in (self.before, self.after))
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

    def _require_equal(self, fitted: Sequence[Fitted], tolerance: Tolerance) -> None:
        """Compare at both levels. Raises DifferenceError with the first disagreement."""
        self._plain = None  # before the next one is opened: each maps or holds all weights
        after = self._watched("AFTER", self.after)
        require_types(self._types, after.session.types, output_names(self.before, self.after))
        self._unseen["AFTER"] = after.arms_watched
        self._require_equal_plain(after, fitted, tolerance)
        fitted = [*fitted, *self._reaching_after(after, fitted[0], tolerance)]
        del after
        self._name_what_is_not_compared()
        feeds = [one.feeds for one in fitted]
        try:
            fused = self._fused(feeds)
        except (CannotLoadError, CannotRunError) as error:  # without optimisation it ran
            self.engine.notes += [only_without_optimisation("the model before", error.reason)]
            return
        optimized = Watched(self._open("AFTER", self.after, optimized=True))
        for one, before, made in zip(fitted, fused, self._run_after(optimized, feeds), strict=True):
            level, comparison = compare(one.outputs, before), compare(before, made)
            bounds = default_level_bounds(one.outputs, before, level)
            widest = max(bounds.values(), key=lambda bound: bound.relative, default=Bound(0.0, "no outputs"))
            bound = tolerance.bound(before, comparison, widest.relative)
            self.engine.runs.append(run_of(comparison, one.feeds, optimized=True, bound=bound, fed=self.feeding))
            if within(comparison, bounds) or tolerance.allows(before, made, comparison):
                continue
            # An original with stale shapes contradicts itself when optimised; then what it really computes counts.
            if level.max_rel_diff < np.inf or not within(compare(one.outputs, made), bounds):
                raise DifferenceError("verification.differs-optimised", why=comparison.reason, bound=widest)

    def _require_equal_plain(self, after: Watched, fitted: Sequence[Fitted], tolerance: Tolerance) -> None:
        for one, made in zip(fitted, self._run_after(after, [one.feeds for one in fitted]), strict=True):
            if self.feeding.files and one is fitted[0]:
                self.views = views_of(", ".join(self.feeding.files.values()), one.outputs, made)
            self._unseen["AFTER"] -= after.ran
            comparison = compare(one.outputs, made)
            bound = tolerance.bound(one.outputs, comparison)
            self.engine.runs.append(run_of(comparison, one.feeds, bound=bound, fed=self.feeding))
            if not comparison.bitwise and not tolerance.allows(one.outputs, made, comparison):
                raise DifferenceError("verification.differs-unoptimised", why=comparison.reason)

    def _reaching_after(self, after: Watched, first: Fitted, tolerance: Tolerance) -> list[Fitted]:
        """Feeds that reach bodies of the model after which no feed ran, and that the model before runs with."""
        unseen = self._unseen["AFTER"]
        if not (self.looks and unseen and self._origin is not None and self._feeder is not None):
            return []
        budget = MemoryBudget(self.after, self.engine.conditions.limits)
        further = FurtherFeeds(after, self._feeder, first, self._origin, budget)
        drawn = further.reaching(unseen)
        if not drawn:
            return []
        before = self._watched("BEFORE", self.before)
        fitted = []
        for one in drawn:
            with suppress(CannotRunError):
                fitted.append(Fitted(one.feeds, before.run(before.taken(one.feeds))))
        del before
        self._require_equal_plain(after, fitted, tolerance)
        return fitted

    def _name_what_is_not_compared(self) -> None:
        """Note the bodies that no feed ran, and the nodes that were made to draw the same numbers."""
        unseen = sorted({str(path) for paths in self._unseen.values() for path in paths}) if self.looks else []
        if unseen:
            self.engine.notes.append(Diagnostic("verification.bodies-not-run", named=_named(unseen)))
        if self.looks and self._random:
            self.engine.notes.append(Diagnostic("verification.same-seeds", named=_named(self._random)))

    def _fused(self, feeds: Sequence[Feeds]) -> list[dict[str, Value]]:
        session = self._open("BEFORE", self.before, optimized=True)
        self.engine.notes += session.notes
        fused = []
        for one in feeds:
            fused.append(session.run(session.taken(one)))
            self.engine.progress.done(Diagnostic("verification.running-before-optimised"))
        return fused  # the session goes, before another is opened: each maps or holds all weights

    def _open(self, side: str, document: Document, *, optimized: bool) -> Session:
        # What was made of BEFORE has its path until it is saved, and is in no file.
        is_file = document.path is not None and (side == "BEFORE" or document.path != self.before.path)
        label = f"{side} ({document.path})" if is_file else side
        if optimized:
            label = Diagnostic("verification.at-default-level", label=label)
        session = self.engine.open(document, optimized=optimized, label=label)
        session.brief |= self._is_brief
        return session

    def _watched(self, side: str, document: Document) -> Watched:
        """A session without optimisation. Where bodies are looked for, it says which ran."""
        copy = watched_copy(document) if self.looks else None
        if copy is not None:
            with suppress(CannotLoadError):
                return Watched(self._open(side, copy[0], optimized=False), *copy[1:])
        watched = Watched(self._open(side, document, optimized=False))
        if copy is not None:
            self.engine.notes.append(Diagnostic("verification.bodies-not-watched", label=watched.label))
        return watched

    def _run_after(self, session: Watched, feeds: Sequence[Feeds]) -> Iterator[dict[str, Value]]:
        renamed = output_names(self.before, self.after)
        budget = MemoryBudget(self.after, self.engine.conditions.limits)
        for one in feeds:
            too_large = None if self._is_brief else budget.reject_reason(session.taken(one))
            if too_large is not None:
                raise NotComparableError("verification.not-run", label=session.label, why=too_large)
            self.engine.progress.done("running the model after")
            try:
                outputs = session.run(session.taken(one))
            except CannotRunError as error:
                raise with_shapes_to_give(error, self._feeder) if self._feeder and not self.is_part else error from None
            yield {renamed[name]: value for name, value in outputs.items()}


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (", …" if len(names) > _MOST_NAMED else "")
