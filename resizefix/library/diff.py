"""`resizefix.diff`: every difference between two models."""

from __future__ import annotations

from resizefix.interop import Model, opened
from resizefix.library.bounded import checked
from resizefix.operations.diff import Change
from resizefix.operations.diff import diff as changes_between


@checked
def diff(before: Model, after: Model, *, meaning_only: bool = False) -> list[Change]:
    """What changed between two models, node by node, input by input; what is not listed is the same.

    `meaning_only` leaves out what no runtime reads to compute: doc strings, metadata, the producer, how
    tensors are stored.
    """
    return changes_between(opened(before), opened(after), meaning_only=meaning_only)
