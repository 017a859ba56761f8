"""Models written from a recipe, each with its scale as a parameter: so the model at another scale is no edit of it.

`build(recipe, factors)` writes the whole model anew. What an operation makes of `build(recipe, old)` and feeds with
other factors must compute what `build(recipe, other)` computes. Only onnx and numpy are used, and nothing of the other
generator (`random_graphs*.py`): what one of two designs cannot draw, or judges wrongly, the other finds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Factors = tuple[float, float]

# The columns; a recipe is one value of each. Pairs that ONNX forbids are sorted out by `is_valid`.
COLUMNS: dict[str, tuple] = {
    "opset": (7, 8, 9, 10, 11, 12, 13, 16, 18, 19, 21),
    "mode": ("nearest", "linear", "cubic"),
    "coordinates": (
        "asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn",
        "half_pixel_symmetric",
    ),
    "rounding": ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
    "extent": ("attribute", "initializer", "constant", "identity", "concat", "cast", "sizes", "shape_times", "axes"),
    "factors": ((2.0, 2.0), (3.0, 3.0), (4.0, 2.0), (1.5, 1.5), (2.5, 3.0), (0.5, 0.5), (1.0, 2.0)),
    "home": ("main", "if", "loop", "function"),
    "before": ("nothing", "relu", "conv"),
    "behind": ("nothing", "relu", "shape", "reshape", "second", "skip"),
    "dtype": ("float32", "float16", "uint8"),
    "rank": (4, 4, 4, 3, 5),
    "input": ("static", "dynamic", "batch"),
    "ir": (3, 4, 8, 10),
    "options": ("plain", "antialias", "exclude_outside", "coefficient"),
}  # fmt: skip
OTHERS: tuple[Factors, ...] = ((2.0, 2.0), (3.0, 3.0), (4.0, 4.0), (3.0, 2.0))


@dataclass(frozen=True)
class Recipe:
    """One row: what the model is made of."""

    opset: int
    mode: str
    coordinates: str
    rounding: str
    extent: str
    factors: Factors
    home: str
    before: str
    behind: str
    dtype: str
    rank: int
    input: str
    ir: int
    options: str

    @property
    def op_type(self) -> str:
        """The operator of the opset."""
        return "Upsample" if self.opset < 10 else "Resize"

    @property
    def shape(self) -> tuple[int, ...]:
        """The input's shape at which the model is run."""
        return {3: (1, 2, 6), 4: (1, 2, 6, 8), 5: (1, 2, 4, 6, 8)}[self.rank]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are scaled."""
        return (2,) if self.rank == 3 else (self.rank - 2, self.rank - 1)

    @property
    def pairs(self) -> set[tuple[str, object, str, object]]:
        """Every two values that it brings together."""
        values = asdict(self).items()
        return {(one, left, other, right) for (one, left), (other, right) in combinations(values, 2)}


def recipes(seed: int, count: int) -> Iterator[Recipe]:
    """Valid rows, drawn so that pairs that were not seen yet come first."""
    rng = random.Random(seed)
    seen: set[tuple[str, object, str, object]] = set()
    for _ in range(count):
        drawn: list[Recipe] = []
        while len(drawn) < 3:
            row = Recipe(**{name: rng.choice(values) for name, values in COLUMNS.items()})
            if is_valid(row):
                drawn.append(row)
        best = max(drawn, key=lambda row: len(row.pairs - seen))
        seen |= best.pairs
        yield best


def is_valid(row: Recipe) -> bool:
    """Whether onnxruntime runs such a node, and the file is valid ONNX."""
    old = row.opset < 11
    plain = row.coordinates == "asymmetric" and row.rounding == "floor" and row.options == "plain"
    return all(
        (
            row.opset >= 11 or plain,
            (row.extent == "attribute") == (row.opset < 9),
            row.extent not in ("sizes", "shape_times") or row.opset >= 11,
            row.extent != "axes" or row.opset >= 18,
            row.extent not in ("cast", "shape_times") or all(f.is_integer() for f in row.factors),
            row.extent != "cast" or max(row.factors) >= 1,
            row.extent != "sizes" or row.input == "static",  # with a free batch they would freeze it
            row.extent != "sizes" or all((f * 2).is_integer() and f * 6 == int(f * 6) for f in row.factors),
            row.op_type != "Upsample" or min(row.factors) >= 1,
            row.mode != "cubic" or (not old and row.rank == 4 and row.dtype != "uint8"),
            row.mode == "nearest" or row.rank == 4 or row.mode == "linear",
            row.mode != "linear" or row.rank in (3, 4) or row.rank == 5,
            row.mode == "nearest" or row.rounding == "floor",
            row.mode == "nearest" or row.coordinates != "tf_half_pixel_for_nn",
            row.coordinates != "half_pixel_symmetric" or row.opset >= 19,
            row.dtype != "float16" or (row.opset >= 13 and row.before != "conv"),
            row.dtype != "uint8"
            or (row.before == "nothing" and row.behind in ("nothing", "shape") and row.opset >= 11),
            row.dtype != "uint8" or row.mode == "nearest",
            row.options != "antialias" or (row.opset >= 18 and row.mode != "nearest" and row.rank == 4),
            row.options not in ("exclude_outside", "coefficient") or row.mode == "cubic",
            row.options != "exclude_outside" or row.coordinates != "align_corners",
            row.home == "main" or row.opset >= 13,
            row.home != "function" or row.ir >= 8,
            row.opset >= 9 or row.ir == 3,
            row.opset < 9 or row.ir >= 4,
            row.opset < 13 or row.ir >= 8,
            row.before != "conv" or row.rank == 4,
            row.behind != "reshape" or row.rank == 4,
            row.behind != "skip" or row.input == "static",
            row.home == "main" or row.behind != "skip",
            row.opset >= 9 or row.input == "static",
        )
    )


def build(row: Recipe, factors: Factors | None = None) -> onnx.ModelProto:
    """The model, its scale `factors` (the recipe's own by default); what a skip connection holds stays the recipe's."""
    return _Writer(row, factors or row.factors).model()


def fed(row: Recipe, seed: int = 0) -> dict[str, np.ndarray]:
    """What the model is run with."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(row.shape) * (40 if row.dtype == "uint8" else 1)
    return {"image": np.abs(values).astype(row.dtype) if row.dtype == "uint8" else values.astype(row.dtype)}


def free(row: Recipe) -> bool:
    """Whether the model runs at any scale: no skip connection holds a fixed size."""
    return row.behind != "skip"


class _Writer:
    def __init__(self, row: Recipe, factors: Factors) -> None:
        self.row = row
        self.factors = factors[-len(row.axes) :]
        self.tensors: list[TensorProto] = []
        self.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(row.dtype))

    def constant(self, name: str, values: object, dtype: type) -> str:
        self.tensors.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def scales(self) -> list[float]:
        found = [1.0] * self.row.rank
        for axis, factor in zip(self.row.axes, self.factors, strict=True):
            found[axis] = factor
        return found

    def resized(self) -> list[int]:
        return [int(np.float32(s) * np.float32(n)) for s, n in zip(self.scales(), self.row.shape, strict=True)]

    def operands(self, data: str) -> tuple[list[NodeProto], list[str], dict[str, object]]:
        """Nodes before the resize, its inputs behind X, attributes of the extent."""
        row, scales = self.row, self.scales()
        nodes: list[NodeProto] = []
        if row.extent == "attribute":
            return [], [], {"scales": scales}
        extra: dict[str, object] = {}
        place = 1 if row.opset < 11 else 2
        if row.extent == "axes":
            extra["axes"] = list(row.axes)
            name = self.constant("s", self.factors, np.float32)
        elif row.extent in ("initializer", "constant", "identity"):
            if row.extent == "initializer":
                name = self.constant("s", scales, np.float32)
            else:
                tensor = numpy_helper.from_array(np.array(scales, np.float32))
                nodes.append(helper.make_node("Constant", [], ["s"], name="const_s", value=tensor))
                name = "s"
            if row.extent == "identity":
                nodes.append(helper.make_node("Identity", ["s"], ["s_same"], name="same"))
                name = "s_same"
        elif row.extent == "concat":
            head, tail = self.constant("head", scales[:2], np.float32), self.constant("tail", scales[2:], np.float32)
            nodes.append(helper.make_node("Concat", [head, tail], ["s"], name="joined", axis=0))
            name = "s"
        elif row.extent == "cast":
            whole = self.constant("whole", scales, np.int64)
            nodes.append(helper.make_node("Cast", [whole], ["s"], name="cast", to=TensorProto.FLOAT))
            name = "s"
        elif row.extent == "sizes":
            name, place = self.constant("z", self.resized(), np.int64), 3
        else:  # shape_times
            times = self.constant("times", scales, np.int64)
            nodes.append(helper.make_node("Shape", [data], ["shape"], name="shape_of"))
            nodes.append(helper.make_node("Mul", ["shape", times], ["z"], name="times_shape"))
            name, place = "z", 3
        empty = "" if row.opset >= 13 else "none"
        if empty and row.opset >= 11:
            self.constant("none", [], np.float32)
        return nodes, [*[empty] * (place - 1), name], extra

    def resize(self, data: str, out: str) -> list[NodeProto]:
        row = self.row
        nodes, inputs, attributes = self.operands(data)
        attributes["mode"] = row.mode
        if row.opset >= 11:
            attributes["coordinate_transformation_mode"] = row.coordinates
            if row.mode == "nearest":
                attributes["nearest_mode"] = row.rounding
        if row.options == "antialias":
            attributes["antialias"] = 1
        elif row.options == "exclude_outside":
            attributes["exclude_outside"] = 1
        elif row.options == "coefficient":
            attributes["cubic_coeff_a"] = -0.5
        return [*nodes, helper.make_node(row.op_type, [data, *inputs], [out], name="the_resize", **attributes)]

    def housed(self, data: str, out: str) -> tuple[list[NodeProto], list[onnx.FunctionProto]]:
        """The resize in the main graph, a branch, a loop's body or a function."""
        row = self.row
        nodes = self.resize(data, "inner" if row.home in ("if", "loop") else out)
        if row.home == "main":
            return nodes, []
        shape = [None] * row.rank
        value = helper.make_tensor_value_info("inner", self.elem_type, shape)
        if row.home == "function":
            read = [name for node in nodes for name in node.input if name in {t.name for t in self.tensors}]
            inputs = list(dict.fromkeys([data, *read]))
            imports = [helper.make_opsetid("", row.opset)]
            function = helper.make_function("local", "enlarge", inputs, [out], nodes, imports)
            return [helper.make_node("enlarge", inputs, [out], name="call", domain="local")], [function]
        if row.home == "if":
            other = helper.make_graph(
                [helper.make_node("Identity", [data], ["inner_else"])],
                "else",
                [],
                [helper.make_tensor_value_info("inner_else", self.elem_type, shape)],
            )
            then = helper.make_graph(nodes, "then", [], [value])
            self.constant("yes", True, bool)
            return [helper.make_node("If", ["yes"], [out], name="branch", then_branch=then, else_branch=other)], []
        self.constant("once", 1, np.int64)
        self.constant("yes", True, bool)
        body = helper.make_graph(
            [*nodes, helper.make_node("Identity", ["go"], ["go_on"])],
            "body",
            [
                helper.make_tensor_value_info("turn", TensorProto.INT64, []),
                helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                helper.make_tensor_value_info("carried", self.elem_type, shape),
            ],
            [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), value],
        )
        return [helper.make_node("Loop", ["once", "yes", data], [out], name="turns", body=body)], []

    def model(self) -> onnx.ModelProto:
        row = self.row
        nodes: list[NodeProto] = []
        data = "image"
        if row.before == "relu":
            nodes.append(helper.make_node("Relu", [data], ["before"], name="before"))
            data = "before"
        elif row.before == "conv":
            weights = np.random.default_rng(7).standard_normal((2, 2, 1, 1)).astype(np.float32)
            nodes.append(
                helper.make_node("Conv", [data, self.constant("w", weights, np.float32)], ["before"], name="c")
            )
            data = "before"
        made, functions = self.housed(data, "enlarged")
        nodes += made
        outputs = ["enlarged"]
        if row.behind == "relu":
            nodes.append(helper.make_node("Relu", ["enlarged"], ["y"], name="behind"))
            outputs = ["y"]
        elif row.behind == "shape":
            nodes.append(helper.make_node("Shape", ["enlarged"], ["size"], name="size_of"))
            outputs = ["enlarged", "size"]
        elif row.behind == "reshape":
            flat = self.constant("flat", [0, 0, -1], np.int64)
            nodes.append(helper.make_node("Reshape", ["enlarged", flat], ["y"], name="flatten"))
            outputs = ["y"]
        elif row.behind == "second":
            nodes.append(helper.make_node("Add", ["enlarged", "enlarged"], ["y"], name="doubled"))
            outputs = ["y", "enlarged"]
        elif row.behind == "skip":
            size = tuple(_Writer(row, row.factors).resized())
            values = np.random.default_rng(5).standard_normal(size).astype(row.dtype)
            nodes.append(
                helper.make_node("Add", ["enlarged", self.constant("kept", values, row.dtype)], ["y"], name="meet")
            )
            outputs = ["y"]
        return self.assembled(nodes, functions, outputs)

    def assembled(self, nodes: list[NodeProto], functions: list, outputs: list[str]) -> onnx.ModelProto:
        row = self.row
        dims: list[object] = list(row.shape)
        if row.input == "batch":
            dims[0] = "N"
        elif row.input == "dynamic":
            dims = ["N", row.shape[1], *(f"d{axis}" for axis in range(2, row.rank))]
        inputs = [helper.make_tensor_value_info("image", self.elem_type, dims)]
        if row.ir < 4:
            inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in self.tensors]
        results = [
            helper.make_tensor_value_info("size", TensorProto.INT64, [row.rank])
            if name == "size"
            else helper.make_tensor_value_info(
                name, self.elem_type, [None] * (3 if row.behind == "reshape" else row.rank)
            )
            for name in outputs
        ]
        graph = helper.make_graph(nodes, "made from a recipe", inputs, results, self.tensors, doc_string="kept")
        imports = [helper.make_opsetid("", row.opset), *([helper.make_opsetid("local", 1)] if functions else [])]
        model = helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=row.ir)
        helper.set_model_props(model, {"author": "kept"})
        return model
