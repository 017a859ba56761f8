"""What happened to one site (changed, left as it is, or refused, each with its reason), and to a model as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from resizefix.difference import TensorDifference


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
