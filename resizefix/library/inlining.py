"""`inline` of calls that cannot work inside local functions: they are inlined first, which is verified by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import node_text
from resizefix.document.view import View
from resizefix.errors import RefusedError
from resizefix.library import seam
from resizefix.library.result import Result, failed
from resizefix.operations.sites import find_sites
from resizefix.outcome import ModelOutcome, Outcome, Status
from resizefix.runtimes.limits import BrokenOffError
from resizefix.verification.conditions import DEFAULTS, Conditions, conditions
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Verification, VerificationStatus

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
    return seam.submitted(document, flat, Plan(changed, is_rebuilt=True))


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
