"""Checks that a promotion keeps what stays true of every stored shape, with onnx, onnxruntime and numpy alone.

    python benchmarks/stored_sizes.py FOLDER [K]

Promotes every `.onnx` below FOLDER (every K-th) in four forms without verification, and runs what comes out at three
other scales. Law: onnxruntime loads it if it loads the original; of each shape that changed, denotations and unknown
fields stay, and so does each number that all runs give and onnx infers of the original. Behind a Loop, a Scan or a
local function, through which no seed of another size is followed, only the rank has to stay.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import resizefix

FORMS = ("scales", "spatial", "factor", "sizes")
UNKNOWN_FIELD = b"\xd2\x02\x04kept"  # number 42, of a later version of ONNX
Sizes = dict[str, tuple[int, ...]]


def stored(graph: onnx.GraphProto) -> dict[str, onnx.TensorShapeProto]:
    """The shapes that a graph stores of what its nodes make, by name."""
    values = (*graph.value_info, *graph.output)
    return {value.name: value.type.tensor_type.shape for value in values if value.type.tensor_type.HasField("shape")}


def mark(model: onnx.ModelProto) -> None:
    """Give every stored size a denotation and a field of a later version."""
    for shape in stored(model.graph).values():
        for axis, dim in enumerate(shape.dim):
            dim.denotation = f"AXIS_{axis}"
            dim.MergeFromString(UNKNOWN_FIELD)


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    """The model in onnxruntime as it is written; raises what onnxruntime raises."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def loads(model: onnx.ModelProto) -> bool:
    """Whether onnxruntime loads it."""
    try:
        session(model)
    except Exception:  # onnxruntime raises a class for each of its codes
        return False
    return True


def sizes_of_a_run(
    model: onnx.ModelProto, values: Mapping[str, np.ndarray], open_size: int, *, condition: bool = True
) -> Sizes | None:
    """The sizes of every stored tensor in a run at these values; open sizes of other inputs are `open_size`, and inputs
    of type bool are the `condition`. None where it does not run."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.value_info[:]
    there = {value.name for value in shown.graph.output}
    made = {name for node in shown.graph.node for name in node.output}
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in stored(model.graph).keys() & made - there)
    with contextlib.suppress(Exception):
        runner = session(shown)
        types = {value.name: value.type.tensor_type.elem_type for value in shown.graph.input}
        feeds = dict(values)
        for value in runner.get_inputs():
            if value.name not in feeds:
                dims = [size if isinstance(size, int) else open_size for size in value.shape]
                element = onnx.helper.tensor_dtype_to_np_dtype(types[value.name])
                feeds[value.name] = np.full(dims, condition if element.kind == "b" else 1, element)
        names = [value.name for value in runner.get_outputs()]
        return {name: np.shape(result) for name, result in zip(names, runner.run(None, feeds), strict=True)}
    return None


def inferred(model: onnx.ModelProto) -> dict[str, onnx.TensorShapeProto]:
    """The shapes that onnx infers from the inputs, of what is made of ai.onnx operators outside of loops."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for value in bare.graph.output:
        value.type.tensor_type.ClearField("shape")
    functions = {(function.domain, function.name) for function in model.functions}
    others: set[str] = set()
    for node in model.graph.node:
        if (node.domain, node.op_type) in functions or node.op_type in ("Loop", "Scan") or others & set(node.input):
            others.update(node.output)
    known = stored(onnx.shape_inference.infer_shapes(bare, data_prop=True).graph)
    return {name: shape for name, shape in known.items() if name not in others}


def broken(before: onnx.ModelProto, after: onnx.ModelProto, inputs: Sequence[Any]) -> Iterator[str]:
    """What a promotion with these new inputs keeps wrongly or loses, as sentences."""
    if not loads(after) and loads(before):
        yield "onnxruntime loads the original and not what was promoted"
    old, new = stored(before.graph), stored(after.graph)
    for name in old.keys() - new.keys():
        if any(name in node.output for node in after.graph.node):
            yield f"{name}: its shape is gone"
    changed = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    for name in sorted(changed):
        aside = [onnx.TensorShapeProto.FromString(shapes[name].SerializeToString()) for shapes in (old, new)]
        for dim in (dim for shape in aside for dim in shape.dim):
            dim.ClearField("value")
        if old[name].dim and aside[0] != aside[1]:
            yield f"{name}: a denotation or an unknown field is gone"
    types = {value.type.tensor_type.elem_type for value in before.graph.input}
    runs = [
        sizes_of_a_run(after, _fed(inputs, step), open_size, condition=condition)
        for condition in ((True, False) if onnx.TensorProto.BOOL in types else (True,))  # each branch of an If
        for step, open_size in ((2, 2), (3, 3), (0.5, 4))
    ]
    known = inferred(before) if changed else {}
    for name in sorted(changed & known.keys()):
        given = [run[name] for run in runs if run is not None and name in run]
        for axis, dims in enumerate(zip(old[name].dim, new[name].dim, known[name].dim, strict=False)):
            one, other, provable = (dim.dim_value for dim in dims)
            same = len(given) > 1 and {sizes[axis : axis + 1] for sizes in given} == {(one,)}
            if one and one == provable and same and one != other:
                yield f"{name}: axis {axis} is {one} at every scale, and no longer stored"


def _fed(inputs: Sequence[Any], step: float) -> dict[str, np.ndarray]:
    """Values for the new inputs at which every axis that they may scale is scaled by `step` times as much.

    An input for all axes scales what was not scaled before, too, except batch and channels; two axes have neither.
    """
    feeds = {}
    for source in inputs:
        value, driven = list(source.value), source.sites[0]
        if len(value) < len(driven.base):
            positions: Sequence[int] = range(len(value))
        else:
            kept = {0, len(value) - 1 if 1 in driven.scaled else 1} - set(driven.scaled) if len(value) > 2 else ()
            positions = [position for position in range(len(value)) if position not in kept]
        for position in positions:
            value[position] *= step
        feeds[source.name] = np.array(value, np.int64 if source.elem_type == "int64" else np.float32)
    return feeds


def audit(path: Path) -> Iterator[str]:
    """What is broken in any form of promoting the model in a file."""
    model = onnx.load(path)
    mark(model)
    for form in FORMS:
        result = resizefix.promote_scales(model, form=form, verify=False, on_refusal="return")
        if result.inputs:
            yield from (f"{form}: {finding}" for finding in broken(model, result.model, result.inputs))


def main(folder: Path, every: int = 1) -> int:
    """Prints what is broken; returns the number of files with a finding."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.onnx"))[::every]:
        try:
            findings = list(audit(path))
        except Exception as error:  # a file that is broken on purpose
            counts[type(error).__name__] += 1
            continue
        counts["files"] += 1
        counts["with findings"] += bool(findings)
        for finding in findings:
            print(f"{path.relative_to(folder)}: {finding}")
    print(dict(counts))
    return counts["with findings"]


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]), *map(int, sys.argv[2:])) else 0)
