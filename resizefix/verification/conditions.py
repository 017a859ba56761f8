"""What the user says about how a model is run for a proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from resizefix.verification.limits import Limits
from resizefix.verification.steps import Tell


@dataclass(frozen=True)
class Conditions:
    """What the user says about how to run: shapes of inputs, the seed of their values, libraries, further scales.

    `limits` bound it; `tell` hears how far it has come.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    custom_op_libraries: tuple[str, ...] = ()
    at: tuple[tuple[float, ...], ...] = ()
    limits: Limits = field(default_factory=Limits)
    tell: Tell | None = None


def conditions(
    shape: Mapping[str, Sequence[int]] | None,
    seed: int,
    custom_op_library: Sequence[str],
    at: Sequence[Sequence[float]] = (),
    timeout: float | None = None,
    memory_limit: int | None = None,
    progress: Tell | None = None,
) -> Conditions:
    """The options of a library call as one value; the time begins now."""
    return Conditions(
        {name: tuple(dims) for name, dims in (shape or {}).items()},
        seed,
        tuple(custom_op_library),
        tuple(tuple(values) for values in at),
        Limits.starting_now(timeout, memory_limit),
        progress,
    )
