"""Nodes given, at run time, the sizes of the tensor that their result meets: a network with skip connections then runs
at sizes that its halvings do not divide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS
from resizefix.document.edits import FreshNames, NodeBuilder, insert_nodes, remove_unread
from resizefix.document.scopes import names_in
from resizefix.document.text import node_text
from resizefix.document.values import Dims
from resizefix.document.view import View
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind
from resizefix.operations.rewriter import Rewritten, store_scan_ranks
from resizefix.operations.site import PartnerSizes, ReadSite, Site, read_instead
from resizefix.origins.classify import OriginKind
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.output_size import batch_and_channel, sampled_scale
from resizefix.shapes.partners import Partner, Partners
from resizefix.shapes.stored_shapes import ModelView, rederive

_FIRST_WITH_SIZES = 11
# What they sample follows from the two sizes alone, and not from the scale.
_BY_SIZES = frozenset({CoordinateTransformationMode.ALIGN_CORNERS, CoordinateTransformationMode.TF_CROP_AND_RESIZE})


def set_partner_sizes(
    view: ModelView, sites: Sequence[Site], *, allow_inexact: bool = False, named: bool = False
) -> Rewritten:
    """A copy of the document in which every site that has a partner takes its sizes.

    One without a partner is left alone, or refused where it is `named` or where none has one. Where sizes would sample
    otherwise than the scales do, the site is refused unless `allow_inexact`.
    """
    partners = Partners(view)
    planned = [_plan_or_outcome(site, partners, allow_inexact=allow_inexact) for site in sites]
    document = view.document.copy()
    plans = [plan for plan in planned if isinstance(plan, PartnerSizes)]
    texts = _apply(document.proto, plans)
    notes = store_scan_ranks(document, [plan.site.key for plan in plans])
    outcomes = [
        _changed(plan, texts[plan.site.key], notes.get(plan.site.key)) if isinstance(plan, PartnerSizes) else plan
        for plan in planned
    ]
    is_anywhere = any(one.status is not Status.REFUSED or one.reason is None for one in outcomes)
    if is_anywhere and not named:
        outcomes = [_left_alone(one) for one in outcomes]
    after = ModelView(document) if plans else view
    return Rewritten(view, after, tuple(outcomes), extents={plan.site.key: plan for plan in plans})


_NONE = Diagnostic("operations.no-partner")


def _left_alone(outcome: Outcome) -> Outcome:
    return replace(outcome, status=Status.UNCHANGED) if outcome.reason == _NONE else outcome


def _plan_or_outcome(site: Site, partners: Partners, *, allow_inexact: bool) -> PartnerSizes | Outcome:
    try:
        plan = _plan(site.read, partners, allow_inexact=allow_inexact)
    except RefusedError as error:
        return site.refused(error)
    return plan or site.outcome(Status.UNCHANGED, Diagnostic("operations.set-already"))


def _plan(site: ReadSite, partners: Partners, *, allow_inexact: bool) -> PartnerSizes | None:
    """How the site takes its partner's sizes; None: it does. Raises RefusedError."""
    rank = partners.sizes.rank((site.scope.path, site.input)) if site.input_dims is None else len(site.input_dims)
    if rank is None:
        raise RefusedError("operations.tensor-unknown", what="rank")
    axes = _resized_axes(site, rank)
    partner = partners.of(site.scope, site.output, axes)
    if partner is None:
        raise RefusedError(_NONE)
    if site.origin.kind is OriginKind.GRAPH_INPUT:
        extent, name = site.extent.kind.value, repr(site.origin.name)
        raise RefusedError("operations.set-extent-of-fed", extent=extent, name=name)
    if site.dialect.sizes_input is None:
        needed: dict[str, Any] = {"opset": site.scope.opset, "what": "sizes=partner", "needed": _FIRST_WITH_SIZES}
        if site.scope.in_function:
            raise RefusedError("operations.set-opset-of-function", **needed)
        raise RefusedError("operations.set-opset", **needed, retry_args=("--opset", str(_FIRST_WITH_SIZES)))
    if site.interpolation.keep_aspect_ratio_policy is not None:
        raise RefusedError("operations.partner-behind-policy")
    if _reads(site, partner, axes, rank, partners):
        return None
    exact = _samples_alike(site, partner, axes)
    if not exact and not allow_inexact:
        raise RefusedError("operations.partner-samples-otherwise", name=partner.name, retry_args=("--allow-inexact",))
    return PartnerSizes(site, partner, axes, rank, exact)


def _resized_axes(site: ReadSite, rank: int) -> tuple[int, ...]:
    """The axes that take the partner's sizes: all but batch and channels."""
    values, listed = site.extent.values, site.interpolation.axes
    named = tuple(range(rank)) if listed is None else tuple(axis % rank for axis in listed)
    if values is None or site.extent.kind is not ExtentKind.SCALES:
        scaled = {axis for axis in named if axis >= 2 or rank <= 2}
        sizes = site.input_dims or (None,) * rank
        if values is not None and len(values) == len(named):
            moved = {axis for axis, value in zip(named, values, strict=True) if sizes[axis] not in (None, value)}
            scaled = moved or scaled
    else:
        scaled = {axis for axis, value in zip(named, values, strict=False) if value != 1}
    excluded = batch_and_channel(rank, scaled)
    return tuple(axis for axis in sorted(named) if axis not in excluded)


