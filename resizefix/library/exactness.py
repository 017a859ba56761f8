"""What the outcomes call exact: what was compared bit for bit, or cannot differ; else the measured difference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from resizefix.operations.site import Site
from resizefix.outcome import Outcome, Status
from resizefix.verification.bounds import HALF
from resizefix.verification.verification import Run, Verification


def measured(outcomes: Sequence[Outcome], moved: Collection[Site], verification: Verification) -> tuple[Outcome, ...]:
    """The outcomes with what the runs say: not exact where the operation says so, where a run was not bitwise, or where
    one of the sites `moved`, which have other nodes around them than before, resizes half precision.

    A difference of the whole model is that of the nodes that are not exact: beside them, a node that gave every bit
    when it was run alone stays exact.

    onnxruntime computes half precision in float32 between casts whose places depend on the neighbouring nodes, so that
    the last bit can change though every node says what it said. Runs that found the same bits do not tell that others
    will: with the same casts moved, another scale or another image rounds otherwise. The report states their largest
    difference.

    Runs at the default level do not count: there the original itself is fused, and its sums are in another order.
    """
    runs = [run for run in verification.runs if not run.optimized]
    moves_half = any(site.elem_type in HALF for site in moved)
    same_bits = all(run.bitwise and run.from_scales is None for run in runs) and not moves_half
    changed = [outcome for outcome in outcomes if outcome.status is Status.CHANGED]
    alone = {site.index for site in moved if site.key in verification.bitwise_alone and not moves_half}
    exact = {outcome.index for outcome in changed if outcome.exact and (same_bits or outcome.index in alone)}
    worst = max(runs, key=_difference, default=None)
    return tuple(
        outcome
        if outcome.status is not Status.CHANGED or outcome.index in exact
        else replace(
            outcome,
            exact=False,
            max_abs_diff=None if worst is None else _difference(worst),
            measured_at=None if worst is None else worst.shapes,
        )
        for outcome in outcomes
    )


def _difference(run: Run) -> float:
    return max(run.max_abs_diff, run.from_scales or 0.0)


def without_their_chain(sites: Iterable[Site]) -> list[Site]:
    """Those whose scales or sizes a chain makes, which may read the tensor that they resize; a new operand needs none.

    In the place of a constant a new operand leaves every node around as it is.
    """
    return [site for site in sites if site.origin.chain]
