"""`set form=resize`: interpolation that is written as other operators becomes Resize, verified against the original."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.library import seam
from resizefix.library.result import Result, failed, not_verified, skipped
from resizefix.library.seam import LOWERED_BOUND, raised
from resizefix.operations.as_resize import places, write_as_resize
from resizefix.operations.sites import find_sites
from resizefix.operations.written_resizes import resizes_at_one_size, size_to_fix
from resizefix.outcome import ErrorBound, Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.plan import Plan
from resizefix.verification.verification import ChangeOptions, conditions

NOTHING = "library.nothing-changed"


def set_resize(
    document: Document, node: Sequence[str], opset: int | None, run: ChangeOptions, *, verify: bool
) -> Result[Document]:
    """The document with Resize nodes in the place of the selected nodes. Raises UsageError for a pattern that selects
    none, RefusedError where there is nothing to write, VerificationFailedError where the result computes otherwise."""
    base = raised(document, opset)
    sites = find_sites(base)
    view = ModelView(base)
    found = places(view)
    written = write_as_resize(view, found, node, len(sites))
    if node and not written.outcomes:
        raise UsageError("library.no-written-resize", pattern=", ".join(node))
    if not written.outcomes:
        if resizes_at_one_size(view):
            raise RefusedError("library.written-at-one-size", size=size_to_fix(view))
        if not sites:
            raise RefusedError("library.nothing-written-as-resize")
        is_one = Diagnostic("library.is-a-resize")
        return Result(document, tuple(site.outcome(Status.UNCHANGED, is_one) for site in sites), (), skipped(NOTHING))
    if not written.touched:
        return Result(document, written.outcomes, (), skipped(NOTHING))
    changed = seam.submitted(base, written.document, Plan(written.touched))
    rules = conditions(**run)
    if not verify:
        return Result(changed, written.outcomes, (), not_verified())
    if any(place.source is not None for place in found if place.key in written.touched):
        return Result(changed, written.outcomes, (), skipped("library.resize-not-run"))
    from resizefix.verification.verify import prove_rewrite  # onnxruntime is imported where it runs

    resizes = {one.index: found[one.index - len(sites)] for one in written.outcomes if one.status is Status.CHANGED}
    bounds = {
        resizes[one.index].key: ErrorBound(one.exact, one.bound or 0.0)
        for one in written.outcomes
        if one.index in resizes
    }
    exact = all(bound.exact for bound in bounds.values())
    near = max(bound.bound for bound in bounds.values())
    allowed = 0.0 if exact or not near else max(LOWERED_BOUND, near)
    data = {place.key: place.x for place in resizes.values()}
    verification = prove_rewrite(document, changed, data, allowed, rules, bounds=bounds)
    if not verification.passed:
        raise failed(Result(document, written.outcomes, (), verification), why=verification.reason)
    if exact and not all(run.bitwise for run in verification.runs if not run.optimized):
        why = Diagnostic("library.raised-bits-somewhere")
        raise failed(Result(document, written.outcomes, (), verification), why=why)
    return Result(changed, written.outcomes, (), verification)
