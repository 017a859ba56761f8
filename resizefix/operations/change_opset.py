"""The whole model in another opset: all operators by their rows, and each Upsample or Resize as it is, spelled
otherwise as the dialects say, or by other operators that are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS, RESIZES, UPSAMPLE_9, Dialect, dialect_of
from resizefix.dialects.read import read
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, NodeBuilder, Replacement, set_default_opset
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, default_opset, in_order, names_in, node_label
from resizefix.document.text import node_text
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.operations.replacement import (
    Allowance,
    Fresh,
    lowered,
    operands_of,
    rewritten,
    spelled,
    subject_of,
)
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import sites_in
from resizefix.opsets.constants import Unread
from resizefix.opsets.lowering import lower_nodes
from resizefix.opsets.raising import first_computed_otherwise, why_not_raised
from resizefix.opsets.raising import raised_to as raise_document
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import Blocker, OpsetStep
from resizefix.outcome import ErrorBound, Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import since_version

_FIRST_RESIZE = 10


def resizes_in(
    view: ModelView, sites: Sequence[Site], opset: int, *, allow_inexact: bool
) -> tuple[tuple[Outcome, ...], Mapping[Key, Replacement]]:
    """What happens to each site in a model of this opset, and the nodes that take the place of those that change;
    changes nothing. Bit for bit, unless `allow_inexact`."""
    fresh = FreshNames(names_in(view.model)).fresh
    dialect = dialect_of("Upsample" if opset < _FIRST_RESIZE else "Resize", opset)
    outcomes: list[Outcome] = []
    ready: dict[Key, Replacement] = {}
    for site in sites:
        if site.scope.opset <= opset:
            outcomes.append(site.outcome(Status.UNCHANGED, Diagnostic("operations.says-so-already", opset=opset)))
            continue
        try:
            replacement = _InDialect(site, dialect, opset, fresh, Allowance(allow_inexact)).replacement()
        except RefusedError as error:
            why = Diagnostic("operations.no-form-in-opset", operator=site.op_type, opset=opset, why=error)
            outcomes.append(site.outcome(Status.REFUSED, why))
            continue
        ready[site.key] = replacement
        if list(replacement.nodes) == [site.node]:
            outcomes.append(site.outcome(Status.UNCHANGED, Diagnostic("operations.says-so-already", opset=opset)))
        else:
            outcomes.append(site.replaced(replacement))
    return tuple(outcomes), ready


@dataclass(frozen=True, eq=False)
class _InDialect:
    """One site, and the dialect that it is to be said in."""

    site: Site
    dialect: Dialect
    opset: int
    fresh: Fresh
    allowance: Allowance

    def replacement(self) -> Replacement:
        """What takes the site's place. Raises RefusedError where nothing does."""
        site = self.site
        if not isinstance(site, ReadSite):
            raise RefusedError("operations.repair-before-opset", why=site.reason)
        if site.dialect is self.dialect or self._reads_alike(site.node):
            return _by(site.node, (), "operations.says-so-already", opset=self.opset)
        try:
            return self._with_its_operands(site)
        except RefusedError as error:
            why = str(error)
        try:
            subject = subject_of(site)
        except RefusedError as error:
            whole = self._with_whole_operand(site)
            if whole is not None:
                return whole
            raise RefusedError(f"{why}; {error}") from error
        end = rewritten(subject, self._says, self.allowance)
        if end is not None:
            return spelled(subject, end, site, self.dialect, self.fresh)
        whole = self._with_whole_operand(site)
        if whole is not None:
            return whole
        return self._by_other_operators(subject, why)

    def _reads_alike(self, node: NodeProto) -> bool:
        """Whether the node as it stands means in the older dialect what it does."""
        if node.op_type != self.dialect.op_type:
            return False
        try:
            return read(node, self.dialect) == self.site.read.reading
        except RefusedError:
            return False

    def _with_its_operands(self, site: ReadSite) -> Replacement:
        """The same words around the same operands; what the older dialect wants besides is an empty tensor."""
        operands, extent = site.reading.operands, site.extent
        if self.dialect is UPSAMPLE_9 and (extent.values is None or min(extent.values) < UPSAMPLE_9.min_scale):
            raise RefusedError("operations.scales-may-shrink", dialect=self.dialect.name)
        empty: list[TensorProto] = []
        wanted: dict[str, Any] = {}
        for row in self.dialect.inputs[1:]:
            if not row.optional and getattr(operands, row.name) is None:
                empty.append(numpy_helper.from_array(NO_NUMBERS, self.fresh(f"{site.output}_{row.name}")))
                wanted[row.name] = empty[-1].name
        if operands.roi is not None and self.dialect.roi_input is None and self._roi_is_unread(site):
            wanted["roi"] = None
        node = write(
            site.interpolation,
            operands._replace(**wanted),
            self.dialect,
            name=site.node.name,
            output=site.output,
            doc_string=site.node.doc_string,
        )
        node.metadata_props.extend(site.node.metadata_props)
        return _by(node, empty, "operations.said-as", dialect=self.dialect.name)

    def _with_whole_operand(self, site: ReadSite) -> Replacement | None:
        """Scales or sizes of some axes, which are not known before the run, with those with which all others stay;
        None where the node has no axes, or the older dialect cannot say it all the same."""
        axes, dims, operands = site.interpolation.axes, site.input_dims, site.reading.operands
        if axes is None or dims is None or operands.roi is not None:
            return None
        if site.interpolation.keep_aspect_ratio_policy is not None or self.dialect.sizes_input is None:
            return None
        builder = NodeBuilder(self.fresh, self.opset, site.output)
        by_sizes = operands.sizes is not None
        given = operands.sizes if by_sizes else operands.scales
        others = builder.add("Shape", site.input) if by_sizes else builder.value(np.ones(len(dims), np.float32))
        every = builder.add("Concat", str(given), others, axis=0)
        listed = [axis % len(dims) for axis in axes]
        places = [listed.index(axis) if axis in listed else len(listed) + axis for axis in range(len(dims))]
        whole = builder.add("Gather", every, builder.value(np.array(places, np.int64)), axis=0)
        said = replace(site.interpolation, axes=None)
        wanted: dict[str, Any] = {"sizes" if by_sizes else "scales": whole}
        for row in self.dialect.inputs[1:]:
            if not row.optional and row.name not in wanted:
                wanted[row.name] = builder.value(np.zeros(0, np.float32))
        try:
            node = write(said, operands._replace(**wanted), self.dialect, name=site.node.name, output=site.output)
        except RefusedError:
            return None
        node.doc_string = site.node.doc_string
        node.metadata_props.extend(site.node.metadata_props)
        code = Diagnostic("operations.said-as", dialect=self.dialect.name)
        return Replacement((*builder.nodes, node), tuple(builder.initializers), how=code)

    @staticmethod
    def _roi_is_unread(site: ReadSite) -> bool:
        return site.interpolation.extrapolation_value is None  # which a crop alone has

    def _says(self, subject: ResizeSpec) -> bool:
        """Whether the dialect has words for it. Upsample knows no scale below 1."""
        values = [value for value in subject.values if value is not None]
        if len(values) < len(subject.values) or min(values, default=1) < self.dialect.min_scale:
            return False
        try:
            operands = operands_of(subject, self.site, self.dialect, "extent", "roi", "empty")
            write(subject.interpolation, operands, self.dialect, output=self.site.output)
        except RefusedError:
            return False
        return True

    def _by_other_operators(self, subject: ResizeSpec, why: str) -> Replacement:
        try:
            replacements = list(
                lowered(
                    subject,
                    self.site,
                    fresh=self.fresh,
                    accepts=lambda other: self.dialect.op_type == "Resize" and self._says(other),
                    opset=self.opset,
                )
            )
        except RefusedError as error:
            raise RefusedError("operations.no-words-in-opset", why=why) from error
        exact = next((replacement for replacement in replacements if replacement.error.exact), None)
        if exact is not None:
            return exact
        if not self.allowance.inexact:
            raise RefusedError(
                "operations.inexact-in-opset", why=why, how=replacements[0].description or replacements[0].how
            )
        return replacements[0]


