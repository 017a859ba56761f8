"""Constant scales (or sizes) become graph inputs; nothing else of the model changes but the shapes that become
dynamic."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError, code_of
from resizefix.document.document import Document
from resizefix.document.edits import (
    FreshNames,
    add_graph_input,
    insert_nodes,
    pass_into_functions,
    remove_unread,
    set_input,
)
from resizefix.document.scopes import Scopes, default_opset, names_in
from resizefix.document.text import listed, node_text, node_texts
from resizefix.document.view import View
from resizefix.interpolation import ExtentKind, NearestMode
from resizefix.operations.forms import InputSubgraph, SubgraphPlace, bind_input, bind_integer_input, retry_args
from resizefix.operations.rewriter import Operation, Rewritten, broken_rules, kept_dims, rewrite, store_scan_ranks
from resizefix.operations.site import ReadSite, Site, read_instead
from resizefix.operations.sites import FIRST_OPSET_WITH_SCALES_INPUT, find_sites
from resizefix.origins.classify import OriginKind
from resizefix.outcome import Outcome, Status
from resizefix.promotion import Form, InputBinding, NewInputs, PromotedInput
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.stored_shapes import ModelView, rederive
from resizefix.targets.target import Effect, Target

_DTYPES = {"int64": np.int64, "float": np.float32}


def promote_scales(
    document: Document,
    sites: Sequence[Site],
    wanted: NewInputs | None = None,
    *,
    refused: Mapping[int, RefusedError] | None = None,
    target: Target | None = None,
    opset: int = 0,
    view: ModelView | None = None,
) -> Rewritten:
    """A copy of the document in which the sites that can be promoted are; `document` stays as it is.

    `refused` holds, by site index, reasons found elsewhere (coupled sites); one that `target` would refuse is not
    promoted. Sites inside If/Loop/Scan bodies read the new input from the outer scope, sites in local functions through
    an argument that every call passes on. Raises UsageError where the asked-for input name is taken.

    The model is raised to `opset`, and to 9 where scales that are promoted are an attribute. `view` is the document's,
    where there is one already.
    """
    operation = _Promote(wanted or NewInputs(), refused or {}, target)
    base, raised = _with_scale_inputs(document, sites, opset)
    before = view if view is not None and base is document else ModelView(base)
    rewritten = rewrite(before, raised, operation)
    ordered = rewritten.outcomes
    if base is not document:
        driven = {one.key: one for source in operation.inputs for one in source.sites}
        pairs = zip(sites, raised, ordered, strict=True)
        ordered = tuple(_of_raised(outcome, old, new, driven.get(new.key)) for old, new, outcome in pairs)
    if not operation.inputs:  # nor is it raised then
        return Rewritten(ModelView(document), ModelView(document.copy()), ordered)
    return replace(rewritten, outcomes=ordered, inputs=operation.inputs)


def _of_raised(outcome: Outcome, old: Site, new: Site, driven: InputBinding | None) -> Outcome:
    """The outcome of a site whose model was raised, with the old node and the scales at which the new one computes the
    same.

    Nearest of Resize-10 rounds down where an axis grows and up where it shrinks; a later one rounds one way. Numerators
    over 1 let no axis shrink.
    """
    outcome = replace(outcome, before=node_text(old.node))
    if driven is None or driven.denominator == 1 or old.read.dialect.min_scale >= 1:
        return outcome
    was, now = (site.read.interpolation.nearest_mode for site in (old, new))
    if was is not NearestMode.SIMPLE or now not in _ROUNDS_ONE_WAY:
        return outcome
    condition = Diagnostic(_ROUNDS_ONE_WAY[now], old=old.read.dialect.name, new=new.read.dialect.name)
    return replace(outcome, reason="; ".join(filter(None, (outcome.reason, condition))), condition=condition)


_ROUNDS_ONE_WAY = {
    NearestMode.FLOOR: "operations.raised-rounds-down",
    NearestMode.CEIL: "operations.raised-rounds-up",
}


def _with_scale_inputs(document: Document, sites: Sequence[Site], opset: int) -> tuple[Document, Sequence[Site]]:
    """The document and its sites, raised to `opset`, and to 9 where a site to be promoted has its scales as attribute.

    Raises RefusedError where an operator cannot be said in `opset`.
    """
    attributes = any(site.promotable and site.origin.kind is OriginKind.ATTRIBUTE for site in sites)
    wanted = max(opset, FIRST_OPSET_WITH_SCALES_INPUT) if attributes else opset
    if not wanted or wanted <= default_opset(document.proto.opset_import, fallback=1):
        return document, sites
    from resizefix.opsets.raising import raised_to  # most models are of a later opset

    raised = raised_to(document, wanted)
    raised_sites = find_sites(raised)
    return raised, [raised_sites[site.index] for site in sites]


@dataclass(eq=False)
class _Promote(Operation[InputBinding]):
    wanted: NewInputs
    refused: Mapping[int, RefusedError]
    target: Target | None
    inputs: tuple[PromotedInput, ...] = ()

    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[InputBinding | Outcome]:
        plans: list[InputBinding | Outcome] = []
        for site in sites:
            shared = plans if self.wanted.shared else ()
            first = next((plan for plan in shared if isinstance(plan, InputBinding)), None)
            plans.append(_plan(site, self.wanted, self.refused.get(site.index), first))
        if not self.wanted.shared:  # else all have one scale anyway
            plans = _without_followers(view, sites, plans)
        return self._without_refused_inputs(view, sites, plans)

    def _without_refused_inputs(
        self, view: ModelView, sites: Sequence[Site], plans: Sequence[InputBinding | Outcome]
    ) -> Sequence[InputBinding | Outcome]:
        """The plans; a site that follows an input already is refused where the target does not take that input."""
        fed = {site.key for site, plan in zip(sites, plans, strict=True) if _is_unchanged(plan)}
        refused = self.objections(view, fed) if fed else {}
        return [
            replace(plan, status=Status.REFUSED, reason=refused[site.key])
            if isinstance(plan, Outcome) and _is_unchanged(plan) and site.key in refused
            else plan
            for site, plan in zip(sites, plans, strict=True)
        ]

    def apply(self, document: Document, plans: Sequence[tuple[Site, InputBinding]]) -> Sequence[Outcome]:
        names = FreshNames(names_in(document.proto))
        self.inputs = _inputs(plans, self.wanted, names)
        nodes = _apply(View(document.proto).scopes, plans, self.inputs, names)
        befores, afters = node_texts([site.node for site, _ in plans]), node_texts(nodes)
        notes = store_scan_ranks(document, [site.key for site, _ in plans])
        outcomes = []
        for (site, driven), before, after in zip(plans, befores, afters, strict=True):
            inexact = _not_everywhere(driven)
            reason = "; ".join(filter(None, (inexact, notes.get(site.key)))) or None
            outcome = site.outcome(Status.CHANGED, reason, before=before, after=(after,), exact=inexact is None)
            outcomes.append(replace(outcome, condition=_where_exact(driven)) if inexact else outcome)
        return outcomes

    def objections(self, view: ModelView, changed: Collection[Key]) -> Mapping[Key, str]:
        """Sites that the target refuses for other reasons than their scales, each with what to do."""
        reasons: dict[Key, str] = {}
        for key, violations in broken_rules(view, changed, self.target) if self.target is not None else ():
            first = next((violation for violation in violations if violation.effect is Effect.REJECTED), None)
            if first is not None:
                rule = {"rule_name": first.rule, "because": first.because, "fix": first.fix}
                reasons[key] = Diagnostic("operations.tensorrt-refuses", **rule)
        return reasons


def _without_followers(
    view: ModelView, sites: Sequence[Site], plans: Sequence[InputBinding | Outcome]
) -> list[InputBinding | Outcome]:
    """The plans. A site is refused if its sizes are computed from the result of another promoted site: only fixed
    shapes make them constant, and they still follow when the other site gets another scale."""
    dims = {plan.key: plan.output_dims for plan in plans if isinstance(plan, InputBinding)}
    dependents = Dependents(view.scopes)
    computed = [site for site in sites if site.key in dims and site.origin.kind is OriginKind.COMPUTED]
    if computed and len(dims) > 1:
        dependents.add(dims)
    depending = {site.index for site in computed if _operand_key(view, site) in dependents.reached}
    if not depending:
        return list(plans)
    fed = [site for site in sites if site.key in dims and site.index not in depending]
    opened = _with_fed_extents(view.document, fed)
    rederive(opened.proto, dims)
    followers = {
        site.key: site for site in find_sites(opened) if code_of(site.origin.reason) == "origins.follows-another"
    }
    return [
        site.outcome(Status.REFUSED, followers[site.key].reason)
        if site.index in depending and site.key in followers
        else plan
        for site, plan in zip(sites, plans, strict=True)
    ]


def _with_fed_extents(document: Document, sites: Sequence[Site]) -> Document:
    """A copy in which the scales or sizes of these sites are graph inputs; sites in functions stay as they are."""
    opened = document.copy()
    names, scopes = FreshNames(names_in(opened.proto)), View(opened.proto).scopes
    for site in sites:
        if not site.scope.in_function:
            scope = scopes.by_path[site.scope.path]
            name = names.fresh("extent")
            set_input(scope.body.node[scope.producers[site.output]], site.read.dialect.slot(site.extent.kind), name)
            kind = TensorProto.INT64 if site.extent.kind is ExtentKind.SIZES else TensorProto.FLOAT
            opened.proto.graph.input.append(helper.make_tensor_value_info(name, kind, [len(site.read.values)]))
    return opened


def _operand_key(view: ModelView, site: Site) -> Key | None:
    definition = view.scopes.definition(site.scope, site.origin.name) if site.origin.name else None
    return None if definition is None else definition.key


def _is_unchanged(plan: InputBinding | Outcome) -> bool:
    return isinstance(plan, Outcome) and plan.status is Status.UNCHANGED


def _plan(
    site: Site, wanted: NewInputs, refusal: RefusedError | None, first: InputBinding | None
) -> InputBinding | Outcome:
    if site.reason is not None or not isinstance(site, ReadSite):
        is_input = isinstance(site, ReadSite) and site.origin.kind is OriginKind.GRAPH_INPUT
        status = Status.UNCHANGED if is_input else Status.REFUSED
        return site.outcome(status, site.reason)
    if refusal is not None:
        return site.refused(refusal)
    form, integers = wanted.form, wanted.integers
    try:
        if integers is not None:
            driven = bind_integer_input(site, form, integers.denominator)
        else:
            driven = bind_input(site, form or Form.SCALES, replaced=wanted.replaced)
    except RefusedError as error:
        chosen = None if integers is None else integers.denominator
        retry = retry_args(site, form, chosen, integers=integers is not None)
        return site.refused(RefusedError(str(error), retry_args=retry))
    if first is not None and first.input_value(first.base) != driven.input_value(driven.base):
        mine, theirs = driven.input_value(driven.base), first.input_value(first.base)
        reason = Diagnostic("operations.not-shared", mine=list(mine), other=first.label, theirs=list(theirs))
        return site.outcome(Status.REFUSED, reason)
    return driven


def _inputs(
    plans: Sequence[tuple[Site, InputBinding]], wanted: NewInputs, names: FreshNames
) -> tuple[PromotedInput, ...]:
    groups = [plans] if wanted.shared and plans else [[plan] for plan in plans]
    inputs = []
    for group in groups:
        site, first = group[0]
        name = f"{site.node.name or f'{site.op_type}_{site.index}'}_scales"
        if wanted.name is not None:
            name = wanted.name if len(groups) == 1 else f"{wanted.name}_{site.index}"
            if not names.is_free(name):
                raise UsageError("operations.input-name-taken", wanted=name)
        driven = tuple(driven for _, driven in group)
        inputs.append(PromotedInput(names.fresh(name), first.input_value(first.base), wanted.keep_default, driven))
    return tuple(inputs)


def _apply(
    scopes: Scopes, plans: Sequence[tuple[Site, InputBinding]], inputs: Sequence[PromotedInput], names: FreshNames
) -> list[NodeProto]:
    """The sites' nodes as they are now."""
    model = scopes.model
    by_key = {driven.key: source for source in inputs for driven in source.sites}
    nodes: list[NodeProto] = []
    old_operands: list[Key] = []
    subgraph = InputSubgraph(names)
    for site, driven in plans:
        scope = scopes.by_path[site.scope.path]
        node = scope.body.node[scope.producers[site.output]]
        nodes.append(node)
        old_operands.extend(definition.key for definition in scopes.sources(scope, node, 1))
        # What feeds an operand stands in the outermost scope, before the node or the one around the node's body.
        here = (site.scope.path, scope.producers[site.output])
        outside = (scope.path.outermost, scope.order[1]) if scope.parent else here
        _rewire(site.read, driven, node, by_key[site.key], subgraph, outside, here)
    for (path, position), nodes_there in sorted(subgraph.nodes.items(), key=lambda item: item[0][1], reverse=True):
        insert_nodes(scopes.by_path[path].body, position, nodes_there)
    remove_unread(model, old_operands)  # first: a raised IR would make the old constants overridable inputs
    for source in inputs:
        info = ValueInfoProto(name=source.name, type=_tensor_type(source.elem_type, source.shape))
        add_graph_input(model, info, _default(source) if source.optional else None)
    inside = ((driven.scope.function, by_key[driven.key].name) for _, driven in plans)
    pass_into_functions(model, dict.fromkeys((function, name) for function, name in inside if function is not None))
    rederive(model, kept_dims(View(model).scopes, [driven for _, driven in plans]))
    return nodes


