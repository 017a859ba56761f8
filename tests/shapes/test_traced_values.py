import numpy as np
import pytest
from onnx_text import document

from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.expression import Computed, Number, Size
from resizefix.shapes.operand import Known
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.values import Unknown


def traced(nodes: str, inputs="float[n,3,h,w] x", extra="", more="", given=None) -> Known | Unknown:
    graph = f"({inputs}) => (float[] t) {extra} {{ {nodes} }} {more}"
    values = traced_values(AxisSizes(ModelView(document(graph, 15, "local"))), given)
    return values.of(values.scopes.main, "t")


IF = """s = Shape (x) t = If (c) <then_branch = a () => (int64[4] p) {{ p = {} }},
                              else_branch = b () => (int64[4] q) {{ q = {} }}>"""
ALIKE, APART = (IF.format("Identity (s)", other) for other in ("Identity (s)", "Mul (s, s)"))
WITH_CONDITION = {"inputs": "float[n,3,h,w] x, bool c"}
TWICE = """<domain: "local", opset_import: ["" : 15]>
Twice (a) => (b) { s = Shape (a) two = Constant <value_int = 2> () b = Mul (s, two) }"""
FACTOR = """<domain: "local", opset_import: ["" : 15]>
Factor <f> () => (b) { b = Constant <value_floats: floats = @f> () }"""


@pytest.mark.parametrize(
    ("nodes", "more", "sizes"),
    [
        ("t = Shape <start = 1, end = -1> (x)", {}, [("x", 1), ("x", 2)]),
        ("a = NonZero (x) t = Shape (a)", {}, [("a", 0), ("a", 1)]),  # data behind a shape do not matter
        (ALIKE, WITH_CONDITION, [("x", axis) for axis in range(4)]),
        (APART, {"extra": "<bool c = {1}>"}, [("x", axis) for axis in range(4)]),
    ],
)
def test_a_shape_is_the_sizes_of_its_tensor_and_an_if_is_followed_where_its_branch_is_known(nodes, more, sizes):
    assert list(traced(nodes, **more).elements) == [Size(((), name), axis) for name, axis in sizes]


@pytest.mark.parametrize(
    ("nodes", "more", "value"),
    [
        (
            "t = Concat <axis = 0> (k, f)",
            {"inputs": "float[1] f", "extra": "<float[2] k = {1, 1}>", "given": {"f": np.array([3], np.float32)}},
            [1, 1, 3],
        ),
        ("t = local.Factor <f = [1.0, 2.0]> ()", {"more": FACTOR}, [1, 2]),
    ],
)
def test_a_given_input_and_what_the_only_call_gives_are_constants(nodes, more, value):
    np.testing.assert_array_equal(traced(nodes, **more).value, np.array(value, np.float32))


@pytest.mark.parametrize(
    ("nodes", "more", "reason"),
    [
        ("a = ReduceMean <keepdims = 0> (x) t = Mul (a, a)", {}, "'x' is an input"),
        ("s = Shape (x) t = CumSum (s, k)", {"extra": "<int64 k = {0}>"}, "'t': CumSum is not followed"),
        ("s = Shape (x) t = local.Identity (s)", {}, "'t': local::Identity is not followed"),
        ("a = local.Op (x) t = Shape (a)", {}, "'t': the rank of 'a', whose shape it reads, is not known"),
        (APART, WITH_CONDITION, "'t': an If node chooses it at run time"),
        (
            "h = Relu (x) u = local.Twice (h) t = local.Twice (x)",
            {"more": TWICE},
            "'s': the rank of 'a', whose shape it reads, is not known",
        ),
        (
            "u = local.Factor <f = [3.0]> () t = local.Factor <f = [1.0, 2.0]> ()",
            {"more": FACTOR},
            "'b': its function's calls give its value",
        ),
    ],
)
def test_the_walk_ends_with_its_reason_at_what_is_not_known(nodes, more, reason):
    assert traced(nodes, **more).reason == reason


def test_the_size_of_a_tensor_is_the_product_of_its_sizes():
    found = traced("t = Size (x)")
    assert found.elements.shape == ()
    assert isinstance(found.elements.item(), Computed)


def test_an_if_with_a_false_condition_is_followed_into_the_other_branch():
    found = traced(APART, extra="<bool c = {0}>")
    assert isinstance(found, Known)
    assert found.elements[2] != Size(((), "x"), 2)


def test_a_call_of_a_local_function_is_followed_into_it_and_out_at_its_argument():
    product = traced("h = Relu (x) t = local.Twice (h)", more=TWICE).elements[3]
    assert product.operands == (Size(((), "h"), 3), Number(2, "int64"))


def test_a_long_chain_does_not_exhaust_the_stack():
    steps = " ".join(f"l{n + 1} = Identity (l{n})" for n in range(3000))
    assert isinstance(traced(f"l0 = Shape (x) {steps} t = Identity (l3000)"), Known)