def _reads(site: ReadSite, partner: Partner, axes: Sequence[int], rank: int, partners: Partners) -> bool:
    """Whether the node's sizes are known to be the partner's at every size of the input."""
    if site.slot != site.dialect.sizes_input:
        return False
    definition = partners.sizes.scopes.definition(site.scope, site.operand[1])
    listed = site.interpolation.axes
    named = list(range(rank)) if listed is None else [axis % rank for axis in listed]
    elements = None if definition is None else partners.listed(definition)
    read = partners.sizes.scopes.definition(site.scope, partner.read)
    if elements is None or len(elements) != len(named) or read is None:
        return False
    return all(
        elements[named.index(axis)] == partners.sizes.source(read.key, its)
        for axis, its in zip(axes, partner.axes, strict=True)
    )


def _samples_alike(site: ReadSite, partner: Partner, axes: Sequence[int]) -> bool:
    """Whether the node samples by the partner's sizes as it did, wherever the model runs."""
    if site.slot == site.dialect.sizes_input or site.interpolation.coordinate_transformation_mode in _BY_SIZES:
        return True
    values, listed = site.extent.values, site.interpolation.axes
    if values is None or site.extent.kind is not ExtentKind.SCALES:
        return False
    rank = len(site.input_dims) if site.input_dims is not None else len(values)
    named = list(range(rank)) if listed is None else [axis % rank for axis in listed]
    sizes = site.input_dims or (None,) * rank
    for axis, out in zip(axes, partner.sizes, strict=True):
        scale, size = float(values[named.index(axis)]), sizes[axis]
        if scale.is_integer():
            continue
        if not isinstance(size, int) or out is None or sampled_scale(size, out) != np.float32(scale):
            return False
    return True


def _changed(plan: PartnerSizes, text: str, note: str | None) -> Outcome:
    how = Diagnostic("operations.takes-sizes-of", name=plan.partner.name, at=plan.partner.node)
    read = Diagnostic("operations.read-of", name=plan.partner.read) if plan.partner.read != plan.partner.name else ""
    reason = "; ".join(part for part in (how, read, note) if part)
    return plan.site.outcome(Status.CHANGED, reason, after=(text,), exact=plan.exact)


def _apply(model: ModelProto, plans: Sequence[PartnerSizes]) -> dict[Key, str]:
    """Lets the nodes read their partners' sizes; gives each of them as text."""
    scopes = View(model).scopes
    fresh = FreshNames(names_in(model)).fresh
    texts: dict[Key, str] = {}
    unread: list[Key] = []
    places = sorted(plans, key=lambda plan: scopes.by_path[plan.site.scope.path].producers[plan.site.output])
    for plan in reversed(places):
        site, scope = plan.site, scopes.by_path[plan.site.scope.path]
        place = scope.producers[site.output]
        node = scope.body.node[place]
        unread += [definition.key for definition in scopes.sources(scope, node, 1)]
        builder = NodeBuilder(fresh, 7, "", lambda op_type, output: fresh(f"{output}_{op_type}"))
        sizes = _sizes(builder, plan)
        empty = partial(builder.constant_node, NO_NUMBERS, "no_scales")
        read_instead(site, node, ExtentKind.SIZES, sizes, empty)
        texts[site.key] = node_text(node)
        insert_nodes(scope.body, place, builder.nodes)
    remove_unread(model, unread)
    rederive(model, {plan.site.key: _output_dims(plan) for plan in plans})
    return texts


def _sizes(builder: NodeBuilder, plan: PartnerSizes) -> str:
    """The operand: the partner's sizes, and on the other axes those of the tensor that is resized."""
    site, partner = plan.site, plan.partner
    listed = site.interpolation.axes
    named = list(range(plan.rank)) if listed is None else [axis % plan.rank for axis in listed]
    its = dict(zip(plan.axes, partner.axes, strict=True))
    wanted, name = f"{site.output}_sizes", f"{site.output}_partner_shape"
    shape = builder.add("Shape", partner.read, wanted=name)
    if set(named) <= its.keys():
        places = [its[axis] for axis in named]
    else:
        own = builder.add("Shape", site.input, wanted=f"{site.output}_own_shape")
        shape = builder.add("Concat", own, shape, wanted=f"{site.output}_both_shapes", axis=0)
        places = [plan.rank + its[axis] if axis in its else axis for axis in named]
    indices = builder.constant_node(np.array(places, np.int64), f"{site.output}_size_places")
    return builder.add("Gather", shape, indices, wanted=wanted, axis=0)


def _output_dims(plan: PartnerSizes) -> Dims | None:
    dims = plan.site.input_dims
    if dims is None:
        return None
    sizes = dict(zip(plan.axes, plan.partner.sizes, strict=True))
    if plan.site.scope.is_repeated:
        return (None,) * len(dims)
    return tuple(sizes.get(axis, size) for axis, size in enumerate(dims))
