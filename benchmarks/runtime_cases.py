"""Single-node cases of Upsample and Resize as rows of text, and the model and the input that a row stands for.

The columns are those of the table of measurements: id, op, opset, mode, ct, nm, coeff, excl, aa, form, values, dyn,
shape, axes, policy, roi, dtype, producer. `form` says where the extent comes from (`FORMS`). `dyn` 1: the axes from 2
on are open; d0, d0d2d3: these are. `roi` is 1, or the numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Case = Mapping[str, str]
Arrays = dict[str, npt.NDArray[Any]]

TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
}
_TEXTS = {
    "mode": "mode",
    "ct": "coordinate_transformation_mode",
    "nm": "nearest_mode",
    "policy": "keep_aspect_ratio_policy",
}
_NUMBERS = {"coeff": ("cubic_coeff_a", float), "excl": ("exclude_outside", int), "aa": ("antialias", int)}
FORMS = {
    "scales": "an initializer, of Upsample-7 an attribute",
    "scales_cnode": "a Constant node",
    "scales_list": "a Constant node with value_floats",
    "scales_folded": "a Concat of two initializers",
    "scales_in": "a graph input",
    "scales_concat": "a Concat of ones and a graph input",
    "scales_default": "an initializer that is listed as a graph input, too",
    "sizes": "an initializer",
    "sizes_cnode": "a Constant node",
    "sizes_folded": "a Concat of two initializers",
    "sizes_in": "a graph input",
    "sizes_concat": "a Concat of the first lengths of the input's shape and two numbers",
    "sizes_shape": "computed from the input's shape, as torch exports it",
    "sizes_like": "the shape of another tensor",
}
ANSWERS = {
    "equal": "fine",
    "close": "fine",
    "equal-fp16": "fine",
    "wrong": "different",
    "shape": "different",
    "refused-load": "refused",
    "refused-run": "refused",
    "crash": "refused",
    "crash-load": "refused",
    "timeout": "refused",
}
"""What a runtime did, of the classes of the table: computed what ONNX says, something else, or nothing."""


def rows(table: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated table."""
    with table.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


class _Graph:
    """What a case's graph is made of, besides the node."""

    def __init__(self) -> None:
        self.initializers: list[TensorProto] = []
        self.nodes: list[NodeProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[str] = []  # besides the node's
        self.feeds: Arrays = {}

    def constant(self, name: str, value: npt.ArrayLike, dtype: Any) -> str:
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def fed(self, elem_type: int, value: npt.ArrayLike, dtype: Any) -> str:
        self.feeds["S"] = np.asarray(value, dtype)
        self.inputs.append(helper.make_tensor_value_info("S", elem_type, list(self.feeds["S"].shape)))
        return "S"

    def made(self, op_type: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [output], output, **attributes))
        return output

    def folded(self, values: npt.ArrayLike, output: str, dtype: Any) -> str:
        whole = np.asarray(values, dtype)
        first, rest = self.constant("first", whole[:1], dtype), self.constant("rest", whole[1:], dtype)
        return self.made("Concat", [first, rest], output, axis=0)


def _scales(case: Case, values: list[float], graph: _Graph) -> str:
    match case["form"]:
        case "scales":
            has_attribute = case["op"] == "Upsample" and int(case["opset"]) < 9
            return "" if has_attribute else graph.constant("scales", values, np.float32)
        case "scales_cnode":
            value = numpy_helper.from_array(np.array(values, np.float32))
            return graph.made("Constant", [], "scales", value=value)
        case "scales_list":
            return graph.made("Constant", [], "scales", value_floats=values)
        case "scales_folded":
            return graph.folded(values, "scales", np.float32)
        case "scales_in":
            return graph.fed(TensorProto.FLOAT, values, np.float32)
        case "scales_default":
            graph.inputs.append(helper.make_tensor_value_info("scales", TensorProto.FLOAT, [len(values)]))
            return graph.constant("scales", values, np.float32)
        case "scales_concat":
            fed = graph.fed(TensorProto.FLOAT, values[2:], np.float32)
            return graph.made("Concat", [graph.constant("ones", [1, 1], np.float32), fed], "scales", axis=0)
    return ""


def _sizes(case: Case, values: list[float], shape: list[int], graph: _Graph) -> str:
    sizes = [int(value) for value in values]
    match case["form"]:
        case "sizes":
            return graph.constant("sizes", sizes, np.int64)
        case "sizes_cnode":
            return graph.made("Constant", [], "sizes", value=numpy_helper.from_array(np.array(sizes, np.int64)))
        case "sizes_folded":
            return graph.folded(sizes, "sizes", np.int64)
        case "sizes_in":
            return graph.fed(TensorProto.INT64, sizes, np.int64)
        case "sizes_like":
            other = graph.fed(TensorProto.FLOAT, np.zeros(sizes), np.float32)
            graph.outputs.append(graph.made("Relu", [other], "Z"))
            return graph.made("Shape", ["Z"], "sizes")
        case "sizes_concat":
            lengths = graph.constant("lengths", sizes[2:], np.int64)
            return graph.made("Concat", [_head(graph), lengths], "sizes", axis=0)
        case "sizes_shape":
            return _from_shape(sizes, shape, graph)
    return ""


