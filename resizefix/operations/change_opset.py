"""The whole model in another opset: resizes as the dialects say them, all other operators by their rows."""

from __future__ import annotations

from onnx import FunctionProto, ModelProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.difference import ErrorBound
from resizefix.document.document import Document
from resizefix.document.edits import set_default_opset
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, default_opset, in_order, node_label
from resizefix.document.text import node_text
from resizefix.operations.resizes_in_opset import resizes_in
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.opsets.constants import Unread
from resizefix.opsets.lowering import lower_nodes
from resizefix.opsets.raising import first_computed_otherwise, why_not_raised
from resizefix.opsets.raising import raised_to as raise_document
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import Blocker, OpsetStep
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import since_version

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
    return Rewritten(after, outcomes, tuple(blockers), tuple(steps), frozenset(_changed(view, after)))


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
    return Rewritten(after, outcomes, (), tuple(steps), touched)


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
