"""A model raised to a later opset: one row per operator whose words or meaning changed; all others stay as they are.

onnx.version_converter is not used: it changes numbers (Resize 9 → 10 → 11 loses its coordinates). An operator without a
row whose new schema does not take the node as it is, is refused. Local functions are raised with the model: onnxruntime
reads their nodes by the opset of the model, whatever they import (ONNX docs/IR.md wants both to mean the same).
"""

from collections.abc import Container, Mapping, Sequence

from onnx import FunctionProto, NodeProto, TensorProto, helper

from resizefix.diagnostics import Diagnostic, RefusedError, code_of
from resizefix.dialects.dialect import RESIZES, dialect_of
from resizefix.dialects.read import read
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, add_initializer, insert_nodes, replace_nodes, set_default_opset
from resizefix.document.scopes import DEFAULT_DOMAINS, default_opset, is_operator, names_in
from resizefix.document.text import counted
from resizefix.opsets.newest import NEWEST_RAISED
from resizefix.opsets.raising_rows import ROUNDS_OTHERWISE, ROWS, Raised
from resizefix.scope_path import FunctionName, Key
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import since_version, violation, why_incomplete

_FIRST_IR_WITH_OPSETS = 3
_FROM_18_ON = range(18, 1000)
# Operators that onnxruntime computes by ONNX's function body in half precision, and at which opsets. Its CPU has no
# float16 kernel of them: it computes them in float32 between Casts of its own, except at these opsets. There it puts
# the operators of the function body in their place, which round to float16 at other points: Relu becomes Max, which has
# such a kernel. Read off the graphs that onnxruntime 1.32.0 runs with optimisation disabled.
BODY_OPSETS: dict[str, range] = {
    **dict.fromkeys(("LeakyRelu", "PRelu"), range(16, 19)),
    **dict.fromkeys(("Relu", "Elu", "Selu", "ThresholdedRelu", "Softplus", "Softsign", "Mish"), range(18, 19)),
    **dict.fromkeys(("HardSigmoid", "HardSwish", "ReduceL2", "ReduceLogSumExp"), range(18, 19)),
    **dict.fromkeys(("ReduceL1", "ReduceLogSum", "ReduceSumSquare"), _FROM_18_ON),
}


def raised_to(
    document: Document,
    opset: int,
    leave: frozenset[str] = frozenset(),
    *,
    allow_inexact: bool = False,
    rounding: Mapping[Key, str] | None = None,
) -> Document:
    """A copy of the document that imports `opset` of ai.onnx and computes the same; `document` stays as it is.

    `rounding`: the nearest mode of nodes of Resize-10 that round both ways, of a caller that sets another then.
    Operators of `leave` stay as they are, as do functions of another opset that hold one. Raises RefusedError with the
    first operator that cannot be raised; with `allow_inexact` not where onnxruntime alone rounds otherwise.
    """
    if opset > NEWEST_RAISED:
        raise RefusedError("opsets.raise-unread", opset=opset, newest=NEWEST_RAISED)
    raised = document.copy()
    if not any(entry.domain in DEFAULT_DOMAINS for entry in raised.proto.opset_import):
        raised.proto.opset_import.append(helper.make_opsetid("", 1))  # as it is read; IR 1 and 2 name no opset
        raised.proto.ir_version = max(raised.proto.ir_version, _FIRST_IR_WITH_OPSETS)
    before = default_opset(raised.proto.opset_import, fallback=1)
    view = ModelView(raised)
    nodes = ((scope.path, node) for scope in view.scopes.all for node in scope.body.node)
    upsamples = ((path, node.output[0]) for path, node in nodes if is_operator(node, "Upsample") and node.output)
    rounds = {**dict.fromkeys(upsamples, "floor"), **(rounding or {})}  # Upsample takes no scale below 1
    moved = None if allow_inexact else first_computed_otherwise(view, before, opset)
    if moved is not None:
        raise _refusal(moved, opset, Diagnostic("opsets.raise-half", before=before))
    exempt = {
        scope.path.function
        for scope in view.scopes.all
        if scope.opset != before and any(node.op_type in leave for node in scope.body.node)
    }
    for version in range(min(scope.opset for scope in view.scopes.all) + 1, opset + 1):
        _step(raised, version, leave, exempt, allow_inexact, rounds)
    return raised


