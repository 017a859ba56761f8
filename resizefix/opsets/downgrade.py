"""The whole model in opset 8: constants first, then node by node by the rows of the table."""

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, default_opset, names_in
from resizefix.error_bound import ErrorBound
from resizefix.opsets.constants import constants_to_initializers, replace_nodes
from resizefix.opsets.folding import Unread, fold
from resizefix.opsets.ir3 import IR3, to_ir3
from resizefix.opsets.preparation import inline_functions, sort_nodes, spell_default_domain
from resizefix.opsets.site import Draft, Row, Site
from resizefix.opsets.table import ABSENT, TO_OPSET_8
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked, Blocker, Downgrade, Step
from resizefix.shapes.node_inference import ValueOf, upsample_scales
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.signatures import schema_of, since_version, violation

OPSET = 8

_INLINE = Diagnostic("opsets.fix-inline-or-remove")
_OTHER_TYPE = "opsets.fix-other-type"
# onnxruntime runs float16 operators in float32 where a version has no float16 kernel, and drops the casts in between.
_HALF = ErrorBound(exact=False, bound=2e-3, note=Diagnostic("opsets.half-is-rounded"))


def downgrade(model: ModelProto, *, value_of: ValueOf) -> Downgrade:
    """Rewrite `model`, in place, as a model of opset 8 that computes the same.

    Upsample nodes must already stand in the form of Upsample-7 (one input, `scales` attribute), and no Resize may be
    left: those are the caller's work and blockers here. Initializers may be references into another file: they are
    moved, and only small ones are read, through `value_of`. Operators of other domains stay as they are. A model of
    opset 8 or older is left alone. Stored shapes of values that remain are kept; none are added.

    Returns every blocker there is, not the first alone; with blockers the model is of no further use.
    """
    if default_opset(model.opset_import, fallback=1) <= OPSET:
        return Downgrade((), ())
    unread = Unread(model)
    steps = [*inline_functions(model), *spell_default_domain(model), *sort_nodes(model)]
    blockers = [
        Blocker(f"{function.domain}::{function.name}", function.name, 0, Diagnostic("opsets.not-inlined"), _INLINE)
        for function in model.functions
    ]
    if blockers:
        return Downgrade(tuple(blockers), tuple(steps))
    steps += constants_to_initializers(model, value_of)
    knowledge, folded = fold(model, value_of, unread)
    written, blockers = _rewrite(model, knowledge)
    steps += [*folded, *written]
    if knowledge.holds(TensorProto.FLOAT16):
        steps.append(Step(model.graph.name, "", 0, Diagnostic("opsets.step-holds-half"), _HALF))
    kept = [
        onnx.helper.make_opsetid(e.domain, e.version) for e in model.opset_import if e.domain not in DEFAULT_DOMAINS
    ]
    del model.opset_import[:]
    model.opset_import.extend([onnx.helper.make_opsetid("", OPSET), *kept])
    unread.remove(model)
    if model.ir_version <= IR3 and not blockers:
        return Downgrade((), (*steps, *to_ir3(model).steps))
    return Downgrade(tuple(blockers), tuple(steps))


def _rewrite(model: ModelProto, knowledge: ValueInfoMap) -> tuple[list[Step], list[Blocker]]:
    names = FreshNames(names_in(model))
    accounts: list[list[Step | Blocker]] = []
    for scope in reversed(knowledge.scopes.all):  # inner bodies first: nodes of an outer graph are copied
        if not isinstance(scope.body, GraphProto):
            continue
        draft = Draft(scope, OPSET, knowledge, names)
        found = [_rewrite_node(node, index, draft) for index, node in enumerate(scope.body.node)]
        accounts.append([account for account in found if account is not None])
        replace_nodes(scope.body, draft.nodes)
        scope.body.initializer.extend(draft.initializers)
    in_order = [account for scope_accounts in reversed(accounts) for account in scope_accounts]
    steps = [account for account in in_order if isinstance(account, Step)]
    return steps, [account for account in in_order if isinstance(account, Blocker)]


def _rewrite_node(node: NodeProto, index: int, draft: Draft) -> Step | Blocker | None:
    """Add what takes the node's place to the draft; says what was done, None if nothing."""
    if node.domain not in DEFAULT_DOMAINS:
        draft.nodes.append(node)
        return None
    since = since_version(node.op_type, draft.scope.opset)
    site = Site(node, index, since, draft)
    row = TO_OPSET_8.get(node.op_type)
    try:
        _refuse_invalid(node, draft)
        if upsample_scales(node) is not None or (since and since == since_version(node.op_type, draft.opset)):
            site.copy_node()
        elif row is None or since not in row.reads:
            raise _refusal(node, since, draft.scope.opset, row)
        else:
            _rewrite_by(row, site)
        for written in site.nodes:
            wrong = violation(written, draft.opset, draft.type_of)
            if wrong is not None:
                raise Blocked(wrong, _OTHER_TYPE)
    except Blocked as blocked:
        return Blocker(site.label, node.op_type, since, blocked.reason, blocked.fix)
    draft.nodes.extend(site.nodes)
    if row is None:
        return None
    error = site.error or row.error
    if site.nodes == [node] and error.exact:
        return None
    return Step(site.label, node.op_type, since, _account(site.nodes), error)


def _rewrite_by(row: Row, site: Site) -> None:
    try:
        row.rewrite(site)
    except MISFITS as error:
        raise Blocked("opsets.node-does-not-fit", "opsets.fix-invalid-model", operator=site.node.op_type) from error


def _refuse_invalid(node: NodeProto, draft: Draft) -> None:
    """Rewrites rely on the node being what its own version allows."""
    opset = draft.scope.opset
    known = schema_of(node.op_type, opset) is not None and upsample_scales(node) is None and node.op_type not in ABSENT
    wrong = violation(node, opset, draft.type_of) if known else None
    if wrong is not None:
        raise Blocked("opsets.node-is-invalid", "opsets.fix-invalid-node", wrong=wrong)


def _refusal(node: NodeProto, since: int, opset: int, row: Row | None) -> Blocked:
    if node.op_type in ABSENT:
        return Blocked(ABSENT[node.op_type].reason, ABSENT[node.op_type].fix)
    if not since:
        return Blocked("opsets.no-operator", "opsets.fix-invalid-model", opset=opset, operator=node.op_type)
    known = Diagnostic("opsets.versions-known", newest=max(row.reads)) if row is not None else ""
    return Blocked("opsets.no-row", OLDER_EXPORT, operator=node.op_type, since=since, known=known)


def _account(nodes: list[NodeProto]) -> str:
    kinds = [node.op_type for node in nodes]
    shown = kinds if len(kinds) <= 6 else [*kinds[:5], f"… ({len(kinds)})"]
    return Diagnostic("opsets.step-became", operators=", ".join(shown))
