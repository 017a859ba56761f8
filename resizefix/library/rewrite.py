"""`resizefix.trt_legacy` and `resizefix.legalize`: other spellings of the same computation, proven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.error_bound import ErrorBound
from resizefix.errors import UsageError
from resizefix.library import seam
from resizefix.library.advice import AskedCall, Words, with_size
from resizefix.library.bounded import operation
from resizefix.library.model_outcome import Demand
from resizefix.library.raising import raised, require_raised_alike, with_raised
from resizefix.library.result import Result, failed, measured, not_done, not_verified, skipped
from resizefix.operations.integer_inputs import deciding_floats, shape_input_options, violations_of_the_whole
from resizefix.operations.legalize import legalize as make_legal
from resizefix.operations.pinned_lengths import pinned
from resizefix.operations.quotient_sizes import Dividends, quotient_sites, with_sizes_read
from resizefix.operations.replacement import Allowance
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.opsets.verdict import Blocker
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.conditions import FUNCTIONS_ARE_INLINED
from resizefix.targets.target import Target, judge
from resizefix.targets.tensorrt import LEGACY_TARGETS, SPEAKS_FOR
from resizefix.verification.bounds import half_units
from resizefix.verification.conditions import ChangeOptions, Conditions, Unpack, conditions
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Verification, VerificationStatus

if TYPE_CHECKING:
    from resizefix.operations.trt_legacy import LegacyForm

# Of an output's largest value, where a node was replaced by others that add in another order.
_BODIES = "body-is-imported"
LOWERED_BOUND = 1e-5
# Where the user allowed approximations: what is measured is reported; this much would be another picture.
INEXACT_BOUND = 0.5
_FIRST_WITH_COORDINATES = 11  # Resize-11
NOTHING_TO_DO = Diagnostic("library.nothing-to-do")


def _has_functions_refused(document: Document, options: dict[str, Any]) -> bool:
    """Whether the target takes no local functions, and the model has a resize and some."""
    target = target_named(options.get("target") or "onnxruntime")
    view = ModelView(document)
    rules = {broken.rule for facts in facts_in(view) for broken in judge(target, facts) if facts.calls_functions}
    inside = any(site.scope.in_function for site in sites_in(view))
    return FUNCTIONS_ARE_INLINED.name in rules or (inside and _BODIES in rules)


def _other_options(asked: AskedCall, outcome: Outcome) -> Iterable[Words]:
    """Opset 11 for an older model: before it a node has no word for how it samples, and runtimes guess. Else a size."""
    from resizefix.library.plans import runs_in  # few sites are advised

    document = asked.document
    is_older = default_opset(document.proto.opset_import, fallback=1) < _FIRST_WITH_COORDINATES
    if (
        is_older and asked.options.get("opset") is None and all(runs_in(ModelView(document)))
    ):  # else nothing is verified
        yield ("--opset", str(_FIRST_WITH_COORDINATES))
    target = asked.options.get("target") or "onnxruntime"
    if not asked.options.get("shape_inputs") and target_named(target).runtime == "tensorrt":
        yield shape_input_options(deciding_floats(ModelView(document)))
    yield from with_size(asked, outcome)


@operation(Demand(every=True), advice=_other_options, inlines=_has_functions_refused)
def legalize(
    document: Document,
    *,
    target: str | None = None,
    node: Sequence[str] = (),
    allow_inexact: bool = False,
    lower: bool = True,
    fastest: bool = False,
    opset: int | None = None,
    shape_inputs: bool = False,
    denominator: int | None = None,
    inline: bool = False,
    live: bool = True,
    runtime_python: Mapping[str, str] | None = None,
    size: tuple[int, int] | None = None,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Rewrite the resizes that `target` does not accept into ones that it does, in the model's own opset.

    `lower`: other operators may take a node's place; `allow_inexact`: so may approximations, with the difference
    measured. `shape_inputs`: for TensorRT, float inputs that decide sizes become int64 first, over `denominator` where
    they give scales. `inline`: local functions are inlined first, also without it where the target takes none. `opset`
    raises the model to that version of ai.onnx first, which is verified with the rest. Where TensorRT-RTX is
    installed and speaks for `target`, it must parse what was rewritten. Where another runtime is meant and
    installed, the result runs there, unless `live` is False: a rewritten node that differs there fails the
    verification. What else is found stands in `verification.reason`. `runtime_python` gives, by its name, the
    Python that has a runtime. `size` is the height and width that open axes of image inputs get first. `fastest`:
    of all forms that compute the same, each node gets the one that is measured fastest in the target's runtime,
    onnxruntime where none is named. It is kept only if the whole model is 5 % faster, and `speed` of the result has
    the times. Raises UsageError for a target or pattern that does not exist, VerificationFailedError where the
    verification fails.
    """
    if target is None and not fastest:
        raise UsageError("library.no-target")
    if denominator is not None and not shape_inputs:
        raise UsageError("library.denominator-without-shape-inputs", denominator=denominator)
    wanted = target_named("onnxruntime" if target is None else target)
    base = raised(document, opset)
    view = ModelView(base)
    given = sites = select(sites_in(view), node)
    allowance = Allowance(allow_inexact, lower)
    by_size = quotient_sites(view, sites, wanted)
    if by_size:
        base = _reading_sizes(base, by_size)
        view = ModelView(base)
        sites = [site for site in sites_in(view) if site.index in {site.index for site in given}]
    pins = pinned(view, sites, wanted)
    if pins.texts:
        view = ModelView(pins.document)
        sites = [site for site in sites_in(view) if site.index in {site.index for site in sites}]
    made = make_legal(pins.document, sites, wanted, allowance=allowance, view=view)
    made = replace(made, outcomes=pins.outcomes(sites, made.outcomes))
    speed, rules, python = None, conditions(**run), (runtime_python or {}).get(wanted.name)
    allowed = INEXACT_BOUND if allow_inexact else LOWERED_BOUND
    if fastest:
        from resizefix.library.fastest import fastest as choose  # onnxruntime is imported where something is run
        from resizefix.operations.candidates import LARGEST_BOUND

        allowed = LARGEST_BOUND
        made, speed = choose(view, sites, made, wanted, allowance, rules, python=python)
    if base is not document:
        given = select(find_sites(document), node)
        now = default_opset(base.proto.opset_import, fallback=1)
        made = replace(made, outcomes=_reading(with_raised(made.outcomes, given, made.document, now), given, by_size))
    changed = [site for site, outcome in zip(given, made.outcomes, strict=True) if outcome.status is Status.CHANGED]
    if changed:
        made = _submitted(
            base, made, Plan(frozenset(site.key for site in changed) | pins.nodes, types=_of_other_type(made, changed))
        )
    if verify and changed and target in SPEAKS_FOR:
        from resizefix.library.live import why_live_refuses  # a parser of its own process is asked by few

        refusal = why_live_refuses(document, made.document, changed)
        if refusal is not None:
            result = Result(document, made.outcomes, (), Verification(VerificationStatus.FAILED, refusal))
            raise failed(result)
    if verify and base is not document:
        require_raised_alike(document, base, made.outcomes, rules)
    result = _proven(document, made, changed, allowed, rules if verify else None)
    result = replace(result, speed=speed, blockers=_mistaken(view, wanted))
    if not verify or not changed or not live:
        return result
    return _proven_live(result, document, result.model, changed, wanted, rules, python)


