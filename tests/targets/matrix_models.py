"""Rebuilds the models that the case names of matrix.tsv stand for, with the optimization profiles they were built with.

The names were given when the cases were measured; the rebuilt models get the recorded verdicts (test_tensorrt_live.py).
This file has the forms, attributes, ranks and types; matrix_sources.py has the sources of scales, and `build` for all.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Profile = dict[str, dict[str, list[int]]]
Recipe = tuple[str, Callable[..., object]]  # a pattern of case names, and what fills Parts by its groups
STATIC: list[Any] = [1, 3, 8, 8]
DYNAMIC: list[Any] = [1, 3, "h", "w"]
DYNAMIC_BATCH: list[Any] = ["n", 3, "h", "w"]
BY_RANK: dict[int, list[Any]] = {rank: [1, 1, 1, 2, 3, 4, 8, 8][8 - rank :] for rank in range(5, 9)}
BY_RANK |= {1: [8], 2: [8, 8], 3: [3, 8, 8], 4: [2, 3, 8, 8]}
PLAIN = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
NO_PROFILE = "(no profile values)"


@dataclass
class Parts:
    """A graph in the making; `x` is its data input, `y` its output."""

    opset: int = 13
    shape: list[Any] = field(default_factory=lambda: list(STATIC))
    elem_type: int = TensorProto.FLOAT
    ir_version: int = 8
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    profile: Profile = field(default_factory=dict)
    fresh: int = 0

    def constant(self, value: object, dtype: type = np.int64, name: str = "") -> str:
        self.fresh += 1
        name = name or f"c{self.fresh}"
        self.initializers.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def floats(self, values: Sequence[float], name: str = "s") -> str:
        return self.constant(values, np.float32, name)

    def input(self, name: str, elem_type: int, shape: list[Any], values: Sequence[list[int]] = ()) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, elem_type, shape))
        if values:
            self.profile[name] = dict(zip(("min", "opt", "max"), values, strict=True))
        return name

    def op(self, op_type: str, *operands: str, out: str = "", **attributes: Any) -> str:
        self.fresh += 1
        out = out or f"t{self.fresh}"
        self.nodes.append(helper.make_node(op_type, list(operands), [out], **attributes))
        return out

    def cast(self, name: str, elem_type: int = TensorProto.FLOAT) -> str:
        return self.op("Cast", name, to=elem_type)

    def model(self, output_rank: int | None = None) -> ModelProto:
        x = helper.make_tensor_value_info("x", self.elem_type, self.shape)
        y = helper.make_tensor_value_info("y", self.elem_type, [f"y{k}" for k in range(output_rank or len(self.shape))])
        graph = helper.make_graph(self.nodes, "g", [x, *self.inputs], [y], self.initializers)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid("local", 1)] * bool(self.functions)
        model = helper.make_model(graph, opset_imports=opsets, functions=self.functions)
        model.ir_version = self.ir_version
        if any(isinstance(size, str) for size in self.shape):
            sizes = [[lowest if isinstance(size, str) else size for size in self.shape] for lowest in (4, 8, 16)]
            if isinstance(self.shape[0], str):
                for bounds, count in zip(sizes, (1, 1, 2), strict=True):
                    bounds[0] = count
            self.profile["x"] = dict(zip(("min", "opt", "max"), sizes, strict=True))
        return model


FACTOR = ([1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 4, 4])
ONE_FACTOR = ([1], [2], [4])
SIZES = ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64])


def build_by(recipes: Sequence[Recipe], case: str) -> tuple[ModelProto, Profile]:
    """The model of a case and the profile to build it with, by the first recipe whose pattern is the case's name."""
    label, _, variant = case.partition("|")
    parts = Parts(shape=list(DYNAMIC if variant == "dyn" else STATIC))
    for pattern, make in recipes:
        match = re.fullmatch(pattern, label)
        if match:
            make(parts, *match.groups())
            model = parts.model()
            return model, {} if NO_PROFILE in case or "without profile" in case else parts.profile
    raise KeyError(case)


# ---- group A: forms of the node -------------------------------------------------------------------------------------


def upsample(parts: Parts, opset: str | int, mode: str = "nearest", scales: Sequence[float] = (1, 1, 2, 2)) -> None:
    parts.opset = int(opset)
    if parts.opset < 9:
        parts.op("Upsample", "x", out="y", mode=mode, scales=[float(scale) for scale in scales])
    else:
        parts.op("Upsample", "x", parts.floats(scales), out="y", mode=mode)


def resize(
    parts: Parts, opset: str | int, mode: str, extent: str = "scales", values: Any = None, **attributes: Any
) -> None:
    parts.opset = int(opset)
    if parts.opset == 10:
        parts.op("Resize", "x", parts.floats(values or [1, 1, 2, 2]), out="y", mode=mode, **attributes)
    elif extent == "scales":
        parts.op("Resize", "x", "", parts.floats(values or [1, 1, 2, 2]), out="y", mode=mode, **attributes)
    else:
        sizes = parts.constant(values or [1, 3, 16, 16], np.int64, "z")
        parts.op("Resize", "x", "", "", sizes, out="y", mode=mode, **attributes)


