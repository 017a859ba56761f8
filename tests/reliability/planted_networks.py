"""Networks of several resizes, built node by node, and what they compute."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from ort_runs import opened

CHANNELS = 3
SIZES = ((8, 10), (12, 6))


# ---- running ----


def outputs(model: ModelProto, size: tuple[int, int]) -> list[np.ndarray] | str:
    """What a model computes; open sizes are 2 for the batch and `size` for the image. The error's text if it fails."""
    try:
        session = opened(model)
        feeds = {}
        for entry in session.get_inputs():
            free = iter((2, *size) if len(entry.shape) == 4 and not isinstance(entry.shape[0], int) else size)
            shape = [known if isinstance(known, int) else next(free, 4) for known in entry.shape]
            kind = {"float16": np.float16, "float": np.float32, "double": np.float64}.get(entry.type[7:-1], np.int64)
            random_state = np.random.RandomState(sum(size) + len(feeds))
            feeds[entry.name] = (random_state.rand(*shape) * 4).astype(kind)
        return [np.asarray(value) for value in session.run(None, feeds)]
    except Exception as error:  # onnxruntime raises a class for each of its codes
        return str(error).splitlines()[0][:150]


def same(one: list[np.ndarray] | str, other: list[np.ndarray] | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return False
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


# ---- networks ----


def network(rng: random.Random) -> ModelProto:
    """A valid network whose stored shapes are those of an export."""
    opset = rng.choice((9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21))
    open_batch, open_image = rng.random() < 0.4, rng.random() < 0.3
    image = [rng.choice(("n", "batch")) if open_batch else 1, CHANNELS, *(("h", "w") if open_image else SIZES[0])]
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
            kernel = constant(np.random.RandomState(number).rand(CHANNELS, CHANNELS, 1, 1).astype("f"), f"w{number}")
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
