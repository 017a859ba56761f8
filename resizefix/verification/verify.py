"""Runs two models on the same feeds and says whether they compute the same: what `resizefix verify` does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import (
    UNCHANGED_LAYOUT,
    CannotLoadError,
    CannotRunError,
    Session,
    only_without_optimisation,
)
from resizefix.verification.bounds import Bound, default_level_bounds, relative_bounds, within
from resizefix.verification.compare import Comparison, allclose, compare, largest_finite
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine, run_of
from resizefix.verification.fitting import Fitted, fit_feeds, is_always_empty
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names
from resizefix.verification.verification import Run, Status, Verification
from resizefix.verification.views import View, views_of

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.verification.feeds import Feeder

Outputs = Mapping[str, Value]
EMPTY = "Every output is empty"


def verify(
    before: Document,
    after: Document,
    conditions: Conditions | None = None,
    tolerance: Tolerance | None = None,
    feeding: Feeding | None = None,
) -> Verification:
    """Whether `after` computes what `before` does, on each feed at two levels: with optimisation disabled every bit
    must agree, or as `tolerance` says.

    Inputs of one name get one value. An input that only one model has needs a default or a value in `feeding`. Outputs
    go by name, or by position if no name is common. Sizes that the files leave open are those of the conditions, else
    the first ones that `before` runs with. Outputs without any element fail.

    A model that cannot be loaded or run, and models that cannot be compared, fail with that as the reason. When time is
    up, what was compared with optimisation disabled suffices if it was all of that.
    Raises UsageError for names, shapes and feeds that do not fit.
    """
    feeding = feeding or Feeding()
    if feeding.runs < 1:
        raise UsageError("verification.no-runs", runs=feeding.runs)
    return Pair(before, after, Engine(conditions or Conditions()), feeding).verified(tolerance or Tolerance())


@dataclass(frozen=True)
class Tolerance:
    """How far the two models may be apart: |after - before| ≤ atol + rtol·|before|, or at most the part `relative` of
    the output's largest value. At the default level the bounds of `bounds.default_level_bounds` are enough, too.

    `stated` is the part of the largest value within which a run states its difference: it names this as its bound where
    it holds.
    """

    atol: float = 0.0
    rtol: float = 0.0
    relative: float | None = None
    stated: float | None = None

    def bound(self, before: Outputs, comparison: Comparison, least: float = 0.0) -> float:
        """The largest difference that is allowed, as a part of the largest value of an output: what is stated where
        that holds, else what may be, `least` at any rate."""
        if self.stated is not None and within(comparison, self.stated):
            return self.stated
        parts = [self.rtol, least]
        if self.relative is not None:
            parts += [bound.relative for bound in relative_bounds(before, self.relative).values()]
        if self.atol:
            largest = (largest_finite(value) for value in before.values() if isinstance(value, np.ndarray))
            parts += [self.rtol + self.atol / size for size in largest if size]
        return max(parts)

    def allows(self, before: Outputs, after: Outputs) -> bool:
        """Whether outputs that differ may be so far apart."""
        if self.relative is not None and within(compare(before, after), relative_bounds(before, self.relative)):
            return True
        if self.atol == 0 and self.rtol == 0:
            return False
        return before.keys() == after.keys() and all(
            allclose(before[name], after[name], atol=self.atol, rtol=self.rtol) for name in before
        )


@dataclass
class Pair:
    """Two models that are run on the same feeds. Outputs are compared at the paths of `feeding.files`, too
    (`Verification.views`).

    `empty_agree`: outputs without any element pass where the file fixes all sizes, with the note that types and shapes
    alone were compared.
    """

    before: Document
    after: Document
    engine: Engine
    feeding: Feeding = field(default_factory=Feeding)
    empty_agree: bool = False
    views: tuple[View, ...] = ()
    note: str | None = None
    _feeders: Sequence[Feeder] = ()
    _plain: Session | None = None  # the model before, without optimisation, until it has run

    def verified(self, tolerance: Tolerance, fitted: Sequence[Fitted] | None = None) -> Verification:
        """The verdict on feeds that the model before runs with: those that were `fitted`, where they are given."""
        done: list[Run] = []
        wanted = math.inf
        note = None
        try:
            given = self.fit() if fitted is None else fitted
            wanted = len(given)
            self._require_outputs(given)
            problem = self.disagreement(given, tolerance, done)
        except (NotComparableError, CannotLoadError, CannotRunError) as error:
            problem = str(error)
        except BrokenOffError as error:
            problem = None if len(done) >= wanted else str(error)
            note = Diagnostic("verification.default-level-not-compared", why=str(error))
        status, reason = (Status.FAILED, problem) if problem else (Status.PASSED, note or self.note)
        return Verification(status, reason, tuple(done), sessions=self.engine.sessions, views=self.views)

    def fit(self) -> list[Fitted]:
        """The feeds that the model before runs with, and its outputs without optimisation.

        Raises what opening and running it raise, NotComparableError, and UsageError for feeds that do not fit.
        """
        session = self._plain = self._plain or self._open("BEFORE", self.before, optimized=False)
        inputs, hints = common_inputs(self.before, self.after, self.feeding)
        seed, runs = self.engine.conditions.seed, self.feeding.runs
        feeders = [self.engine.feeder(inputs, hints, seed=each) for each in range(seed, seed + runs)]
        self.engine.progress.expect(4 * runs)
        budget = MemoryBudget(self.before, self.engine.conditions.limits)
        fitted = []
        for feeder in feeders:
            fitted.append(fit_feeds(session, feeder, budget=budget))
            self.engine.progress.done("running the model before")
        self._feeders = feeders
        return fitted

    def is_always_empty(self, fitted: Sequence[Fitted]) -> bool:
        """Whether there is no number in any output, at any shape that the file allows."""
        if not any(one.vacuous for one in fitted):
            return False
        return all(is_always_empty(feeder, self.before, self.after) for feeder in self._feeders)

    def _require_outputs(self, fitted: Sequence[Fitted]) -> None:
        if not any(one.vacuous for one in fitted):
            return
        fixed = self.is_always_empty(fitted)
        if not (fixed and self.empty_agree):
            advice = "The file fixes them." if fixed else "Give others with --shape."
            raise NotComparableError("verification.nothing-compared", empty=EMPTY, advice=advice)
        self.note = f"{EMPTY.lower()} at every shape that the file allows; types and shapes were compared"

    def disagreement(self, fitted: Sequence[Fitted], tolerance: Tolerance, done: list[Run]) -> str | None:
        """The first disagreement, in words; None if there is none. Appends every comparison made to `done`."""
        self._plain = None  # before the next one is opened: each maps or holds all weights
        feeds = [one.feeds for one in fitted]
        plain = [one.outputs for one in fitted]
        for at, after in enumerate(self._run_after(feeds, optimized=False)):
            if self.feeding.files and at == 0:
                self.views = views_of(", ".join(self.feeding.files.values()), plain[at], after)
            comparison = compare(plain[at], after)
            done.append(run_of(comparison, feeds[at], bound=tolerance.bound(plain[at], comparison), fed=self.feeding))
            if not comparison.bitwise and not tolerance.allows(plain[at], after):
                return Diagnostic("verification.differs-unoptimised", why=comparison.reason)
        try:
            fused = self._fused(feeds)
        except (CannotLoadError, CannotRunError) as error:  # what it is without optimisation is known
            self.note = only_without_optimisation("the model before", error.reason)
            return None
        for at, after in enumerate(self._run_after(feeds, optimized=True)):
            bounds = default_level_bounds(plain[at], fused[at])
            comparison = compare(fused[at], after)
            widest = max(bounds.values(), key=lambda bound: bound.relative, default=Bound(0.0, "no outputs"))
            allowed = tolerance.bound(fused[at], comparison, widest.relative)
            done.append(run_of(comparison, feeds[at], optimized=True, bound=allowed, fed=self.feeding))
            if within(comparison, bounds) or tolerance.allows(fused[at], after):
                continue
            # An original with stale shapes contradicts itself when optimised; then what it really computes counts.
            contradicts_itself = compare(plain[at], fused[at]).max_rel_diff == np.inf
            if not (contradicts_itself and within(compare(plain[at], after), bounds)):
                return Diagnostic(
                    "verification.differs-optimised",
                    why=comparison.reason,
                    allowed=widest.relative,
                    because=widest.because,
                )
        return None

    def _fused(self, feeds: Sequence[Feeds]) -> list[dict[str, Value]]:
        session = self._open("BEFORE", self.before, optimized=True)
        if session.maps_weights:
            self.note = UNCHANGED_LAYOUT
        fused = []
        for one in feeds:
            fused.append(session.run(session.taken(one)))
            self.engine.progress.done("running the model before, optimised")
        return fused  # the session goes, before another is opened: each maps or holds all weights

    def _open(self, side: str, document: Document, *, optimized: bool) -> Session:
        # What was made of BEFORE has its path until it is saved, and is in no file.
        is_file = document.path is not None and (side == "BEFORE" or document.path != self.before.path)
        label = f"{side} ({document.path})" if is_file else side
        if optimized:
            label += " at the default optimisation level"
        return self.engine.open(document, optimized=optimized, label=label)

    def _run_after(self, feeds: Sequence[Feeds], *, optimized: bool) -> list[dict[str, Value]]:
        session = self._open("AFTER", self.after, optimized=optimized)
        renamed = output_names(self.before, self.after)
        budget = MemoryBudget(self.after, self.engine.conditions.limits)
        results = []
        for one in feeds:
            too_large = budget.reject_reason(session.taken(one))
            if too_large is not None:
                raise NotComparableError("verification.too-large-to-run", label=session.label, too_large=too_large)
            self.engine.progress.done("running the model after")
            outputs = session.run(session.taken(one))
            results.append({renamed[name]: value for name, value in outputs.items()})
        return results
