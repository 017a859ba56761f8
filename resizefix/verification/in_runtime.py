"""A model in another runtime, compared with onnxruntime without optimisation: its outputs, and every resize in it.

What a runtime computes is right within a part of the tensor's largest value: kernels add up in other orders. Types are
not compared: OpenCV and MNN have few, and give whole numbers as others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.runtimes.answers import Ending, LiveUnavailable, RuntimeAnswer
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.runtimes.runtime import Runtime
from resizefix.verification.bounds import Tolerance
from resizefix.verification.compare import SIDES, Comparison, Difference, Sides, compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import run_of
from resizefix.verification.fitting import Fitted
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names
from resizefix.verification.verification import Run, SiteDrift, Status, Verification
from resizefix.verification.views import View, views_of
from resizefix.verification.watched import ResizePlace, fed, watched_runs, watched_tensors, with_outputs

RIGHT_WITHIN = 1e-4
"""The largest difference from onnxruntime, as a part of a tensor's largest value, that is called right."""
_RIGHT = Tolerance(relative=RIGHT_WITHIN)


def verify_in_runtime(
    before: Document,
    after: Document,
    runtime: Runtime,
    places: Sequence[ResizePlace],
    conditions: Conditions,
    tolerance: Tolerance | None = None,
    feeding: Feeding | None = None,
) -> Verification | LiveUnavailable:
    """Whether `after` computes in the runtime what `before` does in onnxruntime; they may be one document.

    `places` are the resizes of `before`; those in the main graph whose tensors `after` has too are compared one by one.
    A `tolerance` of absolute or relative differences takes the place of `RIGHT_WITHIN`.
    Inputs and outputs go together as in `verify`. A model that one of the two does not run fails with that as the
    reason. Raises UsageError for names, shapes and feeds that do not fit.
    """
    feeding = feeding or Feeding()
    own = {name for node in after.proto.graph.node for name in node.output}
    tensors = [name for name in watched_tensors(before, places) if name in own]
    try:
        inputs, hints = common_inputs(before, after, feeding)
        renamed = output_names(before, after)
        fitted = watched_runs(before, tensors, inputs, hints, conditions, feeding.runs)
    except (NotComparableError, CannotLoadError, CannotRunError, BrokenOffError) as error:
        return Verification(Status.FAILED, str(error), sessions=conditions.sessions.opened)
    tolerance = tolerance if tolerance and (tolerance.atol or tolerance.rtol) else _RIGHT
    pair = _Pair(before, after, runtime, renamed, fitted, tolerance, feeding)
    return pair.verification(places, tensors)


