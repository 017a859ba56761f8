"""Random models of one resize, each with settings that are to be made."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = (TensorProto.FLOAT,) * 6 + (TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32)
MODES = ("nearest", "linear", "cubic")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
SYMMETRIC = "half_pixel_symmetric"
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
DEFAULTS: dict[str, Any] = {
    "mode": "nearest",
    "coordinate_transformation_mode": "half_pixel",
    "nearest_mode": "round_prefer_floor",
    "cubic_coeff_a": -0.75,
    "antialias": 0,
    "exclude_outside": 0,
}
NAMES = {"coordinates": "coordinate_transformation_mode"}
FORMS = (
    "scales", "sizes", "axes", "gather", "repeat", "strided-slice", "matmul", "small-matmul", "conv-transpose",
    "depthwise-conv-transpose", "average-pool", "pad-upsample-slice", "identity", "two-4d-resizes", "split-concat",
)  # fmt: skip


@dataclass
class Case:
    """A model of one resize between two copies, and what it is to become."""

    opset: int
    kind: int
    shape: tuple[int, ...]
    open_axes: tuple[int, ...]
    scales: tuple[float, ...] | None
    sizes: tuple[int, ...] | None
    axes: tuple[int, ...] | None
    attributes: dict[str, Any]
    place: str
    settings: dict[str, Any] = field(default_factory=dict)
    raise_to: int | None = None

    def model(self, attributes: dict[str, Any] | None = None) -> onnx.ModelProto:
        """The model, with other attributes where they are given."""
        attributes = dict(self.attributes if attributes is None else attributes)
        if self.axes is not None:
            attributes["axes"] = list(self.axes)
        constants: list[TensorProto] = []

        def constant(name: str, values: object, dtype: type) -> str:
            constants.append(numpy_helper.from_array(np.array(values, dtype), name))
            return name

        if self.opset < 9:
            inputs = ["r"]
            attributes["scales"] = [float(scale) for scale in self.scales or ()]
        elif self.opset < 11:
            inputs = ["r", constant("s", self.scales, np.float32)]
        else:
            empty = constant("empty", [], np.float32) if self.opset < 13 else ""
            inputs = ["r", empty, empty if self.scales is None else constant("s", self.scales, np.float32)]
            inputs += [constant("z", self.sizes, np.int64)] if self.sizes is not None else []
        node = helper.make_node("Upsample" if self.opset < 10 else "Resize", inputs, ["y"], name="up", **attributes)
        nodes = [node]
        dims = [f"d{axis}" if axis in self.open_axes else size for axis, size in enumerate(self.shape)]
        if self.place == "branch":
            output = helper.make_tensor_value_info("y", self.kind, [None] * len(dims))
            other = helper.make_node(node.op_type, inputs, ["w"], name="down", **attributes)
            other_output = helper.make_tensor_value_info("w", self.kind, [None] * len(dims))
            constants.append(numpy_helper.from_array(np.array(True), "c"))
            branches = {
                "then_branch": helper.make_graph([node], "then", [], [output]),
                "else_branch": helper.make_graph([other], "else", [], [other_output]),
            }
            nodes = [helper.make_node("If", ["c"], ["y"], name="if", **branches)]
        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["r"]), *nodes, helper.make_node("Identity", ["y"], ["z9"])],
            "g",
            [helper.make_tensor_value_info("x", self.kind, dims)],
            [helper.make_tensor_value_info("z9", self.kind, [None] * len(dims))],
            constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def drawn(rng: random.Random) -> Case:
    """A random case."""
    opset = rng.choice((7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 21))
    rank = rng.choice((4, 4, 4, 4, 3, 2, 5))
    shape = tuple(rng.randint(1, 9) for _ in range(rank))
    first = max(rank - rng.choice((1, 2, 2, 2, 3)), 0 if rank < 4 else 2)
    numbers = (2, 2, 3, 4, 1.5, 1.25, 1.7, 2.5, 1) if opset < 10 else (2, 2, 3, 0.5, 1 / 3, 1.5, 1.7, 0.8, 2.5, 1)
    full = [1.0] * first + [float(np.float32(rng.choice(numbers))) for _ in range(rank - first)]
    by_sizes = opset >= 11 and rng.random() < 0.3
    axes = tuple(range(first, rank)) if opset >= 18 and rng.random() < 0.3 else None
    sizes = [
        max(int(np.float32(s) * np.float32(n)) + rng.choice((0, 0, 1)), 1) for s, n in zip(full, shape, strict=True)
    ]
    sizes[:first] = shape[:first]
    listed = range(rank) if axes is None else axes
    attributes: dict[str, Any] = {"mode": rng.choice(MODES[:2] if opset < 11 else MODES)}
    if opset >= 11:
        several = (*COORDINATES, SYMMETRIC) if opset >= 19 else COORDINATES
        for name, values in (
            ("coordinate_transformation_mode", several),
            ("nearest_mode", ROUNDINGS),
            ("cubic_coeff_a", (-0.75, -0.5)),
            ("exclude_outside", (0, 1)),
            *([("antialias", (0, 1))] if opset >= 18 else []),
        ):
            if rng.random() < 0.5:
                attributes[name] = rng.choice(values)
    case = Case(
        opset,
        rng.choice(TYPES),
        shape,
        tuple(axis for axis in range(rank) if rng.random() < 0.12),
        None if by_sizes else tuple(full[axis] for axis in listed),
        tuple(sizes[axis] for axis in listed) if by_sizes else None,
        axes,
        attributes,
        rng.choice(("main", "main", "main", "branch")),
    )
    choices = {
        "mode": MODES,
        rng.choice(("coordinates", "coordinate_transformation_mode")): (*COORDINATES, SYMMETRIC),
        "nearest_mode": ROUNDINGS,
        "cubic_coeff_a": (-0.75, -0.5, -1.0),
        "antialias": (0, 1),
        "exclude_outside": (0, 1),
    }
    for key in rng.sample(list(choices), rng.choice((1, 1, 2, 2, 3))):
        case.settings[key] = rng.choice(choices[key])
    if rng.random() < 0.25:
        case.settings = {**(case.settings if rng.random() < 0.3 else {}), "form": rng.choice(FORMS)}
    if rng.random() < 0.2:
        case.raise_to = rng.choice([later for later in (11, 13, 18, 19, 21) if later >= opset])
    return case
