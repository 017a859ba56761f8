"""Resizes that take the sizes of another tensor: scales that divide its size by their own read that size instead, and
what meets a tensor of another length takes its length by a Reshape, which copies every number.

Parsers that take no computed scales take computed sizes. Resize-10 has no words for them: the model is raised first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, NodeBuilder, Replacement, add_initializer, insert_nodes, remove_unread
from resizefix.document.scopes import default_opset, names_in
from resizefix.document.text import node_text
from resizefix.interpolation import ExtentKind
from resizefix.operations.replacement import Fresh
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import ReadSite, Site, read_instead
from resizefix.operations.sites import find_sites
from resizefix.origins.classify import OriginKind
from resizefix.outcome import BITWISE, UNBOUNDED, ErrorBound, Status
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import Effect, Target, judge
from resizefix.targets.tensorrt import LENGTH_IS_SEEN

if TYPE_CHECKING:
    from resizefix.shapes.expression import Size
    from resizefix.shapes.partners import Partners
    from resizefix.targets.met_tensors import Meeting


FIRST_WITH_SIZES = 11
_RULE = "scales-are-weights"
Dividends = Mapping[Key, "Sequence[Size | None]"]


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
    from resizefix.shapes.partners import Partners
    from resizefix.shapes.size_quotients import SizeQuotients

    quotients, partners = SizeQuotients(view), Partners(view)
    by_site: dict[Key, Sequence[Size | None]] = {}
    for site in refused:
        dividends = quotients.dividends(view.scopes.main, site.input, site.operand[1])
        if dividends is None or not quotients.grow(view.scopes.main, site.input, dividends):
            continue
        if _meets(view, partners, site, dividends):
            by_site[site.key] = dividends
    return by_site


def _meets(view: ModelView, partners: Partners, site: ReadSite, dividends: Sequence[Size | None]) -> bool:
    axes = [axis for axis, size in enumerate(dividends) if size is not None]
    try:
        partner = partners.of(site.scope, site.output, axes)
    except RefusedError:
        return False
    read = None if partner is None else view.scopes.definition(site.scope, partner.read)
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

        changed = raised_to(document, FIRST_WITH_SIZES)
    else:
        changed = document.copy()
    view, sites = ModelView(changed), {site.key: site for site in find_sites(changed)}
    graph, fresh = changed.proto.graph, FreshNames(names_in(changed.proto)).fresh
    unread: list[Key] = []
    producers = view.scopes.main.producers
    for key in sorted(dividends, key=lambda key: producers[key[1]], reverse=True):
        site, place = sites[key].read, producers[key[1]]
        node = graph.node[place]
        unread += [made_by.key for made_by in view.scopes.sources(view.scopes.main, node, 1)]
        builder = NodeBuilder(fresh, FIRST_WITH_SIZES, "")
        _read_sizes(site, node, dividends[key], builder)
        insert_nodes(graph, place, builder.nodes)
        graph.initializer.extend(builder.initializers)
    remove_unread(changed.proto, unread)
    return changed


def _read_sizes(site: ReadSite, node: NodeProto, dividends: Sequence[Size | None], builder: NodeBuilder) -> None:
    """Lets the site's node read the sizes; what they are made of is added to the builder."""
    sizes = [
        builder.slice(
            builder.add("Shape", site.input if size is None else size.tensor[1]),
            [0],
            [axis if size is None else size.axis],
            [(axis if size is None else size.axis) + 1],
        )
        for axis, size in enumerate(dividends)
    ]
    listed = builder.add("Concat", *sizes, wanted=f"{site.output}_sizes", axis=0)
    read_instead(site, node, ExtentKind.SIZES, listed, partial(builder.value, NO_NUMBERS, "no_scales"))