@dataclass(frozen=True)
class _Pair:
    before: Document
    after: Document
    runtime: Runtime
    renamed: Mapping[str, str]
    fitted: Sequence[Fitted]
    tolerance: Tolerance
    feeding: Feeding

    def verification(self, places: Sequence[ResizePlace], tensors: Sequence[str]) -> Verification | LiveUnavailable:
        whole = self._run(())
        if isinstance(whole, LiveUnavailable):
            return whole
        # The file as it is says whether it runs, and what it gives: more outputs keep nodes from being fused.
        inside = self._run(tensors) if tensors else whole
        drifts: tuple[SiteDrift, ...] = ()
        if isinstance(inside, RuntimeAnswer) and inside.results:
            drifts = self._drifts(places, inside.results)
        if whole.ending is not Ending.RAN:
            reason = Diagnostic(
                "verification.runtime-did-not-run-model", runtime=whole.runtime, ending=whole.ending, why=whole.message
            )
            return Verification(Status.FAILED, reason, runtime=whole.runtime, sites=drifts)
        done, wrong, views = self._compared(whole)
        if wrong is None and any(drift.differs for drift in drifts):
            wrong = Diagnostic("verification.outputs-agree-resizes-differ")
        if wrong is None:
            note = None if drifts or not tensors else self._not_looked_at(inside)
            return Verification(Status.PASSED, note, done, runtime=whole.runtime, sites=drifts, views=views)
        why = _reason(wrong, drifts, whole.runtime, bool(tensors))
        return Verification(Status.FAILED, why, done, runtime=whole.runtime, sites=drifts, views=views)

    def _run(self, tensors: Sequence[str]) -> RuntimeAnswer | LiveUnavailable:
        results = self.fitted[0].outputs
        model = with_outputs(self.after, {name: results[name] for name in tensors}) if tensors else self.after
        path = self.runtime.folder / "model.onnx"
        model.save(path, overwrite=True)
        names = [value.name for value in model.proto.graph.output]
        return self.runtime.run(path, [fed(model, one.feeds) for one in self.fitted], names)

    def _compared(self, whole: RuntimeAnswer) -> tuple[tuple[Run, ...], str | None, tuple[View, ...]]:
        done: list[Run] = []
        wrong: str | None = None
        views: tuple[View, ...] = ()
        sides = Sides("in onnxruntime", f"in {whole.runtime}")
        for one, found in zip(self.fitted, whole.results, strict=True):
            before = {name: one.outputs[name] for name in self.renamed.values()}
            after = {self.renamed[name]: value for name, value in found.items()}
            if self.feeding.files and not done:
                views = views_of(", ".join(self.feeding.files.values()), before, after)
            comparison = compare_values(before, after, sides)
            done.append(run_of(comparison, one.feeds, bound=RIGHT_WITHIN, fed=self.feeding))
            if wrong is None and not all(
                is_right(difference, before[difference.output], after[difference.output], self.tolerance)
                for difference in comparison.differences
            ):
                wrong = comparison.reason
        return tuple(done), wrong, views

    def _drifts(self, places: Sequence[ResizePlace], results: Sequence[Mapping[str, Value]]) -> tuple[SiteDrift, ...]:
        drifts = [drift for place in places if (drift := self._drift(place, results)) is not None]
        order = {name: at for at, node in enumerate(self.before.proto.graph.node) for name in node.output}
        drifts.sort(key=lambda drift: order.get(drift.output, -1))
        begun = next((at for at, drift in enumerate(drifts) if drift.differs and drift.first), None)
        return tuple(replace(drift, first=at == begun) for at, drift in enumerate(drifts))

    def _drift(self, place: ResizePlace, results: Sequence[Mapping[str, Value]]) -> SiteDrift | None:
        """`first` says whether it may be: its own input agrees."""
        output = place.key[1]
        if place.key[0].steps or output not in results[0]:
            return None
        made, right = self._differences(output, results)
        given, entered = self._differences(place.data, results)
        worst = max(made, key=lambda difference: difference.max_rel_diff)
        of_input = max((difference.max_rel_diff for difference in given), default=0.0)
        return SiteDrift(
            place.label, output, worst.max_abs_diff, worst.max_rel_diff, of_input, not right, first=entered
        )

    def _differences(self, name: str, results: Sequence[Mapping[str, Value]]) -> tuple[list[Difference], bool]:
        """How a tensor differs on each feed on which the runtime gave it, and whether it is right on all."""
        pairs = zip(self.fitted, results, strict=True)
        made = [judged(name, one.outputs[name], found[name], self.tolerance) for one, found in pairs if name in found]
        return [difference for difference, _ in made], all(right for _, right in made)

    def _not_looked_at(self, inside: RuntimeAnswer | LiveUnavailable) -> str:
        why = inside.reason if isinstance(inside, LiveUnavailable) else inside.message
        return Diagnostic("verification.resizes-not-looked-at", why=why)


def _reason(wrong: str, drifts: Sequence[SiteDrift], runtime: str, looked: bool) -> str:
    first = next((drift for drift in drifts if drift.first), None)
    if first is not None:
        return Diagnostic("verification.first-resize-that-differs", runtime=runtime, node=first.node, why=wrong)
    if not drifts:
        if looked:
            return Diagnostic("verification.resizes-could-not-be-compared", runtime=runtime, why=wrong)
        return Diagnostic("verification.runtime-differs", runtime=runtime, why=wrong)
    return Diagnostic("verification.no-resize-begins-difference", runtime=runtime, why=wrong)


def judged(name: str, before: Value, after: Value, tolerance: Tolerance = _RIGHT) -> tuple[Difference, bool]:
    """How one tensor differs, and whether it is right."""
    (difference,) = compare_values({name: before}, {name: after}).differences
    return difference, is_right(difference, before, after, tolerance)


def is_right(difference: Difference, before: Value, after: Value, tolerance: Tolerance = _RIGHT) -> bool:
    """Whether a tensor that differs so is right."""
    pair = {difference.output: before}, {difference.output: after}
    return difference.bitwise or tolerance.allows(*pair, Comparison((difference,)))


def compare_values(before: Mapping[str, Value], after: Mapping[str, Value], sides: Sides = SIDES) -> Comparison:
    """`compare`, with the numbers of `after` in the types of `before`: 1.0 for 1 is no difference."""
    return compare(before, {name: _as_type(before.get(name), value) for name, value in after.items()}, sides)


def _as_type(before: Value, after: Value) -> Value:
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray) or before.dtype == after.dtype:
        return after
    with np.errstate(all="ignore"):
        cast = after.astype(before.dtype)
        # A fraction where a whole number belongs stays, and is a difference.
        return cast if before.dtype.kind == "f" or np.array_equal(cast.astype(after.dtype), after) else after
