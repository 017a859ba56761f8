"""The second half of matrix_models.py: where scales and sizes come from (groups J, K), and whole small nets (L, P)."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matrix_models import (
    DYNAMIC_BATCH,
    FACTOR,
    FORMS,
    ONE_FACTOR,
    PLAIN,
    SIZES,
    Parts,
    Profile,
    Recipe,
    build_by,
    resize,
)
from onnx import ModelProto, TensorProto, helper, numpy_helper

with (Path(__file__).with_name("matrix.tsv")).open(newline="") as lines:
    MATRIX = list(csv.DictReader(lines, delimiter="\t"))
INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT


def build(case: str) -> tuple[ModelProto, Profile]:
    """The model of any case of the matrix, and the profile to build it with."""
    return build_by([*FORMS, *SOURCES], case)


def by_scales(parts: Parts, scales: str, mode: str = "nearest") -> None:
    parts.op("Resize", "x", "", scales, out="y", mode=mode, **(PLAIN if mode == "nearest" else {}))


def by_sizes(parts: Parts, sizes: str, mode: str = "nearest") -> None:
    parts.op("Resize", "x", "", "", sizes, out="y", mode=mode, **(PLAIN if mode == "nearest" else {}))


def constant_node(parts: Parts, **value: object) -> str:
    if "value" in value:
        value = {"value": numpy_helper.from_array(np.array(value["value"], np.float32))}
    return parts.op("Constant", **value)


def shape(parts: Parts, name: str = "x") -> str:
    return parts.op("Shape", name)


def batch_and_channels(parts: Parts) -> str:
    return parts.op("Slice", shape(parts), parts.constant([0]), parts.constant([2]), parts.constant([0]))


def factor(parts: Parts, name: str = "f", elem_type: int = INT64, times: int = 1) -> str:
    return parts.input(name, elem_type, [4], [[value * times for value in values] for values in FACTOR])


def one_factor(parts: Parts, times: int = 1) -> str:
    return parts.input("f", INT64, [1], [[value * times for value in values] for values in ONE_FACTOR])


def sizes_input(parts: Parts, elem_type: int = INT64, name: str = "z") -> str:
    return parts.input(name, elem_type, [4], SIZES)


def height_width_input(parts: Parts) -> str:
    return parts.input("hw", INT64, [2], ([4, 4], [16, 16], [64, 64]))


def ones(parts: Parts) -> str:
    return parts.constant([1, 1], np.float32)


def traced_floor(parts: Parts) -> str:
    """What torch.onnx traced for a scale factor: sizes by Shape, Gather, Cast, Mul, Floor, Cast, Unsqueeze, Concat."""
    whole = shape(parts)
    ends = []
    for axis in (2, 3):
        size = parts.cast(parts.op("Gather", whole, parts.constant(axis), axis=0))
        floor = parts.op("Floor", parts.op("Mul", size, parts.constant(2.0, np.float32)))
        ends.append(parts.op("Unsqueeze", parts.cast(floor, INT64), parts.constant([0])))
    start = parts.op("Slice", whole, parts.constant([0]), parts.constant([2]), parts.constant([0]))
    return parts.op("Concat", start, *ends, axis=0)


def traced_quotient(parts: Parts) -> str:
    """What older traces did: scales = target size ÷ size."""
    size = parts.cast(parts.op("Gather", shape(parts), parts.constant(2), axis=0))
    scale = parts.op("Div", parts.op("Mul", size, parts.constant(2.0, np.float32)), size)
    scale = parts.op("Unsqueeze", scale, parts.constant([0]))
    return parts.op("Concat", ones(parts), scale, scale, axis=0)


def defaulted(parts: Parts, extent: str) -> None:
    if extent == "scales":
        by_scales(parts, parts.floats([1, 1, 2, 2]))
        parts.input("s", FLOAT, [4])
    else:
        by_sizes(parts, parts.constant([1, 3, 16, 16], np.int64, "z"))
        parts.input("z", INT64, [4])


def float_input(parts: Parts, count: int = 4) -> str:
    return parts.input("s", FLOAT, [count])


def cast_input(parts: Parts, elem_type: int) -> str:
    return parts.cast(parts.input("f", elem_type, [4]))


def doubled(parts: Parts, scalar: str) -> str:
    single = parts.op("Unsqueeze", scalar, parts.constant([0]))
    return parts.op("Concat", ones(parts), single, single, axis=0)


def same_factor(parts: Parts, single: str) -> str:
    return parts.op("Concat", ones(parts), single, single, axis=0)


def integer_factors(parts: Parts) -> str:
    single = one_factor(parts)
    return parts.op("Concat", parts.constant([1, 1]), single, single, axis=0)


def quotient_of_casts(parts: Parts) -> str:
    denominator = parts.input("d", INT64, [4], [[1, 1, 1, 1]] * 3)
    return parts.op("Div", parts.cast(factor(parts)), parts.cast(denominator))


def from_reference(parts: Parts, *, whole: bool) -> str:
    if whole:
        parts.input("ref", FLOAT, [1, 3, "rh", "rw"], ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64]))
        return shape(parts, "ref")
    parts.input("ref", FLOAT, ["rh", "rw"], ([4, 4], [16, 16], [64, 64]))
    return parts.op("Concat", batch_and_channels(parts), shape(parts, "ref"), axis=0)


def from_data(parts: Parts, extent: str) -> None:
    peak = parts.op("ReduceMax", "x", keepdims=0)
    if extent == "scales":
        single = parts.op("Unsqueeze", peak, parts.constant([0]))
        by_scales(parts, parts.op("Concat", ones(parts), single, single, axis=0))
        return
    single = parts.op("Unsqueeze", parts.cast(peak, INT64), parts.constant([0]))
    by_sizes(parts, parts.op("Concat", parts.constant([1, 3]), single, single, axis=0))


def factor_in_compute(parts: Parts) -> None:
    f = factor(parts)
    parts.op("Resize", "x", "", "", parts.op("Mul", shape(parts), f), out="y0", mode="nearest")
    parts.op("Mul", "y0", parts.op("ReduceMax", parts.cast(f), keepdims=0), out="y")


def float_factor_as_data(parts: Parts) -> None:
    s = float_input(parts)
    parts.op("Resize", "x", "", s, out="y0", mode="nearest")
    parts.op("Mul", "y0", parts.op("ReduceMax", s, keepdims=0), out="y")


def conv(parts: Parts, kind: str, mode: str) -> None:
    scales = {
        "const": lambda: parts.floats([1, 1, 2, 2]),
        "float": lambda: float_input(parts),
        "int": lambda: same_factor(parts, parts.cast(one_factor(parts))),
    }[kind]()
    parts.op("Resize", "x", "", scales, out="u", mode=mode, coordinate_transformation_mode="pytorch_half_pixel")
    parts.op("Conv", "u", parts.constant(np.ones((3, 3, 3, 3)), np.float32), out="y", pads=[1, 1, 1, 1])


def inside_if(parts: Parts, op_type: str) -> None:
    parts.opset = 13 if op_type == "Resize" else 8
    parts.input("c", TensorProto.BOOL, [])
    if op_type == "Resize":
        parts.floats([1, 1, 2, 2])
    branches = []
    for name in ("then_branch", "else_branch"):
        out = f"y_{name}"
        node = (
            helper.make_node("Resize", ["x", "", "s"], [out], mode="nearest")
            if op_type == "Resize"
            else helper.make_node("Upsample", ["x"], [out], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
        )
        value = helper.make_tensor_value_info(out, FLOAT, [f"{name}{k}" for k in range(4)])
        branches.append(helper.make_graph([node], name, [], [value]))
    parts.op("If", "c", out="y", then_branch=branches[0], else_branch=branches[1])


def inside_function(parts: Parts) -> None:
    nodes = [
        helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32))),
        helper.make_node("Resize", ["a", "", "s"], ["b"], mode="nearest"),
    ]
    opsets = [helper.make_opsetid("", 13)]
    parts.functions.append(helper.make_function("local", "up", ["a"], ["b"], nodes, opsets))
    parts.op("up", "x", out="y", domain="local")


def quantized(parts: Parts, dtype: str, mode: str) -> None:
    zero = parts.constant(0 if dtype == "int8" else 128, np.int8 if dtype == "int8" else np.uint8)
    scale = parts.constant(0.1, np.float32)

    def there_and_back(name: str, out: str = "") -> str:
        return parts.op("DequantizeLinear", parts.op("QuantizeLinear", name, scale, zero), scale, zero, out=out)

    resized = parts.op("Resize", there_and_back("x"), "", parts.floats([1, 1, 2, 2]), mode=mode)
    there_and_back(resized, "y")


def quantized_resize(parts: Parts) -> None:
    zero, scale = parts.constant(0, np.int8), parts.constant(0.1, np.float32)
    small = parts.op("QuantizeLinear", "x", scale, zero)
    resized = parts.op("Resize", small, "", parts.floats([1, 1, 2, 2]), mode="nearest")
    parts.op("DequantizeLinear", resized, scale, zero, out="y")


def int_scales(parts: Parts, mode: str) -> None:
    by_scales(parts, parts.cast(factor(parts)), mode)


Source = Callable[[Parts], str]
SCALES: dict[str, Source] = {
    "scales initializer": lambda p: p.floats([1, 1, 2, 2]),
    "scales Constant value": lambda p: constant_node(p, value=[1, 1, 2, 2]),
    "scales Constant value_floats": lambda p: constant_node(p, value_floats=[1.0, 1.0, 2.0, 2.0]),
    "scales Identity(Constant)": lambda p: p.op("Identity", constant_node(p, value=[1, 1, 2, 2])),
    "scales Identity(init)": lambda p: p.op("Identity", p.floats([1, 1, 2, 2])),
    "scales Concat(Constants)": lambda p: p.op(
        "Concat", constant_node(p, value=[1, 1]), constant_node(p, value=[2, 2]), axis=0
    ),
    "scales Cast(int64 Constant)": lambda p: p.cast(p.constant([1, 1, 2, 2])),
    "scales Mul(Constant,Constant)": lambda p: p.op(
        "Mul", constant_node(p, value=[1, 1, 2, 2]), constant_node(p, value=[1, 1, 1, 1])
    ),
    "scales Unsqueeze+Concat scalars": lambda p: doubled(p, constant_node(p, value=2)),
    "scales=Cast(sizes)/Cast(Shape)": lambda p: p.op(
        "Div", p.cast(p.op("Mul", shape(p), p.constant([1, 1, 2, 2]))), p.cast(shape(p))
    ),
    "scales float graph input [4]": float_input,
    "scales float graph input [4] (no profile values)": float_input,
    "scales=Concat(1,1,float graph input [2])": lambda p: p.op("Concat", ones(p), float_input(p, 2), axis=0),
    "scales=Concat(1,1,Unsq(float scalar input)x2)": lambda p: doubled(p, p.input("s", FLOAT, [])),
    "scales=Identity(fp16 graph input cast)": lambda p: p.op("Identity", cast_input(p, TensorProto.FLOAT16)),
    "scales=Cast(bool graph input)*2": lambda p: p.op(
        "Mul", cast_input(p, TensorProto.BOOL), p.constant([2, 2, 2, 2], np.float32)
    ),
    "scales=Cast(uint8 graph input)": lambda p: cast_input(p, TensorProto.UINT8),
    "scales=Cast(double graph input)": lambda p: cast_input(p, TensorProto.DOUBLE),
    "scales=Cast(int32 graph input [4])": lambda p: p.cast(factor(p, elem_type=INT32)),
    "scales=Cast(int64[4]) (no profile values)": lambda p: p.cast(factor(p)),
    "scales=Concat(1,1,Cast(int64[1])x2)": lambda p: same_factor(p, p.cast(one_factor(p))),
    "scales=Concat(1,1,Unsq(Cast(int64 scalar))x2)": lambda p: doubled(p, p.cast(p.input("f", INT64, [], ONE_FACTOR))),
    "scales=Concat(1,1,Cast(int64[1])/1000 x2) fixed point": lambda p: same_factor(
        p, p.op("Div", p.cast(one_factor(p, times=1000)), p.constant(1000.0, np.float32))
    ),
    "scales=Cast(num int64[4])/Cast(den int64[4]) rational": quotient_of_casts,
}
SIZED: dict[str, Source] = {
    "sizes Constant value_ints": lambda p: constant_node(p, value_ints=[1, 3, 16, 16]),
    "sizes=Concat(Slice(Shape),const)": lambda p: p.op("Concat", batch_and_channels(p), p.constant([16, 16]), axis=0),
    "sizes=Shape*const int64": lambda p: p.op("Mul", shape(p), p.constant([1, 1, 2, 2])),
    "pytorch1.x: Shape>Gather>Cast>Mul>Floor>Cast>Unsqueeze>Concat sizes": traced_floor,
    "sizes=Cast(Floor(Cast(Shape)*float input[4]))": lambda p: p.cast(
        p.op("Floor", p.op("Mul", p.cast(shape(p)), float_input(p))), INT64
    ),
    "sizes int64 graph input [4] (no profile values)": sizes_input,
    "sizes=Cast(int32 graph input)": lambda p: p.cast(sizes_input(p, INT32, "z0"), INT64),
    "sizes=Concat(Shape[:2],int64 hw input[2])": lambda p: p.op(
        "Concat", batch_and_channels(p), height_width_input(p), axis=0
    ),
    "sizes=Shape*int64 factor input[4]": lambda p: p.op("Mul", shape(p), factor(p)),
    "sizes=Shape*Concat(1,1,f,f) int64[1]": lambda p: p.op("Mul", shape(p), integer_factors(p)),
    "sizes=Shape*num/den int64 rational": lambda p: p.op(
        "Div", p.op("Mul", shape(p), factor(p)), p.input("d", INT64, [4], [[1, 1, 1, 1]] * 3)
    ),
    "sizes=Shape*f/1000 int64 fixed point": lambda p: p.op(
        "Div", p.op("Mul", shape(p), factor(p, times=1000)), p.constant([1000] * 4)
    ),
    "sizes=Shape(ref tensor) (data input, NCHW)": lambda p: from_reference(p, whole=True),
    "sizes=Concat(Shape(x)[:2],Shape(ref[H,W])) uint8 ref": lambda p: from_reference(p, whole=False),
    "sizes int64 graph input of unknown length [k]": lambda p: p.input("z", INT64, ["k"], SIZES),
}
BATCHES: dict[str, Callable[[Parts], None]] = {
    "scales init": lambda p: by_scales(p, p.floats([1, 1, 2, 2])),
    "sizes init [1,3,16,16]": lambda p: by_sizes(p, p.constant([1, 3, 16, 16])),
    "sizes init axes=[2,3]": lambda p: resize(p, 18, "nearest", "sizes", [16, 16], axes=[2, 3], **PLAIN),
    "scales init axes=[2,3]": lambda p: resize(p, 18, "nearest", "scales", [2, 2], axes=[2, 3], **PLAIN),
    "sizes=Concat(Shape[:2],hw)": lambda p: p.op("Concat", batch_and_channels(p), height_width_input(p), axis=0),
    "sizes=Shape*f[4]": lambda p: p.op("Mul", shape(p), factor(p)),
    "sizes=Shape*Concat(1,1,f,f)": lambda p: p.op("Mul", shape(p), integer_factors(p)),
    "scales=Concat(1,1,Cast(f),Cast(f))": lambda p: same_factor(p, p.cast(one_factor(p))),
    "scales=Cast(f[4])": lambda p: p.cast(factor(p)),
}


def batch(parts: Parts, source: str, mode: str | None) -> None:
    """Group K: N, H and W dynamic."""
    parts.shape = list(DYNAMIC_BATCH)
    made = BATCHES[source](parts)
    if mode is not None:
        (by_scales if source.startswith("scales") else by_sizes)(parts, str(made), mode)


def batch_axes_input(parts: Parts, mode: str | None) -> None:
    parts.shape, parts.opset = list(DYNAMIC_BATCH), 18
    z = parts.input("z", INT64, [2], ([4, 4], [16, 16], [64, 64]))
    parts.op("Resize", "x", "", "", z, out="y", mode=mode or "nearest", axes=[2, 3], **({} if mode else PLAIN))


def _upsample_from(parts: Parts, mode: str | None, source: Source) -> None:
    parts.opset = 9
    parts.op("Upsample", "x", source(parts), out="y", mode=mode or "nearest")


def _resize_10_from(parts: Parts, source: Source) -> None:
    parts.opset = 10
    parts.op("Resize", "x", source(parts), out="y", mode="nearest")


def _cast_factor(parts: Parts) -> str:
    return parts.cast(factor(parts))


SOURCES: list[Recipe] = [
    *((re.escape(label), lambda p, source=source: by_scales(p, source(p))) for label, source in SCALES.items()),
    *((re.escape(label), lambda p, source=source: by_sizes(p, source(p))) for label, source in SIZED.items()),
    (r"(scales|sizes) init with same-name graph input \(overridable default\)", defaulted),
    (
        r"pytorch trace x,e,scales from Concat\(Div\) mode=linear pthp",
        lambda p: p.op(
            "Resize",
            "x",
            "",
            traced_quotient(p),
            out="y",
            mode="linear",
            coordinate_transformation_mode="pytorch_half_pixel",
        ),
    ),
    (r"Upsample9 scales float graph input", lambda p: _upsample_from(p, None, float_input)),
    (r"Resize10 scales float graph input", lambda p: _resize_10_from(p, float_input)),
    (r"scales=Cast\(int64 graph input \[4\]\) (\w+)", int_scales),
    (r"sizes int64 graph input \[4\] (\w+)(?:, profile lets N,C vary)?",
     lambda p, mode: by_sizes(p, sizes_input(p), mode)),
    (r"sizes=Concat\(Shape\[:2\],hw\) linear",
     lambda p: by_sizes(p, p.op("Concat", batch_and_channels(p), height_width_input(p), axis=0), "linear")),
    (r"(sizes|scales) from data: .+", lambda p, extent: from_data(p, extent)),
    (r"Upsample9 (linear )?scales=Cast\(int64 graph input\[4\]\)",
     lambda p, mode: _upsample_from(p, mode and mode.strip(), _cast_factor)),
    (r"Resize10 scales=Cast\(int64 graph input\[4\]\)", lambda p: _resize_10_from(p, _cast_factor)),
    (r"sizes=Shape\*f and f also cast into compute \(Mul x\)", factor_in_compute),
    (r"float factor used as scales AND as data", float_factor_as_data),
    (r"dynNHW sizes graph input axes=\[2,3\](?: (linear))?", batch_axes_input),
    (r"dynNHW (s\w+ init(?: \S+)?)()", lambda p, source, _: batch(p, source, None)),
    (r"dynNHW (\S+) (linear|cubic)(?: .*)?", batch),
    (r"dyn H/W without profile", lambda p: by_scales(p, p.floats([1, 1, 2, 2]))),
    (r"SRCNN-like (const|float|int) (linear|cubic) \+ Conv", conv),
    (r"(Resize) inside If, scales outer init|(Upsample)7 attr inside If", lambda p, a, b: inside_if(p, a or b)),
    (r"Resize inside local function, Constant scales", inside_function),
    (r"QDQ (\w+) around Resize (\w+)", quantized),
    (r"Q -> int8 Resize -> DQ", quantized_resize),
]  # fmt: skip
