from __future__ import annotations

import shutil

import numpy as np
import pytest
from fixture_models import FIXTURES, SRCNN
from kinds_of_model import ir_state

import resizefix
from resizefix.interop import in_memory

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: pip install 'resizefix[test]'")


def test_all_that_onnx_ir_kept_of_the_model_is_kept():
    model = ir.load(FIXTURES / "handmade" / "every_kind_of_metadata.onnx")
    result = resizefix.promote_scales(model)
    assert result.changed
    back, before = ir.to_proto(result.model), ir.to_proto(model)
    for field in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        assert getattr(back, field) == getattr(before, field), field
    assert back.metadata_props == before.metadata_props
    assert len(before.metadata_props)
    assert back.graph.metadata_props == before.graph.metadata_props
    assert back.graph.quantization_annotation == before.graph.quantization_annotation
    assert len(before.graph.quantization_annotation)
    assert [n.doc_string for n in back.graph.node] == [n.doc_string for n in before.graph.node]


def test_an_input_with_a_default_comes_back_as_one():
    result = resizefix.promote_scales(ir.load(SRCNN), keep_default=True)
    name = result.inputs[0].name
    graph = result.model.graph
    assert graph.inputs[-1].name == name
    np.testing.assert_array_equal(graph.initializers[name].const_value.numpy(), [1, 1, 3, 3])


def test_external_tensors_stay_in_their_folder(tmp_path):
    for name in ("external_data.onnx", "external_data.onnx.data"):
        shutil.copy(FIXTURES / "handmade" / name, tmp_path)
    model = ir.load(tmp_path / "external_data.onnx")
    before = ir_state(model)
    result = resizefix.promote_scales(model)
    assert result.verification.passed
    assert result.verification.reason is None
    weight = result.model.graph.initializers["weight"].const_value
    assert isinstance(weight, ir.ExternalTensor)
    assert weight.base_dir == str(tmp_path)
    np.testing.assert_array_equal(weight.numpy(), model.graph.initializers["weight"].const_value.numpy())
    assert ir_state(model) == before


def test_a_folder_relative_to_the_current_one_is_found(tmp_path, monkeypatch):
    for name in ("external_data.onnx", "external_data.onnx.data"):
        shutil.copy(FIXTURES / "handmade" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    model = ir.load("external_data.onnx")  # base_dir is ""
    result = resizefix.promote_scales(model)
    assert result.verification.reason is None
    assert result.model.graph.initializers["weight"].const_value.base_dir == ""


def test_external_tensors_of_two_folders_are_refused(tmp_path):
    model = ir.load(FIXTURES / "handmade" / "external_data.onnx")
    tensor = ir.ExternalTensor(
        "other.bin", 0, 4, ir.DataType.FLOAT, shape=ir.Shape([1]), name="other", base_dir=str(tmp_path)
    )
    model.graph.initializers["other"] = ir.Value(name="other", const_value=tensor)
    with pytest.raises(resizefix.UsageError, match=r"several folders.*onnx_ir\.save"):
        resizefix.inspect(model)


def test_external_tensors_in_attributes_and_bodies_count():
    outside = ir.ExternalTensor("w.bin", 0, 4, ir.DataType.FLOAT, shape=ir.Shape([1]), name="w", base_dir="/nowhere")
    inside = ir.ExternalTensor("v.bin", 0, 4, ir.DataType.FLOAT, shape=ir.Shape([1]), name="v", base_dir="/elsewhere")
    for first, second in ((outside, inside), (inside, outside)):
        value = ir.Value(name="b", const_value=first)
        body = ir.Graph([], [value], nodes=[], initializers=[value], name="body")
        condition = ir.Value(name="condition", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
        choose = ir.node("If", [condition], {"then_branch": body, "else_branch": body})
        constant = ir.node("Constant", [], {"value": second})
        graph = ir.Graph([condition], [], nodes=[choose, constant], opset_imports={"": 18}, name="g")
        with pytest.raises(resizefix.UsageError, match="several folders"):
            resizefix.inspect(ir.Model(graph, ir_version=8))


def test_a_tensor_that_has_another_name_than_its_value_keeps_it():
    model = ir.load(SRCNN)
    value = next(iter(model.graph.initializers.values()))
    array = value.const_value.numpy()
    value.const_value = ir.Tensor(array, name="the tensor's own name")
    result = resizefix.promote_scales(model)
    assert value.const_value.name == "the tensor's own name"
    np.testing.assert_array_equal(result.model.graph.initializers[value.name].const_value.numpy(), array)


def test_a_model_that_onnx_ir_cannot_serialise_is_said_to_be_one():
    model = ir.load(SRCNN)
    name = next(iter(model.graph.initializers))

    def fails():
        raise ValueError("no numbers here")

    value = model.graph.initializers[name]
    value.const_value = ir.LazyTensor(fails, dtype=ir.DataType.FLOAT, shape=ir.Shape([1]), name=name)
    with pytest.raises(resizefix.UsageError, match="onnx_ir cannot serialise the model"):
        resizefix.inspect(model)


def test_large_models_go_through_a_file(monkeypatch):
    monkeypatch.setattr(in_memory, "LARGE", 0)
    result = resizefix.promote_scales(ir.load(SRCNN))
    assert result.verification.passed
    of_file = resizefix.promote_scales(SRCNN).model.to_proto()
    assert ir.to_proto(result.model).graph.node == ir.to_proto(ir.from_proto(of_file)).graph.node
    assert {t.name: t for t in ir.to_proto(result.model).graph.initializer} == {
        t.name: t for t in of_file.graph.initializer
    }
