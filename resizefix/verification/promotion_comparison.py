"""One original that runs, and the trial that a promotion of it is proven by.

Fed the old values the promoted model is the original; fed others, the original re-baked: bitwise with onnxruntime's
optimisation disabled, where every node runs as it stands; at the default level within `bounds.default_level_bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import counted, listed
from resizefix.outcome import Differences, ErrorBound
from resizefix.promotion import Coupling, Freedom, PromotedInput
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.compare import compare, relative_bounds, within
from resizefix.verification.engine import DifferenceError, run_of
from resizefix.verification.promoted_runs import (
    Prober,
    PromotedPoint,
    PromotedRuns,
    follow_whole_sizes,
    half_units_of,
    without_whole_sizes,
)
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import (
    ScalePoint,
    alike_points,
    asked_points,
    at_old_values,
    even_point,
    even_value,
    other_values,
    sampled_by_sizes,
)
from resizefix.verification.trial import Answer, Outputs, Point, Side, answer, moved_by_optimising
from resizefix.verification.upstream import bodies_behind
from resizefix.verification.verification import HeldAs

_MOST_COST, _MOST_COST_OF_OPEN = 11.0, 14.0  # forward passes of a proof, where sizes are fixed and where they are open
_OPTIMISED = 4.5  # of these for the default level: both models, at the old scales and at others
_MOST_PROBED = 6.0  # forward passes of the runs that tell which sites are free; or
_LITTLE = 2**27  # what these compute in all, which takes a fraction of a second
_CHEAP = 0.75  # forward passes of a run that need not be cheaper


class PromotionComparison(PromotedRuns):
    """The comparisons that the proof of a promotion consists of."""

    def couplings(
        self, promoted: Document, inputs: Sequence[PromotedInput], moving: Sequence[PromotedInput] | None = None
    ) -> dict[Key, Coupling]:
        """The verdict for the sites of the inputs that are `moving`, by runs; unknown if a body behind did not run."""
        self.engine.hold(self._original, promoted)
        self._look_at(promoted, inputs)

        def breaks_at(scales: ScalePoint) -> str | None:
            answer = self._answer(scales, self._feeds)
            return None if isinstance(answer, Mapping) else answer.node or answer.op_type or answer.reason

        moved = inputs if moving is None else moving
        tools = self._fits, self._cost, self.engine.progress, self._affords_probing
        couplings = Prober(promoted.proto, breaks_at, moved, *tools).probe()
        left = [source.name for source in moved if couplings[source.sites[0].key].verdict is Freedom.UNKNOWN]
        if left:
            self.engine.not_tested.append(Diagnostic("verification.not-tested-alone", names=", ".join(left)))
        verdicts = {key: coupling.verdict for key, coupling in couplings.items()}
        free = [source for source in moved if all(verdicts[one.key] is Freedom.FREE for one in source.sites)]
        behind = self._not_run(bodies_behind(promoted, free))
        if behind:
            self._answer(at_old_values(inputs), self._feeds)
            behind = self._not_run(behind)
        for key in {key for keys in behind.values() for key in keys}:
            couplings[key] = couplings[key]._replace(verdict=Freedom.UNKNOWN)
        return couplings

    def compare(
        self, promoted: Document, inputs: Sequence[PromotedInput], coupling: Mapping[Key, Coupling] | None = None
    ) -> None:
        """Make all comparisons that the proof consists of, those with optimisation disabled first. Inputs of sites that
        `coupling` calls coupled stay at their old value.

        Raises DifferenceError with what differs, BrokenOffError.
        """
        self._look_at(promoted, inputs)
        self.engine.hold(self._original, promoted)
        old = at_old_values(inputs)
        first = self._point(old, self._feeds)
        first.before[False] = self._outputs
        self._answer(old, self._feeds)
        chosen = [first, *self._moved(coupling or {}), *self._at_broken_sizes(old)]
        chosen += self._at_other_sizes(old) if all(point.unscaled is self._feeds for point in chosen) else []
        points = list({id(point): point for point in chosen}.values())  # two turns may move an input alike
        self._close()
        self.engine.progress.expect(sum(2 - point.is_plain for point in points))
        replace(self._trial, judge=self._judge).run(points)
        self._close()
        self._points.clear()  # with what was made of them
        self.passed_over = frozenset() if self._is_alone else self._say_not_run()
        self._note_sizes(promoted)

    def _not_run(self, bodies: Mapping[ScopePath, frozenset[Key]]) -> dict[ScopePath, frozenset[Key]]:
        """Those of the bodies that no run of the promoted model is known to have gone through."""
        return {path: keys for path, keys in bodies.items() if path not in self._seen_now}

    def _say_not_run(self) -> frozenset[ScopePath]:
        """Note as not tested what the inputs change in bodies that did not run."""
        labels = {driven.key: driven.label for source in self._inputs for driven in source.sites}
        left = self._not_run(bodies_behind(self._promoted, self._inputs))
        for body, keys in left.items():
            names = listed([label for key, label in labels.items() if key in keys])
            self.engine.not_tested.append(Diagnostic("verification.not-tested-body", names=names, body=body))
        return frozenset(left)

    def _moved(self, coupling: Mapping[Key, Coupling]) -> list[PromotedPoint]:
        """Other values at which the model runs, every input moved if possible, and those asked for in any case."""
        asked = [self._point(scales, self._feeds) for scales in asked_points(self._inputs, self.engine.conditions.at)]
        for point in asked:
            self._trial.answer(point, Side.AFTER)
        held = {key for key, one in coupling.items() if one.verdict is Freedom.COUPLED}
        free = [source for source in self._inputs if not any(driven.key in held for driven in source.sites)]
        coupled = [source for source in self._inputs if source not in free]
        together = self._runnable(alike_points(coupled), 0) if coupled else []
        self._say_held([] if together else coupled, coupling)
        moved: list[list[PromotedPoint]] = [together]
        for turn, scales in enumerate(self._moved_points(free)):
            moved.append(self._runnable((scales, even_point(free, turn)), turn))
            if not moved[-1] and turn == 0:
                moved[-1] = self._one_by_one(scales)
                break
        for points, later in pairwise([*filter(None, moved), []]):
            for count, point in enumerate(points):
                point.is_plain = bool(later or count)  # stale shapes show at any other scale
        return [*asked, *(point for points in moved for point in points)]

    def _at_broken_sizes(self, old: ScalePoint) -> list[PromotedPoint]:
        """A point at the old values and a size of which a fractional scale makes no whole number, if there is one."""
        for feeds in without_whole_sizes(self._original, self._feeds, self._inputs):
            point = self._point(old, feeds)
            if not self._affords(point, 2):
                break
            point.is_plain = True
            self._trial.answer(point, Side.AFTER)
            if self._takes(point) and point.runs:
                return [point]
        not_tested = Diagnostic("verification.not-tested-whole-sizes")
        self.engine.not_tested += [not_tested] if any(map(follow_whole_sizes, self._inputs)) else []
        return []

    def _at_other_sizes(self, old: ScalePoint) -> list[PromotedPoint]:
        """A point at the old values with more images and another size, where the file leaves them open."""
        for feeds in self._others[:-1]:
            point = self._point(old, feeds)
            if self._affords(point, 2):
                self._trial.answer(point, Side.AFTER)
                if self._takes(point) and point.runs:
                    return [point]
        return []

    def _runnable(self, ways: Sequence[ScalePoint], turn: int) -> list[PromotedPoint]:
        """The first of the scale points that the model runs at, or that it breaks at where the original does not.

        The second is fed other sizes and values, where the models run with them. Nodes alone that do not run together
        are compared in smaller groups.
        """
        for scales in ways:
            for feeds in (*(self._others if turn else ()), self._feeds):
                whole = self._point(scales, feeds)
                if not self._affords(whole, 2):  # by both models
                    continue
                self._trial.answer(whole, Side.AFTER)
                is_second = feeds is not self._feeds
                if (whole.runs and not is_second) or ((is_second or not self._is_alone) and self._takes(whole)):
                    if whole.runs:
                        self.engine.tested.append(Diagnostic("verification.tested-scales", at=whole.at))
                    return [whole]
            if self._is_alone and len(self._inputs) > 1:
                return [whole]
        return []

    def _affords_probing(self) -> bool:
        """Whether another run that only tells which sites are free is within the cost of a proof, or takes no time."""
        passes = self.engine.conditions.spent.passes
        return passes < _MOST_PROBED or passes * self._budget.computed(self._feeds) < _LITTLE

    def _affords(self, point: PromotedPoint, times: int = 1) -> bool:
        """Whether so many runs of the point are within the cost of a proof, with those that will follow."""
        most = _MOST_COST_OF_OPEN if self._is_open else _MOST_COST
        return self._is_alone or self.engine.conditions.spent.passes + times * (point.cost or 1.0) <= most - _OPTIMISED

    def _one_by_one(self, scales: ScalePoint) -> list[PromotedPoint]:
        """Points that move one input alone: by what the scale point says, or by a whole step, which keeps sizes even;
        for each input the first at which the model runs, the cheapest first."""
        moved_alone: list[PromotedPoint] = []
        stuck: list[str] = []
        left_out: list[str] = []
        for source, value in scales.values:
            several = len(scales.values) > 1
            steps = [value, *even_value(source), *other_values(source, self._fits)[:1]][not several :]
            tried = [self._point(ScalePoint(((source, one),)), self._feeds) for one in dict.fromkeys(steps)]
            for point in sorted(tried, key=lambda point: max(point.cost or 1.0, _CHEAP)):
                if not self._affords(point, 2):
                    left_out.append(source.name)
                    break
                self._trial.answer(point, Side.AFTER)
                if point.runs:
                    moved_alone.append(point)
                    self._takes(point)
                    break
            else:
                stuck.append(source.name)
        for code, names in (("verification.not-tested-scales", stuck), ("verification.not-tested-cost", left_out)):
            if names:
                self.engine.not_tested.append(Diagnostic(code, names=", ".join(names)))
        return moved_alone

    def _say_held(self, held: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]) -> None:
        for source in held:
            holding = next(coupling[driven.key] for driven in source.sites if driven.key in coupling)
            self.engine.not_tested.append(
                Diagnostic("verification.not-tested-coupled", name=source.name, breaks_at=holding.breaks_at)
            )
        if held:
            inputs = counted(len(held), "input")
            self.engine.notes.append(Diagnostic("verification.inputs-not-moved", kept=inputs, of=len(self._inputs)))

    def _judge(self, point: Point, optimized: bool) -> None:
        assert isinstance(point, PromotedPoint)
        after, expected, at = point.after[optimized], point.before[optimized], point.at
        level = Diagnostic("verification.default-level" if optimized else "verification.optimisation-disabled")
        self.engine.progress.done(f"comparing at {at}")
        if isinstance(after, (CannotRunError, CannotLoadError)):
            where = f" at {after.node!r}" if after.node else ""
            raise DifferenceError(
                "verification.promoted-does-not-run", at=at, level=level, where=where, why=after.reason
            )
        plain = point.before[False]
        if optimized and not isinstance(expected, Mapping):
            expected = plain  # constants make it contradict itself when optimised: what its nodes compute counts
        if isinstance(expected, CannotLoadError):
            # Constants let shape inference refuse what is never run: a body that is passed over, say.
            self.not_rebaked.update(point.values)
            self.engine.notes.append(Diagnostic("verification.original-does-not-load", at=at, why=expected.reason))
            return
        if isinstance(expected, CannotRunError):
            raise DifferenceError("verification.original-does-not-run", at=at, level=level, why=expected.reason)
        bounds = None
        if optimized and isinstance(plain, Mapping):
            moved = moved_by_optimising(plain, expected)
            bounds = moved.bounds
            if self._is_old(point):  # the original that holds other scales has no stored shapes to be stale
                expected = moved.expected
        self._against(point, expected, after, bounds, level)

    def _against(
        self,
        point: PromotedPoint,
        expected: Outputs,
        after: Outputs,
        bounds: Mapping[str, ErrorBound] | None,
        level: str,
    ) -> None:
        reference, from_scales, at = HeldAs.SCALES, None, point.at
        verdict = self._judged(expected, after, bounds)
        if not verdict.same and (by_sizes := point.scales.by_sizes(self._inputs)):
            sized = self._by_computed_sizes(point, {**point.operands, **by_sizes}, bounds is not None)
            if isinstance(sized, Mapping):
                reference, from_scales = HeldAs.SIZES, verdict.comparison.max_abs_diff
                self._by_sizes.append((point, from_scales))
                verdict = self._judged(sized, after, bounds)
        comparison = verdict.comparison
        run = run_of(comparison, point.feeds, optimized=bounds is not None, bound=verdict.bound)
        self.engine.runs.append(replace(run, values=point.values, reference=reference, from_scales=from_scales))
        why, held = comparison.reason, reference.value
        if not verdict.same and not (bounds is not None and self._only_jumps(point)):
            raise DifferenceError("verification.promotion-differs", at=at, level=level, held=held, why=why)
        if verdict.last_bits:
            # onnxruntime computes half precision between casts whose places depend on the neighbours
            self.engine.notes.append(Diagnostic("verification.last-bits-differ", at=at, why=why))

    def _only_jumps(self, point: PromotedPoint) -> bool:
        """Whether the two differ, optimised, in what operators that jump make of the same; a note says so."""
        from resizefix.verification.jumps import agree_before_jumps  # most agree

        promoted = self._promoted

        def opened(side: Side, optimized: bool, names: Sequence[str]) -> Session:
            if side is Side.AFTER:
                return self.engine.open(promoted, optimized=optimized, extra_outputs=names)
            prepared = (point.prepared or self._prepared).showing(names)
            return self.engine.open(self._original, prepared=prepared, optimized=optimized)

        why = agree_before_jumps(self.engine, (self._original, promoted), opened, point.feeds)
        if why is not None:
            self.engine.notes.append(why)
        return why is not None

    def _by_computed_sizes(self, point: PromotedPoint, operands: Mapping[Key, Operand], optimized: bool) -> Answer:
        """What the original makes that computes sizes of an integer factor as the new model does."""
        prepared = self._budget.references.prepared(self._prepared, operands)
        try:
            session = self.engine.open(self._original, prepared=prepared, optimized=optimized)
        except CannotLoadError as error:
            return error
        return answer(self.engine, session, point.feeds, point.cost)

    def _judged(self, expected: Outputs, after: Outputs, bounds: Mapping[str, ErrorBound] | None) -> _Judged:
        """Whether the outputs are the same: bit for bit without `bounds`, else within them; or but for the last bits of
        half precision."""
        comparison = compare(expected, after)
        same = comparison.bitwise if bounds is None else within(comparison, bounds)
        last_bits = False
        if not same:
            wider = relative_bounds(expected, half_units_of(self._original, self._inputs))
            wider = {name: max(bound, (bounds or wider)[name], key=_relative) for name, bound in wider.items()}
            differing = (difference.tensor for difference in comparison.differing)
            same = last_bits = within(comparison, wider) and all(wider[name].bound for name in differing)
            bounds = wider if same else bounds
        return _Judged(comparison, same, last_bits, max(map(_relative, (bounds or {}).values()), default=0.0))

    def _note_sizes(self, promoted: Document) -> None:
        """One sentence for all runs in which sizes decided where a node samples: the difference, and what avoids it."""
        if not self._by_sizes:
            return
        point, difference = max(self._by_sizes, key=lambda pair: pair[1])
        ratios = point.scales.by_sizes(self._inputs)
        names = [ratio.data for ratio in ratios.values()]
        lengths: Mapping[str, Value] = {}
        if not any(path for path, _ in ratios):  # the lengths are seen in the main graph alone
            lengths = self.engine.run(promoted, point.feeds, extra_outputs=names)
        shapes = shapes_of(lengths)
        self.engine.notes.append(sampled_by_sizes(point.scales, self._inputs, shapes, difference))


@dataclass(frozen=True)
class _Judged:
    """A comparison, whether it passes, whether only as half precision may differ, and the bound that it passes by."""

    comparison: Differences
    same: bool
    last_bits: bool
    bound: float


def _relative(bound: ErrorBound) -> float:
    return bound.bound
