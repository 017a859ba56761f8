"""The seam between an operation and its proof: every candidate of every command that writes passes through it; and how
a rewrite that computes the same is proven.

What is done to a model before a call is proven by itself: local functions are inlined for calls that cannot work inside
them (`inline`), and the model is raised to a later opset (`opset`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.text import node_text
from resizefix.document.view import View
from resizefix.library.result import Result, failed, measured, not_verified, skipped
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.outcome import ErrorBound, ModelOutcome, Outcome, Status
from resizefix.runtimes.limits import BrokenOffError
from resizefix.scope_path import Key
from resizefix.verification.plan import Plan
from resizefix.verification.verification import DEFAULTS, Conditions, Verification, VerificationStatus, conditions

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


Asks = Callable[[Document, dict[str, Any]], bool]


def inlining_first(function: Callable[..., Result], asks: Asks | None) -> Callable[..., Result]:
    """The call, which inlines the local functions first where its options say `inline` or `asks` says that it is
    needed. That is proven to give every bit of the original. None: the call has no such option."""

    def call(document: Document, **options: Any) -> Result[Document]:
        if asks is None or not document.proto.functions or not (options.get("inline") or asks(document, options)):
            return function(document, **options)
        flat = inlined(document)
        result = function(flat, **options)
        if result.outcome in (ModelOutcome.REFUSED, ModelOutcome.FAILED) and not result.changed:
            return replace(result, model=document)
        return _joined(document, flat, result, options)

    return call


def never(document: Document, options: dict[str, Any]) -> bool:
    """Of a call that inlines functions only where it is asked to."""
    return False


def inlined(document: Document) -> Document:
    """A copy without local functions: each call is replaced by what it calls. Raises RefusedError where one stays."""
    from resizefix.opsets.lowering import inline_functions  # few models have local functions

    flat = document.copy()
    inline_functions(flat.proto)
    if flat.proto.functions:
        left = flat.proto.functions[0]
        raise RefusedError("library.function-stays", name=f"{left.domain}::{left.name}")
    scopes = View(document.proto).scopes
    calls = ((scope, scope.body.node[index]) for places in scopes.calls.values() for scope, index in places)
    changed = frozenset((scope.path, name) for scope, node in calls for name in node.output if name)
    return submitted(document, flat, Plan(changed, is_rebuilt=True))


def _joined(document: Document, flat: Document, result: Result, options: dict[str, Any]) -> Result:
    """The result, with the runs that compare the model without functions with the original."""
    outcomes = tuple(_said(outcome, flat) for outcome in result.outcomes)
    if not options.get("verify", True):
        return replace(result, outcomes=outcomes)
    from resizefix.verification.verify import prove_rewrite  # onnxruntime is imported where something is run

    rules = conditions(**{name: value for name, value in options.items() if name in DEFAULTS})
    same = prove_rewrite(document, flat, {}, 0.0, rules)
    if not same.runs and _does_not_load(document, rules):  # a broken model, of which `result` is the repair
        reason = "; ".join(filter(None, (result.verification.reason, Diagnostic("library.inlined-uncompared"))))
        return replace(result, outcomes=outcomes, verification=replace(result.verification, reason=reason))
    why = same.reason if not same.passed else None
    if why is None and not (same.runs and all(run.bitwise for run in same.runs if not run.optimized)):
        why = Diagnostic("library.inlined-otherwise")
    if why is not None:
        raise failed(Result(document, outcomes, (), replace(same, status=VerificationStatus.FAILED, reason=why)))
    return replace(result, outcomes=outcomes, verification=_together(same, result.verification))


def _does_not_load(document: Document, rules: Conditions) -> bool:
    from resizefix.runtimes.ort_session import CannotLoadError
    from resizefix.verification.engine import Engine

    try:
        Engine(rules, "the model").open(document, optimized=False)
    except CannotLoadError:
        return True
    except BrokenOffError:
        return False
    return False


def _together(same: Verification, proof: Verification) -> Verification:
    note = Diagnostic("library.functions-were-inlined")
    reason = f"{proof.reason}; {note}" if proof.runs and proof.reason else note
    if proof.runs:
        return replace(proof, runs=(*same.runs, *proof.runs), reason=reason)
    return replace(same, reason=reason)


def _said(outcome: Outcome, flat: Document) -> Outcome:
    """An outcome of a node that the call left as it is: it stands in another place at least."""
    site = next((site for site in find_sites(flat) if site.index == outcome.index), None)
    if outcome.status is not Status.UNCHANGED or site is None:
        return outcome
    reason = Diagnostic("library.inlined")
    return replace(outcome, status=Status.CHANGED, reason=reason, after=(node_text(site.node),))


def raised(document: Document, opset: int | None, rounding: Mapping[Key, str] | None = None) -> Document:
    """The document in that opset; itself where none is asked for, or it has it.

    `rounding`: the nearest mode of nodes that round both ways before opset 11, and get another mode then. Raises
    UsageError for an older opset, RefusedError with the first operator that cannot be raised.
    """
    if not is_later(document, opset):
        return document
    from resizefix.opsets.raising import raised_to  # few models are raised

    return submitted(document, raised_to(document, opset or 0, rounding=rounding), Plan(opset=opset))


def is_later(document: Document, opset: int | None) -> bool:
    """Whether the document is to be raised. Raises UsageError for an opset that is older than its own."""
    current = default_opset(document.proto.opset_import, fallback=1)
    if opset is not None and opset < current:
        raise UsageError("library.opset-not-lowered", current=current, opset=opset)
    return opset is not None and opset > current


def require_raised_alike(
    original: Document,
    base: Document,
    outcomes: tuple[Outcome, ...],
    rules: Conditions,
    feeds: Mapping[str, Any] | None = None,
) -> Verification:
    """Raises VerificationFailedError unless `base`, the original raised, gives every bit of the original without
    optimisation. The error names the node where they part.

    `feeds` are values for inputs that are not left to random ones.
    """
    from resizefix.verification.verify import prove_rewrite

    resized = {site.key: site.input for site in find_sites(original)}
    verification = prove_rewrite(original, base, resized, 0.0, rules, feeds=feeds)
    why = verification.reason if not verification.passed else _why_not_bitwise(original, base, verification, rules)
    if why is not None or not verification.passed:
        result = Result(original, outcomes, (), replace(verification, status=VerificationStatus.FAILED, reason=why))
        opset = default_opset(base.proto.opset_import, fallback=1)
        raise failed(result, "library.raised-otherwise", why=why, opset=opset)
    return verification


def _why_not_bitwise(original: Document, base: Document, verification: Verification, rules: Conditions) -> str | None:
    """Where last bits differ, which a verification allows half precision; None: every bit agrees."""
    if all(run.bitwise for run in verification.runs if not run.optimized):
        return None
    from resizefix.verification.verify import first_differing_node  # onnxruntime is imported where it runs

    node = first_differing_node(original, base, rules)
    if node is None:
        return Diagnostic("library.raised-bits-somewhere")
    return Diagnostic("library.raised-bits", operator=node.op_type, label=node.name or node.output[0])


def with_raised(
    outcomes: Sequence[Outcome], before: Sequence[Site], after: Document, opset: int
) -> tuple[Outcome, ...]:
    """The outcomes of a model that is raised too: every node that is not refused is changed by that alone.

    `before` are the sites of the outcomes in the original; `after` is what comes of all.
    """
    now = {site.key: site for site in find_sites(after)}
    updated = []
    for outcome, old in zip(outcomes, before, strict=True):
        new = now.get(old.key)
        text = outcome.after if new is None else (node_text(new.node),)
        if outcome.status is Status.UNCHANGED:
            reason = Diagnostic("library.raised", opset=opset, reason=outcome.reason)
            outcome = replace(outcome, status=Status.CHANGED, reason=reason)
        is_changed = outcome.status is Status.CHANGED
        updated.append(replace(outcome, before=node_text(old.node), after=text if is_changed else outcome.after))
    return tuple(updated)
