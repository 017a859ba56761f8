"""The form of TensorRT's first ONNX parsers: every site an Upsample-7 with a `scales` attribute, opset 8, IR 3."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from onnx import NodeProto, numpy_helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import RESIZES, UPSAMPLE_7, Operands, dialect_of
from resizefix.dialects.read import read
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, Replacement, drop_overridable_inputs, set_default_opset
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, names_in, node_label
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import ExtentKind
from resizefix.operations.legalize import legalize as make_legal
from resizefix.operations.replacement import (
    Allowance,
    Fresh,
    chain_replacement,
    fix_shapes,
    lowered,
    replace_sites,
    rewritten,
    subject_of,
    why_unverifiable,
)
from resizefix.operations.rewriter import Operation, Rewritten, rewrite
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.opsets.constants import Unread, constants_to_initializers, fold
from resizefix.opsets.ir3 import to_ir3
from resizefix.opsets.lowering import downgrade, inline_functions, sort_nodes
from resizefix.opsets.verdict import Blocker, incomplete_nodes
from resizefix.opsets.verdict import OpsetStep as OpsetStep
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import SiteFacts
from resizefix.targets.other_domains import foreign_domain_resizes
from resizefix.targets.target import Target


def trt_legacy(
    document: Document,
    *,
    allowance: Allowance | None = None,
    patterns: Sequence[str] = (),
    target: Target | None = None,
) -> Rewritten:
    """A copy of the document in the old form, as far as that goes; `document` stays as it is.

    `patterns` (as in `sites.select`) say which sites may be rewritten; another that needs it stands in the way. Where
    `target` does not accept an Upsample-7, other operators take its place, or it stands in the way.

    Nodes in local functions are inlined first, since functions came with IR 8. Every blocker is found in one go: a site
    that has no Upsample-7 form does not keep the other operators from being looked at.
    """
    allowance = allowance or Allowance()
    legacy = document.copy()
    incomplete = incomplete_nodes(legacy.proto)
    if incomplete:
        outcomes = _untouched(find_sites(legacy))
        return Rewritten(ModelView(document), ModelView(legacy), outcomes, blockers=incomplete)
    inline_functions(legacy.proto)
    ordered = sort_nodes(legacy.proto)  # what is read and what is not is seen from the last node to the first
    # IR 3 has no overridable defaults: what has one is a constant from here on.
    fixed = drop_overridable_inputs(legacy.proto)
    # Sizes computed from fixed shapes are constants; only then is a site with such sizes known.
    unread = Unread(legacy.proto)
    folded = [OpsetStep(", ".join(fixed), "", 0, Diagnostic("opsets.step-defaults"))] if fixed else []
    folded += [
        *ordered,
        *constants_to_initializers(legacy.proto, legacy.array),
        *fold(legacy.proto, legacy.array, unread)[1],
    ]
    unread.remove(legacy.proto)
    view = ModelView(legacy)
    sites = sites_in(view)
    called = _as_called_before(find_sites(document), sites) if ordered else sites
    named = {site.key for site in select(called, patterns)}
    upsampled = rewrite(view, sites, _ToUpsample7(allowance, named))
    status = {site.key: outcome.status for site, outcome in zip(sites, upsampled.outcomes, strict=True)}
    pairs = zip(upsampled.outcomes, called, strict=True)
    as_called = (replace(one, index=site.index, node=site.label) for one, site in pairs)
    lost = Status.REFUSED in status.values()
    changed = {key for key, what in status.items() if what is Status.CHANGED}
    legacy = upsampled.document
    steps, blockers = _to_opset_8(legacy, [] if lost else sites, changed)
    form = Rewritten(
        ModelView(document),
        ModelView(legacy),
        tuple(sorted(as_called, key=attrgetter("index"))),
        steps=(*folded, *steps),
        blockers=blockers,
    )
    if target is None or not form.complete:
        return form
    indices = {site.key: called_site.index for site, called_site in zip(sites, called, strict=True)}
    return _accepted(form, target, allowance, indices, {site.index for site in select(called, patterns)})


def _accepted(
    form: Rewritten, target: Target, allowance: Allowance, indices: Mapping[Key, int], named: Container[int]
) -> Rewritten:
    """The form with other operators in the place of resizes that the target does not accept; what has none, or may not
    be rewritten, stands in the way. `indices` are those of the outcomes, by the sites' keys."""
    view = form.after
    sites = sites_in(view)
    legal = make_legal(form.document, sites, target, allowance=allowance, view=view)
    outcomes = {outcome.index: outcome for outcome in form.outcomes}
    blockers = [Blocker(one.node, "", 0, one.because, one.fix) for one in foreign_domain_resizes(view, target)]
    for site, now in zip(sites, legal.outcomes, strict=True):
        index = indices.get(site.key)
        if now.status is Status.UNCHANGED:
            continue
        if index is None:  # a resize that a lowering kept
            reason = now.reason if now.status is Status.REFUSED else Diagnostic("operations.lowered-form-refused")
            blockers.append(Blocker(site.label, site.op_type, site.since_version, reason or "", ""))
        elif now.status is Status.REFUSED or index not in named:
            refused = now.reason if now.status is Status.REFUSED else Diagnostic("operations.not-named")
            outcomes[index] = replace(outcomes[index], status=Status.REFUSED, reason=refused, after=())
        else:
            outcomes[index] = _in_two_steps(outcomes[index], now)
    return replace(legal, outcomes=tuple(outcomes.values()), blockers=tuple(blockers), steps=form.steps)


