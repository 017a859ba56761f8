"""The judge of the laws: onnxruntime as it comes, constants written by plain onnx, records compared as they lie in the
file. Nothing of resizefix is used here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)


@dataclass(frozen=True)
class Ran:
    """The outputs, or the error that onnxruntime gave instead."""

    outputs: dict[str, np.ndarray]
    error: str | None = None


class Runner:
    """One file in onnxruntime, without optimisation unless asked: it computes what its nodes say. Without `reuse` every
    tensor has a buffer of its own, whatever size onnxruntime's inference says of it."""

    def __init__(self, path: Path, *, optimized: bool = False, reuse: bool = True) -> None:
        self.error: str | None = None
        options = onnxruntime.SessionOptions()
        options.enable_mem_reuse = reuse
        if not optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no common class but this
            self.error = str(error)

    def run(self, feeds: Mapping[str, np.ndarray]) -> Ran:
        if self.error is not None:
            return Ran({}, self.error)
        names = [output.name for output in self._session.get_outputs()]
        known = {entry.name for entry in (*self._session.get_inputs(), *self._session.get_overridable_initializers())}
        try:
            values = self._session.run(names, {name: value for name, value in feeds.items() if name in known})
        except Exception as error:
            return Ran({}, str(error))
        return Ran(dict(zip(names, values, strict=True)))

    @property
    def input_names(self) -> set[str]:
        return set() if self.error else {entry.name for entry in self._session.get_inputs()}


def difference(before: Ran, after: Ran, least: float = 0.0) -> float:
    """The largest difference relative to the outputs' largest value, or `least` where that is larger; 0 where every bit
    agrees, inf where no number says it. Outputs of the same order count, whatever their names."""
    if before.error is not None or after.error is not None:
        return 0.0 if before.error is not None and after.error is not None else float("inf")
    if list(before.outputs) != list(after.outputs):
        return float("inf")
    worst = 0.0
    for name, one in before.outputs.items():
        worst = max(worst, _apart(one, after.outputs[name], least))
    return worst


def _apart(one: np.ndarray, other: np.ndarray, least: float) -> float:
    if one.dtype != other.dtype or one.shape != other.shape:
        return float("inf")
    if one.tobytes() == other.tobytes():
        return 0.0
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return float("inf")
    exact = [np.nan_to_num(array.astype(np.float64)) for array in (one, other)]
    apart = float(np.max(np.abs(exact[0] - exact[1])))
    return max(apart / max(float(np.max(np.abs(exact[0]))), least, 1e-30), 1e-30)


def steps_apart(before: Ran, after: Ran, step: float) -> float:
    """The largest difference as a count of `step` (of whole numbers: as it is); inf where no number says it."""
    if difference(before, after) == float("inf"):
        return float("inf")
    found = 0.0
    for name, one in before.outputs.items():
        apart = np.abs(np.nan_to_num(one.astype(np.float64)) - np.nan_to_num(after.outputs[name].astype(np.float64)))
        found = max(found, float(np.max(apart, initial=0.0)) / (1 if one.dtype.kind in "iu" else step))
    return found


def fed_value(source: Any, value: Sequence[float] | None = None) -> np.ndarray:
    """What a new input is fed: the value, or its old one."""
    return np.array(source.value if value is None else value, np.int64 if source.elem_type == "int64" else np.float32)


def bodies(model: ModelProto) -> Iterator[GraphProto | onnx.FunctionProto]:
    pending: list[GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    while pending:
        body = pending.pop()
        yield body
        pending += [attribute.g for node in body.node for attribute in node.attribute if attribute.HasField("g")]


def node_writing(model: ModelProto, output: str) -> tuple[GraphProto | onnx.FunctionProto, int]:
    return next(
        (body, index) for body in bodies(model) for index, node in enumerate(body.node) if output in node.output
    )


def visible(model: ModelProto, names: Sequence[str]) -> ModelProto:
    """A copy that gives these tensors of the main graph too."""
    made = ModelProto()
    made.CopyFrom(model)
    there = {entry.name for entry in made.graph.output}
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names) if name not in there)
    return made


def signature(model: ModelProto) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """The inputs and the outputs in their order, each with its type."""
    sides = (model.graph.input, model.graph.output)
    inputs, outputs = ([(entry.name, entry.type.tensor_type.elem_type) for entry in side] for side in sides)
    return inputs, outputs


def baked(model: ModelProto, operands: Mapping[str, tuple[str, Sequence[float]]]) -> ModelProto:
    """A copy whose nodes, named by their outputs, read constants: `("scales", (1, 1, 2, 2))`."""
    made = ModelProto()
    made.CopyFrom(model)
    made.graph.ClearField("value_info")
    for body in bodies(made):
        body.ClearField("value_info")
        if isinstance(body, GraphProto):
            for entry in body.output:
                entry.type.tensor_type.ClearField("shape")
    for output, (kind, values) in operands.items():
        body, index = node_writing(made, output)
        node = body.node[index]
        value = np.array(values, np.float32 if kind == "scales" else np.int64)
        written = [attribute for attribute in node.attribute if attribute.name == "scales"]
        if written:  # Upsample-7
            written[0].floats[:] = value.tolist()
            continue
        constant = helper.make_node(
            "Constant", [], [f"baked_{output}"], value=numpy_helper.from_array(value, f"baked_{output}_value")
        )
        _set_operand(made, body, node, kind, constant.output[0])
        body.node.insert(index, constant)
    return made