def as_sizes(view: ModelView, site: ReadSite, node: NodeProto, fresh: Fresh) -> Replacement | None:
    """What takes the place of `node`, the site's, to read the sizes that its scales aim at; None where these are no
    quotients of sizes.

    Exact where each quotient gives the size at every length, or the result meets a tensor of just that size.
    """
    if site.slot is None or site.slot == site.dialect.sizes_input or site.interpolation.axes is not None:
        return None
    from resizefix.shapes.partners import Partners
    from resizefix.shapes.size_quotients import LONGEST, SizeQuotients

    quotients = SizeQuotients(view)
    dividends = quotients.dividends(site.scope, site.input, site.operand[1])
    if dividends is None or all(size is None for size in dividends):
        return None
    short = quotients.falls_short(site.scope, site.input, dividends)
    meets = _meets(view, Partners(view), site, dividends)
    builder, changed = NodeBuilder(fresh, site.scope.opset, ""), NodeProto()
    changed.CopyFrom(node)
    _read_sizes(site, changed, dividends, builder)
    how = Diagnostic("operations.sizes-of-quotients", names=", ".join(_names(dividends)))
    note = Diagnostic("operations.quotients-fall-short") if short and not meets else ""
    tried = () if short or meets else (Diagnostic("lowerings.for-axes-up-to", longest=LONGEST),)
    near = BITWISE if meets or not short else UNBOUNDED
    error = ErrorBound(near.exact, near.bound, note, tried)
    return Replacement((*builder.nodes, changed), tuple(builder.initializers), error, how)


def _names(dividends: Sequence[Size | None]) -> list[str]:
    return list(dict.fromkeys(size.tensor[1] for size in dividends if size is not None))


def pinned(view: ModelView, sites: Sequence[Site], target: Target) -> Rewritten | None:
    """A copy in which every selected site of the main graph whose length the target does not see to be equal has that
    of its partner where the two meet; None: there is no such site. The outcomes are those of these sites."""
    facts = facts_in(view)
    hidden = [
        site
        for site in sites
        if site.scope.path == MAIN and any(one.rule == LENGTH_IS_SEEN for one in judge(target, facts[site.index]))
    ]
    if not hidden:
        return None
    from resizefix.targets.met_tensors import meetings  # few resizes meet a tensor so

    document, fresh = view.document.copy(), FreshNames(names_in(view.model)).fresh
    graph = document.proto.graph
    touched, outcomes = set[Key](), []
    before: dict[int, list[NodeProto]] = {}
    for site in hidden:
        added: list[NodeProto] = []
        for meeting in meetings(view, view.scopes.main, site.node):
            builder = NodeBuilder(fresh, site.scope.opset, "")
            name = _reshaped(view, meeting, builder)
            reader = graph.node[meeting.position]
            reader.input[:] = [name if one == meeting.own else one for one in reader.input]
            before.setdefault(meeting.position, []).extend(builder.nodes)
            for tensor in builder.initializers:
                add_initializer(document.proto, tensor)
            touched.add((MAIN, reader.output[0]))
            added += [*builder.nodes, reader]
            break  # behind the first, the length is the partner's
        after = tuple(node_text(node) for node in added)
        outcomes.append(site.outcome(Status.CHANGED, Diagnostic("operations.length-of-partner"), after=after))
    for index in sorted(before, reverse=True):
        insert_nodes(graph, index, before[index])
    return Rewritten(view, ModelView(document), tuple(outcomes), touched=frozenset(touched))


def _reshaped(view: ModelView, meeting: Meeting, builder: NodeBuilder) -> str:
    """The tensor with its partner's sizes on the axes that must be equal, and its own on all others."""
    dims = view.dims(view.scopes.main, meeting.own) or ()
    own, partner = builder.add("Shape", meeting.own), builder.add("Shape", meeting.partner)
    sizes = [
        builder.value([dim], "size", "int64")
        if isinstance(dim, int)
        else builder.add(
            "Gather", partner if axis in meeting.axes else own, builder.value([axis], "axis", "int64"), axis=0
        )
        for axis, dim in enumerate(dims)
    ]
    return builder.add("Reshape", meeting.own, builder.add("Concat", *sizes, axis=0))
