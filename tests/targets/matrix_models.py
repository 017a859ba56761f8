"""Rebuilds the models that the case names of matrix.tsv stand for, with the optimization profiles they were built with.

The names were given when the cases were measured; the rebuilt models get the recorded verdicts (test_tensorrt_live.py).
"""

import ast
import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from onnx import ModelProto
from onnx_text import model

with (Path(__file__).with_name("matrix.tsv")).open(newline="") as lines:
    MATRIX = list(csv.DictReader(lines, delimiter="\t"))

Profile = dict[str, dict[str, list[int]]]
Ranges = tuple[list[int], ...]
STATIC, DYNAMIC, DYNAMIC_BATCH = "1,3,8,8", "1,3,h,w", "n,3,h,w"
BY_RANK = {rank: [1, 1, 1, 2, 3, 4, 8, 8][8 - rank :] for rank in range(5, 9)}
BY_RANK |= {1: [8], 2: [8, 8], 3: [3, 8, 8], 4: [2, 3, 8, 8]}
BOUNDS = ("min", "opt", "max")
# Graph inputs and what they are built for, and initializers; a net has those that its nodes name.
INPUTS: dict[str, tuple[str, Ranges]] = {
    "f4": ("int64[4]", ([1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 4, 4])),
    "f4_32": ("int32[4]", ([1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 4, 4])),
    "f4_1000": ("int64[4]", ([1000] * 4, [1000, 1000, 2000, 2000], [1000, 1000, 4000, 4000])),
    "f1": ("int64[1]", ([1], [2], [4])),
    "f1_1000": ("int64[1]", ([1000], [2000], [4000])),
    "f0": ("int64", ([1], [2], [4])),
    "d4": ("int64[4]", ([1, 1, 1, 1],) * 3),
    "z4": ("int64[4]", ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64])),
    "z4_32": ("int32[4]", ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64])),
    "zk": ("int64[k]", ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64])),
    "hw": ("int64[2]", ([4, 4], [16, 16], [64, 64])),
    "ref": ("float[1,3,rh,rw]", ([1, 3, 4, 4], [1, 3, 16, 16], [1, 3, 64, 64])),
    "plane": ("float[rh,rw]", ([4, 4], [16, 16], [64, 64])),
    **{name: (kind, ()) for name, kind in (("s4", "float[4]"), ("s2", "float[2]"), ("s0", "float"), ("cond", "bool"))},
    **{f"in_{kind}": (f"{kind}[4]", ()) for kind in ("float16", "bool", "uint8", "double")},
}  # fmt: skip
CONSTANTS = {
    "s": "float[4] = {1, 1, 2, 2}", "z": "int64[4] = {1, 3, 16, 16}", "zz": "int64[4] = {1, 1, 2, 2}",
    "i0": "int64[1] = {0}", "i2": "int64[1] = {2}", "one_three": "int64[2] = {1, 3}", "two": "int64 = {2}",
    "three": "int64 = {3}", "twice": "float = {2}", "ones": "float[2] = {1, 1}", "whole_ones": "int64[2] = {1, 1}",
    "twos": "float[4] = {2, 2, 2, 2}", "thousand": "float = {1000}", "by_1000": "int64[4] = {1000, 1000, 1000, 1000}",
    "r": "float[8] = {0, 0, 0, 0, 1, 1, 1, 1}", "e": "float[0] = {}", "scale": "float = {0.1}", "zero": "int8 = {0}",
    "zero_u": "uint8 = {128}", "sixteen": "int64[2] = {16, 16}", "s_half": "float16[4] = {15360, 15360, 16384, 16384}",
    "s_double": "double[4] = {1, 1, 2, 2}", "s_axes": "float[2] = {2, 2}", "s_2d": "float[1,4] = {1, 1, 2, 2}",
    "z_32": "int32[4] = {1, 3, 16, 16}", "w": f"float[3,3,3,3] = {{{','.join('1' * 81)}}}",
}  # fmt: skip


class Net(NamedTuple):
    """Nodes from `x` to `y` as ONNX text; `constants` and `fed` (name, type, ranges) are declared beside the above."""

    nodes: str
    opset: int = 13
    constants: str = ""
    fed: tuple[tuple[str, str, Ranges], ...] = ()
    shape: str = ""
    kind: str = "float"
    ir_version: int = 8
    functions: str = ""


