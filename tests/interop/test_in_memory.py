from __future__ import annotations

import gc
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import pytest
from child_python import printed
from fixture_models import FIXTURES, SRCNN
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import resizefix
from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.external_data import references_in
from resizefix.interop import in_memory
from resizefix.interop.in_memory import complete, filled, light_document

READABLE = [
    path
    for path in sorted([*FIXTURES.glob("*.onnx"), *FIXTURES.glob("handmade/*.onnx")])
    if path.stem not in ("empty", "text", "truncated", "external_data_lost")
]


def in_a_circle() -> onnx.ModelProto:
    """The scales of a resize are made of what it makes, and an initializer gives them, too."""
    return onnx_text.model(
        "(float[1,3,8,8] x) => (float[1,3,16,16] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) s = Relu (y) }",
        13,
    )


@pytest.fixture
def in_files(monkeypatch, tmp_path):
    """Every model is large, and the folder where temporary files go."""
    monkeypatch.setattr(in_memory, "LARGE", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("large", [True, False])
def test_a_model_is_refused_in_memory_as_its_file_is(large, tmp_path, monkeypatch):
    monkeypatch.setattr(in_memory, "LARGE", 0 if large else 1 << 30)
    (tmp_path / "circle.onnx").write_bytes(in_a_circle().SerializeToString())
    refused = 0
    for path in (tmp_path / "circle.onnx", *sorted((FIXTURES / "hostile").glob("*.hostile"))):
        try:
            model = onnx.ModelProto.FromString(path.read_bytes())
        except DecodeError:
            continue
        if not model.HasField("graph") or any(references_in(path.read_bytes())):
            continue
        try:
            Document.open(path)
        except UnreadableModelError:
            refused += 1
            with pytest.raises(UnreadableModelError):
                light_document(model)
        else:
            assert light_document(model).proto.graph.name == model.graph.name
    assert refused > 3


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.stem)
def test_a_model_comes_back_equal_through_a_file_and_put_together(path, in_files):
    model = onnx.load(path)
    before = model.SerializeToString(deterministic=True)
    document = light_document(model)
    assert filled(document) == model
    assert complete(document) == model
    assert model.SerializeToString(deterministic=True) == before


def test_the_weights_of_a_large_model_stay_in_the_file(in_files):
    model = onnx.load(SRCNN)
    document = light_document(model)
    assert len(document.light_bytes()) < 5000 < model.ByteSize()
    assert document.path is None


def test_a_small_model_needs_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert resizefix.promote_scales(onnx.load(SRCNN)).verification.passed


@pytest.mark.parametrize("verify", [True, False])
def test_no_file_is_left_behind(in_files, verify):
    result = resizefix.promote_scales(onnx.load(SRCNN), verify=verify)
    assert result.changed
    assert os.listdir(in_files) == []
    resizefix.check(onnx.load(SRCNN), target="tensorrt-5.0")
    gc.collect()
    assert os.listdir(in_files) == []


def test_no_file_is_left_behind_by_an_error(in_files):
    with pytest.raises(resizefix.UsageError):
        resizefix.promote_scales(onnx.load(SRCNN), node=["no such node"])
    gc.collect()
    assert os.listdir(in_files) == []


def test_the_original_in_an_error_can_be_saved(in_files, tmp_path_factory):
    model = onnx.load(FIXTURES / "handmade" / "size_rules_disagree.onnx")
    with pytest.raises(resizefix.VerificationFailedError) as raised:
        resizefix.promote_scales(model)
    out = tmp_path_factory.mktemp("out") / "original.onnx"
    raised.value.result.model.save(out)
    assert onnx.load(out) == model


def test_a_temporary_folder_without_room_is_named(in_files, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(in_files / "missing"))
    with pytest.raises(resizefix.CannotWriteError, match=r"missing.*TMPDIR"):
        resizefix.promote_scales(onnx.load(SRCNN))


def test_fields_that_no_schema_knows_are_kept(in_files):
    model = onnx.load(SRCNN)
    text = model.SerializeToString() + b"\xc2\x3e\x03abc"  # field 1000, three bytes
    strange = onnx.ModelProto.FromString(text)
    assert complete(light_document(strange)).SerializeToString(deterministic=True).endswith(b"\xc2\x3e\x03abc")


NUMBERS = {"raw_data": TensorProto.FLOAT, "float_data": TensorProto.FLOAT, "int64_data": TensorProto.INT64}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(NUMBERS)), st.integers(0, 3000)), max_size=4))
def test_tensors_of_any_size_and_field_come_back_as_they_were(tensors):
    model = helper.make_model(helper.make_graph([], "g", [], []), producer_name="law")
    for index, (field, count) in enumerate(tensors):
        tensor = model.graph.initializer.add(name=f"w{index}", data_type=NUMBERS[field], dims=[count])
        if field == "raw_data":
            tensor.raw_data = np.arange(count, dtype=np.float32).tobytes()
        else:
            getattr(tensor, field).extend(range(count))
    for large in (0, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(in_memory, "LARGE", large)
            assert complete(light_document(model)) == model
            put_together = filled(light_document(model))
    for tensor, original in zip(put_together.graph.initializer, model.graph.initializer, strict=True):
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), numpy_helper.to_array(original))


PROMOTING = """
import json, sys
import onnx, resizefix
from resizefix import promote_scales
def peak():  # ru_maxrss would begin at what the parent process had
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024
promote_scales(sys.argv[1])
model = onnx.load(sys.argv[2])
loaded = peak()
result = promote_scales(model)
assert result.verification.passed and type(result.model) is onnx.ModelProto
print(json.dumps({"loaded": loaded, "peak": peak()}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by Linux's /proc")
def test_promoting_a_large_model_in_memory_takes_less_than_four_times_its_size_more(tmp_path):
    channels, layers = 1024, 20  # 80 MB; loaded it counts twice, for onnx.load reads the file as bytes first
    weights = [
        numpy_helper.from_array(np.full((channels, channels, 1, 1), 1 / channels, np.float32), f"w{i}")
        for i in range(layers)
    ]
    weights.append(numpy_helper.from_array(np.array([1, 1, 3, 3], np.float32), "scales"))
    nodes = [helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(layers)]
    nodes.append(helper.make_node("Resize", [f"t{layers}", "", "scales"], ["y"], mode="linear"))
    x = helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, channels, 2, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, channels, 6, 6])
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    figures = json.loads(printed("-c", PROMOTING, SRCNN, tmp_path / "m.onnx"))
    assert figures["peak"] - figures["loaded"] < 4 * 84
    assert Path(tmp_path / "m.onnx").stat().st_size > 80 << 20
