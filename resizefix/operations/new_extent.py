"""Nodes given another extent in one step: constant scales or sizes, as a promotion and a freezing would make them, or
the sizes of the tensor that the result meets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.document.text import counted
from resizefix.interpolation import Extent, ExtentKind
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.settings import Settings
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.promotion import Form, InputBinding, NewInputs, PromotedInput
from resizefix.shapes.output_size import batch_and_channel
from resizefix.shapes.stored_shapes import ModelView

Numbers = tuple[float, ...]


def set_constant_extent(
    view: ModelView,
    sites: Sequence[Site],
    settings: Settings,
    *,
    refused: Mapping[int, RefusedError] | None = None,
    opset: int = 0,
) -> Rewritten:
    """A copy of the document in which the sites have the scales or sizes of `settings` as constants.

    The sites are promoted and frozen at once. A site that has this extent is left alone, one that would resize its
    batch or its channels is refused. `refused` holds, by site index, reasons found elsewhere.
    """
    form = Form.SIZES if settings.sizes is not None else Form.SCALES
    whys, same = dict(refused or {}), set[int]()
    while True:
        left = [site for site in sites if site.index not in same]
        wanted = NewInputs(form, replaced=True)
        promotion = promote_scales(view.document, left, wanted, refused=whys, opset=opset, view=view)
        numbers, refusals, unchanged = _numbers(promotion, left, settings)
        if not refusals and not unchanged:
            extents = _frozen(view, promotion, left, numbers, whys)
            refusals = {
                one.index: RefusedError(one.reason or "") for one in extents.outcomes if _was_not_frozen(one, promotion)
            }
            if not refusals:
                return replace(extents, outcomes=_in_order(sites, extents.outcomes, same))
        whys |= refusals
        same |= unchanged


def _numbers(
    promotion: Rewritten, sites: Sequence[Site], settings: Settings
) -> tuple[dict[PromotedInput, Numbers], dict[int, RefusedError], set[int]]:
    """What each new input is to be fed; the sites that cannot have it, and those that have it."""
    by_key = {site.key: site for site in sites}
    numbers: dict[PromotedInput, Numbers] = {}
    refusals: dict[int, RefusedError] = {}
    unchanged: set[int] = set()
    for source in promotion.inputs:
        (driven,) = source.sites
        site = by_key[driven.key]
        try:
            operand = _operand(driven, site, settings)
        except RefusedError as error:
            refusals[site.index] = RefusedError(str(error))
            continue
        is_there = site.extent.kind is driven.kind and operand == tuple(driven.base)
        if is_there and site.origin.kind.is_constant:
            unchanged.add(site.index)
        numbers[source] = driven.input_value(operand)
    return numbers, refusals, unchanged


def _operand(driven: InputBinding, site: Site, settings: Settings) -> Numbers:
    """The numbers that the node gets. Raises RefusedError where they do not fit it."""
    count, scaled = len(driven.base), driven.scaled
    axes = tuple(range(count)) if driven.axes is None else driven.axes
    rank = len(site.input_dims) if site.input_dims is not None else max(axes, default=0) + 1
    if settings.scale is not None:
        given: Sequence[float] = (settings.scale,) * len(scaled)
    else:
        chosen = settings.sizes if driven.kind is ExtentKind.SIZES else settings.scales
        assert isinstance(chosen, tuple)
        given = chosen
    if len(given) == rank and axes != tuple(range(rank)):
        stays = site.input_dims or (None,) * rank
        others = [axis for axis in range(rank) if axis not in axes]
        wrong = [axis for axis in others if given[axis] != (1 if driven.kind is ExtentKind.SCALES else stays[axis])]
        if wrong:
            raise RefusedError("operations.set-extent-of-axis", axis=wrong[0], axes=list(axes))
        given = [given[axis] for axis in axes]
    operand = list(driven.base)
    if len(given) == count:
        operand = list(given)
    elif len(given) == len(scaled):
        for position, number in zip(scaled, given, strict=True):
            operand[position] = number
    else:
        numbers, wanted = counted(len(given), "number"), " or ".join(map(str, sorted({count, len(scaled)})))
        raise RefusedError("operations.set-extent-count", numbers=numbers, wanted=wanted)
    _require_kept(driven, operand, axes, rank)
    return tuple(operand)


def _require_kept(driven: InputBinding, operand: Sequence[float], axes: Sequence[int], rank: int) -> None:
    """Raises RefusedError for numbers that would resize the batch or the channels."""
    for axis in batch_and_channel(rank, {axes[position] for position in driven.scaled}).intersection(axes):
        position = axes.index(axis)
        size = driven.resized_dims[position]
        stays = 1 if driven.kind is ExtentKind.SCALES else driven.base[position] if size is None else size
        if operand[position] != stays:
            what = "batch" if axis == 0 else "channels"
            raise RefusedError(
                "operations.set-extent-of-channels", axis=axis, what=what, number=operand[position], stays=stays
            )


def _frozen(
    view: ModelView,
    promotion: Rewritten,
    sites: Sequence[Site],
    numbers: Mapping[PromotedInput, Numbers],
    refused: Collection[int],
) -> Rewritten:
    """The promoted document with every new input a constant."""
    driven = {source.sites[0].key: (source, value) for source, value in numbers.items()}
    promoted = [site for site in sites_in(promotion.after) if site.key in driven]
    values = {source.name: value for source, value in numbers.items()}
    freezing, _ = freeze_scales(promotion.document, promoted, values=values, view=promotion.after)
    frozen = {one.index: one for one in freezing.outcomes}
    old = {site.index: site for site in sites}
    outcomes = []
    for outcome in promotion.outcomes:
        after = frozen.get(outcome.index)
        if after is None:
            own = outcome if outcome.index in refused else replace(outcome, retry_args=())  # options of a promotion
            outcomes.append(_not_promoted(own, old[outcome.index]))
            continue
        source, value = driven[old[outcome.index].key]
        reason = after.reason
        if after.status is Status.CHANGED:
            reason = _from_to(old[outcome.index], source.sites[0], source.sites[0].operand(value))
        outcomes.append(replace(after, before=outcome.before, reason=reason, exact=False))
    extents = {
        key: Extent(source.sites[0].kind, source.sites[0].operand(value)) for key, (source, value) in driven.items()
    }
    before = promotion.before if promotion.inputs else view
    return Rewritten(before, freezing.after, tuple(outcomes), tuple(numbers), extents)


def _not_promoted(outcome: Outcome, site: Site) -> Outcome:
    if outcome.status is not Status.UNCHANGED:
        return outcome
    reason = Diagnostic("operations.set-extent-of-fed", extent=site.extent.kind.value, name=repr(site.origin.name))
    return replace(outcome, status=Status.REFUSED, reason=reason)


def _was_not_frozen(outcome: Outcome, promotion: Rewritten) -> bool:
    promoted = {one.index for one in promotion.outcomes if one.status is Status.CHANGED}
    return outcome.index in promoted and outcome.status is not Status.CHANGED


def _from_to(site: Site, driven: InputBinding, operand: Numbers) -> Diagnostic:
    kind, old = driven.kind, site.extent
    before = driven.base if kind is old.kind or old.values is None or None not in driven.resized_dims else old.values
    was, now = (", ".join(f"{number:g}" for number in numbers) for numbers in (before, operand))
    if before is driven.base:
        return Diagnostic("operations.set-extent", extent=kind.value, before=was, after=now)
    return Diagnostic("operations.set-extent-instead", old=old.kind.value, before=was, extent=kind.value, after=now)


def _in_order(sites: Sequence[Site], outcomes: Sequence[Outcome], same: Collection[int]) -> tuple[Outcome, ...]:
    """The outcomes of all sites; those that have the extent already were not promoted."""
    by_index = {one.index: one for one in outcomes}
    already = Diagnostic("operations.set-already")
    return tuple(
        site.outcome(Status.UNCHANGED, already) if site.index in same else by_index[site.index] for site in sites
    )
