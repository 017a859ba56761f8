"""The proof of a promotion: the whole model where onnxruntime runs it, else each changed node with its operands alone.

What the comparisons are is `bench.py`'s; here is what follows from them, and what a pass does not cover is said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.promotion import Coupling, PromotedInput
from resizefix.verification.bench import Bench
from resizefix.verification.conditions import Conditions
from resizefix.verification.limits import BrokenOffError, OutOfMemoryError
from resizefix.verification.runtime import CannotLoadError, CannotRunError
from resizefix.verification.trials import asked_trials
from resizefix.verification.twin import may_be_passed_over, neighbourhoods
from resizefix.verification.verification import Run, Status, Verification


class Prover:
    """Proves promotions of one original; runs it whole where that is possible, else around each changed node."""

    def __init__(self, original: Document, conditions: Conditions) -> None:
        self._original = original
        self._conditions = conditions
        self._bench: Bench | None = None
        self._why_local: str | None = None
        try:
            self._bench = Bench(original, conditions)
        except (CannotLoadError, CannotRunError, OutOfMemoryError) as error:
            self._why_local = str(error)

    def couplings(self, promoted: Document, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """Which of the sites are free; empty where the model cannot be run as a whole."""
        return {} if self._bench is None else self._bench.couplings(promoted, inputs)

    def prove(
        self, promoted: Document, inputs: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]
    ) -> Verification:
        """Compare the promoted model with the original at the old values and at others.

        Raises UsageError for a scale to try (`--at`) that an input cannot hold.
        """
        asked_trials(inputs, self._conditions.at)
        verdicts = tuple(coupling.values())
        if self._bench is not None:
            runs, failure = _collect(self._bench, promoted, inputs)
            notes = self._bench.notes
            if failure is None:
                more, failure, notes_of_bodies = self._alone(promoted, inputs, self._bench.not_rebaked)
                runs, notes = (*runs, *more), [*notes, *notes_of_bodies]
        else:
            runs, failure, notes = self._locally(promoted, inputs)
            why = f"only around each changed node, because the model as a whole was not compared: {self._why_local}"
            notes = [why, *notes]
        if failure is not None:
            return Verification(Status.FAILED, failure, runs, verdicts)
        return Verification(Status.PASSED, "; ".join(dict.fromkeys(notes)) or None, runs, verdicts)

    def _alone(
        self, promoted: Document, inputs: Sequence[PromotedInput], not_rebaked: Collection[str]
    ) -> tuple[tuple[Run, ...], str | None, list[str]]:
        """Around each node that the whole model may hide: one in a body, which need not have run when the model did,
        and one whose scales, as constants, keep the original from being loaded."""
        runs: list[Run] = []
        notes: list[str] = []
        conditions = replace(self._conditions, shapes={})
        for source in inputs:
            for driven in source.sites:
                if not may_be_passed_over(driven.key) and source.name not in not_rebaked:
                    continue
                alone = replace(source, sites=(driven,))
                try:
                    bench, cut = self._around(promoted, {driven.key: driven.input}, conditions)
                    bench.require_fed_by(cut)
                    more, failure = _collect_alone(bench, cut, (alone,))
                except (CannotLoadError, CannotRunError, BrokenOffError) as error:
                    if source.name in not_rebaked:
                        failure = f"{driven.label!r} was compared at no other scales, as a whole or alone: {error}"
                        return tuple(runs), failure, notes
                    notes.append(
                        f"{driven.label!r} is proven only if the body it stands in was run; "
                        f"it cannot be run alone: {error}"
                    )
                    continue
                runs.extend(more)
                if failure is not None:
                    return tuple(runs), f"around {driven.label!r}: {failure}", notes
        return tuple(runs), None, notes

    def _locally(
        self, promoted: Document, inputs: Sequence[PromotedInput]
    ) -> tuple[tuple[Run, ...], str | None, list[str]]:
        runs: list[Run] = []
        notes: list[str] = []
        conditions = replace(self._conditions, shapes={})
        for source in inputs:
            data = {driven.key: driven.input for driven in source.sites}
            if len({output for _, output in data}) < len(data):
                failure: str | None = (
                    f"{source.name!r} drives nodes in different bodies that write the same name, and onnxruntime does "
                    f"not run the whole model ({self._why_local}), so nothing can be proven. Promote them one by one"
                )
                return tuple(runs), failure, notes
            try:
                bench, cut = self._around(promoted, data, conditions)
                bench.require_fed_by(cut)
            except (CannotLoadError, CannotRunError) as error:
                failure = (
                    f"onnxruntime can run neither the model nor {source.sites[0].label!r} alone ({error}), so nothing "
                    f"can be proven; the model as a whole: {self._why_local}. With --no-verify it is written unproven"
                )
            except BrokenOffError as error:
                failure = str(error)
            else:
                more, failure = _collect_alone(bench, cut, (source,))
                runs.extend(more)
                notes.extend(bench.notes)
            if failure is not None:
                return tuple(runs), failure, notes
        return tuple(runs), None, notes

    def _around(self, promoted: Document, data: Mapping[Key, str], conditions: Conditions) -> tuple[Bench, Document]:
        """The original's nodes alone as a bench, and the promoted ones; at small sizes where theirs are too large."""
        try:
            return self._pair(promoted, data, conditions, open_sizes=False)
        except CannotRunError:
            return self._pair(promoted, data, conditions, open_sizes=True)

    def _pair(
        self, promoted: Document, data: Mapping[Key, str], conditions: Conditions, *, open_sizes: bool
    ) -> tuple[Bench, Document]:
        before, after = neighbourhoods(self._original, promoted, data, open_sizes=open_sizes)
        return Bench(before, conditions), after


def _collect(bench: Bench, promoted: Document, inputs: Sequence[PromotedInput]) -> tuple[tuple[Run, ...], str | None]:
    """All runs, and what differs. Where time was up they suffice if another scale was compared too."""
    runs: list[Run] = []
    try:
        for item in bench.runs(promoted, inputs):
            if isinstance(item, str):
                return tuple(runs), item
            runs.append(item)
    except (CannotLoadError, CannotRunError) as error:
        return tuple(runs), str(error)
    except BrokenOffError as error:
        if len(runs) < 2:
            return tuple(runs), f"{error}, before the model was compared at another scale"
        compared = "the default optimisation level" if not runs[-1].optimized else "the rest of the scales"
        bench.notes.append(f"{error}: not compared were {compared}")
    return tuple(runs), None


def _collect_alone(
    bench: Bench, promoted: Document, inputs: Sequence[PromotedInput]
) -> tuple[tuple[Run, ...], str | None]:
    """All runs around a node, and what differs; there is nothing smaller to compare instead of what does not load."""
    runs, failure = _collect(bench, promoted, inputs)
    return runs, failure or (bench.notes[-1] if bench.not_rebaked else None)
