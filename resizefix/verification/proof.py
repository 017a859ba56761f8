"""The proof of a promotion: the whole model where onnxruntime runs it, else each changed node with its operands alone.

What is compared stands in `promotion_comparison.py`; here is what follows from it, and what a pass does not cover.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.errors import ResizefixError
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Coupling, PromotedInput
from resizefix.runtimes.limits import BrokenOffError, OutOfMemoryError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import ScopePath
from resizefix.verification.conditions import Conditions
from resizefix.verification.dependence import Dependence
from resizefix.verification.extraction import Extraction, may_be_passed_over
from resizefix.verification.promotion_comparison import PromotionComparison
from resizefix.verification.trials import asked_trials
from resizefix.verification.verification import Run, Status, Verification

_MOST_TOGETHER = 256  # nodes that are compared in one model: more cost no less each
_MOST_OF_UNKNOWN_SIZE = 32
_MOST_ELEMENTS = 2**22  # of all that they make


class Prover:
    """Proves promotions of one original; runs it whole where that is possible, else around each changed node."""

    def __init__(self, original: ModelView, conditions: Conditions) -> None:
        self._original = original
        self._conditions = conditions
        self._comparison: PromotionComparison | None = None
        self._why_local: str | None = None
        try:
            self._comparison = PromotionComparison(original.document, conditions)
        except (CannotLoadError, CannotRunError, OutOfMemoryError) as error:
            self._why_local = str(error)

    def couplings(self, promoted: ModelView, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """Which of the sites are free; empty where the model cannot be run as a whole."""
        return {} if self._comparison is None else self._comparison.couplings(promoted.document, inputs)

    def prove(
        self, promoted: ModelView, inputs: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]
    ) -> Verification:
        """Compare the promoted model with the original at the old values and at others.

        Raises UsageError for a scale to try (`--at`) that an input cannot hold.
        """
        asked_trials(inputs, self._conditions.at)
        verdicts = tuple(coupling.values())
        if self._comparison is not None:
            runs, failure = _collect(self._comparison, promoted.document, inputs)
            notes = self._comparison.notes
            if failure is None:
                more, failure, notes_of_bodies = self._alone(promoted, inputs, self._comparison.not_rebaked)
                runs, notes = (*runs, *more), [*notes, *notes_of_bodies]
        else:
            runs, failure, notes = self._locally(promoted, inputs)
            notes = [Diagnostic("verification.only-around", why=self._why_local), *notes]
        sessions = self._conditions.sessions.opened
        if failure is not None:
            return Verification(Status.FAILED, failure, runs, verdicts, sessions)
        return Verification(Status.PASSED, "; ".join(dict.fromkeys(notes)) or None, runs, verdicts, sessions)

    def _alone(
        self, promoted: ModelView, inputs: Sequence[PromotedInput], not_rebaked: Collection[str]
    ) -> tuple[tuple[Run, ...], str | None, list[str]]:
        """Around each node that the whole model may hide: one in a body, which need not have run when the model did,
        one whose result reaches no output, and one whose scales, as constants, keep the original from being loaded."""
        runs: list[Run] = []
        notes: list[str] = []
        keys = [driven.key for source in inputs for driven in source.sites]
        without_effect = Dependence(promoted.model).without_effect(keys)
        hidden = [
            replace(source, sites=(driven,))
            for source in inputs
            for driven in source.sites
            if may_be_passed_over(driven.key) or source.name in not_rebaked or driven.key in without_effect
        ]
        for local in self._around(promoted, hidden):
            label, name = local.inputs[0].sites[0].label, local.inputs[0].name
            if local.error is not None and name in not_rebaked:
                failure = Diagnostic("verification.at-no-other-scales", label=label, why=str(local.error))
                return tuple(runs), failure, notes
            if local.error is not None:
                is_seen = local.inputs[0].sites[0].key not in without_effect
                code = "verification.if-its-body-ran" if is_seen else "verification.reaches-no-output"
                notes.append(Diagnostic(code, label=label, why=str(local.error)))
                continue
            runs.extend(local.runs)
            if local.failure is not None:
                return tuple(runs), Diagnostic("verification.around", key=label, why=local.failure), notes
        return tuple(runs), None, notes

    def _locally(
        self, promoted: ModelView, inputs: Sequence[PromotedInput]
    ) -> tuple[tuple[Run, ...], str | None, list[str]]:
        runs: list[Run] = []
        notes: list[str] = []
        for source in inputs:
            if len({driven.output for driven in source.sites}) < len(source.sites):
                same = Diagnostic("verification.same-name-in-bodies", input=source.name, why=self._why_local)
                return tuple(runs), same, notes
        for local in self._around(promoted, inputs):
            failure = local.failure
            if isinstance(local.error, BrokenOffError):
                failure = str(local.error)
            elif local.error is not None:
                failure = Diagnostic(
                    "verification.neither-whole-nor-alone",
                    label=local.inputs[0].sites[0].label,
                    why=str(local.error),
                    why_local=self._why_local,
                )
            runs.extend(local.runs)
            notes.extend(local.notes)
            if failure is not None:
                return tuple(runs), failure, notes
        return tuple(runs), None, notes

    def _around(self, promoted: ModelView, inputs: Sequence[PromotedInput]) -> Iterator[_Local]:
        """The comparisons around the nodes of each input. Nodes that have nothing to do with each other are compared in
        one model; where that does not run or differs, in two of half as many."""
        extraction = Extraction(self._original, promoted)
        pending = _independent(inputs)[::-1]
        while pending:
            group = pending.pop()
            local = self._compared(extraction, group)
            if len(group) > 1 and (local.error or local.failure):
                pending += [group[len(group) // 2 :], group[: len(group) // 2]]
            else:
                yield local

    def _compared(self, extraction: Extraction, inputs: Sequence[PromotedInput]) -> _Local:
        data = {driven.key: driven.input for source in inputs for driven in source.sites}
        conditions = replace(self._conditions, shapes={})
        try:
            try:
                before, after = extraction.extract(data)
                comparison = PromotionComparison(before, conditions, inputs)
            except CannotRunError:
                if len(inputs) > 1:
                    raise
                before, after = extraction.extract(data, open_sizes=True)  # theirs may be too large
                comparison = PromotionComparison(before, conditions, inputs)
            comparison.require_fed_by(after)
        except (CannotLoadError, CannotRunError, BrokenOffError) as error:
            return _Local(inputs, error=error)
        runs, failure = _collect(comparison, after, inputs)
        # There is nothing smaller to compare instead of what does not load.
        failure = failure or (comparison.notes[-1] if comparison.not_rebaked else None)
        return _Local(inputs, runs, failure, comparison.notes)


@dataclass(frozen=True)
class _Local:
    """What comparing the nodes of some inputs alone came to; `error`: they cannot be run."""

    inputs: Sequence[PromotedInput]
    runs: tuple[Run, ...] = ()
    failure: str | None = None
    notes: Sequence[str] = ()
    error: ResizefixError | None = None


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
        made = {driven.key for driven in source.sites}
        weight = _weight(source)
        fits = groups and weighs + weight <= 1 and scopes == {path for path, _ in mine}
        if not fits or mine & outputs or made & data or made & outputs:
            groups.append([])
            data, outputs, weighs = set(), set(), 0.0
            scopes = {path for path, _ in mine}
        groups[-1].append(source)
        weighs += weight
        data |= mine
        outputs |= made
    return groups


def _weight(source: PromotedInput) -> float:
    """Which part of a group the nodes of an input are, by their number and by what they make."""
    made = 0.0
    for driven in source.sites:
        sizes = driven.base if driven.kind is ExtentKind.SIZES else driven.resized_dims
        scales = driven.base if driven.kind is ExtentKind.SCALES else (1.0,) * len(sizes)
        known = [size * scale for size, scale in zip(sizes, scales, strict=True) if size is not None]
        whole = len(known) == len(sizes) and driven.axes is None
        made += math.prod(known) if whole else _MOST_ELEMENTS / _MOST_OF_UNKNOWN_SIZE
    return max(made / _MOST_ELEMENTS, len(source.sites) / _MOST_TOGETHER)


def _collect(
    comparison: PromotionComparison, promoted: Document, inputs: Sequence[PromotedInput]
) -> tuple[tuple[Run, ...], str | None]:
    """All runs, and what differs. Where time was up they suffice if another scale was compared too."""
    runs: list[Run] = []
    try:
        for item in comparison.runs(promoted, inputs):
            if isinstance(item, str):
                return tuple(runs), item
            runs.append(item)
    except (CannotLoadError, CannotRunError) as error:
        return tuple(runs), str(error)
    except BrokenOffError as error:
        if len(runs) < 2:
            return tuple(runs), f"{error}, before the model was compared at another scale"
        compared = "the default optimisation level" if not runs[-1].optimized else "the rest of the scales"
        comparison.notes.append(f"{error}: not compared were {compared}")
    return tuple(runs), None
