"""Models written from a recipe, each with its scale as a parameter: so the model at another scale is no edit of it.

`build(recipe, factors)` writes the whole model anew. What an operation makes of `build(recipe, old)` and feeds with
other factors must compute what `build(recipe, other)` computes. Only onnx and numpy are used, and nothing of the other
generator (`random_graphs*.py`): what one of two designs cannot draw, or judges wrongly, the other finds.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper

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
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, name: str, values: object, dtype: object) -> str:
        self.constants[name] = np.array(values, dtype)
        return name

    def scales(self) -> list[float]:
        found = [1.0] * self.row.rank
        for axis, factor in zip(self.row.axes, self.factors, strict=True):
            found[axis] = factor
        return found

    def resized(self) -> list[int]:
        return [int(np.float32(s) * np.float32(n)) for s, n in zip(self.scales(), self.row.shape, strict=True)]

    def operands(self, data: str) -> tuple[str, list[str], dict[str, object]]:
        """Nodes before the resize, its inputs behind X, attributes of the extent."""
        row, scales = self.row, self.scales()
        if row.extent == "attribute":
            return "", [], {"scales": scales}
        nodes, name, extra = "", "s", {}
        if row.extent == "axes":
            extra["axes"] = list(row.axes)
            self.constant("s", self.factors, np.float32)
        elif row.extent == "initializer":
            self.constant("s", scales, np.float32)
        elif row.extent in ("constant", "identity"):
            nodes = f"[const_s] s = Constant <value = float[{row.rank}] {{{str(scales)[1:-1]}}}> ()"
            if row.extent == "identity":
                nodes, name = f"{nodes} [same] s_same = Identity (s)", "s_same"
        elif row.extent == "concat":
            self.constant("head", scales[:2], np.float32)
            self.constant("tail", scales[2:], np.float32)
            nodes = "[joined] s = Concat <axis = 0> (head, tail)"
        elif row.extent == "cast":
            self.constant("whole", scales, np.int64)
            nodes = "[cast] s = Cast <to = 1> (whole)"
        elif row.extent == "sizes":
            name = self.constant("z", self.resized(), np.int64)
        else:  # shape_times
            self.constant("times", scales, np.int64)
            nodes, name = f"[shape_of] shape = Shape ({data}) [times_shape] z = Mul (shape, times)", "z"
        place = 1 if row.opset < 11 else 3 if name == "z" else 2
        if 11 <= row.opset < 13:
            self.constant("none", [], np.float32)
        return nodes, [*["none" if row.opset < 13 else '""'] * (place - 1), name], extra

    def resize(self, data: str, out: str) -> str:
        row = self.row
        nodes, inputs, attributes = self.operands(data)
        attributes["mode"] = row.mode
        if row.opset >= 11:
            attributes["coordinate_transformation_mode"] = row.coordinates
            if row.mode == "nearest":
                attributes["nearest_mode"] = row.rounding
        attributes |= {
            "plain": {}, "antialias": {"antialias": 1}, "exclude_outside": {"exclude_outside": 1},
            "coefficient": {"cubic_coeff_a": -0.5},
        }[row.options]  # fmt: skip
        said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in attributes.items())
        return f"{nodes} [the_resize] {out} = {row.op_type} <{said}> ({', '.join([data, *inputs])})"

    def housed(self, data: str) -> tuple[str, str]:
        """The resize in the main graph, a branch, a loop's body or a function; and the function."""
        row = self.row
        nodes = self.resize(data, "inner" if row.home in ("if", "loop") else "enlarged")
        value = self.typed("inner")
        if row.home == "main":
            return nodes, ""
        if row.home == "function":
            given = ", ".join([data, *(name for name in re.findall(r"\w+", nodes) if name in self.constants)])
            head = f'<domain: "local", opset_import: ["" : {row.opset}]>'
            return f"[call] enlarged = local.enlarge ({given})", f"{head} enlarge ({given}) => (enlarged) {{ {nodes} }}"
        self.constant("yes", True, bool)
        if row.home == "if":
            other = f"else () => ({self.typed('inner_else')}) {{ inner_else = Identity ({data}) }}"
            then = f"then () => ({value}) {{ {nodes} }}"
            return f"[branch] enlarged = If (yes) <then_branch = {then}, else_branch = {other}>", ""
        self.constant("once", 1, np.int64)
        inputs = f"int64 turn, bool go, {self.typed('carried')}"
        body = f"body ({inputs}) => (bool go_on, {value}) {{ {nodes} go_on = Identity (go) }}"
        return f"[turns] enlarged = Loop (once, yes, {data}) <body = {body}>", ""

    def typed(self, name: str, rank: int | None = None) -> str:
        kind = {"float32": "float"}.get(self.row.dtype, self.row.dtype)
        return f"{kind}[{', '.join('?' * (rank or self.row.rank))}] {name}"

    def model(self) -> onnx.ModelProto:
        row = self.row
        data = "image" if row.before == "nothing" else "before"
        before = {"nothing": "", "relu": "[before] before = Relu (image)", "conv": "[c] before = Conv (image, w)"}
        if row.before == "conv":
            self.constant("w", np.random.default_rng(7).standard_normal((2, 2, 1, 1)), np.float32)
        made, function = self.housed(data)
        if row.behind == "reshape":
            self.constant("flat", [0, 0, -1], np.int64)
        elif row.behind == "skip":
            size = tuple(_Writer(row, row.factors).resized())
            self.constant("kept", np.random.default_rng(5).standard_normal(size), row.dtype)
        y, enlarged = self.typed("y", 3 if row.behind == "reshape" else None), self.typed("enlarged")
        behind, outputs = {
            "nothing": ("", [enlarged]),
            "relu": ("[behind] y = Relu (enlarged)", [y]),
            "shape": ("[size_of] size = Shape (enlarged)", [enlarged, f"int64[{row.rank}] size"]),
            "reshape": ("[flatten] y = Reshape (enlarged, flat)", [y]),
            "second": ("[doubled] y = Add (enlarged, enlarged)", [y, enlarged]),
            "skip": ("[meet] y = Add (enlarged, kept)", [y]),
        }[row.behind]
        imports = f'"" : {row.opset}' + (', "local" : 1' if function else "")
        inside = f"{before[row.before]} {made} {behind}"
        model = onnx.parser.parse_model(f"""<ir_version: {row.ir}, opset_import: [{imports}]>
            g ({self.typed("image")}) => ({", ".join(outputs)}) {{ {inside} }} {function}""")
        return self.completed(model)

    def completed(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """With its constants, the sizes of its input, and what nobody may touch."""
        row, graph = self.row, model.graph
        dims: list[object] = list(row.shape)
        if row.input == "batch":
            dims[0] = "N"
        elif row.input == "dynamic":
            dims = ["N", row.shape[1], *(f"d{axis}" for axis in range(2, row.rank))]
        graph.input[0].CopyFrom(helper.make_tensor_value_info("image", graph.input[0].type.tensor_type.elem_type, dims))
        graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in self.constants.items())
        if row.ir < 4:
            graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in graph.initializer)
        graph.name, graph.doc_string = "made from a recipe", "kept"
        helper.set_model_props(model, {"author": "kept"})
        return model
