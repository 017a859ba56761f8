"""One original that runs, and the trial that a promotion of it is proven by.

Fed the old values the promoted model is the original; fed others, the original re-baked: bitwise with onnxruntime's
optimisation disabled, where every node runs as it stands; at the default level within `bounds.default_level_bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import counted
from resizefix.promotion import Coupling, Freedom, PromotedInput
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.runtimes.prepared_model import PreparedModel, prepare_for_ort
from resizefix.scope_path import Key
from resizefix.verification.bodies_behind import bodies_behind, not_run, say_not_run
from resizefix.verification.bounds import Bound, relative_bounds, within
from resizefix.verification.compare import Comparison, compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, shapes_of_feeds
from resizefix.verification.jumps import agree_before_jumps
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.probe import Prober
from resizefix.verification.promoted_point import PromotedPoint, half_units_of
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import (
    ScalePoint,
    asked_points,
    at_old_values,
    moved_points,
    other_values,
    sampled_by_sizes,
)
from resizefix.verification.trial import Answer, Outputs, Point, Trial, answer, moved_by_optimising
from resizefix.verification.verification import Reference, Run
from resizefix.verification.whole_sizes import follow_whole_sizes, without_whole_sizes


class PromotionComparison:
    """An original that runs: the feeds it accepts and what it makes of them.

    Its `engine` holds the runs that were compared, and differences that the promotion brings with it as notes.
    """

    def __init__(
        self, original: Document, conditions: Conditions, alone: Sequence[PromotedInput] = (), part: float = 1.0
    ) -> None:
        """`alone`: the inputs of the promotion of these nodes, which were extracted from a model and are `part` of it.

        Raises CannotLoadError or CannotRunError where onnxruntime cannot run the original, UsageError for bad shapes.
        """
        self._original = original
        self._is_alone = bool(alone)
        self._inputs: Sequence[PromotedInput] = ()  # of the promotion that is looked at
        self._budget = MemoryBudget(original, conditions.limits, alone)
        self._prepared: dict[int, tuple[Document, PreparedModel]] = {}
        self.engine = Engine(conditions, part=part)
        session = self._open(original, optimized=False)
        fitted = self.engine.fit_as_declared(original, session, self._budget, is_part=self._is_alone)
        self._feeds, self._made = fitted.feeds, fitted.outputs
        self.engine.start_from(fitted)
        self._budget.start_from(fitted.feeds)
        self._others = list(fitted.others)  # feeds of other sizes and other values
        # What a node reads that a point does not move, also where the original computes it from a size that moves.
        self._as_exported: Mapping[Key, Operand] = {}
        self._by_sizes: list[tuple[PromotedPoint, float]] = []  # that differ from the original with scales, by how much
        self._promoted = original  # the one that is looked at
        self._probed: Session | None = None  # of that one
        self._ran: dict[ScalePoint, tuple[Mapping[str, Value], Answer]] = {}  # by it
        self.not_rebaked: set[str] = set()  # inputs at some of whose values no original is loaded to compare with

    def require_fed_by(self, promoted: Document) -> None:
        """Raises CannotRunError where the original's scales follow an input that the promoted model has not: they
        are unknown."""
        known = {value.name for value in promoted.proto.graph.input}
        for name in self._feeds:
            if name not in known:
                reason = f"its scales follow {name!r}"
                raise CannotRunError(reason, reason=reason)

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
        found = Prober(promoted.proto, breaks_at, moved, self._fits, self.engine.progress).probe()
        free = [source for source in moved if all(found[driven.key].verdict is Freedom.FREE for driven in source.sites)]
        behind = bodies_behind(promoted, free)
        if behind:
            self._probed = None  # before the next one is opened: each maps or holds all weights
            points = (*moved_points(free, self._fits), at_old_values(inputs))
            behind = not_run(self.engine, promoted, behind, [self._point(one, self._feeds) for one in points])
        return found | {key: found[key]._replace(verdict=Freedom.UNKNOWN) for keys in behind.values() for key in keys}

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
        self._as_exported = old.baked
        trial = Trial(
            self.engine,
            self._open_before,
            lambda optimized: self._open(promoted, optimized=True) if optimized else self._session(),
            self._judge,
        )
        first = self._point(old, self._feeds)
        first.before[False], first.after[False] = self._made, self._answer(old, self._feeds)
        points = [first, *self._moved(coupling or {}), *self._at_broken_sizes(old)]
        self._probed = None
        self.engine.progress.expect(sum(2 - point.is_plain for point in points))
        trial.run(points)
        self._probed = None
        if not self._is_alone:
            say_not_run(self.engine, promoted, inputs, points)
        self._note_sizes(promoted)

    def _moved(self, coupling: Mapping[Key, Coupling]) -> list[PromotedPoint]:
        """Other values at which the model runs, every input moved if possible, and those asked for in any case."""
        asked = [self._point(scales, self._feeds) for scales in asked_points(self._inputs, self.engine.conditions.at)]
        for point in asked:
            point.after[False] = self._answer(point.scales, point.feeds)
        held = {key for key, found in coupling.items() if found.verdict is Freedom.COUPLED}
        free = [source for source in self._inputs if not any(driven.key in held for driven in source.sites)]
        self._say_held([source for source in self._inputs if source not in free], coupling)
        moved = [self._runnable(scales, turn) for turn, scales in enumerate(moved_points(free, self._fits))]
        for points, later in pairwise([*moved, []]):
            for point in points:
                point.is_plain = bool(later)  # stale shapes show at any other scale
        return [*asked, *(point for points in moved for point in points)]

    def _at_broken_sizes(self, old: ScalePoint) -> list[PromotedPoint]:
        """A point at the old values and a size of which a fractional scale makes no whole number, if there is one."""
        for feeds in without_whole_sizes(self._original, self._feeds, self._inputs):
            point = self._point(old, feeds)
            point.after[False], point.is_plain = self._answer(old, feeds), True
            if self._takes(point) and point.runs:
                return [point]
        not_tested = Diagnostic("verification.not-tested-whole-sizes")
        self.engine.not_tested += [not_tested] if any(map(follow_whole_sizes, self._inputs)) else []
        return []

    def _runnable(self, scales: ScalePoint, turn: int) -> list[PromotedPoint]:
        """The scale point if the model runs at it, else its parts that do: inputs that are only free one at a time.

        The second point is fed other sizes and values, where the models run with them. Nodes alone that do not run
        together are compared in smaller groups.
        """
        for feeds in (*(self._others if turn else ()), self._feeds):
            whole = self._point(scales, feeds)
            whole.after[False] = self._answer(scales, feeds)
            is_second = feeds is not self._feeds
            if (whole.runs and not is_second) or ((is_second or not self._is_alone) and self._takes(whole)):
                if whole.runs:
                    self.engine.tested.append(Diagnostic("verification.tested-scales", at=whole.at))
                return [whole]
        if self._is_alone and len(self._inputs) > 1:
            return [whole]
        return self._one_by_one(scales, turn)

    def _one_by_one(self, scales: ScalePoint, turn: int) -> list[PromotedPoint]:
        """Points that move one input alone: by what the scale point says, or by a whole step, which keeps sizes even;
        for each input the first at which the model runs."""
        found: list[PromotedPoint] = []
        stuck: list[str] = []
        for source, value in scales.values:
            steps = other_values(source, self._fits)[:1] if turn == 0 else ()
            for tried in dict.fromkeys((value, *steps) if len(scales.values) > 1 else steps):
                point = self._point(ScalePoint(((source, tried),)), self._feeds)
                point.after[False] = self._answer(point.scales, self._feeds)
                if point.runs:
                    found.append(point)
                    break
            else:
                stuck.append(source.name)
        if stuck and turn == 0:
            self.engine.not_tested.append(Diagnostic("verification.not-tested-scales", names=", ".join(stuck)))
        return found

    def _takes(self, point: PromotedPoint) -> bool:
        """Whether the original that holds the scales takes these feeds, too; what it makes of them is kept."""
        self._probed = None  # before the next one is opened: each maps or holds all weights
        self._make_before(point)
        return isinstance(point.before[False], Mapping)

    def _make_before(self, point: PromotedPoint) -> None:
        try:
            session = self._open_before(point, False)
            point.before[False] = self._safely(session, point.feeds, point.cost)
        except CannotLoadError as error:
            point.before[False] = error

    def _say_held(self, held: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]) -> None:
        for source in held:
            found = next(coupling[driven.key] for driven in source.sites if driven.key in coupling)
            self.engine.not_tested.append(
                Diagnostic("verification.not-tested-coupled", name=source.name, breaks_at=found.breaks_at)
            )
        if held:
            kept = counted(len(held), "input")
            self.engine.notes.append(Diagnostic("verification.inputs-not-moved", kept=kept, of=len(self._inputs)))

    def _point(self, scales: ScalePoint, feeds: Mapping[str, Value]) -> PromotedPoint:
        fed = {**feeds, **scales.feeds(self._inputs)}
        operands = {**self._as_exported, **scales.baked}
        return PromotedPoint(fed, (id(scales),), self._budget.cost(feeds, scales), scales=scales, operands=operands)

    def _answer(self, scales: ScalePoint, feeds: Mapping[str, Value]) -> Answer:
        """What the promoted model makes at a scale point without optimisation; each is run once."""
        known = self._ran.get(scales)
        if known is None or known[0] is not feeds:
            fed = {**feeds, **scales.feeds(self._inputs)}
            known = feeds, self._safely(self._session(), fed, self._budget.cost(feeds, scales), scales)
            self._ran[scales] = known
        return known[1]

    def _safely(
        self, session: Session, fed: Mapping[str, Value], cost: float | None, scales: ScalePoint | None = None
    ) -> Answer:
        too_large = None if scales is None else self._budget.reject_reason(self._feeds, scales)
        if too_large is not None:
            return CannotRunError("verification.not-run", label=session.label, why=too_large, reason=too_large)
        return answer(self.engine, session, fed, cost)

    def _look_at(self, promoted: Document, inputs: Sequence[PromotedInput]) -> None:
        if promoted is not self._promoted:
            self._probed, self._ran = None, {}
        self._promoted, self._inputs = promoted, inputs

    def _session(self) -> Session:
        """The promoted model without optimisation; it stays open until another model is."""
        if self._probed is None:
            self._probed = self._open(self._promoted, optimized=False)
        return self._probed

    def _open_before(self, point: Point, optimized: bool) -> Session:
        """The original that holds the scales or sizes of the point as constants."""
        assert isinstance(point, PromotedPoint)
        prepared = None if self._is_old(point) else self._reference(point)
        return self._open(self._original, prepared, optimized=optimized)

    @staticmethod
    def _is_old(point: PromotedPoint) -> bool:
        return all(tuple(value) == tuple(source.value) for source, value in point.scales.values)

    def _reference(self, point: PromotedPoint) -> PreparedModel:
        if point.prepared is None:  # each is opened at two levels
            prepared = self._prepared_of(self._original)
            point.prepared = self._budget.references.prepared(prepared, point.operands)
        return point.prepared

    def _fits(self, scales: ScalePoint) -> bool:
        return self._budget.reject_reason(self._feeds, scales) is None

    def _prepared_of(self, document: Document) -> PreparedModel:
        known = self._prepared.get(id(document))  # each is opened at two levels
        if known is None:  # kept with the document, so that no other one gets its id
            known = self._prepared[id(document)] = document, prepare_for_ort(document)
        return known[1]

    def _open(self, document: Document, prepared: PreparedModel | None = None, *, optimized: bool) -> Session:
        return self.engine.open(document, prepared=prepared or self._prepared_of(document), optimized=optimized)

    def _judge(self, point: Point, optimized: bool) -> None:
        assert isinstance(point, PromotedPoint)
        found, expected, at = point.after[optimized], point.before[optimized], point.at
        level = Diagnostic("verification.default-level" if optimized else "verification.optimisation-disabled")
        self.engine.progress.done(f"comparing at {at}")
        if isinstance(found, (CannotRunError, CannotLoadError)):
            where = f" at {found.node!r}" if found.node else ""
            raise DifferenceError(
                "verification.promoted-does-not-run", at=at, level=level, where=where, why=found.reason
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
        self._against(point, expected, found, bounds, level)

    def _against(
        self, point: PromotedPoint, expected: Outputs, found: Outputs, bounds: Mapping[str, Bound] | None, level: str
    ) -> None:
        reference, from_scales, at = Reference.SCALES, None, point.at
        verdict = self._judged(expected, found, bounds)
        if not verdict.same and (by_sizes := point.scales.by_sizes(self._inputs)):
            sized = self._by_computed_sizes(point, {**point.operands, **by_sizes}, bounds is not None)
            if isinstance(sized, Mapping):
                reference, from_scales = Reference.SIZES, verdict.comparison.max_abs_diff
                self._by_sizes.append((point, from_scales))
                verdict = self._judged(sized, found, bounds)
        comparison = verdict.comparison
        apart = comparison.bitwise, comparison.max_abs_diff, comparison.max_rel_diff
        of = point.values, shapes_of_feeds(point.feeds), bounds is not None
        run = Run(*of, *apart, verdict.bound, reference, from_scales)
        self.engine.runs.append(run)
        why, held = comparison.reason, reference.value
        if not verdict.same and not (bounds is not None and self._only_jumps(point)):
            raise DifferenceError("verification.promotion-differs", at=at, level=level, held=held, why=why)
        if verdict.last_bits:
            # onnxruntime computes half precision between casts whose places depend on the neighbours
            self.engine.notes.append(Diagnostic("verification.last-bits-differ", at=at, why=why))

    def _only_jumps(self, point: PromotedPoint) -> bool:
        """Whether the two differ, optimised, in what operators that jump make of the same; a note says so."""
        promoted = self._promoted

        def opened(side: int, optimized: bool, names: Sequence[str]) -> Session:
            if side:
                return self.engine.open(promoted, optimized=optimized, extra_outputs=names)
            prepared = (point.prepared or self._prepared_of(self._original)).showing(names)
            return self._open(self._original, prepared, optimized=optimized)

        why = agree_before_jumps(self.engine, (self._original, promoted), opened, point.feeds)
        if why is not None:
            self.engine.notes.append(why)
        return why is not None

    def _by_computed_sizes(self, point: PromotedPoint, operands: Mapping[Key, Operand], optimized: bool) -> Answer:
        """What the original makes that computes sizes of an integer factor as the new model does."""
        prepared = self._budget.references.prepared(self._prepared_of(self._original), operands)
        try:
            session = self._open(self._original, prepared, optimized=optimized)
        except CannotLoadError as error:
            return error
        return self._safely(session, point.feeds, point.cost)

    def _judged(self, expected: Outputs, found: Outputs, bounds: Mapping[str, Bound] | None) -> _Judged:
        """Whether the outputs are the same: bit for bit without `bounds`, else within them; or but for the last bits of
        half precision."""
        comparison = compare(expected, found)
        same = comparison.bitwise if bounds is None else within(comparison, bounds)
        last_bits = False
        if not same:
            wider = relative_bounds(expected, half_units_of(self._original, self._inputs))
            wider = {name: max(bound, (bounds or wider)[name], key=_relative) for name, bound in wider.items()}
            differing = (difference.output for difference in comparison.differences if not difference.bitwise)
            same = last_bits = within(comparison, wider) and all(wider[name].relative for name in differing)
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
            session = self._open(promoted, prepare_for_ort(promoted, names), optimized=False)
            lengths = session.run(point.feeds)
        shapes = {name: value.shape for name, value in lengths.items() if isinstance(value, np.ndarray)}
        self.engine.notes.append(sampled_by_sizes(point.scales, self._inputs, shapes, difference))


@dataclass(frozen=True)
class _Judged:
    """A comparison, whether it passes, whether only as half precision may differ, and the bound that it passes by."""

    comparison: Comparison
    same: bool
    last_bits: bool
    bound: float


def _relative(bound: Bound) -> float:
    return bound.relative
