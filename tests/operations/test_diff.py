import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from resizefix.document.document import Document
from resizefix.operations.diff import diff

TEXT = """
<ir_version: 8, opset_import: ["" : 13], producer_name: "p">
g (float[1,3,8,8] x, bool c) => (float[1,3,?,?] y)
<float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 3, 3}>
{
  [if] a = If (c) <
    then_branch = b () => (float[?,?,?,?] p) { [inner] p = Relu (x) },
    else_branch = e () => (float[?,?,?,?] q) { q = Neg (x) }
  >
  [up] y = Resize (a, , s)
}
"""


def changes(edit):
    before, after = onnx.parser.parse_model(TEXT), onnx.parser.parse_model(TEXT)
    edit(after)
    found = diff(Document.from_proto(before), Document.from_proto(after))
    return [(change.what, change.name, change.scope.steps) for change in found]


def test_a_model_does_not_differ_from_itself():
    assert changes(lambda model: None) == []


def test_a_changed_node_is_named_with_both_texts():
    before, after = onnx.parser.parse_model(TEXT), onnx.parser.parse_model(TEXT)
    after.graph.node[1].input[2] = "t"
    (change,) = diff(Document.from_proto(before), Document.from_proto(after))
    assert (change.what, change.name) == ("node", "up")
    assert "s" in (change.before or "")
    assert "t" in (change.after or "")


def test_a_node_in_a_body_is_found_in_its_own_scope():
    def edit(model):
        model.graph.node[0].attribute[0].g.node[0].op_type = "Abs"

    assert changes(edit) == [("node", "inner", ("if.then_branch",))]


def test_values_shapes_versions_and_metadata_count():
    def edit(model):
        model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array([1, 1, 4, 4], np.float32), "t"))
        model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "h"
        model.opset_import[0].version = 14
        model.metadata_props.add(key="k", value="v")

    assert changes(edit) == [
        ("opset", "ai.onnx", ()),
        ("metadata_props", "k", ()),
        ("output", "y", ()),
        ("initializer", "t", ()),
    ]


def test_a_tensor_stored_in_another_field_is_the_same_value():
    def edit(model):
        array = numpy_helper.to_array(model.graph.initializer[0])
        model.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "s"))

    assert changes(edit) == []


def test_what_is_new_and_what_is_gone_is_reported():
    def edit(model):
        del model.graph.initializer[1]
        model.graph.node.append(onnx.helper.make_node("Relu", ["y"], ["z"], name="more"))

    assert changes(edit) == [("node", "more", ()), ("initializer", "t", ())]
