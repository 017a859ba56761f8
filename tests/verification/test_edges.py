"""The values that nodes name, in the units of the inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx_text import document

from resizefix.verification.deciding_inputs import DECIDING, deciding_inputs
from resizefix.verification.draws import FLOATS
from resizefix.verification.edges import EDGES, edges


def named(graph: str, opset: int = 18, name: str = "x") -> list[float]:
    return [round(value, 4) for value in edges(document(graph, opset, "own")).numbers.get(name, ())]


# In steps of a half: the least number of uint8, which is 0, the largest, and the zero point 11, each with its sides.
QUANTISED = [-5.75, -5.5, -5.25, -0.25, 0, 0.25, 121.75, 122, 122.25]


@pytest.mark.parametrize(
    ("nodes", "values"),
    [
        ("y = Clip(x, a, b)", [-6, 20]),
        ("c = Greater(x, b) y = Cast<to = 1>(c)", [20]),
        ("y = Max(a, x)", [-6]),
        ("y = Shrink<lambd = 2.0>(x)", [-2, 2]),
        ("y = HardSigmoid(x)", [-2.5, 2.5]),
        ("y = ThresholdedRelu<alpha = 3.0>(x)", [3]),
        ("s = Mul(x, b) y = Min(s, a)", [-0.3]),
        ("s = Div(x, b) y = Min(s, a)", [-120]),
        ("s = Sub(b, x) y = Min(s, a)", [26]),
        ("s = Add(x, b) t = Neg(s) y = Min(t, a)", [-14]),
        ("s = Exp(x) y = Min(s, b)", [round(math.log(20), 4)]),
        ("s = Exp(x) y = Min(s, a)", []),  # it is never below 0
        ("s = Shape(x) y = Cast<to = 1>(s)", []),
        ("y = Min(x, far)", []),  # no limit at all
        ("k = Constant<value_float = 7.0>() y = Min(x, k)", [7]),
        ("y = own.f(x)", [9]),
        ("y = Cast<to = 3>(x)", [-128, 127]),
        ("y = Cast<to = 10>(x)", [-2048, 2048]),
        ("s = Add(x, b) y = Cast<to = 9>(s)", [-20]),
        ("s = Mul(x, b) t = Sub(s, a) y = Sign(t)", [-0.3]),
        ("q = QuantizeLinear(x, h, z) f = Cast<to = 1>(q) y = Min(f, b)", [*QUANTISED, 4.5]),
        ("d = DequantizeLinear(q, h, z) y = Min(d, b)", []),
        ("c = Mul(b, b) y = Min(x, c)", [400]),
        ("""c = Greater(x, a) d = Squeeze(c)
            y = If(d) <then_branch = t () => (float[2] u) { u = Max(x, b) }, else_branch = e () => (float[2] v)
            { v = Neg(x) }>""", [-6, 20]),
    ],
)  # fmt: skip
def test_a_node_names_values_for_the_input(nodes, values):
    constants = (
        "<float a = {-6.0}, float b = {20.0}, float far = {3e38}, float h = {0.5}, uint8 z = {11}, uint8[1] q = {7}>"
    )
    function = (
        '<domain: "own", opset_import: ["" : 18]> f (p) => (q) { k = Constant<value_float = 9.0>() q = Max(p, k) }'
    )
    assert named(f"(float[1] x) => (y) {constants} {{ {nodes} }} {function}") == sorted(values)


@given(st.sampled_from(["uint8", "int8", "uint16", "int16"]), st.floats(2**-6, 8, width=32), st.data())
def test_a_quantised_number_is_at_its_limits_0_and_its_zero_point_on_edges_of_the_input(dtype, scale, data):
    limits = np.iinfo(dtype)
    zero = data.draw(st.integers(int(limits.min), int(limits.max)))
    graph = f"(float[3] x) => (y) <float s = {{{scale}}}, {dtype} z = {{{zero}}}> {{ y = QuantizeLinear(x, s, z) }}"
    values = np.array(edges(document(graph, 21)).numbers["x"])
    quantised = np.clip(np.round(np.float32(values) / np.float32(scale)) + zero, limits.min, limits.max)
    wanted = {limits.min, limits.max, zero, 0}
    assert wanted <= set(quantised.tolist())
    for number in wanted - {limits.min, limits.max}:  # the numbers next to it begin half a step from it
        assert np.isclose(values, scale * (number - zero + 0.5)).any()
        assert np.isclose(values, scale * (number - zero - 0.5)).any()


@given(st.floats(-100, 100, width=32), st.floats(0.125, 100, width=32), st.floats(-100, 100, width=32))
def test_an_edge_is_where_the_operand_takes_the_value_that_is_named(limit, scale, offset):
    graph = f"""(float[3] x) => (y) <float k = {{{limit}}}, float a = {{{scale}}}, float b = {{{offset}}}> {{
        s = Mul(x, a) t = Sub(s, b) y = Max(t, k) }}"""
    (edge,) = edges(document(graph, 18)).numbers["x"]
    assert math.isclose(edge * scale - offset, limit, rel_tol=1e-6, abs_tol=1e-6 * max(1, abs(offset)))


def test_texts_are_those_of_the_nodes():
    found = edges(document('(string[2] x) => (y) <string k = {"cat"}> { y = Equal(x, k) }', 19))
    assert found.texts == ("cat",)


def test_texts_are_those_of_attributes_that_split_or_match():
    graph = """(string[2] x) => (y, n, m, o) { y, n = StringSplit<delimiter = ";">(x)
        m = RegexFullMatch<pattern = "[a-y]+">(x) o = StringNormalizer<case_change_action = "UPPER">(x) }"""
    assert edges(document(graph, 20)).texts == (";", "[a-y]+")


def test_the_length_of_a_sequence_is_compared_with_a_number():
    graph = "(seq(float[2]) x) => (y) <int64 k = {6}> { n = SequenceLength(x) y = Min(n, k) }"
    assert edges(document(graph, 18)).numbers == {"x": (6.0,)}


@pytest.mark.parametrize(
    ("graph", "names"),
    [
        ("(float[1,1,4,4] x, float[4] s) => (y) { y = Resize(x, , s) }", {"s"}),
        ("(float[1,1,4,4] x, int64[4] s) => (y) { t = Cast<to = 1>(s) y = Resize(x, , t) }", {"s"}),
        ("(float[1,1,4,4] x, int64[4] s) => (y) { t = Shape(s) u = Add(s, t) y = Abs(u) }", set()),
        ("(float[1,1,4,4] x) => (y) { s = Shape(x) y = ConstantOfShape(s) }", set()),
        ("(float[4] x, int64[1] k) => (y, i) { y, i = TopK(x, k) }", {"k"}),
        ("(float[4] x, int64 n) => (y) { y = own.f(x, n) } "
         '<domain: "own", opset_import: ["" : 18]> f (p, q) => (r) { '
         "w = Constant<value_ints = [1]>() o = Reshape(q, w) r = Tile(p, o) }", {"n"}),
        ("(float[2] x, int64 n, bool c) => (y) { y = Loop(n, , x) <body = b (int64 i, bool g, float[2] s) => "
         "(bool h, float[2] t) { h = And(g, c) t = Neg(s) }> }", {"n", "c"}),
    ],
)  # fmt: skip
def test_inputs_that_decide_sizes_and_counts_are_told(graph, names):
    assert deciding_inputs(document(graph, 18, "own").proto) == names


def test_the_tables_name_operators_that_onnx_has():
    import onnx.defs

    operators = {
        schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain in ("", "ai.onnx.ml")
    }
    assert operators >= {*EDGES, *DECIDING}
    assert len(FLOATS) >= 6