def _by(node: NodeProto, initializers: Sequence[TensorProto], code: str, **arguments: object) -> Replacement:
    return Replacement((node,), tuple(initializers), how=Diagnostic(code, **arguments))


_ROUNDED = ErrorBound(exact=False, bound=2e-7)  # of sums in another order, which onnxruntime makes


def lowered_to(document: Document, opset: int, *, allow_inexact: bool = False) -> Rewritten:
    """A copy in an older opset; `document` stays as it is. Functions, bodies and operators of other domains stay what
    they are. Everything in the way is found in one go."""
    view = ModelView(document)
    outcomes, ready = resizes_in(view, sites_in(view), opset, allow_inexact=allow_inexact)
    lowered = document.copy()
    unread = Unread(lowered.proto)
    knowledge = ValueInfoMap(lowered.proto, lowered.array)
    steps, blockers = lower_nodes(lowered.proto, knowledge, opset, ready)
    if not allow_inexact:
        blockers += [_inexact(step) for step in steps if not step.error.exact]
        blockers += _in_half(view, opset)
    blockers = [blocker for blocker in blockers if blocker.op_type not in RESIZES]  # those have outcomes
    _import(lowered.proto, opset)
    if all(in_order(list(body.node)) == list(range(len(body.node))) for _, body in bodies(lowered.proto)):
        unread.remove(lowered.proto)  # it goes from the last node to the first
    after = ModelView(lowered)
    touched = frozenset(_changed(view, after))
    return Rewritten(view, after, outcomes, touched=touched, steps=tuple(steps), blockers=tuple(blockers))


