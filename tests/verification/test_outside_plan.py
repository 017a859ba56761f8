"""Two models and the plan between them: whatever differs outside the plan is named, and what was planned is not."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from resizefix.document.document import Document
from resizefix.scope_path import MAIN, FunctionName, ScopePath
from resizefix.verification.outside_plan import outside_plan
from resizefix.verification.plan import Plan

TEXT = """
<ir_version: 8, opset_import: ["": 13], producer_name: "maker">
net (float[N,2,4,5] x) => (float[N,2,h,w] y)
<float[4] scales = {1.0, 1.0, 2.0, 2.0}, float[2,2,1,1] weight = {1.0, 2.0, 3.0, 4.0},
 float[N,2,4,5] c, float[N,2,8,10] up>
{
  [conv] c = Conv (x, weight)
  [resize] up = Resize <mode = "linear"> (c, , scales)
  [relu] y = LeakyRelu <alpha = 0.2> (up)
}
"""
PLAN = Plan(frozenset({(MAIN, "up")}))


def before() -> Document:
    return Document.from_proto(parser.parse_model(TEXT))


def weight(model: onnx.ModelProto) -> None:
    tensor = next(one for one in model.graph.initializer if one.name == "weight")
    array = numpy_helper.to_array(tensor).copy()
    array[0] += 1
    tensor.CopyFrom(numpy_helper.from_array(array, "weight"))


def moved_scales(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(numpy_helper.to_array(model.graph.initializer[1]), "scales")
    )


def new_constant(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(model.graph.initializer[0]), "others"))
    model.graph.node[1].input[2] = "others"
    del model.graph.initializer[0]


def value(model: onnx.ModelProto, name: str) -> onnx.ValueInfoProto:
    every = (*model.graph.value_info, *model.graph.input, *model.graph.output)
    return next(one for one in every if one.name == name)


def dim(name: str, axis: int, size: int | str):
    def edit(model: onnx.ModelProto) -> None:
        found = value(model, name).type.tensor_type.shape.dim[axis]
        found.Clear()
        if isinstance(size, int):
            found.dim_value = size
        else:
            found.dim_param = size

    return edit


def set_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 14


# An edit of the model, and what is named: nothing where it is in the plan.
EDITS = {
    "a weight": (weight, "weight"),
    "the weights of the resize in place": (moved_scales, "scales"),
    "the mode of the resize": (lambda m: m.graph.node[1].attribute[0].__setattr__("s", b"nearest"), None),
    "other scales under another name": (new_constant, None),
    "another node's attribute": (lambda m: m.graph.node[2].attribute[0].__setattr__("f", 0.3), "relu"),
    "another node's name": (lambda m: m.graph.node[0].__setattr__("name", "renamed"), "conv"),
    "another node's operand": (lambda m: m.graph.node[2].input.__setitem__(0, "c"), "relu"),
    "a node without a reader": (lambda m: m.graph.node.add(op_type="Relu", input=["x"], output=["new"]), None),
    "a node that writes a name twice": (lambda m: m.graph.node.add(op_type="Relu", input=["x"], output=["c"]), "c"),
    "a node is gone": (lambda m: m.graph.node.pop(0), "conv"),
    "a stored shape before the resize": (dim("c", 2, 7), "c"),
    "a stored shape behind it": (dim("up", 2, 7), None),
    "the batch of an input": (dim("x", 0, 1), "x"),
    "a size of an input": (dim("x", 2, "H"), "x"),
    "an output's shape": (dim("y", 2, 9), None),
    "an output's type": (lambda m: value(m, "y").type.tensor_type.__setattr__("elem_type", 10), "y"),
    "an output more": (lambda m: m.graph.output.add(name="c"), "outputs"),
    "an input more": (lambda m: m.graph.input.add(name="z"), "z"),
    "metadata": (lambda m: m.metadata_props.add(key="a", value="b"), "metadata_props"),
    "the producer": (lambda m: m.__setattr__("producer_name", "other"), "producer_name"),
    "the graph's name": (lambda m: m.graph.__setattr__("name", "other"), "graph.name"),
    "the opset": (set_opset, "ai.onnx"),
    "the IR version": (lambda m: m.__setattr__("ir_version", 9), "ir_version"),
    "a function": (lambda m: m.functions.add(name="f", domain="d"), "functions"),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_difference_is_named_unless_it_was_planned(what):
    edit, named = EDITS[what]
    candidate = before()
    edit(candidate.proto)
    found = outside_plan(before(), candidate, PLAN)
    assert (None if found is None else found.arguments["name"]) == named


def test_a_new_input_is_planned_by_its_name():
    candidate = before()
    candidate.proto.graph.input.add(name="fed")
    assert outside_plan(before(), candidate, Plan(PLAN.nodes, new_inputs=frozenset({"fed"}))) is None
    assert outside_plan(before(), candidate, Plan(PLAN.nodes, new_inputs=frozenset({"other"}))) is not None


@pytest.mark.parametrize(
    ("size", "planned", "agrees"), [(8, 8, True), (8, 9, False), (8, None, False), ("H", None, True)]
)
def test_an_input_takes_the_planned_size_and_no_other(size, planned, agrees):
    candidate = before()
    dim("x", 2, size)(candidate.proto)
    found = outside_plan(before(), candidate, Plan(input_shapes={"x": ("N", 2, planned, 5)}))
    assert (found is None) == agrees


@pytest.mark.parametrize("agrees", [True, False])
def test_a_planned_constant_has_the_planned_numbers(agrees):
    candidate = before()
    made = numpy_helper.to_array(candidate.proto.graph.initializer[0]) * 2
    candidate.proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(made, "scales"))
    plan = Plan(PLAN.nodes, operands={((MAIN, "up"), 2): made if agrees else made + 1})
    assert (outside_plan(before(), candidate, plan) is None) == agrees


FED = """
<ir_version: 8, opset_import: ["": 13]>
net (float[1,2,4,5] x, float[4] scales) => (float[] y, float[4] shown)
<float[4] scales = {1.0, 1.0, 2.0, 2.0}>
{
  y = Resize <mode = "nearest"> (x, , scales)
  shown = Identity (scales)
}
"""


def frozen_at(numbers):
    """The model whose `scales` are the constant `numbers`, whatever default it had."""
    made = parser.parse_model(FED)
    del made.graph.input[1]
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(numbers, np.float32), "scales"))
    return made


@pytest.mark.parametrize("has_default", [True, False])
@pytest.mark.parametrize("made", [(1, 1, 2, 2), (1, 1, 3, 3), (1, 1, 2, 3)])
def test_a_fed_input_becomes_a_constant_of_the_planned_numbers_and_no_other(has_default, made):
    model = parser.parse_model(FED)
    if not has_default:
        del model.graph.initializer[:]
    planned = (1.0, 1.0, 3.0, 3.0)
    plan = Plan(frozenset({(MAIN, "y")}), frozen={"scales": planned})
    found = outside_plan(Document.from_proto(model), Document.from_proto(frozen_at(made)), plan)
    assert (found is None) == (made == planned)


def test_without_a_plan_an_input_does_not_become_a_constant_of_other_numbers():
    model, made = Document.from_proto(parser.parse_model(FED)), Document.from_proto(frozen_at((1, 1, 3, 3)))
    assert outside_plan(model, made, Plan(frozenset({(MAIN, "y")}))) is not None


CALLED = """
<ir_version: 9, opset_import: ["": 13, "l": 1]>
net (float[1,2,4,5] x, float[4] s) => (float[] y, float[] z)
{
  y = l.Outer (x, x, s)
  z = l.Outer (y, x, s)
}
<domain: "l", opset_import: ["": 13, "l": 1]>
Outer (a, other, s) => (b)
{
  c = l.Inner (a, s)
  b = Add (c, c)
}
<domain: "l", opset_import: ["": 13, "l": 1]>
Inner (d, s) => (e)
{
  e = Resize <mode = "nearest"> (d, , s)
}
"""
NOT_PASSED = CALLED.replace(", float[4] s)", ")").replace(", s)", ")").replace("(d, )", "(d, , k)")
NOT_PASSED = NOT_PASSED.replace("  e = ", "  k = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()\n  e = ")
INNER = ScopePath([FunctionName("l", "Inner", "")])


def test_what_functions_pass_on_goes_at_every_level_with_the_operand_that_it_was():
    plan = Plan(frozenset({(INNER, "e")}), frozen={"s": (1.0, 1.0, 2.0, 2.0)})
    assert outside_plan(*documents(CALLED, NOT_PASSED), plan) is None


def test_what_functions_pass_on_comes_at_every_level_with_the_new_input():
    plan = Plan(frozenset({(INNER, "e")}), new_inputs=frozenset({"s"}))
    assert outside_plan(*documents(NOT_PASSED, CALLED), plan) is None


@pytest.mark.parametrize(("old", "new"), [("(y, x)", "(y, y)"), ("(y, x)", "(x, x)"), ("Inner (a)", "Inner (other)")])
def test_a_call_passes_on_what_it_did_beside_that(old, new):
    assert old in NOT_PASSED
    changed = NOT_PASSED.replace(old, new)
    assert outside_plan(*documents(CALLED, changed), Plan(frozenset({(INNER, "e")}))) is not None
    plan = Plan(frozenset({(INNER, "e")}), new_inputs=frozenset({"s"}))
    assert outside_plan(*documents(changed, CALLED), plan) is not None


def test_a_call_passes_on_the_new_input_and_not_another_tensor():
    other = CALLED.replace("z = l.Outer (y, x, s)", "z = l.Outer (y, x, x)")
    plan = Plan(frozenset({(INNER, "e")}), new_inputs=frozenset({"s"}))
    assert outside_plan(*documents(NOT_PASSED, other), plan) is not None


def documents(*texts):
    return [Document.from_proto(parser.parse_model(text)) for text in texts]
