"""What every comparison is made of: sessions that are counted, feeds that a model runs with, and what came of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.errors import DiagnosedError, UsageError
from resizefix.runtimes.inputs import Feeds, TensorInput, Value
from resizefix.runtimes.ort_session import CannotRunError, Session, open_session
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.verification.compare import Comparison, compare
from resizefix.verification.conditions import Conditions, Progress
from resizefix.verification.feeds import Feeder, TooLargeError, feeds_from_declared_shapes
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.signatures import Feeding
from resizefix.verification.sizing import Shape
from resizefix.verification.verification import Run, Status, Verification


class DifferenceError(DiagnosedError):
    """A model computes something else than it must: the reason."""


class OverBudgetError(CannotRunError):
    """The model was not run because its tensors would take more memory than may be used."""


@dataclass(frozen=True)
class Fitted:
    """Feeds, and what the model made of them. `vacuous`: every output is empty, so that comparing them says nothing."""

    feeds: dict[str, Value]
    outputs: dict[str, Value]

    @property
    def vacuous(self) -> bool:
        """Whether there is no number in any output."""
        return bool(self.outputs) and all(is_empty(value) for value in self.outputs.values())


class Runner(Protocol):
    """What runs a model: a session, or one that is watched."""

    @property
    def label(self) -> str:
        """What errors call the model."""

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """Those of `feeds` that the model has an input for."""

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name."""

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes."""


_MOST_NAMED = 3
_MOST_CONTRADICTING = 4  # a file whose shapes are stale contradicts itself whatever it is fed


def fit_feeds(
    session: Runner,
    feeder: Feeder,
    *,
    attempts: int = 24,
    budget: MemoryBudget | None = None,
    is_part: bool = False,
) -> Fitted:
    """Tries the feeder's candidates and returns the first that the model runs with, giving one number at least.

    A candidate that is over the `budget` of memory is not run.

    Outputs of a size that the file fixes otherwise are put off: a few more candidates are tried, for an input that says
    sizes may say those. Only if there is no such candidate, one whose outputs are all empty. Inputs of another model
    that the feeder knows too are in the feeds, and not given to this one. Raises CannotRunError with what the most
    sensible candidate met, and the inputs whose sizes were chosen here: `--shape` can choose others, but not of a model
    that `is_part` of the user's.
    """
    first_error: CannotRunError | None = None
    empty: Fitted | None = None
    contradicting: list[Fitted] = []
    candidates = islice(feeder.candidates(), attempts)
    while len(contradicting) < _MOST_CONTRADICTING:
        try:
            feeds = next(candidates, None)
        except TooLargeError as error:
            raise OverBudgetError("verification.not-run", label=session.label, why=error, reason=str(error)) from error
        if feeds is None:
            break
        taken = session.taken(feeds)
        reason = None if budget is None else budget.reject_reason(taken)
        try:
            if reason is not None:
                raise OverBudgetError("verification.not-run", label=session.label, why=reason, reason=reason)
            fitted = Fitted(feeds, session.run(taken))
        except CannotRunError as error:
            first_error = first_error or error
            continue
        if fitted.vacuous:
            empty = empty or fitted
        elif session.contradicts(fitted.outputs):
            contradicting.append(fitted)
        else:
            return fitted
    if contradicting:
        return contradicting[0]
    if empty is not None:
        return empty
    if first_error is not None:
        raise first_error if is_part else with_shapes_to_give(first_error, feeder)
    reason = Diagnostic("verification.too-large-at-every-size")
    raise CannotRunError("verification.not-run", label=session.label, why=reason, reason=reason)


def with_shapes_to_give(error: CannotRunError, feeder: Feeder) -> CannotRunError:
    """The error, with the names of the inputs whose sizes were chosen here: `--shape` can choose others."""
    names = feeder.chosen_sizes
    if not names or isinstance(error, OverBudgetError):
        return error
    named = ", ".join(map(repr, names[:_MOST_NAMED])) + (", …" if len(names) > _MOST_NAMED else "")
    why = Diagnostic("verification.give-shapes", why=str(error), names=named)
    return CannotRunError(why, reason=error.reason, node=error.node, op_type=error.op_type)


def is_empty(value: Value) -> bool:
    """Whether a value holds no number at all."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    if isinstance(value, list):
        return all(is_empty(item) for item in value)
    return not value


