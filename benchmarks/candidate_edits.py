"""A candidate that an operation made, and small edits of it, of which `mutations.py` makes programming errors.

Nothing of resizefix is used here: models are plain protobufs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

Edit = Callable[[ModelProto], None]
RESIZES = ("Resize", "Upsample")
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
NEW = "mutant"


class Place(NamedTuple):
    """A node of a model: which of its lists of nodes, as `bodies` counts them, and where there."""

    body: int
    index: int


@dataclass
class Subject:
    """A candidate that may be changed: the model before and after, and the values that the tensors of its main graph
    had in one run. `array` reads a tensor, wherever its numbers lie. `inputs` are new inputs with their old values;
    `planned` are tensors whose nodes may differ."""

    before: ModelProto
    after: ModelProto
    values: Mapping[str, np.ndarray]
    array: Callable[[TensorProto], np.ndarray]
    inputs: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    planned: frozenset[str] = frozenset()

    @cached_property
    def old_nodes(self) -> dict[str, NodeProto]:
        """The nodes of the model before, by what they make."""
        return {name: node for body in bodies(self.before) for node in body.node for name in node.output if name}

    @cached_property
    def changed(self) -> list[tuple[Place, NodeProto]]:
        """The nodes of the candidate that are new, or are not what they were."""
        return [(place, node) for place, node in self.nodes if not self._stayed(node)]

    @cached_property
    def new_constants(self) -> set[str]:
        """The names of constants that the model before had not, or that had other numbers there."""
        old = {tensor.name: tensor.SerializeToString() for tensor in self.before.graph.initializer}
        now = self.after.graph.initializer
        return {tensor.name for tensor in now if old.get(tensor.name) != tensor.SerializeToString()}

    def _stayed(self, node: NodeProto) -> bool:
        old = self.old_nodes.get(next((name for name in node.output if name), ""))
        same = old is not None and old.SerializeToString() == node.SerializeToString()
        return same and self.new_constants.isdisjoint(node.input)

    @cached_property
    def nodes(self) -> list[tuple[Place, NodeProto]]:
        """All nodes of the candidate."""
        every = enumerate(bodies(self.after))
        return [(Place(at, index), node) for at, body in every for index, node in enumerate(body.node)]

    @cached_property
    def stayed(self) -> list[tuple[Place, NodeProto]]:
        """The nodes that were to stay as they are."""
        changed = {place for place, _ in self.changed}
        others = [(place, node) for place, node in self.nodes if place not in changed]
        return [(place, node) for place, node in others if self.planned.isdisjoint(node.output)]

    @cached_property
    def sites(self) -> list[tuple[Place, NodeProto]]:
        """The changed nodes that resize; where none does, those of the main graph that took their place."""
        resizes = [(place, node) for place, node in self.changed if node.op_type in RESIZES]
        return resizes or [
            (place, node)
            for place, node in self.changed
            if place.body == 0 and node.output and node.output[0] in self.old_nodes
        ]

    def constant(self, name: str) -> np.ndarray | None:
        """The value of a constant of the candidate."""
        for tensor in self.after.graph.initializer:
            if tensor.name == name:
                return self.array(tensor)
        for _, node in self.nodes:
            if node.op_type == "Constant" and name in node.output and node.attribute[0].name == "value":
                return self.array(node.attribute[0].t)
        return None

    def operand(self, node: NodeProto) -> tuple[int, str] | None:
        """The position and the name of the scales or sizes of a resize."""
        for position in (3, 2, 1):
            if position < len(node.input) and node.input[position]:
                value = self.constant(node.input[position])
                if value is None or value.size:
                    return position, node.input[position]
        return None


def bodies(model: ModelProto) -> list[Any]:
    """The lists of nodes of a model: the main graph, then bodies and local functions."""
    found: list[Any] = [model.graph, *model.functions]
    for body in found:
        for node in body.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    found.append(attribute.g)
    return found


def node_at(model: ModelProto, place: Place) -> NodeProto:
    """The node at a place of a copy of the model."""
    found: NodeProto = bodies(model)[place.body].node[place.index]
    return found


def insert(model: ModelProto, place: Place, nodes: list[NodeProto], *, after: bool = False) -> None:
    """Put nodes before the one at `place`, or behind it."""
    listed = bodies(model)[place.body].node
    for offset, node in enumerate(nodes):
        listed.insert(place.index + offset + after, node)


def constant(name: str, value: np.ndarray) -> NodeProto:
    """A Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name))


def with_operand(place: Place, position: int, value: np.ndarray) -> Edit:
    """Let a node read another constant."""

    def edit(model: ModelProto) -> None:
        node_at(model, place).input[position] = f"{NEW}_value"
        insert(model, place, [constant(f"{NEW}_value", value)])

    return edit


def behind(place: Place, output: str, make: Callable[[str, str], list[NodeProto]]) -> Edit:
    """Put nodes between a tensor and all who read it."""

    def edit(model: ModelProto) -> None:
        node = node_at(model, place)
        inner = f"{NEW}_inner"
        for position, name in enumerate(node.output):
            if name == output:
                node.output[position] = inner
        insert(model, place, make(inner, output), after=True)

    return edit


def ahead(place: Place, position: int, make: Callable[[str, str], list[NodeProto]]) -> Edit:
    """Put nodes between a node and one of its operands."""

    def edit(model: ModelProto) -> None:
        node = node_at(model, place)
        given, node.input[position] = node.input[position], f"{NEW}_outer"
        insert(model, place, make(given, f"{NEW}_outer"))

    return edit


def with_attribute(place: Place, name: str, value: Any) -> Edit:
    """Write an attribute of a node; None removes it."""

    def edit(model: ModelProto) -> None:
        node = node_at(model, place)
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
        if value is not None:
            node.attribute.append(helper.make_attribute(name, value))

    return edit


def attribute_of(node: NodeProto, name: str) -> Any:
    """The value of an attribute, or None."""
    for attribute in node.attribute:
        if attribute.name == name:
            value = helper.get_attribute_value(attribute)
            return value.decode() if isinstance(value, bytes) else value
    return None


def extents(subject: Subject) -> Iterator[tuple[Place, int, np.ndarray]]:
    """The constant scales and sizes of changed resizes; position -1 is the attribute."""
    for place, node in subject.sites:
        attribute = attribute_of(node, "scales")
        if attribute is not None:
            yield place, -1, np.array(attribute, np.float32)
        found = subject.operand(node) if node.op_type in RESIZES else None
        value = None if found is None else subject.constant(found[1])
        if found is not None and value is not None and value.ndim == 1 and value.size:
            yield place, found[0], value


def with_extent(place: Place, position: int, value: np.ndarray) -> Edit:
    """Write other scales or sizes."""
    if position < 0:
        return with_attribute(place, "scales", value.astype(float).tolist())
    return with_operand(place, position, value)


def off_by(value: np.ndarray, part: float) -> np.ndarray:
    """The array with its largest element moved."""
    other = value.copy().reshape(-1)
    at = int(np.abs(other.astype(np.float64)).argmax())
    other[at] += type(other[at])(part * (abs(float(other[at])) or 1.0))
    return other.reshape(value.shape)


def with_weight(name: str, value: np.ndarray) -> Edit:
    """Give an initializer of the main graph other numbers."""

    def edit(model: ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(numpy_helper.from_array(value, name))

    return edit


def stored(model: ModelProto) -> list[Any]:
    """The values whose shapes the main graph stores."""
    graph: GraphProto = model.graph
    return [value for value in (*graph.value_info, *graph.output, *graph.input) if value.type.HasField("tensor_type")]
