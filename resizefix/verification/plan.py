"""What one change of a model was to change, and the constants, inputs, outputs and stored shapes of two models that
differ elsewhere: all that was not planned stays as it is, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from google.protobuf.message import Message
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.scopes import Scope, names_in, names_read, node_label
from resizefix.document.values import Array, Dims, dims_of, tensor_of
from resizefix.document.view import View
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.dependents import Dependents


@dataclass(frozen=True)
class Plan:
    """What may differ between a model and what became of it.

    `nodes`: other nodes may stand in the place of these, each named by a tensor that it makes; what only their operands
    needed may go. `new_inputs`: graph inputs that there were not. `input_shapes`: inputs that take another shape, and
    that shape, where None is left open and any name will do. `frozen`: graph inputs that may become constants, and
    their numbers in row-major order. `types`: tensors whose stored element type may change. `renamed`: inputs and
    outputs of the main graph whose open axes may have other names.
    `operands` and `attributes`: the exact numbers of some nodes, by a tensor that the node makes and by the position or
    the attribute; None where the numbers are not known before the model runs. With them, constants may keep their names
    and have other numbers, if only those nodes read them.
    `integers`: inputs of the main graph that hold int64 now, and the number that each is divided by behind its Cast;
    all who read the input read the quotient.
    `opset`: the model is brought to that version of ai.onnx, and nodes are spelled as it has them. `is_rebuilt`: on the
    way functions are inlined and constants folded.
    """

    nodes: frozenset[Key] = frozenset()
    new_inputs: frozenset[str] = frozenset()
    input_shapes: Mapping[str, Dims] = field(default_factory=dict)
    frozen: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    types: frozenset[Key] = frozenset()
    renamed: frozenset[str] = frozenset()
    operands: Mapping[tuple[Key, int], Array] | None = None
    attributes: Mapping[tuple[Key, str], tuple[float, ...]] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    opset: int | None = None
    is_rebuilt: bool = False

    @property
    def changes_constants(self) -> bool:
        """Whether constants that planned nodes alone read may have other numbers."""
        return self.operands is not None


@dataclass(frozen=True)
class SizeStep:
    """A change of the input size: the nodes that were to change, by their place in the model before."""

    before: Document
    after: Document
    nodes: frozenset[int]

    @property
    def outputs(self) -> list[str]:
        """The first result of every node that was to change; not of those that the model gives anyway, or that went
        because nothing reads them now."""
        graph = self.before.proto.graph
        names_now = {_key(node) for node in self.after.proto.graph.node} - {value.name for value in graph.output}
        return [name for index in sorted(self.nodes) if (name := _key(graph.node[index])) in names_now]

    def label(self, output: str) -> str:
        """What reports call the node with this output."""
        for index, node in enumerate(self.before.proto.graph.node):
            if output in node.output:
                return node_label(node, index)
        return output


def _key(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")


def unplanned(what: str, name: str) -> Diagnostic:
    """The sentence about something that differs and was not to."""
    return Diagnostic("verification.unplanned", what=what, name=name)


class Seen:
    """Two models and the plan that leads from one to the other; `old` and `new` are their scopes."""

    def __init__(self, before: Document, candidate: Document, plan: Plan) -> None:
        self.before, self.after, self.plan = before, candidate, plan
        self.old, self.new = View(before.proto).scopes, View(candidate.proto).scopes

    @cached_property
    def names(self) -> set[str]:
        """Every name of the model before."""
        return names_in(self.before.proto)

    @cached_property
    def removable(self) -> frozenset[Key]:
        """What the operands of planned nodes are made of: it may go where nothing else reads it."""
        sources: set[Key] = set()
        calls = View(self.before.proto).calls
        pending = [
            source
            for path, name in self.plan.nodes
            if (scope := self.old.by_path.get(path)) is not None and name in scope.producers
            for source in self.old.sources(scope, scope.body.node[scope.producers[name]])
        ]
        while pending:
            one = pending.pop()
            if one.key in sources:
                continue
            sources.add(one.key)
            if one.node is not None:
                sources.update((one.scope.path, name) for name in one.node.output if name)
                pending += self.old.sources(one.scope, one.node)
            else:
                pending += filter(None, calls.arguments(one))
        return frozenset(sources)

    @cached_property
    def resized(self) -> set[Key]:
        """The tensors whose stored shapes may differ."""
        dependents = Dependents(self.old)
        seeds = {key for key in self.plan.nodes if key[0] in self.old.by_path and key[1]}
        dependents.add(seeds | {(MAIN, name) for name in self.plan.input_shapes} | self.moved)
        return dependents.resized

    @cached_property
    def moved(self) -> set[Key]:
        """The constants that have other numbers under their name."""
        constants: set[Key] = set()
        for path, old in self.old.by_path.items():
            new = self.new.by_path.get(path)
            for name, tensor in old.initializers.items():
                now = None if new is None else new.initializers.get(name)
                if now is not None and not same_message(tensor, now):
                    constants.add((path, name))
            for node in old.body.node:
                now_at = None if new is None or node.op_type != "Constant" else new.producers.get(made_by(node))
                if new is not None and now_at is not None and not same_message(node, new.body.node[now_at]):
                    constants.add((path, made_by(node)))
        return constants

    def became(self, name: str, tensor: TensorProto) -> bool | None:
        """Whether a graph input became a constant of the planned numbers; None: it was not to become one."""
        planned = self.plan.frozen.get(name)
        if planned is None:
            return None
        array = self.after.array(tensor).reshape(-1)
        return bool(np.array_equal(array, np.array(planned).astype(array.dtype)))

    def constant(self, scope: Scope, name: str) -> TensorProto | None:
        """The constant that a name of the candidate is."""
        definition = self.new.definition(scope, name)
        if definition is None or definition.tensor is not None:
            tensor: TensorProto | None = None if definition is None else definition.tensor
            return tensor
        node = definition.node
        if node is None or node.op_type != "Constant" or not node.attribute or node.attribute[0].name != "value":
            return None
        value: TensorProto = node.attribute[0].t
        return value

    def is_read_elsewhere(self, key: Key) -> bool:
        """Whether others than planned and new nodes read what has this name now, where the old definition is gone."""
        if key[0] not in self.new.by_path or not self.new.by_path[key[0]].defines(key[1]):
            scope = self.new.by_path.get(key[0])
            return scope is not None and any(key[1] in names_read(node) for node in scope.body.node)
        for reader in self.new.readers_of(key):
            outputs = [] if reader.node is None else [name for name in reader.node.output if name]
            planned = any((reader.scope.path, name) in self.plan.nodes for name in outputs)
            if reader.node is None or not (planned or self.names.isdisjoint(outputs)):
                return True
        return False


def same_message(one: Message, other: Message) -> bool:
    """Whether two messages have the same bytes."""
    # NaN is not equal to itself, but its bytes are.
    return bool(one == other or _bytes(one) == _bytes(other))


def _bytes(message: Message) -> bytes:
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized


def same_field(one: Any, other: Any, name: str) -> bool:
    """Whether a field of two messages has the same bytes."""
    was, now = getattr(one, name), getattr(other, name)
    if was == now:
        return True
    if isinstance(was, Message):
        return same_message(was, now)
    listed = not isinstance(was, (str, bytes, float)) and hasattr(was, "__len__") and len(was) == len(now)
    return listed and all(
        isinstance(old, Message) and same_message(old, new) for old, new in zip(was, now, strict=True)
    )


def bare(node: NodeProto) -> NodeProto:
    """The node without its bodies, which are scopes of their own."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        attribute.ClearField("g")
        attribute.ClearField("graphs")
    return copy


