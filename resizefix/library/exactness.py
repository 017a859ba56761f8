"""What the outcomes call exact: what was compared bit for bit, or cannot differ; else the measured difference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from onnx import TensorProto

from resizefix.operations.sites import Site
from resizefix.outcome import Outcome, Status
from resizefix.verification.verification import Verification

HALF = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})


def measured(outcomes: Sequence[Outcome], verification: Verification) -> tuple[Outcome, ...]:
    """The outcomes with what the runs say: not exact where the operation says so or a run was not bitwise.

    Runs at the default level do not count: there the original itself is fused, and its sums are in another order.
    """
    runs = [run for run in verification.runs if not run.optimized]
    if not runs:
        return tuple(outcomes)
    bitwise = all(run.bitwise for run in runs)
    largest = max(run.max_abs_diff for run in runs)
    return tuple(
        outcome
        if outcome.status is not Status.CHANGED or (outcome.exact and bitwise)
        else replace(outcome, exact=False, max_abs_diff=largest)
        for outcome in outcomes
    )


def unmeasured(outcomes: Sequence[Outcome], sites: Collection[Site]) -> tuple[Outcome, ...]:
    """The outcomes where nothing was run: half precision is then not called exact.

    onnxruntime computes it in float32 between casts whose places depend on the neighbouring nodes, so that the last bit
    can change though every node says what it said.
    """
    if not any(site.elem_type in HALF for site in sites):
        return tuple(outcomes)
    return tuple(replace(outcome, exact=False) if outcome.status is Status.CHANGED else outcome for outcome in outcomes)
