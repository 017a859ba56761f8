"""`shape_inputs` of calls for TensorRT: float inputs that decide sizes become int64 first, verified by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.text import node_text
from resizefix.library import seam
from resizefix.library.result import Result, failed, not_verified
from resizefix.library.tensorrt_profile import Range, profile_of, that_runs_with
from resizefix.operations.integer_inputs import IntegerInput, deciding_floats, with_integer_inputs
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import Outcome, Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.tensorrt import TENSORRT_TARGETS
from resizefix.verification.integer_inputs import Numerators, prove_integer_inputs
from resizefix.verification.plan import Plan
from resizefix.verification.verification import DEFAULTS, Verification, VerificationStatus, conditions


def is_asked_for(call: str, options: Mapping[str, Any]) -> bool:
    """Whether a call of that name and these options makes inputs whole numbers: a promotion for TensorRT, unless it
    must not, and a legalization that asks for it.

    Raises UsageError where that is for another target.
    """
    if call == "promote_scales":
        return options.get("for_") == "tensorrt" and bool(options.get("shape_inputs", True))
    target = options.get("target")
    if target is None or target_named(target) not in TENSORRT_TARGETS:
        raise UsageError("library.shape-inputs-for-tensorrt")
    return True


def on_integer_inputs(function: Callable[..., Result]) -> Callable[..., Result]:
    """The call on the document with those inputs, which is proven to give every bit of the original."""

    def call(document: Document, **options: Any) -> Result[Document]:
        inputs = _inputs(document, options)
        if not inputs:
            return function(document, **options)
        plan = Plan(integers={one.name: one.denominator for one in inputs})
        base = seam.submitted(document, with_integer_inputs(document, inputs), plan)
        result = function(base, **options)
        outcomes = _outcomes(result, document, base, inputs)
        if all(one.status is not Status.CHANGED for one in outcomes) and not any(one.slices for one in inputs):
            return replace(result, model=document)
        rules = conditions(**{name: value for name, value in options.items() if name in DEFAULTS})
        same = not_verified()
        if options.get("verify", True):
            numerators = [Numerators(one.name, one.denominator, one.gives_scales) for one in inputs]
            same = prove_integer_inputs(document, base, numerators, rules)
            if not same.passed:
                raise failed(Result(document, outcomes, (), same))
            _ask_live(document, result.model, outcomes, same)
        model = result.model if result.changed else base
        answer = replace(result, model=model, outcomes=outcomes, integer_inputs=tuple(inputs))
        answer = replace(answer, verification=_together(same, result.verification))
        return replace(answer, profile=_profile(answer, same))

    return call


def _ask_live(before: Document, after: Document, outcomes: tuple[Outcome, ...], same: Verification) -> None:
    """Raises VerificationFailedError where the real parser is installed and refuses what was made for it."""
    from resizefix.library.live import why_live_refuses  # a parser of its own process is asked by few

    changed = {one.index for one in outcomes if one.status is Status.CHANGED}
    why = why_live_refuses(before, after, [site for site in find_sites(before) if site.index in changed])
    if why is not None:
        refuted = replace(same, status=VerificationStatus.FAILED, reason=why)
        raise failed(Result(before, outcomes, (), refuted))


def _inputs(document: Document, options: Mapping[str, Any]) -> list[IntegerInput]:
    """The float inputs that decide the extents of selected nodes; without a selection all that decide sizes."""
    patterns = options.get("node", ())
    keys = {site.key for site in select(find_sites(document), patterns)}
    chosen = [one for one in deciding_floats(ModelView(document)) if not patterns or one.resizes & keys]
    denominator = options.get("denominator") or 1
    if denominator != 1 and "for_" not in options and not any(one.gives_scales for one in chosen):
        raise UsageError("library.denominator-of-sizes", denominator=denominator)
    return [replace(one, denominator=denominator if one.gives_scales else 1) for one in chosen]


def _outcomes(result: Result, before: Document, base: Document, inputs: Sequence[IntegerInput]) -> tuple[Outcome, ...]:
    """The outcomes; a node whose extent follows such an input is changed by that."""
    keys = {site.index: site.key for site in find_sites(base)}
    were = {site.index: site for site in find_sites(before)}
    now = {site.key: site for site in find_sites(result.model)}
    updated = []
    for outcome in result.outcomes:
        key = keys.get(outcome.index)
        behind = [one for one in inputs if key in one.resizes]
        if not behind or outcome.status is Status.REFUSED or key is None:
            updated.append(outcome)
            continue
        said = [_said(one) for one in behind]
        if outcome.status is Status.CHANGED:
            reason = "; ".join(filter(None, (*said, outcome.reason)))
            updated.append(replace(outcome, reason=reason, before=node_text(were[outcome.index].node)))
        else:
            text = node_text(now[key].node)
            was = node_text(were[outcome.index].node)
            changed = replace(outcome, status=Status.CHANGED, reason="; ".join(said), before=was, after=(text,))
            updated.append(replace(changed, exact=True))
    return tuple(updated)


def _said(one: IntegerInput) -> str:
    code = "library.input-holds-integers" if one.denominator == 1 else "library.input-holds-numerators"
    return Diagnostic(code, name=repr(one.name), denominator=one.denominator)


def _together(same: Verification, proof: Verification) -> Verification:
    """One verification of both steps."""
    if not same.runs:
        return same
    reason = "; ".join(filter(None, (Diagnostic("library.inputs-compared"), proof.reason if proof.runs else None)))
    if not proof.runs:
        return replace(same, reason=reason)
    return replace(proof, runs=(*same.runs, *proof.runs), reason=reason)


def _profile(result: Result, same: Verification) -> dict[str, Range]:
    """Ranges for all that TensorRT wants one for: the values that were run, and those of other inputs around them."""
    ran = same.runs[0].shapes if same.runs else {}
    ranges = dict(result.profile or profile_of(result.model.proto, result.inputs, ran))
    for one in result.integer_inputs:
        values = [np.array(run.values[one.name]) for run in same.runs if not run.optimized and one.name in run.values]
        if not values:
            usual = np.full(int(np.prod(one.shape)), one.denominator)
            values = [usual, 2 * usual]
        rows = values[0], np.minimum.reduce(values), np.maximum.reduce(values)
        opt, low, high = (tuple(int(number) for number in row.ravel()) for row in rows)
        ranges[one.name] = Range(low, opt, high)
    driving = {one.name for one in result.inputs} | {one.name for one in result.integer_inputs}
    return that_runs_with(ranges, result.model, driving)
