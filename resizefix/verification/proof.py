"""The proof of a promotion: fed the old values the new model is the original; fed others, the original re-baked.

Bitwise with onnxruntime's optimisation disabled, where every node runs as it stands; at the default level within
`bounds.default_level_bounds`. A model that onnxruntime cannot run as a whole is proven around each changed node, and
the verification says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.promotion import PromotedInput
from resizefix.verification.bounds import Bound, default_level_bounds, relative_bounds, within
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import fit_feeds
from resizefix.verification.inputs import Value
from resizefix.verification.probe import probe
from resizefix.verification.runtime import CannotLoadError, CannotRunError, Session, open_session
from resizefix.verification.trials import Trial, asked_trial, trials_of
from resizefix.verification.twin import neighbourhood, rebake
from resizefix.verification.verification import Coupling, Run, Status, Verification

Outputs = Mapping[str, Value]


class Bench:
    """An original that runs: the feeds it accepts and what it makes of them at both optimisation levels."""

    def __init__(self, original: Document, conditions: Conditions) -> None:
        """Raises CannotLoadError or CannotRunError where onnxruntime cannot run the original, UsageError for bad
        shapes."""
        self._original = original
        self._conditions = conditions
        session = self._open(original, optimized=False)
        fitted = fit_feeds(session, Feeder(session.inputs, conditions.shapes, conditions.seed))
        self._feeds = fitted.feeds
        self._outputs: dict[bool, Outputs] = {False: fitted.outputs}
        self._bounds: Mapping[str, Bound] | None = None
        self.notes: list[str] = []  # differences that the promotion brings with it and that are to be told

    def couplings(self, promoted: Document, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """The verdict for every promoted site."""
        return probe(self._open(promoted, optimized=False), self._feeds, inputs)

    def runs(self, promoted: Document, inputs: Sequence[PromotedInput]) -> Iterator[Run | str]:
        """All comparisons that the proof consists of; a sentence instead of a run says what differs, and ends it."""
        trials: list[Trial] | None = None
        for optimized in (False, True):
            baseline = self._baseline(optimized)  # before the next session is opened: each holds the weights
            session = self._open(promoted, optimized=optimized)
            old = Trial(tuple((source, tuple(source.value)) for source in inputs))
            yield from self._against(session, old, baseline, inputs, optimized)
            if trials is None:
                trials = []
                for trial in self._wanted(inputs):
                    trials.extend(self._workable(session, trial, inputs))
            for trial in trials:
                twin = self._open(rebake(self._original, trial.baked()), optimized=optimized)
                try:
                    expected: Outputs | str = twin.run(self._feeds)
                except CannotRunError as error:
                    expected = error.reason
                del twin
                yield from self._against(session, trial, expected, inputs, optimized)

    def _open(self, document: Document, *, optimized: bool) -> Session:
        return open_session(document, optimized=optimized, custom_op_libraries=self._conditions.custom_op_libraries)

    def _baseline(self, optimized: bool) -> Outputs:
        if optimized not in self._outputs:
            self._outputs[optimized] = self._open(self._original, optimized=optimized).run(self._feeds)
            plain = self._outputs[False]
            self._bounds = default_level_bounds(plain, self._outputs[optimized])
            # An original with stale shapes contradicts itself when optimised; then what it really computes counts.
            if compare(plain, self._outputs[optimized]).max_rel_diff == np.inf:
                self._outputs[optimized] = plain
        return self._outputs[optimized]

    def _wanted(self, inputs: Sequence[PromotedInput]) -> list[Trial]:
        asked = [asked_trial(inputs, at) for at in self._conditions.at]
        values = [(source, trials_of(source)) for source in inputs]
        steps = range(max((len(found) for _, found in values), default=0))
        usual = [
            Trial(tuple((source, found[min(step, len(found) - 1)]) for source, found in values if found))
            for step in steps
        ]
        return asked + usual

    def _workable(self, session: Session, trial: Trial, inputs: Sequence[PromotedInput]) -> list[Trial]:
        """The trial if the model runs at it, else its parts that do: inputs that are only free one at a time."""
        found = []
        for part in (trial, *trial.split()):
            try:
                session.run({**self._feeds, **part.feeds(inputs)})
            except CannotRunError:
                continue
            found.append(part)
            if part is trial:
                break
        return found or ([trial] if trial.asked else [])

    def _against(
        self,
        session: Session,
        trial: Trial,
        expected: Outputs | str,
        inputs: Sequence[PromotedInput],
        optimized: bool,
    ) -> Iterator[Run | str]:
        feeds = {**self._feeds, **trial.feeds(inputs)}
        told = {source.name: tuple(value) for source, value in trial.values}
        at = ", ".join(f"{name}={list(value)}" for name, value in told.items())
        level = "the default optimisation level" if optimized else "optimisation disabled"
        try:
            found = session.run(feeds)
        except CannotRunError as error:
            where = f" at {error.node!r}" if error.node else ""
            yield f"at {at} ({level}) the model does not run{where}: {error.reason}"
            return
        if isinstance(expected, str):
            yield f"at {at} ({level}) the new model runs, the original with these scales does not: {expected}"
            return
        comparison = compare(expected, found)
        bounds = self._bounds if optimized else None
        yield Run(
            told,
            {name: np.shape(value) for name, value in feeds.items() if isinstance(value, np.ndarray)},
            optimized,
            comparison.bitwise,
            comparison.max_abs_diff,
            comparison.max_rel_diff,
            max((bound.relative for bound in bounds.values()), default=0.0) if bounds else 0.0,
        )
        same = within(comparison, bounds) if bounds is not None else comparison.bitwise
        if same:
            return
        if np.isfinite(comparison.max_abs_diff) and trial.samples_by_size(inputs):
            self.notes.append(f"at {at} sizes decide where it samples, not the scale: {comparison.reason}")
        elif any(driven.by_shape for source in inputs for driven in source.sites) and within(
            comparison, relative_bounds(expected, 0.0)
        ):  # onnxruntime computes half precision between casts whose places the new nodes move
            self.notes.append(f"at {at} the last bits of half precision differ: {comparison.reason}")
        else:
            yield f"at {at} ({level}) the new model differs from the original with these scales: {comparison.reason}"


class Prover:
    """Proves promotions of one original; runs it whole where that is possible, else around each changed node."""

    def __init__(self, original: Document, conditions: Conditions) -> None:
        self._original = original
        self._conditions = conditions
        self._bench: Bench | None = None
        self._why_local: str | None = None
        try:
            self._bench = Bench(original, conditions)
        except (CannotLoadError, CannotRunError) as error:
            self._why_local = str(error)

    def couplings(self, promoted: Document, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """Which of the sites are free; empty where the model cannot be run as a whole."""
        return {} if self._bench is None else self._bench.couplings(promoted, inputs)

    def prove(
        self, promoted: Document, inputs: Sequence[PromotedInput], coupling: Mapping[Key, Coupling]
    ) -> Verification:
        """Compare the promoted model with the original at the old values and at others."""
        verdicts = tuple(coupling.values())
        if self._bench is not None:
            try:
                runs, failure = _collect(self._bench.runs(promoted, inputs))
            except (CannotLoadError, CannotRunError) as error:
                runs, failure = (), str(error)
            if failure is not None:
                return Verification(Status.FAILED, failure, runs, verdicts)
            return Verification(Status.PASSED, self._bench.notes[0] if self._bench.notes else None, runs, verdicts)
        runs, failure = self._locally(promoted, inputs)
        if failure is not None:
            return Verification(Status.FAILED, failure, runs, verdicts)
        reason = f"only around each changed node, because the model as a whole was not run: {self._why_local}"
        return Verification(Status.PASSED, reason, runs, verdicts)

    def _locally(self, promoted: Document, inputs: Sequence[PromotedInput]) -> tuple[tuple[Run, ...], str | None]:
        runs: list[Run] = []
        for source in inputs:
            data = {driven.key: driven.input for driven in source.sites}
            if len({output for _, output in data}) < len(data):
                return tuple(runs), (
                    f"{source.name!r} drives nodes in different bodies that write the same name, and onnxruntime does "
                    f"not run the whole model ({self._why_local}), so nothing can be proven. Promote them one by one"
                )
            shapes_elsewhere = Conditions(
                {}, self._conditions.seed, self._conditions.custom_op_libraries, self._conditions.at
            )
            try:
                bench = Bench(neighbourhood(self._original, data), shapes_elsewhere)
                more, failure = _collect(bench.runs(neighbourhood(promoted, data), (source,)))
            except (CannotLoadError, CannotRunError) as error:
                more = ()
                failure = (
                    f"onnxruntime can run neither the model nor {source.sites[0].label!r} alone ({error}), so nothing "
                    f"can be proven; the model as a whole: {self._why_local}. With --no-verify it is written unproven"
                )
            runs.extend(more)
            if failure is not None:
                return tuple(runs), failure
        return tuple(runs), None


def _collect(found: Iterator[Run | str]) -> tuple[tuple[Run, ...], str | None]:
    runs: list[Run] = []
    for item in found:
        if isinstance(item, str):
            return tuple(runs), item
        runs.append(item)
    return tuple(runs), None
