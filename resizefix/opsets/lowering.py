"""One node in an older opset, version by version: each row takes it to the opset before the one that it tells of.

What a row adds is of that opset, and goes on from there by the rows of its own operators, until the opset that is
wanted. onnx.version_converter is not used: it changes numbers, and refuses most of what is asked for.

The whole model in opset 8: constants first, then node by node by the rows of the table.

What must hold before the first node is rewritten: no local functions, one spelling of the domain, nodes in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, inliner

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import FreshNames, Replacement, add_initializer, insert_nodes
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, bodies, default_opset, in_order, names_in
from resizefix.opsets.constants import Unread, constants_to_initializers, fold, replace_nodes
from resizefix.opsets.ir3 import IR3, to_ir3
from resizefix.opsets.site import Draft, OpsetRow, OpsetSite
from resizefix.opsets.table import ABSENT, DOWN
from resizefix.opsets.value_info_map import ValueInfoMap
from resizefix.opsets.verdict import Blocked, Blocker, Downgrade, OpsetStep
from resizefix.outcome import BITWISE, ErrorBound
from resizefix.scope_path import FunctionName, Key
from resizefix.shapes.inference import ValueOf, upsample_scales
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.table import schema_of, since_version, violation

_OTHER_TYPE = "opsets.fix-other-type"
_INLINE = "opsets.fix-inline-option"  # of a function no types are known


def lower_nodes(
    model: ModelProto,
    knowledge: ValueInfoMap,
    opset: int,
    ready: Mapping[Key, Replacement] | None = None,
    leave: frozenset[str] = frozenset(),
) -> tuple[list[OpsetStep], list[Blocker]]:
    """Rewrite every node of `model`, in place, for models of `opset`; opset_import is the caller's.

    Scopes of that opset or an older one stay. `ready`, in that opset already, takes the place of the nodes that make
    those values. Functions of
    another opset than the model's that hold an operator of `leave` stay too.
    """
    names = FreshNames(names_in(model))
    accounts: list[list[OpsetStep | Blocker]] = []
    for scope in reversed(knowledge.scopes.all):  # inner bodies first: nodes of an outer graph are copied
        if scope.opset <= opset:
            continue
        draft = Draft(scope, opset, knowledge, names)
        instead = {} if ready is None else {name: form for (path, name), form in ready.items() if path == scope.path}
        by_node = [_lower_node(node, index, draft, instead) for index, node in enumerate(scope.body.node)]
        accounts.append([account for account in by_node if account is not None])
        if list(scope.body.node) != draft.nodes:
            replace_nodes(scope.body, draft.nodes)
        _place(model, scope, draft)
    in_order = [account for scope_accounts in reversed(accounts) for account in scope_accounts]
    steps = [account for account in in_order if isinstance(account, OpsetStep)]
    return steps, [account for account in in_order if isinstance(account, Blocker)]


def _place(model: ModelProto, scope: Scope, draft: Draft) -> None:
    """The constants of a draft: initializers of the main graph, and Constant nodes of a function, which sees none."""
    if not scope.in_function:
        for tensor in draft.initializers:
            add_initializer(model, tensor)
        return
    insert_nodes(scope.body, 0, [helper.make_node("Constant", [], [one.name], value=one) for one in draft.initializers])


def _lower_node(
    node: NodeProto, index: int, draft: Draft, ready: Mapping[str, Replacement]
) -> OpsetStep | Blocker | None:
    """Add what takes the node's place to the draft; says what was done, None if nothing."""
    replacement = next((ready[name] for name in node.output if name in ready), None)
    if replacement is not None:
        draft.nodes.extend(replacement.nodes)
        draft.initializers.extend(replacement.initializers)
        return None
    if node.domain not in DEFAULT_DOMAINS:
        draft.nodes.append(node)
        return None
    since = since_version(node.op_type, draft.scope.opset)
    first = OpsetSite(node, index, since, draft)
    descent = _Descent(index, first.label, draft)
    try:
        _refuse_invalid(node, draft)
        nodes = descent.down(node, draft.scope.opset)
        for written in nodes:
            wrong = violation(written, draft.opset, draft.type_of)
            if wrong is not None:
                raise Blocked(wrong, _OTHER_TYPE)
    except Blocked as blocked:
        constant = _as_constants(node, draft)
        if constant is None:
            blocker = blocked.blocker(first.label, node.op_type, since, draft.opset)
            return replace(blocker, fix=Diagnostic(_INLINE)) if draft.scope.in_function else blocker
        nodes = constant
    draft.nodes.extend(nodes)
    if nodes == [node] and descent.error.exact:
        return None
    key = draft.scope.path, node.output[0]
    return OpsetStep(first.label, node.op_type, since, _account(nodes), descent.error, key)