def _in_two_steps(first: Outcome, then: Outcome) -> Outcome:
    """The outcome of a site that was rewritten, and then once more."""
    conditions = dict.fromkeys(one.condition for one in (first, then) if one.condition)
    bounds = [one.bound for one in (first, then) if not one.exact]
    return replace(
        first,
        status=Status.CHANGED,
        reason=then.reason,
        after=then.after,
        exact=first.exact and then.exact,
        condition=", ".join(conditions) or None,
        bound=None if None in bounds else sum(bound or 0.0 for bound in bounds),
    )


def _as_called_before(before: Sequence[Site], after: Sequence[Site]) -> Sequence[Site]:
    """The sites before the nodes were sorted, in the order of `after`: users name them by those indices. `after` itself
    where inlined calls left other sites."""
    by_key = {site.key: site for site in before}
    return [by_key[site.key] for site in after] if all(site.key in by_key for site in after) else after


def _untouched(sites: Sequence[Site]) -> tuple[Outcome, ...]:
    reason = Diagnostic("operations.other-nodes-not-valid")
    return tuple(site.outcome(Status.UNCHANGED, reason) for site in sites)


def _to_opset_8(
    legacy: Document, sites: Sequence[Site], rewritten: Container[Key]
) -> tuple[tuple[OpsetStep, ...], tuple[Blocker, ...]]:
    """Everything but the sites, which are no blockers of their own; none given: some could not be rewritten."""
    down = downgrade(legacy.proto, value_of=legacy.array)
    blockers = tuple(blocker for blocker in down.blockers if blocker.op_type not in RESIZES)
    if blockers or not sites:
        return down.steps, blockers
    if not legacy.proto.graph.name:
        legacy.proto.graph.name = "graph"  # onnx.checker demands one
    last = to_ir3(legacy.proto)
    steps = (*down.steps, *last.steps)
    if last.blockers:
        return steps, last.blockers
    changed = [site for site in sites if site.key in rewritten]
    invalid = fix_shapes(legacy, changed, [site for site in sites if site.key not in rewritten])
    fix = Diagnostic("operations.repair-first")
    return steps, () if invalid is None else (Blocker(legacy.proto.graph.name, "", 0, invalid, fix),)