def _head(graph: _Graph) -> str:
    whole = graph.made("Shape", ["X"], "shape")
    start, middle = (graph.constant(name, [at], np.int64) for name, at in (("start", 0), ("middle", 2)))
    return graph.made("Slice", [whole, start, middle], "head")


def _from_shape(sizes: list[int], shape: list[int], graph: _Graph) -> str:
    """Shape, the lengths from axis 2 on times a factor, rounded down."""
    ratios = [size / length for size, length in zip(sizes[2:], shape[2:], strict=True)]
    factors = ratios if all(ratio.is_integer() for ratio in ratios) else [1.8] * len(ratios)
    head = _head(graph)
    tail = graph.made("Slice", ["shape", "middle", graph.constant("end", [len(shape)], np.int64)], "tail")
    floats = graph.made("Cast", [tail], "floats", to=TensorProto.FLOAT)
    grown = graph.made("Mul", [floats, graph.constant("factors", factors, np.float32)], "grown")
    lengths = graph.made("Cast", [graph.made("Floor", [grown], "floored")], "lengths", to=TensorProto.INT64)
    return graph.made("Concat", [head, lengths], "sizes", axis=0)


def _roi(case: Case, rank: int) -> list[float]:
    written = case.get("roi") or ""
    if not written:
        return []
    return [float(number) for number in written.split(",")] if "," in written else [0.0] * rank + [1.0] * rank


def _operands(case: Case, rank: int, scales: str, sizes: str, graph: _Graph) -> list[str]:
    opset = int(case["opset"])
    numbers = _roi(case, rank)
    roi = graph.constant("roi", numbers, np.float32) if numbers else ""
    if case["op"] == "Upsample" or opset == 10:
        return ["X", scales] if scales else ["X"]
    if opset < 13:
        roi = roi or graph.constant("no_roi", [], np.float32)
        scales = scales or graph.constant("no_scales", [], np.float32)
    operands = ["X", roi, scales, sizes]
    while not operands[-1]:
        operands.pop()
    return operands


def _open_axes(case: Case, rank: int) -> set[int]:
    written = case.get("dyn") or "0"
    if written.startswith("d"):
        return {int(axis) for axis in written[1:].split("d")}
    return set(range(2, rank)) if written == "1" else set()


def model_of(case: Case) -> tuple[onnx.ModelProto, Arrays]:
    """The model of a row, and what to feed it (the same numbers each time)."""
    opset, shape = int(case["opset"]), [int(size) for size in case["shape"].split("x")]
    values = [float(value) for value in case["values"].split(",")]
    elem_type = TYPES[case.get("dtype") or "float32"]
    open_axes = _open_axes(case, len(shape))
    lengths = [f"d{axis}" if axis in open_axes else size for axis, size in enumerate(shape)]
    graph = _Graph()
    graph.inputs.append(helper.make_tensor_value_info("X", elem_type, lengths))
    attributes: dict[str, Any] = {name: case[column] for column, name in _TEXTS.items() if case.get(column)}
    attributes |= {name: kind(case[column]) for column, (name, kind) in _NUMBERS.items() if case.get(column)}
    if case.get("axes"):
        attributes["axes"] = [int(axis) for axis in case["axes"].split(",")]
    scales, sizes = _scales(case, values, graph), _sizes(case, values, shape, graph)
    if case["op"] == "Upsample" and opset < 9:
        attributes["scales"] = values
    operands = _operands(case, len(shape), scales, sizes, graph)
    node = helper.make_node(case["op"], operands, ["Y"], "R", **attributes)
    outputs = [helper.make_tensor_value_info("Y", elem_type, [None] * len(shape))]
    outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * len(shape)) for name in graph.outputs]
    made = helper.make_graph([*graph.nodes, node], "case", graph.inputs, outputs, graph.initializers)
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", opset)],
        producer_name=case.get("producer") or "",
        ir_version=8,
    )
    return model, {"X": _numbers(case.get("dtype") or "float32", shape), **graph.feeds}


def _numbers(dtype: str, shape: list[int]) -> npt.NDArray[Any]:
    generator = np.random.default_rng(0)
    if dtype == "uint8":
        return generator.integers(0, 255, shape).astype(dtype)
    if dtype.startswith("int"):
        return generator.integers(-100, 100, shape).astype(dtype)
    return generator.normal(0, 3, shape).astype(dtype)
