"""Judges promoted models against their originals with nothing of resizefix but its command line's JSON.

    python benchmarks/audit_promotions.py FOLDER

Every `.onnx` below FOLDER goes through `promote-scales`; for each that is written, two questions:

1. Does anything differ but the promoted nodes' scale input, the new graph inputs, constants nothing reads any more, and
   relaxed shapes? Compared message by message as serialised bytes.
2. Does any stored shape lie at another scale? Every tensor of the main graph with a stored shape is exposed and
compared
   with what onnxruntime computes, numbers with numbers, equal symbols with equal sizes.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from resizefix.cli import main

_NUMPY = {1: np.float32, 10: np.float16, 11: np.float64, 6: np.int32, 7: np.int64, 2: np.uint8, 3: np.int8, 9: np.bool_}


def promote(source: Path, target: Path) -> tuple[int, dict]:
    """Exit code and JSON of the command line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(["promote-scales", str(source), str(target), "--json"])
        except SystemExit as done:
            return int(done.code or 0), json.loads(out.getvalue())
    raise AssertionError("the command line returned")


def differences(before: onnx.ModelProto, after: onnx.ModelProto, answer: dict) -> list[str]:
    """What changed that had no business to."""
    found: list[str] = []
    new_inputs = {entry["name"] for entry in answer["inputs"]}
    _compare_graphs(before.graph, after.graph, new_inputs, found, "graph")
    a, b = onnx.ModelProto(), onnx.ModelProto()
    a.CopyFrom(before)
    b.CopyFrom(after)
    for model in (a, b):
        model.ClearField("graph")
        model.ClearField("functions")
    for old, new in zip(before.functions, after.functions, strict=True):
        _compare_functions(old, new, new_inputs, found)
    if a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
        found.append("a field of the model differs")
    return found


def _compare_functions(before, after, new_inputs: set[str], found: list[str]) -> None:
    """A function may take new inputs, at the end, and its nodes may change as those of a graph may."""
    where = f"function {before.name}"
    old, new = onnx.GraphProto(node=before.node), onnx.GraphProto(node=after.node)
    _compare_graphs(old, new, new_inputs, found, where)
    if (
        list(after.input)[: len(before.input)] != list(before.input)
        or not set(list(after.input)[len(before.input) :]) <= new_inputs
    ):
        found.append(f"{where}: its inputs changed")
    a, b = onnx.FunctionProto(), onnx.FunctionProto()
    a.CopyFrom(before)
    b.CopyFrom(after)
    for function in (a, b):
        for field in ("node", "input"):
            function.ClearField(field)
    if a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
        found.append(f"{where}: a field differs")


def _compare_graphs(before, after, new_inputs: set[str], found: list[str], where: str) -> None:
    old_nodes = {tuple(node.output): node for node in before.node}
    new_nodes = {tuple(node.output): node for node in after.node}
    for outputs, node in old_nodes.items():
        kept = new_nodes.get(outputs)
        if kept is None:
            _must_be_unread(node.output, after, found, f"{where}: node {node.op_type} {list(outputs)} vanished")
        elif kept.SerializeToString(deterministic=True) != node.SerializeToString(deterministic=True):
            _compare_nodes(node, kept, new_inputs, found, where)
    order = [out for out in new_nodes if out in old_nodes]
    if order != [out for out in old_nodes if out in new_nodes]:
        found.append(f"{where}: the order of nodes changed")
    for outputs, node in new_nodes.items():
        if outputs not in old_nodes and node.op_type not in ("Constant", "Concat", "Gather"):
            found.append(f"{where}: a new node {node.op_type}")
    for field in ("initializer", "sparse_initializer", "quantization_annotation", "metadata_props"):
        _compare_lists(getattr(before, field), getattr(after, field), after, found, f"{where}.{field}")
    for field in ("input", "output", "value_info"):
        old = {value.name: value for value in getattr(before, field)}
        for value in getattr(after, field):
            if value.name in old:
                _compare_types(old.pop(value.name), value, found, f"{where}.{field}")
            elif field != "input" or value.name not in new_inputs:
                found.append(f"{where}.{field}: {value.name} is new")
        for name in old:
            _must_be_unread([name], after, found, f"{where}.{field}: {name} vanished")
    for field in ("name", "doc_string"):
        if getattr(before, field) != getattr(after, field):
            found.append(f"{where}.{field} changed")


def _compare_nodes(node, kept, new_inputs: set[str], found: list[str], where: str) -> None:
    a, b = onnx.NodeProto(), onnx.NodeProto()
    a.CopyFrom(node)
    b.CopyFrom(kept)
    for attribute_a, attribute_b in zip(a.attribute, b.attribute, strict=False):
        if attribute_a.HasField("g"):
            _compare_graphs(attribute_a.g, attribute_b.g, new_inputs, found, f"{where}/{node.name}.{attribute_a.name}")
            attribute_a.ClearField("g")
            attribute_b.ClearField("g")
    if node.op_type in ("Resize", "Upsample"):
        if node.input[0] != kept.input[0]:
            found.append(f"{where}: {node.name} resizes another tensor")
        del a.input[:], b.input[:]
    if set(b.input[len(a.input) :]) <= new_inputs | {""}:
        del b.input[len(a.input) :]  # an argument that the call of a function passes on
    if a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
        found.append(f"{where}: node {node.op_type} {node.name} changed")


