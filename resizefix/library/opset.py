"""`resizefix.opset`: the model in another version of ai.onnx, up or down, verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.structure import why_invalid
from resizefix.faults.table import faults_in
from resizefix.library import seam
from resizefix.library.bounded import operation
from resizefix.library.result import Demand, Result, failed, measured, not_done, not_verified, skipped
from resizefix.library.seam import INEXACT_BOUND, LOWERED_BOUND, bounds_of, never
from resizefix.operations.change_opset import lowered_to
from resizefix.operations.change_opset import raised_to as raised
from resizefix.operations.repair import why_resizes_refused
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import find_sites
from resizefix.outcome import ErrorBound, Outcome, Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import half_units
from resizefix.verification.plan import Plan
from resizefix.verification.verification import (
    ChangeOptions,
    Conditions,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

HAS_IT = Diagnostic("library.has-this-opset")
_REPAIR = ("repair", "IN", "OUT")


@operation(Demand(every=True), inlines=never)
def opset(
    document: Document,
    *,
    opset: int | None = None,
    inline: bool = False,
    allow_inexact: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Bring the model into another opset, up or down: every operator exactly, or nothing is done.

    What is in the way stands in `result.blockers`, each with its operator and what to do, and in the outcomes of the
    resizes. Local functions, bodies, and operators of other domains stay what they are. `result.steps` says what became
    of which node. `inline`: local functions are inlined first. `allow_inexact` lets nodes become others that round
    otherwise; the difference is measured. Raises VerificationFailedError where the verification fails.
    """
    if opset is None:
        raise UsageError("library.no-opset")
    current = default_opset(document.proto.opset_import, fallback=1)
    sites = find_sites(document)
    if opset == current:
        outcomes = tuple(site.outcome(Status.UNCHANGED, HAS_IT) for site in sites)
        return Result(document, outcomes, (), Verification(VerificationStatus.SKIPPED, HAS_IT))
    broken = _broken(document, sites)
    if broken:
        return Result(document, broken, (), skipped("library.nothing-converted"))
    if opset > current:
        changed = raised(document, opset, allow_inexact=allow_inexact)
    else:
        changed = lowered_to(document, opset, allow_inexact=allow_inexact)
    if not changed.complete:
        return Result(document, not_done(changed.outcomes), (), skipped("library.nothing-converted"), changed.blockers)
    candidate = seam.submitted(document, changed.document, Plan(changed.touched, opset=opset))
    why = why_invalid(candidate.proto)
    if why is not None and why_invalid(document.proto) is None:
        raise failed(Result(document, changed.outcomes, (), Verification(VerificationStatus.FAILED, why)))
    if not verify:
        return Result(candidate, changed.outcomes, (), not_verified(), steps=changed.steps)
    return _proven(document, changed.with_document(candidate), opset, conditions(**run))


def _broken(document: Document, sites: Sequence[Site]) -> tuple[Outcome, ...]:
    """The outcomes where a resize keeps onnxruntime from loading the model, so that nothing shows what it computes:
    `repair` comes first. None where it loads as far as is known."""
    view = ModelView(document)
    why: dict[int, Diagnostic] = {}
    for site, faults in zip(sites, faults_in(view), strict=True):
        stopping = next((fault.because for fault in faults if fault.stops_loading), None)
        if stopping is not None or not isinstance(site, ReadSite):
            loads = stopping is None and why_resizes_refused(document) is None
            because = stopping or site.reason
            if loads:
                why[site.index] = Diagnostic("operations.repair-before-opset", why=because)
            else:
                operator = site.node.op_type
                why[site.index] = Diagnostic("operations.repair-before-loading", operator=operator, why=because)
    if not why:
        return ()
    return tuple(
        site.outcome(Status.REFUSED, why[site.index], instead=_REPAIR)
        if site.index in why
        else site.outcome(Status.UNCHANGED, Diagnostic("library.nothing-converted"))
        for site in sites
    )


def _proven(document: Document, rewritten: Rewritten, opset: int, rules: Conditions) -> Result[Document]:
    """The result, if both models compute the same: bit for bit without optimisation, unless nodes round otherwise."""
    from resizefix.verification.verify import first_differing_node, prove_rewrite  # onnxruntime is imported here

    view = ModelView(document)
    places = ((str(path), view.scopes.by_path[path].producers[name], (path, name)) for path, name in rewritten.touched)
    data = {}
    for _, index, (path, name) in sorted(places, key=lambda place: (*place[:2], place[2][1])):  # a set has no order
        inputs = view.scopes.by_path[path].body.node[index].input
        if inputs and inputs[0]:
            data[path, name] = inputs[0]
    changed = [one for one, outcome in zip(find_sites(document), rewritten.outcomes, strict=True) if outcome.after]
    bounds = {key: ErrorBound() for key in data} | bounds_of(rewritten.outcomes, changed)
    bounds |= {step.key: step.error for step in rewritten.steps if step.key in data}
    unknown = any(not outcome.exact and outcome.bound is None for outcome in rewritten.outcomes)
    allowed = 0.0 if rewritten.exact else max(INEXACT_BOUND if unknown else LOWERED_BOUND, _half(view))
    verification = prove_rewrite(document, rewritten.document, data, allowed, rules, bounds=bounds)
    why = None if verification.passed else verification.reason
    if why is None and rewritten.exact and not all(run.bitwise for run in verification.runs if not run.optimized):
        node = first_differing_node(document, rewritten.document, rules)
        why = Diagnostic("library.raised-bits-somewhere")
        if node is not None:
            why = Diagnostic("library.raised-bits", operator=node.op_type, label=node.name or node.output[0])
    outcomes = measured(rewritten.outcomes, [] if rewritten.exact else changed, verification)
    if why is not None:
        result = Result(document, outcomes, (), replace(verification, status=VerificationStatus.FAILED, reason=why))
        raise failed(result, "library.raised-otherwise", why=why, opset=opset)
    return Result(rewritten.document, outcomes, (), verification, steps=rewritten.steps)


def _half(view: ModelView) -> float:
    holds = any(value.type.tensor_type.elem_type == TensorProto.FLOAT16 for value in view.model.graph.output)
    return half_units([TensorProto.FLOAT16]) if holds else 0.0
