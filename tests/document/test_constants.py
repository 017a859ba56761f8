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
