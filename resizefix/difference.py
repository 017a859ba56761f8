"""How far tensors are apart: one tensor, and all the outputs of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class TensorDifference(NamedTuple):
    """How one tensor differs. `reason` is None iff `bitwise`.

    `max_abs_diff` is infinite where no number can say it: other shape, type or length, NaN against a number, infinity
    against anything but itself. `max_rel_diff` is that relative to the largest finite value of the tensor before.
    Where the change was meant, `mean_abs_diff`, `largest` (the largest finite magnitude before; 0 where no number says
    the difference) and `feed` count, too: what the model was fed, "random values" or the name of a file.
    """

    tensor: str
    bitwise: bool = True
    max_abs_diff: float = 0.0
    max_rel_diff: float = 0.0
    reason: str | None = None
    mean_abs_diff: float = 0.0
    largest: float = 0.0
    feed: str = ""

    @classmethod
    def beyond_numbers(cls, tensor: str, reason: str) -> TensorDifference:
        """A difference that no number says."""
        return cls(tensor, False, math.inf, math.inf, reason, math.inf)


@dataclass(frozen=True)
class Differences:
    """How all outputs differ, each in `tensors`; the rest is their worst."""

    tensors: tuple[TensorDifference, ...]

    @cached_property
    def bitwise(self) -> bool:
        """Same types, shapes and bytes everywhere. NaNs of equal bits are equal."""
        return all(difference.bitwise for difference in self.tensors)

    @cached_property
    def max_abs_diff(self) -> float:
        """The largest difference between two numbers."""
        return max((difference.max_abs_diff for difference in self.tensors), default=0.0)

    @cached_property
    def max_rel_diff(self) -> float:
        """The largest difference relative to the largest value of its output."""
        return max((difference.max_rel_diff for difference in self.tensors), default=0.0)

    @property
    def reason(self) -> str | None:
        """What is to be said of the output that differs most; None if none does."""
        worst = max(self.differing, key=lambda difference: difference.max_rel_diff, default=None)
        return None if worst is None else worst.reason

    @property
    def differing(self) -> list[TensorDifference]:
        """Those that are not equal bit for bit."""
        return [difference for difference in self.tensors if not difference.bitwise]
