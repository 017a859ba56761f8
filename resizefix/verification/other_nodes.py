"""The nodes of two models: none differs but where it was planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, node_label
from resizefix.scope_path import FunctionName
from resizefix.shapes.signatures import schema_of, since_version
from resizefix.verification.seen_change import Seen, bare, made_by, same_message, unplanned


def other_nodes(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    """The nodes of a scope that are not what they were, and were to be."""
    after: dict[str, list[NodeProto]] = {}
    for node in reversed(new.body.node):  # two nodes may write one name: each is the next of that name
        after.setdefault(made_by(node), []).append(node)
    for index, node in enumerate(old.body.node):
        left = after.get(made_by(node))
        counterpart = left.pop() if left else None
        if counterpart is None:
            why = _may_go(seen, old, new, node)
        else:
            why = _is_planned(seen, old, new, node) or _same_node(seen, old, new, node, counterpart)
        if not why:
            yield unplanned("node", node_label(node, index))
    for name, nodes in after.items():
        for node in nodes:
            if not _is_new(seen, old, node, name):
                yield unplanned("node", node.name or name)


def _is_new(seen: Seen, old: Scope, node: NodeProto, name: str) -> bool:
    """Whether a node that the model before has not makes nothing that this one had, but what was planned."""
    plan = seen.plan
    return plan.is_rebuilt or all(
        output not in seen.names or (old.path, output) in plan.nodes for output in node.output if output
    )


def _may_go(seen: Seen, old: Scope, new: Scope, node: NodeProto) -> bool:
    names = [name for name in node.output if name]
    if seen.plan.is_rebuilt:
        return True
    if any((old.path, name) in seen.plan.nodes for name in names):
        return True
    removable = any((old.path, name) in seen.removable for name in names) or seen.plan.opset is not None
    return removable and not any(seen.is_read_elsewhere((old.path, name)) for name in names)


def _is_planned(seen: Seen, old: Scope, new: Scope, node: NodeProto) -> bool:
    keys = [(old.path, name) for name in node.output if name]
    planned = any(key in seen.plan.nodes for key in keys)
    return planned and (seen.plan.operands is None or _has_planned_numbers(seen, old, new, node))


def _same_node(seen: Seen, old: Scope, new: Scope, node: NodeProto, new_node: NodeProto) -> bool:
    plan = seen.plan
    if plan.changes_constants:
        moved = seen.moved
        if node.op_type == "Constant" and (old.path, made_by(node)) in moved:
            return True  # compared where it is read
        if any((found_one := seen.old.definition(old, name)) and found_one.key in moved for name in node.input):
            return False
    if same_message(node, new_node) or same_message(bare(node), bare(new_node)) or _is_same_call(seen, node, new_node):
        return True
    return plan.opset is not None and _is_respelled(seen, old, new, node, new_node)


def _is_respelled(seen: Seen, old: Scope, new: Scope, node: NodeProto, new_node: NodeProto) -> bool:
    """Whether a node may be what the other one is in the words of the new opset."""
    rebuilt = seen.plan.is_rebuilt
    if rebuilt and FunctionName.called_by(node) in seen.old.functions:
        return True  # what the function makes
    if node.op_type != new_node.op_type or node.domain != new_node.domain:
        return node.domain in DEFAULT_DOMAINS and (rebuilt or schema_of(node.op_type, new.opset) is None)
    versions = since_version(node.op_type, old.opset), since_version(new_node.op_type, new.opset)
    if node.domain not in DEFAULT_DOMAINS or versions[0] == versions[1]:
        attributes = [NodeProto(attribute=bare(one).attribute) for one in (node, new_node)]
        return rebuilt and same_message(*attributes)  # what it reads may have another name
    schema = schema_of(new_node.op_type, new.opset)
    named = {attribute.name for attribute in new_node.attribute}
    return schema is None or all(one.name in named or one.name not in schema.attributes for one in node.attribute)


def _is_same_call(seen: Seen, node: NodeProto, new_node: NodeProto) -> bool:
    """Whether two nodes call one function alike: an argument is gone with the function's input, and what is passed for
    an input that there was not is the new graph input of that name."""
    name = FunctionName.called_by(node)
    was, now = seen.old.functions.get(name), seen.new.functions.get(name)
    if was is None or now is None or FunctionName.called_by(new_node) != name:
        return False
    formals, others = list(was.body.input), list(now.body.input)
    added = [pair for pair in zip(others, new_node.input, strict=False) if pair[0] not in formals]
    passed = all(formal == given and given in seen.plan.new_inputs for formal, given in added)
    return passed and same_message(_with_arguments(node, formals, others), _with_arguments(new_node, others, formals))


def _with_arguments(call: NodeProto, formals: Sequence[str], formals_now: Sequence[str]) -> NodeProto:
    """The call, passing on nothing but what the inputs named in `formals_now` get."""
    copy = bare(call)
    gone = {position for position, formal in enumerate(formals) if formal not in formals_now}
    arguments = [given for position, given in enumerate(call.input) if position not in gone]
    while arguments and not arguments[-1]:
        arguments.pop()
    del copy.input[:]
    copy.input.extend(arguments)
    return copy


def _has_planned_numbers(seen: Seen, old: Scope, new: Scope, node: NodeProto) -> bool:
    """Whether a planned node has the planned numbers at the planned places, and everything else as it was."""
    plan, key = seen.plan, (old.path, made_by(node))
    assert plan.operands is not None
    counterpart = new.body.node[new.producers[made_by(node)]]
    operands = {position: array for (of, position), array in plan.operands.items() if of == key}
    attributes = {name: values for (of, name), values in plan.attributes.items() if of == key}
    if len(node.input) != len(counterpart.input):
        return False
    rest = NodeProto()
    rest.CopyFrom(counterpart)
    for position, name in enumerate(counterpart.input):
        if position not in operands:
            was = seen.old.definition(old, name) if name else None
            if name != node.input[position] or (was is not None and was.key in seen.moved):
                return False
        elif not _has(seen.constant(new, name), operands[position]):
            return False
        else:
            rest.input[position] = node.input[position]
    for attribute in rest.attribute:
        if attribute.name in attributes:
            kind = np.int64 if attribute.ints else np.float32
            given = np.array(attribute.ints or attribute.floats)
            if not np.array_equal(given, np.array(attributes[attribute.name], kind)):
                return False
            attribute.CopyFrom(next(was for was in node.attribute if was.name == attribute.name))
    return same_message(bare(node), bare(rest))


def _has(tensor: TensorProto | None, planned: Any) -> bool:
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor)
    return bool(array.shape == planned.shape and array.dtype == planned.dtype and array.tobytes() == planned.tobytes())
