"""The first feeds that a model runs with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.shapes import shapes_of
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.ort_session import CannotRunError, Session
from resizefix.scope_path import MAIN
from resizefix.verification.feeds import Feeder, TooLargeError
from resizefix.verification.memory_budget import MemoryBudget

if TYPE_CHECKING:
    from resizefix.document.document import Document


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


_MOST_CONTRADICTING = 4  # a file whose shapes are stale contradicts itself whatever it is fed


def fit_feeds(session: Session, feeder: Feeder, *, attempts: int = 24, budget: MemoryBudget | None = None) -> Fitted:
    """Tries the feeder's candidates and returns the first that the model runs with, giving one number at least.

    A candidate that is over the `budget` of memory is not run.

    Outputs of a size that the file fixes otherwise are put off: a few more candidates are tried, for an input that says
    sizes may say those. Only if there is no such candidate, one whose outputs are all empty. Inputs of another model
    that the feeder knows too are in the feeds, and not given to this one. Raises CannotRunError with what the most
    sensible candidate met.
    """
    first_error: CannotRunError | None = None
    empty: Fitted | None = None
    contradicting: list[Fitted] = []
    candidates = islice(feeder.candidates(), attempts)
    while len(contradicting) < _MOST_CONTRADICTING and (feeds := _next(session, candidates)) is not None:
        try:
            _require_memory(session, budget, feeds)
            fitted = Fitted(feeds, session.run(session.taken(feeds)))
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
        raise first_error
    reason = Diagnostic("verification.too-large-at-every-size")
    raise CannotRunError("verification.not-run", label=session.label, why=reason, reason=reason)


def is_always_empty(feeder: Feeder, *documents: Document) -> bool:
    """Whether no shapes could be fed at which an output has any element, as far as one of the documents shows."""
    return feeder.sizes_are_fixed or any(
        all(0 in (shapes.dims((MAIN, value.name)) or ()) for value in document.proto.graph.output)
        for document in documents
        for shapes in (shapes_of(document.proto),)
    )


def _next(session: Session, candidates: Iterator[dict[str, Value]]) -> dict[str, Value] | None:
    try:
        return next(candidates, None)
    except TooLargeError as error:
        raise OverBudgetError(
            "verification.not-run-by-runtime", label=session.label, error=error, reason=str(error)
        ) from error


def _require_memory(session: Session, budget: MemoryBudget | None, feeds: dict[str, Value]) -> None:
    reason = None if budget is None else budget.reject_reason(session.taken(feeds))
    if reason is not None:
        raise OverBudgetError("verification.not-run", label=session.label, why=reason, reason=reason)


def is_empty(value: Value) -> bool:
    """Whether a value holds no number at all."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    if isinstance(value, list):
        return all(is_empty(item) for item in value)
    return not value
