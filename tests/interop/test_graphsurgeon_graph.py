from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from fixture_models import FIXTURES, SRCNN
from kinds_of_model import graph_state
from onnx import TensorProto, numpy_helper
from ort_runs import opened, run

import resizefix


def graph_of(name: str) -> gs.Graph:
    return gs.import_onnx(onnx.load(FIXTURES / f"{name}.onnx"))


def test_an_input_with_a_default_is_still_one_when_the_graph_is_exported():
    graph = resizefix.promote_scales(graph_of("handmade/data_uint8"), keep_default=True).model
    image, scales = graph.inputs
    assert isinstance(scales, gs.Constant)
    exported = gs.export_onnx(graph.cleanup().toposort())
    onnx.checker.check_model(exported, full_check=True)
    session = opened(exported)
    assert [value.name for value in session.get_inputs()] == [image.name]
    assert [value.name for value in session.get_overridable_initializers()] == [scales.name]
    x = np.arange(np.prod(image.shape), dtype=np.uint8).reshape(image.shape)
    before = gs.export_onnx(graph_of("handmade/data_uint8"))
    np.testing.assert_array_equal(run(exported, {image.name: x})[0], run(before, {"x": x})[0])
    (larger,) = run(exported, {image.name: x, scales.name: np.array([1, 1, 3, 3], np.float32)})
    assert larger.shape[2:] == (3 * x.shape[2], 3 * x.shape[3])


def test_a_default_that_a_body_would_take_for_a_constant_is_refused():
    with pytest.raises(resizefix.RefusedError, match=r"inside the body of a node.*keep_default=False"):
        resizefix.promote_scales(graph_of("handmade/loop_body"), keep_default=True)
    result = resizefix.promote_scales(graph_of("handmade/loop_body"))
    assert result.verification.passed
    assert [tensor.name for tensor in result.model.inputs][-1] == result.inputs[0].name


def test_weights_that_ir_3_wants_as_inputs_are_inputs_of_the_graph():
    result = resizefix.trt_legacy(graph_of("bisenet_x8_nearest_opset9"))
    exported = gs.export_onnx(result.model)
    assert exported.ir_version == 3
    assert {tensor.name for tensor in exported.graph.initializer} < {value.name for value in exported.graph.input}
    onnx.checker.check_model(exported, full_check=True)
    assert resizefix.verify(FIXTURES / "bisenet_x8_nearest_opset9.onnx", exported, rtol=1e-5).passed


def test_weights_of_the_result_are_not_loaded():
    graph = resizefix.promote_scales(graph_of("srcnn_x3_opset11")).model
    constants = [tensor for tensor in graph.tensors().values() if isinstance(tensor, gs.Constant)]
    assert constants
    assert all(not isinstance(tensor._values, np.ndarray) for tensor in constants)


def test_what_graphsurgeon_kept_of_the_model_is_kept():
    graph = graph_of("handmade/foreign_upsample")
    graph.producer_version, graph.doc_string = "7.1", "a graph"
    back = resizefix.promote_scales(graph, on_refusal="return").model
    for name in ("name", "doc_string", "producer_name", "producer_version", "opset", "ir_version"):
        assert getattr(back, name) == getattr(graph, name), name
    assert list(back.import_domains) == list(graph.import_domains)


def test_a_domain_that_the_graph_does_not_import_is_not_added_to_it():
    graph = graph_of("srcnn_x3_opset11")
    graph.nodes.append(gs.Node("Strange", domain="elsewhere", inputs=[graph.inputs[0]], outputs=[gs.Variable("s")]))
    before = graph_state(graph)
    assert len(resizefix.inspect(graph)) == 1
    assert graph_state(graph) == before
    assert "elsewhere" not in {entry.domain for entry in graph.import_domains}
    assert "elsewhere" in {entry.domain for entry in gs.export_onnx(graph).opset_import}  # as graphsurgeon does


def test_the_long_name_of_the_onnx_domain_is_not_taken_for_another():
    path = FIXTURES / "handmade" / "explicit_ai_onnx_domain.onnx"
    graph = graph_of("handmade/explicit_ai_onnx_domain")
    graph.nodes[0].domain = ""
    result = resizefix.promote_scales(graph)
    assert result.verification.passed
    assert resizefix.verify(path, result.model, feed={result.inputs[0].name: result.inputs[0].value}).passed
    assert [(entry.domain, entry.version) for entry in graph.import_domains] == [("ai.onnx", 13)]
    exported = gs.export_onnx(graph)  # which adds to what the graph imports
    assert [(entry.domain, entry.version) for entry in exported.opset_import] == [("ai.onnx", 13), ("", 1)]


