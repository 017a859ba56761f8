"""What `legalize --fastest` measured: forms of nodes against each other, and the whole model before and after."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from resizefix.runtimes.answers import TimedModel

GAIN = 0.95
"""The part of the time that a form or a model may take at most to be called faster."""


@dataclass(frozen=True)
class FormTime:
    """A form by name, and its fastest run in milliseconds."""

    form: str
    ms: float


@dataclass(frozen=True)
class NodeSpeed:
    """A node alone, at the sizes that it has in the model: the form that it had, the one that it has now, and every
    form that was measured, the fastest first."""

    index: int
    node: str
    before: FormTime
    after: FormTime
    measured: tuple[FormTime, ...]


@dataclass(frozen=True)
class WholeSpeed:
    """The whole model: milliseconds with the old forms and with those that are fastest alone; `kept`: the latter stay,
    since the model is at least 5 % faster with them."""

    before_ms: float
    after_ms: float
    kept: bool


@dataclass(frozen=True)
class Speed:
    """What was measured in `runtime` (its title and version); `whole` is None where no form was faster alone."""

    runtime: str
    nodes: tuple[NodeSpeed, ...]
    whole: WholeSpeed | None = None


def milliseconds(model: TimedModel) -> float:
    """Its fastest run."""
    return min(model.times) * 1e3


def ratio(before: Sequence[float], after: Sequence[float]) -> float:
    """The part of the time that `after` takes, by the fastest runs and by the rounds in the middle: the worse of both.

    Rounds are those in which both ran, so that what slows the machine down falls on both.
    """
    by_round = [new / old for old, new in zip(before, after, strict=False) if old > 0]  # one may have left early
    if not by_round:
        return 1.0
    return max(min(after) / min(before), statistics.median(by_round))
