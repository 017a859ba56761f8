"""`resizefix.repair`: broken or fragile resizes fixed, and verified.

Names of dimensions that stand for two lengths are parted; pixels that no scale takes are gathered as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic, RefusedError, ResizefixError, code_of
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.text import node_text, value_text
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.names import (
    REUSED,
    ReusedName,
    are_images_alike,
    known_names,
    with_names_apart,
)
from resizefix.faults.table import faults_in, named_faults
from resizefix.interop import Model, opened
from resizefix.library import seam
from resizefix.library.bounded import operation
from resizefix.library.option_values import COORDINATES, EXTENTS, FRAMEWORKS
from resizefix.library.options import words_as_options
from resizefix.library.result import ANYTHING, Result, VerificationFailedError, failed, not_verified, skipped
from resizefix.library.seam import is_later, never, raised, require_raised_alike, with_raised
from resizefix.library.unrepaired import MOST_NAMED, as_it_is, left_broken, loaded, why_refused
from resizefix.operations.repair import repair as make_repair
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites, select
from resizefix.operations.torch_indices import gathered_outcome, is_by_indices, with_torch_indices
from resizefix.outcome import Outcome, Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.plan import Plan
from resizefix.verification.verification import (
    ChangeOptions,
    Conditions,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

if TYPE_CHECKING:
    pass


def with_names_repaired(repaired: Result[Document], rules: Conditions, *, verify: bool) -> Result[Document]:
    """The result with such names given, and an outcome for each name that was reused; the same result if there is none.

    Lengths are those that follow from the inputs' lengths, and with `verify` those of runs. Raises
    VerificationFailedError where the model with the new names computes anything else.
    """
    document = repaired.model
    reused = _by_runs(document, rules) if verify else known_names(document)
    if not reused:
        return repaired
    tensors = frozenset(axis.tensor for one in reused for group in one.groups[1:] for axis in group)
    renamed = seam.submitted(document, with_names_apart(document, reused), Plan(renamed=tensors))
    outcomes = (*repaired.outcomes, *_outcomes(reused, document, renamed))
    if not verify:
        return replace(repaired, model=renamed, outcomes=outcomes)

    # onnxruntime is imported where it runs
    from resizefix.verification.repaired import Repair, prove_repair

    verification, _ = prove_repair(Repair(document, renamed, (), True, ""), rules)
    if not verification.passed:
        result = Result(document, outcomes, (), verification)
        raise failed(result, "library.verification-failed-at", named=reused[0].name, why=verification.reason)
    return replace(
        repaired,
        model=renamed,
        outcomes=outcomes,
        verification=repaired.verification if repaired.verification.runs else verification,
    )


def _by_runs(document: Document, rules: Conditions) -> list[ReusedName]:
    """What runs say; what follows from the inputs' sizes where the model cannot be run."""
    from resizefix.verification.engine import Engine
    from resizefix.verification.named_sizes import names_by_runs

    try:
        return names_by_runs(document, Engine(rules, "the model"))
    except ResizefixError:
        return known_names(document)


def _outcomes(reused: Sequence[ReusedName], before: Document, after: Document) -> list[Outcome]:
    """One for each name; they count on behind the sites."""
    first = len(find_sites(before))
    outcomes = []
    for index, one in enumerate(reused, first):
        names = list(dict.fromkeys(axis.tensor for group in one.groups[1:] for axis in group))
        texts = [[_text(document, name) for name in names] for document in (before, after)]
        reason = f"{one.fault.because}: {one.fault.fix}"
        outcomes.append(
            Outcome(index, one.name, Status.CHANGED, reason, ", ".join(texts[0]), tuple(texts[1]), fault=REUSED)
        )
    return outcomes


def _text(document: Document, name: str) -> str:
    graph = document.proto.graph
    value = next(value for value in (*graph.input, *graph.output) if value.name == name)
    return value_text(value)


_SECONDS_OF_RUNS = 20.0  # that a report spends on them
_FIRST_WITH_COORDINATES = 11


def known_faults(model: Model | ModelView, *, by_runs: bool = False) -> list[tuple[str, Fault]]:
    """The faults of the model's resizes, each with the label of its node, and of its names of dimensions.

    `by_runs`: where two images share a name, the model is run for whether that is right, for a short time.
    """
    view = model if isinstance(model, ModelView) else ModelView(opened(model))
    if by_runs and are_images_alike(view.document):
        names = _by_runs(view.document, conditions(timeout=_SECONDS_OF_RUNS))
    else:
        names = known_names(view.document)
    return [*named_faults(view), *((one.name, one.fault) for one in names)]


