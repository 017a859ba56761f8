"""The proof of a promotion: the whole model where onnxruntime runs it, else each changed node with its operands alone.

What is compared stands in `promotion_comparison.py`; here is what follows from it, and what a pass does not cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import dims_of
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Coupling, PromotedInput
from resizefix.runtimes.limits import BrokenOffError, OutOfMemoryError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.engine import DifferenceError, Engine
from resizefix.verification.promotion_comparison import PromotionComparison
from resizefix.verification.scale_points import asked_points, at_old_values, moved_points
from resizefix.verification.upstream import Dependence
from resizefix.verification.verification import Conditions, Progress, Verification, VerificationStatus

if TYPE_CHECKING:
    from resizefix.verification.extraction import Extraction

_MOST_TOGETHER = 256  # nodes that are compared in one model: more cost no less each
_MOST_OF_UNKNOWN_SIZE = 32
_MOST_ELEMENTS = 2**22  # of all that they make
_LARGE = 2**14  # elements


class Prover:
    """Proves promotions of one original; runs it whole where that is possible, else around each changed node."""

    def __init__(self, original: ModelView, conditions: Conditions) -> None:
        self._original = original
        self._conditions = conditions
        self._engine = Engine(conditions)
        self._comparison: PromotionComparison | None = None
        self._why_local: str | None = None
        try:
            self._comparison = PromotionComparison(original.document, self._engine)
        except (CannotLoadError, CannotRunError, OutOfMemoryError) as error:
            self._why_local = str(error)

    def couplings(
        self, promoted: ModelView, inputs: Sequence[PromotedInput], moving: Sequence[PromotedInput] | None = None
    ) -> dict[Key, Coupling]:
        """Which of the sites of the inputs that are `moving` are free; empty where the model cannot be run as a
        whole."""
        return {} if self._comparison is None else self._comparison.couplings(promoted.document, inputs, moving)

    def prove(
        self, promoted: ModelView, inputs: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]
    ) -> Verification:
        """Compare the promoted model with the original at the old values and at others.

        Raises UsageError for a scale to try (`--at`) that an input cannot hold.
        """
        asked_points(inputs, self._conditions.at)
        engine = self._engine
        if self._comparison is not None:
            failure = _difference(self._comparison, promoted.document, inputs, coupling)
            failure = failure or self._hidden(promoted, inputs, self._comparison)
        else:
            engine.notes.append(Diagnostic("verification.only-around", why=self._why_local))
            failure = self._locally(promoted, inputs, engine)
            self._hold_shapes(promoted, inputs, engine)
        failure = failure or _other_input(promoted, inputs)
        return replace(engine.verdict(failure), coupling=tuple(coupling.values()))

    def _hidden(
        self, promoted: ModelView, inputs: Sequence[PromotedInput], comparison: PromotionComparison
    ) -> str | None:
        """What differs around a node that the whole model may hide: one in a body that did not run when the model did,
        one whose result reaches no output, and one whose scales, as constants, keep the original from being loaded."""
        engine, not_rebaked = comparison.engine, comparison.not_rebaked
        keys = [driven.key for source in inputs for driven in source.sites]
        without_effect = Dependence(promoted.model).without_effect(keys)
        hidden = [
            source._replace(sites=(driven,))
            for source in inputs
            for driven in source.sites
            if driven.scope in comparison.passed_over or source.name in not_rebaked or driven.key in without_effect
        ]
        for (source, *_), local in self._around(promoted, hidden):
            driven, why = source.sites[0], local.reason
            is_skipped = local.status is VerificationStatus.SKIPPED
            if is_skipped and source.name in not_rebaked:
                return Diagnostic("verification.at-no-other-scales", label=driven.label, why=why)
            if is_skipped:
                is_seen = driven.key not in without_effect
                code = "verification.if-its-body-ran" if is_seen else "verification.reaches-no-output"
                engine.notes.append(Diagnostic(code, label=driven.label, why=why))
            engine.runs.extend(local.runs)
            if local.speaks_against:
                return Diagnostic("verification.around", key=driven.label, why=why)
        return None

    def _locally(self, promoted: ModelView, inputs: Sequence[PromotedInput], engine: Engine) -> str | None:
        """What differs around a node, where the model does not run as a whole."""
        for source in inputs:
            if len({driven.output for driven in source.sites}) < len(source.sites):
                return Diagnostic("verification.same-name-in-bodies", input=source.name, why=self._why_local)
        for (source, *_), local in self._around(promoted, inputs):
            engine.runs.extend(local.runs)
            if local.status is VerificationStatus.SKIPPED:
                reasons = {"why": local.reason, "why_local": self._why_local}
                return Diagnostic("verification.neither-whole-nor-alone", label=source.sites[0].label, **reasons)
            if local.speaks_against:
                return local.reason
            engine.notes += [] if local.reason is None else [local.reason]
        return None

    def _hold_shapes(self, promoted: ModelView, inputs: Sequence[PromotedInput], engine: Engine) -> None:
        """The promoted model as a whole, where that runs and the original does not: its stored shapes are held against
        the run, and those behind the sites are nobody's but the promotion's."""
        sites = frozenset(driven.key for source in inputs for driven in source.sites)
        engine.hold(self._original.document, promoted.document, sites)
        fitted = engine.look_at(promoted.document, at_old_values(inputs).feeds(inputs))
        if fitted is None:
            return
        for point in moved_points(inputs):
            with suppress(CannotRunError, BrokenOffError):
                engine.run(promoted.document, {**fitted.feeds, **point.feeds(inputs)})

    def _around(self, promoted: ModelView, inputs: Sequence[PromotedInput]) -> Iterator[_Local]:
        """What comparing around the nodes of each input comes to. Nodes that have nothing to do with each other are
        compared in one model."""
        if not inputs:
            return
        from resizefix.verification.extraction import Extraction  # most models run as a whole

        extraction, groups = Extraction(self._original, promoted), _independent(inputs)
        progress = Progress(self._conditions.tell, total=len(groups))
        conditions = replace(self._conditions, tell=None)
        for group in groups:
            yield from self._settled(extraction, group, conditions)
            progress.done(Diagnostic("verification.comparing-alone"))

    def _settled(
        self, extraction: Extraction, group: Sequence[PromotedInput], conditions: Conditions
    ) -> Iterator[_Local]:
        """What comparing around the nodes of a group comes to, up to the first that differs: all in one model; where
        that does not run or differs, in two of half as many."""
        pending = [group]
        while pending:
            group = pending.pop()
            local = self._compared(extraction, group, conditions)
            if len(group) > 1 and not local.passed:
                pending += [group[len(group) // 2 :], group[: len(group) // 2]]
                continue
            yield group, local
            if local.speaks_against:
                return

    def _compared(
        self, extraction: Extraction, inputs: Sequence[PromotedInput], conditions: Conditions
    ) -> Verification:
        """At their own sizes; at small ones before where theirs are large beside a run of the whole model, and after
        where one node does not run at them."""

        def proof(before: Document, after: Document, engine: Engine) -> Verification:
            comparison = PromotionComparison(before, engine, inputs)
            comparison.require_fed_by(after)
            failure = _difference(comparison, after, inputs)
            # There is nothing smaller to compare instead of what does not load.
            return engine.verdict(failure or (engine.notes[-1] if comparison.not_rebaked else None))

        from resizefix.verification.extraction import compare_alone  # as above

        data = {driven.key: driven.input for source in inputs for driven in source.sites}
        is_small = self._comparison is not None and any(map(_is_large, inputs))
        for open_sizes in (*[True] * is_small, False, *[True] * (len(inputs) == 1)):
            local = compare_alone(extraction, data, conditions, proof, open_sizes=open_sizes)
            if local.passed or (local.speaks_against and not open_sizes):
                break
        return local


def _other_input(promoted: ModelView, inputs: Sequence[PromotedInput]) -> str | None:
    """A new input whose stored shape is not that of its value."""
    stored = {value.name: dims_of(value.type) for value in promoted.model.graph.input}
    for source in inputs:
        dims, shape = stored.get(source.name), (len(source.value),)
        if dims != shape:
            how = Diagnostic("verification.stored-against-run", stored=list(dims or ()), shape=list(shape))
            return Diagnostic("verification.stored-shape", name=source.name, how=how)
    return None


_Local = tuple[Sequence[PromotedInput], Verification]
"""What comparing the nodes of some inputs alone came to; skipped: they cannot be run."""


def _independent(inputs: Sequence[PromotedInput]) -> list[list[PromotedInput]]:
    """The inputs in groups that are probed one by one: in each, no node resizes what another one makes, and all stand
    in one scope, so that a name is one tensor."""
    groups: list[list[PromotedInput]] = []
    data: set[Key] = set()
    outputs: set[Key] = set()
    scopes: set[ScopePath] = set()
    weighs = 0.0
    for source in inputs:
        mine = {(driven.scope, driven.input) for driven in source.sites}
        outputs_of_source = {driven.key for driven in source.sites}
        weight = _weight(source)
        fits = groups and weighs + weight <= 1 and scopes == {path for path, _ in mine}
        if not fits or mine & outputs or outputs_of_source & data or outputs_of_source & outputs:
            groups.append([])
            data, outputs, weighs = set(), set(), 0.0
            scopes = {path for path, _ in mine}
        groups[-1].append(source)
        weighs += weight
        data |= mine
        outputs |= outputs_of_source
    return groups


def _weight(source: PromotedInput) -> float:
    """Which part of a group the nodes of an input are, by their number and by what they make."""
    elements = 0.0
    for driven in source.sites:
        sizes = driven.base if driven.kind is ExtentKind.SIZES else driven.resized_dims
        scales = driven.base if driven.kind is ExtentKind.SCALES else (1.0,) * len(sizes)
        resized = [size * scale for size, scale in zip(sizes, scales, strict=True) if size is not None]
        whole = len(resized) == len(sizes) and driven.axes is None
        elements += math.prod(resized) if whole else _MOST_ELEMENTS / _MOST_OF_UNKNOWN_SIZE
    return max(elements / _MOST_ELEMENTS, len(source.sites) / _MOST_TOGETHER)


def _is_large(source: PromotedInput) -> bool:
    """Whether comparing its nodes alone at their own size would cost much beside a run of the whole model."""
    return _weight(source) * _MOST_ELEMENTS > _LARGE


def _difference(
    comparison: PromotionComparison,
    promoted: Document,
    inputs: Sequence[PromotedInput],
    coupling: Mapping[Key, Coupling] | None = None,
) -> str | None:
    """What differs; None: nothing. Where time was up the runs suffice if another scale was compared too."""
    runs, notes = comparison.engine.runs, comparison.engine.notes
    try:
        comparison.compare(promoted, inputs, coupling)
    except DifferenceError as error:
        return error.diagnostic
    except (CannotLoadError, CannotRunError) as error:
        return str(error)
    except BrokenOffError as error:
        if len(runs) < 2:
            return Diagnostic("verification.broken-off-before-another-scale", why=error)
        left = "verification.rest-of-the-scales" if runs[-1].optimized else "verification.default-level"
        notes.append(Diagnostic("verification.broken-off", why=error, left=Diagnostic(left)))
    return None
