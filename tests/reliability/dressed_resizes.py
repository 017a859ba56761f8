"""One resize that is known, in every place that a file has for it; the judge is a model of that resize alone.

`python tests/reliability/dressed_resizes.py --cases 1000 --seed 0` prints what breaks a law, with its number.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1]))

from ort_runs import run

import resizefix

node = helper.make_node
ODD = ("", "a b", "x/y", "é縮", 'q"u', "it's", "a=b", "n:0", "#1", "*", "-n", "$HOME", "{0}", "%s", "\\", "::")
PLACES = ("main", "branches", "loop", "function", "called twice over", "overload", "argument")
SINCE = {"loop": 11, "argument": 13}  # without carried values; value_floats is there from 12 on
FORMS = ("scales", "spatial", "factor")


class Dressed:
    """A drawn resize by the same factor on height and width, between two Neg, where `place` says."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        draw = self._draw.choice
        self.opset = draw((10, 11, 13, 16, 18, 19, 21))
        self.place = draw([place for place in PLACES if self.opset >= SINCE.get(place, 10)])
        self.factor = draw((2.0, 3.0, 1.5, 4.0))
        self._count = 0
        mode = draw(("nearest", "linear"))
        self._attributes = {"mode": mode}
        if self.opset >= 11:
            self._attributes["coordinate_transformation_mode"] = draw(("half_pixel", "asymmetric", "align_corners"))
            if mode == "nearest":
                self._attributes["nearest_mode"] = draw(("floor", "round_prefer_ceil"))
        self.functions: list[onnx.FunctionProto] = []
        self.initializers: list[TensorProto] = []
        self.x, self.y = self._name("x"), self._name("y")
        self.model = self._model()

    def _name(self, word: str) -> str:
        self._count += 1
        return f"{self._draw.choice(ODD)}{word}{self._count}"

    def alone(self, factor: float) -> onnx.ModelProto:
        """The resize between two Neg with its scales as an initializer, as a plain model."""
        nodes = [node("Neg", ["x"], ["a"]), *self._resize("a", "b", "s"), node("Neg", ["b"], ["y"])]
        values = (value("x", (1, 2, 5, 6)), value("y", None))
        graph = helper.make_graph(nodes, "g", values[:1], values[1:], [scales_of(factor, "s")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def _resize(self, x: str, y: str, scales: str = "") -> list[NodeProto]:
        """The node with what it reads; without `scales`, a Constant of its own."""
        nodes = []
        if not scales:
            scales = self._name("s")
            nodes.append(node("Constant", [], [scales], value=scales_of(self.factor)))
        roi = self._name("roi") if 11 <= self.opset < 13 else ""
        if roi:
            nodes.append(node("Constant", [], [roi], value=numpy_helper.from_array(np.zeros(0, np.float32))))
        inputs = [x, scales] if self.opset == 10 else [x, roi, scales]
        return [*nodes, node("Resize", inputs, [y], name=self._name("n"), **self._attributes)]

    def _function(
        self, name: str, nodes: Sequence[NodeProto], overload: str = "", attributes: Sequence[str] = ()
    ) -> None:
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("l", 1)]
        made = helper.make_function("l", name, ["fa"], ["fb"], nodes, imports, attributes)
        made.overload = overload
        self.functions.append(made)

    def _placed(self, x: str, y: str) -> list[NodeProto]:
        if self.place == "main":
            scales = self._name("s")
            self.initializers.append(scales_of(self.factor, scales))
            return self._resize(x, y, scales)
        if self.place == "branches":
            condition = self._name("c")
            self.initializers.append(numpy_helper.from_array(np.array(self._draw.random() < 0.5), condition))
            bodies = [graph_of(self._resize(x, name), name) for name in ("then", "else")]
            return [node("If", [condition], [y], then_branch=bodies[0], else_branch=bodies[1])]
        if self.place == "loop":
            names = [self._name(word) for word in ("trips", "go", "all", "last")]
            constants = (np.array(2), np.array(True), np.array(1))
            self.initializers += map(numpy_helper.from_array, constants, (*names[:2], names[3]))
            body = graph_of([*self._resize(x, "made"), node("Identity", ["go"], ["goes"])], "goes", "made")
            body.input.extend([value("turn", (), TensorProto.INT64), value("go", (), TensorProto.BOOL)])
            body.output[0].type.tensor_type.elem_type = TensorProto.BOOL
            return [node("Loop", names[:2], names[2:3], body=body), node("Gather", names[2:], [y])]
        attributes = {}
        if self.place == "argument":
            held = node("Constant", [], ["fs"])
            held.attribute.add(name="value_floats", ref_attr_name="by", type=onnx.AttributeProto.FLOATS)
            self._function("F", [held, *self._resize("fa", "fb", "fs")], attributes=["by"])
            attributes = {"by": [1.0, 1.0, self.factor, self.factor]}
        else:
            self._function("F", self._resize("fa", "fb"))
        if self.place == "called twice over":
            self._function("G", [node("F", ["fa"], ["fb"], domain="l")])
        if self.place == "overload":
            self._function("F", [node("Neg", ["fa"], ["fb"])], "other")
        return [node("G" if self.place == "called twice over" else "F", [x], [y], domain="l", **attributes)]

    def _model(self) -> onnx.ModelProto:
        before, after = self._name("a"), self._name("b")
        nodes = [node("Neg", [self.x], [before]), *self._placed(before, after), node("Neg", [after], [self.y])]
        values = (value(self.x, (1, 2, 5, 6)), value(self.y, None))
        graph = helper.make_graph(nodes, "g", values[:1], values[1:], self.initializers)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("l", 1)]
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=10)