def made_by(node: NodeProto) -> str:
    """The first tensor that the node makes: what it is known by."""
    return next((name for name in node.output if name), "")


def other_values(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    """What is not what it was in a scope, and was to be."""
    if isinstance(old.body, GraphProto) and isinstance(new.body, GraphProto):
        yield from _initializers(seen, old, new)
        yield from _inputs(seen, old, new)
        yield from _outputs(seen, old, new)
    yield from _stored(seen, old, new)


def _initializers(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    plan = seen.plan
    for name, tensor in old.initializers.items():
        now, key = new.initializers.get(name), (old.path, name)
        if now is None:
            goes = plan.is_rebuilt or plan.opset is not None or key in seen.removable
            if not goes or (not plan.is_rebuilt and seen.is_read_elsewhere(key)):
                yield unplanned("initializer", name)
        elif key[0] == MAIN and name in plan.frozen and name not in new.inputs:
            if not seen.became(name, now):
                yield unplanned("initializer", name)
        elif not same_message(tensor, now) and not (plan.changes_constants and _read_by_planned(seen, key)):
            yield unplanned("initializer", name)
    for name, tensor in new.initializers.items():
        if name not in old.initializers and name in seen.names and not _replaces(seen, old, name, tensor):
            yield unplanned("initializer", name)


def _replaces(seen: Seen, old: Scope, name: str, tensor: TensorProto) -> bool:
    """Whether a new constant may bear a name of the model before."""
    became = seen.became(name, tensor) if old.path == MAIN else None
    if became is not None:
        return became
    return seen.plan.is_rebuilt or (old.path, name) in seen.plan.nodes | seen.removable


def _read_by_planned(seen: Seen, key: Key) -> bool:
    nodes = (reader.node for reader in seen.old.readers_of(key))
    return all(node is not None and any((key[0], name) in seen.plan.nodes for name in node.output) for node in nodes)


def _inputs(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    was, now = _fed(seen, old, seen.before), _fed(seen, new, seen.after)
    plan, names_now = seen.plan, []
    for value in was:
        same_name = next((one for one in now if one.name == value.name), None)
        if same_name is None:
            key = old.path, value.name
            goes = key in seen.removable or (plan.is_rebuilt and value.name in old.initializers)
            if not goes or _is_fed_in(seen, new, value.name):
                yield unplanned("input", value.name)
            continue
        names_now.append(value.name)
        if plan.input_shapes and old.path == MAIN:
            planned = plan.input_shapes.get(value.name, dims_of(value.type))
            same = same_message(_unshaped(value), _unshaped(same_name)) and _is_shape(dims_of(same_name.type), planned)
        elif old.path == MAIN and value.name in plan.renamed:
            same = same_message(_unnamed(value), _unnamed(same_name))
        elif (old.path, value.name) in seen.resized:
            same = same_message(_unshaped(value), _unshaped(same_name))
        else:
            same = same_message(value, same_name)
        if not same:
            yield unplanned("input", value.name)
    old_names = {value.name for value in was} | old.initializers.keys()
    added = [value.name for value in now if value.name not in old_names]
    if not plan.new_inputs.issuperset(added) or (old.path != MAIN and added):
        yield unplanned("input", next(name for name in added if name not in plan.new_inputs or old.path != MAIN))
    if [value.name for value in now if value.name in set(names_now)] != names_now:
        yield unplanned("the order of", "inputs")


def _is_fed_in(seen: Seen, new: Scope, name: str) -> bool:
    """Whether a node of the new model reads the name though nothing there defines it."""
    return any(name in node.input for node in new.body.node) and not new.defines(name)


def _fed(seen: Seen, scope: Scope, document: Document) -> list[ValueInfoProto]:
    """The inputs of a scope; up to IR 3 constants are listed among them."""
    assert isinstance(scope.body, GraphProto)
    listed = document.proto.ir_version < FIRST_IR_WITH_DEFAULTS
    return [value for value in scope.body.input if not (listed and value.name in scope.initializers)]


def _outputs(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    assert isinstance(old.body, GraphProto)
    assert isinstance(new.body, GraphProto)
    if [value.name for value in old.body.output] != [value.name for value in new.body.output]:
        yield unplanned("the list", "outputs")
        return
    for was, now in zip(old.body.output, new.body.output, strict=True):
        is_renamed = old.path == MAIN and was.name in seen.plan.renamed
        if not _same_value(seen, old, *(map(_unnamed, (was, now)) if is_renamed else (was, now))):
            yield unplanned("output", was.name)


def _stored(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    was = {value.name: value for value in old.body.value_info}
    now = {value.name: value for value in new.body.value_info}
    for name, value in was.items():
        stored_now = now.get(name)
        if stored_now is None:
            if new.defines(name) and not _may_be_forgotten(seen, old, name):
                yield unplanned("the stored shape of", name)
        elif not _same_value(seen, old, value, stored_now):
            yield unplanned("the stored shape of", name)
    for name in now:
        if name not in was and name in seen.names and not _may_be_forgotten(seen, old, name):
            yield unplanned("the stored shape of", name)


def _may_be_forgotten(seen: Seen, old: Scope, name: str) -> bool:
    return seen.plan.is_rebuilt or (old.path, name) in seen.resized


def _same_value(seen: Seen, old: Scope, was: ValueInfoProto, now: ValueInfoProto) -> bool:
    if same_message(was, now):
        return True
    key = old.path, was.name
    if key in seen.plan.types:
        was, now = _untyped(was), _untyped(now)
    if key in seen.resized or seen.plan.is_rebuilt:
        was, now = _unshaped(was), _unshaped(now)
    return same_message(was, now)


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


def _unnamed(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    tensor = tensor_of(copy.type)
    for dim in tensor.shape.dim if tensor is not None else ():
        if dim.dim_param:
            dim.dim_param = "?"
    return copy


def _untyped(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.type.tensor_type.ClearField("elem_type")
    return copy
