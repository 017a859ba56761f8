# ruff: noqa: E501
"""Valid models for the trials of `repair`: one resize as ONNX text, or a network of several, built node by node."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, parser

# ---- one resize ----

MODES = ("nearest", "linear", "cubic")
WHERE = ("main", "if", "function")
COORDINATES = ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")


def made(rng: random.Random) -> tuple[str, ModelProto]:
    """A small valid model: opset, mode, place, extent, and what is stored of its shapes, all drawn."""
    opset = rng.choice((9, 10, 11, 12, 13, 15, 17, 18, 19, 21, 22))
    mode = rng.choice(MODES if opset > 10 else MODES[:2])
    place = rng.choice(WHERE)
    batch, height, width = rng.choice((("1", "8", "9"), ("N", "8", "9"), ("1", "h", "w"), ("N", "h", "w")))
    fixed = height.isdigit()
    factors = rng.choice(((2, 2), (1.5, 1.5), (3, 1.25), (1.8, 1.8), (0.5, 0.5), (2, 0.75), (4, 4)))
    if opset == 9:
        factors = tuple(max(factor, 1.25) for factor in factors)
    extent = rng.choice(("scales", "scales", "scales", "sizes", "computed sizes", "computed scales"))
    if opset < 11 and "sizes" in extent:
        extent = "scales"
    if extent == "sizes" and not (fixed and batch == "1"):
        extent = "computed sizes" if opset > 10 else "scales"
    attributes = [f'mode = "{mode}"']
    if opset > 10:
        attributes.append(f'coordinate_transformation_mode = "{rng.choice(COORDINATES)}"')
        if mode == "nearest":
            attributes.append(f'nearest_mode = "{rng.choice(("floor", "round_prefer_floor", "ceil"))}"')
        if mode == "cubic" and rng.random() < 0.3:
            attributes.append("cubic_coeff_a = -0.5")
    nodes, constants, operands = operands_of(opset, extent, factors)
    operator = "Upsample" if opset == 9 else "Resize"
    resize = f"y = {operator} <{', '.join(attributes)}> ({operands})"
    data = f"float[{batch},3,{height},{width}]"
    text = placed(place, opset, data, nodes + resize, constants)
    model = parser.parse_model(text)
    onnx.checker.check_model(model)
    if rng.random() < 0.6:
        model = onnx.shape_inference.infer_shapes(model)
    return f"opset {opset}, {mode}, {place}, {extent} {factors}, [{batch},3,{height},{width}]", model


def operands_of(opset: int, extent: str, factors: tuple[float, ...]) -> tuple[str, str, str]:
    """The nodes before the resize, the constants as Constant nodes, and its inputs, of which h is the first."""
    scales = f"s = Constant <value = float[4] {{1, 1, {factors[0]}, {factors[1]}}}> ()"
    roi = "r" if 10 < opset < 13 else '""'
    empty = "r = Constant <value = float[0] {}> () " if 10 < opset < 13 else ""
    if extent == "scales":
        return empty, scales, f"h, {roi}, s" if opset > 10 else "h, s"
    if extent == "computed scales":
        chain = "one = Constant <value = float[4] {1, 1, 1, 1}> () t = Mul (s, one) "
        return empty + chain, scales, f"h, {roi}, t" if opset > 10 else "h, t"
    none = "r, r" if opset < 13 else '"", ""'
    if extent == "sizes":
        sizes = f"z = Constant <value = int64[4] {{1, 3, {int(8 * factors[0])}, {int(9 * factors[1])}}}> ()"
        return empty, sizes, f"h, {none}, z"
    chain = "a = Shape (h) b = Cast <to = 1> (a) c = Mul (b, s) d = Floor (c) z = Cast <to = 7> (d) "
    return empty + chain, scales, f"h, {none}, z"


def placed(place: str, opset: int, data: str, nodes: str, constants: str) -> str:
    """The whole model, the resize in the main graph, in a branch of an If, or in a local function."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}'
    out = "(float[p, q, u, v] z0)"
    body = f"{constants} {nodes}"
    if place == "main":
        return f"{head}]> g ({data} x) => {out} {{ h = Relu (x) {body} z0 = Neg (y) }}"
    if place == "if":
        other = body.replace("y =", "e =")
        branches = f"then_branch = t () => (float[a1, a2, a3, a4] y) {{ {body} }}, else_branch = f () => (float[b1, b2, b3, b4] e) {{ {other} }}"
        return f"{head}]> g ({data} x) => {out} {{ h = Relu (x) k = Constant <value = bool {{1}}> () i = If (k) <{branches}> z0 = Neg (i) }}"
    return (
        f'{head}, "d" : 1]> g ({data} x) => {out} {{ x0 = Relu (x) i = d.F (x0) z0 = Neg (i) }}'
        f'<domain: "d", opset_import: ["" : {opset}]> F (h) => (y) {{ {body} }}'
    )