def _reading_sizes(document: Document, by_size: Dividends) -> Document:
    """The document in which these nodes read the sizes that their scales aim at, and nothing else differs."""
    made = with_sizes_read(document, by_size)
    opset = default_opset(made.proto.opset_import, fallback=1)
    is_raised = opset != default_opset(document.proto.opset_import, fallback=1)
    return seam.submitted(document, made, Plan(frozenset(by_size), opset=opset if is_raised else None))


def _reading(outcomes: Sequence[Outcome], sites: Sequence[Site], by_size: Dividends) -> tuple[Outcome, ...]:
    """The outcomes; those of nodes that read sizes now say so."""
    keys = {site.index: site.key for site in sites}
    said = Diagnostic("library.reads-the-size")
    return tuple(
        replace(one, reason="; ".join((said, one.reason or "")))
        if keys[one.index] in by_size and one.status is Status.CHANGED
        else one
        for one in outcomes
    )


def _submitted(before: Document, made: Rewritten, plan: Plan) -> Rewritten:
    document = seam.submitted(before, made.document, plan)
    return made if document is made.document else replace(made, view=ModelView(document))


def _of_other_type(made: Rewritten, changed: Sequence[Site]) -> frozenset[Key]:
    """The nodes that give floats now, because a target resizes no such integers."""
    shapes = made.view.shapes
    integers = (site for site in changed if site.elem_type == TensorProto.UINT8)
    return frozenset(site.key for site in integers if shapes.elem_type(site.key) == TensorProto.FLOAT)


def _mistaken(view: ModelView, target: Target) -> tuple[Blocker, ...]:
    """The nodes for which the target refuses the model whatever its resizes are: no rewrite of a resize helps."""
    found = violations_of_the_whole(view, target)
    return tuple(Blocker(one.node, "", 0, one.because, one.fix) for one in found)


def _proven_live(
    result: Result,
    before: Document,
    after: Document,
    changed: Sequence[Site],
    target: Target,
    rules: Conditions,
    python: str | None,
) -> Result:
    """The result with what the target's runtime makes of it; TensorRT and onnxruntime were asked already."""
    if target.runtime in ("tensorrt", "onnxruntime"):
        return result
    from resizefix.library.live import prove_live

    proof = prove_live(before, after, changed, target, rules, python)
    if not proof.fits:
        raise failed(replace(result, verification=Verification(VerificationStatus.FAILED, proof.said)))
    reason = f"{result.verification.reason}; {proof.said}" if result.verification.reason else proof.said
    return replace(result, verification=replace(result.verification, reason=reason))