def raised_to(document: Document, opset: int, *, allow_inexact: bool = False) -> Rewritten:
    """A copy in a later opset. Raises RefusedError with the first operator that cannot be raised."""
    sites = sites_in(ModelView(document))
    raised = raise_document(document, opset, allow_inexact=allow_inexact)
    before, after = ModelView(document), ModelView(raised)
    touched = frozenset(_changed(before, after))
    later = {site.key: site for site in sites_in(after)}
    outcomes = tuple(_raised(site, later[site.key], opset) for site in sites)
    steps = []
    for path, scope in before.scopes.by_path.items():
        for index, node in enumerate(scope.body.node):
            if node.op_type not in RESIZES and any((path, name) in touched for name in node.output):
                now = after.scopes.by_path[path]
                new = now.body.node[now.producers[node.output[0]]]
                since = since_version(node.op_type, scope.opset)
                what = Diagnostic("opsets.step-became", operators=new.op_type)
                steps.append(OpsetStep(node_label(node, index), node.op_type, since, what))
    why = why_not_raised(document, opset) if allow_inexact else None
    if why is not None:
        steps.append(OpsetStep(document.proto.graph.name, "", 0, why, _ROUNDED))
    return Rewritten(before, after, outcomes, touched=touched, steps=tuple(steps))


def _raised(site: Site, later: Site, opset: int) -> Outcome:
    """What became of a resize: other words where it has changed."""
    if site.node == later.node:
        return site.outcome(Status.UNCHANGED, Diagnostic("operations.says-so-already", opset=opset))
    dialect = f"{later.op_type}-{later.since_version}"
    reason = Diagnostic("operations.said-as", dialect=dialect)
    return site.outcome(Status.CHANGED, reason, after=(node_text(later.node),))


def _inexact(step: OpsetStep) -> Blocker:
    reason, fix = Diagnostic("opsets.is-inexact"), Diagnostic("opsets.fix-allow-inexact")
    return Blocker(step.node, step.op_type, step.since_version, reason, fix)


def _in_half(view: ModelView, opset: int) -> list[Blocker]:
    before = default_opset(view.model.opset_import, fallback=1)
    moved = first_computed_otherwise(view, before, opset)
    if moved is None:
        return []
    reason = Diagnostic("opsets.raise-half", before=before)
    return [Blocker(node_label(moved, 0), moved.op_type, before, reason, Diagnostic("opsets.fix-allow-inexact"))]


def _import(model: ModelProto, opset: int) -> None:
    """Let the model, and its functions of a later opset, import this one."""
    owners: list[ModelProto | FunctionProto] = [model, *model.functions]
    for owner in owners:
        if any(entry.domain in DEFAULT_DOMAINS and entry.version > opset for entry in owner.opset_import):
            set_default_opset(owner, opset)


def _changed(before: ModelView, after: ModelView) -> list[Key]:
    """The values that other nodes make than before."""
    changed: list[Key] = []
    for path, scope in before.scopes.by_path.items():
        now = after.scopes.by_path.get(path)
        for node in scope.body.node:
            names = [name for name in node.output if name]
            place = None if now is None else next((now.producers.get(name) for name in names), None)
            if now is None or place is None or now.body.node[place] != node:
                changed += [(path, name) for name in names]
    return changed
