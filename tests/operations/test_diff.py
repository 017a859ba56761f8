import onnx
import pytest
from onnx import ModelProto, numpy_helper
from onnx_text import document, model

from resizefix.document.document import Document
from resizefix.operations.diff import diff

TEXT = """(float[1,3,8,8] x, bool c) => (float[1,3,?,?] y) <float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 3, 3}> {
  [if] a = If (c) <
    then_branch = b () => (float[?,?,?,?] p) { [inner] p = Relu (x) },
    else_branch = e () => (float[?,?,?,?] q) { q = Neg (x) }
  >
  [up] y = Resize (a, , s)
}"""


def respelled(edited: ModelProto) -> None:
    """A tensor stored in another field, which is the same value."""
    tensor = edited.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), "s"))
    assert tensor.raw_data


def changed_inside(edited: ModelProto) -> None:
    edited.graph.node[0].attribute[0].g.node[0].op_type = "Abs"


def changed_everywhere(edited: ModelProto) -> None:
    edited.graph.initializer[1].float_data[2:] = [4, 4]
    edited.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "h"
    edited.opset_import[0].version = 14
    edited.metadata_props.add(key="k", value="v")


def added_and_removed(edited: ModelProto) -> None:
    del edited.graph.initializer[1]
    edited.graph.node.append(onnx.helper.make_node("Relu", ["y"], ["z"], name="more"))


@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        (lambda edited: None, []),
        (respelled, [("storage of initializer", "s", ())]),
        (changed_inside, [("node", "inner", ("if.then_branch",))]),
        (
            changed_everywhere,
            [("opset", "ai.onnx", ()), ("metadata_props", "k", ()), ("output", "y", ()), ("initializer", "t", ())],
        ),
        (added_and_removed, [("node", "more", ()), ("initializer", "t", ())]),
    ],
)
def test_nodes_in_their_scopes_values_shapes_versions_and_metadata_are_compared(edit, changes):
    edited = model(TEXT)
    edit(edited)
    found = diff(Document.from_proto(model(TEXT)), Document.from_proto(edited))
    assert [(change.what, change.name, change.scope.steps) for change in found] == changes


def test_a_changed_node_is_named_with_both_texts():
    (change,) = diff(document(TEXT), document(TEXT.replace("(a, , s)", "(a, , t)")))
    assert (change.what, change.name) == ("node", "up")
    assert "s" in (change.before or "")
    assert "t" in (change.after or "")
