"""Two models and the plan that leads from one to the other: no byte and no node differs but where it was planned.

Inputs that became whole numbers are undone first, so that all else is compared as if they had not been made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, is_operator, node_label
from resizefix.document.view import View
from resizefix.scope_path import MAIN, FunctionName
from resizefix.shapes.table import schema_of, since_version
from resizefix.verification.plan import Plan, Seen, bare, made_by, other_values, same_field, same_message, unplanned


def outside_plan(before: Document, candidate: Document, plan: Plan) -> Diagnostic | None:
    """The first thing that differs where nothing was planned; None: there is none. Runs nothing, reads no weights."""
    if plan.integers:
        undone = restored(before, candidate, plan.integers)
        if isinstance(undone, str):
            return unplanned("input", undone)
        candidate = undone
    return next(_differences(Seen(before, candidate, plan)), None)


def _differences(seen: Seen) -> Iterator[Diagnostic]:
    """Everything that differs and was not planned, the model's own fields first, then scope by scope."""
    yield from _fields(seen)
    yield from _functions(seen)
    for path, old in seen.old.by_path.items():
        new = seen.new.by_path.get(path)
        if new is not None:
            yield from _scope(seen, old, new)
        elif not (seen.plan.is_rebuilt and path.function is not None) and _holder_stays(seen, old):
            yield unplanned("the body", str(path))
    yield from _new_scopes(seen)


def _fields(seen: Seen) -> Iterator[Diagnostic]:
    models = before, after = seen.before.proto, seen.after.proto
    for field in ModelProto.DESCRIPTOR.fields:
        if field.name in ("graph", "functions", "opset_import", "ir_version"):
            continue
        if not same_field(before, after, field.name):
            yield unplanned("the field", field.name)
    raises_ir = seen.plan.opset is not None or seen.plan.new_inputs
    if before.ir_version != after.ir_version and not raises_ir:
        yield unplanned("the field", "ir_version")
    was, now = ({(one.domain or "ai.onnx"): one.version for one in model.opset_import} for model in models)
    for domain in was.keys() | now.keys():
        planned = seen.plan.opset if domain == "ai.onnx" else None
        gone = domain not in now and seen.plan.is_rebuilt
        if was.get(domain) != now.get(domain) and (planned is None or now.get(domain) != planned) and not gone:
            yield unplanned("the opset of", domain)


def _functions(seen: Seen) -> Iterator[Diagnostic]:
    if seen.plan.is_rebuilt:
        return
    was, now = ({FunctionName.of(one): one for one in doc.proto.functions} for doc in (seen.before, seen.after))
    if list(was) != list(now):
        yield unplanned("the list", "functions")
        return
    for name, old in was.items():
        new = now[name]
        given = [one for one in new.input if one not in seen.plan.new_inputs]
        body = seen.old.functions[name].path
        formals = [one for one in old.input if one in new.input or (body, one) not in seen.removable]
        same = given == formals and all(
            same_field(old, new, field.name)
            for field in FunctionProto.DESCRIPTOR.fields
            if field.name not in ("node", "input", "value_info")
            and not (field.name == "opset_import" and seen.plan.opset is not None)
        )
        if not same:
            yield unplanned("the", str(name))


def _holder_stays(seen: Seen, scope: Scope) -> bool:
    """Whether the node that holds the body is to stay."""
    if scope.parent is None or scope.owner is None:
        return True
    names = scope.parent.body.node[scope.owner].output
    stays = not any((scope.parent.path, name) in seen.plan.nodes | seen.removable for name in names)
    return stays and _holder_stays(seen, scope.parent)


def _new_scopes(seen: Seen) -> Iterator[Diagnostic]:
    for path, scope in seen.new.by_path.items():
        if path in seen.old.by_path or scope.parent is None or scope.owner is None:
            continue
        holder = scope.parent.body.node[scope.owner]
        is_new = not any(name in seen.names for name in holder.output if name)
        if not is_new and not any((scope.parent.path, name) in seen.plan.nodes for name in holder.output):
            yield unplanned("the body", str(path))


def _scope(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    if isinstance(old.body, GraphProto) and isinstance(new.body, GraphProto):
        for field in GraphProto.DESCRIPTOR.fields:
            if field.name in ("node", "input", "output", "value_info", "initializer"):
                continue
            is_same = same_field(old.body, new.body, field.name)
            if not is_same and not (seen.plan.is_rebuilt and _field_may_go(old.body, new.body, field.name)):
                yield unplanned("the field", f"graph.{field.name}")
    yield from other_nodes(seen, old, new)
    yield from other_values(seen, old, new)


def _field_may_go(one: GraphProto, other: GraphProto, name: str) -> bool:
    """Whether a field of a graph that is built anew may have changed: what older versions have no words for is left
    out, and they demand a name."""
    if name == "name":
        return not one.name
    return name in ("quantization_annotation", "sparse_initializer") and not getattr(other, name)


def restored(before: Document, candidate: Document, integers: Mapping[str, int]) -> Document | str:
    """A copy of the candidate in which each of these inputs has the type that it had, and is read where its quotient
    is; the name of the input where something else than a Cast, and a division by the planned number, stands there."""
    copy = candidate.copy()
    graph = copy.proto.graph
    scopes = View(copy.proto).scopes
    were = {value.name: value for value in before.proto.graph.input}
    nodes: list[NodeProto] = []
    for name, denominator in integers.items():
        value = next((value for value in graph.input if value.name == name), None)
        if value is None or name not in were or value.type.tensor_type.elem_type != TensorProto.INT64:
            return name
        elem_type = were[name].type.tensor_type.elem_type
        chain = _chain(copy, scopes, name, elem_type, denominator)
        if chain is None:
            return name
        value.type.tensor_type.elem_type = elem_type
        for reader in scopes.readers_of((MAIN, chain[-1].output[0])):
            if reader.node is None:
                return name
            reader.node.input[reader.position] = name
        nodes += chain
    for node in nodes:
        graph.node.remove(node)
    return copy


def _chain(document: Document, scopes: Scopes, name: str, elem_type: int, denominator: int) -> list[NodeProto] | None:
    """The nodes from the input to what others read: a Cast to the old type, and where the denominator is not 1 a
    constant and a Div, each read by the next alone."""
    cast = _only_reader(scopes, name)
    if cast is None or not _is(cast, "Cast", [name]):
        return None
    if [(one.name, one.i) for one in cast.attribute] != [("to", elem_type)]:
        return None
    if denominator == 1:
        return [cast]
    division = _only_reader(scopes, cast.output[0])
    if division is None or len(division.input) != 2 or division.attribute:
        return None
    if not _is(division, "Div", [cast.output[0], division.input[1]]):
        return None
    definition = scopes.definition(scopes.main, division.input[1])
    constant = None if definition is None else definition.node
    if constant is None or not _is(constant, "Constant", []) or [one.name for one in constant.attribute] != ["value"]:
        return None
    if len(scopes.readers_of((MAIN, division.input[1]))) != 1:
        return None
    number = numpy_helper.to_array(constant.attribute[0].t)
    return [constant, cast, division] if number.size == 1 and float(number.item()) == denominator else None


def _is(node: NodeProto, op_type: str, inputs: Sequence[str]) -> bool:
    """Whether a node is this operator of ai.onnx over these inputs, with one output."""
    return is_operator(node, op_type) and list(node.input) == list(inputs) and len(node.output) == 1


def _only_reader(scopes: Scopes, name: str) -> NodeProto | None:
    readers = scopes.readers_of((MAIN, name))
    return readers[0].node if len(readers) == 1 and readers[0].scope is scopes.main else None


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
