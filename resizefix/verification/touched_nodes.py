"""Two models, one for another input size: no byte of a node changed but where it was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import Message
from onnx import GraphProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import names_read, node_label, subgraphs
from resizefix.origins.input_sizes.following import Numbers


@dataclass(frozen=True)
class Step:
    """A change from one model to the next: the nodes that were to change, by their place in the model before.

    `numbers`: what exactly was planned for them at a fixed size; None where operands are computed at run time.
    """

    before: Document
    after: Document
    nodes: frozenset[int]
    numbers: Numbers | None = None

    @property
    def outputs(self) -> list[str]:
        """The first result of every node that was to change; not of those that the model gives anyway, or that went
        because nothing reads them now."""
        graph = self.before.proto.graph
        kept = {_key(node) for node in self.after.proto.graph.node} - {value.name for value in graph.output}
        return [name for index in sorted(self.nodes) if (name := _key(graph.node[index])) in kept]

    def label(self, output: str) -> str:
        """What reports call the node with this output."""
        for index, node in enumerate(self.before.proto.graph.node):
            if output in node.output:
                return node_label(node, index)
        return output


def unplanned(step: Step) -> Diagnostic | None:
    """The first node that differs where nothing was planned, or reads a constant that does; None: there is none."""
    old, new = step.before.proto.graph, step.after.proto.graph
    moved = _other_constants(old, new)
    constants = _tensors(new) if step.numbers is not None else {}
    after: dict[str, list[NodeProto]] = {}
    for node in reversed(new.node):  # a converter may have given two nodes one name: each is the next of that name
        after.setdefault(_key(node), []).append(node)
    for index, node in enumerate(old.node):
        left = after.get(_key(node))
        found = left.pop() if left else None
        if found is None or (node.op_type == "Constant" and set(node.output) <= moved):
            continue  # unread by now, or compared where it is read
        if index not in step.nodes:
            agrees = _same_bytes(node, found) and moved.isdisjoint(names_read(node))
        else:
            agrees = step.numbers is None or _as_planned(step, index, found, moved, constants)
        if not agrees:
            return Diagnostic("verification.input-size-unplanned", node=node_label(node, index))
    return None


def _key(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")


def _other_constants(old: GraphProto, new: GraphProto) -> set[str]:
    """The constants that have other numbers under their name."""
    before = {tensor.name: tensor for tensor in old.initializer}
    moved = {one.name for one in new.initializer if one.name in before and not _equal(before[one.name], one)}
    nodes = {_key(node): node for node in old.node if node.op_type == "Constant"}
    return moved | {
        _key(node)
        for node in new.node
        if node.op_type == "Constant" and _key(node) in nodes and not _same_bytes(nodes[_key(node)], node)
    }


def _equal(one: Message, other: Message) -> bool:
    return bool(one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True))


def _same_bytes(one: NodeProto, other: NodeProto) -> bool:
    """Equal but for the shapes that bodies declare, which are derived again."""
    if any(True for _ in subgraphs(one)):
        one, other = _undeclared(one), _undeclared(other)
    return _equal(one, other)


def _undeclared(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    for _, body in subgraphs(copy):
        del body.value_info[:]
        for value in body.output:
            value.ClearField("type")
        for inner in body.node:
            inner.CopyFrom(_undeclared(inner))
    return copy


def _tensors(graph: GraphProto) -> dict[str, TensorProto]:
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found


def _as_planned(
    step: Step, index: int, found: NodeProto, moved: set[str], constants: Mapping[str, TensorProto]
) -> bool:
    """Whether a node has the planned numbers at the planned places, and everything else as it was."""
    assert step.numbers is not None
    node = step.before.proto.graph.node[index]
    planned = {place.position: array for place, array in step.numbers.constants.items() if place.node == index}
    attributes = {name: values for (at, name), values in step.numbers.attributes.items() if at == index}
    if len(node.input) != len(found.input):
        return False
    rest = NodeProto()
    rest.CopyFrom(found)
    for position, name in enumerate(found.input):
        if position not in planned:
            if name in moved or name != node.input[position]:
                return False
        elif name not in constants or not _has(constants[name], planned[position]):
            return False
        else:
            rest.input[position] = node.input[position]
    for attribute in rest.attribute:
        if attribute.name in attributes:
            kind = np.int64 if attribute.ints else np.float32
            if not np.array_equal(
                np.array(attribute.ints or attribute.floats), np.array(attributes[attribute.name], kind)
            ):
                return False
            attribute.CopyFrom(next(was for was in node.attribute if was.name == attribute.name))
    return _same_bytes(node, rest)


def _has(tensor: TensorProto, planned: Any) -> bool:
    array = numpy_helper.to_array(tensor)
    return bool(array.shape == planned.shape and array.dtype == planned.dtype and array.tobytes() == planned.tobytes())
