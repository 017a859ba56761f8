import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper

from resizefix.document.edits import add_graph_input, remove_unread, set_input, set_shape

TWO_READERS = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x) => (float[?,?,?,?] y, float[4] z)
<float[4] s = {1, 1, 2, 2}, float[1] idle = {0}>
{ y = Resize (x, , s) z = Mul (s, s) }
"""


def test_a_constant_stays_for_its_other_readers():
    model = onnx.parser.parse_model(TWO_READERS)
    model.graph.node[0].input[2] = "elsewhere"
    assert remove_unread(model, [((), "s")]) == []
    assert [tensor.name for tensor in model.graph.initializer] == ["s", "idle"]


def test_a_constant_that_nobody_reads_goes_and_one_that_was_idle_before_stays():
    model = onnx.parser.parse_model(TWO_READERS)
    model.graph.node[0].input[2] = "elsewhere"
    del model.graph.node[1]
    assert remove_unread(model, [((), "s")]) == ["s"]
    assert [tensor.name for tensor in model.graph.initializer] == ["idle"]


def test_an_initializer_of_ir_3_takes_its_listing_among_the_inputs_along():
    model = onnx.parser.parse_model(TWO_READERS)
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("s", 1, [4]))
    model.graph.node[0].input[2] = "elsewhere"
    del model.graph.node[1]
    remove_unread(model, [((), "s")])
    assert [value.name for value in model.graph.input] == ["x"]


def test_a_whole_chain_goes_with_its_last_reader_up_to_what_others_read():
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1,3,8,8] x) => (float[?,?,?,?] y, int64[4] z)
    { shape = Shape (x) f = Cast <to = 1> (shape) s = Identity (f) y = Resize (x, , other) z = Identity (shape) }
    """)
    assert sorted(remove_unread(model, [((), "s")])) == ["f", "s"]
    assert [node.op_type for node in model.graph.node] == ["Shape", "Resize", "Identity"]


def test_a_graph_output_is_a_reader():
    model = onnx.parser.parse_model(TWO_READERS)
    model.graph.node[0].input[2] = "elsewhere"
    del model.graph.node[1]
    model.graph.output.append(helper.make_tensor_value_info("s", 1, [4]))
    assert remove_unread(model, [((), "s")]) == []


def test_a_default_raises_the_ir_version_and_no_default_does_not():
    value = helper.make_tensor_value_info("new", 1, [4])
    for default, expected in ((None, 3), (numpy_helper.from_array(np.ones(4, np.float32), "new"), 4)):
        model = onnx.parser.parse_model(TWO_READERS)
        model.ir_version = 3
        add_graph_input(model, value, default)
        assert model.ir_version == expected
        assert model.graph.input[-1].name == "new"


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
