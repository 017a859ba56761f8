"""`resizefix.promote_scales`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from resizefix.document.shapes import Key
from resizefix.errors import VerificationFailedError
from resizefix.interop import Model, opened, returned
from resizefix.library.result import Result
from resizefix.operations.promote_scales import Naming, Promotion
from resizefix.operations.promote_scales import promote_scales as promote
from resizefix.operations.sites import Site, find_sites, select
from resizefix.promotion import Form
from resizefix.verification.conditions import conditions
from resizefix.verification.verification import Coupling, Status, Verdict, Verification


def promote_scales(
    model: Model,
    *,
    form: Form | str = Form.SCALES,
    input_name: str | None = None,
    shared: bool = False,
    keep_default: bool = False,
    node: Sequence[str] = (),
    allow_coupled: bool = False,
    verify: bool = True,
    shape: Mapping[str, Sequence[int]] | None = None,
    at: Sequence[Sequence[float]] = (),
    seed: int = 0,
    custom_op_library: Sequence[str] = (),
) -> Result:
    """Turn constant scales into graph inputs, and prove with onnxruntime that nothing else changed.

    Without `node` patterns every promotable site is promoted that is free, that is, whose scale can move while
    the model still runs; a coupled one is refused with the node where it breaks, unless `allow_coupled`. The options
    are those of
    `resizefix promote-scales`. Raises UsageError for options that do not fit the model, VerificationFailedError
    (with a `result` whose model is the original) where the new model is not proven to compute what the old one does.
    """
    document = opened(model)
    sites = select(find_sites(document), node)
    naming = Naming(input_name, shared)
    candidate = promote(document, sites, form=Form(form), naming=naming, keep_default=keep_default)
    if not candidate.inputs or not verify:
        reason = "nothing was promoted" if not candidate.inputs else "switched off (--no-verify)"
        return _result(candidate, model, Verification(Status.SKIPPED, reason))

    from resizefix.verification.proof import Prover  # onnxruntime is imported where something is run

    prover = Prover(document, conditions(shape, seed, custom_op_library, at))
    coupling = prover.couplings(candidate.document, candidate.inputs)
    refused = {} if allow_coupled else _refusals(sites, coupling, shared)
    if refused:
        candidate = promote(document, sites, form=Form(form), naming=naming, keep_default=keep_default, refused=refused)
    if not candidate.inputs:
        nothing = Verification(Status.SKIPPED, "nothing was promoted", coupling=tuple(coupling.values()))
        return _result(candidate, model, nothing)
    verification = prover.prove(candidate.document, candidate.inputs, coupling)
    if not verification.passed:
        result = Result(document, candidate.outcomes, candidate.inputs, verification)
        raise VerificationFailedError(f"verification failed: {verification.reason}", result=result)
    return _result(candidate, model, verification)


def _refusals(sites: Sequence[Site], coupling: Mapping[Key, Coupling], shared: bool) -> dict[int, str]:
    refused = {}
    for site in sites:
        found = coupling.get(site.key)
        if found is None or found.verdict is not Verdict.COUPLED:
            continue
        if shared:
            what, instead = "the selected sites together", "select fewer with -n"
        else:
            what, instead = "it alone", "try --shared, one input for all sites"
        refused[site.index] = (
            f"another scale of {what} breaks the model at {found.breaks_at!r}, where sizes must fit; {instead}, or "
            "promote it all the same with --allow-coupled"
        )
    return refused


def _result(promotion: Promotion, like: Model, verification: Verification) -> Result:
    return Result(returned(promotion.document, like), promotion.outcomes, promotion.inputs, verification)
