from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, helper, numpy_helper
from opset_pair import model_of, normal, run

from resizefix.opsets.inference import inferred, scaled
from resizefix.opsets.knowledge import Knowledge


def hybrid(graph: str, *sites: tuple[str, str, list[float]], opset: int = 13) -> ModelProto:
    """A model of a newer opset with Upsample-7 nodes in front, as the caller of a downgrade makes it."""
    model = model_of(opset, graph)
    for position, (source, result, scales) in enumerate(sites):
        model.graph.node.insert(
            position, helper.make_node("Upsample", [source], [result], scales=[float(scale) for scale in scales])
        )
    return model


def dims(model: ModelProto, name: str) -> tuple[int | None, ...] | None:
    knowledge = Knowledge(model, numpy_helper.to_array)
    return knowledge.dims(knowledge.scopes.main, name)


def test_a_stored_shape_that_is_stale_is_not_believed() -> None:
    model = model_of(13, "g (float[2,3] x) => (float[9,9] y) { r = Relu(x) y = Relu(r) }")
    model.graph.value_info.append(helper.make_tensor_value_info("r", 1, [7, 7]))
    assert dims(model, "r") == (2, 3)
    assert dims(model, "y") == (2, 3)
    assert [value.name for value in model.graph.value_info] == ["r"]  # the model itself is left alone


def test_the_stored_shape_of_a_custom_operator_is_all_there_is() -> None:
    model = model_of(13, "g (float[2,3] x) => (float[A,B] y) { r = Relu(x) y = Relu(r) }")
    model.graph.node[0].domain = "acme"
    model.opset_import.append(helper.make_opsetid("acme", 1))
    assert dims(model, "r") is None
    model.graph.value_info.append(helper.make_tensor_value_info("r", 1, [4, None]))
    assert dims(model, "y") == (4, None)


def test_a_default_is_no_constant_for_shapes() -> None:
    graph = "g (float[2,3] x, int64[2] s) => (float[A,B] y) <int64[2] s = {3,2}> { y = Reshape(x, s) }"
    assert dims(model_of(13, graph), "y") == (None, None)
    assert dims(model_of(13, graph, ir_version=3), "y") == (3, 2)


def test_one_upsample_after_another_in_a_newer_opset_is_followed() -> None:
    model = hybrid(
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y) { y = Relu(b) }",
        ("x", "a", [1, 1, 2, 2]),
        ("a", "b", [1, 1, 3, 1.5]),
    )
    assert dims(model, "y") == (1, 2, 18, 12)


def test_an_upsample_of_an_unknown_size_keeps_the_rank() -> None:
    model = hybrid("g (float[N,2,H,4] x) => (float[A,B,C,D] y) { y = Relu(a) }", ("x", "a", [1, 1, 2, 2]))
    assert dims(model, "y") == (None, 2, None, 8)


def test_a_size_on_which_runtimes_disagree_is_unknown() -> None:
    scale = float(np.float32(9) / np.float32(5))
    model = hybrid("g (float[1,1,5,5] x) => (float[A,B,C,D] y) { y = Relu(a) }", ("x", "a", [1, 1, scale, 2]))
    assert dims(model, "y") == (1, 1, None, 10)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300))
def test_where_the_rules_agree_onnxruntime_has_that_size(size: int, more: int) -> None:
    scale = float(np.float32(size + more) / np.float32(size))
    found = scaled(size, scale)
    model = model_of(8, f"g (float[1,{size}] x) => (float[1,M] y) {{ y = Upsample<scales=[1.0, {scale!r}]>(x) }}")
    if found is not None:
        assert run(model, {"x": normal(1, size)})[0].shape == (1, found)


@pytest.mark.parametrize("opset", [9, 10, 13, 18, 25])
def test_nodes_keep_their_places_in_the_inferred_copy(opset: int) -> None:
    model = hybrid(
        "g (float[1,2,3,4] x) => (float[A,B,C,D] y) { r = Relu(a) y = Tanh(r) }", ("x", "a", [1, 1, 2, 2]), opset=opset
    )
    copy = inferred(model, numpy_helper.to_array)
    assert [node.op_type for node in copy.graph.node] == ["Upsample", "Relu", "Tanh"]
    assert model.graph.node[0].domain == ""
