"""`set scales=…`, `set scale=…`, `set sizes=…`: another extent in one step, verified as a promotion is.

What comes of it is compared with the original that holds the new extent by plain edits, bit for bit, and must run
where the original runs. Nodes that break the model alone are changed where all that are selected fit together.

`resizefix.set_interpolation`: the interpolation of nodes changed on purpose, and the difference measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.text import node_text
from resizefix.interop.feed_file import read_feeds
from resizefix.interpolation import Extent
from resizefix.library import seam
from resizefix.library.advice import Words
from resizefix.library.bounded import operation
from resizefix.library.coupling import SizeInquiry
from resizefix.library.plans import runs_in
from resizefix.library.result import AskedCall, Demand, Result, failed, measured, not_verified, skipped
from resizefix.library.seam import never, raised, require_raised_alike
from resizefix.operations.new_extent import set_constant_extent
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.set_interpolation import set_interpolation as make
from resizefix.operations.set_partner import set_partner_sizes
from resizefix.operations.settings import ALIASES, PARTNER, READERS, RESIZE, Settings, settings_of
from resizefix.operations.site import PartnerSizes, Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.outcome import Outcome, Status
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import model_inputs
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.plan import Plan
from resizefix.verification.verification import ChangeOptions, Conditions, Unpack, conditions

if TYPE_CHECKING:
    from resizefix.verification.changed_nodes import Measured


_FITS = "library.sizes-must-fit"


class _Request(NamedTuple):
    """What a call asks besides its settings, as `set_interpolation` takes it."""

    node: Sequence[str]
    opset: int | None
    feed: Mapping[str, object]
    run: ChangeOptions
    verify: bool
    allow_inexact: bool

    def indices(self, sites: Sequence[Site]) -> set[int]:
        """Those of the selected sites. Raises UsageError where none is."""
        return {site.index for site in select(sites, self.node)}


def _set_extent(document: Document, settings: Settings, asked: _Request) -> Result[Document]:
    """The selected nodes with the extent of `settings`. Raises UsageError, VerificationFailedError."""
    view = ModelView(document)
    given = sites_in(view)
    indices = asked.indices(given)
    base = raised(document, asked.opset)
    view = view if base is document else ModelView(base)
    sites = [site for site in (given if base is document else sites_in(view)) if site.index in indices]
    fed = read_feeds(asked.feed, model_inputs(document.proto))
    if fed.paths:
        raise UsageError("library.extent-measures-nothing")
    rules = conditions(**asked.run)
    if settings.sizes == PARTNER:
        extents = set_partner_sizes(view, sites, allow_inexact=asked.allow_inexact, named=bool(asked.node))
    else:
        extents = _fitting(view, sites, settings, rules if asked.verify else None)
    before = {site.index: node_text(site.node) for site in given}
    outcomes = tuple(replace(one, before=before[one.index]) for one in extents.outcomes)
    if not extents.extents:
        return Result(document, outcomes, (), skipped("library.nothing-changed"))
    extents = replace(extents, outcomes=outcomes)
    compared, extents = _submitted(base, extents)
    if not asked.verify:
        return Result(extents.document, outcomes, (), not_verified())
    if compared is not document:
        require_raised_alike(document, compared, outcomes, rules, fed.numbers)
    return _proven(document, compared, extents, {site.key: site for site in sites}, rules, fed.numbers)


def _submitted(base: Document, extents: Rewritten) -> tuple[Document, Rewritten]:
    """What the nodes are compared with, and the result, if nothing else differs."""
    raised_to = extents.before.document
    if raised_to is not base:
        raised_to = seam.submitted(base, raised_to, Plan(opset=default_opset(raised_to.proto.opset_import, fallback=1)))
    document = seam.submitted(raised_to, extents.document, Plan(frozenset(extents.extents)))
    return raised_to, extents.with_document(document)


# ---- nodes that only fit together ----


def _fitting(view: ModelView, sites: Sequence[Site], settings: Settings, rules: Conditions | None) -> Rewritten:
    """All sites changed, where the model then runs; else those that can be changed alone and run together."""

    def make(refused: Mapping[int, RefusedError]) -> Rewritten:
        return set_constant_extent(view, sites, settings, refused=refused)

    extents = make({})
    whole = _breaks(extents, extents.inputs, rules)
    if whole is None:
        return extents
    index_of = {site.key: site.index for site in sites}
    single: dict[int, RefusedError] = {}
    for source in extents.inputs:
        index = index_of[source.sites[0].key]
        others = {index_of[one.sites[0].key]: RefusedError("") for one in extents.inputs if one is not source}
        why = _breaks(make(others) if rules is not None else extents, [source], rules)
        if why is not None:
            single[index] = RefusedError(why)
    if len(single) < len(extents.inputs):
        rest = make(single)
        whole = _breaks(rest, rest.inputs, rules)
        if whole is None:
            return rest
    every = {index_of[source.sites[0].key]: RefusedError(whole) for source in extents.inputs}
    return make({**every, **single})


def _breaks(extents: Rewritten, moved: Sequence[PromotedInput], rules: Conditions | None) -> Diagnostic | None:
    """Where the model breaks with these inputs moved, by sizes; by a run where these do not tell. None: it does not."""
    if not moved:
        return None
    constants = ((source, extents.extents[source.sites[0].key]) for source in moved)
    ended = SizeInquiry(extents.before).ended(
        {source: extent.values or () for source, extent in constants if isinstance(extent, Extent)}
    )
    if ended is None:
        return None
    if ended.fits is None:
        return None if rules is None else _breaks_at_run(extents.before.document, extents.document, rules)
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
    extents: Rewritten,
    sites: Mapping[Key, Site],
    rules: Conditions,
    feeds: Mapping[str, Any],
) -> Result[Document]:
    """The result, compared with the original that holds the new extents; where nothing was to change at the sizes at
    which the original runs, with the original, too."""
    from resizefix.library.fix_trials import why_not_run  # onnxruntime is imported where something is run
    from resizefix.verification.reference_model import (
        Operand,
        ReferenceModels,
        SizesOfAnother,
    )
    from resizefix.verification.verify import prove_rewrite

    document = extents.document
    operands: dict[Key, Operand] = {}
    for key, extent in extents.extents.items():
        if isinstance(extent, Extent):
            operands[key] = extent
        else:
            partner, site = extent.partner, extent.site
            listed = site.interpolation.axes
            operands[key] = SizesOfAnother(site.input, partner.read, extent.axes, partner.axes, extent.rank, listed)
    why = _breaks_at_run(base, document, rules)
    if why is not None:
        raise failed(Result(original, extents.outcomes, (), skipped("library.nothing-changed")), why=why)
    resized = {key: sites[key].input for key in operands}
    reference = ReferenceModels(base).document(operands)
    verification = prove_rewrite(reference, document, resized, 0.0, rules, feeds=feeds)
    outcomes = extents.outcomes
    takes_partners = any(isinstance(extent, PartnerSizes) for extent in extents.extents.values())
    if verification.passed and takes_partners and why_not_run(base, rules) is None:
        exact = all(one.exact for one in outcomes if one.status is Status.CHANGED)
        as_before = prove_rewrite(base, document, resized, 0.0 if exact else math.inf, rules, feeds=feeds)
        outcomes = measured(outcomes, [sites[key] for key in resized], as_before)
        notes = "; ".join(dict.fromkeys(filter(None, (as_before.reason, verification.reason)))) or None
        verification = replace(as_before, runs=(*as_before.runs, *verification.runs), reason=notes)
    if not verification.passed:
        raise failed(Result(original, outcomes, (), verification), why=verification.reason)
    return Result(document, outcomes, (), verification)


def _raised(asked: AskedCall, outcome: Outcome) -> Iterable[Words]:
    """The opset that has a word for what is set, where the raised model can be verified."""
    if outcome.retry_args and all(runs_in(ModelView(asked.document))):
        yield outcome.retry_args


@operation(Demand(needs_resize=True), advice=_raised, tells_why=True, inlines=never)
def set_interpolation(
    document: Document,
    *,
    mode: str | None = None,
    coordinates: str | None = None,
    coordinate_transformation_mode: str | None = None,
    nearest_mode: str | None = None,
    cubic_coeff_a: float | None = None,
    extrapolation_value: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    form: str | None = None,
    scale: float | None = None,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | str | None = None,
    node: Sequence[str] = (),
    opset: int | None = None,
    inline: bool = False,
    feed: Mapping[str, object] | None = None,
    allow_inexact: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Change the interpolation of the selected resizes on purpose, and measure what that changes.

    Values are those of the ONNX specification ("linear", "half_pixel", …); `form` is "scales", "sizes", "axes", or a
    lowering by name ("gather", "matmul", "conv-transpose", …). The form "resize" writes other operators as Resize. A
    change that keeps what a node computes at its sizes is verified bit for bit, or within the bound that its outcome
    states. For any other change, each outcome says how far the node is from what it was (`max_abs_diff`,
    `node_diffs`), and how far the outputs are (`output_diffs`). They are measured on random values and on those of
    `feed`: for each input an array, numbers, or the path of a .npy file or a picture. `result.views` holds planes of
    the tensors to look at. `opset` raises the model first; `inline` inlines its local functions before that.

    `scale`, `scales` or `sizes`, set in a call of their own, give the nodes another constant extent. `sizes="partner"`
    gives them, at run time, the sizes of the tensor that the result meets at Add, Sub, Mul, Concat or Where. Each
    changed node is compared with the original that holds this extent, bit for bit, and the rest must run. Where sizes
    would sample otherwise than the scales did, a node is refused unless `allow_inexact`.

    Raises UsageError for values that there are not, VerificationFailedError where a changed node does not compute what
    was asked for.
    """
    keywords = locals()
    settings = settings_of({key: keywords[key] for key in (*READERS, *ALIASES)})
    asked = _Request(node, opset, feed or {}, run, verify, allow_inexact)
    if settings.is_extent:
        return _set_extent(document, settings, asked)
    if settings.form == RESIZE:
        from resizefix.library.set_resize import set_resize  # of nodes that are no resizes

        if len([value for value in vars(settings).values() if value is not None]) > 1:
            raise UsageError("operations.set-extent-alone", key="form=resize")
        return set_resize(document, node, opset, run, verify=verify)
    return _set_in_place(document, settings, asked)