@operation(ANYTHING, inlines=never)
def repair(
    document: Document,
    *,
    node: Sequence[str] = (),
    prefer: str | Sequence[str] | None = None,
    remove_identity: bool = False,
    opset: int | None = None,
    inline: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Fix resizes that a converter broke or left fragile, keeping the meaning that was intended, and verify the result.

    Each outcome names the `fault`. A name of a dimension that stands for several lengths is an outcome behind the
    sites. A node whose intended meaning is not certain is refused with the possible readings.
    `prefer` decides: "scales" or "sizes" between two operands, "half_pixel" or "asymmetric" where nothing says how a
    node samples, "pytorch" for its numbers where an export computes
    others. It may be a list of one of each. `remove_identity` replaces a resize by 1 by Identity.
    `opset` raises the repaired model to that version of ai.onnx. `inline`: local functions are inlined first.
    The repaired model must run in onnxruntime at both optimisation levels, and each repaired node must compute its
    intended meaning bit for bit. Without `verify` the model is only loaded: what onnxruntime refuses is not given back.
    Raises UsageError for options that do not fit, VerificationFailedError where the verification fails.
    """
    rules = conditions(**run)
    raises = is_later(document, opset)
    sites = select(find_sites(document), node)
    preferences = _preferences(prefer, remove_identity)
    repaired = _as_framework(document, sites, preferences, rules, verify=verify)
    if repaired.refusal is not None:
        words = {one.retry_args for one in repaired.outcomes if one.retry_args}
        useless = {one for one in words if not _helps(one, document, sites, rules, verify=verify)}
        repaired = replace(repaired, outcomes=_without(repaired.outcomes, useless))
    elif preferences.framework is not None:
        repaired = with_pixels_gathered(repaired, sites, rules, verify=verify)
    if repaired.refusal is None and not node:
        repaired = with_names_repaired(repaired, rules, verify=verify)
    if not raises or repaired.refusal is not None:
        return repaired
    later = raised(repaired.model, opset)
    at_sites, of_names = repaired.outcomes[: len(sites)], repaired.outcomes[len(sites) :]
    outcomes = (*with_raised(at_sites, sites, later, opset or 0), *of_names)
    verification = repaired.verification
    if verify:
        alike = require_raised_alike(repaired.model, later, outcomes, rules)
        verification = verification if verification.runs else alike
    return Result(later, outcomes, (), verification)


def _preferences(prefer: str | Sequence[str] | None, remove_identity: bool) -> Preferences:
    first = [next((one for one in prefer or () if one in words), None) for words in (EXTENTS, COORDINATES, FRAMEWORKS)]
    return Preferences(first[0], remove_identity, *first[1:])


def _helps(words: Sequence[str], document: Document, sites: Sequence[Site], rules: Conditions, *, verify: bool) -> bool:
    """Whether a model that does not run as it is does with these options."""
    options = words_as_options("repair", words)
    preferences = _preferences(options.get("prefer"), bool(options.get("remove_identity")))
    try:
        return _as_framework(document, sites, preferences, rules, verify=verify).changed
    except ResizefixError:
        return False


def _without(outcomes: Sequence[Outcome], useless: Collection[Sequence[str]]) -> tuple[Outcome, ...]:
    """The outcomes without these options; their reasons say when they will help."""
    return tuple(
        replace(one, retry_args=(), reason=_once_it_runs(one.reason)) if one.retry_args in useless else one
        for one in outcomes
    )


def _once_it_runs(reason: str | None) -> str | None:
    if isinstance(reason, Diagnostic) and reason.code == "operations.fault-left":
        return Diagnostic("library.once-it-runs", **reason.arguments)
    return reason


def _as_framework(
    document: Document, sites: Sequence[Site], preferences: Preferences, rules: Conditions, *, verify: bool
) -> Result[Document]:
    """The repaired document. What only opset 11 can say of the framework's numbers is written there: a model that
    differs from them is raised first, where they are wanted."""
    current = default_opset(document.proto.opset_import, fallback=1)
    wanted = preferences.framework is not None or preferences.coordinates is not None
    indices = {site.index for site in sites}
    faults = faults_in(ModelView(document)) if wanted and current < _FIRST_WITH_COORDINATES else []
    own = [fault for index, site_faults in enumerate(faults) if index in indices for fault in site_faults]
    if not any(fault.is_optional and not is_by_indices(fault) for fault in own):
        return _repaired(document, sites, preferences, rules, verify=verify)
    first = None
    if not all(fault.is_optional for fault in own):
        # A file that does not run cannot be compared with what is raised of it.
        plain = preferences._replace(framework=None, coordinates=None, remove_identity=False)
        first = _repaired(document, sites, plain, rules, verify=verify)
    sound = first.model if first is not None and first.changed else document
    # A Resize-10 that rounds down where an axis grows and up where it shrinks is one that shrinks, or a run refutes it;
    # then it is made to round down alone.
    prefers = preferences.framework is not None
    floored = {
        site.key: "ceil"
        for site in sites
        if prefers and any(fault.is_optional and fault.retry_args for fault in faults[site.index])
    }
    base = raised(sound, _FIRST_WITH_COORDINATES, floored)
    again = [site for site in find_sites(base) if site.index in indices]
    repaired = _repaired(base, again, preferences, rules, verify=verify)
    if verify:
        require_raised_alike(sound, base, repaired.outcomes, rules)
    before = {site.index: node_text(site.node) for site in sites}
    outcomes = tuple(replace(one, before=before[one.index]) for one in repaired.outcomes)
    return replace(repaired, outcomes=outcomes if first is None else _of_both(first.outcomes, outcomes))


def _of_both(first: Sequence[Outcome], second: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes of two repairs, one after the other: a node that the first changed is changed, and says both."""
    earlier = {one.index: one for one in first if one.status is Status.CHANGED}
    joined = []
    for one in second:
        before = earlier.get(one.index)
        if before is not None and one.status is Status.UNCHANGED:
            one = replace(before, after=one.after or before.after)
        elif before is not None and one.status is Status.CHANGED:
            reason = "; ".join(dict.fromkeys(filter(None, (before.reason, one.reason))))
            one = replace(one, reason=reason, exact=before.exact and one.exact)
        joined.append(one)
    return tuple(joined)


def _repaired(
    document: Document, sites: Sequence[Site], preferences: Preferences, rules: Conditions, *, verify: bool
) -> Result[Document]:
    """The repaired document, verified or at least loaded."""
    rewritten = make_repair(document, sites, preferences)
    changed = [outcome for outcome in rewritten.outcomes if outcome.status is Status.CHANGED]
    if not changed and any(outcome.status is Status.REFUSED for outcome in rewritten.outcomes):
        return Result(document, rewritten.outcomes, (), skipped("library.nothing-repaired"))
    if not changed:
        answer = as_it_is(document, rules) if verify else loaded(document, rules)
        refusal = answer if isinstance(answer, RefusedError) else None
        verification = skipped("library.nothing-repaired") if isinstance(answer, RefusedError) else answer
        return Result(document, rewritten.outcomes, (), verification, refusal=refusal)
    plan = Plan(rewritten.touched, types=rewritten.types, opset=rewritten.opset)
    repaired = seam.submitted(document, rewritten.document, plan)
    left = left_broken(repaired)
    if not verify:
        why = why_refused(repaired, rules)
        if why is None:
            return Result(repaired, rewritten.outcomes, (), not_verified())
        reason = Diagnostic("verification.repair-does-not-load", why=why, cause=left)
        raise _failed(document, rewritten.outcomes, Verification(VerificationStatus.FAILED, reason))

    # onnxruntime is imported where it runs
    from resizefix.verification.repaired import Repair, prove_repair

    keeps = all(outcome.exact for outcome in changed)
    alone = () if preferences.remove_identity else rewritten.intended
    verification, largest = prove_repair(Repair(document, repaired, alone, keeps, left, rewritten.rederived), rules)
    if not verification.passed:
        asked = [outcome for outcome in rewritten.outcomes if outcome.status is Status.REFUSED and outcome.retry_args]
        if asked and code_of(verification.reason) == "verification.repair-does-not-load":
            return Result(document, _waiting(rewritten.outcomes, asked), (), skipped("library.nothing-repaired"))
        raise _failed(document, rewritten.outcomes, verification)
    difference = largest if math.isfinite(largest) else None  # another shape: no number says it
    at = verification.runs[0].shapes if verification.runs and difference else None
    outcomes = tuple(
        outcome if outcome.exact else replace(outcome, max_abs_diff=difference, measured_at=at)
        for outcome in rewritten.outcomes
    )
    return Result(repaired, outcomes, (), verification)


def _waiting(outcomes: Sequence[Outcome], asked: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes where the file loads only once the nodes that are `asked` about are repaired, too."""
    named = ", ".join(outcome.node for outcome in asked[:MOST_NAMED])
    why = Diagnostic("library.repair-waits", named=named)
    return tuple(
        replace(outcome, status=Status.REFUSED, reason=Diagnostic("library.repair-later", fix=outcome.reason, why=why))
        if outcome.status is Status.CHANGED
        else outcome
        for outcome in outcomes
    )


def _failed(document: Document, outcomes: tuple[Outcome, ...], verification: Verification) -> VerificationFailedError:
    changed = [outcome.node for outcome in outcomes if outcome.status is Status.CHANGED]
    result, named = Result(document, outcomes, (), verification), ", ".join(changed[:MOST_NAMED])
    return failed(result, "library.verification-failed-at", named=named, why=verification.reason)


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
