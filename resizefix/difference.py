"""How far tensors are apart, one and all the outputs of a model; and how far they may be, and who says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

DYNAMIC_SIZE = 1024
"""The input length a bound is computed for where an axis is dynamic."""


@dataclass(frozen=True)
class ErrorBound:
    """How near new nodes come to what stood there before, run in onnxruntime with optimisation disabled; or how far the
    outputs of two models may be apart.

    `exact`: the same bits for every input. Otherwise `bound` limits the largest absolute difference for finite inputs
    of magnitude up to 1 (multiply for larger ones), or the part of an output's largest value; 0 is equality as
    numbers: the sign of a zero, or which NaN it is, may differ; infinity: none is known. With `atol` or `rtol`, which
    users give, each number may be off by atol + rtol·|before| instead. `note` says what to know besides, or why so
    much. `conditions`: for which inputs all this holds; empty: for all.

    `drift` is the share of `bound` that comes from rounded coordinates of dynamic axes, taken as DYNAMIC_SIZE long.
    """

    exact: bool = True
    bound: float = 0.0
    note: str = ""
    conditions: tuple[str, ...] = ()
    atol: float = 0.0
    rtol: float = 0.0
    drift: float = 0.0

    @classmethod
    def elementwise(cls, atol: float, rtol: float) -> ErrorBound:
        """What a user allows: nothing where both are 0."""
        return cls(exact=not (atol or rtol), atol=atol, rtol=rtol)

    def at(self, samples: int) -> float:
        """The bound where no axis that is resized has more samples than these.

        A float32 coordinate is rounded to a step that doubles at each power of 2. Between no drift and that of
        DYNAMIC_SIZE a bound grows at most as its drift does; beyond, it is doubled as a whole.
        """
        if not self.drift:
            return self.bound
        times = 2.0 ** math.ceil(math.log2(max(samples, 1) / DYNAMIC_SIZE))
        return self.bound * times if times > 1 else self.bound - self.drift * (1 - times)

    @property
    def is_elementwise(self) -> bool:
        """Whether each number has its own bound."""
        return bool(self.atol or self.rtol)

    @property
    def known_bound(self) -> float | None:
        """The bound; None where none is known, and what is measured alone tells."""
        return None if math.isinf(self.bound) else self.bound


BITWISE = ErrorBound()
UNBOUNDED = ErrorBound(exact=False, bound=math.inf)


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
