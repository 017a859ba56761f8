"""`--opset N` of every call that changes a model: it is raised first, and what that makes is verified by itself."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.errors import UsageError, VerificationFailedError
from resizefix.library.result import Result
from resizefix.operations.site import Site
from resizefix.origins.origin import OriginKind
from resizefix.outcome import Outcome
from resizefix.verification.conditions import Conditions


def raised(document: Document, opset: int | None) -> Document:
    """The document in that opset; itself where none is asked for, or it has it.

    Raises UsageError for an older opset, RefusedError with the first operator that cannot be raised.
    """
    current = default_opset(document.proto.opset_import, fallback=1)
    if opset is None or opset == current:
        return document
    if opset < current:
        raise UsageError("library.opset-only-raised", current=current, opset=opset)
    from resizefix.opsets.raising import raised_to  # few models are raised

    return raised_to(document, opset)


def require_raised_alike(
    original: Document, base: Document, sites: Sequence[Site], outcomes: tuple[Outcome, ...], rules: Conditions
) -> None:
    """Raises VerificationFailedError unless `base`, the original raised, computes what the original does."""
    from resizefix.verification.rewrite import prove_rewrite

    attributes = {site.key: site.input for site in sites if site.origin.kind is OriginKind.ATTRIBUTE}
    verification = prove_rewrite(original, base, attributes, 0.0, rules)
    if not verification.passed:
        result = Result(original, outcomes, (), verification)
        opset = default_opset(base.proto.opset_import, fallback=1)
        raise VerificationFailedError("library.raised-otherwise", opset=opset, why=verification.reason, result=result)