@lru_cache(maxsize=64)
def _tensor_type(elem_type: str, shape: tuple[int, ...]) -> TypeProto:
    """Inputs have few types, where there are thousands."""
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(_DTYPES[elem_type])), shape)


def _default(source: PromotedInput) -> TensorProto:
    return numpy_helper.from_array(np.array(source.value, _DTYPES[source.elem_type]), source.name)


def _rewire(
    site: ReadSite,
    driven: InputBinding,
    node: NodeProto,
    source: PromotedInput,
    subgraph: InputSubgraph,
    outside: SubgraphPlace,
    here: SubgraphPlace,
) -> None:
    by_shape = driven.by_shape
    operand = subgraph.sizes(source.name, driven, here) if by_shape else subgraph.operand(source.name, driven, outside)
    read_instead(site, node, driven.reads, operand, lambda: subgraph.empty_scales(outside))


def _not_everywhere(driven: InputBinding) -> str | None:
    """At which sizes the promoted node computes something else; None: nowhere (`forms` refuses where it is sure to)."""
    if not driven.by_shape:
        return None
    for position in driven.scaled:
        scale = driven.base[position]
        if driven.resized_dims[position] is None and not float(scale).is_integer():
            down = "operations.tensorrt-takes-sizes-down"
            return Diagnostic(down if scale < 1 else "operations.tensorrt-takes-sizes", scale=f"{scale:g}")
    return None


def _where_exact(driven: InputBinding) -> str:
    """At which sizes a node that is fed sizes computes what its old scales did."""
    scales = sorted({driven.base[position] for position in driven.scaled} - {1.0})
    return Diagnostic("operations.where-sizes-whole", scales=listed([f"{scale:g}" for scale in scales]))
