import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from resizefix.document.constants import Constant, Constants, NotConstant
from resizefix.document.document import Document
from resizefix.document.scopes import Scopes


def value_of(text: str, name: str, edit=None):
    model = onnx.parser.parse_model(text)
    if edit is not None:
        edit(model)
    document = Document.from_proto(model)
    scopes = Scopes(document.proto)
    return Constants(document, scopes).value_of(scopes.main, name)


HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[?,?,?,?] y)'


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("value = float[2] {1, 2}", np.array([1, 2], np.float32)),
        ("value_floats = [1.0, 2.0]", np.array([1, 2], np.float32)),
        ("value_float = 2.5", np.array(2.5, np.float32)),
        ("value_ints = [3, 4]", np.array([3, 4], np.int64)),
        ("value_int = 3", np.array(3, np.int64)),
    ],
)
def test_every_numeric_spelling_of_constant_is_read(spelling, expected):
    found = value_of(HEAD + " { s = Constant <" + spelling + "> () y = Identity (x) }", "s")
    assert isinstance(found, Constant)
    assert found.value.dtype == expected.dtype
    np.testing.assert_array_equal(found.value, expected)
    assert found.chain == ()


def test_a_chain_over_constants_is_folded_and_remembers_its_nodes():
    text = (
        HEAD
        + """
    <int64[1] two = {2}>
    {
      one = Constant <value_floats = [1.0, 1.0]> ()
      f = Cast <to = 1> (two)
      same = Identity (f)
      s = Concat <axis = 0> (one, same, f)
      y = Identity (x)
    }"""
    )
    found = value_of(text, "s")
    assert isinstance(found, Constant)
    assert found.value.tolist() == [1, 1, 2, 2]
    assert [node.op_type for node in found.chain] == ["Concat", "Identity", "Cast"]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ("s = Shape (x)", "the shape of 'x'"),
        ("r = RandomNormal <shape = [4]> () s = Identity (r)", "RandomNormal"),
        ("s = Identity (nowhere)", "'nowhere'"),
    ],
)
def test_what_can_change_at_run_time_is_no_constant_and_says_why(nodes, reason):
    found = value_of(HEAD + " { " + nodes + " y = Identity (x) }", "s")
    assert isinstance(found, NotConstant)
    assert reason in found.reason


def test_a_default_is_no_constant_because_the_caller_may_override_it():
    def with_default(model):
        model.graph.input.append(helper.make_tensor_value_info("s", 1, [4]))
        model.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "s"))

    found = value_of(HEAD + " { y = Identity (x) }", "s", with_default)
    assert isinstance(found, NotConstant)
    assert "default" in found.reason


def test_a_cycle_that_an_edit_made_ends():
    document = Document.from_proto(onnx.parser.parse_model(HEAD + " { b = Identity (x) a = Identity (b) y = Neg (a) }"))
    document.proto.graph.node[0].input[0] = "a"
    scopes = Scopes(document.proto)
    found = Constants(document, scopes).value_of(scopes.main, "a")
    assert isinstance(found, NotConstant)
    assert "depends on itself" in found.reason


def test_a_chain_longer_than_python_recurses_is_folded():
    nodes = "".join(f"a{i + 1} = Identity (a{i}) " for i in range(3000))
    found = value_of(HEAD + " { a0 = Constant <value_int = 7> () " + nodes + " y = Identity (x) }", "a3000")
    assert isinstance(found, Constant)
    assert found.value == 7


@pytest.mark.parametrize(
    ("bomb", "operands"),
    [
        ("ConstantOfShape (n)", ""),
        ("Range (zero, huge, one)", "int64 zero = {0}, int64 huge = {1099511627776}, int64 one = {1}"),
        ("Expand (o, n)", "float[1] o = {1}"),
        ("Tile (o, n)", "float[1] o = {1}"),
        ("Pad (o, p)", "float[1] o = {1}, int64[2] p = {0, 1099511627776}"),
        ("EyeLike <dtype = 1> (square)", "float[1] square = {1}"),
        ("MatMul (row, column)", ""),
        ("Mul (row, column)", ""),
        ('Einsum <equation = "a,b,c->"> (row, row, row)', ""),
        ("OneHot (o, huge, two)", "int64[1] o = {1}, int64 huge = {1099511627776}, float[2] two = {0, 1}"),
        ("RandomNormal <shape = [4]> ()", ""),
    ],
)
def test_what_is_small_to_say_and_large_to_compute_is_not_computed(bomb, operands):
    def wide(model: onnx.ModelProto) -> None:
        ones = np.ones(50_000, np.float32)
        model.graph.initializer.append(numpy_helper.from_array(ones.reshape(-1, 1), "row"))
        model.graph.initializer.append(numpy_helper.from_array(ones.reshape(1, -1), "column"))

    extra = "<int64[1] n = {1099511627776}" + (f", {operands}" if operands else "") + ">"
    found = value_of(HEAD + extra + " { s = " + bomb + " y = Identity (x) }", "s", wide)
    assert isinstance(found, NotConstant)


def test_what_doubles_is_folded_until_it_is_no_scale_any_more():
    doubling = "".join(f"t{i + 1} = Concat <axis = 0> (t{i}, t{i}) " for i in range(60))
    text = HEAD + "<float[2] t0 = {1, 2}> { " + doubling + " y = Identity (x) }"
    early = value_of(text, "t3")
    assert isinstance(early, Constant)
    assert early.value.tolist() == [1, 2] * 8
    late = value_of(text, "t60")
    assert isinstance(late, NotConstant)
    assert "is no part of a size" in late.reason
