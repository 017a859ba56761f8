import numpy as np
import onnx.parser
import pytest

from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.operator_semantics.expression import Computed, Number, Size
from resizefix.document.operator_semantics.operand import Known
from resizefix.origins.trace import Tracer, Untraced


def tracer(text: str, given=None) -> Tracer:
    return Tracer(ModelView(Document.from_proto(onnx.parser.parse_model(text))), given)


def model(nodes: str, inputs: str = "float[n,3,h,w] x", extra: str = "", more: str = "", opset: int = 15) -> str:
    return (
        f'<ir_version: 8, opset_import: ["" : {opset}, "local" : 1]> g ({inputs}) => (float[] t) {extra} '
        f"{{ {nodes} }} {more}"
    )


def traced(nodes: str, **others) -> Known | Untraced:
    found = tracer(model(nodes, **others))
    return found.trace(found.scopes.main, "t")


def test_a_shape_is_the_sizes_of_its_tensor_from_start_to_end():
    found = traced("t = Shape <start = 1, end = -1> (x)")
    assert list(found.elements) == [Size(((), "x"), 1), Size(((), "x"), 2)]


def test_the_size_of_a_tensor_is_the_product_of_its_sizes():
    found = traced("t = Size (x)")
    assert found.elements.shape == ()
    assert isinstance(found.elements.item(), Computed)


def test_data_behind_a_shape_do_not_matter():
    found = traced("a = NonZero (x) t = Shape (a)")
    assert list(found.elements) == [Size(((), "a"), 0), Size(((), "a"), 1)]


def test_data_itself_ends_the_walk_at_the_operator_that_reads_it():
    found = traced("a = ReduceMean <keepdims = 0> (x) t = Mul (a, a)")
    assert found == Untraced("'x' is an input")


def test_an_unknown_operator_ends_the_walk_with_its_name():
    found = traced("s = Shape (x) t = CumSum (s, k)", extra="<int64 k = {0}>")
    assert found == Untraced("'t': CumSum is not followed")


def test_an_operator_of_another_domain_ends_the_walk_though_its_name_is_known():
    found = traced("s = Shape (x) t = local.Identity (s)")
    assert found == Untraced("'t': local::Identity is not followed")


def test_an_unknown_rank_ends_the_walk():
    found = traced("a = local.Op (x) t = Shape (a)")
    assert found == Untraced("'t': the rank of 'a', whose shape it reads, is not known")


def test_a_given_input_is_a_constant():
    found = tracer(model("t = Concat <axis = 0> (k, f)", inputs="float[1] f", extra="<float[2] k = {1, 1}>"),
                   {"f": np.array([3], np.float32)})  # fmt: skip
    result = found.trace(found.scopes.main, "t")
    np.testing.assert_array_equal(result.value, np.array([1, 1, 3], np.float32))


IF = """s = Shape (x) t = If (c) <
  then_branch = a () => (int64[4] p) {{ p = {then} }},
  else_branch = b () => (int64[4] q) {{ q = {other} }}
>"""


def test_an_if_with_equal_branches_is_followed_into_one():
    found = traced(IF.format(then="Identity (s)", other="Identity (s)"), inputs="float[n,3,h,w] x, bool c")
    assert found.elements[2] == Size(((), "x"), 2)


def test_an_if_with_different_branches_is_chosen_at_run_time():
    found = traced(IF.format(then="Identity (s)", other="Mul (s, s)"), inputs="float[n,3,h,w] x, bool c")
    assert found == Untraced("'t': an If node chooses it at run time")


@pytest.mark.parametrize(("condition", "is_the_shape"), [("1", True), ("0", False)])
def test_an_if_with_a_constant_condition_is_followed_into_its_branch(condition, is_the_shape):
    found = traced(IF.format(then="Identity (s)", other="Mul (s, s)"), extra=f"<bool c = {{{condition}}}>")
    assert (found.elements[2] == Size(((), "x"), 2)) is is_the_shape


FUNCTION = """
<domain: "local", opset_import: ["" : 15]>
Twice (a) => (b) { s = Shape (a) two = Constant <value_int = 2> () b = Mul (s, two) }
"""


def test_a_call_of_a_local_function_is_followed_into_it_and_out_at_its_argument():
    found = traced("h = Relu (x) t = local.Twice (h)", more=FUNCTION)
    product = found.elements[3]
    assert product.operands == (Size(((), "h"), 3), Number(2, "int64"))


def test_in_a_function_that_is_called_twice_the_argument_is_not_known():
    found = traced("h = Relu (x) u = local.Twice (h) t = local.Twice (x)", more=FUNCTION)
    assert found.reason == "'s': the rank of 'a', whose shape it reads, is not known"


ATTRIBUTE = """
<domain: "local", opset_import: ["" : 15]>
Factor <f> () => (b) { b = Constant <value_floats: floats = @f> () }
"""


def test_a_constant_that_the_only_call_gives_is_known():
    found = traced("t = local.Factor <f = [1.0, 2.0]> ()", more=ATTRIBUTE)
    np.testing.assert_array_equal(found.value, np.array([1, 2], np.float32))


def test_a_constant_that_two_calls_give_is_not():
    found = traced("u = local.Factor <f = [3.0]> () t = local.Factor <f = [1.0, 2.0]> ()", more=ATTRIBUTE)
    assert found == Untraced("'b': its function's calls give its value")


def test_a_long_chain_does_not_exhaust_the_stack():
    steps = " ".join(f"l{n + 1} = Identity (l{n})" for n in range(3000))
    assert isinstance(traced(f"l0 = Shape (x) {steps} t = Identity (l3000)"), Known)
