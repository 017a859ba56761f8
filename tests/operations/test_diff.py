import onnx
import pytest
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper
from onnx_text import document, model

from resizefix.document.document import Document
from resizefix.operations.diff import Change, diff

TEXT = """(float[1,3,8,8] x, bool c) => (float[1,3,?,?] y) <float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 3, 3}> {
  [if] a = If (c) <
    then_branch = b () => (float[?,?,?,?] p) { [inner] p = Relu (x) },
    else_branch = e () => (float[?,?,?,?] q) { q = Neg (x) }
  >
  [up] y = Resize (a, , s)
}"""
CALLS = """(float[4] x) => (float[4] z) { y = local.twice (x)  w = Abs (x)  z = Add (y, w) }
<domain: "local", opset_import: ["" : 13]> twice (a) => (b) { b = Add (a, a) }"""


def changes(before: ModelProto, after: ModelProto, *, meaning_only: bool = False) -> list[Change]:
    return diff(Document.from_proto(before), Document.from_proto(after), meaning_only=meaning_only)


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


def with_a_branch_less(edited: ModelProto) -> None:
    edited.graph.node[0].attribute[0].name = "other_branch"
    edited.graph.node[0].op_type = "Other"


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda edited: None, []),
        (respelled, [("storage of initializer", "s", ())]),
        (changed_inside, [("node", "inner", ("if.then_branch",))]),
        (
            changed_everywhere,
            [("opset", "ai.onnx", ()), ("metadata_props", "k", ()), ("output", "y", ()), ("initializer", "t", ())],
        ),
        (added_and_removed, [("node", "more", ()), ("initializer", "t", ())]),
        (
            with_a_branch_less,
            [
                ("node", "if", ()),
                ("scope", "if.then_branch", ("if.then_branch",)),
                ("scope", "if.other_branch", ("if.other_branch",)),
            ],
        ),
    ],
)
def test_nodes_in_their_scopes_values_shapes_versions_and_metadata_are_compared(edit, expected):
    edited = model(TEXT)
    edit(edited)
    found = changes(model(TEXT), edited)
    assert [(change.what, change.name, change.scope.steps) for change in found] == expected


def test_a_changed_node_is_named_with_both_texts():
    (change,) = diff(document(TEXT), document(TEXT.replace("(a, , s)", "(a, , t)")))
    assert (change.what, change.name) == ("node", "up")
    assert "s" in (change.before or "")
    assert "t" in (change.after or "")


def both_domains(edited: ModelProto) -> None:
    edited.opset_import.add(domain="ai.onnx", version=12)


def spelled_domain(edited: ModelProto) -> None:
    edited.graph.node[1].domain = "ai.onnx"


def twice_the_input(edited: ModelProto) -> None:
    edited.graph.initializer.add().CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [1], [2]))
    edited.graph.initializer.add().CopyFrom(helper.make_tensor("w", TensorProto.FLOAT, [1], [3]))


def other_function_opset(edited: ModelProto) -> None:
    edited.functions[0].opset_import[0].version = 12


def function_gone(edited: ModelProto) -> None:
    del edited.functions[:]


def another_order(edited: ModelProto) -> None:
    edited.graph.node.insert(0, edited.graph.node.pop(1))


def no_order(edited: ModelProto) -> None:
    edited.graph.node.insert(0, edited.graph.node.pop())


def unknown(edited: ModelProto) -> None:
    edited.graph.node[0].MergeFromString(b"\xc0\xbb\x01\x07")


def stated_default(edited: ModelProto) -> None:
    edited.graph.node[0].doc_string = edited.graph.node[0].overload = ""


def renamed(edited: ModelProto) -> None:
    edited.producer_name, edited.graph.name = "exporter", "main"
    edited.graph.node[0].doc_string = "twice"
    edited.graph.input[0].metadata_props.add(key="from", value="camera")


# What is edited; what `diff` says of it; what is left with `--meaning-only`.
SEEN = [
    (both_domains, [("opset", "ai.onnx (2)", None, "12")], 1),
    (spelled_domain, [("domain of node", "w", "", "ai.onnx")], 0),
    (
        twice_the_input,
        [("initializer", "w", None, "float[1] [2.0]"), ("initializer", "w (2)", None, "float[1] [3.0]")],
        2,
    ),
    (other_function_opset, [("opset", "ai.onnx", "13", "12")], 1),
    (function_gone, [("function", "local::twice", "(a) => (b), 1 node", None)], 1),
    (another_order, [("order of nodes", "y", "y", "w")], 0),
    (no_order, [("order of nodes", "y", "y", "z")], 1),
    (
        unknown,
        [("node", "y", "y = local.twice (x); no unknown fields", "y = local.twice (x); unknown fields: 3000/0: 7")],
        1,
    ),
    (
        stated_default,
        [("default value of node", "y", None, "overload: "), ("doc_string of node", "y", None, "")],
        0,
    ),
    (
        renamed,
        [
            ("producer_name", "producer_name", None, "exporter"),
            ("doc_string of node", "y", None, "twice"),
            ("name", "name", "g", "main"),
            ("metadata_props of input", "x", None, "metadata_props[from]: camera"),
        ],
        0,
    ),
]


@pytest.mark.parametrize(("edit", "expected", "meant"), SEEN, ids=[edit.__name__ for edit, _, _ in SEEN])
def test_what_is_seen_and_what_is_left_of_it_for_the_meaning(edit, expected, meant):
    edited = model(CALLS, 13, "local")
    edit(edited)
    found = changes(model(CALLS, 13, "local"), edited)
    assert [(change.what, change.name, change.before, change.after) for change in found] == expected
    assert len(changes(model(CALLS, 13, "local"), edited, meaning_only=True)) == meant


def sparse(kind: int) -> TypeProto:
    return helper.make_sparse_tensor_type_proto(kind, [2, "n"])


def of_map(key: int, kind: int) -> TypeProto:
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(kind, [3]))


FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
TYPES = [
    (of_map(INT64, FLOAT), of_map(STRING, FLOAT), "map of int64 to float[3] x", "map of string to float[3] x"),
    (of_map(INT64, FLOAT), of_map(INT64, INT64), "map of int64 to float[3] x", "map of int64 to int64[3] x"),
    (sparse(FLOAT), sparse(INT64), "sparse float[2,n] x", "sparse int64[2,n] x"),
    (TypeProto(), helper.make_optional_type_proto(sparse(FLOAT)), "untyped x", "optional of sparse float[2,n] x"),
]


@pytest.mark.parametrize(("before", "after", "old", "new"), TYPES)
def test_types_of_maps_and_sparse_tensors_are_compared_and_shown(before, after, old, new):
    models = []
    for kind in (before, after):
        values = [onnx.ValueInfoProto(name="x", type=kind)]
        graph = helper.make_graph([helper.make_node("Own", ["x"], ["y"], domain="own")], "g", values, [])
        models.append(helper.make_model(graph, opset_imports=[helper.make_opsetid("own", 1)]))
    assert changes(*models) == [Change("input", "x", old, new)]


@pytest.mark.parametrize("field", ["initializer", "value_info"])
def test_another_order_of_what_is_looked_up_by_name_means_the_same(field):
    edited = model(TEXT)
    edited.graph.value_info.extend(helper.make_tensor_value_info(name, FLOAT, [1]) for name in "ab")
    before = ModelProto.FromString(edited.SerializeToString())
    entries = getattr(edited.graph, field)
    entries.insert(0, entries.pop())
    assert before != edited
    assert [change.what for change in changes(before, edited)] == [f"order of {field.removesuffix('s')}s"]
    assert changes(before, edited, meaning_only=True) == []