def test_a_graph_without_imports_is_exported_at_its_opset():
    graph = graph_of("srcnn_x3_opset11")
    graph.import_domains = None
    assert resizefix.promote_scales(graph).model.opset == 11
    assert graph.import_domains is None


def test_a_renamed_constant_keeps_its_tensor_as_it_was():
    model = onnx.load(SRCNN)
    names = [tensor.name for tensor in model.graph.initializer]
    graph = gs.import_onnx(model)
    graph.tensors()[names[0]].name = "renamed"
    result = resizefix.promote_scales(graph)
    assert "renamed" in result.model.tensors()
    assert [tensor.name for tensor in model.graph.initializer] == names


def test_two_constants_of_one_tensor_are_refused_until_they_are_two():
    graph = graph_of("srcnn_x3_opset11")
    conv = next(node for node in graph.nodes if node.op == "Conv")
    twin = conv.inputs[1].copy()
    twin.name = "twin"
    graph.layer(op="Conv", inputs=[graph.inputs[0], twin], outputs=["unused"])
    with pytest.raises(resizefix.UsageError, match=r"'twin'.*share one TensorProto"):
        resizefix.inspect(graph)
    twin.values = twin.values.copy()
    assert len(resizefix.inspect(graph)) == 1


@pytest.mark.parametrize("make", [lambda values: values, lambda values: numpy_helper.from_array(values, "w")])
def test_float8_e4m3fnuz_is_refused_before_it_becomes_another_type(make):
    made = make(np.array([1, 2], ml_dtypes.float8_e4m3fnuz))
    constant = gs.Constant("w", made if isinstance(made, np.ndarray) else gs.ir.tensor.LazyValues(made))
    if not isinstance(made, np.ndarray):
        graph = _graph_reading(constant)
        assert gs.export_onnx(graph).graph.initializer[0].data_type == TensorProto.FLOAT8E4M3FNUZ
        resizefix.inspect(graph)  # not looked at, it is written as it was
        assert constant.values is not None
    graph = _graph_reading(constant)
    assert gs.export_onnx(graph).graph.initializer[0].data_type == TensorProto.FLOAT8E4M3FN  # the reason
    with pytest.raises(resizefix.RefusedError, match="'w' is of type float8_e4m3fnuz"):
        resizefix.inspect(graph)


def _graph_reading(constant: gs.Constant) -> gs.Graph:
    y = gs.Variable("y", dtype=np.float32, shape=[2])
    return gs.Graph(nodes=[gs.Node("Cast", attrs={"to": 1}, inputs=[constant], outputs=[y])], outputs=[y], opset=19)


def test_a_graph_that_cannot_be_exported_is_said_to_be_one():
    with pytest.raises(resizefix.UsageError, match=r"cannot export the graph.*give the path"):
        resizefix.inspect(graph_of("handmade/optional_input"))
    graph = graph_of("srcnn_x3_opset11")
    graph.outputs[0].dtype = None
    with pytest.raises(resizefix.UsageError, match="must include dtype"):
        resizefix.inspect(graph)


def test_a_function_alone_is_no_model():
    graph = graph_of("handmade/function_called_twice")
    with pytest.raises(resizefix.UsageError, match="is a local function"):
        resizefix.inspect(graph.functions[0])
    before = graph_state(graph)
    assert resizefix.inspect(graph)
    assert graph_state(graph) == before


def test_data_in_files_of_an_unknown_folder_is_refused():
    path = FIXTURES / "handmade" / "external_data.onnx"
    with pytest.raises(resizefix.UsageError, match="'weight'"):
        resizefix.inspect(gs.import_onnx(onnx.load(path, load_external_data=False)))


def test_bodies_and_functions_come_back():
    for name in ("handmade/if_outer_initializer", "handmade/function_called_twice", "handmade/sequence_input"):
        result = resizefix.promote_scales(graph_of(name))
        of_file = resizefix.promote_scales(FIXTURES / f"{name}.onnx")
        assert result.outcomes[0].status is of_file.outcomes[0].status
        again = gs.export_onnx(result.model)
        assert [value.name for value in again.graph.input] == [v.name for v in of_file.model.proto.graph.input]
        assert len(again.functions) == len(of_file.model.proto.functions)
