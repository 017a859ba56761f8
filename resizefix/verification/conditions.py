"""What the user says about how a model is run for a verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from resizefix.runtimes.limits import Limits
from resizefix.verification.progress import ProgressCallback

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RunOptions(TypedDict, total=False):
    """How a model is run: the options of every library call that runs one. `DEFAULTS` has their defaults."""

    shape: Mapping[str, Sequence[int]] | None
    seed: int
    custom_op_library: Sequence[str]
    timeout: float | None
    memory_limit: int | None
    progress: ProgressCallback | None


DEFAULTS: Mapping[str, Any] = {
    "shape": None,
    "seed": 0,
    "custom_op_library": (),
    "timeout": None,
    "memory_limit": None,
    "progress": None,
}


@dataclass
class SessionCount:
    """How many sessions of onnxruntime were opened."""

    opened: int = 0


@dataclass(frozen=True)
class Conditions:
    """`RunOptions` as the verification uses them, and the further scales that it runs at.

    `limits` bound it; `tell` hears how far it has come; `sessions` counts what it opens.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    custom_op_libraries: tuple[str, ...] = ()
    at: tuple[tuple[float, ...], ...] = ()
    limits: Limits = field(default_factory=Limits)
    tell: ProgressCallback | None = None
    sessions: SessionCount = field(default_factory=SessionCount, compare=False)


def conditions(at: Sequence[Sequence[float]] = (), **run: Unpack[RunOptions]) -> Conditions:
    """The options of a library call as one value; the time begins now."""
    return Conditions(
        {name: tuple(dims) for name, dims in (run.get("shape") or {}).items()},
        run.get("seed", 0),
        tuple(run.get("custom_op_library", ())),
        tuple(tuple(values) for values in at),
        Limits.starting_now(run.get("timeout"), run.get("memory_limit")),
        run.get("progress"),
    )
