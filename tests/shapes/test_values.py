import numpy as np
import pytest
from onnx import ModelProto, numpy_helper
from onnx_text import model

from resizefix.document.document import Document
from resizefix.document.scopes import Scopes
from resizefix.shapes.values import Constant, Unknown, Values


def found(values: Values, scope, name: str) -> Constant | Unknown:
    definition = values.scopes.definition(scope, name)
    return values.of(scope, name) if definition is None else values.constant(definition) or values.follow(definition)


def value_of(nodes: str, name: str, constants: str = "", x: str = "", edit=None):
    made = model(f"(float[1,3,8,8] x{x}) => (float[?,?,?,?] y) <{constants}> {{ {nodes} y = Identity (x) }}")
    if edit is not None:
        edit(made)
    document = Document.from_proto(made)
    scopes = Scopes(document.proto)
    return found(Values(document.array, scopes), scopes.main, name)


def assert_not_constant(found, reason: str = "") -> None:
    assert isinstance(found, Unknown)
    assert reason in found.reason


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
    found = value_of(f"s = Constant <{spelling}> ()", "s")
    assert isinstance(found, Constant)
    assert found.value.dtype == expected.dtype
    np.testing.assert_array_equal(found.value, expected)
    assert found.chain == ()


def test_a_chain_over_constants_is_folded_and_remembers_its_nodes():
    nodes = """one = Constant <value_floats = [1.0, 1.0]> () f = Cast <to = 1> (two) same = Identity (f)
        s = Concat <axis = 0> (one, same, f)"""
    found = value_of(nodes, "s", "int64[1] two = {2}")
    assert isinstance(found, Constant)
    assert found.value.tolist() == [1, 1, 2, 2]
    assert [node.op_type for node in found.chain] == ["Concat", "Identity", "Cast"]


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ("s = Shape (x)", "the sizes that Shape reads"),
        ("r = RandomNormal <shape = [4]> () s = Identity (r)", "RandomNormal"),
        ("s = Identity (nowhere)", "'nowhere'"),
    ],
)
def test_what_can_change_at_run_time_is_no_constant_and_says_why(nodes, reason):
    assert_not_constant(value_of(nodes, "s"), reason)


def test_a_default_is_no_constant_because_the_caller_may_override_it():
    assert_not_constant(value_of("", "s", "float[4] s = {1, 1, 1, 1}", ", float[4] s"), "default")


def test_a_cycle_that_an_edit_made_ends():
    document = Document.from_proto(
        model("(float[1] x) => (float[1] y) { b = Identity (x) a = Identity (b) y = Neg (a) }")
    )
    document.proto.graph.node[0].input[0] = "a"
    scopes = Scopes(document.proto)
    assert_not_constant(found(Values(document.array, scopes), scopes.main, "a"), "depends on itself")


def test_a_chain_longer_than_python_recurses_is_folded():
    nodes = "".join(f"a{i + 1} = Identity (a{i}) " for i in range(3000))
    found = value_of(f"a0 = Constant <value_int = 7> () {nodes}", "a3000")
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
    def wide(made: ModelProto) -> None:
        ones = np.ones(50_000, np.float32)
        made.graph.initializer.append(numpy_helper.from_array(ones.reshape(-1, 1), "row"))
        made.graph.initializer.append(numpy_helper.from_array(ones.reshape(1, -1), "column"))

    constants = "int64[1] n = {1099511627776}" + (f", {operands}" if operands else "")
    assert_not_constant(value_of(f"s = {bomb}", "s", constants, edit=wide))


def test_what_doubles_is_folded_until_it_is_no_scale_any_more():
    doubling = "".join(f"t{i + 1} = Concat <axis = 0> (t{i}, t{i}) " for i in range(60))
    early = value_of(doubling, "t3", "float[2] t0 = {1, 2}")
    assert isinstance(early, Constant)
    assert early.value.tolist() == [1, 2] * 8
    assert_not_constant(value_of(doubling, "t60", "float[2] t0 = {1, 2}"), "is no part of a size")
