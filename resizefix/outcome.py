"""What came of a change: of one site (changed, left as it is, or refused, each with its reason), of a model as a whole,
and of its numbers: how far tensors are apart, how far they may be, and who says so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
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


class Status(str, Enum):
    """`unchanged`: nothing to do; `refused`: it cannot be done, `reason` says why and what to do instead."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


class ModelOutcome(str, Enum):
    """What happened to a model: `already`: what was asked for is there, and nothing was needed; `refused`: nothing of
    it could be done; `failed`: a verification refuted the result."""

    CHANGED = "changed"
    ALREADY = "already"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Outcome:
    """One site's outcome. `before` and `after` are ONNX text.

    `condition` says for which inputs the new nodes compute what the old one did ("for finite inputs, where no axis is
    empty"); None: for all that the old one takes. `bound` is the largest difference then, as a part of the largest
    value that is resized; None: not known. `drift` is the share of it that shorter open axes have less of
    (`ErrorBound`). For a change that is not exact, `max_abs_diff` is the largest difference that was measured, with
    inputs of the shapes `measured_at`. `retry_args` are options with which the command changes a site that is refused,
    where some do.
    """

    index: int
    node: str
    status: Status
    reason: str | None = None
    before: str = ""
    after: tuple[str, ...] = ()
    exact: bool = True
    condition: str | None = None
    bound: float | None = None
    drift: float = 0.0
    max_abs_diff: float | None = None
    measured_at: Mapping[str, Sequence[int]] | None = None
    retry_args: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    """The words of another command that changes a site that is refused; IN and OUT stand for the files."""
    fault: str | None = None
    """The faults that were fixed, or the one that cannot be (`repair`)."""
    node_diffs: tuple[TensorDifference, ...] = ()
    """The difference at the node alone, given the same input as before (`set`)."""
    output_diffs: tuple[TensorDifference, ...] = ()
    """The difference at the outputs of the model, with all selected nodes changed (`set`)."""
