"""Intended differences as text: at each changed node, and at the outputs of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from resizefix.outcome import MeasuredDifference, Outcome
from resizefix.printable import printable


def measured_lines(outcome: Outcome) -> list[str]:
    """A line for each feed: how far the node is from what it was."""
    if outcome.exact:
        return []
    return [f"at the node, {printable(found.feed)}: {difference_text(found)}" for found in outcome.node_diffs]


def output_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each output and feed, once for all nodes: they were changed together."""
    changed = [outcome for outcome in outcomes if outcome.output_diffs]
    if all(outcome.exact for outcome in changed):
        return []
    return [
        f"output {printable(found.tensor)}, {printable(found.feed)}: {difference_text(found)}"
        for found in changed[0].output_diffs
    ]


def difference_text(found: MeasuredDifference) -> str:
    """`differs by up to 0.5 (0.16 × the largest value), 0.02 on average`."""
    if not math.isfinite(found.max_abs_diff):
        return "differs in more than numbers"
    if found.max_abs_diff == 0:
        return "no difference"
    share = f" ({found.max_abs_diff / found.largest:.2g} × the largest value)" if found.largest else ""
    return f"differs by up to {found.max_abs_diff:.3g}{share}, {found.mean_abs_diff:.2g} on average"
