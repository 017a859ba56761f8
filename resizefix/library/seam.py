"""The seam between an operation and its proof: every candidate of every command that writes passes through it; and how
a rewrite that computes the same is proven."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.library.result import Result, failed, measured, not_verified, skipped
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.outcome import ErrorBound, Outcome
from resizefix.scope_path import Key
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Conditions, Verification, VerificationStatus

# Of an output's largest value, where a node was replaced by others that add in another order.
LOWERED_BOUND = 1e-5
# Where the user allowed approximations: what is measured is reported; this much would be another picture.
INEXACT_BOUND = 0.5


def submitted(before: Document, candidate: Document, plan: Plan) -> Document:
    """The candidate, to be proven and then written; with or without verification it differs as planned alone.

    Callers name it as an attribute of this module, so that a test can put errors in between. Raises
    VerificationFailedError for anything that differs outside the plan.
    """
    from resizefix.verification.outside_plan import outside_plan  # of what was changed

    why = outside_plan(before, candidate, plan)
    if why is not None:
        raise failed(Result(before, (), (), Verification(VerificationStatus.FAILED, why)))
    return candidate


def proven(
    before: Document, made: Rewritten, changed: Sequence[Site], allowed: float, rules: Conditions | None
) -> Result:
    """The result if it is proven. `allowed` is the largest difference for a rewrite that is not exact, as a part of an
    output's largest value."""
    outcomes = made.outcomes
    if not changed:
        return Result(before, outcomes, (), skipped("library.nothing-rewritten"))
    after = made.document
    if rules is None:
        return Result(after, measured(outcomes, changed, not_verified()), (), not_verified())

    # onnxruntime is imported where something is run
    from resizefix.verification.compare import half_units
    from resizefix.verification.verify import prove_rewrite

    exact = all(outcome.exact for outcome in outcomes)
    is_lowered = not exact and allowed == LOWERED_BOUND  # which --allow-inexact widens
    allowed = max(0.0 if exact else allowed, half_units(site.elem_type for site in changed))
    data = {site.key: site.input for site in changed}
    bounds = bounds_of(outcomes, changed)
    verification = prove_rewrite(before, after, data, allowed, rules, bounds=bounds)
    with_measures = measured(outcomes, changed, verification)
    if not verification.passed:
        advice = _if_inexact_passes(verification, allowed) if is_lowered else ""
        result = Result(before, with_measures, (), verification)
        raise failed(result, why=f"{verification.reason}{advice}")
    return Result(after, with_measures, (), verification)


def bounds_of(outcomes: Sequence[Outcome], changed: Sequence[Site]) -> dict[Key, ErrorBound]:
    """How near each changed node comes to what stood there, as its outcome says."""
    keys = {site.index: site.key for site in changed}
    return {
        keys[one.index]: ErrorBound(one.exact, one.bound or 0.0, drift=one.drift)
        for one in outcomes
        if one.index in keys and (one.exact or one.bound is not None)
    }


def _if_inexact_passes(verification: Verification, allowed: float) -> str:
    """What lets the difference pass at which the proof stopped: a last bit of a sum may turn a rounding behind it."""
    difference = verification.runs[-1].max_rel_diff if verification.runs else 0.0
    if not allowed < difference <= INEXACT_BOUND:
        return ""
    return Diagnostic("library.allow-inexact-passes", most=INEXACT_BOUND)
