"""What every comparison is made of: sessions that are counted, feeds that a model runs with, and what came of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from resizefix.errors import UsageError
from resizefix.runtimes.inputs import Feeds
from resizefix.runtimes.ort_session import CannotRunError, Session, open_session
from resizefix.verification.compare import Comparison
from resizefix.verification.conditions import Conditions
from resizefix.verification.declared_shapes import feeds_from_declared_shapes
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import Fitted, fit_feeds
from resizefix.verification.memory_budget import MemoryBudget
from resizefix.verification.progress import Progress
from resizefix.verification.signatures import Feeding
from resizefix.verification.sizing import Shape
from resizefix.verification.verification import Run

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.runtimes.inputs import TensorInput
    from resizefix.runtimes.prepared_model import PreparedModel


class Engine:
    """Runs models under one set of conditions. Promotions, rewrites, repairs, changed nodes and other sizes all use it.

    `progress` counts the runs for whoever shows how far a verification is.
    """

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.progress = Progress(conditions.tell)

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
            label=label,
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

    def fit(
        self,
        document: Document,
        session: Session,
        hints: Mapping[str, object] | None = None,
        *,
        shapes: Mapping[str, Shape] | None = None,
        budget: MemoryBudget | None = None,
    ) -> Fitted:
        """Feeds that the model runs with, and what it makes of them. Raises what `fit_feeds` and `Feeder` raise."""
        feeder = self.feeder(session.inputs, hints, shapes=shapes)
        return fit_feeds(session, feeder, budget=budget or MemoryBudget(document, self.conditions.limits))

    def fit_as_declared(self, document: Document, session: Session, budget: MemoryBudget) -> Fitted:
        """`fit` with what the file says of inputs that decide a size, or without."""
        declared = feeds_from_declared_shapes(document, self.conditions.shapes)
        if declared:
            try:
                fitted = self.fit(document, session, declared, budget=budget)
            except (CannotRunError, UsageError):
                return self.fit(document, session, budget=budget)
            if not session.contradicts(fitted.outputs):
                return fitted
        return self.fit(document, session, budget=budget)


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
