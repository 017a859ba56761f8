"""Runs two models on the same feeds and says whether they compute the same: what `resizefix verify` does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.shapes import shapes_of
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
from resizefix.scope_path import MAIN
from resizefix.verification.bounds import Bound, Tolerance, default_level_bounds, within
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, Fitted, fit_feeds, run_of
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names
from resizefix.verification.verification import Verification
from resizefix.verification.views import View, views_of

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.verification.feeds import Feeder


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
    _feeder: Feeder | None = None
    _plain: Session | None = None  # the model before, without optimisation, until it has run

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
        self._feeder = feeders[0]
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
        if not (fixed and self.empty_agree):
            advice = "The file fixes them." if fixed else "Give others with --shape."
            raise NotComparableError("verification.nothing-compared", advice=advice)
        self.engine.notes = [Diagnostic("verification.types-compared")]

    def _require_equal(self, fitted: Sequence[Fitted], tolerance: Tolerance) -> None:
        """Compare at both levels. Raises DifferenceError with the first disagreement."""
        self._plain = None  # before the next one is opened: each maps or holds all weights
        feeds = [one.feeds for one in fitted]
        for one, after in zip(fitted, self._run_after(feeds, optimized=False), strict=True):
            if self.feeding.files and one is fitted[0]:
                self.views = views_of(", ".join(self.feeding.files.values()), one.outputs, after)
            comparison = compare(one.outputs, after)
            bound = tolerance.bound(one.outputs, comparison)
            self.engine.runs.append(run_of(comparison, one.feeds, bound=bound, fed=self.feeding))
            if not comparison.bitwise and not tolerance.allows(one.outputs, after, comparison):
                raise DifferenceError("verification.differs-unoptimised", why=comparison.reason)
        try:
            fused = self._fused(feeds)
        except (CannotLoadError, CannotRunError) as error:  # without optimisation it ran
            self.engine.notes = [only_without_optimisation("the model before", error.reason)]
            return
        for one, before, after in zip(fitted, fused, self._run_after(feeds, optimized=True), strict=True):
            level, comparison = compare(one.outputs, before), compare(before, after)
            bounds = default_level_bounds(one.outputs, before, level)
            widest = max(bounds.values(), key=lambda bound: bound.relative, default=Bound(0.0, "no outputs"))
            bound = tolerance.bound(before, comparison, widest.relative)
            self.engine.runs.append(run_of(comparison, one.feeds, optimized=True, bound=bound, fed=self.feeding))
            if within(comparison, bounds) or tolerance.allows(before, after, comparison):
                continue
            # An original with stale shapes contradicts itself when optimised; then what it really computes counts.
            if level.max_rel_diff < np.inf or not within(compare(one.outputs, after), bounds):
                raise DifferenceError("verification.differs-optimised", why=comparison.reason, bound=widest)

    def _fused(self, feeds: Sequence[Feeds]) -> list[dict[str, Value]]:
        session = self._open("BEFORE", self.before, optimized=True)
        if session.maps_weights:
            self.engine.notes = [UNCHANGED_LAYOUT]
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
