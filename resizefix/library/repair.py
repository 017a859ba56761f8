"""`resizefix.repair`: broken or fragile resizes fixed, and verified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.faults.fault import COORDINATES, EXTENTS, Fault, Preferences
from resizefix.faults.table import faults_in
from resizefix.interop import Model, opened
from resizefix.library.bounded import operation
from resizefix.library.raising import is_later, raised, require_raised_alike, with_raised
from resizefix.library.result import NOT_VERIFIED, Result, VerificationFailedError, failed, skipped
from resizefix.operations.repair import repair as make_repair
from resizefix.operations.repair import why_not_loaded
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.outcome import Outcome, Status
from resizefix.verification.conditions import ChangeOptions, Conditions, Unpack, conditions
from resizefix.verification.verification import Status as Verdict
from resizefix.verification.verification import Verification

_MOST_NAMED = 3


def known_faults(model: Model) -> list[tuple[str, Fault]]:
    """The faults of the model's resizes, each with the label of its node."""
    view = ModelView(opened(model))
    pairs = zip(sites_in(view), faults_in(view), strict=True)
    return [(site.label, fault) for site, faults in pairs for fault in faults]


@operation
def repair(
    document: Document,
    *,
    node: Sequence[str] = (),
    prefer: str | Sequence[str] | None = None,
    remove_identity: bool = False,
    opset: int | None = None,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Fix resizes that a converter broke or left fragile, keeping the meaning that was intended, and verify the result.

    Each outcome names the `fault`. A node whose intended meaning is not certain is refused with the possible readings.
    `prefer` decides: "scales" or "sizes" between two operands, "half_pixel" or "asymmetric" where nothing says how a
    node samples. It may be a list of one of each. `remove_identity` replaces a resize by 1 by Identity.
    `opset` raises the repaired model to that version of ai.onnx.
    The repaired model must run in onnxruntime at both optimisation levels, and each repaired node must compute its
    intended meaning bit for bit. Without `verify`, onnx.checker says whether it loads. Raises UsageError for options
    that do not fit, VerificationFailedError where the verification fails.
    """
    rules = conditions(**run)
    raises = is_later(document, opset)
    sites = select(find_sites(document), node)
    extent = next((word for word in prefer or () if word in EXTENTS), None)
    coordinates = next((word for word in prefer or () if word in COORDINATES), None)
    preferences = Preferences(extent, remove_identity, coordinates)
    found = _repaired(document, sites, preferences, rules if verify else None)
    if not raises:
        return found
    later = raised(found.model, opset)
    outcomes = with_raised(found.outcomes, sites, later, opset or 0)
    verification = found.verification
    if verify:
        alike = require_raised_alike(found.model, later, outcomes, rules)
        verification = verification if verification.runs else alike
    return Result(later, outcomes, (), verification)


def _left(document: Document) -> str:
    """Of each resize that is broken yet, why it was not repaired."""
    view = ModelView(document)
    found: list[str] = []
    for site, faults in zip(sites_in(view), faults_in(view), strict=True):
        if faults:
            fix = Diagnostic("library.not-selected") if faults[0].change is not None else faults[0].fix
            why = {"because": faults[0].because, "fix": fix}
            found.append(Diagnostic("library.fault-not-repaired", label=site.label, **why))
        elif site.interpolation is None:
            found.append(Diagnostic("library.not-repaired", label=site.label, why=site.reason))
    return ". ".join(found[:_MOST_NAMED]) or Diagnostic("library.fault-of-no-resize")


def _repaired(
    document: Document, sites: Sequence[Site], preferences: Preferences, rules: Conditions | None
) -> Result[Document]:
    """The repaired document, verified unless there are no `rules` for it."""
    made = make_repair(document, sites, preferences)
    changed = [outcome for outcome in made.outcomes if outcome.status is Status.CHANGED]
    if not changed:
        return Result(document, made.outcomes, (), skipped("library.nothing-repaired"))
    left = _left(made.document)
    if rules is None:
        why = why_not_loaded(made.document)
        if why is None:
            return Result(made.document, made.outcomes, (), NOT_VERIFIED)
        reason = Diagnostic("verification.repair-does-not-load", why=why, cause=left)
        raise _failed(document, made.outcomes, Verification(Verdict.FAILED, reason))

    # onnxruntime is imported where it runs
    from resizefix.verification.changed_nodes import Repair, RepairedNode, prove_repair

    wanted = {outcome.index for outcome in changed}
    nodes = [
        RepairedNode(site.label, site.output, site.interpolation, site.reading.operands)
        for site in find_sites(made.document)
        if site.index in wanted and not site.scope.path and isinstance(site, ReadSite)
    ]
    keeps = all(outcome.exact for outcome in changed)
    alone = [] if preferences.remove_identity else nodes
    verification, largest = prove_repair(Repair(document, made.document, alone, keeps, left), rules)
    if not verification.passed:
        raise _failed(document, made.outcomes, verification)
    difference = largest if math.isfinite(largest) else None  # another shape: no number says it
    at = verification.runs[0].shapes if verification.runs and difference else None
    outcomes = tuple(
        outcome if outcome.exact else replace(outcome, max_abs_diff=difference, measured_at=at)
        for outcome in made.outcomes
    )
    return Result(made.document, outcomes, (), verification)


def _failed(document: Document, outcomes: tuple[Outcome, ...], verification: Verification) -> VerificationFailedError:
    changed = [outcome.node for outcome in outcomes if outcome.status is Status.CHANGED]
    result, named = Result(document, outcomes, (), verification), ", ".join(changed[:_MOST_NAMED])
    return failed(result, "library.verification-failed-at", named=named, why=verification.reason)
