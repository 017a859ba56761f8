"""Two models and the plan that leads from one to the other: no byte differs but where it was planned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from google.protobuf.message import Message
from onnx import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    numpy_helper,
)

from resizefix.diagnostics import Diagnostic
from resizefix.document.dependents import Dependents
from resizefix.document.document import Document
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.scopes import (
    DEFAULT_DOMAINS,
    Scope,
    names_in,
    names_read,
    node_label,
)
from resizefix.document.values import Dims, dims_of, tensor_of
from resizefix.document.view import View
from resizefix.opsets.signatures import schema_of, since_version
from resizefix.scope_path import MAIN, FunctionName, Key
from resizefix.verification.plan import Plan


def outside_plan(before: Document, candidate: Document, plan: Plan) -> Diagnostic | None:
    """The first thing that differs where nothing was planned; None: there is none. Runs nothing, reads no weights."""
    return next(_Compared(before, candidate, plan).differences(), None)


def _unplanned(what: str, name: str) -> Diagnostic:
    return Diagnostic("verification.unplanned", what=what, name=name)


class _Compared:
    def __init__(self, before: Document, candidate: Document, plan: Plan) -> None:
        self._before, self._after, self._plan = before, candidate, plan
        self._old, self._new = View(before.proto).scopes, View(candidate.proto).scopes

    def differences(self) -> Iterator[Diagnostic]:
        """Everything that differs and was not planned, the model's own fields first, then scope by scope."""
        yield from self._fields()
        yield from self._functions()
        for path, old in self._old.by_path.items():
            new = self._new.by_path.get(path)
            if new is not None:
                yield from self._scope(old, new)
            elif not (self._plan.is_rebuilt and path.function is not None) and self._holder_stays(old):
                yield _unplanned("the body", str(path))
        yield from self._new_scopes()

    def _fields(self) -> Iterator[Diagnostic]:
        models = before, after = self._before.proto, self._after.proto
        for field in ModelProto.DESCRIPTOR.fields:
            if field.name in ("graph", "functions", "opset_import", "ir_version"):
                continue
            if not _same_field(before, after, field.name):
                yield _unplanned("the field", field.name)
        raises_ir = self._plan.opset is not None or self._plan.new_inputs
        if before.ir_version != after.ir_version and not raises_ir:
            yield _unplanned("the field", "ir_version")
        was, now = ({(one.domain or "ai.onnx"): one.version for one in model.opset_import} for model in models)
        for domain in was.keys() | now.keys():
            planned = self._plan.opset if domain == "ai.onnx" else None
            gone = domain not in now and self._plan.is_rebuilt
            if was.get(domain) != now.get(domain) and (planned is None or now.get(domain) != planned) and not gone:
                yield _unplanned("the opset of", domain)

    def _functions(self) -> Iterator[Diagnostic]:
        if self._plan.is_rebuilt:
            return
        was, now = ({FunctionName.of(one): one for one in doc.proto.functions} for doc in (self._before, self._after))
        if list(was) != list(now):
            yield _unplanned("the list", "functions")
            return
        for name, old in was.items():
            new = now[name]
            given = [one for one in new.input if one not in self._plan.new_inputs]
            same = given == list(old.input) and all(
                _same_field(old, new, field.name)
                for field in FunctionProto.DESCRIPTOR.fields
                if field.name not in ("node", "input", "value_info")
                and not (field.name == "opset_import" and self._plan.opset is not None)
            )
            if not same:
                yield _unplanned("the", str(name))

    def _holder_stays(self, scope: Scope) -> bool:
        """Whether the node that holds the body is to stay."""
        if scope.parent is None or scope.owner is None:
            return True
        names = scope.parent.body.node[scope.owner].output
        kept = not any((scope.parent.path, name) in self._plan.nodes | self._removable for name in names)
        return kept and self._holder_stays(scope.parent)

    def _new_scopes(self) -> Iterator[Diagnostic]:
        for path, scope in self._new.by_path.items():
            if path in self._old.by_path or scope.parent is None or scope.owner is None:
                continue
            holder = scope.parent.body.node[scope.owner]
            is_new = not any(name in self._names for name in holder.output if name)
            if not is_new and not any((scope.parent.path, name) in self._plan.nodes for name in holder.output):
                yield _unplanned("the body", str(path))

    @cached_property
    def _names(self) -> set[str]:
        """Every name of the model before."""
        return names_in(self._before.proto)

    @cached_property
    def _removable(self) -> frozenset[Key]:
        """What the operands of planned nodes are made of: it may go where nothing else reads it."""
        found: set[Key] = set()
        pending = [
            source
            for path, name in self._plan.nodes
            if (scope := self._old.by_path.get(path)) is not None and name in scope.producers
            for source in self._old.sources(scope, scope.body.node[scope.producers[name]])
        ]
        while pending:
            one = pending.pop()
            if one.key in found:
                continue
            found.add(one.key)
            if one.node is not None:
                found.update((one.scope.path, name) for name in one.node.output if name)
                pending += self._old.sources(one.scope, one.node)
        return frozenset(found)

    @cached_property
    def _resized(self) -> set[Key]:
        """The tensors whose stored shapes may differ."""
        dependents = Dependents(self._old)
        seeds = {key for key in self._plan.nodes if key[0] in self._old.by_path and key[1]}
        dependents.add(seeds | {(MAIN, name) for name in self._plan.input_shapes})
        return dependents.resized

    def _scope(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        if isinstance(old.body, GraphProto) and isinstance(new.body, GraphProto):
            for field in GraphProto.DESCRIPTOR.fields:
                if field.name in ("node", "input", "output", "value_info", "initializer"):
                    continue
                is_same = _same_field(old.body, new.body, field.name)
                if not is_same and not (self._plan.is_rebuilt and _may_go(old.body, new.body, field.name)):
                    yield _unplanned("the field", f"graph.{field.name}")
            yield from self._initializers(old, new)
            yield from self._inputs(old, new)
            yield from self._outputs(old, new)
        yield from self._nodes(old, new)
        yield from self._stored(old, new)

    # nodes

    def _nodes(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        after: dict[str, list[NodeProto]] = {}
        for node in reversed(new.body.node):  # two nodes may write one name: each is the next of that name
            after.setdefault(_key(node), []).append(node)
        for index, node in enumerate(old.body.node):
            left = after.get(_key(node))
            found = left.pop() if left else None
            if found is None:
                why = self._may_go(old, new, node)
            else:
                why = self._is_planned(old, new, node) or self._same_node(old, new, node, found)
            if not why:
                yield _unplanned("node", node_label(node, index))
        for name, nodes in after.items():
            for node in nodes:
                if not self._is_new(old, node, name):
                    yield _unplanned("node", node.name or name)

    def _is_new(self, old: Scope, node: NodeProto, name: str) -> bool:
        """Whether a node that the model before has not makes nothing that this one had, but what was planned."""
        plan = self._plan
        return plan.is_rebuilt or all(
            output not in self._names or (old.path, output) in plan.nodes for output in node.output if output
        )

    def _may_go(self, old: Scope, new: Scope, node: NodeProto) -> bool:
        names = [name for name in node.output if name]
        if self._plan.is_rebuilt:
            return True
        if any((old.path, name) in self._plan.nodes for name in names):
            return True
        removable = any((old.path, name) in self._removable for name in names) or self._plan.opset is not None
        return removable and not any(self._is_read_elsewhere((old.path, name)) for name in names)

    def _is_read_elsewhere(self, key: Key) -> bool:
        """Whether others than planned and new nodes read what has this name now, where the old definition is gone."""
        if key[0] not in self._new.by_path or not self._new.by_path[key[0]].defines(key[1]):
            scope = self._new.by_path.get(key[0])
            return scope is not None and any(key[1] in names_read(node) for node in scope.body.node)
        for reader in self._new.readers_of(key):
            made = [] if reader.node is None else [name for name in reader.node.output if name]
            planned = any((reader.scope.path, name) in self._plan.nodes for name in made)
            if reader.node is None or not (planned or self._names.isdisjoint(made)):
                return True
        return False

    def _is_planned(self, old: Scope, new: Scope, node: NodeProto) -> bool:
        keys = [(old.path, name) for name in node.output if name]
        planned = any(key in self._plan.nodes for key in keys)
        return planned and (self._plan.operands is None or self._has_planned_numbers(old, new, node))

    def _same_node(self, old: Scope, new: Scope, node: NodeProto, found: NodeProto) -> bool:
        plan = self._plan
        if plan.changes_constants:
            moved = self._moved
            if node.op_type == "Constant" and (old.path, _key(node)) in moved:
                return True  # compared where it is read
            if any((found_one := self._old.definition(old, name)) and found_one.key in moved for name in node.input):
                return False
        if _equal(node, found) or _equal(_bare(node, self._dropped(node)), _bare(found, self._dropped(found))):
            return True
        return plan.opset is not None and self._is_respelled(old, new, node, found)

    def _is_respelled(self, old: Scope, new: Scope, node: NodeProto, found: NodeProto) -> bool:
        """Whether a node may be what the other one is in the words of the new opset."""
        rebuilt = self._plan.is_rebuilt
        if rebuilt and FunctionName.called_by(node) in self._old.functions:
            return True  # what the function makes
        if node.op_type != found.op_type or node.domain != found.domain:
            return node.domain in DEFAULT_DOMAINS and (rebuilt or schema_of(node.op_type, new.opset) is None)
        versions = since_version(node.op_type, old.opset), since_version(found.op_type, new.opset)
        if node.domain not in DEFAULT_DOMAINS or versions[0] == versions[1]:
            attributes = [NodeProto(attribute=_bare(one).attribute) for one in (node, found)]
            return rebuilt and _equal(*attributes)  # what it reads may have another name
        schema = schema_of(found.op_type, new.opset)
        kept = {attribute.name for attribute in found.attribute}
        return schema is None or all(one.name in kept or one.name not in schema.attributes for one in node.attribute)

    def _dropped(self, node: NodeProto) -> frozenset[str]:
        """Names that a node may read more than it did: new inputs that a call passes on."""
        return self._plan.new_inputs if FunctionName.called_by(node) in self._new.functions else frozenset()

    def _has_planned_numbers(self, old: Scope, new: Scope, node: NodeProto) -> bool:
        """Whether a planned node has the planned numbers at the planned places, and everything else as it was."""
        plan, key = self._plan, (old.path, _key(node))
        assert plan.operands is not None
        found = new.body.node[new.producers[_key(node)]]
        operands = {position: array for (of, position), array in plan.operands.items() if of == key}
        attributes = {name: values for (of, name), values in plan.attributes.items() if of == key}
        if len(node.input) != len(found.input):
            return False
        rest = NodeProto()
        rest.CopyFrom(found)
        for position, name in enumerate(found.input):
            if position not in operands:
                was = self._old.definition(old, name) if name else None
                if name != node.input[position] or (was is not None and was.key in self._moved):
                    return False
            elif not _has(self._constant(new, name), operands[position]):
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
        return _equal(_bare(node), _bare(rest))

    @cached_property
    def _moved(self) -> set[Key]:
        """The constants that have other numbers under their name."""
        found: set[Key] = set()
        for path, old in self._old.by_path.items():
            new = self._new.by_path.get(path)
            for name, tensor in old.initializers.items():
                now = None if new is None else new.initializers.get(name)
                if now is not None and not _equal(tensor, now):
                    found.add((path, name))
            for node in old.body.node:
                now_at = None if new is None or node.op_type != "Constant" else new.producers.get(_key(node))
                if new is not None and now_at is not None and not _equal(node, new.body.node[now_at]):
                    found.add((path, _key(node)))
        return found

    def _constant(self, scope: Scope, name: str) -> TensorProto | None:
        found = self._new.definition(scope, name)
        if found is None or found.tensor is not None:
            tensor: TensorProto | None = None if found is None else found.tensor
            return tensor
        node = found.node
        if node is None or node.op_type != "Constant" or not node.attribute or node.attribute[0].name != "value":
            return None
        value: TensorProto = node.attribute[0].t
        return value

    # initializers, inputs, outputs, stored shapes

    def _initializers(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        plan = self._plan
        for name, tensor in old.initializers.items():
            now, key = new.initializers.get(name), (old.path, name)
            if now is None:
                goes = plan.is_rebuilt or plan.opset is not None or key in self._removable
                if not goes or (not plan.is_rebuilt and self._is_read_elsewhere(key)):
                    yield _unplanned("initializer", name)
            elif not _equal(tensor, now) and not (plan.changes_constants and self._read_by_planned(key)):
                yield _unplanned("initializer", name)
        for name in new.initializers:
            if name not in old.initializers and name in self._names and not self._replaces(old, name):
                yield _unplanned("initializer", name)

    def _replaces(self, old: Scope, name: str) -> bool:
        """Whether a new constant may bear a name of the model before."""
        return self._plan.is_rebuilt or (old.path, name) in self._plan.nodes | self._removable

    def _read_by_planned(self, key: Key) -> bool:
        nodes = (reader.node for reader in self._old.readers_of(key))
        return all(
            node is not None and any((key[0], name) in self._plan.nodes for name in node.output) for node in nodes
        )

    def _inputs(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        was, now = self._fed(old, self._before), self._fed(new, self._after)
        plan, kept = self._plan, []
        for value in was:
            found = next((one for one in now if one.name == value.name), None)
            if found is None:
                key = old.path, value.name
                goes = key in self._removable or (plan.is_rebuilt and value.name in old.initializers)
                if not goes or self._is_fed_in(new, value.name):
                    yield _unplanned("input", value.name)
                continue
            kept.append(value.name)
            if plan.input_shapes and old.path == MAIN:
                planned = plan.input_shapes.get(value.name, dims_of(value.type))
                same = _equal(_unshaped(value), _unshaped(found)) and _is_shape(dims_of(found.type), planned)
            elif (old.path, value.name) in self._resized:
                same = _equal(_unshaped(value), _unshaped(found))
            else:
                same = _equal(value, found)
            if not same:
                yield _unplanned("input", value.name)
        old_names = {value.name for value in was} | old.initializers.keys()
        added = [value.name for value in now if value.name not in old_names]
        if not plan.new_inputs.issuperset(added) or (old.path != MAIN and added):
            yield _unplanned("input", next(name for name in added if name not in plan.new_inputs or old.path != MAIN))
        if [value.name for value in now if value.name in set(kept)] != kept:
            yield _unplanned("the order of", "inputs")

    def _is_fed_in(self, new: Scope, name: str) -> bool:
        """Whether a node of the new model reads the name though nothing there defines it."""
        return any(name in node.input for node in new.body.node) and not new.defines(name)

    def _fed(self, scope: Scope, document: Document) -> list[ValueInfoProto]:
        """The inputs of a scope; up to IR 3 constants are listed among them."""
        assert isinstance(scope.body, GraphProto)
        listed = document.proto.ir_version < FIRST_IR_WITH_DEFAULTS
        return [value for value in scope.body.input if not (listed and value.name in scope.initializers)]

    def _outputs(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        assert isinstance(old.body, GraphProto)
        assert isinstance(new.body, GraphProto)
        if [value.name for value in old.body.output] != [value.name for value in new.body.output]:
            yield _unplanned("the list", "outputs")
            return
        for was, now in zip(old.body.output, new.body.output, strict=True):
            if not self._same_value(old, was, now):
                yield _unplanned("output", was.name)

    def _stored(self, old: Scope, new: Scope) -> Iterator[Diagnostic]:
        was = {value.name: value for value in old.body.value_info}
        now = {value.name: value for value in new.body.value_info}
        for name, value in was.items():
            found = now.get(name)
            if found is None:
                if new.defines(name) and not self._may_be_forgotten(old, name):
                    yield _unplanned("the stored shape of", name)
            elif not self._same_value(old, value, found):
                yield _unplanned("the stored shape of", name)
        for name in now:
            if name not in was and name in self._names and not self._may_be_forgotten(old, name):
                yield _unplanned("the stored shape of", name)

    def _may_be_forgotten(self, old: Scope, name: str) -> bool:
        return self._plan.is_rebuilt or (old.path, name) in self._resized

    def _same_value(self, old: Scope, was: ValueInfoProto, now: ValueInfoProto) -> bool:
        if _equal(was, now):
            return True
        key = old.path, was.name
        if key in self._plan.types:
            was, now = _untyped(was), _untyped(now)
        if key in self._resized or self._plan.is_rebuilt:
            was, now = _unshaped(was), _unshaped(now)
        return _equal(was, now)


def _key(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")


def _equal(one: Message, other: Message) -> bool:
    # NaN is not equal to itself, but its bytes are.
    return bool(one == other or _bytes(one) == _bytes(other))


def _bytes(message: Message) -> bytes:
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized


def _same_field(one: Any, other: Any, name: str) -> bool:
    was, now = getattr(one, name), getattr(other, name)
    if was == now:
        return True
    if isinstance(was, Message):
        return _equal(was, now)
    listed = not isinstance(was, (str, bytes, float)) and hasattr(was, "__len__") and len(was) == len(now)
    return listed and all(isinstance(old, Message) and _equal(old, new) for old, new in zip(was, now, strict=True))


def _may_go(one: GraphProto, other: GraphProto, name: str) -> bool:
    """Whether a field of a graph that is built anew may have changed: what older versions have no words for is left
    out, and they demand a name."""
    if name == "name":
        return not one.name
    return name in ("quantization_annotation", "sparse_initializer") and not getattr(other, name)


def _bare(node: NodeProto, dropped: frozenset[str] = frozenset()) -> NodeProto:
    """The node without its bodies, which are scopes of their own, and without some of the names that it reads."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        attribute.ClearField("g")
        attribute.ClearField("graphs")
    if dropped:
        kept = [name for name in node.input if name not in dropped]
        while kept and not kept[-1]:
            kept.pop()
        del copy.input[:]
        copy.input.extend(kept)
    return copy


def _is_shape(dims: Dims, planned: Dims) -> bool:
    return len(dims) == len(planned) and all(
        size == wanted or not (isinstance(size, int) or isinstance(wanted, int))
        for size, wanted in zip(dims, planned, strict=True)
    )


def _unshaped(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    tensor = tensor_of(copy.type)
    if tensor is not None:
        tensor.ClearField("shape")
    return copy


def _untyped(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.type.tensor_type.ClearField("elem_type")
    return copy


def _has(tensor: TensorProto | None, planned: Any) -> bool:
    if tensor is None:
        return False
    array = numpy_helper.to_array(tensor)
    return bool(array.shape == planned.shape and array.dtype == planned.dtype and array.tobytes() == planned.tobytes())