@dataclass(frozen=True, eq=False)
class _ToUpsample7(Operation[Replacement]):
    """`chosen` are the keys of the sites that may be rewritten."""

    allowance: Allowance
    chosen: Container[Key]

    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[Replacement | Outcome]:
        facts, fresh = facts_in(view), FreshNames(names_in(view.model)).fresh
        return [self._plan(site, facts[site.index], fresh) for site in sites]

    def apply(self, document: Document, plans: Sequence[tuple[Site, Replacement]]) -> Sequence[Outcome]:
        replace_sites(document, plans)
        return [site.replaced(replacement) for site, replacement in plans]

    def _plan(self, site: Site, facts: SiteFacts, fresh: Fresh) -> Replacement | Outcome:
        status = Status.REFUSED
        reason: str = Diagnostic("operations.not-named")
        if isinstance(site, ReadSite) and site.dialect is UPSAMPLE_7:
            status, reason = Status.UNCHANGED, Diagnostic("operations.upsample-7-already")
        elif site.key in self.chosen or (site.op_type, site.since_version) == ("Upsample", UPSAMPLE_7.since_version):
            try:
                return self._replacement(site, facts, fresh)
            except RefusedError as error:
                reason = str(error)
        return site.outcome(status, reason)

    def _replacement(self, site: Site, facts: SiteFacts, fresh: Fresh) -> Replacement:
        """What takes the site's place. Raises RefusedError where nothing can."""
        subject = subject_of(site)
        end = rewritten(subject, lambda other: _upsample_7(other, site) is not None, self.allowance)
        if end is not None:
            node = _upsample_7(end[0], site)
            assert node is not None
            return chain_replacement(node, (), subject, end[1]).under(why_unverifiable(facts))
        why = _why_no_upsample_7(site)
        try:
            form = _without_resize(next(lowered(subject, site, fresh=fresh)), site.scope.opset)  # downgraded later
        except RefusedError as error:
            raise RefusedError(f"{why}; {error}") from error
        if not self.allowance.lowered:
            raise RefusedError("operations.no-lower-either", why=why)
        return form


def _without_resize(replacement: Replacement, opset: int) -> Replacement:
    """A lowering may keep a simpler interpolation, spelled for the model's opset: that too becomes an Upsample-7."""
    scales = {tensor.name: numpy_helper.to_array(tensor) for tensor in replacement.initializers}
    nodes = []
    for node in replacement.nodes:
        if node.op_type in RESIZES and node.input[1:]:
            reading = read(node, dialect_of(node.op_type, opset))
            values = tuple(scales[reading.operands.scales or ""].tolist())
            operands = Operands(reading.operands.x, scales_attribute=values)
            node = write(reading.interpolation, operands, UPSAMPLE_7, name=node.name, output=node.output[0])
        nodes.append(node)
    read_names = {name for node in nodes for name in node.input}
    initializers = tuple(tensor for tensor in replacement.initializers if tensor.name in read_names)
    return replace(replacement, nodes=tuple(nodes), initializers=initializers)


def _upsample_7(subject: ResizeSpec, site: Site) -> NodeProto | None:
    if subject.extent is not ExtentKind.SCALES or subject.interpolation.axes is not None:
        return None
    scales = tuple(scale for scale in subject.values if scale is not None)
    if len(scales) != len(subject.values):
        return None
    operands = Operands(site.input, scales_attribute=scales)
    try:
        return write(subject.interpolation, operands, UPSAMPLE_7, name=site.node.name, output=site.output)
    except RefusedError:
        return None


def _why_no_upsample_7(site: Site) -> str:
    meaning = site.read.interpolation
    said = [meaning.mode.value, meaning.coordinate_transformation_mode.value]
    if meaning.nearest_mode is not None:
        said.append(meaning.nearest_mode.value)
    values = "×".join(f"{value:g}" for value in site.extent.values or ())
    return Diagnostic("operations.no-upsample-7", meaning=" ".join(said), extent=site.extent.kind.value, values=values)


def hybrid(legacy: Document) -> Document:
    """The form of old tutorials: the attribute nodes of `legacy` (opset 8) in a model that imports opset 9.

    No valid ONNX: only parsers that never look at the opset read it. All other operators of opset 8 mean the same at
    opset 9, but for Scan and for BatchNormalization with spatial=0. Raises RefusedError for those.
    """
    for _, body in bodies(legacy.proto):
        for index, node in enumerate(body.node):
            changed = node.op_type == "Scan" or any(
                attribute.name == "spatial" and attribute.i == 0 for attribute in node.attribute
            )
            if node.domain in DEFAULT_DOMAINS and changed:
                label = node_label(node, index)
                raise RefusedError("operations.operator-changed-at-9", label=label, operator=node.op_type, node=label)
    hybrid_form = legacy.copy()
    set_default_opset(hybrid_form.proto, 9)
    return hybrid_form