def build(case: str) -> tuple[ModelProto, Profile]:
    """The model of any case of the matrix, and the profile to build it with."""
    label, _, variant = case.partition("|")
    net = next(make(*match.groups()) for pattern, make in RECIPES if (match := re.fullmatch(pattern, label)))
    shape = net.shape or (DYNAMIC if variant == "dyn" else STATIC)
    names = set(re.findall(r"[a-z]\w*", re.sub(r'"[^"]*"', "", net.nodes)))
    fed = [*net.fed, *((name, *INPUTS[name]) for name in INPUTS if name in names)]
    own = set(re.findall(r"(\w+) =", net.constants))
    constants = [text.replace(" =", f" {name} =") for name, text in CONSTANTS.items() if name in names - own]
    declared = ", ".join(filter(None, [net.constants, *constants]))
    inputs = ", ".join([f"{net.kind}[{shape}] x", *(f"{kind} {name}" for name, kind, _ in fed)])
    output = ",".join(f"y{axis}" for axis in range(shape.count(",") + 1))
    graph = f"({inputs}) => ({net.kind}[{output}] y) {f'<{declared}>' if declared else ''} {{ {net.nodes} }}"
    made = model(f"{graph} {net.functions}", net.opset, *["local"] * bool(net.functions), ir=net.ir_version)
    profile = {name: dict(zip(BOUNDS, ranges, strict=True)) for name, _, ranges in fed if ranges}
    if re.search("[nhw]", shape):
        sizes = [[int(size) if size.isdigit() else lowest for size in shape.split(",")] for lowest in (4, 8, 16)]
        if shape == DYNAMIC_BATCH:
            sizes = [[count, *size[1:]] for count, size in zip((1, 1, 2), sizes, strict=True)]
        profile["x"] = dict(zip(BOUNDS, sizes, strict=True))
    return made, {} if "(no profile values)" in case or "without profile" in case else profile


def attributes(**values: Any) -> str:
    """As ONNX text has them: strings in quotes."""
    written = {name: f'"{value}"' if isinstance(value, str) else value for name, value in values.items()}
    return f"<{', '.join(f'{name} = {value}' for name, value in written.items())}>" if written else ""


def vector(kind: str, name: str, values: Iterable[float]) -> str:
    listed = [str(value) for value in values]
    return f"{kind}[{len(listed)}] {name} = {{{', '.join(listed)}}}"


def upsample(opset: Any, mode: str = "nearest", scales: Iterable[float] = (1, 1, 2, 2)) -> Net:
    if int(opset) < 9:
        return Net(f"y = Upsample {attributes(mode=mode, scales=[float(one) for one in scales])} (x)", int(opset))
    return Net(f"y = Upsample {attributes(mode=mode)} (x, s)", int(opset), vector("float", "s", scales))


def mixed(opset: Any, *, attribute: bool, operand: bool) -> Net:
    """An Upsample with the scales of older opsets, of newer ones, of both or of none."""
    scales = {"scales": [1.0, 1.0, 2.0, 2.0]} if attribute else {}
    return Net(f"y = Upsample {attributes(mode='nearest', **scales)} (x{', s' * operand})", int(opset))


def resize(opset: Any, mode: str, extent: str = "scales", values: Any = None, **written: Any) -> Net:
    head = f"y = Resize {attributes(mode=mode, **written)}"
    if extent == "sizes":
        return Net(f"{head} (x, , , z)", int(opset), vector("int64", "z", values or [1, 3, 16, 16]))
    operands = "(x, s)" if int(opset) == 10 else "(x, , s)"
    return Net(f"{head} {operands}", int(opset), vector("float", "s", values or [1, 1, 2, 2]))


def coordinates(opset: str, mode: str, transformation: str, nearest_mode: str, extent: str) -> Net:
    rounding = {"nearest_mode": nearest_mode} if nearest_mode else {}
    net = resize(opset, mode, extent, coordinate_transformation_mode=transformation, **rounding)
    return net._replace(nodes=net.nodes.replace("(x, ,", "(x, r,")) if "crop" in transformation else net