def why_not_raised(document: Document, opset: int, leave: frozenset[str] = frozenset()) -> str | None:
    """Why `raised_to` refuses the document; None: it does not."""
    try:
        raised_to(document, opset, leave)
    except RefusedError as error:
        return error.diagnostic
    return None


def _step(
    document: Document,
    version: int,
    leave: frozenset[str],
    exempt: Container[FunctionName | None],
    allow_inexact: bool,
    rounds: Mapping[Key, str],
) -> None:
    """From the opset before `version` to it: the model and those functions, but for `exempt`, that import that one."""
    view = ModelView(document)
    names = FreshNames(names_in(document.proto))
    rows = ROWS.get(version, {})
    for scope in view.scopes.all:
        if scope.opset != version - 1 or scope.path.function in exempt:
            continue
        instead: dict[str, Sequence[NodeProto]] = {}
        constants: list[NodeProto] = []  # of a function, which sees no initializers
        for node in scope.body.node:
            if node.domain not in DEFAULT_DOMAINS or node.op_type in leave:
                continue
            row = rows.get(node.op_type)
            if row is None:
                _require_taken(node, version)
                continue
            invalid = _why_invalid(node, version - 1)
            if invalid is not None:  # a row reads what the older schema promises
                raise _refusal(node, version, Diagnostic("opsets.raise-invalid", opset=version - 1, why=invalid))
            rounding = rounds.get((scope.path, node.output[0])) if node.output else None
            raised = Raised(NodeProto(), view, scope, names, rounding)
            raised.node.CopyFrom(node)
            try:
                row(raised)
            except RefusedError as error:
                if allow_inexact and code_of(error.diagnostic) == ROUNDS_OTHERWISE:
                    _require_taken(node, version)
                    continue
                raise _refusal(node, version, error.diagnostic) from error
            except MISFITS as error:
                why = Diagnostic("opsets.node-does-not-fit", operator=node.op_type)
                raise _refusal(node, version, why) from error
            _require_taken(raised.node, version)
            for tensor in raised.tensors:
                if scope.in_function:
                    constants.append(helper.make_node("Constant", [], [tensor.name], value=tensor))
                else:
                    add_initializer(document.proto, tensor)
            instead[node.output[0]] = (raised.node,)
        replace_nodes(scope.body, instead)
        insert_nodes(scope.body, 0, constants)
    for owner in (document.proto, *document.proto.functions):
        name = FunctionName.of(owner) if isinstance(owner, FunctionProto) else None
        if default_opset(owner.opset_import, fallback=0) == version - 1 and name not in exempt:
            set_default_opset(owner, version)


def _why_invalid(node: NodeProto, opset: int) -> str | None:
    """What is wrong with the node in its own opset; None: nothing."""
    if not any(node.output):
        return Diagnostic("opsets.has-outputs", count=counted(0, "output"), version=f"{node.op_type} in ONNX")
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return Diagnostic("opsets.raise-argument")
    if node.op_type not in RESIZES:
        return why_incomplete(node, opset)
    try:
        read(node, dialect_of(node.op_type, opset))
    except RefusedError as error:
        return error.diagnostic
    return None


def _require_taken(node: NodeProto, version: int) -> None:
    """Raises RefusedError unless the schema of this opset takes the node as it is."""
    is_new = since_version(node.op_type, version) in (version, 0)
    wrong = violation(node, version, lambda name: None) if is_new else None
    if wrong is not None:
        raise _refusal(node, version, wrong)


def _refusal(node: NodeProto, version: int, why: str) -> RefusedError:
    label = node.name or (node.output[0] if node.output else "")
    return RefusedError("opsets.raise-refused", operator=node.op_type, label=label, opset=version, why=why)


def first_computed_otherwise(view: ModelView, before: int, after: int) -> NodeProto | None:
    """The first node that onnxruntime computes in another way at opset `after` than at `before`; None: there is none.

    No types are known in local functions, which are passed over.
    """
    moved = {name for name, opsets in BODY_OPSETS.items() if (before in opsets) != (after in opsets)}
    for scope in view.scopes.all:
        nodes: Sequence[NodeProto] = () if scope.in_function else scope.body.node
        for node in nodes:
            differs = node.op_type in moved and node.domain in DEFAULT_DOMAINS and bool(node.input)
            if differs and view.elem_type(scope, node.input[0]) == TensorProto.FLOAT16:
                return node
    return None