class Engine:
    """Runs models under one set of conditions, and holds what one proof has found so far. Promotions, rewrites,
    repairs, changed nodes and other sizes all use it.

    `label` is the name in errors of a model without another one. `progress` counts the runs for a display of how far a
    verification is; `runs` are the comparisons made, `notes` what is to be said of a pass.
    """

    def __init__(self, conditions: Conditions, label: str | None = None) -> None:
        self.conditions = conditions
        self.label = label
        self.progress = Progress(conditions.tell)
        self.runs: list[Run] = []
        self.notes: list[str] = []

    @property
    def sessions(self) -> int:
        """How many sessions were opened under these conditions, by this engine and by others."""
        return self.conditions.sessions.opened

    def open(
        self,
        document: Document,
        *,
        optimized: bool,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
        prepared: PreparedModel | None = None,
    ) -> Session:
        """A session of the model; `ort_session.open_session` says the rest."""
        self.conditions.sessions.opened += 1
        return open_session(
            document,
            optimized=optimized,
            custom_op_libraries=self.conditions.custom_op_libraries,
            extra_outputs=extra_outputs,
            label=label or self.label,
            limits=self.conditions.limits,
            prepared=prepared,
        )

    def feeder(
        self,
        inputs: Sequence[TensorInput],
        hints: Mapping[str, object] | None = None,
        *,
        shapes: Mapping[str, Shape] | None = None,
        seed: int | None = None,
    ) -> Feeder:
        """What makes feeds for the inputs, with the shapes and the seed of the conditions unless others are given."""
        conditions = self.conditions
        shapes = conditions.shapes if shapes is None else shapes
        seed = conditions.seed if seed is None else seed
        return Feeder(inputs, shapes, seed, hints, conditions.limits.bytes)

    def run(
        self,
        document: Document,
        feeds: Feeds,
        *,
        optimized: bool = False,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
    ) -> dict[str, Value]:
        """What the model makes of those of the feeds that it has an input for. Raises what `open` and `Session.run`
        raise."""
        session = self.open(document, optimized=optimized, extra_outputs=extra_outputs, label=label)
        return session.run(session.taken(feeds))

    def fit(
        self,
        document: Document,
        hints: Mapping[str, object] | None = None,
        *,
        shapes: Mapping[str, Shape] | None = None,
        optimized: bool = False,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
    ) -> Fitted:
        """Feeds that the model runs with, and what it makes of them. Raises what `open`, `Feeder` and `fit_feeds`
        raise."""
        session = self.open(document, optimized=optimized, extra_outputs=extra_outputs, label=label)
        feeder = self.feeder(session.inputs, hints, shapes=shapes)
        budget = MemoryBudget(document, self.conditions.limits)
        return fit_feeds(session, feeder, budget=budget, is_part=shapes is not None)

    def fit_as_declared(
        self, document: Document, session: Session, budget: MemoryBudget, *, is_part: bool = False
    ) -> Fitted:
        """`fit` with what the file says of inputs that decide a size, or without."""
        declared = feeds_from_declared_shapes(document, self.conditions.shapes)
        if declared:
            with suppress(CannotRunError, UsageError):
                fitted = fit_feeds(session, self.feeder(session.inputs, declared), budget=budget)
                if not session.contradicts(fitted.outputs):
                    return fitted
        return fit_feeds(session, self.feeder(session.inputs), budget=budget, is_part=is_part)

    def compared(
        self,
        expected: Mapping[str, Value],
        made: Mapping[str, Value],
        feeds: Feeds,
        *,
        optimized: bool = False,
        bound: float = 0.0,
    ) -> Comparison:
        """How the outputs differ: one more of the runs."""
        comparison = compare(expected, made)
        self.runs.append(run_of(comparison, feeds, optimized=optimized, bound=bound))
        return comparison

    def verdict(self, failure: str | None = None) -> Verification:
        """What the runs come to: failed for the reason given, else passed with the notes, each once."""
        status = Status.FAILED if failure else Status.PASSED
        reason = failure or "; ".join(dict.fromkeys(self.notes)) or None
        return Verification(status, reason, tuple(self.runs), sessions=self.sessions)


def shapes_of_feeds(feeds: Feeds) -> dict[str, list[int]]:
    """The shapes of all tensors that were fed."""
    return {name: list(value.shape) for name, value in feeds.items() if isinstance(value, np.ndarray)}


def run_of(
    comparison: Comparison, feeds: Feeds, *, optimized: bool = False, bound: float = 0.0, fed: Feeding | None = None
) -> Run:
    """A comparison as the run that reports tell of, with the values that were given."""
    arrays = ((name, feeds.get(name)) for name in (fed.shown if fed else ()))
    values = {name: value.reshape(-1).tolist() for name, value in arrays if isinstance(value, np.ndarray)}
    differences = comparison.max_abs_diff, comparison.max_rel_diff
    shapes, files = shapes_of_feeds(feeds), fed.files if fed else {}
    return Run(values, shapes, optimized, comparison.bitwise, *differences, bound, files=files)