def with_initializers(model: ModelProto, rng: random.Random) -> ModelProto:
    """Constant nodes of the main graph as initializers, as most exporters have them."""
    if rng.random() < 0.5:
        return model
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        tensor = graph.initializer.add()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        graph.node.remove(node)
    return model


# ---- networks ----


def network(rng: random.Random) -> ModelProto:
    """A valid network whose stored shapes are those of an export."""
    opset = rng.choice((9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21))
    open_batch, open_image = rng.random() < 0.4, rng.random() < 0.3
    image = [rng.choice(("n", "batch")) if open_batch else 1, 3, *(("h", "w") if open_image else (8, 10))]
    nodes: list[NodeProto] = []
    weights: list[TensorProto] = []

    def constant(value: np.ndarray, name: str) -> str:
        if rng.random() < 0.3:
            nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        else:
            weights.append(numpy_helper.from_array(value, name))
        return name

    tensors = ["x"]
    for number in range(rng.randint(2, 4)):
        source = tensors[-1] if rng.random() < 0.7 else rng.choice(tensors)
        if rng.random() < 0.6:
            kernel = constant(np.random.RandomState(number).rand(3, 3, 1, 1).astype("f"), f"w{number}")
            nodes.append(helper.make_node("Conv", [source, kernel], [f"c{number}"], name=f"conv{number}"))
            source = f"c{number}"
        add_resize(opset, number, source, f"r{number}", nodes, constant, rng, fixed=not (open_batch or open_image))
        tensors.append(f"r{number}")
    results = tensors[-2:]
    graph = helper.make_graph(
        nodes,
        "planted",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in results],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return inferred if rng.random() < 0.85 else model


def add_resize(
    opset: int,
    number: int,
    source: str,
    result: str,
    nodes: list[NodeProto],
    constant: Callable[[np.ndarray, str], str],
    rng: random.Random,
    *,
    fixed: bool,
) -> None:
    """One Upsample or Resize by drawn factors, in one of the forms that its opset has."""
    factors = rng.choice(((2.0, 2.0), (2.0, 1.0), (1.5, 1.5), (3.0, 2.0), (1.25, 2.5), (0.5, 0.5)))
    if opset == 9 and min(factors) < 1:
        factors = (2.0, 2.0)
    scales = np.array([1, 1, *factors], np.float32)
    modes = ("nearest", "linear") if opset < 11 else ("nearest", "linear", "cubic")
    attributes: dict[str, object] = {"mode": rng.choice(modes)}
    if opset < 11:
        operator = "Upsample" if opset == 9 else "Resize"
        inputs = [source, constant(scales, f"s{number}")]
        nodes.append(helper.make_node(operator, inputs, [result], name=f"resize{number}", **attributes))
        return
    attributes["coordinate_transformation_mode"] = rng.choice(("asymmetric", "half_pixel", "align_corners"))
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = rng.choice(("floor", "round_prefer_floor"))
    none = constant(np.zeros(0, np.float32), f"e{number}") if opset < 13 else ""
    form = rng.choice(("scales", "scales", "computed"))
    if form == "scales" and opset >= 18 and rng.random() < 0.4:
        attributes["axes"] = [2, 3]
        scales = scales[2:]
    if form == "scales":
        inputs = [source, none, constant(scales, f"s{number}")]
    else:
        inputs = [source, none, none, f"z{number}"]
        steps = (("Shape", [source]), ("Cast", [f"a{number}"]), ("Mul", [f"b{number}", f"f{number}"]))
        constant(scales, f"f{number}")
        for (operator, read), made in zip(steps, "abm", strict=True):
            extra = {"to": TensorProto.FLOAT} if operator == "Cast" else {}
            nodes.append(helper.make_node(operator, read, [f"{made}{number}"], **extra))
        nodes.append(helper.make_node("Cast", [f"m{number}"], [f"z{number}"], to=TensorProto.INT64))
    nodes.append(helper.make_node("Resize", inputs, [result], name=f"resize{number}", **attributes))
