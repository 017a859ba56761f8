"""`resizefix.diff`: every difference between two models."""

from __future__ import annotations

from resizefix.interop import Model, opened
from resizefix.operations.diff import Change
from resizefix.operations.diff import diff as changes_between


def diff(before: Model, after: Model) -> list[Change]:
    """What changed between two models, node by node, input by input; what is not listed is the same."""
    return changes_between(opened(before), opened(after))
