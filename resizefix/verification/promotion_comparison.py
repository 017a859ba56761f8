"""One original that runs, and the comparisons that a promotion of it is proven by.

Fed the old values the promoted model is the original; fed others, the original re-baked: bitwise with onnxruntime's
optimisation disabled, where every node runs as it stands; at the default level within `bounds.default_level_bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.document.text import counted
from resizefix.promotion import Coupling, PromotedInput
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import OutOfMemoryError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    Session,
    only_without_optimisation,
)
from resizefix.runtimes.prepared_model import PreparedModel, prepare_for_ort
from resizefix.verification.bounds import Bound, default_level_bounds, half_units, relative_bounds, within
from resizefix.verification.compare import Comparison, compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, shapes_of_feeds
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.original_in_parts import (
    OriginalInParts,
    Point,
    PromotedNodes,
    PromotedSession,
    opened,
    promoted_nodes,
)
from resizefix.verification.probe import MOST_ALONE, Prober
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import (
    ScalePoint,
    asked_points,
    at_old_values,
    most_inclusive,
    other_values,
    sampled_by_sizes,
    steps_of,
)
from resizefix.verification.verification import Reference, Run

Outputs = Mapping[str, Value]
Expected = Mapping[str, Value] | CannotRunError | CannotLoadError  # what the original makes, or why it makes nothing
_USUAL_POINTS = 2


class PromotionComparison:
    """An original that runs: the feeds it accepts and what it makes of them at both optimisation levels.

    Its `engine` holds the runs that were compared, and differences that the promotion brings with it as notes.
    """

    def __init__(self, original: Document, conditions: Conditions, alone: Sequence[PromotedInput] = ()) -> None:
        """`alone`: the inputs of the promotion of these nodes, which were extracted from a model.

        Raises CannotLoadError or CannotRunError where onnxruntime cannot run the original, UsageError for bad shapes.
        """
        self._original = original
        self._is_alone = bool(alone)
        self._inputs: Sequence[PromotedInput] = ()  # of the promotion that is looked at
        self._budget = MemoryBudget(original, conditions.limits, alone)
        self._prepared: dict[int, tuple[Document, PreparedModel]] = {}
        self.engine = Engine(conditions)
        self.engine.progress.expect(2 * (1 + _USUAL_POINTS))  # at two levels, the old scales and others
        session = self._open(original, optimized=False)
        fitted = self.engine.fit_as_declared(original, session, self._budget, is_part=self._is_alone)
        self._feeds = fitted.feeds
        self._shapes: Mapping[str, list[int]] = {}
        self._probed: tuple[Document, PromotedSession] | None = None  # the last promoted model that was probed
        self._ran: Sequence[ScalePoint] = ()  # when many inputs were probed: scale points that ran
        self._outputs: dict[bool, Outputs] = {False: fitted.outputs}
        self._bounds: Mapping[str, Bound] | None = None
        # What a node reads that a point does not move, also where the original computes it from a size that moves.
        self._as_exported: Mapping[Key, Operand] = {}
        self._by_sizes: list[tuple[Point, float]] = []  # that differ from the original with scales, and by how much
        self.not_rebaked: set[str] = set()  # inputs at some of whose values no original is loaded to compare with

    def require_fed_by(self, promoted: Document) -> None:
        """Raises CannotRunError where the original's scales follow an input that the promoted model has not: they
        are unknown."""
        known = {value.name for value in promoted.proto.graph.input}
        for name in self._feeds:
            if name not in known:
                reason = f"its scales follow {name!r}"
                raise CannotRunError(reason, reason=reason)

    def couplings(self, promoted: Document, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """The verdict for every promoted site."""
        self._probed = None  # before the next one is opened: each maps or holds all weights
        self._inputs = inputs
        session = self._open_promoted(promoted)
        self._probed = (promoted, session)
        prober = Prober(promoted.proto, session.run, self._feeds, inputs, self._fits, self.engine.progress)
        couplings, self._ran = prober.probe(), prober.ran
        return couplings

    def compare(self, promoted: Document, inputs: Sequence[PromotedInput]) -> None:
        """Make all comparisons that the proof consists of, those with optimisation disabled first.

        Raises DifferenceError with what differs, CannotLoadError, CannotRunError, BrokenOffError.
        """
        self._inputs = inputs
        old = at_old_values(inputs)
        self._as_exported = old.baked
        plain = self._promoted(promoted)
        points = [self._point(plain, old, plain.at_old), *self._tried(plain)]
        self.engine.progress.expect(2 * (len(points) - 1 - _USUAL_POINTS))
        parts = OriginalInParts(self._original, plain, self._feeds, self._open)
        del plain  # before the next one is opened: each maps or holds all weights
        self._compare_at(points, parts, optimized=False)
        if not self._runs_optimised():
            return
        session = self._open(promoted, optimized=True)
        self.engine.notes.extend(session.notes)
        for point in points:
            point.found = self._result(session, point.scales, point.feeds)
        del session
        self._compare_at(points, parts, optimized=True)
        self._note_sizes(promoted)

    def _compare_at(self, points: Sequence[Point], parts: OriginalInParts, *, optimized: bool) -> None:
        """Every point at one level, the one at the old values first."""
        for point in points:
            expected = self._outputs[optimized] if point is points[0] else self._at(point, parts, optimized)
            self._against(point, expected, optimized)

    def _runs_optimised(self) -> bool:
        """Whether the original runs at the default level; if it does not, a note says so. Sets the bounds for that
        level."""
        if True in self._outputs:
            return True
        try:
            optimized = self._open(self._original, optimized=True).run(self._feeds)
        except (CannotLoadError, CannotRunError) as error:
            self.engine.notes.append(only_without_optimisation("the original", error.reason))
            return False
        plain = self._outputs[False]
        level = compare(plain, optimized)
        self._bounds = default_level_bounds(plain, optimized, level)
        # An original with stale shapes contradicts itself when optimised; then what it really computes counts.
        self._outputs[True] = plain if level.max_rel_diff == np.inf else optimized
        return True

    def _result(self, session: Session | PromotedSession, scales: ScalePoint, feeds: Feeds) -> Outputs | CannotRunError:
        too_large = self._budget.reject_reason(self._feeds, scales)
        if too_large is not None:
            return CannotRunError("verification.not-run", label=session.label, why=too_large, reason=too_large)
        try:
            return session.run(feeds)
        except CannotRunError as error:
            return error
        except OutOfMemoryError as error:
            return _not_run(error)

    def _point(self, session: PromotedSession, scales: ScalePoint, known: Outputs | None = None) -> Point:
        """What the promoted model makes at a scale point without optimisation, unless that is `known`."""
        feeds = {**self._feeds, **scales.feeds(self._inputs)}
        values = {source.name: tuple(value) for source, value in scales.values}
        operands = {**self._as_exported, **scales.baked}
        found = self._result(session, scales, feeds) if known is None else known
        seen = session.seen if known is None and isinstance(found, Mapping) else None
        self._shapes = self._shapes or shapes_of_feeds(feeds)  # the same for all scales
        return Point(scales, feeds, self._shapes, values, operands, found, seen)

    def _promoted(self, promoted: Document) -> PromotedSession:
        """The promoted model opened without optimisation: the session that probed it, if it did."""
        probed, self._probed = self._probed, None
        if probed is not None and probed[0] is promoted:
            return probed[1]
        del probed
        return self._open_promoted(promoted)

    def _open_promoted(self, promoted: Document) -> PromotedSession:
        open_ = partial(self._open, promoted, optimized=False)
        prepared, nodes = self._prepared_of(promoted), self._nodes(promoted)
        if nodes is None:
            return PromotedSession(open_(prepared), prepared.outputs)
        return opened(open_, self._prepared_of(self._original), prepared, nodes, self._inputs, self._feeds)

    def _nodes(self, promoted: Document) -> PromotedNodes | None:
        """The changed nodes, where they can be compared alone, and there is room to keep what they read and make."""
        if self._is_alone or len(self._inputs) > MOST_ALONE or self.engine.conditions.at:
            return None
        nodes = promoted_nodes(self._original, promoted, self._inputs)
        kept = 0 if nodes is None else 1 + len(nodes.data) + len(nodes.made)
        usual = self._usual() if kept else ()
        return nodes if all(self._budget.has_room(self._feeds, scales, kept) for scales in usual) else None

    def _reference(self, operands: Mapping[Key, Operand]) -> PreparedModel:
        """The original that holds these scales or sizes as constants."""
        return self._budget.references.prepared(self._prepared_of(self._original), operands)

    def _at(self, point: Point, parts: OriginalInParts, optimized: bool) -> Expected:
        """What the original makes with the operands of a point: in parts where that tells, else as a whole."""

        def reference() -> PreparedModel:
            if point.reference is None:  # each is opened at two levels
                point.reference = self._reference(point.operands)
            return point.reference

        known = parts.makes(point, reference, optimized)
        return self._expected(reference(), optimized) if known is None else known

    def _expected(self, reference: PreparedModel, optimized: bool) -> Expected:
        """What a reference model makes, or why it makes nothing.

        Where constants make it contradict itself when optimised, what its nodes compute counts.
        """
        if optimized:
            try:
                return self._open(self._original, reference, optimized=True).run(self._feeds)
            except (CannotLoadError, CannotRunError):
                pass
        try:
            return self._open(self._original, reference, optimized=False).run(self._feeds)
        except (CannotLoadError, CannotRunError) as error:
            return error
        except OutOfMemoryError as error:
            return _not_run(error)

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

    def _fits(self, scales: ScalePoint) -> bool:
        return self._budget.reject_reason(self._feeds, scales) is None

    def _prepared_of(self, document: Document) -> PreparedModel:
        known = self._prepared.get(id(document))  # each is opened at two levels
        if known is None:  # kept with the document, so that no other one gets its id
            known = self._prepared[id(document)] = document, prepare_for_ort(document)
        return known[1]

    def _open(self, document: Document, prepared: PreparedModel | None = None, *, optimized: bool) -> Session:
        return self.engine.open(document, prepared=prepared or self._prepared_of(document), optimized=optimized)

    def _tried(self, session: PromotedSession) -> list[Point]:
        """Other values at which the model runs, every input moved if possible, and those asked for in any case."""
        inputs, asked = self._inputs, asked_points(self._inputs, self.engine.conditions.at)
        many = len(inputs) > MOST_ALONE and not self._is_alone
        usual = most_inclusive(self._ran, inputs) if many else self._usual()
        if many:
            moved = {source.name for scales in usual for source, _ in scales.values}
            if len(moved) < len(inputs):
                kept = counted(len(inputs) - len(moved), "input")
                self.engine.notes.append(Diagnostic("verification.inputs-not-moved", kept=kept, of=len(inputs)))
        return [point for scales in (*asked, *usual) for point in self._workable(session, scales)]

    def _usual(self) -> list[ScalePoint]:
        usual = steps_of([(source, other_values(source)) for source in self._inputs])
        if all(map(self._fits, usual)):  # all at once, so that each does by itself: what is tried first is a step up
            return usual
        return steps_of([(source, other_values(source, self._fits)) for source in self._inputs])

    def _workable(self, session: PromotedSession, scales: ScalePoint) -> list[Point]:
        """The scale point if the model runs at it, else its parts that do: inputs that are only free one at a time.

        Nodes alone that do not run together are compared in smaller groups.
        """
        whole = self._point(session, scales)
        if whole.runs or (self._is_alone and len(self._inputs) > 1):
            return [whole]
        parts = scales.split() if len(scales.values) <= MOST_ALONE else ()
        found = [point for part in parts if (point := self._point(session, part)).runs]
        return found or ([whole] if scales.asked else [])

    def _against(self, point: Point, expected: Expected, optimized: bool) -> None:
        found, at = point.found, point.at
        level = Diagnostic("verification.default-level" if optimized else "verification.optimisation-disabled")
        self.engine.progress.done(f"comparing at {at}")
        if isinstance(found, CannotRunError):
            where = f" at {found.node!r}" if found.node else ""
            raise DifferenceError(
                "verification.promoted-does-not-run", at=at, level=level, where=where, why=found.reason
            )
        if isinstance(expected, CannotLoadError):
            # Constants let shape inference refuse what is never run: a body that is passed over, say.
            self.not_rebaked.update(point.values)
            self.engine.notes.append(Diagnostic("verification.original-does-not-load", at=at, why=expected.reason))
            return
        if isinstance(expected, CannotRunError):
            raise DifferenceError("verification.original-does-not-run", at=at, level=level, why=expected.reason)
        reference, from_scales = Reference.SCALES, None
        bounds = self._bounds if optimized else None
        verdict = self._judged(expected, found, bounds)
        if not verdict.same and (by_sizes := point.scales.by_sizes(self._inputs)):
            sized = self._expected(self._reference({**point.operands, **by_sizes}), optimized)
            if not isinstance(sized, (CannotRunError, CannotLoadError)):
                reference, from_scales = Reference.SIZES, verdict.comparison.max_abs_diff
                self._by_sizes.append((point, from_scales))
                verdict = self._judged(sized, found, bounds)
        comparison = verdict.comparison
        if comparison.bitwise and not (optimized or self._is_alone) and reference is Reference.SCALES:
            point.agree()  # a session of few nodes costs no more than this
        found_apart = comparison.bitwise, comparison.max_abs_diff, comparison.max_rel_diff
        run = Run(point.values, point.shapes, optimized, *found_apart, verdict.bound, reference, from_scales)
        self.engine.runs.append(run)
        why, held = comparison.reason, reference.value
        if not verdict.same:
            raise DifferenceError("verification.promotion-differs", at=at, level=level, held=held, why=why)
        if verdict.last_bits:
            # onnxruntime computes half precision between casts whose places depend on the neighbours
            self.engine.notes.append(Diagnostic("verification.last-bits-differ", at=at, why=why))

    def _judged(self, expected: Outputs, found: Outputs, bounds: Mapping[str, Bound] | None) -> _Judged:
        """Whether the outputs are the same: bit for bit without `bounds`, else within them; or but for the last bits of
        half precision."""
        comparison = compare(expected, found)
        same = comparison.bitwise if bounds is None else within(comparison, bounds)
        last_bits = False
        if not same:
            wider = relative_bounds(expected, self._last_bits())
            wider = {name: max(bound, (bounds or wider)[name], key=_relative) for name, bound in wider.items()}
            differing = (difference.output for difference in comparison.differences if not difference.bitwise)
            same = last_bits = within(comparison, wider) and all(wider[name].relative for name in differing)
            bounds = wider if same else bounds
        return _Judged(comparison, same, last_bits, max(map(_relative, (bounds or {}).values()), default=0.0))

    def _last_bits(self) -> float:
        """How far outputs may differ for what is resized in half precision before them."""
        view = ModelView(self._original)
        scopes = view.scopes
        sites = (driven for source in self._inputs for driven in source.sites)
        homes = (scopes.definition(scopes.by_path.get(driven.scope, scopes.main), driven.input) for driven in sites)
        return half_units(view.shapes.elem_type(home.key) for home in homes if home is not None)


@dataclass(frozen=True)
class _Judged:
    """A comparison, whether it passes, whether only as half precision may differ, and the bound that it passes by."""

    comparison: Comparison
    same: bool
    last_bits: bool
    bound: float


def _relative(bound: Bound) -> float:
    return bound.relative


def _not_run(error: OutOfMemoryError) -> CannotRunError:
    """The result of a scale point for which the memory is too small; other points may fit."""
    return CannotRunError(error.diagnostic, reason=str(error))
