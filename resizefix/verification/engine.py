"""What every comparison is made of: sessions that are counted, feeds that a model runs with, and what came of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from resizefix.errors import DiagnosedError, UsageError
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotRunError, Session, open_session
from resizefix.verification.compare import Comparison, compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.declared_shapes import feeds_from_declared_shapes
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import Fitted, fit_feeds
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.progress import Progress
from resizefix.verification.signatures import Feeding
from resizefix.verification.sizing import Shape
from resizefix.verification.verification import Run, Status, Verification

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.runtimes.inputs import TensorInput
    from resizefix.runtimes.prepared_model import PreparedModel


class DifferenceError(DiagnosedError):
    """A model computes something else than it must: the reason."""


class Engine:
    """Runs models under one set of conditions, and holds what one proof has found so far. Promotions, rewrites,
    repairs, changed nodes and other sizes all use it.

    `label` is the name in errors of a model without another one. `progress` counts the runs for whoever shows how far a
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
        return fit_feeds(session, feeder, budget=MemoryBudget(document, self.conditions.limits))

    def fit_as_declared(self, document: Document, session: Session, budget: MemoryBudget) -> Fitted:
        """`fit` with what the file says of inputs that decide a size, or without."""
        declared = feeds_from_declared_shapes(document, self.conditions.shapes)
        if declared:
            with suppress(CannotRunError, UsageError):
                fitted = fit_feeds(session, self.feeder(session.inputs, declared), budget=budget)
                if not session.contradicts(fitted.outputs):
                    return fitted
        return fit_feeds(session, self.feeder(session.inputs), budget=budget)

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
    comparison: Comparison,
    feeds: Feeds,
    *,
    optimized: bool = False,
    bound: float = 0.0,
    fed: Feeding | None = None,
) -> Run:
    """A comparison as the run that reports tell of, with the values that were given."""
    arrays = ((name, feeds.get(name)) for name in (fed.shown if fed else ()))
    values = {name: value.reshape(-1).tolist() for name, value in arrays if isinstance(value, np.ndarray)}
    differences = comparison.max_abs_diff, comparison.max_rel_diff
    run = Run(values, shapes_of_feeds(feeds), optimized, comparison.bitwise, *differences, bound)
    return replace(run, files=fed.files) if fed else run
