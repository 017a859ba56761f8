"""What may change in a node that no outcome names: the rank of what a Scan's body gives, if onnxruntime demands it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto
from random_graphs_runs import Runner

_DEMANDED = "must have the shape set"


def has_needed_ranks(before: ModelProto, after: Path, name: str, feeds: Mapping[str, np.ndarray], told: str) -> bool:
    """Whether the Scan that writes `name` got ranks, no sizes, and nothing else; without any one of them onnxruntime
    refuses the file, and `told` (the reasons of what was changed) says so."""
    made = onnx.load(str(after), load_external_data=False)
    old, new = _scan(before, name), _scan(made, name)
    if old is None or new is None or "rank of the body's output" not in told:
        return False
    bodies = [_body(node) for node in (old, new)]
    stored = [
        place
        for place, (was, now) in enumerate(zip(bodies[0].output, bodies[1].output, strict=True))
        if now.type.tensor_type.HasField("shape") and not was.type.tensor_type.HasField("shape")
    ]
    if any(dim.WhichOneof("value") for place in stored for dim in bodies[1].output[place].type.tensor_type.shape.dim):
        return False
    runs = Runner(after).run(feeds).error is None  # else there is nothing that onnxruntime could refuse
    for place in stored if runs else ():
        without = ModelProto()
        without.CopyFrom(made)
        _forget(without, name, place)
        path = after.with_name(f"{after.stem}_without{place}.onnx")
        path.write_bytes(without.SerializeToString())
        if _DEMANDED not in (Runner(path).run(feeds).error or ""):
            return False
    for place in stored:
        _forget(made, name, place)
    return bool(stored) and _scan(made, name) == old


def _scan(model: ModelProto, name: str) -> NodeProto | None:
    return next((node for node in model.graph.node if node.op_type == "Scan" and node.output[0] == name), None)


def _body(node: NodeProto) -> GraphProto:
    return next(attribute.g for attribute in node.attribute if attribute.name == "body")


def _forget(model: ModelProto, name: str, place: int) -> None:
    node = _scan(model, name)
    assert node is not None
    _body(node).output[place].type.tensor_type.ClearField("shape")
