"""`resizefix.repair`: broken or fragile resizes fixed, and verified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.errors import VerificationFailedError
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.table import faults_in
from resizefix.interop import Model, opened, returned
from resizefix.library.bounded import operation
from resizefix.library.result import Result
from resizefix.operations.repair import repair as make_repair
from resizefix.operations.site import ReadSite
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.outcome import Status as Happened
from resizefix.verification.conditions import RunOptions, conditions
from resizefix.verification.verification import Status, Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack


def known_faults(model: Model) -> list[tuple[str, Fault]]:
    """The faults of the model's resizes, each with the label of its node."""
    view = ModelView(opened(model))
    pairs = zip(sites_in(view), faults_in(view), strict=True)
    return [(site.label, fault) for site, faults in pairs for fault in faults]


@operation
def repair(
    model: Model,
    *,
    node: Sequence[str] = (),
    prefer: str | None = None,
    remove_identity: bool = False,
    verify: bool = True,
    **run: Unpack[RunOptions],
) -> Result:
    """Fix resizes that a converter broke or left fragile, keeping the meaning that was intended, and verify the result.

    Each outcome names the `fault`. A node whose intended meaning is not certain is refused with the possible readings;
    `prefer` ("scales" or "sizes") decides between two operands. `remove_identity` replaces a resize by 1 by Identity.
    The repaired model must run in onnxruntime at both optimisation levels, and each repaired node must compute its
    intended meaning bit for bit. Raises UsageError for options that do not fit, VerificationFailedError where the
    verification fails.
    """
    document = opened(model)
    sites = select(find_sites(document), node)
    made = make_repair(document, sites, Preferences(prefer, remove_identity))
    changed = [outcome for outcome in made.outcomes if outcome.status is Happened.CHANGED]
    if not changed:
        nothing = Verification(Status.SKIPPED, Diagnostic("library.nothing-repaired"))
        return Result(returned(document, model), made.outcomes, (), nothing)
    if not verify:
        skipped = Verification(Status.SKIPPED, Diagnostic("library.switched-off-no-verify"))
        return Result(returned(made.document, model), made.outcomes, (), skipped)

    from resizefix.verification.repair import RepairedNode, prove_repair  # onnxruntime is imported where it runs

    rules = conditions(**run)
    wanted = {outcome.index for outcome in changed}
    nodes = [
        RepairedNode(site.label, site.output, site.interpolation, site.reading.operands)
        for site in find_sites(made.document)
        if site.index in wanted and not site.scope.path and isinstance(site, ReadSite)
    ]
    keeps = all(outcome.exact for outcome in changed)
    left = list(dict.fromkeys(label for label, _ in known_faults(made.document)))
    verification, largest = prove_repair(
        document, made.document, [] if remove_identity else nodes, rules, keeps_numbers=keeps, left=left
    )
    if not verification.passed:
        result = Result(document, made.outcomes, (), verification)
        named = ", ".join(outcome.node for outcome in changed[:3])
        raise VerificationFailedError(
            "library.verification-failed-4", named=named, why=verification.reason, result=result
        )
    difference = largest if math.isfinite(largest) else None  # another shape: no number says it
    at = verification.runs[0].shapes if verification.runs and difference else None
    outcomes = tuple(
        outcome if outcome.exact else replace(outcome, max_abs_diff=difference, measured_at=at)
        for outcome in made.outcomes
    )
    return Result(returned(made.document, model), outcomes, (), verification)