def axes(source: str, written: str) -> Net:
    listed = ast.literal_eval(written)
    ones, scales, low, sizes, high = (
        [values[axis] for axis in listed]
        for values in ([1, 1, 1, 1], [1, 1, 2, 4], [1, 3, 4, 4], [1, 3, 16, 32], [1, 3, 64, 64])
    )
    node = f"y = Resize {attributes(mode='linear', axes=listed)}"
    kind = f"int64[{len(listed)}]"
    return {
        "scales init": Net(f"{node} (x, , s)", 18, vector("float", "s", scales)),
        "sizes init": Net(f"{node} (x, , , z)", 18, vector("int64", "z", sizes)),
        "sizes graph-input": Net(f"{node} (x, , , fed)", 18, fed=(("fed", kind, (low, sizes, high)),)),
    }.get(source, Net(f"t = Cast <to = 1> (fed) {node} (x, , t)", 18, fed=(("fed", kind, (ones, scales, scales)),)))


def ranked(rank: str, last: str, extent: str) -> tuple[list[int], str]:
    scales = [1] * (int(rank) - int(last)) + [2] * int(last)
    shape = BY_RANK[int(rank)]
    values = scales if extent == "scales" else [size * scale for size, scale in zip(shape, scales, strict=True)]
    return values, ",".join(map(str, shape))


def last_axes(rank: str, last: str, mode: str, extent: str) -> Net:
    values, shape = ranked(rank, last, extent)
    return resize(13, mode, extent, values)._replace(shape=shape)


def upsample_last_axes(rank: str, last: str, mode: str) -> Net:
    values, shape = ranked(rank, last, "scales")
    return upsample(7, mode, values)._replace(shape=shape)


def typed(form: str, elem_type: str, mode: str) -> Net:
    kind = elem_type.lower()
    return (resize(13, mode) if form == "13" else upsample(form.strip().removeprefix("Up"), mode))._replace(kind=kind)


# The forms of Resize-11 that group A calls `Rs11 …`.
RESIZE_11 = {
    "roi=empty Constant": "t = Constant <value = float[0] {}> () y = Resize <mode = \"nearest\"> (x, t, s)",
    "pytorch form x,e,e,sizes": "t = Constant <value = float[0] {}> () y = Resize <mode = \"nearest\"> (x, t, t, z)",
    **{kind: f'y = Resize <mode = "nearest"> {operands}' for kind, operands in {
        "roi=empty init": "(x, e, s)", "roi=init[8] unused": "(x, r, s)", 'trailing "" sizes': '(x, "", s, "")',
        "both scales and sizes": '(x, "", s, z)', "2-inputs (x,s) opset10 style": "(x, s)", "neither": '(x, "", "")',
        "sizes int32": '(x, "", "", z_32)', "scales len2 (no axes)": '(x, "", s_axes)',
        "scales 2-D [1,4]": '(x, "", s_2d)', "scales double": '(x, "", s_double)', "scales fp16": '(x, "", s_half)',
    }.items()},
}  # fmt: skip
QUANTIZED = "t = QuantizeLinear (x, scale, {0}) u = DequantizeLinear (t, scale, {0}) {1} " \
            "q = QuantizeLinear (v, scale, {0}) y = DequantizeLinear (q, scale, {0})"  # fmt: skip