def _set_in_place(document: Document, settings: Settings, asked: _Request) -> Result[Document]:
    """The selected nodes with another interpolation or form, measured. Raises UsageError, VerificationFailedError."""
    base, changes = _made(document, settings, asked)
    fed = read_feeds(asked.feed, model_inputs(document.proto))
    if not changes.intended:
        return Result(document, changes.outcomes, (), skipped("library.nothing-changed"))
    plan = Plan(frozenset(one.key for one in changes.intended))
    changes = changes.with_document(seam.submitted(base, changes.document, plan))
    if not asked.verify:
        return Result(changes.document, changes.outcomes, (), not_verified())
    rules = conditions(**asked.run)
    if base is not document:
        require_raised_alike(document, base, changes.outcomes, rules, fed.numbers)
    # onnxruntime is imported where it runs
    from resizefix.verification.changed_nodes import RANDOM, measure_change

    feeds = {RANDOM: fed.numbers} | ({", ".join(fed.paths.values()): fed.values} if fed.paths else {})
    measured = measure_change(base, changes.document, changes.intended, feeds, rules)
    outcomes = _with_differences(changes, measured)
    why = measured.verification.reason
    verification = replace(measured.verification, reason=fed.with_notes(why))
    if not verification.passed:
        raise failed(Result(document, outcomes, (), verification), why=why)
    return Result(changes.document, outcomes, (), verification, views=measured.views)