def height_width(parts: Parts, opset: str) -> None:
    parts.opset = int(opset)
    parts.op("Upsample", "x", out="y", mode="nearest", height_scale=2.0, width_scale=2.0)


def upsample_mixed(parts: Parts, opset: int, *, attribute: bool, operand: bool) -> None:
    parts.opset = opset
    operands = ["x", parts.floats([1, 1, 2, 2])] if operand else ["x"]
    written = {"scales": [1.0, 1.0, 2.0, 2.0]} if attribute else {}
    parts.op("Upsample", *operands, out="y", mode="nearest", **written)


def upsample_constant(parts: Parts) -> None:
    parts.opset = 9
    scales = parts.op("Constant", value=numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32)))
    parts.op("Upsample", "x", scales, out="y", mode="nearest")


def upsample_ir3(parts: Parts) -> None:
    upsample(parts, 9)
    parts.ir_version = 3
    parts.input("s", TensorProto.FLOAT, [4])


def upsample_half_scales(parts: Parts) -> None:
    parts.opset = 9
    parts.op("Upsample", "x", parts.constant([1, 1, 2, 2], np.float16, "s"), out="y", mode="nearest")


def form(parts: Parts, kind: str) -> None:
    """The forms of Resize-11 that group A calls `Rs11 …`."""
    parts.opset = 11
    scales = {"scales len2 (no axes)": [2, 2], "scales 2-D [1,4]": [[1, 1, 2, 2]]}.get(kind, [1, 1, 2, 2])
    dtype = {"scales double": np.float64, "scales fp16": np.float16}.get(kind, np.float32)
    empty_constant = numpy_helper.from_array(np.array([], np.float32))
    operands: dict[str, Callable[[], list[str]]] = {
        "roi=empty Constant": lambda: ["x", parts.op("Constant", value=empty_constant), parts.floats([1, 1, 2, 2])],
        "roi=empty init": lambda: ["x", parts.floats([], "r"), parts.floats([1, 1, 2, 2])],
        "roi=init[8] unused": lambda: ["x", parts.floats([0, 0, 0, 0, 1, 1, 1, 1], "r"), parts.floats([1, 1, 2, 2])],
        'trailing "" sizes': lambda: ["x", "", parts.floats([1, 1, 2, 2]), ""],
        "pytorch form x,e,e,sizes": lambda: [
            "x",
            (empty := parts.op("Constant", value=empty_constant)),
            empty,
            parts.constant([1, 3, 16, 16], np.int64, "z"),
        ],
        "both scales and sizes": lambda: [
            "x",
            "",
            parts.floats([1, 1, 2, 2]),
            parts.constant([1, 3, 16, 16], np.int64, "z"),
        ],
        "2-inputs (x,s) opset10 style": lambda: ["x", parts.floats([1, 1, 2, 2])],
        "neither": lambda: ["x", "", ""],
        "sizes int32": lambda: ["x", "", "", parts.constant([1, 3, 16, 16], np.int32, "z")],
    }
    made = operands.get(kind, lambda: ["x", "", parts.constant(scales, dtype, "s")])()
    parts.op("Resize", *made, out="y", mode="nearest")


# ---- groups B to I: attributes, ranks, types ------------------------------------------------------------------------


def coordinates(parts: Parts, opset: str, mode: str, transformation: str, nearest_mode: str, extent: str) -> None:
    rounding = {"nearest_mode": nearest_mode} if nearest_mode else {}
    resize(parts, opset, mode, extent, coordinate_transformation_mode=transformation, **rounding)
    if transformation == "tf_crop_and_resize":
        parts.nodes[-1].input[1] = parts.floats([0, 0, 0, 0, 1, 1, 1, 1], "r")


def axes(parts: Parts, source: str, written: str) -> None:
    listed = ast.literal_eval(written)
    scales = [[1, 1, 2, 4][axis] for axis in listed]
    sizes = [[1, 3, 16, 32][axis] for axis in listed]
    attributes = {"mode": "linear", "axes": listed}
    parts.opset = 18
    count = len(listed)
    if source == "scales init":
        parts.op("Resize", "x", "", parts.floats(scales), out="y", **attributes)
    elif source == "sizes init":
        parts.op("Resize", "x", "", "", parts.constant(sizes, np.int64, "z"), out="y", **attributes)
    elif source == "sizes graph-input":
        low = [[1, 3, 4, 4][axis] for axis in listed]
        high = [[1, 3, 64, 64][axis] for axis in listed]
        z = parts.input("z", TensorProto.INT64, [count], (low, sizes, high))
        parts.op("Resize", "x", "", "", z, out="y", **attributes)
    else:
        f = parts.input("f", TensorProto.INT64, [count], ([1] * count, scales, scales))
        parts.op("Resize", "x", "", parts.cast(f), out="y", **attributes)