SHAPED = "whole = Shape (x) "
START = "whole = Shape (x) start = Slice (whole, i0, i2, i0) "
# Where scales and sizes come from (groups J, K).
SCALES = {
    "scales initializer": "t = s",
    "scales Constant value": "t = Constant <value = float[4] {1, 1, 2, 2}> ()",
    "scales Constant value_floats": "t = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()",
    "scales Identity(Constant)": "u = Constant <value = float[4] {1, 1, 2, 2}> () t = Identity (u)",
    "scales Identity(init)": "t = Identity (s)",
    "scales Concat(Constants)": "u = Constant <value = float[2] {1, 1}> () v = Constant <value = float[2] {2, 2}> () "
                                "t = Concat <axis = 0> (u, v)",
    "scales Cast(int64 Constant)": "t = Cast <to = 1> (zz)",
    "scales Mul(Constant,Constant)": "u = Constant <value = float[4] {1, 1, 2, 2}> () "
                                     "v = Constant <value = float[4] {1, 1, 1, 1}> () t = Mul (u, v)",
    "scales Unsqueeze+Concat scalars": "u = Constant <value = float {2}> () v = Unsqueeze (u, i0) "
                                       "t = Concat <axis = 0> (ones, v, v)",
    "scales=Cast(sizes)/Cast(Shape)": SHAPED + "u = Mul (whole, zz) v = Cast <to = 1> (u) n = Cast <to = 1> (whole) "
                                               "t = Div (v, n)",
    "scales float graph input [4]": "t = s4",
    "scales float graph input [4] (no profile values)": "t = s4",
    "scales=Concat(1,1,float graph input [2])": "t = Concat <axis = 0> (ones, s2)",
    "scales=Concat(1,1,Unsq(float scalar input)x2)": "u = Unsqueeze (s0, i0) t = Concat <axis = 0> (ones, u, u)",
    "scales=Identity(fp16 graph input cast)": "u = Cast <to = 1> (in_float16) t = Identity (u)",
    "scales=Cast(bool graph input)*2": "u = Cast <to = 1> (in_bool) t = Mul (u, twos)",
    "scales=Cast(uint8 graph input)": "t = Cast <to = 1> (in_uint8)",
    "scales=Cast(double graph input)": "t = Cast <to = 1> (in_double)",
    "scales=Cast(int32 graph input [4])": "t = Cast <to = 1> (f4_32)",
    "scales=Cast(int64[4]) (no profile values)": "t = Cast <to = 1> (f4)",
    "scales=Concat(1,1,Cast(int64[1])x2)": "u = Cast <to = 1> (f1) t = Concat <axis = 0> (ones, u, u)",
    "scales=Concat(1,1,Unsq(Cast(int64 scalar))x2)": "u = Cast <to = 1> (f0) v = Unsqueeze (u, i0) "
                                                     "t = Concat <axis = 0> (ones, v, v)",
    "scales=Concat(1,1,Cast(int64[1])/1000 x2) fixed point": "u = Cast <to = 1> (f1_1000) v = Div (u, thousand) "
                                                             "t = Concat <axis = 0> (ones, v, v)",
    "scales=Cast(num int64[4])/Cast(den int64[4]) rational": "u = Cast <to = 1> (f4) v = Cast <to = 1> (d4) "
                                                             "t = Div (u, v)",
}  # fmt: skip
SIZES = {
    "sizes Constant value_ints": "t = Constant <value_ints = [1, 3, 16, 16]> ()",
    "sizes=Concat(Slice(Shape),const)": START + "t = Concat <axis = 0> (start, sixteen)",
    "sizes=Shape*const int64": SHAPED + "t = Mul (whole, zz)",
    "pytorch1.x: Shape>Gather>Cast>Mul>Floor>Cast>Unsqueeze>Concat sizes": START + " ".join(
        f"{n}0 = Gather <axis = 0> (whole, {axis}) {n}1 = Cast <to = 1> ({n}0) {n}2 = Mul ({n}1, twice) "
        f"{n}3 = Floor ({n}2) {n}4 = Cast <to = 7> ({n}3) {n}5 = Unsqueeze ({n}4, i0)"
        for n, axis in (("h", "two"), ("v", "three"))) + " t = Concat <axis = 0> (start, h5, v5)",
    "sizes=Cast(Floor(Cast(Shape)*float input[4]))": SHAPED + "u = Cast <to = 1> (whole) v = Mul (u, s4) n = Floor (v) "
                                                              "t = Cast <to = 7> (n)",
    "sizes int64 graph input [4] (no profile values)": "t = z4",
    "sizes=Cast(int32 graph input)": "t = Cast <to = 7> (z4_32)",
    "sizes=Concat(Shape[:2],int64 hw input[2])": START + "t = Concat <axis = 0> (start, hw)",
    "sizes=Shape*int64 factor input[4]": SHAPED + "t = Mul (whole, f4)",
    "sizes=Shape*Concat(1,1,f,f) int64[1]": SHAPED + "u = Concat <axis = 0> (whole_ones, f1, f1) t = Mul (whole, u)",
    "sizes=Shape*num/den int64 rational": SHAPED + "u = Mul (whole, f4) t = Div (u, d4)",
    "sizes=Shape*f/1000 int64 fixed point": SHAPED + "u = Mul (whole, f4_1000) t = Div (u, by_1000)",
    "sizes=Shape(ref tensor) (data input, NCHW)": "t = Shape (ref)",
    "sizes=Concat(Shape(x)[:2],Shape(ref[H,W])) uint8 ref": START + "u = Shape (plane) "
                                                                     "t = Concat <axis = 0> (start, u)",
    "sizes int64 graph input of unknown length [k]": "t = zk",
}  # fmt: skip
BATCHES = {
    "scales init": "t = s", "sizes init [1,3,16,16]": "t = z",
    "sizes=Concat(Shape[:2],hw)": SIZES["sizes=Concat(Shape[:2],int64 hw input[2])"],
    "sizes=Shape*f[4]": SIZES["sizes=Shape*int64 factor input[4]"],
    "sizes=Shape*Concat(1,1,f,f)": SIZES["sizes=Shape*Concat(1,1,f,f) int64[1]"],
    "scales=Concat(1,1,Cast(f),Cast(f))": SCALES["scales=Concat(1,1,Cast(int64[1])x2)"],
    "scales=Cast(f[4])": "t = Cast <to = 1> (f4)",
}  # fmt: skip
PLAIN = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def sourced(operand: str, extent: str, mode: str = "nearest", **more: Any) -> Net:
    """A Resize whose scales or sizes are `t`, made by these nodes, or what `t` is said to be."""
    whole = re.fullmatch(r"t = (\w+)", operand)
    name, nodes = (whole[1], "") if whole else ("t", operand)
    operands = f"(x, , {name})" if extent == "scales" else f"(x, , , {name})"
    written = attributes(mode=mode, **(PLAIN if mode == "nearest" else {}))
    return Net(f"{nodes} y = Resize {written} {operands}", **more)