def _compare_lists(before, after, graph, found: list[str], where: str) -> None:
    kept = [entry.SerializeToString(deterministic=True) for entry in after]
    for entry in before:
        data = entry.SerializeToString(deterministic=True)
        if data in kept:
            kept.remove(data)
        else:
            name = entry.values.name if hasattr(entry, "values") else getattr(entry, "name", "?")
            _must_be_unread([name], graph, found, f"{where}: {name} vanished or changed")
    if kept:
        found.append(f"{where}: {len(kept)} new entries")


def _compare_types(before, after, found: list[str], where: str) -> None:
    a, b = onnx.ValueInfoProto(), onnx.ValueInfoProto()
    a.CopyFrom(before)
    b.CopyFrom(after)
    for value in (a, b):
        kind = value.type.sequence_type.elem_type if value.type.HasField("sequence_type") else value.type
        kind.tensor_type.ClearField("shape")
    if a.SerializeToString(deterministic=True) != b.SerializeToString(deterministic=True):
        found.append(f"{where}: {before.name} changed in more than its shape")


def _must_be_unread(names, graph, found: list[str], what: str) -> None:
    def reads(body) -> bool:
        return any(
            name in node.input or any(reads(attribute.g) for attribute in node.attribute if attribute.HasField("g"))
            for node in body.node
            for name in names
        ) or any(value.name in names for value in body.output)

    if reads(graph):
        found.append(what)


def lies(path: Path, answer: dict) -> dict[str, str] | None:
    """Stored shapes that do not hold in a run, by tensor or symbol; None where the model was not run as a whole.

    The promoted model is run at another scale, the original as it is.
    """
    runs = [run for run in answer["verification"]["runs"] if not run["optimized"] and len(run["values"])]
    if not runs or (answer["verification"]["reason"] or "").startswith("only around"):
        return None
    run = runs[-1]
    model = onnx.load(path, load_external_data=False)
    stored = {}
    for value in (*model.graph.output, *model.graph.value_info):
        if value.type.tensor_type.HasField("shape"):
            stored[value.name] = onnx.TypeProto()
            stored[value.name].CopyFrom(value.type)
    known = {value.name for value in model.graph.output}
    made = {name for node in model.graph.node for name in node.output}
    for name in stored:
        if name not in known and name in made:
            model.graph.output.add().name = name
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape") if value.type.HasField("tensor_type") else None
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {}
    given = {entry["name"]: entry for entry in answer["inputs"]}
    for value in session.get_inputs():
        kind = next(entry.type for entry in model.graph.input if entry.name == value.name).tensor_type
        if value.name in given:
            dtype = np.int64 if given[value.name]["elem_type"] == "int64" else np.float32
            feeds[value.name] = np.array(run["values"].get(value.name, given[value.name]["value"]), dtype)
        elif kind.elem_type in _NUMPY and value.name in run["shapes"]:
            feeds[value.name] = np.ones(run["shapes"][value.name]).astype(_NUMPY[kind.elem_type])
        else:
            return None
    try:
        results = dict(zip([value.name for value in session.get_outputs()], session.run(None, feeds), strict=True))
    except Exception:  # other numbers than the verification's: a model may not take them
        return None
    found: dict[str, str] = {}
    sizes: dict[str, set[int]] = collections.defaultdict(set)
    for name, kind in stored.items():
        if not isinstance(results.get(name), np.ndarray):
            continue
        dims, shape = kind.tensor_type.shape.dim, results[name].shape
        if len(dims) != len(shape):
            found[name] = f"{name} is stored with rank {len(dims)} and has {len(shape)}"
            continue
        for dim, size in zip(dims, shape, strict=True):
            if dim.HasField("dim_value") and dim.dim_value != size:
                found[name] = f"{name} is stored as {[d.dim_value or d.dim_param for d in dims]} and is {list(shape)}"
            elif dim.dim_param:
                sizes[dim.dim_param].add(size)
    found |= {
        symbol: f"the symbol {symbol} stands for {sorted(both)}" for symbol, both in sizes.items() if len(both) > 1
    }
    return found


def audit(folder: Path) -> int:
    """Prints what was found; returns the number of models with a finding."""
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for number, source in enumerate(sorted(folder.rglob("*.onnx"))):
            target = Path(scratch) / f"{number}" / "promoted.onnx"
            target.parent.mkdir()
            code, answer = promote(source, target)
            counts[f"exit {code}"] += 1
            if code != 0:
                continue
            found = differences(
                onnx.load(source, load_external_data=False), onnx.load(target, load_external_data=False), answer
            )
            shapes = lies(target, answer)
            counts["shapes checked" if shapes is not None else "shapes not checked"] += 1
            known = lies(source, answer) or {} if shapes else {}  # what the original tells wrongly is its own
            shapes = {name: lie for name, lie in (shapes or {}).items() if name not in known}
            for finding in [*found, *shapes.values()]:
                print(f"{source.relative_to(folder)}: {finding}")
            counts["models with findings"] += bool(found or shapes)
    print(dict(counts))
    return counts["models with findings"]


if __name__ == "__main__":
    sys.exit(1 if audit(Path(sys.argv[1])) else 0)