def _as_constants(node: NodeProto, draft: Draft) -> list[NodeProto] | None:
    """The node's values as constants, where nothing at run time can change them; None where something can."""
    values = [draft.value_of(name) for name in node.output if name]
    constants = [value for value in values if value is not None]
    if not constants or len(constants) < len(values) or draft.scope.in_function:
        return None
    return [
        helper.make_node("Identity", [draft.constant(value, f"{name}_value")], [name], name=node.name)
        for name, value in zip(filter(None, node.output), constants, strict=True)
    ]


@dataclass
class _Descent:
    """What one node of the model becomes, and how near that comes."""

    index: int
    label: str
    draft: Draft
    error: ErrorBound = field(default=BITWISE)

    def down(self, node: NodeProto, opset: int) -> list[NodeProto]:
        """What stands for a node of `opset` in the opset that is wanted."""
        goal, op_type = self.draft.opset, node.op_type
        since = since_version(op_type, opset)
        if upsample_scales(node) is not None or (since and since == since_version(op_type, goal)):
            return [node]
        row = DOWN.get(op_type)
        version = 0 if row is None else max((one for one in row.changes if goal < one <= since), default=0)
        if not since or row is None or (since not in row.reads and since_version(op_type, since - 1)):
            raise _refusal(node, since, opset, row)
        if not version:
            if not since_version(op_type, goal):
                raise _refusal(node, since, opset, row)
            return [node]
        if self.draft.scope.in_function and any(attribute.ref_attr_name for attribute in node.attribute):
            raise Blocked("opsets.lower-argument", _INLINE)
        site = OpsetSite(node, self.index, version, self.draft, self.label)
        try:
            row.changes[version](site)
        except MISFITS as error:
            raise Blocked("opsets.node-does-not-fit", "opsets.fix-invalid-model", operator=op_type) from error
        if not (len(site.nodes) == 1 and site.nodes[0].op_type == op_type and site.error is None):
            self.error = _together(self.error, site.error or row.error)
        elif site.error is not None:
            self.error = _together(self.error, site.error)
        return [lower for written in site.nodes for lower in self.down(written, version - 1)]


def _together(one: ErrorBound, other: ErrorBound) -> ErrorBound:
    """The error of two steps, one after the other; what each says of it."""
    if one in (BITWISE, other):
        return other
    if other == BITWISE:
        return one
    near = [error for error in (one, other) if not error.exact]
    bound, drift = sum(error.bound for error in near), sum(error.drift for error in near)
    return ErrorBound(exact=not near, bound=bound, note=one.note or other.note, drift=drift)


def _refuse_invalid(node: NodeProto, draft: Draft) -> None:
    """Rewrites rely on the node being what its own version allows."""
    opset = draft.scope.opset
    has_schema = schema_of(node.op_type, opset) is not None and upsample_scales(node) is None
    checked = has_schema and (node.op_type in DOWN or node.op_type not in ABSENT)
    wrong = violation(node, opset, draft.type_of) if checked else None
    if wrong is not None:
        raise Blocked("opsets.node-is-invalid", "opsets.fix-invalid-node", wrong=wrong)


