"""Feeds that a model runs with, and what it makes of them: found by trying."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.verification.feeds import Feeder, TooLargeError
from resizefix.verification.memory_budget import MemoryBudget, OverBudgetError


@dataclass(frozen=True)
class Fitted:
    """Feeds, and what the model made of them. `others` are feeds of other values, and sizes where the file leaves them
    open, the most telling first; the model need not run with them. `equal`: inputs whose open sizes must be equal, as
    other sizes were refused. `is_plain`: they count without optimisation alone, where stored sizes are not believed.

    `vacuous`: every output is empty, so that comparing them says nothing.
    """

    feeds: dict[str, Value]
    outputs: dict[str, Value]
    others: tuple[dict[str, Value], ...] = ()
    equal: tuple[str, ...] = ()
    is_plain: bool = False

    @property
    def vacuous(self) -> bool:
        """Whether there is no number in any output."""
        return bool(self.outputs) and all(is_empty(value) for value in self.outputs.values())

    @property
    def overflows(self) -> bool:
        """Whether an output holds numbers that no network means: comparing them says little."""
        floats = (value for value in self.outputs.values() if isinstance(value, np.ndarray) and value.dtype.kind == "f")
        with np.errstate(invalid="ignore", over="ignore"):
            return any(value.size and not np.abs(value).max() < _LARGEST for value in floats)


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
_LARGEST = 1e30  # beyond it a network overflowed
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
        refusal = None if budget is None else budget.refusal(session.label, taken)
        try:
            if refusal is not None:
                raise refusal
            fitted = _sensible(session, feeder, feeds)
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


def _sensible(session: Runner, feeder: Feeder, feeds: dict[str, Value]) -> Fitted:
    """What the model makes of these feeds; of pictures of the same size, where it overflows with noise."""
    fitted = Fitted(feeds, session.run(session.taken(feeds)), tuple(feeder.others(feeds)), feeder.must_be_equal)
    if fitted.overflows:
        pictures = fitted.others[-1] if fitted.others else feeds
        with suppress(CannotRunError):
            instead = replace(fitted, feeds=pictures, outputs=session.run(session.taken(pictures)))
            return fitted if instead.overflows else instead
    return fitted


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


def of_other_sizes(session: Runner, first: Fitted, budget: MemoryBudget) -> list[Fitted]:
    """A second feed where sizes or extents are open: more images, taller than wide; none where the model before
    takes none. One at which it contradicts its own stored sizes is the last choice."""
    contradicting: list[Fitted] = []
    for feeds in () if first.vacuous else first.others[:-1]:
        taken = session.taken(feeds)
        if budget.reject_reason(taken) is None:
            with suppress(CannotRunError):
                fitted = Fitted(feeds, session.run(taken))
                if fitted.vacuous or fitted.overflows:
                    continue
                if not session.contradicts(fitted.outputs):
                    return [fitted]
                contradicting.append(replace(fitted, is_plain=True))
    return contradicting[:1]