def last_axes(parts: Parts, rank: str, last: str, mode: str, extent: str) -> None:
    parts.shape = list(BY_RANK[int(rank)])
    scales = [1] * (int(rank) - int(last)) + [2] * int(last)
    values = scales if extent == "scales" else [size * scale for size, scale in zip(parts.shape, scales, strict=True)]
    resize(parts, 13, mode, extent, values)


def upsample_last_axes(parts: Parts, rank: str, last: str, mode: str) -> None:
    parts.shape = list(BY_RANK[int(rank)])
    upsample(parts, 7, mode, [1] * (int(rank) - int(last)) + [2] * int(last))


def rank_scales(parts: Parts, rank: str, scales: str, mode: str) -> None:
    parts.shape = list(BY_RANK[int(rank)])
    resize(parts, 13, mode, values=ast.literal_eval(scales))


def typed(parts: Parts, form_name: str, elem_type: str, mode: str) -> None:
    parts.elem_type = TensorProto.DataType.Value(elem_type)
    if form_name == "13":
        resize(parts, 13, mode)
    else:
        upsample(parts, form_name.strip().removeprefix("Up"), mode)


FORMS: list[Recipe] = [
    (r"Up1 h/w_scale attr opset(\d+)|Up opset(\d) h/w_scale attrs", lambda p, a, b: height_width(p, a or b)),
    (r"Up7 attr opset(\d) (\w+)", upsample),
    (r"Up9 init (\w+)", lambda p, mode: upsample(p, 9, mode)),
    (r"Up opset(\d) 2-inputs no attr", lambda p, o: upsample_mixed(p, int(o), attribute=False, operand=True)),
    (r"Up opset(\d) attr \+ 2nd input", lambda p, o: upsample_mixed(p, int(o), attribute=True, operand=True)),
    (r"Up9 Constant nearest", upsample_constant),
    (r"Up9 hybrid attr only", lambda p: upsample_mixed(p, 9, attribute=True, operand=False)),
    (r"Up9 hybrid attr \+ input", lambda p: upsample_mixed(p, 9, attribute=True, operand=True)),
    (r"Up9 initializer in graph.input too \(IR3\)", upsample_ir3),
    (r"Up9 fp16 scales", upsample_half_scales),
    (r"Upsample node in opset(\d+) model, (init|attr)",
     lambda p, o, kind: upsample_mixed(p, int(o), attribute=kind == "attr", operand=kind == "init")),
    (r"Resize node in opset9 model \(2in\)",
     lambda p: (setattr(p, "opset", 9), p.op("Resize", "x", p.floats([1, 1, 2, 2]), out="y", mode="nearest"))),
    (r"Rs10 init (\w+)", lambda p, mode: resize(p, 10, mode)),
    (r"Rs10 attr scales only",
     lambda p: (setattr(p, "opset", 10), p.op("Resize", "x", out="y", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0]))),
    (r"Rs opset(\d+) (scales|sizes) init (\w+) default", lambda p, o, extent, mode: resize(p, o, mode, extent)),
    (r"Rs11 (.+)", form),
    (r"B(\d+) (\w+) (\w+) (\w*) (scales|sizes)", coordinates),
    (r"C(\d+) cubic a=(\S+) excl=(\d)",
     lambda p, o, a, e: resize(p, o, "cubic", cubic_coeff_a=float(a), exclude_outside=int(e))),
    (r"C11 (\w+) excl=1", lambda p, mode: resize(p, 11, mode, exclude_outside=1)),
    (r"C11 extrapolation_value=1 half_pixel",
     lambda p: resize(p, 11, "linear", coordinate_transformation_mode="half_pixel", extrapolation_value=1.0)),
    (r"E(\d+) (\w+) (\S+) antialias=(\d)",
     lambda p, o, mode, s, a: resize(p, o, mode, values=[1, 1, float(s), float(s)], antialias=int(a))),
    (r"E13 antialias=1 on opset13", lambda p: resize(p, 13, "linear", antialias=1)),
    (r"F18 (.+) axes=(\[.+\])", axes),
    (r"F13 axes on opset13", lambda p: resize(p, 13, "linear", values=[2, 2], axes=[2, 3])),
    (
        r"G(\d+) (scales|sizes) (\w+)",
        lambda p, o, extent, policy: resize(
            p, o, "linear", extent, [1, 3, 16, 32] if extent == "sizes" else None, keep_aspect_ratio_policy=policy
        ),
    ),
    (r"H13 rank(\d) last(\d) (\w+) (scales|sizes)", last_axes),
    (r"H Up7 rank(\d) last(\d) (\w+)", upsample_last_axes),
    (r"H13 rank(\d) scales=(\[.+\]) (\w+)", rank_scales),
    (r"H13 scalevals (\[.+\]) (\w+)", lambda p, v, mode: resize(p, 13, mode, values=[1, 1, *ast.literal_eval(v)])),
    (r"H Up7 scalevals (\[.+\]) (\w+)", lambda p, v, mode: upsample(p, 7, mode, [1, 1, *ast.literal_eval(v)])),
    (r"I(13| Up7| Up9) (\w+) (\w+)", typed),
]  # fmt: skip
