"""onnxruntime opens the light model as it would open the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from model_bytes import LARGE, constant, value, weights
from onnx import TensorProto, helper, numpy_helper

from resizefix.document.document import Document

pytestmark = pytest.mark.measured_on("onnxruntime", "1.24", "sparse indices could not lie in a file")
X = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)


def options() -> onnxruntime.SessionOptions:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    return settings


def outputs(model: bytes | str, settings: onnxruntime.SessionOptions) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    return [session.run(None, {"x": X, "flag": np.array(flag)})[0] for flag in (True, False)]


def light_outputs(document: Document) -> list[np.ndarray]:
    settings = options()
    settings.add_session_config_entry("session.model_external_initializers_file_folder_path", str(document.folder))
    return outputs(document.light_bytes(), settings)


def model() -> onnx.ModelProto:
    """Adds large tensors from an initializer, a Constant, branches of an If, a function and a sparse initializer."""
    positions = numpy_helper.from_array(np.arange(LARGE, dtype=np.int64), "sparse_indices")
    branches = {
        "then_branch": helper.make_graph(
            [helper.make_node("Add", ["x", "inner"], ["b"])], "t", [], [value("b", [LARGE])], [weights("inner", 2)]
        ),
        "else_branch": helper.make_graph(
            [constant("c", weights("", 3)), helper.make_node("Mul", ["x", "c"], ["e"])], "e", [], [value("e", [LARGE])]
        ),
    }
    function = helper.make_function(
        "local", "Shift", ["a"], ["b"],
        [constant("f", weights("", 4)), helper.make_node("Add", ["a", "f"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    graph = helper.make_graph(
        [
            constant("k", weights("", 5)),
            helper.make_node("If", ["flag"], ["branched"], **branches),
            helper.make_node("Shift", ["branched"], ["shifted"], domain="local"),
            helper.make_node("Sum", ["shifted", "k", "w", "sparse"], ["y"]),
        ],
        "g",
        [value("x", [LARGE]), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
        [value("y", [LARGE])],
        [weights("w", 6)],
        sparse_initializer=[helper.make_sparse_tensor(weights("sparse", 7), positions, [LARGE])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, functions=[function], ir_version=8, opset_imports=opsets)


def plain_model() -> onnx.ModelProto:
    nodes = [constant("k", weights("", 5)), helper.make_node("Sum", ["x", "k", "w"], ["y"])]
    inputs = [value("x", [LARGE]), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", [LARGE])], [weights("w", 6)])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def assert_runs_like_the_file(path: Path) -> None:
    expected = outputs(str(path), options())
    for light, whole in zip(light_outputs(Document.open(path)), expected, strict=True):
        assert light.tobytes() == whole.tobytes()


def test_the_light_model_computes_bitwise_what_the_file_does(tmp_path):
    onnx.save(model(), tmp_path / "m.onnx")
    document = Document.open(tmp_path / "m.onnx")
    assert len(document.light_bytes()) < 5000
    assert_runs_like_the_file(tmp_path / "m.onnx")


@pytest.mark.parametrize("name", ["mödel 漢 ü.onnx", "with space.onnx", "-dash", "w.onnx"])
def test_whatever_the_file_is_called(tmp_path, name):
    folder = tmp_path / "über 漢 dir"
    folder.mkdir()
    onnx.save(model(), folder / name)
    assert_runs_like_the_file(folder / name)


def test_a_relative_path(tmp_path, monkeypatch):
    onnx.save(model(), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert_runs_like_the_file(Path("m.onnx"))


def test_a_name_that_is_not_utf8_is_loaded_whole(tmp_path):
    path = tmp_path / os.fsdecode(b"no \xff utf8.onnx")
    path.write_bytes(model().SerializeToString())
    document = Document.open(path)
    assert len(document.light_bytes()) > 20_000
    expected = outputs(path.read_bytes(), options())
    assert all(
        a.tobytes() == b.tobytes() for a, b in zip(outputs(document.light_bytes(), options()), expected, strict=True)
    )


def cached(tmp_path: Path, *, external: bool) -> Path:
    """A model as the cache of the Hugging Face hub keeps it: links with names, to files without."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots" / "onnx").mkdir(parents=True)
    whole = plain_model()
    if external:
        onnx.save(whole, tmp_path / "blobs" / "abc", save_as_external_data=True, location="def", size_threshold=1000)
        light = onnx.load(tmp_path / "blobs" / "abc", load_external_data=False)
        for entry in (entry for tensor in tensors(light) for entry in tensor.external_data if entry.key == "location"):
            entry.value = "model.onnx_data"
        light.graph.initializer.append(weights("embedded", 8))
        light.graph.node[-1].input.append("embedded")
        (tmp_path / "blobs" / "abc").write_bytes(light.SerializeToString())
        (tmp_path / "snapshots" / "onnx" / "model.onnx_data").symlink_to("../../blobs/def")
    else:
        onnx.save(whole, tmp_path / "blobs" / "abc")
    (tmp_path / "snapshots" / "onnx" / "model.onnx").symlink_to("../../blobs/abc")
    return tmp_path / "snapshots" / "onnx" / "model.onnx"


def tensors(proto: onnx.ModelProto) -> list[TensorProto]:
    return [*proto.graph.initializer, *(a.t for node in proto.graph.node for a in node.attribute if a.HasField("t"))]


@pytest.mark.parametrize("external", [False, True])
def test_a_model_reached_through_a_link_into_another_folder(tmp_path, external):
    path = cached(tmp_path, external=external)
    assert_runs_like_the_file(path)
    document = Document.open(path)
    assert len(document.light_bytes()) < 5000
    for tensor in document.proto.graph.initializer:
        assert document.array(tensor).shape == (LARGE,)
    before = path.read_bytes()
    document.save(path, overwrite=True)
    assert path.is_symlink()
    assert path.read_bytes() == before
    (tmp_path / "out").mkdir()
    document.save(tmp_path / "out" / "model.onnx")
    assert_runs_like_the_file(tmp_path / "out" / "model.onnx")


def test_a_linked_model_whose_data_lie_beside_the_link_is_loaded_whole(tmp_path):
    path = cached(tmp_path, external=True)
    data = path.with_name("model.onnx_data").read_bytes()
    path.with_name("model.onnx_data").unlink()
    path.with_name("model.onnx_data").write_bytes(data)
    document = Document.open(path)
    assert document.folder == path.parent
    assert document.proto.graph.initializer[-1].HasField("raw_data")
    assert_runs_like_the_file(path)


def test_an_edited_document_runs_before_and_after_it_is_saved(tmp_path):
    onnx.save(model(), tmp_path / "m.onnx")
    document = Document.open(tmp_path / "m.onnx")
    document.proto.graph.node[-1].input.append("x")
    edited = light_outputs(document)
    document.save(tmp_path / "out.onnx")
    document.save(tmp_path / "external.onnx", as_external_data=True)
    for name in ("out.onnx", "external.onnx"):
        saved = outputs(str(tmp_path / name), options())
        assert all(a.tobytes() == b.tobytes() for a, b in zip(edited, saved, strict=True))
        assert_runs_like_the_file(tmp_path / name)
