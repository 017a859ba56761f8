"""What each operator becomes at opset 8: it computes the same bits, or numbers within a bound."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import helper
from opset_pair import AWKWARD, Feeds, assert_same, lowered, model_of, normal, operators, run, versions_of

from resizefix.opsets import elementwise, reductions


@dataclass(frozen=True)
class Kept:
    """What holds for operators, at every version that their rows read or at the one that stands behind a hyphen. In
    the graph, OP stands for each; where it is a function it is asked for each version."""

    law: str
    op_types: str
    graph: str | Callable[[int], str]
    feeds: Feeds
    becomes: str = ""  # the operators of the new model
    attributes: dict[str, Any] | None = None  # of its first node
    bound: float | None = None

    @property
    def cases(self):
        for word in self.op_types.split():
            op_type, _, version = word.partition("-")
            for one in (int(version),) if version else versions_of(op_type):
                yield pytest.param(self, op_type, one, id=f"{self.law}-{op_type}-{one}")


def listed(name: str, values: list[int], since: int, graph: str) -> Callable[[int], str]:
    """The graph whose node has integers as an input since that version, and as an attribute before."""
    text = ",".join(map(str, values))

    def spelled(version: int) -> str:
        if version < since:
            return graph.replace("INPUT", "").replace("ATTRIBUTE", f"{name}=[{text}]").replace("DECLARED", "")
        declared = f"<int64[{len(values)}] {name} = {{{text}}}>"
        without = graph.replace(", ATTRIBUTE", "").replace("<ATTRIBUTE>", "")
        return without.replace("INPUT", f", {name}").replace("DECLARED", declared)

    return spelled


def column(values: np.ndarray) -> np.ndarray:
    return values[:, None].copy()


def mapped(kind: str, size: int, result: str = "", call: str = "OP(x)") -> str:
    """One operator from a vector to a vector of the same length."""
    return f"g ({kind}[{size}] x) => ({result or kind}[{size}] y) {{ y = {call} }}"


def pairs(kind: str, size: int, result: str = "bool") -> str:
    return f"g ({kind}[{size}] a, {kind}[{size},1] b) => ({result}[{size},{size}] y) {{ y = OP(a, b) }}"


X, IMAGE = {"x": AWKWARD}, {"x": normal(2, 3, 4, 5)}
LARGE = np.array([0, 1, -1, 2**62, 2**62 + 1, -(2**62), 2**63 - 1, -(2**63), 2**53, 2**53 + 1, 7, -9])
EDGES = {
    "int64": np.array([*LARGE, -(2**62) - 1, -(2**53) - 1]),
    "int32": np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**24, 2**24 + 1], np.int32),
}
EVERY_OTHER = np.arange(16) % 2 == 0
NAN = np.array([np.nan], np.float32)
RANDOM = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 4000, dtype=np.int64)
HALVES = np.arange(-9, 9).astype(np.float32) / 2
FAR = np.array([2**22 + 0.5, 2**23 - 0.5, 2**23 + 1, 2**24 + 2, -(2**22) - 1.5], np.float32)
TO_ROUND = np.concatenate([AWKWARD, HALVES, np.nextafter(HALVES, np.float32(100)), FAR, normal(1000) * 100])
ON_IMAGES = {  # the other input, what it is fed, attributes
    "Conv": ("float[4,3,3,3] w", normal(4, 3, 3, 3), "<pads=[1,1,1,1]>"),
    "LRN": ("", None, "<size=3>"),
    "MatMul": ("float[2,3,5,2] w", normal(2, 3, 5, 2), ""),
    "MaxRoiPool": ("float[1,5] w", np.array([[0, 0, 0, 3, 3]], np.float32), "<pooled_shape=[2,2]>"),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpNormalization"), ("", None, "")),
    **dict.fromkeys(("Mean", "Sum"), ("float[3,1,5] w", normal(3, 1, 5), "")),
}
DRAWING = {  # the output, attributes, inputs
    "Multinomial": ("int32[2,3]", "<seed=1.0, sample_size=3>(x)"),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), ("float[2,3]", "<seed=1.0, shape=[2,3]>()")),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike"), ("float[2,4]", "<seed=1.0>(x)")),
}
# onnxruntime 1.31 has no kernel for these at version 22: there the node must simply stay what it was.
NO_KERNEL = {*DRAWING, "GlobalLpPool", "MaxRoiPool"}
OTHERS = {"Add", "Div", "Mul", "PRelu", "Pow", "Sub", "InstanceNormalization"}
OTHERS |= {"Cast", "CastLike", "Dropout", "LSTM", "GRU", "RNN"}
# Whatever else the family holds is a function of one value, so that no row goes untested.
OF_ONE = [row.op_type for row in elementwise.MORE_TYPES if row.op_type not in {*ON_IMAGES, *DRAWING, *OTHERS}]
REDUCTIONS = [row.op_type for row in reductions.ROWS if row.op_type.startswith("Reduce")]
IN_PARTS = ("ReduceLogSum", "ReduceLogSumExp")  # onnxruntime computes them at opset 28 by other operators
POSITIVE = np.abs(normal(2, 3, 4, 5)) + np.float32(0.1)
VECTORS = ", ".join(f"float[3] {name}" for name in "sbmv")
LOOP = """g (int64 n, bool c, float[2,3] x) => (float[2,3] y) {
    y = OP(n, c, x) <body = b (int64 i, bool ci, float[2,3] v) => (bool co, float[2,3] w)
        { co = Identity(ci) s = Softmax<axis=-1>(v) w = Clip(s) }> }"""
SCAN = """g (float[3] h, float[T,3] x) => (float[3] y, float[T,3] s) {
    y, s = OP <num_scan_inputs=1, DIRECTION body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
        { w = Add(v, e) o = Identity(w) }> (h, x) }"""
BRANCHES = {
    "branches of 11": """g (bool c, float[2] x) => (float[2] y) {
        y = OP(c) < then_branch = t () => (float[2] a) { a = Softmax<axis=-1>(x) },
                    else_branch = e () => (float[2] b) { b = Clip(x) } > }""",
    "a constant of one name in two branches has two values": """g (bool c, float[2] x) => (float[2] y) {
        y = OP(c) < then_branch = t () => (float[2] a) <float k = {2}> { a = Mul(x, k) },
                    else_branch = e () => (float[2] b) <float k = {3}> { b = Mul(x, k) } > }""",
    "a branch may be a constant": """g (bool c, float[2] x) => (float[2] y) {
        y = OP(c) < then_branch = t () => (float[2] a) { a = Constant<value_floats=[1.0, 2.0]>() },
                    else_branch = e () => (float[2] b) <float[2] b = {3, 4}> { } > }""",
}

COMPARED = [
    *(Kept("all pairs of awkward floats compare the same", names, pairs(kind, 16),
           {"a": AWKWARD.astype(dtype), "b": column(AWKWARD.astype(dtype))}, becomes)
      for kind, dtype in (("float", np.float32), ("double", np.float64))
      for names, becomes in (("Less Greater", "OP"), ("Equal LessOrEqual GreaterOrEqual", ""))),
    *(Kept("all pairs of integers at the edges compare the same", "Equal Less Greater LessOrEqual GreaterOrEqual",
           pairs(kind, values.size), {"a": values, "b": column(values)}) for kind, values in EDGES.items()),
    Kept("random int64 compare the same", "Less-13", "g (int64[N] a, int64[N] b) => (bool[N] y) { y = OP(a, b) }",
         {"a": RANDOM, "b": RANDOM + np.random.default_rng(1).integers(-3, 4, 4000)}),
    Kept("what is no ordinary number is found", "IsNaN IsInf", mapped("float", 16, "bool"), X),
    *(Kept("infinities of one sign are found", "IsInf", mapped("float", 16, "bool", f"OP<{sides}=0>(x)"), X)
      for sides in ("detect_negative", "detect_positive")),
    Kept("the sign of a NaN is that NaN", "Sign", mapped("float", 16), X),
    *(Kept("integers have a sign", "Sign-13", mapped(kind, values.size), {"x": values})
      for kind, values in EDGES.items()),
    Kept("round is equal as numbers", "Round", mapped("float", TO_ROUND.size), {"x": TO_ROUND}, bound=0.0),
    *(Kept("the rest of integers has the right sign", "Mod",
           f"g ({kind}[19] a, {kind}[7,1] b) => ({kind}[7,19] y) {{ y = OP<fmod={fmod}>(a, b) }}",
           {"a": np.arange(-9, 10).astype(kind), "b": column(np.array([-5, -3, -1, 1, 2, 4, 7], kind))})
      for kind in ("int64", "int32") for fmod in (0, 1)),
]  # fmt: skip
ELEMENTWISE = [
    Kept("a function of one value keeps its bits", " ".join(OF_ONE), mapped("float", 16), X, "OP"),
    Kept("a function of two values keeps its bits", "Add Div Mul Pow Sub",
         "g (float[16] x, float[3,1] w) => (float[3,16] y) { y = OP(x, w) }", {**X, "w": normal(3, 1)}, "OP"),
    Kept("a slope for all keeps its bits", "PRelu", "g (float[16] x, float[1] w) => (float[16] y) { y = OP(x, w) }",
         {**X, "w": normal(1)}, "OP"),
    *(Kept("an operator on images keeps its bits", op_type,
           f"g (float[2,3,4,5] x{', ' * bool(other)}{other}) => (float[A,B,C,D] y) "
           f"{{ y = OP{attributes}(x{', w' * bool(other)}) }}", {**IMAGE, "w": w} if other else IMAGE, "OP")
      for op_type, (other, w, attributes) in ON_IMAGES.items()),
    Kept("an instance normalization keeps its bits", "InstanceNormalization",
         "g (float[2,3,4,5] x, float[3] w, float[3] b) => (float[2,3,4,5] y) { y = OP(x, w, b) }",
         {**IMAGE, "w": normal(3), "b": normal(3, seed=1)}, "OP"),
    *(Kept("a seeded random operator draws the same", op_type, f"g (float[2,4] x) => ({output} y) {{ y = OP{call} }}",
           {"x": normal(2, 4)}, "OP") for op_type, (output, call) in DRAWING.items()),
    Kept("a cast loses the attributes for float8", "Cast",
         lambda version: mapped("float", 20, "int32", f"OP<to=6{', saturate=1' * (version >= 19)}>(x)"),
         {"x": normal(20) * 50}, attributes={"to": 6}),
    Kept("CastLike casts to the type it sees", "CastLike",
         "g (float[20] x, int32[1] w) => (int32[20] y) { y = OP(x, w) }",
         {"x": normal(20) * 50, "w": np.zeros(1, np.int32)}, "Cast"),
    Kept("a constant integer exponent becomes a float", "Pow",
         "g (float[16] x) => (float[16] y) <int64 p = {3}> { y = OP(x, p) }", X),
    Kept("dropout at inference is the identity", "Dropout",
         lambda version: "g (float[16] x) => (float[16] y) <float r = {0.5}, bool t = {0}> "
                         f"{{ y = OP{'(x)' if version < 12 else '(x, r, t)'} }}", X, "Identity"),
    *(Kept("a recurrent net keeps its bits", op_type,
           f"""g (float[5,2,3] x, float[1,{4 * gates},3] w, float[1,{4 * gates},4] r) => (float[5,1,2,4] y)
           {{ y = OP<hidden_size=4, layout=0>(x, w, r) }}""",
           {"x": normal(5, 2, 3), "w": normal(1, 4 * gates, 3, seed=1), "r": normal(1, 4 * gates, 4, seed=2)},
           attributes={"hidden_size": 4}) for op_type, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
    *(Kept("other transposed convolutions stay", "ConvTranspose-11",
           f"g (float[1,2,4,5] x, float[2,3,3,3] w) => (float[1,C,A,B] y) {{ y = OP<{attributes}>(x, w) }}",
           {"x": normal(1, 2, 4, 5), "w": normal(2, 3, 3, 3)}, "OP")
      for attributes in ("pads=[1,0,1,0], output_padding=[1,1], strides=[2,2]", "dilations=[2,1], group=2")),
    Kept("a MatMul of many axes is what it was", "MatMul-13",
         "g (float[2,1,3,4] x, float[5,4,2] w) => (float[2,5,3,2] y) { y = OP(x, w) }",
         {"x": normal(2, 1, 3, 4), "w": normal(5, 4, 2)}, "OP"),
    Kept("batch normalization at inference keeps its bits", "BatchNormalization",
         f"g (float[2,3,4] x, {VECTORS}) => (float[2,3,4] y) {{ y = OP<epsilon=0.01>(x, s, b, m, v) }}",
         {"x": normal(2, 3, 4), "s": normal(3), "b": normal(3, seed=1), "m": normal(3, seed=2),
          "v": np.abs(normal(3, seed=3))}),
    Kept("the indices of a max pool are kept", "MaxPool-12",
         """g (float[1,2,7,9] x) => (float[1,2,A,B] y, int64[1,2,A,B] i)
         { y, i = OP<kernel_shape=[3,3], strides=[2,2], ceil_mode=1, storage_order=0>(x) }""",
         {"x": normal(1, 2, 7, 9)}),
]  # fmt: skip
REDUCED = [
    *(Kept("a reduction takes its axes into an attribute", names,
           listed("axes", [-1, 1], since, f"g (float[2,3,4,5] x) => (float[{shape}] y) DECLARED "
                                          f"{{ y = OP<keepdims={keepdims}, ATTRIBUTE>(xINPUT) }}"),
           {"x": POSITIVE}, attributes={"keepdims": keepdims, "axes": [3, 1]}, bound=bound)
      for names, since, bound in (
          ("ReduceSum", 13, None),
          (" ".join(name for name in REDUCTIONS if name not in {"ReduceSum", *IN_PARTS}), 18, None),
          (" ".join(f"{name}-{version}" for name in IN_PARTS for version in (11, 13, 18)), 18, None),
          (" ".join(f"{name}-28" for name in IN_PARTS), 18, 2e-7))
      for keepdims, shape in ((0, "A,B"), (1, "A,B,C,D"))),
    Kept("without axes everything is reduced", " ".join(f"{name}-18" for name in REDUCTIONS),
         "g (float[N,M] x) => (float[A,B] y) { y = OP(x) }", {"x": POSITIVE[0, 0]}),
    Kept("a reduction over nothing is the identity",
         "ReduceMax-18 ReduceMean-18 ReduceMin-18 ReduceProd-18 ReduceSum-18",
         mapped("float", 16, call="OP<noop_with_empty_axes=1>(x)"), X, "Identity"),
    *(Kept("extremes of small integers go through int32", "ReduceMax-12 ReduceMin-18 ReduceMax-20",
           listed("axes", [-1], 18, f"g ({kind}[2,3] x) => ({kind}[2,1] y) DECLARED {{ y = OP<ATTRIBUTE>(xINPUT) }}"),
           {"x": np.array([[1, 200, 3], [127, 128, 129]]).astype(kind)}, "Cast OP Cast") for kind in ("uint8", "int8")),
    *(Kept("integers that were always taken stay", "ReduceSum-13",
           f"g ({kind}[2,3] x) => ({kind}[2,1] y) <int64[1] a = {{1}}> {{ y = OP(x, a) }}",
           {"x": np.array([[2**30, 2**30, 2**30], [1, 2, 3]]).astype(kind)}, "OP") for kind in ("int32", "int64")),
    Kept("the first of equal extremes is found", "ArgMax ArgMin",
         "g (float[3,5] x) => (int64[3,1] y) { y = OP<axis=-1>(x) }",
         {"x": np.array([[0, 1, 1, 0, 0], [2, 2, 2, 2, 2], [3, 1, 3, 1, 0]], np.float32)}),
]  # fmt: skip
NORMALIZED = [
    Kept("layer normalization needs no bias and takes doubles", "LayerNormalization-17",
         "g (double[2,8] x, double[8] s) => (double[2,8] y) { y = OP(x, s) }",
         {"x": normal(2, 8, dtype=np.float64), "s": normal(8, dtype=np.float64)}, bound=2e-6),
    *(Kept("RMS normalization keeps within its bound", "RMSNormalization",
           f"g (float[2,3,8] x, float[{sizes}] s) => (float[2,3,8] y) {{ y = OP<axis={axis}>(x, s) }}",
           {"x": normal(2, 3, 8) * 3 + 1, "s": scale}, bound=2e-6)
      for axis, sizes, scale in ((1, "3,8", normal(3, 8)), (-1, "8", normal(8)))),
    *(Kept("group normalization keeps within its bound", "GroupNormalization-21",
           f"g (float[{sizes}] x, float[6] s, float[6] b) => (float[{sizes}] y) {{ y = OP<num_groups=3>(x, s, b) }}",
           {"x": normal(*map(int, sizes.split(","))) * 3 + 1, "s": normal(6), "b": normal(6, seed=1)}, bound=2e-6)
      for sizes in ("2,6,4,5", "2,6,7", "1,6,2,3,4")),
]  # fmt: skip
SELECTED = [
    *(Kept("one condition for all works on dynamic shapes", "Where-16",
           "g (bool c, float[N] a, float[M,1] b) => (float[M,N] y) { y = OP(c, a, b) }",
           {"c": np.array(condition), "a": AWKWARD, "b": column(NAN).repeat(2, 0)}, bound=0.0)
      for condition in (True, False)),
    *(Kept("integers are chosen on dynamic shapes", "Where-16",
           f"g (bool[N] c, {kind}[N] a, {kind} b) => ({kind}[N] y) {{ y = OP(c, a, b) }}",
           {"c": EVERY_OTHER[:12], "a": values.astype(kind), "b": np.array(9, kind)})
      for kind, values in (("int64", LARGE), ("int32", np.arange(12)), ("uint8", np.arange(12)))),
    Kept("strings are chosen where the shape is fixed", "Where-16",
         "g (bool[16] c, string[16] a, string[1] b) => (string[16] y) { y = OP(c, a, b) }",
         {"c": EVERY_OTHER, "a": np.array([f"w{i}" for i in range(16)], object), "b": np.array(["other"], object)}),
    *(Kept("a triangle keeps its bits", "Trilu",
           f"g (float[2,4,4] x) => (float[2,4,4] y) <int64 k = {{{offset}}}> {{ y = OP<upper={upper}>(x, k) }}",
           {"x": AWKWARD.reshape(1, 4, 4).repeat(2, 0)}) for upper in (0, 1) for offset in (-1, 0, 2)),
    *(Kept("what is cut off is zero even for NaN and infinity", op_type, mapped("float", 16, call=call), X)
      for op_type, call in (("ThresholdedRelu", "OP<alpha=0.75>(x)"), ("Shrink", "OP<lambd=0.75, bias=0.25>(x)"))),
    Kept("extremes of awkward floats", "Max Min", pairs("float", 16, "float"),
         {"a": AWKWARD, "b": column(AWKWARD)}, "OP"),
    Kept("extremes of int64 are exact", "Max Min",
         "g (int64[12] a, int64[12,1] b, int64 c) => (int64[12,12] y) { y = OP(a, b, c) }",
         {"a": LARGE, "b": column(LARGE), "c": np.array(5)}),
    Kept("extremes of int32 go through doubles", "Max-13 Min-13", pairs("int32", 7, "int32"),
         {"a": EDGES["int32"], "b": column(EDGES["int32"])}),
    *(Kept("constant bounds become attributes", "Clip",
           f"g (float[16] x) => (float[16] y) <float l = {{-0.5}}, float h = {{2}}> {{ y = OP({bounds}) }}", X, becomes)
      for bounds, becomes in (("x, l, h", "OP"), ("x, l", "OP"), ("x", "OP"), ("x, h, l", "Max Min"))),
    Kept("an upper bound alone leaves the lower end to the type", "Clip-13",
         "g (float[16] x) => (float[16] y) <float h = {2}> { y = OP(x, , h) }", X),
    Kept("a constant bound that is no number binds nothing", "Clip-13",
         "g (float[16] x) => (float[16] y) <float l = {nan}, float h = {2}> { y = OP(x, l, h) }", X, "OP"),
    Kept("doubles whose bounds attributes cannot hold become Max and Min", "Clip-13",
         "g (double[16] x) => (double[16] y) <double h = {0.1}> { y = OP(x, , h) }", {"x": AWKWARD.astype(np.float64)}),
    *(Kept("integers are clipped exactly", "Clip-13",
           f"g ({kind}[N] x) => ({kind}[N] y) <{kind} l = {{1}}, {kind} h = {{{high}}}> {{ y = OP(x, l, h) }}",
           {"x": values.astype(kind)})
      for kind, high, values in (("int64", 2**53 + 1, LARGE), ("int32", 100, np.array([0, 1, 2, 99, 100, 101, 127])),
                                 ("uint8", 100, np.array([0, 1, 2, 99, 100, 101, 127])))),
]  # fmt: skip
SHAPED = [
    Kept("Unsqueeze counts axes from the front of the result", "Unsqueeze",
         listed("axes", [0, -1], 13, "g (float[2,3] x) => (float[1,2,3,1] y) DECLARED { y = OP<ATTRIBUTE>(xINPUT) }"),
         {"x": normal(2, 3)}, attributes={"axes": [0, 3]}),
    Kept("Squeeze takes its axes into an attribute", "Squeeze",
         listed("axes", [-1], 13, "g (float[1,2,3,1] x) => (float[1,2,3] y) DECLARED { y = OP<ATTRIBUTE>(xINPUT) }"),
         {"x": normal(1, 2, 3, 1)}, attributes={"axes": [3]}),
    Kept("Squeeze without axes stays so", "Squeeze-13", "g (float[1,2,3,1] x) => (float[2,3] y) { y = OP(x) }",
         {"x": normal(1, 2, 3, 1)}, attributes={}),
    Kept("Concat counts its axis from the front", "Concat",
         "g (float[2,3,4,5] x) => (float[2,3,8,5] y) { y = OP<axis=-2>(x, x) }", IMAGE, attributes={"axis": 2}),
    *(Kept("Flatten of floats stays Flatten", "Flatten",
           lambda version, axis=axis: "g (float[2,3,4,5] x) => (float[A,B] y) "
                                      f"{{ y = OP<axis={2 if version < 11 and axis < 0 else axis}>(x) }}", IMAGE, "OP")
      for axis in (-1, 0, 1, 3)),
    *(Kept("Flatten of integers becomes a Reshape", "Flatten-13",
           f"g (int64[{shape}] x) => (int64[A,B] y) {{ y = OP<axis={axis}>(x) }}",
           {"x": np.arange(24).reshape(2, 3, 4)}, "Reshape")
      for axis, shape in ((0, "2,3,4"), (1, "N,M,4"), (2, "2,3,4"), (-1, "2,3,4"))),
    Kept("Reshape keeps its bits", "Reshape",
         lambda version: "g (float[2,3,4,5] x) => (float[6,20] y) <int64[2] s = {6,-1}> "
                         f"{{ y = OP{'<allowzero=1>' * (version >= 14)}(x, s) }}", IMAGE, attributes={}),
    *(Kept("what a dynamic input makes stays", op_type, f"g (float[N,3,4] x) => ({kind} y) {{ y = OP(x) }}",
           {"x": normal(2, 3, 4)}, "OP") for op_type, kind in (("Shape", "int64[3]"), ("Size", "int64"))),
    *(Kept("start and end of a shape become a slice",
           " ".join(f"Shape-{version}" for version in versions_of("Shape") if version >= 15),
           f"g (float[N,M,4] x) => (int64[K] y) {{ y = OP<{bounds}>(x) }}", {"x": normal(2, 3, 4)})
      for bounds in ("start=-2", "start=1, end=-1", "end=1", "start=0", "start=-9, end=9", "start=2, end=1")),
    Kept("a slice to an end that fixed shapes make constant is folded", "Slice-13",
         """g (float[6,4] x, float[3,4] z) => (float[3,4] y) <int64[1] s={0}, int64[1] i={0}>
         { n = Shape(z) e = Gather(n, i) y = OP(x, s, e) }""", {"x": normal(6, 4), "z": normal(3, 4)}, "OP"),
    Kept("negative pads crop as before", "Pad-13",
         "g (float[4,5] x) => (float[3,6] y) <int64[4] p = {-1,1,0,0}> { y = OP(x, p) }", {"x": normal(4, 5)}),
    *(Kept("small integers are padded as doubles", "Pad-13",
           f"g ({kind}[2,3] x) => ({kind}[2,5] y) <int64[4] p = {{0,1,0,1}}, {kind} v = {{1}}> {{ y = OP(x, p, v) }}",
           {"x": np.arange(6).reshape(2, 3).astype(kind)}, becomes)
      for kind, becomes in (*((one, "Cast OP Cast") for one in ("int32", "uint8", "int8")), ("bool", ""))),
    Kept("Split keeps its lengths in an attribute", "Split",
         listed("split", [1, 3], 13, "g (float[2,3,4,5] x) => (float[2,3,1,5] a, float[2,3,3,5] b) DECLARED "
                                     "{ a, b = OP<axis=-2, ATTRIBUTE>(xINPUT) }"), IMAGE),
    *(Kept("uneven parts are written out", "Split-18",
           f"g (float[{size}] x) => (float[K] a, float[L] b, float[M] c) {{ a, b, c = OP<num_outputs=3>(x) }}",
           {"x": normal(size)}) for size in (6, 7, 5)),
    Kept("equal parts of a dynamic axis stay equal before 18", "Split-13",
         "g (float[N] x) => (float[A] a, float[B] b) { a, b = OP(x) }", {"x": normal(6)}),
    Kept("indices known to be negative are counted from the front", "Gather",
         "g (float[2,3,4,5] x) => (float[2,3,2,5] y) <int64[2] i = {-1,2}> { y = OP<axis=-2>(x, i) }", IMAGE, "OP"),
    *(Kept("indices that may be negative are made positive", "Gather-13",
           f"g (float[{shape}] x, {kind} i) => (float[{dims}] y) {{ y = OP(x, i) }}", {"x": normal(4, 3), "i": indices})
      for shape in ("4,3", "N,3", "N,M")
      for kind, dims, indices in (("int64[2]", "A,B", np.array([-1, 2])), ("int32", "A", np.array(-4, np.int32)),
                                  ("int64[1,2]", "A,B,C", np.array([[0, -2]])))),
    Kept("indices that are never negative are left alone", "Gather-13",
         "g (float[4,3] x, float[5] z) => (float[1,3] y) { i = ArgMax<axis=0>(z) y = OP(x, i) }",
         {"x": normal(4, 3), "z": np.array([0, 2, 3, 1, 0], np.float32)}, "ArgMax OP"),
    Kept("a GatherND of rows by fed indices is a Gather", "GatherND",
         "g (float[3,4] x, int64[2,1] i) => (float[2,4] y) { y = OP(x, i) }",
         {"x": normal(3, 4), "i": np.array([[0], [-1]])}),
    Kept("a GatherND of rows is a Gather", "GatherND",
         "g (float[3,4] x) => (float[2,4] y) <int64[2,1] i = {0,-1}> { y = OP(x, i) }", {"x": normal(3, 4)}, "Gather"),
    *(Kept("a constant of a run-time shape is expanded", "ConstantOfShape",
           f"g (int64[2] s) => ({kind}[A,B] y) {{ y = OP{value}(s) }}", {"s": np.array(shape)}, "Expand")
      for kind, value in (("float", ""), ("float", "<value = float[1] {2.5}>"), ("int64", "<value = int64[1] {7}>"))
      for shape in ([2, 3], [0, 3])),
    *(Kept("DepthToSpace permutes the channels for CRD", "DepthToSpace",
           f'g (float[1,12,H,W] x) => (float[1,3,A,B] y) {{ y = OP<blocksize=2, mode="{mode}">(x) }}',
           {"x": normal(1, 12, 2, 3)}, becomes) for mode, becomes in (("DCR", "OP"), ("CRD", "Gather OP"))),
    *(Kept("TopK of floats with ties", "TopK",
           lambda version, largest=largest: f"""g (float[3,5] x) => (float[2,5] v, int64[2,5] i) <int64[1] k = {{2}}>
           {{ v, i = OP<{f"axis=-2, largest={largest}" if version >= 11 else "axis=0"}>(x, k) }}""",
           {"x": np.random.default_rng(0).integers(0, 3, (3, 5)).astype(np.float32)}) for largest in (0, 1)),
    *(Kept("TopK of int32 goes through doubles", "TopK-11",
           f"""g (int32[3,5] x) => (int32[3,2] v, int64[3,2] i) <int64[1] k = {{2}}>
           {{ v, i = OP<largest={largest}>(x, k) }}""",
           {"x": np.array([[2**31 - 1, -(2**31), 0, 2**24 + 1, 2**24]] * 3, np.int32)}) for largest in (0, 1)),
    Kept("a constant range is folded", "Range",
         """g (int64[3] x) => (int64[3] y) <int64 a={5}, int64 b={-1}, int64 d={-2}>
         { r = OP(a, b, d) y = Add(x, r) }""", {"x": np.arange(3)}, "Add"),
    *(Kept("what only learnt more types stays as it is", op_type,
           f"g (float[1,3,4,6] x) => (float[A,B,C,D] y) <int64[4] s = {{2,3,4,6}}> {{ y = OP{call} }}",
           {"x": normal(1, 3, 4, 6)}, "OP")
      for op_type, call in (("SpaceToDepth", "<blocksize=2>(x)"), ("Transpose", "<perm=[1,0,3,2]>(x)"),
                            ("Identity", "(x)"), ("Expand", "(x, s)"), ("Tile", "(x, s)"))),
    Kept("a large constant is left on disk", "ConstantOfShape-13",
         "g (float[1] x) => (float[A] y) <int64[1] n = {100000}> { w = OP(n) y = Add(x, w) }",
         {"x": normal(1)}, "Expand Add"),
]  # fmt: skip
IN_BODIES = [
    *(Kept(law, "If-11" if "Softmax" in graph else "If-13", graph, {"c": np.array(condition), "x": normal(2)})
      for law, graph in BRANCHES.items() for condition in (True, False)),
    *(Kept("a loop carries on", f"Loop-{version}", """g (int64 n, bool c, float[3] x) => (float[3] y, float[T,1,3] s) {
        y, s = OP(n, c, x) <body = b (int64 i, bool ci, float[3] v) => (bool co, float[3] w, float[1,3] o)
            <int64[1] ax = {0}> { co = Identity(ci) w = Add(v, x) o = Unsqueeze(w, ax) }> }""",
           {"n": np.array(3), "c": np.array(True), "x": normal(3)})
      for version in versions_of("Loop") if version >= 13),
    Kept("a loop of 11", "Loop-11", LOOP, {"n": np.array(3), "c": np.array(True), "x": normal(2, 3)}),
    *(Kept("a scan becomes a batch of one", "Scan", SCAN.replace("DIRECTION", direction),
           {"h": normal(3), "x": normal(4, 3)}, "Unsqueeze Unsqueeze OP Squeeze Squeeze")
      for direction in ("", "scan_input_directions=[1],")),
]  # fmt: skip
ROWS = [*COMPARED, *ELEMENTWISE, *REDUCED, *NORMALIZED, *SELECTED, *SHAPED, *IN_BODIES]


@pytest.mark.parametrize(("row", "op_type", "version"), [case for row in ROWS for case in row.cases])
def test_the_older_form_computes_the_same(row, op_type, version):
    graph = row.graph if isinstance(row.graph, str) else row.graph(version)
    model = model_of(version, graph.replace("OP", op_type))
    if version == 22 and op_type in NO_KERNEL:
        after, result = lowered(model)
        assert not result.steps
        assert list(after.graph.node) == list(model.graph.node)
        run(after, row.feeds)
        return
    after = assert_same(model, row.feeds, row.bound)
    assert not row.becomes or operators(after) == row.becomes.replace("OP", op_type).split()
    if row.attributes is not None:
        found = {entry.name: helper.get_attribute_value(entry) for entry in after.graph.node[0].attribute}
        assert found == row.attributes