def batch(source: str, mode: str = "nearest") -> Net:
    """Group K: N, H and W dynamic."""
    listed = re.fullmatch(r"(scales|sizes) init axes=\[2,3\]", source)
    if listed:
        values = [2, 2] if listed[1] == "scales" else [16, 16]
        net = resize(18, "nearest", listed[1], values, axes=[2, 3], **PLAIN)
    else:
        net = sourced(BATCHES[source], source[:6].strip("="), mode)
    return net._replace(shape=DYNAMIC_BATCH)


def from_data(extent: str) -> Net:
    single = "m = ReduceMax <keepdims = 0> (x) "
    if extent == "scales":
        return sourced(f"{single} u = Unsqueeze (m, i0) t = Concat <axis = 0> (ones, u, u)", extent)
    single += "n = Cast <to = 7> (m) u = Unsqueeze (n, i0)"
    return sourced(f"{single} t = Concat <axis = 0> (one_three, u, u)", extent)


def upsample_from(mode: str | None, operand: str) -> Net:
    nodes, name = (operand, "t") if " " in operand else ("", operand)
    return Net(f"{nodes} y = Upsample {attributes(mode=(mode or 'nearest').strip())} (x, {name})", 9)


def conv(kind: str, mode: str) -> Net:
    operand = {"const": "t = s", "float": "t = s4", "int": SCALES["scales=Concat(1,1,Cast(int64[1])x2)"]}[kind]
    made = sourced(operand, "scales", mode).nodes.replace("y = Resize <", "v = Resize <")
    written = f'mode = "{mode}", coordinate_transformation_mode = "pytorch_half_pixel"'
    return Net(re.sub("Resize <[^>]*>", f"Resize <{written}>", made) + " y = Conv <pads = [1, 1, 1, 1]> (v, w)")


def inside_if(op_type: str) -> Net:
    node = 'Resize <mode = "nearest"> (x, , s)'
    if op_type == "Upsample":
        node = 'Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x)'
    branches = ", ".join(
        f"{name}_branch = {name} () => (float[{name}0,{name}1,{name}2,{name}3] y_{name}) {{ y_{name} = {node} }}"
        for name in ("then", "else")
    )
    return Net(f"y = If (cond) <{branches}>", 13 if op_type == "Resize" else 8)


