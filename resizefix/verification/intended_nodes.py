"""What a changed or repaired node must compute: its meaning as a model of that one node, in the newest form of the
operator, with the operands that it had or that its fault says. And how a node is run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from onnx import NodeProto, ValueInfoProto, helper, numpy_helper

from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.intended import Chain, IntendedNode
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.values import Array
from resizefix.interpolation import Interpolation, NearestMode
from resizefix.runtimes.inputs import Value
from resizefix.verification.engine import Engine
from resizefix.verification.fitting import Fitted

_NEWEST, _SIMPLE = 19, 10  # the opsets of Resize-19, and of the last form that rounds as Upsample does
_DTYPES = {"roi": np.float32, "scales": np.float32, "sizes": np.int64}
_LABEL = "what was asked for"


def fit_alone(
    engine: Engine,
    node: IntendedNode,
    alone: Document,
    hints: Mapping[str, object],
    label: str,
    *,
    optimized: bool = False,
) -> Fitted:
    """Feeds that a model of the node alone runs with, and what it makes of them, with all that the node reads but the
    tensor that it resizes. Raises what `Engine.fit` raises."""
    there = {name for one in alone.proto.graph.node for name in one.output}
    leaves = [name for name in leaves_of(node) if name in there]
    names = [name for name in dict.fromkeys((*node.operands.names, *leaves)) if name != node.operands.x]
    return engine.fit(alone, hints, shapes={}, optimized=optimized, extra_outputs=names, label=label)


def intended_value(engine: Engine, node: IntendedNode, values: Mapping[str, Value], data: str) -> Value:
    """What the node must make of these values, of which `data` is resized. Raises what `Engine.run` raises."""
    given = {**values, **_meant(engine, node, values)}
    model = _intended_model(node.wanted, node.operands._replace(x=data), given)
    return engine.run(model, {"x": values[data]}, label=_LABEL)["y"]


def _intended_model(meaning: Interpolation, operands: Operands, values: Mapping[str, Value]) -> Document:
    """A model of one node, from x to y: the meaning in the newest form of the operator, its operands constants."""
    opset = _SIMPLE if meaning.nearest_mode is NearestMode.SIMPLE else _NEWEST
    given = {"roi": operands.roi, "scales": operands.scales, "sizes": operands.sizes}
    tensors = {}
    for what, name in given.items():
        value = values.get(name or "")
        if isinstance(value, np.ndarray) and value.size and (what != "roi" or meaning.extrapolation_value is not None):
            tensors[what] = numpy_helper.from_array(value, what)
    if operands.scales_attribute is not None:
        tensors["scales"] = numpy_helper.from_array(np.array(operands.scales_attribute, np.float32), "scales")
    roi, scales, sizes = (what if what in tensors else None for what in ("roi", "scales", "sizes"))
    node = write(meaning, Operands("x", roi, scales, sizes), dialect_of("Resize", opset), output="y")
    data = values[operands.x]
    assert isinstance(data, np.ndarray)
    elem_type = helper.np_dtype_to_tensor_dtype(data.dtype)
    graph = helper.make_graph(
        [node],
        "intended",
        [helper.make_tensor_value_info("x", elem_type, data.shape)],
        [helper.make_tensor_value_info("y", elem_type, None)],
        list(tensors.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return Document.from_proto(model)


def leaves_of(node: IntendedNode) -> list[str]:
    """The tensors of the model that its operands are computed from."""
    return [name for chain in node.chains.values() for name in chain.leaves]


def _meant(engine: Engine, node: IntendedNode, values: Mapping[str, Value]) -> dict[str, Value]:
    """The operands whose numbers the fault says, or says how they are computed, by the names that they have."""
    computed = {what: _computed(engine, chain, values) for what, chain in node.chains.items()}
    numbers = {**{what: value for what, value in computed.items() if value is not None}, **node.values}
    names = {"roi": node.operands.roi, "scales": node.operands.scales, "sizes": node.operands.sizes}
    return {
        name: numbers[what].astype(_DTYPES[what]).reshape(-1)
        for what, name in names.items()
        if name and what in numbers
    }


def _computed(engine: Engine, chain: Chain, values: Mapping[str, Value]) -> Array | None:
    """What the steps of an operand make of the values of a run; None where a body hides what they read."""
    given: dict[str, Value] = {**{name: values[name] for name in chain.leaves if name in values}, **chain.constants}
    if len(given) < len(chain.leaves) + len(chain.constants):
        return None
    for opset, steps in groupby(chain.steps, key=lambda step: step.opset):
        nodes = [step.node for step in steps]
        model = _model_of(nodes, opset, given)
        session = engine.open(model, optimized=False, label=chain.name)
        given.update(engine.outputs(session, given, 0.0))
    operand = given[chain.name]
    return operand if isinstance(operand, np.ndarray) else None


def _model_of(nodes: Sequence[NodeProto], opset: int, given: Mapping[str, Value]) -> Document:
    """A model of these nodes alone, which makes all that they make."""
    results = [name for node in nodes for name in node.output if name]
    read = {name for node in nodes for name in node.input} - set(results)
    arrays = {name: value for name, value in given.items() if name in read and isinstance(value, np.ndarray)}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in arrays.items()
    ]
    outputs = [ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph(nodes, "operand", inputs, outputs)
    return Document.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9))
