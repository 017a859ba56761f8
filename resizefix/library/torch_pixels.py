"""`repair --prefer pytorch` where no scale takes PyTorch's pixels: they are gathered, verified against its formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resizefix.document.document import Document
from resizefix.library import seam
from resizefix.library.result import Result, failed, not_verified
from resizefix.operations.site import Site
from resizefix.operations.torch_indices import gathered_outcome, with_torch_indices
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Conditions


def with_pixels_gathered(
    repaired: Result[Document], sites: Sequence[Site], rules: Conditions, *, verify: bool
) -> Result[Document]:
    """The result, in which those of the sites are Gathers that cannot be a Resize; the same where there are none.

    Raises VerificationFailedError where a node does not take the elements that torch's formula names, or the model
    computes anything else than with that formula in the node's place.
    """
    by_key = {site.key: site for site in sites}
    before = repaired.model
    changed, gathered = with_torch_indices(before, by_key)
    if not gathered:
        return repaired
    after = seam.submitted(before, changed, Plan(frozenset(gathered)))
    nodes = {by_key[key].index: node for key, node in gathered.items()}
    outcomes = tuple(
        gathered_outcome(outcome, nodes[outcome.index]) if outcome.index in nodes else outcome
        for outcome in repaired.outcomes
    )
    if not verify:
        return replace(repaired, model=after, outcomes=outcomes, verification=not_verified())

    # onnxruntime is imported where it runs
    from resizefix.verification.pixels_of_torch import with_formula_of_torch
    from resizefix.verification.verify import prove_rewrite

    lengths = {key: {axis: one.out for axis, one in node.axes.items()} for key, node in gathered.items()}
    reference = with_formula_of_torch(before, lengths)
    verification = prove_rewrite(reference, after, {key: node.data for key, node in gathered.items()}, 0.0, rules)
    if not verification.passed:
        raise failed(Result(before, outcomes, (), verification), why=verification.reason)
    joined = replace(verification, runs=(*repaired.verification.runs, *verification.runs))
    return replace(repaired, model=after, outcomes=outcomes, verification=joined)
