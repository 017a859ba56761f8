"""Looks at a result: `python -m benchmarks.performance.judge BEFORE AFTER FOLDER [--promoted]`.

It uses onnx and onnxruntime alone, nothing of resizefix. What it knows of BEFORE is kept in FOLDER for the next time.
Prints one line of JSON: what was found wrong or missing; an empty list is a right result.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from benchmarks.performance.networks import SHAPE

LARGE = 1024  # bytes of a tensor that counts as a weight


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in graphs(model.graph):
        yield from graph.initializer
        yield from (
            a.t for node in graph.node for a in node.attribute if node.op_type == "Constant" and a.HasField("t")
        )


def weights(model: onnx.ModelProto) -> Counter[str]:
    """A digest of each large tensor: element type, shape and bytes."""
    found: Counter[str] = Counter()
    for tensor in tensors(model):
        data = tensor.raw_data or onnx.numpy_helper.to_array(tensor).tobytes()
        if len(data) >= LARGE:
            digest = hashlib.sha256(data).hexdigest()
            found[f"{tensor.data_type} {list(tensor.dims)} {digest}"] += 1
    return found


def constants(model: onnx.ModelProto) -> dict[str, list[float]]:
    """The scales of each Resize whose scales are constant, by the name of what it computes."""
    values = {tensor.name: tensor for graph in graphs(model.graph) for tensor in graph.initializer}
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Constant":
                values[node.output[0]] = next(a.t for a in node.attribute)
    return {
        node.output[0]: onnx.numpy_helper.to_array(values[node.input[2]]).tolist()
        for graph in graphs(model.graph)
        for node in graph.node
        if node.op_type == "Resize" and len(node.input) > 2 and node.input[2] in values
    }


def knowledge(model: onnx.ModelProto) -> dict[str, Any]:
    """What must be found again."""
    return {
        "weights": weights(model),
        "scales": constants(model),
        "said": {
            "producer_name": model.producer_name,
            "graph name": model.graph.name,
            "metadata_props": sorted((entry.key, entry.value) for entry in model.metadata_props),
        },
    }


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    """The model opened without copying its weights: they are taken out of `model` and given to onnxruntime as they are.

    Raises ValidationError if what remains is not valid.
    """
    names, values = [], []
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) >= LARGE:
            names.append(tensor.name)
            values.append(ort.OrtValue.ortvalue_from_numpy(onnx.numpy_helper.to_array(tensor)))
            tensor.ClearField("raw_data")
    # To the checker, tensors that are given from outside are inputs.
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    given = set(names)
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in given]
    del checked.graph.initializer[:]
    checked.graph.initializer.extend(kept)
    for name, value in zip(names, values, strict=True):
        info = onnx.helper.make_tensor_value_info(name, value.element_type(), value.shape())
        checked.graph.input.append(info)
    onnx.checker.check_model(checked)
    for tensor in model.graph.initializer:
        if tensor.name in given:
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="given")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.enable_mem_reuse = False  # else planning takes time with the square of the nodes (docs/semantics.md)
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.add_external_initializers(names, values)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def image() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def remembered(before: Path, folder: Path) -> tuple[dict[str, Any], np.ndarray]:
    """What BEFORE holds and computes."""
    known, output = folder / f"{before.name}.known.json", folder / f"{before.name}.output.npy"
    if not known.exists():
        model = onnx.load(before)
        found = knowledge(model)
        np.save(output, session(model).run(None, {"input": image()})[0])
        known.write_text(json.dumps(found))
    return json.loads(known.read_text()), np.load(output)


def judge(before: Path, after: Path, folder: Path, *, promoted: bool) -> Iterator[str]:
    known, wanted = remembered(before, folder)
    model = onnx.load(after)
    now = knowledge(model)
    lost = Counter(known["weights"]) - now["weights"]
    if lost:
        yield f"{sum(lost.values())} of {sum(known['weights'].values())} weights are not those of the model"
    for what, value in known["said"].items():
        if json.loads(json.dumps(now["said"][what])) != value:
            yield f"{what} {'lost' if not now['said'][what] else 'changed'}"
    feeds = {"input": image()}
    driven = {value.name: [] for value in model.graph.input if value.name != "input"}
    sites = 0
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Resize" and node.output[0] in known["scales"]:
                sites += 1
                if len(node.input) > 2 and node.input[2] in driven:
                    driven[node.input[2]].append(known["scales"][node.output[0]])
    if promoted and len(driven) < len(known["scales"]):
        yield f"{len(driven)} of {len(known['scales'])} scales are inputs"
    feeds |= {name: np.array(values[0], np.float32) for name, values in driven.items() if values}
    yield from compare(model, feeds, wanted)


def compare(model: onnx.ModelProto, feeds: dict[str, np.ndarray], wanted: np.ndarray) -> Iterator[str]:
    """It computes the same when fed the old scales, and what it declares is true when fed others."""
    try:
        opened = session(model)
        output = opened.run(None, feeds)[0]
    except onnx.checker.ValidationError as error:
        yield f"not valid: {str(error).splitlines()[0]}"
        return
    except Exception as error:  # onnxruntime's errors share no other base
        yield f"does not run: {str(error).splitlines()[0][:160]}"
        return
    if output.shape != wanted.shape:
        yield f"computes {list(output.shape)} instead of {list(wanted.shape)}"
    elif not np.array_equal(output, wanted):
        apart = float(np.abs(output.astype(np.float64) - wanted).max() / np.abs(wanted).max())
        yield f"numbers differ, relative {apart:.0e}"
    if len(feeds) == 1:
        return
    others = {name: value if name == "input" else value + np.float32([0, 0, 1, 1]) for name, value in feeds.items()}
    try:
        shape = opened.run(None, others)[0].shape
    except Exception as error:
        yield f"does not run at other scales: {str(error).splitlines()[0][:160]}"
        return
    declared = opened.get_outputs()[0].shape
    if any(isinstance(length, int) and length != real for length, real in zip(declared, shape, strict=True)):
        yield "declares the old output shape"


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:4]]
    print(json.dumps(list(judge(*paths, promoted="--promoted" in sys.argv))))
