"""The resize nodes of a raw model, their operands and attributes, read and written with onnx alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

Body = GraphProto | FunctionProto


class NotHere(Exception):
    """The model has nothing that this breaks."""


def bodies(model: ModelProto) -> Iterator[tuple[Body, int]]:
    """Every list of nodes with its opset."""
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    todo: list[tuple[Body, int]] = [(model.graph, opset)]
    for function in model.functions:
        todo.append((function, next((e.version for e in function.opset_import if e.domain in ("", "ai.onnx")), opset)))
    while todo:
        body, version = todo.pop(0)
        yield body, version
        for node in body.node:
            todo += [(attribute.g, version) for attribute in node.attribute if attribute.HasField("g")]


def resizes(model: ModelProto) -> list[tuple[Body, int, NodeProto]]:
    found = [
        (body, opset, node)
        for body, opset in bodies(model)
        for node in body.node
        if node.op_type in ("Resize", "Upsample") and node.domain in ("", "ai.onnx")
    ]
    if not found:
        raise NotHere
    return found


def attributes(node: NodeProto) -> dict[str, Any]:
    found = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()}


def place_of(node: NodeProto, opset: int, what: str) -> int:
    """Which input holds the scales or sizes; raises NotHere where it has none."""
    place = 1 if opset < 11 and what == "scales" else {"scales": 2, "sizes": 3}[what]
    if (opset < 11 and what == "sizes") or len(node.input) <= place or not node.input[place]:
        raise NotHere
    return place


def constant(body: Body, name: str) -> np.ndarray:
    """The value of a name in this body; raises NotHere where it is none of a constant."""
    for tensor in getattr(body, "initializer", ()):
        if tensor.name == name:
            return numpy_helper.to_array(tensor)
    for node in body.node:
        if node.op_type == "Constant" and node.output[0] == name and node.attribute[0].name == "value":
            return numpy_helper.to_array(node.attribute[0].t)
    raise NotHere


def put(body: Body, node: NodeProto, place: int, value: np.ndarray) -> str:
    """A new constant as input `place`; an initializer of the main graph, else a Constant node."""
    name = f"broken_{len(body.node)}_{place}_{node.output[0]}"
    if isinstance(body, GraphProto) and len(body.node) % 2:
        body.initializer.append(numpy_helper.from_array(value, name))
    else:
        insert(body, node, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name)))
    set_input(node, place, name)
    return name


def insert(body: Body, before: NodeProto, node: NodeProto) -> None:
    nodes = list(body.node)
    index = next(place for place, one in enumerate(nodes) if one.output == before.output)
    body.node.insert(index, node)


def set_input(node: NodeProto, place: int, name: str) -> None:
    inputs = [*node.input, *[""] * (place + 1 - len(node.input))]
    inputs[place] = name
    del node.input[:]
    node.input.extend(inputs)


def again(body: Body, node: NodeProto) -> NodeProto:
    """The node as it stands in the body after an insertion."""
    return next(one for one in body.node if one.output == node.output)


def picked(model: ModelProto, rng: random.Random) -> tuple[Body, int, NodeProto]:
    return rng.choice(resizes(model))


def scales_of(model: ModelProto, rng: random.Random) -> tuple[Body, int, NodeProto, int, np.ndarray]:
    body, opset, node = picked(model, rng)
    place = place_of(node, opset, "scales")
    value = constant(body, node.input[place])
    if not value.size:
        raise NotHere
    return body, opset, node, place, value
