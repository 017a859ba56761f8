"""Resizes whose scales are the size of another tensor divided by their own read that size instead.

Parsers that take no computed scales take computed sizes. Resize-10 has no words for them: the model is raised first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from resizefix.document.document import Document
from resizefix.document.edits import insert_nodes, remove_unread
from resizefix.document.node_builder import FreshNames, NodeBuilder
from resizefix.document.scopes import default_opset, names_in
from resizefix.errors import RefusedError
from resizefix.interpolation import ExtentKind
from resizefix.operations.new_operand import read_instead
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import find_sites
from resizefix.origins.origin import OriginKind
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.expression import Size
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.partners import Partners
from resizefix.shapes.size_quotients import SizeQuotients
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import Effect, Target, judge

FIRST_WITH_SIZES = 11
_RULE = "scales-are-weights"
Dividends = Mapping[Key, Sequence[Size | None]]


def quotient_sites(view: ModelView, sites: Sequence[Site], target: Target) -> Dividends:
    """The sites of the main graph that the target refuses for computed scales alone, and the sizes that these aim at.

    Each grows, and meets a tensor of just those sizes: where the float32 quotient falls short, the model does not run.
    """
    facts = facts_in(view) if sites else ()
    refused = [
        site
        for site in sites
        if isinstance(site, ReadSite)
        and site.scope.path == MAIN
        and site.origin.kind is OriginKind.COMPUTED
        and site.extent.kind is ExtentKind.SCALES
        and site.interpolation.axes is None
        and {one.rule for one in judge(target, facts[site.index]) if one.effect is Effect.REJECTED} == {_RULE}
    ]
    if not refused:
        return {}
    quotients, partners = SizeQuotients(view), Partners(view)
    found: dict[Key, Sequence[Size | None]] = {}
    for site in refused:
        dividends = quotients.dividends(view.scopes.main, site.input, site.operand[1])
        if dividends is None or not quotients.grow(view.scopes.main, site.input, dividends):
            continue
        if _meets(view, partners, site, dividends):
            found[site.key] = dividends
    return found


def _meets(view: ModelView, partners: Partners, site: ReadSite, dividends: Sequence[Size | None]) -> bool:
    axes = [axis for axis, size in enumerate(dividends) if size is not None]
    try:
        partner = partners.of(view.scopes.main, site.output, axes)
    except RefusedError:
        return False
    read = None if partner is None else view.scopes.definition(view.scopes.main, partner.read)
    if partner is None or read is None:
        return False
    source = partners.sizes.source
    return all(
        (size := dividends[axis]) is not None and source(size.tensor, size.axis) == source(read.key, its)
        for axis, its in zip(axes, partner.axes, strict=True)
    )


def with_sizes_read(document: Document, dividends: Dividends) -> Document:
    """A copy in which these nodes read the sizes that their scales aim at, raised to opset 11 where it is older."""
    if default_opset(document.proto.opset_import, fallback=1) < FIRST_WITH_SIZES:
        from resizefix.opsets.raising import raised_to  # few models are raised

        made = raised_to(document, FIRST_WITH_SIZES)
    else:
        made = document.copy()
    view, sites = ModelView(made), {site.key: site for site in find_sites(made)}
    graph, fresh = made.proto.graph, FreshNames(names_in(made.proto)).fresh
    unread: list[Key] = []
    producers = view.scopes.main.producers
    for key in sorted(dividends, key=lambda key: producers[key[1]], reverse=True):
        site, place = sites[key].read, producers[key[1]]
        node = graph.node[place]
        unread += [made_by.key for made_by in view.scopes.sources(view.scopes.main, node, 1)]
        builder = NodeBuilder(fresh, FIRST_WITH_SIZES, "")
        sizes = [
            builder.slice(
                builder.add("Shape", site.input if size is None else size.tensor[1]),
                [0],
                [axis if size is None else size.axis],
                [(axis if size is None else size.axis) + 1],
            )
            for axis, size in enumerate(dividends[key])
        ]
        listed = builder.add("Concat", *sizes, wanted=f"{site.output}_sizes", axis=0)
        empty = partial(builder.value, np.zeros(0, np.float32), "no_scales")
        read_instead(site, node, ExtentKind.SIZES, listed, empty)
        insert_nodes(graph, place, builder.nodes)
        graph.initializer.extend(builder.initializers)
    remove_unread(made.proto, unread)
    return made