def _made(document: Document, settings: Settings, asked: _Request) -> tuple[Document, Rewritten]:
    """The document raised to the opset asked for, and its selected nodes changed; outcomes show each as it was."""
    given = find_sites(document)
    indices = asked.indices(given)
    base = raised(document, asked.opset)
    sites = [site for site in (given if base is document else find_sites(base)) if site.index in indices]
    changes = make(base, sites, settings)
    before = {site.index: node_text(site.node) for site in given}
    as_given = (replace(outcome, before=before[outcome.index]) for outcome in changes.outcomes)
    return base, replace(changes, outcomes=tuple(as_given))


def _with_differences(changes: Rewritten, measured: Measured) -> tuple[Outcome, ...]:
    """The outcomes with what was measured, at each node and at the outputs.

    Of half precision the last bits follow the casts around a node, which other operators move: then it is not exact.
    """
    all_exact = all(outcome.exact for outcome in changes.outcomes)
    moved = all_exact and any(diff.max_abs_diff for diff in measured.outputs)
    outcomes = []
    for outcome in changes.outcomes:
        if outcome.status is Status.CHANGED:
            diffs = measured.nodes.get(outcome.index, ())
            largest = max((diff.max_abs_diff for diff in diffs), default=None)
            exact = outcome.exact and not largest and not moved
            outcome = replace(
                outcome,
                exact=exact,
                max_abs_diff=None if exact else largest,
                measured_at=None if exact else measured.shapes,
                node_diffs=diffs,
                output_diffs=measured.outputs,
            )
        outcomes.append(outcome)
    return tuple(outcomes)