def _set_operand(
    model: ModelProto, body: GraphProto | onnx.FunctionProto, node: NodeProto, kind: str, name: str
) -> None:
    imports = body.opset_import if isinstance(body, onnx.FunctionProto) else model.opset_import
    opset = next(entry.version for entry in imports if entry.domain == "")
    if opset < 11:
        node.input[1] = name
        return
    roi = list(node.input[1:2]) or [""]
    if kind == "scales":
        node.input[:] = [node.input[0], *roi, name]
        return
    none = ""
    if opset < 13:
        none = f"{name}_no_scales"
        empty = helper.make_node("Constant", [], [none], value=numpy_helper.from_array(np.zeros(0, np.float32)))
        body.node.insert(0, empty)
    node.input[:] = [node.input[0], *roi, none, name]


def records(data: bytes) -> list[tuple[int, bytes]]:
    """The fields of one protobuf message as they lie in the bytes: number and whole record, key and length included."""
    found, position = [], 0
    while position < len(data):
        start = position
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            _, position = _varint(data, position)
        elif kind == 2:
            length, position = _varint(data, position)
            position += length
        else:
            position += {1: 8, 5: 4}[kind]
        found.append((key >> 3, data[start:position]))
    assert position == len(data)
    return found


def payload(record: bytes) -> bytes:
    """What a length-delimited record holds."""
    _, position = _varint(record, 0)
    length, position = _varint(record, position)
    return record[position : position + length]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def lost_records(before: bytes, after: bytes, excused: set[str], *, may_vanish: set[str]) -> list[str]:
    """Records of `before` that `after` does not hold byte for byte.

    `excused`: tensors whose writers are named as changed or hold something that is; `may_vanish`: constants and nodes
    (by what they write) that only changed nodes read. Shapes (value_info, the type of outputs) follow from the change,
    and functions and bodies that hold changed nodes are excused as wholes.
    """
    positions: dict[tuple[str, bytes], list[int]] = {}
    for (what, _, count), record in reversed(list(_named_records(after))):
        positions.setdefault((what, record), []).append(count)
    found = []
    last: dict[str, int] = {}
    for (what, name, _), record in _named_records(before):
        if what in ("value_info", "output", "ir_version") or name in excused or name in may_vanish:
            continue
        left = positions.get((what, record))
        if not left:  # each record of the old file has one of its own in the new one
            found.append(f"{what} {name!r}")
            continue
        place = left.pop()
        if place < last.get(what, 0):
            found.append(f"{what} {name!r} in another order")
        last[what] = place
    return found


_MODEL_FIELDS = {1: "ir_version", 8: "opset_import", 14: "metadata_props", 25: "function"}
_GRAPH_FIELDS = {
    1: "node",
    5: "initializer",
    11: "input",
    12: "output",
    13: "value_info",
    14: "quantization_annotation",
}


def _named_records(data: bytes) -> Iterator[tuple[tuple[str, str, int], bytes]]:
    count = 0
    for number, record in records(data):
        if number != 7:
            count += 1
            what = _MODEL_FIELDS.get(number, f"model field {number}")
            name = onnx.FunctionProto.FromString(payload(record)).name if what == "function" else ""
            yield (what, name, count), record
            continue
        for inner, part in records(payload(record)):
            count += 1
            what = _GRAPH_FIELDS.get(inner, f"graph field {inner}")
            yield (what, _name(what, part), count), part


def _name(what: str, record: bytes) -> str:
    if what == "node":
        return NodeProto.FromString(payload(record)).output[0]
    if what == "initializer":
        return onnx.TensorProto.FromString(payload(record)).name
    return onnx.ValueInfoProto.FromString(payload(record)).name if what in ("input", "output", "value_info") else ""


def holders(model: ModelProto, outputs: set[str]) -> set[str]:
    """The top-level records that hold the nodes writing `outputs`, by a node's first output or a function's name."""
    found = set()
    for function in model.functions:
        if _holds(function.node, outputs):
            found.add(function.name)
            found |= {node.output[0] for node in model.graph.node if node.op_type == function.name}
    return found | {node.output[0] for node in model.graph.node if _holds([node], outputs)}


def _holds(nodes: Sequence[NodeProto], outputs: set[str]) -> bool:
    return any(
        outputs & set(node.output)
        or any(a.type == AttributeProto.GRAPH and _holds(a.g.node, outputs) for a in node.attribute)
        for node in nodes
    )


def only_for(model: ModelProto, outputs: set[str]) -> set[str]:
    """Everything behind the operands, beside X, of the nodes that write `outputs` (constants they alone may read)."""
    writers = {name: node for node in model.graph.node for name in node.output}
    pending = [name for output in outputs for name in _operands_of(model, output)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in found or not name:
            continue
        found.add(name)
        if name in writers:
            pending += writers[name].input
    data = {entry.name for entry in model.graph.input} - {tensor.name for tensor in model.graph.initializer}
    return found - data


def _operands_of(model: ModelProto, output: str) -> list[str]:
    body, index = node_writing(model, output)
    names = list(body.node[index].input[1:])
    if isinstance(body, onnx.FunctionProto):
        for call in model.graph.node:
            if call.op_type == body.name:
                names += call.input[1:]
    return names


def reads(model: ModelProto, name: str) -> bool:
    """Whether any node, or the list of outputs, names the tensor."""
    outputs = [entry.name for entry in model.graph.output]
    return name in outputs or any(name in node.input for body in bodies(model) for node in body.node)


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