@operation(Demand(every=True), advice=with_size)
def trt_legacy(
    document: Document,
    *,
    target: str = "tensorrt-5.0",
    node: Sequence[str] = (),
    hybrid: bool = False,
    allow_inexact: bool = False,
    lower: bool = True,
    size: tuple[int, int] | None = None,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Bring the model into the form of TensorRT's first parsers: Upsample-7 with a `scales` attribute, opset 8, IR 3.

    `target`, a TensorRT from 5.0 to 7.2, accepts the result by its rules: other operators take the place of an
    Upsample-7 that it would refuse or compute otherwise. Where any node or operator stands in the way nothing is
    converted: the outcomes and `result.blockers` name everything at once. `hybrid` imports opset 9 all the same, as old
    tutorials do: invalid ONNX, so the same model at opset 8 is verified. `size` is the height and width that open axes
    of image inputs get first, so that sizes computed from them are constants. Raises VerificationFailedError where the
    verification fails.
    """
    wanted = target_named(target)
    if wanted not in LEGACY_TARGETS:
        raise UsageError(
            "library.no-legacy-target", target=wanted.name, known=", ".join(x.name for x in LEGACY_TARGETS)
        )
    from resizefix.operations.trt_legacy import hybrid as make_hybrid
    from resizefix.operations.trt_legacy import trt_legacy as make_legacy
    from resizefix.opsets.lowering import OPSET

    made = make_legacy(document, allowance=Allowance(allow_inexact, lower), patterns=node, target=wanted)
    if not verify:  # else a run shows whether branches give one size
        from resizefix.opsets.subgraphs import open_branches

        made = replace(made, blockers=(*made.blockers, *open_branches(ModelView(document))))
    if not made.complete:
        return Result(document, not_done(made.outcomes), (), skipped("library.nothing-converted"), made.blockers)
    sites = find_sites(document)
    if made.document.light_bytes() == document.light_bytes() or not sites:
        nothing = Verification(VerificationStatus.SKIPPED, NOTHING_TO_DO)
        return Result(document, made.outcomes, (), nothing)
    rules = conditions(**run) if verify else None
    near = [step for step in made.steps if not step.error.exact]
    if near:  # the file as a whole comes near only
        operators = ", ".join(sorted({step.op_type for step in near if step.op_type}))
        notes: list[str] = [Diagnostic("library.older-forms-round", operators=operators)] if operators else []
        notes += dict.fromkeys(step.error.note for step in near if not step.op_type)
        rounded = (
            replace(outcome, exact=False, reason="; ".join(part for part in (outcome.reason, *notes) if part))
            for outcome in made.outcomes
        )
        made = replace(made, outcomes=tuple(rounded))
    plan = Plan(frozenset(site.key for site in sites), opset=OPSET, is_rebuilt=True)
    made = replace(made, document=seam.submitted(document, made.document, plan))
    result = _proven(document, made, sites, INEXACT_BOUND if allow_inexact else LOWERED_BOUND, rules)
    if not hybrid:
        return result
    verification = replace(result.verification, reason=Diagnostic("library.hybrid-verified-at-8"))
    return replace(result, model=make_hybrid(result.model), verification=verification)


def _proven(
    before: Document, made: Rewritten | LegacyForm, changed: Sequence[Site], allowed: float, rules: Conditions | None
) -> Result:
    """The result if it is proven. `allowed` is the largest difference for a rewrite that is not exact, as a part of an
    output's largest value."""
    outcomes = made.outcomes
    if not changed:
        return Result(before, outcomes, (), skipped("library.nothing-rewritten"))
    after = made.document
    if rules is None:
        return Result(after, measured(outcomes, changed, not_verified()), (), not_verified())

    # onnxruntime is imported where something is run
    from resizefix.verification.verify import prove_rewrite

    exact = all(outcome.exact for outcome in outcomes)
    is_lowered = not exact and allowed == LOWERED_BOUND  # which --allow-inexact widens
    allowed = max(0.0 if exact else allowed, half_units(site.elem_type for site in changed))
    data = {site.key: site.input for site in changed}
    bounds = bounds_of(outcomes, changed)
    verification = prove_rewrite(before, after, data, allowed, rules, bounds=bounds)
    with_measures = measured(outcomes, changed, verification)
    if not verification.passed:
        advice = _if_inexact_passes(verification, allowed) if is_lowered else ""
        result = Result(before, with_measures, (), verification)
        raise failed(result, why=f"{verification.reason}{advice}")
    return Result(after, with_measures, (), verification)


def bounds_of(outcomes: Sequence[Outcome], changed: Sequence[Site]) -> dict[Key, ErrorBound]:
    """How near each changed node comes to what stood there, as its outcome says."""
    keys = {site.index: site.key for site in changed}
    return {
        keys[one.index]: ErrorBound(one.exact, one.bound or 0.0)
        for one in outcomes
        if one.index in keys and (one.exact or one.bound is not None)
    }


def _if_inexact_passes(verification: Verification, allowed: float) -> str:
    """What lets the difference pass at which the proof stopped: a last bit of a sum may turn a rounding behind it."""
    found = verification.runs[-1].max_rel_diff if verification.runs else 0.0
    if not allowed < found <= INEXACT_BOUND:
        return ""
    return Diagnostic("library.allow-inexact-passes", most=INEXACT_BOUND)
