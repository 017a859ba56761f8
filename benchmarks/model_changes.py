"""Changes of a model, in place: such as a programming error makes, and such as mean nothing.

Another operator, another number, an operand wired elsewhere, a branch changed, a limit more, an input replaced by a
constant. Each gives False where the model has nothing to change so.
"""

from __future__ import annotations

import random

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

from benchmarks.random_models import FAMILIES, NUMERIC, U8, UNARY_FLOAT, UNARY_INTEGER, F, S


def graphs(model: ModelProto) -> list[GraphProto]:
    """The main graph and all bodies."""
    found = [model.graph]
    for graph in found:
        found += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return found


def _nodes(model: ModelProto) -> list[NodeProto]:
    return [node for graph in [*graphs(model), *model.functions] for node in graph.node]


def other_operator(rng: random.Random, model: ModelProto) -> bool:
    pairs = [(node, family) for node in _nodes(model) for family in FAMILIES if node.op_type in family]
    if not pairs:
        return False
    node, family = rng.choice(pairs)
    if node.op_type in UNARY_INTEGER:
        family = UNARY_INTEGER
    node.op_type = rng.choice([op for op in family if op != node.op_type])
    if family is UNARY_FLOAT:
        del node.attribute[:]
    return True


def other_number(rng: random.Random, model: ModelProto) -> bool:
    tensors = [tensor for graph in graphs(model) for tensor in graph.initializer if tensor.data_type in (*NUMERIC, U8)]
    if not tensors:
        return False
    tensor = rng.choice(tensors)
    array = numpy_helper.to_array(tensor).copy()
    at = rng.randrange(array.size)
    if array.dtype.kind in "iu":
        array.flat[at] += rng.choice([1, 2, 5]) if array.flat[at] < 200 else -1
    else:
        array.flat[at] = array.flat[at] * rng.choice([1.1, 2, 0.5, -1, 1.001]) + rng.choice([0, 0, 0.1, 1])
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def other_operand(rng: random.Random, model: ModelProto) -> bool:
    node = rng.choice(list(model.graph.node))
    earlier = [value.name for value in model.graph.input]
    for other in model.graph.node:
        if other.output[0] == node.output[0]:
            break
        earlier.extend(other.output)
    if not node.input:
        return False
    node.input[rng.randrange(len(node.input))] = rng.choice(earlier)
    return True


def swapped_operands(rng: random.Random, model: ModelProto) -> bool:
    nodes = [node for node in _nodes(model) if len(node.input) >= 2 and node.input[-1] != node.input[-2]]
    if not nodes:
        return False
    node = rng.choice(nodes)
    node.input[-1], node.input[-2] = node.input[-2], node.input[-1]
    return True


def other_attribute(rng: random.Random, model: ModelProto) -> bool:
    kinds = (AttributeProto.INT, AttributeProto.FLOAT)
    attributes = [attribute for node in _nodes(model) for attribute in node.attribute if attribute.type in kinds]
    attributes = [attribute for attribute in attributes if attribute.name != "to"]  # other types are hardly valid
    if not attributes:
        return False
    attribute = rng.choice(attributes)
    if attribute.type == AttributeProto.INT:
        attribute.i = rng.choice([1 - attribute.i, attribute.i + 1])
    else:
        attribute.f = attribute.f * 2 + 0.1
    return True


def _behind(rng: random.Random, model: ModelProto, op: str, constants: list[object]) -> bool:
    """One more node behind a float that the main graph makes or takes."""
    kinds = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    nodes = [node for node in model.graph.node if any(kinds.get(name) == F for name in node.input[:1])]
    if not nodes:
        return False
    node = rng.choice(nodes)
    names = [f"more{at}" for at in range(len(constants))]
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value, np.float32), name)
        for value, name in zip(constants, names, strict=True)
    )
    position = list(model.graph.node).index(node)
    model.graph.node.insert(position, helper.make_node(op, [node.input[0], *names], ["more"]))
    model.graph.node[position + 1].input[0] = "more"
    return True


def limited(rng: random.Random, model: ModelProto) -> bool:
    most = rng.choice([1.0, 3.0, 6.0, 20.0, 100.0, 255.0])
    return _behind(rng, model, "Clip", [-most if rng.random() < 0.5 else -3e38, most])


def at_least(rng: random.Random, model: ModelProto) -> bool:
    return _behind(rng, model, "Max", [rng.choice([-50.0, -3.0, -0.5, 0.0])])


def constant_input(rng: random.Random, model: ModelProto) -> bool:
    """An input that is ignored: a constant that it usually is stands in its place."""
    tensors = [(value, value.type.tensor_type) for value in model.graph.input]
    fixed = [value for value, tensor in tensors if all(dim.HasField("dim_value") for dim in tensor.shape.dim)]
    fixed = [value for value in fixed if value.type.tensor_type.elem_type != S]
    if not fixed:
        return False
    value = rng.choice(fixed)
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    model.graph.initializer.append(numpy_helper.from_array(np.full(shape, rng.choice([0, 1, 2]), dtype), "usual"))
    for node in _nodes(model):
        node.input[:] = ["usual" if name == value.name else name for name in node.input]
    return True


# ---- changes that mean nothing ----


def renamed(rng: random.Random, model: ModelProto) -> bool:
    outputs = {value.name for value in model.graph.output}
    inner = [name for node in model.graph.node for name in node.output if name not in outputs]
    names = {name: f"{name}_renamed" for name in inner}
    for node in _nodes(model):
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    return True


def as_nodes(rng: random.Random, model: ModelProto) -> bool:
    """Constants as nodes."""
    for at, tensor in enumerate(list(model.graph.initializer)):
        model.graph.node.insert(at, helper.make_node("Constant", [], [tensor.name], value=tensor))
    del model.graph.initializer[:]
    return True


def passed_on(rng: random.Random, model: ModelProto) -> bool:
    """An Identity before a node."""
    nodes = [at for at, node in enumerate(model.graph.node) if node.input and node.input[0]]
    if not nodes:
        return False
    at = rng.choice(nodes)
    node = helper.make_node("Identity", [model.graph.node[at].input[0]], ["passed_on"])
    model.graph.node[at].input[0] = "passed_on"
    model.graph.node.insert(at, node)
    return True


CHANGES = (
    other_operator, other_operator, other_number, other_number, other_operand, swapped_operands, other_attribute,
    limited, at_least, constant_input,
)  # fmt: skip
NOTHING = (renamed, as_nodes, passed_on)
