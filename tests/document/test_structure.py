from __future__ import annotations

from collections.abc import Sequence

import onnx
import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.structure import require_sound

node = helper.make_node


def value(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])


def model(*nodes: NodeProto, functions: Sequence[FunctionProto] = ()) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")])
    return helper.make_model(
        graph, functions=functions, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    )


def function(name: str, *calls: str) -> FunctionProto:
    names = ["a", *(f"t{i}" for i in range(len(calls) - 1)), "b"]
    nodes = [node(call, [names[i]], [names[i + 1]], domain="f") for i, call in enumerate(calls)]
    return helper.make_function("f", name, ["a"], ["b"], nodes, [helper.make_opsetid("f", 1)])


def body_of(read: str) -> GraphProto:
    return helper.make_graph([node("Neg", [read], ["c"])], "body", [], [value("c")])


def branching(output: str, body: GraphProto) -> NodeProto:
    return node("If", ["x"], [output], name="if", then_branch=body, else_branch=body)


def refusal(refused: ModelProto) -> str:
    with pytest.raises(UnreadableModelError) as caught:
        require_sound(refused, "m.onnx")
    text = str(caught.value)
    assert text.startswith("m.onnx: is not a valid ONNX model: ")
    return text


CALL = node("F", ["x"], ["y"], domain="f")


def test_functions_may_call_others_but_not_in_a_circle():
    require_sound(model(CALL, functions=[function("F", "G", "G"), function("G", "H"), function("H")]), "m")
    circle = refusal(model(CALL, functions=[function("F", "G"), function("G", "H"), function("H", "F")]))
    assert "its functions call each other in a circle (" in circle
    body = helper.make_graph([node("F", ["a"], ["c"], domain="f")], "body", [], [value("c")])
    inside = helper.make_function(
        "f", "F", ["a"], ["b"], [node("If", ["a"], ["b"], then_branch=body, else_branch=body)], []
    )
    assert "function f::F ← function f::F" in refusal(model(CALL, functions=[inside]))


def test_functions_may_call_others_as_deep_as_onnx_follows_and_no_deeper():
    def chain(length: int) -> ModelProto:
        calls = [function(f"F{i}", f"F{i + 1}") for i in range(length - 1)]
        return model(node("F0", ["x"], ["y"], domain="f"), functions=[*calls, function(f"F{length - 1}")])

    require_sound(chain(99), "m")
    onnx.shape_inference.infer_shapes(chain(99))
    assert "its functions call each other 101 deep" in refusal(chain(100))


def test_functions_that_double_are_refused_before_they_are_unfolded():
    def tower(height: int) -> ModelProto:
        doubling = [function(f"F{i}", f"F{i + 1}", f"F{i + 1}") for i in range(height)]
        return model(node("F0", ["x"], ["y"], domain="f"), functions=[*doubling, function(f"F{height}")])

    require_sound(tower(18), "m")
    assert "with its functions unfolded it has 2,199,023,255,551 nodes" in refusal(tower(40))


def test_nodes_may_stand_in_any_order_but_not_in_a_circle():
    require_sound(model(node("Neg", ["b"], ["y"]), node("Neg", ["x"], ["b"], name="later")), "m")
    circle = refusal(model(node("Add", ["x", "y"], ["b"], name="one"), node("Neg", ["b"], ["y"], name="two")))
    assert "its nodes read each other in a circle (" in circle
    assert "('one' ← 'two' ← 'one')" in circle or "('two' ← 'one' ← 'two')" in circle
    assert "circle ('Neg#0' ← 'Neg#0')" in refusal(model(node("Neg", ["y"], ["y"])))


def test_what_a_body_reads_counts_as_read_by_the_node_that_holds_it():
    def holding(read: str) -> ModelProto:
        return model(branching("b", body_of(read)), node("Neg", ["b"], ["y"], name="neg"))

    require_sound(holding("x"), "m")
    assert "circle" in refusal(holding("y"))
    outputs_it = helper.make_graph([], "body", [], [value("y")])
    assert "circle" in refusal(model(branching("y", outputs_it)))


def test_operators_with_bodies_have_them():
    body = body_of("x")
    assert "'if' (If) has no else_branch" in refusal(model(node("If", ["x"], ["y"], name="if", then_branch=body)))
    assert "'Loop#0' (Loop) has no body" in refusal(model(node("Loop", ["x", ""], ["y"])))
    two = model(node("If", ["x"], ["y", "z"], name="if", then_branch=body, else_branch=body))
    assert "'if' (If) has 2 outputs, but its then_branch has 1" in refusal(two)
    assert "'Scan#0' (Scan) has no output" in refusal(model(node("Scan", ["x"], [""], body=body, num_scan_inputs=1)))
    require_sound(model(node("If", ["x"], ["y"], domain="elsewhere")), "m")


def test_two_bodies_that_nothing_tells_apart_are_refused():
    twin = branching("y", body_of("x"))
    assert "'if(y).else_branch' is in it 2 times" in refusal(model(twin, twin))


@pytest.mark.parametrize("version", [2**31, -(2**62)])
def test_versions_are_small_numbers(version):
    wanting = model(node("Neg", ["x"], ["y"]))
    wanting.opset_import[0].version = version
    assert f"it imports version {version} of the operator set 'ai.onnx'" in refusal(wanting)


def test_files_and_models_in_memory_are_held_to_it(tmp_path):
    circular = model(node("Neg", ["y"], ["y"]))
    onnx.save(circular, tmp_path / "m.onnx")
    with pytest.raises(UnreadableModelError, match=rf"^{tmp_path}/m.onnx: is not a valid"):
        Document.open(tmp_path / "m.onnx")
    with pytest.raises(UnreadableModelError, match=r"^the model: is not a valid"):
        Document.from_proto(circular)


def test_overloads_of_a_function_are_told_apart():
    one, two = function("F"), function("F")
    one.overload = "float"
    require_sound(model(CALL, functions=[one, two]), "m")
    assert "'function f::F' is in it 2 times" in refusal(model(CALL, functions=[two, two]))


def test_element_types_are_those_that_onnx_knows():
    odd = model(node("Neg", ["x"], ["y"]))
    odd.graph.input[0].type.tensor_type.elem_type = 77
    assert "'x' has the element type 77, which onnx" in refusal(odd)
    listed = model(node("Neg", ["x"], ["y"]))
    kind = helper.make_optional_type_proto(helper.make_sequence_type_proto(helper.make_tensor_type_proto(99, [1])))
    listed.graph.value_info.append(helper.make_value_info("v", kind))
    assert "'v' has the element type 99" in refusal(listed)
    held = model(node("Constant", [], ["c"], value=TensorProto(data_type=98)))
    assert "'c' has the element type 98" in refusal(held)
    held.graph.node[0].attribute[0].t.data_type = TensorProto.UNDEFINED
    require_sound(held, "m")
