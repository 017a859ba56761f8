"""`set scales=…`, `set scale=…`, `set sizes=…`: another extent in one step, verified as a promotion is.

What comes of it is compared with the original that holds the new extent by plain edits, bit for bit, and must run
where the original runs. Nodes that break the model alone are changed where all that are selected fit together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.text import node_text
from resizefix.errors import UsageError
from resizefix.interop.feed_file import read_feeds
from resizefix.library import seam
from resizefix.library.coupling import SizeInquiry
from resizefix.library.raising import raised, require_raised_alike
from resizefix.library.result import Result, failed, measured, not_verified, skipped
from resizefix.operations.new_extent import NewExtents, set_constant_extent
from resizefix.operations.set_partner import set_partner_sizes
from resizefix.operations.settings import PARTNER, Settings
from resizefix.operations.site import Refusal, Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import model_inputs
from resizefix.scope_path import Key
from resizefix.shapes.model_view import ModelView
from resizefix.verification.conditions import ChangeOptions, Conditions, conditions
from resizefix.verification.plan import Plan

_FITS = "library.sizes-must-fit"


def set_extent(
    document: Document,
    settings: Settings,
    node: Sequence[str],
    opset: int | None,
    feed: Mapping[str, object] | None,
    run: ChangeOptions,
    *,
    verify: bool,
    allow_inexact: bool,
) -> Result[Document]:
    """The selected nodes with the extent of `settings`. Raises UsageError, VerificationFailedError."""
    given = find_sites(document)
    indices = {site.index for site in select(given, node)}
    base = raised(document, opset)
    view = ModelView(base)
    sites = [site for site in sites_in(view) if site.index in indices]
    fed = read_feeds(feed or {}, model_inputs(document.proto))
    if fed.paths:
        raise UsageError("library.extent-measures-nothing")
    rules = conditions(**run)
    if settings.sizes == PARTNER:
        made = set_partner_sizes(view, sites, allow_inexact=allow_inexact, named=bool(node))
    else:
        made = _fitting(view, sites, settings, rules if verify else None)
    before = {site.index: node_text(site.node) for site in given}
    outcomes = tuple(replace(one, before=before[one.index]) for one in made.outcomes)
    if not made.changed:
        return Result(document, outcomes, (), skipped("library.nothing-changed"))
    made = replace(made, outcomes=outcomes)
    compared, made = _submitted(base, made)
    if not verify:
        return Result(made.after.document, outcomes, (), not_verified())
    if compared is not document:
        require_raised_alike(document, compared, outcomes, rules, fed.numbers)
    return _proven(document, compared, made, {site.key: site for site in sites}, rules, fed.numbers)


def _submitted(base: Document, made: NewExtents) -> tuple[Document, NewExtents]:
    """What the nodes are compared with, and the result, if nothing else differs."""
    raised_to = made.before.document
    if raised_to is not base:
        raised_to = seam.submitted(base, raised_to, Plan(opset=default_opset(raised_to.proto.opset_import, fallback=1)))
    keys = frozenset({*made.constants, *made.partners})
    document = seam.submitted(raised_to, made.after.document, Plan(keys))
    return raised_to, made if document is made.after.document else replace(made, after=ModelView(document))


# ---- nodes that only fit together ----


def _fitting(view: ModelView, sites: Sequence[Site], settings: Settings, rules: Conditions | None) -> NewExtents:
    """All sites changed, where the model then runs; else those that can be changed alone and run together."""

    def make(refused: Mapping[int, Refusal]) -> NewExtents:
        return set_constant_extent(view, sites, settings, refused=refused)

    made = make({})
    whole = _breaks(made, made.inputs, rules)
    if whole is None:
        return made
    index_of = {site.key: site.index for site in sites}
    single: dict[int, Refusal] = {}
    for source in made.inputs:
        index = index_of[source.sites[0].key]
        others = {index_of[one.sites[0].key]: Refusal("") for one in made.inputs if one is not source}
        why = _breaks(make(others) if rules is not None else made, {source: made.inputs[source]}, rules)
        if why is not None:
            single[index] = Refusal(why)
    if len(single) < len(made.inputs):
        rest = make(single)
        whole = _breaks(rest, rest.inputs, rules)
        if whole is None:
            return rest
    every = {index_of[source.sites[0].key]: Refusal(whole) for source in made.inputs}
    return make({**every, **single})


def _breaks(
    made: NewExtents, moved: Mapping[PromotedInput, tuple[float, ...]], rules: Conditions | None
) -> Diagnostic | None:
    """Where the model breaks with these inputs moved, by sizes; by a run where these do not tell. None: it does not."""
    if not moved:
        return None
    ended = SizeInquiry(made.before).ended(moved)
    if ended is None:
        return None
    if ended.fits is None:
        return None if rules is None else _breaks_at_run(made.before.document, made.after.document, rules)
    where = Diagnostic(_FITS if ended.partner is None else "library.size-must-be-that-of", partner=ended.partner)
    return Diagnostic("library.extent-breaks", breaks_at=ended.node, where=where)


def _breaks_at_run(before: Document, after: Document, rules: Conditions) -> Diagnostic | None:
    """Where the model breaks that is to be changed although the original runs."""
    from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
    from resizefix.verification.engine import Engine

    engine = Engine(rules)
    try:
        fitted = engine.fit(before, label="the model before")
    except (CannotLoadError, CannotRunError):
        return None  # the nodes are compared alone
    try:
        engine.run(after, fitted.feeds, label="the changed model")
    except (CannotLoadError, CannotRunError) as error:
        where = Diagnostic(_FITS)
        return Diagnostic("library.extent-breaks", breaks_at=error.node or error.reason, where=where)
    return None


# ---- proof ----


def _proven(
    original: Document,
    base: Document,
    made: NewExtents,
    sites: Mapping[Key, Site],
    rules: Conditions,
    feeds: Mapping[str, Any],
) -> Result[Document]:
    """The result, compared with the original that holds the new extents; where nothing was to change at the sizes at
    which the original runs, with the original, too."""
    from resizefix.library.model_runs import why_not_run  # onnxruntime is imported where something is run
    from resizefix.verification.reference_model import (
        ConstantOperand,
        Operand,
        ReferenceModels,
        SizesOfAnother,
    )
    from resizefix.verification.verify import prove_rewrite

    document = made.after.document
    operands: dict[Key, Operand] = {key: ConstantOperand(*constant) for key, constant in made.constants.items()}
    for key, (partner, axes) in made.partners.items():
        site, rank = sites[key].read, made.ranks[key]
        listed = site.interpolation.axes
        operands[key] = SizesOfAnother(site.input, partner.read, axes, partner.axes, rank, listed)
    why = _breaks_at_run(base, document, rules)
    if why is not None:
        raise failed(Result(original, made.outcomes, (), skipped("library.nothing-changed")), why=why)
    resized = {key: sites[key].input for key in operands}
    reference = ReferenceModels(base).document(operands)
    verification = prove_rewrite(reference, document, resized, 0.0, rules, feeds=feeds)
    outcomes = made.outcomes
    if verification.passed and made.partners and why_not_run(base, rules) is None:
        exact = all(one.exact for one in made.changed)
        as_before = prove_rewrite(base, document, resized, 0.0 if exact else math.inf, rules, feeds=feeds)
        outcomes = measured(outcomes, [sites[key] for key in resized], as_before)
        notes = "; ".join(dict.fromkeys(filter(None, (as_before.reason, verification.reason)))) or None
        verification = replace(as_before, runs=(*as_before.runs, *verification.runs), reason=notes)
    if not verification.passed:
        raise failed(Result(original, outcomes, (), verification), why=verification.reason)
    return Result(document, outcomes, (), verification)
