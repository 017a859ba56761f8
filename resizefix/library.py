"""The calls a user makes: each composes an operation with its verification and gives back the kind of model it was
given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto

from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.errors import VerificationFailedError
from resizefix.interop import Model, opened, returned
from resizefix.operations.promote_scales import Naming, Promotion
from resizefix.operations.promote_scales import promote_scales as promote
from resizefix.operations.sites import Site, find_sites, select
from resizefix.outcome import Outcome, Status
from resizefix.promotion import Form, PromotedInput
from resizefix.verification.verification import Coupling, Verdict, Verification
from resizefix.verification.verification import Status as VerificationStatus


@dataclass(frozen=True, eq=False)
class Result:
    """What an operation made.

    `model` is of the type given (for a path: a document with `.save(path)`); `outcomes` holds one entry for each
    selected site; `inputs` the new graph inputs, each with the value that gives the old numbers.
    """

    model: Document | ModelProto
    outcomes: tuple[Outcome, ...]
    inputs: tuple[PromotedInput, ...]
    verification: Verification

    @property
    def changed(self) -> bool:
        """Whether any site was changed."""
        return any(outcome.status is Status.CHANGED for outcome in self.outcomes)


def inspect(model: Model) -> list[Site]:
    """Every Upsample/Resize of the model: what it computes, where its scales come from, whether they can be
    promoted."""
    return find_sites(opened(model))


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

    Without `node` patterns every promotable site is promoted that is free, that is, whose scale can move while the
    model
    still runs; a coupled one is refused with the node where it breaks, unless `allow_coupled`. The options are those of
    `resizefix promote-scales`. Raises UsageError for options that do not fit the model, VerificationFailedError
    (with a `result` whose model is the original) where the new model is not proven to compute what the old one does.
    """
    document = opened(model)
    sites = select(find_sites(document), node)
    naming = Naming(input_name, shared)
    candidate = promote(document, sites, form=Form(form), naming=naming, keep_default=keep_default)
    if not candidate.inputs or not verify:
        reason = "nothing was promoted" if not candidate.inputs else "switched off (--no-verify)"
        return _result(candidate, model, Verification(VerificationStatus.SKIPPED, reason))

    from resizefix.verification.proof import Conditions, Prover  # onnxruntime is imported where something is run

    conditions = Conditions(
        {name: tuple(dims) for name, dims in (shape or {}).items()},
        seed,
        tuple(custom_op_library),
        tuple(tuple(values) for values in at),
    )
    prover = Prover(document, conditions)
    coupling = prover.couplings(candidate.document, candidate.inputs)
    refused = {} if allow_coupled else _refusals(sites, coupling, shared)
    if refused:
        candidate = promote(document, sites, form=Form(form), naming=naming, keep_default=keep_default, refused=refused)
    if not candidate.inputs:
        nothing = Verification(VerificationStatus.SKIPPED, "nothing was promoted", coupling=tuple(coupling.values()))
        return _result(candidate, model, nothing)
    verification = prover.prove(candidate.document, candidate.inputs, coupling)
    if not verification.passed:
        result = Result(document, candidate.outcomes, candidate.inputs, verification)
        raise VerificationFailedError(f"verification failed: {verification.reason}", result=result)
    return _result(candidate, model, verification)


def verify(
    before: Model,
    after: Model,
    *,
    shape: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    runs: int = 1,
    atol: float = 0.0,
    rtol: float = 0.0,
    feed: Mapping[str, object] | None = None,
    custom_op_library: Sequence[str] = (),
) -> Verification:
    """Whether `after` computes in onnxruntime what `before` does; `feed` gives values for inputs that only one of
    them has.

    With optimisation disabled every bit must agree unless `atol` or `rtol` allow more. Raises UsageError for names and
    shapes that do not fit the models.
    """
    from resizefix.verification.verify import verify as run_both

    return run_both(
        opened(before),
        opened(after),
        shapes={name: tuple(dims) for name, dims in (shape or {}).items()},
        seed=seed,
        runs=runs,
        atol=atol,
        rtol=rtol,
        feeds=feed,
        custom_op_libraries=custom_op_library,
    )


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