def value(name: str, shape: Sequence[int] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def scales_of(factor: float, name: str = "") -> TensorProto:
    return numpy_helper.from_array(np.array([1, 1, factor, factor], np.float32), name)


def graph_of(nodes: Sequence[NodeProto], *outputs: str) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", [], [value(name, None) for name in outputs])


def broken(seed: int, tally: Counter[str]) -> list[str]:
    """What the laws say against one case: at the old factor and at others, promoted, raised and frozen again, it
    computes what the resize alone does."""
    case = Dressed(seed)
    image = np.random.default_rng(seed).standard_normal((1, 2, 5, 6)).astype(np.float32)
    draw = random.Random(seed)
    form, verify = draw.choice(FORMS), draw.random() < 0.5
    raised = draw.choice((None, 21)) if case.opset < 21 else None
    options = f"{seed} {case.place}, opset {case.opset}: {form}, opset={raised}, verify={verify}"
    result = resizefix.promote_scales(
        case.model, form=form, opset=raised, shared=True, verify=verify, on_refusal="return"
    )
    if not result.inputs:
        return [f"{options}: {[outcome.reason for outcome in result.outcomes]}"]
    found = []
    name = result.inputs[0].name
    for factor in (case.factor, 1.0, 2.5, 3.0):
        fed = {"scales": [1, 1, factor, factor], "spatial": [factor, factor], "factor": [factor]}[form]
        frozen = resizefix.freeze_scales(result.model, set={name: fed}, verify=False, on_refusal="return").model
        (wanted,) = run(case.alone(factor), {"x": image})
        feeds = {case.x: image, name: np.array(fed, np.float32)}
        for what, (made,) in (("promoted", run(result.model, feeds)), ("frozen", run(frozen, {case.x: image}))):
            tally[what] += 1
            if not np.array_equal(wanted, made):
                found.append(f"{options}: {what} at {factor}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tally: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.cases):
        for line in broken(seed, tally):
            print(line, flush=True)
    print(f"{given.cases} cases, comparisons: {dict(tally)}")


if __name__ == "__main__":
    main()
