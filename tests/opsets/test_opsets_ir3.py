import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_text import model
from opset_pair import model_of, normal, run

from resizefix.opsets.ir3 import to_ir3


def converted(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model, in IR 3, as the checker takes it."""
    assert not to_ir3(model).blockers
    onnx.checker.check_model(model, full_check=True)
    return model


def test_every_initializer_becomes_an_input_after_the_models_own():
    graph = "g (float[2] x) => (float[2] y) <float[2] w = {1,2}, float b = {3}> { a = Add(x, w) y = Add(a, b) }"
    before = run(model_of(8, graph), {"x": normal(2)})
    model = converted(model_of(8, graph))
    assert [value.name for value in model.graph.input] == ["x", "w", "b"]
    assert model.ir_version == 3
    assert run(model, {"x": normal(2)})[0].tobytes() == before[0].tobytes()


def test_it_is_done_once_only():
    model = model_of(8, "g (float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }")
    to_ir3(model)
    once = model.SerializeToString()
    assert to_ir3(model).steps == ()
    assert model.SerializeToString() == once


def test_initializers_of_bodies_move_to_the_main_graph_under_free_names():
    graph = """g (bool c, float[2] x) => (float[2] y) <float[2] m = {0,0}> {
        z = Add(x, m)
        y = If(c) < then_branch = t () => (float[2] a) <float k = {2}, float[2] l = {5,6}>
                        { u = Mul(z, k) a = Add(u, l) },
                    else_branch = e () => (float[2] b) <float k = {3}> { b = Mul(z, k) } > }"""
    before, model = model_of(8, graph), converted(model_of(8, graph))
    for condition in (True, False):
        feeds = {"c": np.array(condition), "x": normal(2)}
        assert run(model, feeds)[0].tolist() == run(before, feeds)[0].tolist()
    names = [tensor.name for tensor in model.graph.initializer]
    assert len(set(names)) == len(names) == 4
    assert "l" in names


def test_a_body_that_returns_its_initializer_computes_it():
    graph = """g (bool c, float[2] x) => (float[2] y) {
        y = If(c) < then_branch = t () => (float[2] a) <float[2] a = {5,6}> { },
                    else_branch = e () => (float[2] b) { b = Relu(x) } > }"""
    model = converted(model_of(8, graph))
    assert run(model, {"c": np.array(True), "x": normal(2)})[0].tolist() == [5, 6]


def test_a_default_becomes_a_constant_and_the_step_says_so():
    model = model_of(8, "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }")
    result = to_ir3(model)
    assert [(step.node, step.error.note) for step in result.steps] == [
        ("w", "IR 3 has no default values: these inputs are constants and cannot be fed")
    ]
    assert [value.name for value in model.graph.input] == ["x", "w"]


SPARSE = model_of(8, "g (float[3] x) => (float[3] y) { y = Relu(x) }")
FOUR, THIRD = numpy_helper.from_array(np.array([4], np.float32), "k"), numpy_helper.from_array(np.array([2]))
SPARSE.graph.sparse_initializer.append(helper.make_sparse_tensor(FOUR, THIRD, [3]))
FUNCTION = """(float[2] x) => (float[2] y) { y = local.f(x) }
    <opset_import: ["": 8], domain: "local"> f (u) => (w) { w = Relu(u) }"""
BFLOAT16 = "(float[3] x) => (float[3] y) <bfloat16[1] w = {0}> { y = Relu(x) }"
OPTIONAL = "(float[3] x, optional(float[2]) o) => (float[3] y) { y = Relu(x) }"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (model(FUNCTION, 8, "local"), "local functions came with IR 8"),
        (SPARSE, "sparse initializers came with IR 6"),
        (model(BFLOAT16, 8), "the element type BFLOAT16 came after IR 3"),
        (model(OPTIONAL, 8), "an optional value came after IR 3"),
    ],
)
def test_what_ir_3_cannot_hold_is_refused_and_the_model_left_alone(model, reason):
    before = model.SerializeToString()
    (blocker,) = to_ir3(model).blockers
    assert blocker.reason == reason
    assert blocker.fix
    assert model.SerializeToString() == before


def test_fields_that_only_annotate_stay_and_everyone_reads_past_them():
    model = model_of(8, "g (float[2] x) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }")
    for holder in (model, model.graph, model.graph.node[0], model.graph.input[0], model.graph.initializer[0]):
        holder.metadata_props.add(key="k", value="v")
    model.graph.quantization_annotation.add().tensor_name = "y"
    model.training_info.add()
    run(converted(model), {"x": normal(2)})
    assert model.graph.node[0].metadata_props[0].key == "k"
    assert model.graph.quantization_annotation