FUNCTION = """<domain: "local", opset_import: ["" : 13]> up (a) => (b) {
    s = Constant <value = float[4] {1, 1, 2, 2}> () b = Resize <mode = "nearest"> (a, , s) }"""
UP_AS_DATA = 'y0 = Resize <mode = "nearest"> %s m = ReduceMax <keepdims = 0> (%s) y = Mul (y0, m)'
Recipe = tuple[str, Callable[..., Net]]  # a pattern of case names, and what makes the net of its groups
RECIPES: list[Recipe] = [
    (r"Up1 h/w_scale attr opset(\d+)|Up opset(\d) h/w_scale attrs",
     lambda a, b: Net('y = Upsample <mode = "nearest", height_scale = 2.0, width_scale = 2.0> (x)', int(a or b))),
    (r"Up7 attr opset(\d) (\w+)", upsample),
    (r"Up9 init (\w+)", lambda mode: upsample(9, mode)),
    (r"Up opset(\d) 2-inputs no attr", lambda o: mixed(o, attribute=False, operand=True)),
    (r"Up opset(\d) attr \+ 2nd input", lambda o: mixed(o, attribute=True, operand=True)),
    (r"Up9 Constant nearest", lambda: upsample_from(None, SCALES["scales Constant value"])),
    (r"Up9 hybrid attr only", lambda: mixed(9, attribute=True, operand=False)),
    (r"Up9 hybrid attr \+ input", lambda: mixed(9, attribute=True, operand=True)),
    (r"Up9 initializer in graph.input too \(IR3\)",
     lambda: upsample(9)._replace(ir_version=3, fed=(("s", "float[4]", ()),))),
    (r"Up9 fp16 scales", lambda: upsample_from(None, "s_half")),
    (r"Upsample node in opset(\d+) model, (init|attr)",
     lambda o, kind: mixed(o, attribute=kind == "attr", operand=kind == "init")),
    (r"Resize node in opset9 model \(2in\)", lambda: Net('y = Resize <mode = "nearest"> (x, s)', 9)),
    (r"Rs10 init (\w+)", lambda mode: resize(10, mode)),
    (r"Rs10 attr scales only",
     lambda: Net('y = Resize <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x)', 10)),
    (r"Rs opset(\d+) (scales|sizes) init (\w+) default", lambda o, extent, mode: resize(o, mode, extent)),
    (r"Rs11 (.+)", lambda kind: Net(RESIZE_11[kind], 11)),
    (r"B(\d+) (\w+) (\w+) (\w*) (scales|sizes)", coordinates),
    (r"C(\d+) cubic a=(\S+) excl=(\d)",
     lambda o, a, e: resize(o, "cubic", cubic_coeff_a=float(a), exclude_outside=int(e))),
    (r"C11 (\w+) excl=1", lambda mode: resize(11, mode, exclude_outside=1)),
    (r"C11 extrapolation_value=1 half_pixel",
     lambda: resize(11, "linear", coordinate_transformation_mode="half_pixel", extrapolation_value=1.0)),
    (r"E(\d+) (\w+) (\S+) antialias=(\d)",
     lambda o, mode, s, a: resize(o, mode, values=[1, 1, float(s), float(s)], antialias=int(a))),
    (r"E13 antialias=1 on opset13", lambda: resize(13, "linear", antialias=1)),
    (r"F18 (.+) axes=(\[.+\])", axes),
    (r"F13 axes on opset13", lambda: resize(13, "linear", values=[2, 2], axes=[2, 3])),
    (r"G(\d+) (scales|sizes) (\w+)",
     lambda o, extent, policy: resize(o, "linear", extent, [1, 3, 16, 32] if extent == "sizes" else None,
                                      keep_aspect_ratio_policy=policy)),
    (r"H13 rank(\d) last(\d) (\w+) (scales|sizes)", last_axes),
    (r"H Up7 rank(\d) last(\d) (\w+)", upsample_last_axes),
    (r"H13 rank(\d) scales=(\[.+\]) (\w+)",
     lambda rank, scales, mode: resize(13, mode, values=ast.literal_eval(scales))._replace(
         shape=",".join(map(str, BY_RANK[int(rank)])))),
    (r"H13 scalevals (\[.+\]) (\w+)", lambda v, mode: resize(13, mode, values=[1, 1, *ast.literal_eval(v)])),
    (r"H Up7 scalevals (\[.+\]) (\w+)", lambda v, mode: upsample(7, mode, [1, 1, *ast.literal_eval(v)])),
    (r"I(13| Up7| Up9) (\w+) (\w+)", typed),
    *((re.escape(label), lambda operand=operand: sourced(operand, "scales")) for label, operand in SCALES.items()),
    *((re.escape(label), lambda operand=operand: sourced(operand, "sizes")) for label, operand in SIZES.items()),
    (r"(scales|sizes) init with same-name graph input \(overridable default\)",
     lambda extent: sourced("t = s" if extent == "scales" else "t = z", extent)._replace(
         fed=(("s", "float[4]", ()) if extent == "scales" else ("z", "int64[4]", ()),))),
    (r"pytorch trace x,e,scales from Concat\(Div\) mode=linear pthp",
     lambda: Net(SHAPED + "h0 = Gather <axis = 0> (whole, two) h1 = Cast <to = 1> (h0) h2 = Mul (h1, twice) "
                 "h3 = Div (h2, h1) h4 = Unsqueeze (h3, i0) t = Concat <axis = 0> (ones, h4, h4) "
                 'y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , t)')),
    (r"Upsample9 scales float graph input", lambda: upsample_from(None, "s4")),
    (r"Resize10 scales float graph input", lambda: Net('y = Resize <mode = "nearest"> (x, s4)', 10)),
    (r"scales=Cast\(int64 graph input \[4\]\) (\w+)", lambda mode: sourced("t = Cast <to = 1> (f4)", "scales", mode)),
    (r"sizes int64 graph input \[4\] (\w+)(?:, profile lets N,C vary)?",
     lambda mode: sourced("t = z4", "sizes", mode)),
    (r"sizes=Concat\(Shape\[:2\],hw\) linear",
     lambda: sourced(BATCHES["sizes=Concat(Shape[:2],hw)"], "sizes", "linear")),
    (r"(sizes|scales) from data: .+", from_data),
    (r"Upsample9 (linear )?scales=Cast\(int64 graph input\[4\]\)",
     lambda mode: upsample_from(mode, "t = Cast <to = 1> (f4)")),
    (r"Resize10 scales=Cast\(int64 graph input\[4\]\)",
     lambda: Net('t = Cast <to = 1> (f4) y = Resize <mode = "nearest"> (x, t)', 10)),
    (r"sizes=Shape\*f and f also cast into compute \(Mul x\)",
     lambda: Net(f"{SHAPED} t = Mul (whole, f4) u = Cast <to = 1> (f4) " + UP_AS_DATA % ("(x, , , t)", "u"))),
    (r"float factor used as scales AND as data", lambda: Net(UP_AS_DATA % ("(x, , s4)", "s4"))),
    (r"dynNHW sizes graph input axes=\[2,3\](?: (linear))?",
     lambda mode: Net(f"y = Resize {attributes(mode=mode or 'nearest', axes=[2, 3], **({} if mode else PLAIN))} "
                      "(x, , , hw)", 18, shape=DYNAMIC_BATCH)),
    (r"dynNHW (s\w+ init(?: \S+)?)", batch),
    (r"dynNHW (\S+) (linear|cubic)(?: .*)?", batch),
    (r"dyn H/W without profile", lambda: sourced("t = s", "scales")),
    (r"SRCNN-like (const|float|int) (linear|cubic) \+ Conv", conv),
    (r"(Resize) inside If, scales outer init|(Upsample)7 attr inside If", lambda a, b: inside_if(a or b)),
    (r"Resize inside local function, Constant scales", lambda: Net("y = local.up (x)", functions=FUNCTION)),
    (r"QDQ (\w+) around Resize (\w+)",
     lambda dtype, mode: Net(QUANTIZED.format("zero" if dtype == "int8" else "zero_u",
                                              f'v = Resize <mode = "{mode}"> (u, , s)'))),
    (r"Q -> int8 Resize -> DQ",
     lambda: Net("t = QuantizeLinear (x, scale, zero) u = Resize <mode = \"nearest\"> (t, , s) "
                 "y = DequantizeLinear (u, scale, zero)")),
]  # fmt: skip
