from __future__ import annotations

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from child_python import printed
from fixture_models import FIXTURES, SRCNN, srcnn_of_torch
from kinds_of_model import graph_state
from ort_runs import opened, run

import resizefix
import resizefix.graphsurgeon


@pytest.fixture
def graph() -> gs.Graph:
    return gs.import_onnx(onnx.load(SRCNN))


def test_a_method_changes_the_graph_that_it_is_called_on(graph):
    result = graph.promote_resize_scales(form="factor", input_name="factor")
    assert result.model is graph
    assert result.verification.passed
    assert [tensor.name for tensor in graph.inputs] == ["input", "factor"]
    image, wanted = srcnn_of_torch("2")
    (enlarged,) = run(gs.export_onnx(graph), {"input": image, "factor": np.array([2], np.float32)})
    np.testing.assert_allclose(enlarged, wanted, atol=1e-5)


def test_graphsurgeon_goes_on_working_with_the_graph(graph):
    graph.layer(op="Identity", inputs=[graph.inputs[0]], outputs=["mine"])
    graph.promote_resize_scales()
    (made,) = graph.layer(op="Relu", inputs=[graph.outputs[0]], outputs=["mine"])
    made.dtype, made.shape = np.float32, graph.outputs[0].shape
    graph.outputs = [made]
    model = gs.export_onnx(graph.cleanup().toposort())
    onnx.checker.check_model(model, full_check=True)
    assert len({name for node in model.graph.node for name in node.output}) == len(model.graph.node)
    assert opened(model)


def test_the_methods_that_only_look_leave_the_graph_alone(graph):
    before = graph_state(graph)
    (site,) = graph.inspect_resizes()
    assert site.promotable
    assert not graph.check_resizes(target="tensorrt-5.0").accepted
    assert graph_state(graph) == before


def test_an_error_leaves_the_graph_as_it_was(graph):
    before = graph_state(graph)
    with pytest.raises(resizefix.UsageError):
        graph.promote_resize_scales(node=["no such node"])
    broken = gs.import_onnx(onnx.load(FIXTURES / "handmade" / "size_rules_disagree.onnx"))
    of_broken = graph_state(broken)
    with pytest.raises(resizefix.VerificationFailedError):
        broken.promote_resize_scales()
    assert (graph_state(graph), graph_state(broken)) == (before, of_broken)


def test_promoting_freezing_and_the_attribute_form_follow_each_other():
    graph = gs.import_onnx(onnx.load(FIXTURES / "bisenet_x8_nearest_opset9.onnx"))
    promoted = graph.promote_resize_scales()
    assert promoted.changed
    (driven,) = promoted.inputs
    graph.freeze_resize_scales(set={driven.name: list(driven.value)})
    assert len(graph.inputs) == 1
    assert graph.legalize_resizes(target="tensorrt-7.0").model is graph
    assert graph.to_trt_legacy().changed
    assert [node.attrs["scales"] for node in graph.nodes if node.op == "Upsample"][-1] == [1, 1, 8, 8]
    assert resizefix.verify(FIXTURES / "bisenet_x8_nearest_opset9.onnx", graph, rtol=1e-5).passed


def test_only_importing_the_module_registers_the_methods():
    code = (
        "import onnx_graphsurgeon as gs, resizefix, resizefix.library.promote_scales as call, onnx\n"
        f"call.promote_scales(gs.import_onnx(onnx.load({str(SRCNN)!r})), verify=False)\n"
        "assert not gs.Graph.GLOBAL_FUNC_MAP, gs.Graph.GLOBAL_FUNC_MAP\n"
        "import resizefix.graphsurgeon\n"
        "assert set(gs.Graph.GLOBAL_FUNC_MAP) == set(resizefix.graphsurgeon.METHODS)\n"
        "assert gs.Graph.GLOBAL_FUNC_MAP['promote_resize_scales'].__doc__ == resizefix.promote_scales.__doc__\n"
    )
    printed("-c", code)
