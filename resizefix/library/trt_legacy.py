"""`resizefix.trt_legacy`: the form of TensorRT's first parsers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.library import seam
from resizefix.library.advice import with_size
from resizefix.library.bounded import operation
from resizefix.library.result import Demand, Result, not_done, skipped
from resizefix.library.seam import INEXACT_BOUND, LOWERED_BOUND, proven
from resizefix.operations.replacement import Allowance
from resizefix.operations.sites import find_sites
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.tensorrt import LEGACY_TARGETS
from resizefix.verification.plan import Plan
from resizefix.verification.verification import (
    ChangeOptions,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

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
