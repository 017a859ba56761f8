"""What runtimes answer: how one ended with a model or a node, what it gave, or why none could be asked."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from resizefix.diagnostics import Diagnostic
from resizefix.difference import TensorDifference
from resizefix.document.values import Array


@dataclass(frozen=True)
class LiveUnavailable:
    """Why there is no verdict, as a sentence for the user."""

    reason: str


class Ending(str, Enum):
    """How a runtime ended with a model."""

    RAN = "ran"
    REFUSED_LOAD = "refused-load"
    REFUSED_RUN = "refused-run"
    CRASHED_LOAD = "crashed-load"
    CRASHED_RUN = "crashed-run"
    LATE = "late"


def how_ended(code: int) -> Diagnostic:
    """How a process ended, by its exit code, which a signal makes negative."""
    if code >= 0:
        return Diagnostic("runtimes.ended-with-code", status=code)
    try:
        return Diagnostic("runtimes.crashed-by", signal=signal.Signals(-code).name)
    except ValueError:
        return Diagnostic("runtimes.ended-by-signal", signal=-code)


@dataclass(frozen=True)
class RuntimeAnswer:
    """What `runtime` (its title and version) did: the outputs of each run that it made, and how it ended.

    `message` is what it raised and printed, or how it crashed; empty where it ran.
    """

    runtime: str
    ending: Ending
    message: str = ""
    results: tuple[Mapping[str, Array], ...] = ()


@dataclass(frozen=True)
class NodeAnswer:
    """What a runtime made of one node alone. `ending` None: it was not asked, for onnxruntime does not run it either.

    `agrees`: it ran, with onnxruntime's shape and numbers. `difference`: how far it is from onnxruntime's,
    where it ran.
    """

    node: str
    output: str
    ending: Ending | None
    message: str = ""
    difference: TensorDifference | None = None
    agrees: bool = False
    same_shape: bool = True

    @property
    def max_abs_diff(self) -> float | None:
        """The largest difference; None: it did not run."""
        return None if self.difference is None else self.difference.max_abs_diff

    @property
    def max_rel_diff(self) -> float | None:
        """That as a part of the largest value; infinite where the shapes differ."""
        return None if self.difference is None else self.difference.max_rel_diff


@dataclass(frozen=True)
class TimedModel:
    """One of several models that were timed in turns: the seconds of its fastest run in each round, and what its first
    run gave. No times: it was not run, and `reason` says why."""

    times: tuple[float, ...] = ()
    outputs: Mapping[str, Array] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Timings:
    """Models timed against each other in `runtime`, in the order in which they were given; none where the runtime came
    to no end, for the `reason`."""

    runtime: str
    models: tuple[TimedModel, ...] = ()
    reason: str = ""
