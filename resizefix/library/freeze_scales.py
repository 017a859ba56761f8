"""`resizefix.freeze_scales`: inputs and computed scales become constants again, verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from resizefix.document.document import Document
from resizefix.library import seam
from resizefix.library.advice import Words, proposed, with_size
from resizefix.library.bounded import operation
from resizefix.library.plans import Plans
from resizefix.library.result import (
    AskedCall,
    Demand,
    Result,
    failed,
    measured,
    not_verified,
    skipped,
    without_their_chain,
)
from resizefix.library.seam import never
from resizefix.operations.freeze_scales import freeze_scales as freeze
from resizefix.operations.site import Site
from resizefix.operations.sites import select, sites_in
from resizefix.outcome import Outcome, Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import half_units
from resizefix.verification.plan import Plan
from resizefix.verification.verification import ChangeOptions, Unpack, conditions

_ALL_USES = "--all-uses"


def _examples(asked: AskedCall, outcome: Outcome) -> Iterable[Words]:
    """What the operation proposes, with values that freeze the site, else a size."""
    yield from proposed(asked, outcome)
    yield from with_size(asked, outcome)


@operation(Demand(needs_resize=True), advice=_examples, inlines=never)
def freeze_scales(
    document: Document,
    *,
    set: Mapping[str, Sequence[float]] | None = None,
    all_uses: bool = False,
    node: Sequence[str] = (),
    size: tuple[int, int] | None = None,
    inline: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Make scales constants that are fed or computed: the way back from `promote_scales`.

    `set` gives the values of graph inputs that drive a resize (`{"Resize_2_scales": [1, 1, 2, 2]}`); one with a default
    keeps it. With `all_uses` it becomes a constant for all other nodes that read it, too. Computed scales become the
    constants that give the same sizes at every size the file allows. Proven in onnxruntime: fed the same values, the
    model before computes what the frozen one does, bit for bit. `size` is the height and width that open axes of image
    inputs get first. `inline`: local functions are inlined before anything else.
    Raises UsageError for values and patterns that do not fit, VerificationFailedError where the verification fails.
    """
    view = ModelView(document)
    sites = select(sites_in(view), node)
    rewritten, values = freeze(document, sites, values=set, all_uses=all_uses, view=view)
    rewritten = replace(rewritten, outcomes=_with_examples(view, sites, rewritten.outcomes))
    changed = [
        site for site, outcome in zip(sites, rewritten.outcomes, strict=True) if outcome.status is Status.CHANGED
    ]
    moved = without_their_chain(changed)
    if changed:
        plan = Plan(frozenset(site.key for site in changed), frozen=values)
        rewritten = rewritten.with_document(seam.submitted(document, rewritten.document, plan))
    if not changed or not verify:
        nothing = not_verified() if changed else skipped("library.nothing-frozen")
        return Result(rewritten.document, measured(rewritten.outcomes, moved, nothing), (), nothing)

    from resizefix.verification.verify import prove_rewrite  # onnxruntime is imported where something is run

    rules = conditions(**run)
    keys = {site.key: site.input for site in changed}
    last_bits = half_units(site.elem_type for site in changed)
    verification = prove_rewrite(document, rewritten.document, keys, last_bits, rules, feeds=values)
    outcomes = measured(rewritten.outcomes, moved, verification)
    if not verification.passed:
        raise failed(Result(document, outcomes, (), verification))
    return Result(rewritten.document, outcomes, (), verification)


def _with_examples(view: ModelView, sites: Sequence[Site], outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes; refused ones with values that freeze the site, and all others, where inputs have none."""
    if all(outcome.status is not Status.REFUSED for outcome in outcomes):
        return tuple(outcomes)
    plans = Plans(view, sites)
    pairs = list(zip(sites, outcomes, strict=True))
    own = {site.index: plans.freezing(site) or () for site, outcome in pairs if outcome.status is Status.REFUSED}
    values: dict[str, str] = {}
    for setting in (word for words in own.values() for word in words if word not in ("--set", _ALL_USES)):
        values.setdefault(setting.rpartition("=")[0], setting)
    flags = (_ALL_USES,) if any(_ALL_USES in words for words in own.values()) else ()
    every = (*(word for setting in values.values() for word in ("--set", setting)), *flags)
    return tuple(replace(outcome, retry_args=every) if own.get(site.index) else outcome for site, outcome in pairs)
