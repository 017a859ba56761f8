"""The resize nodes of a raw model, their operands and attributes, read and written with onnx alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

Body = GraphProto | FunctionProto


class NotHere(Exception):
    """The model has nothing that this breaks."""


def opset_of(owner: ModelProto | FunctionProto) -> int:
    return next((entry.version for entry in owner.opset_import if entry.domain in ("", "ai.onnx")), 0)


def bodies(model: ModelProto) -> Iterator[tuple[Body, int]]:
    """Every list of nodes with its opset."""
    opset = opset_of(model)
    todo: list[tuple[Body, int]] = [(model.graph, opset)]
    todo += [(function, opset_of(function) or opset) for function in model.functions]
    while todo:
        body, version = todo.pop(0)
        yield body, version
        for node in body.node:
            todo += [(attribute.g, version) for attribute in node.attribute if attribute.HasField("g")]


class RawResize:
    """One resize node where it stands; every question that has no answer raises NotHere."""

    def __init__(self, model: ModelProto, body: Body, opset: int, output: str) -> None:
        self.model, self.body, self.opset, self.output = model, body, opset, output

    @property
    def node(self) -> NodeProto:
        """Looked up each time: an insertion before a node moves what a reference to it shows."""
        return next(node for node in self.body.node if self.output in node.output)

    @property
    def attributes(self) -> dict[str, Any]:
        found = {attribute.name: helper.get_attribute_value(attribute) for attribute in self.node.attribute}
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()}

    def set_attributes(self, **values: object) -> None:
        """These alone are left."""
        del self.node.attribute[:]
        self.node.attribute.extend(helper.make_attribute(name, value) for name, value in values.items())

    def place_of(self, what: str) -> int:
        """Which input holds the `scales` or `sizes`."""
        place = 1 if self.opset < 11 and what == "scales" else {"scales": 2, "sizes": 3}[what]
        inputs = self.node.input
        if (self.opset < 11 and what == "sizes") or len(inputs) <= place or not inputs[place]:
            raise NotHere
        return place

    def constant(self, what: str) -> np.ndarray:
        """The value of the `scales` or `sizes`, where a constant holds any."""
        name = self.node.input[self.place_of(what)]
        tensors = [tensor for tensor in getattr(self.body, "initializer", ()) if tensor.name == name]
        tensors += [
            node.attribute[0].t
            for node in self.body.node
            if node.op_type == "Constant" and node.output[0] == name and node.attribute[0].name == "value"
        ]
        value = numpy_helper.to_array(tensors[0]) if tensors else np.empty(0)
        fed = self.model.ir_version > 3 and any(entry.name == name for entry in self.model.graph.input)
        if fed or not value.size:
            raise NotHere
        return value

    def stored(self, name: str) -> list[int]:
        """The sizes of a tensor of the body, all of which are stored."""
        for value in (*getattr(self.body, "value_info", ()), *self.body.input, *self.body.output):
            if not isinstance(value, str) and value.name == name:
                dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
                if dims and all(dims):
                    return dims
        raise NotHere

    def put(self, place: int, value: np.ndarray) -> str:
        """A new constant as input `place`; an initializer of the main graph, else a Constant node."""
        name = f"broken_{len(self.body.node)}_{place}_{self.output}"
        if isinstance(self.body, GraphProto) and len(self.body.node) % 2:
            self.body.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        else:
            self.insert("Constant", [], name, value=numpy_helper.from_array(value, name))
        self.set_input(place, name)
        return name

    def insert(self, operator: str, inputs: list[str], output: str, *, before: str = "", **attributes: object) -> str:
        """A new node before the one that makes the tensor `before`, or before this one; the name of its output."""
        nodes = list(self.body.node)
        at = next(place for place, one in enumerate(nodes) if (before or self.output) in one.output)
        self.body.node.insert(at, helper.make_node(operator, inputs, [output], **attributes))
        return output

    def set_input(self, place: int, name: str) -> None:
        self.set_inputs(*[*self.node.input, *[""] * (place + 1 - len(self.node.input))])
        self.node.input[place] = name

    def set_inputs(self, *names: str) -> None:
        del self.node.input[:]
        self.node.input.extend(names)


def resizes(model: ModelProto) -> list[RawResize]:
    found = [
        RawResize(model, body, opset, node.output[0])
        for body, opset in bodies(model)
        for node in body.node
        if node.op_type in ("Resize", "Upsample") and node.domain in ("", "ai.onnx")
    ]
    if not found:
        raise NotHere
    return found