def _refusal(node: NodeProto, since: int, opset: int, row: OpsetRow | None) -> Blocked:
    if not since:
        return Blocked("opsets.no-operator", "opsets.fix-invalid-model", opset=opset, operator=node.op_type)
    if node.op_type in ABSENT and (row is None or since in row.reads or not since_version(node.op_type, since - 1)):
        return Blocked(ABSENT[node.op_type].reason, ABSENT[node.op_type].fix)
    versions = Diagnostic("opsets.versions-known", newest=max(row.reads)) if row is not None and row.reads else ""
    return Blocked("opsets.no-row", "opsets.fix-older-export", operator=node.op_type, since=since, known=versions)


def _account(nodes: list[NodeProto]) -> str:
    kinds = [node.op_type for node in nodes]
    shown = kinds if len(kinds) <= 6 else [*kinds[:5], f"… ({len(kinds)})"]
    return Diagnostic("opsets.step-became", operators=", ".join(shown))


OPSET = 8

_INLINE_OR_REMOVE = Diagnostic("opsets.fix-inline-or-remove")
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
        Blocker(
            f"{function.domain}::{function.name}", function.name, 0, Diagnostic("opsets.not-inlined"), _INLINE_OR_REMOVE
        )
        for function in model.functions
    ]
    if blockers:
        return Downgrade(tuple(blockers), tuple(steps))
    steps += constants_to_initializers(model, value_of)
    knowledge, folded = fold(model, value_of, unread)
    written, blockers = lower_nodes(model, knowledge, OPSET)
    steps += [*folded, *written]
    if knowledge.holds(TensorProto.FLOAT16):
        steps.append(OpsetStep(model.graph.name, "", 0, Diagnostic("opsets.step-holds-half"), _HALF))
    others = [
        onnx.helper.make_opsetid(e.domain, e.version) for e in model.opset_import if e.domain not in DEFAULT_DOMAINS
    ]
    del model.opset_import[:]
    model.opset_import.extend([onnx.helper.make_opsetid("", OPSET), *others])
    unread.remove(model)
    if model.ir_version <= IR3 and not blockers:
        return Downgrade((), (*steps, *to_ir3(model).steps))
    return Downgrade(tuple(blockers), tuple(steps))


def inline_functions(model: ModelProto) -> list[OpsetStep]:
    """Replace every call of a local function by its body: functions came with IR 8. What cannot be inlined stays."""
    if not model.functions:
        return []
    names = [str(FunctionName.of(function)) for function in model.functions]
    try:
        inlined = inliner.inline_local_functions(model)
    except (RuntimeError, ValueError):
        return []
    model.CopyFrom(inlined)
    return [
        OpsetStep(name, "", 0, Diagnostic("opsets.step-inlined")) for name in names[: len(names) - len(model.functions)]
    ]


def spell_default_domain(model: ModelProto) -> list[OpsetStep]:
    """Write the default domain as the empty string everywhere; `ai.onnx` means the same."""
    nodes = [node for _, body in bodies(model) for node in body.node if node.domain == "ai.onnx"]
    for node in nodes:
        node.domain = ""
    return [OpsetStep(node.name, node.op_type, 0, Diagnostic("opsets.step-domain")) for node in nodes]


def sort_nodes(model: ModelProto) -> list[OpsetStep]:
    """Put nodes after those whose outputs they read, as every opset demands; others keep their places."""
    steps = []
    for _, graph in reversed(list(bodies(model))):
        if isinstance(graph, GraphProto):
            ordered = in_order(list(graph.node))
            if ordered != list(range(len(graph.node))):
                replace_nodes(graph, [graph.node[index] for index in ordered])
                steps.append(OpsetStep(graph.name, "", 0, Diagnostic("opsets.step-sorted")))
    return steps
