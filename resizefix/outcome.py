"""What happened to one site: changed, left as it is, or refused, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(str, Enum):
    """`unchanged`: nothing to do; `refused`: it cannot be done, `reason` says why and what to do instead."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """One site's outcome. `before` and `after` are ONNX text; `max_abs_diff` is set for a change that is not exact.

    `condition` says for which inputs the new nodes compute what the old one did ("for finite inputs, where no axis is
    empty"); None: for all that the old one takes. `retry_args` are options with which the command changes a site that
    is refused, where some do.
    """

    index: int
    node: str
    status: Status
    reason: str | None = None
    before: str = ""
    after: tuple[str, ...] = ()
    exact: bool = True
    condition: str | None = None
    max_abs_diff: float | None = None
    retry_args: tuple[str, ...] = ()
