"""`resizefix.trt_legacy`: the form of TensorRT's first parsers; and how a rewrite that computes the same is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic
from resizefix.difference import ErrorBound
from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.library import seam
from resizefix.library.advice import with_size
from resizefix.library.bounded import operation
from resizefix.library.result import Demand, Result, failed, measured, not_done, not_verified, skipped
from resizefix.operations.replacement import Allowance
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.outcome import Outcome
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.tensorrt import LEGACY_TARGETS
from resizefix.verification.plan import Plan
from resizefix.verification.verification import (
    ChangeOptions,
    Conditions,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

# Of an output's largest value, where a node was replaced by others that add in another order.
LOWERED_BOUND = 1e-5
# Where the user allowed approximations: what is measured is reported; this much would be another picture.
INEXACT_BOUND = 0.5
NOTHING_TO_DO = Diagnostic("library.nothing-to-do")


@operation(Demand(every=True), advice=with_size)
def trt_legacy(
    document: Document,
    *,
    target: str = "tensorrt-5.0",
    node: Sequence[str] = (),
    hybrid: bool = False,
    allow_inexact: bool = False,
    lower: bool = True,
    size: tuple[int, int] | None = None,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Bring the model into the form of TensorRT's first parsers: Upsample-7 with a `scales` attribute, opset 8, IR 3.

    `target`, a TensorRT from 5.0 to 7.2, accepts the result by its rules: other operators take the place of an
    Upsample-7 that it would refuse or compute otherwise. Where any node or operator stands in the way nothing is
    converted: the outcomes and `result.blockers` name everything at once. `hybrid` imports opset 9 all the same, as old
    tutorials do: invalid ONNX, so the same model at opset 8 is verified. `size` is the height and width that open axes
    of image inputs get first, so that sizes computed from them are constants. Raises VerificationFailedError where the
    verification fails.
    """
    wanted = target_named(target)
    if wanted not in LEGACY_TARGETS:
        raise UsageError(
            "library.no-legacy-target", target=wanted.name, known=", ".join(x.name for x in LEGACY_TARGETS)
        )
    from resizefix.operations.trt_legacy import hybrid as make_hybrid
    from resizefix.operations.trt_legacy import trt_legacy as make_legacy
    from resizefix.opsets.lowering import OPSET

    rewritten = make_legacy(document, allowance=Allowance(allow_inexact, lower), patterns=node, target=wanted)
    if not verify:  # else a run shows whether branches give one size
        from resizefix.opsets.subgraphs import open_branches

        rewritten = replace(rewritten, blockers=(*rewritten.blockers, *open_branches(ModelView(document))))
    if not rewritten.complete:
        return Result(
            document, not_done(rewritten.outcomes), (), skipped("library.nothing-converted"), rewritten.blockers
        )
    sites = find_sites(document)
    if rewritten.document.light_bytes() == document.light_bytes() or not sites:
        nothing = Verification(VerificationStatus.SKIPPED, NOTHING_TO_DO)
        return Result(document, rewritten.outcomes, (), nothing)
    rules = conditions(**run) if verify else None
    near = [step for step in rewritten.steps if not step.error.exact]
    if near:  # the file as a whole comes near only
        operators = ", ".join(sorted({step.op_type for step in near if step.op_type}))
        notes: list[str] = [Diagnostic("library.older-forms-round", operators=operators)] if operators else []
        notes += dict.fromkeys(step.error.note for step in near if not step.op_type)
        rounded = (
            replace(outcome, exact=False, reason="; ".join(part for part in (outcome.reason, *notes) if part))
            for outcome in rewritten.outcomes
        )
        rewritten = replace(rewritten, outcomes=tuple(rounded))
    plan = Plan(frozenset(site.key for site in sites), opset=OPSET, is_rebuilt=True)
    rewritten = rewritten.with_document(seam.submitted(document, rewritten.document, plan))
    result = proven(document, rewritten, sites, INEXACT_BOUND if allow_inexact else LOWERED_BOUND, rules)
    if not hybrid:
        return result
    verification = replace(result.verification, reason=Diagnostic("library.hybrid-verified-at-8"))
    return replace(result, model=make_hybrid(result.model), verification=verification)


def proven(
    before: Document, rewritten: Rewritten, changed: Sequence[Site], allowed: float, rules: Conditions | None
) -> Result:
    """The result if it is proven. `allowed` is the largest difference for a rewrite that is not exact, as a part of an
    output's largest value."""
    outcomes = rewritten.outcomes
    if not changed:
        return Result(before, outcomes, (), skipped("library.nothing-rewritten"))
    after = rewritten.document
    if rules is None:
        return Result(after, measured(outcomes, changed, not_verified()), (), not_verified())

    # onnxruntime is imported where something is run
    from resizefix.verification.bounds import half_units
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
