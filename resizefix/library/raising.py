"""`--opset N` of every call that changes a model: it is raised first, and what that makes is verified by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.text import node_text
from resizefix.errors import UsageError
from resizefix.library import seam
from resizefix.library.result import Result, failed
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.verification.conditions import Conditions
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Verification, VerificationStatus


def raised(document: Document, opset: int | None, rounding: Mapping[Key, str] | None = None) -> Document:
    """The document in that opset; itself where none is asked for, or it has it.

    `rounding`: the nearest mode of nodes that round both ways before opset 11, and get another mode then. Raises
    UsageError for an older opset, RefusedError with the first operator that cannot be raised.
    """
    if not is_later(document, opset):
        return document
    from resizefix.opsets.raising import raised_to  # few models are raised

    return seam.submitted(document, raised_to(document, opset or 0, rounding=rounding), Plan(opset=opset))


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
