"""How the user wants models to be run for a verification, and the progress that is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from resizefix.runtimes.limits import Limits

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    Unpack = None  # annotations are not evaluated

ProgressCallback = Callable[[int, int, str], None]
"""Called with the steps done, the steps there are as far as is known, and what is being done."""


class RunOptions(TypedDict, total=False):
    """How a model is run: the options of every library call that runs one. `DEFAULTS` has their defaults."""

    shape: Mapping[str, Sequence[int]] | None
    seed: int
    custom_op_library: Sequence[str]
    timeout: float | None
    memory_limit: int | None
    progress: ProgressCallback | None


class ChangeOptions(RunOptions, total=False):
    """The options of every library call that changes a model: also what comes of one that cannot be changed."""

    on_refusal: str


DEFAULTS: Mapping[str, Any] = {
    "shape": None,
    "seed": 0,
    "custom_op_library": (),
    "timeout": None,
    "memory_limit": None,
    "progress": None,
}


@dataclass
class Progress:
    """Counts the runs of a model. `tell` None: nothing is reported."""

    tell: ProgressCallback | None = None
    steps: int = 0
    total: int = 0

    def expect(self, count: int) -> None:
        """So many more steps are to come."""
        self.total += count

    def done(self, what: str, count: int = 1) -> None:
        """`count` steps were made."""
        self.steps += count
        self.total = max(self.total, self.steps)
        if self.tell is not None:
            self.tell(self.steps, self.total, what)


@dataclass
class Spent:
    """What a verification took: sessions of onnxruntime, and its runs in `passes`: runs of the whole original at its
    own size, by the elements that they compute."""

    sessions: int = 0
    passes: float = 0.0


@dataclass(frozen=True)
class Conditions:
    """`RunOptions` as the verification uses them, and the further scales that it runs at.

    `limits` bound it; `tell` hears how far it has come; `spent` counts what it opens and runs.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    custom_op_libraries: tuple[str, ...] = ()
    at: tuple[tuple[float, ...], ...] = ()
    limits: Limits = field(default_factory=Limits)
    tell: ProgressCallback | None = None
    spent: Spent = field(default_factory=Spent, compare=False)


def conditions(at: Sequence[Sequence[float]] = (), **run: Unpack[ChangeOptions]) -> Conditions:
    """The options of a library call as one value; the time begins now."""
    return Conditions(
        {name: tuple(dims) for name, dims in (run.get("shape") or {}).items()},
        run.get("seed", 0),
        tuple(run.get("custom_op_library", ())),
        tuple(tuple(values) for values in at),
        Limits.starting_now(run.get("timeout"), run.get("memory_limit")),
        run.get("progress"),
    )
