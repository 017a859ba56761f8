"""A resized tensor takes the length of the tensor that it meets: a Reshape, which copies every number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import add_initializer, insert_nodes
from resizefix.document.node_builder import FreshNames, NodeBuilder
from resizefix.document.scopes import names_in
from resizefix.document.text import node_text
from resizefix.operations.site import Site
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.met_tensors import Meeting, meetings
from resizefix.targets.target import Target, judge
from resizefix.targets.tensorrt import LENGTH_IS_SEEN


@dataclass(frozen=True)
class Pinned:
    """`document` is the copy, or the document itself where there was nothing to do; `nodes` are those that read
    another tensor now; `texts` has the nodes of each site, by its index."""

    document: Document
    nodes: frozenset[Key]
    texts: dict[int, tuple[str, ...]]

    def outcomes(self, sites: Sequence[Site], found: Iterable[Outcome]) -> tuple[Outcome, ...]:
        """The outcomes of the sites, with those that were pinned and nothing else."""
        said = Diagnostic("operations.length-of-partner")
        return tuple(
            site.outcome(Status.CHANGED, said, after=self.texts[site.index])
            if site.index in self.texts and outcome.status is Status.UNCHANGED
            else outcome
            for site, outcome in zip(sites, found, strict=True)
        )


def pinned(view: ModelView, sites: Sequence[Site], target: Target) -> Pinned:
    """A copy in which every selected site of the main graph whose length the target does not see to be equal has that
    of its partner where the two meet."""
    facts = facts_in(view)
    hidden = [
        site
        for site in sites
        if site.scope.path == MAIN and any(one.rule == LENGTH_IS_SEEN for one in judge(target, facts[site.index]))
    ]
    if not hidden:
        return Pinned(view.document, frozenset(), {})
    document, fresh = view.document.copy(), FreshNames(names_in(view.model)).fresh
    graph = document.proto.graph
    nodes, texts = set[Key](), dict[int, tuple[str, ...]]()
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
            nodes.add((MAIN, reader.output[0]))
            added += [*builder.nodes, reader]
            break  # behind the first, the length is the partner's
        texts[site.index] = tuple(node_text(node) for node in added)
    for index in sorted(before, reverse=True):
        insert_nodes(graph, index, before[index])
    return Pinned(document, frozenset(nodes), texts)


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
