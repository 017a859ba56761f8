import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_text import model

from resizefix.document.edits import add_graph_input, remove_unread, set_input
from resizefix.document.values import set_shape

TWO_READERS = """(float[1,3,8,8] x) => (float[?,?,?,?] y, float[4] z) <float[4] s = {1, 1, 2, 2}, float[1] idle = {0}>
    { y = Resize (x, , elsewhere) z = Mul (s, s) }"""
UNREAD = TWO_READERS.replace("Mul (s, s)", "Relu (x)")


def test_a_constant_stays_for_its_other_readers():
    shared = model(TWO_READERS)
    assert remove_unread(shared, [((), "s")]) == []
    assert [tensor.name for tensor in shared.graph.initializer] == ["s", "idle"]


def test_a_constant_that_nobody_reads_goes_and_one_that_was_idle_before_stays():
    unread = model(UNREAD)
    assert remove_unread(unread, [((), "s")]) == ["s"]
    assert [tensor.name for tensor in unread.graph.initializer] == ["idle"]


def test_an_initializer_of_ir_3_takes_its_listing_among_the_inputs_along():
    listed = model(UNREAD.replace("8] x)", "8] x, float[4] s)"), ir=3)
    remove_unread(listed, [((), "s")])
    assert [value.name for value in listed.graph.input] == ["x"]


def test_a_whole_chain_goes_with_its_last_reader_up_to_what_others_read():
    chain = model("""(float[1,3,8,8] x) => (float[?,?,?,?] y, int64[4] z)
    { shape = Shape (x) f = Cast <to = 1> (shape) s = Identity (f) y = Resize (x, , other) z = Identity (shape) }""")
    assert sorted(remove_unread(chain, [((), "s")])) == ["f", "s"]
    assert [node.op_type for node in chain.graph.node] == ["Shape", "Resize", "Identity"]


def test_a_graph_output_is_a_reader():
    output = model(UNREAD.replace("float[4] z", "float[4] z, float[4] s"))
    output.graph.initializer.append(helper.make_tensor("s", 1, [4], [1, 1, 2, 2]))
    assert remove_unread(output, [((), "s")]) == []


@pytest.mark.parametrize(
    ("default", "ir_version"), [(None, 3), (numpy_helper.from_array(np.ones(4, np.float32), "new"), 4)]
)
def test_a_default_raises_the_ir_version_and_no_default_does_not(default, ir_version):
    old = model(TWO_READERS, ir=3)
    add_graph_input(old, helper.make_tensor_value_info("new", 1, [4]), default)
    assert old.ir_version == ir_version
    assert old.graph.input[-1].name == "new"


def test_inputs_are_set_past_the_end_and_given_up_from_the_end():
    node = helper.make_node("Resize", ["x"], ["y"])
    set_input(node, 3, "sizes")
    assert list(node.input) == ["x", "", "", "sizes"]
    set_input(node, 3, "")
    assert list(node.input) == ["x"]


def test_an_empty_name_that_was_there_before_stays():
    node = helper.make_node("Resize", ["x", "", "s", ""], ["y"])
    set_input(node, 2, "t")
    assert list(node.input) == ["x", "", "t", ""]


def test_a_shape_may_hold_numbers_symbols_and_unknowns():
    value = helper.make_tensor_value_info("v", 1, [1, 2])
    set_shape(value, [3, "n", None])
    assert [(d.dim_value, d.dim_param) for d in value.type.tensor_type.shape.dim] == [(3, ""), (0, "n"), (0, "")]
    set_shape(value, None)
    assert not value.type.tensor_type.HasField("shape")


def test_a_length_above_what_a_file_can_say_is_left_unknown():
    value = onnx.ValueInfoProto(name="v")
    set_shape(value, [2**63 - 1, 2**63, -(2**64)])
    assert [dim.WhichOneof("value") for dim in value.type.tensor_type.shape.dim] == ["dim_value", None, None]
