"""A change and its plan: what the comparison of every part of two models asks, byte by byte."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from google.protobuf.message import Message
from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import Scope, names_in, names_read
from resizefix.document.view import View
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.dependents import Dependents
from resizefix.verification.plan import Plan


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
