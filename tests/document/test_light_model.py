"""onnxruntime opens the light model as it would open the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import onnxruntime
import pytest
from model_bytes import LARGE, weights
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


TEXT = """(float[1024] x, bool flag) => (float[1024] y) <float[1] w = {0}> {
  k = Constant <value = float[1] {0}> ()
  branched = If (flag) <
    then_branch = t () => (float[1024] b) <float[1] inner = {0}> { b = Add (x, inner) },
    else_branch = e () => (float[1024] e) { c = Constant <value = float[1] {0}> () e = Mul (x, c) }>
  shifted = local.Shift (branched)
  y = Sum (shifted, k, w, sparse)
}
<domain: "local", opset_import: ["" : 17]> Shift (a) => (b) { f = Constant <value = float[1] {0}> () b = Add (a, f) }"""
PLAIN = """(float[1024] x, bool flag) => (float[1024] y) <float[1] w = {0}> {
  k = Constant <value = float[1] {0}> () y = Sum (x, k, w) }"""


def with_weights(text: str) -> onnx.ModelProto:
    """A model whose tensors are large, each with other values."""
    made = onnx_text.model(text, 17, "local")
    bodies = [a.g for node in made.graph.node for a in node.attribute if a.HasField("g")]
    for seed, tensor in enumerate(t for body in (made.graph, *bodies, *made.functions) for t in tensors(body)):
        tensor.CopyFrom(weights(tensor.name, seed))
    return made


def tensors(body: onnx.GraphProto | onnx.FunctionProto) -> list[TensorProto]:
    held = [attribute.t for node in body.node for attribute in node.attribute if attribute.HasField("t")]
    return [*getattr(body, "initializer", ()), *held]


def model() -> onnx.ModelProto:
    """Adds large tensors from an initializer, a Constant, branches of an If, a function and a sparse initializer."""
    made = with_weights(TEXT)
    positions = numpy_helper.from_array(np.arange(LARGE, dtype=np.int64), "sparse_indices")
    sparse = helper.make_sparse_tensor(weights("sparse", 7), positions, [LARGE])
    made.graph.sparse_initializer.append(sparse)
    return made


def assert_runs_like_the_file(path: Path) -> None:
    expected, light = outputs(str(path), options()), light_outputs(Document.open(path))
    assert [one.tobytes() for one in light] == [one.tobytes() for one in expected]


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
    expected, light = (outputs(data, options()) for data in (path.read_bytes(), document.light_bytes()))
    assert [one.tobytes() for one in light] == [one.tobytes() for one in expected]


def cached(tmp_path: Path, *, external: bool) -> Path:
    """A model as the cache of the Hugging Face hub keeps it: links with names, to files without."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots" / "onnx").mkdir(parents=True)
    whole = with_weights(PLAIN)
    if external:
        onnx.save(whole, tmp_path / "blobs" / "abc", save_as_external_data=True, location="def", size_threshold=1000)
        light = onnx.load(tmp_path / "blobs" / "abc", load_external_data=False)
        for entry in (
            entry for tensor in tensors(light.graph) for entry in tensor.external_data if entry.key == "location"
        ):
            entry.value = "model.onnx_data"
        light.graph.initializer.append(weights("embedded", 8))
        light.graph.node[-1].input.append("embedded")
        (tmp_path / "blobs" / "abc").write_bytes(light.SerializeToString())
        (tmp_path / "snapshots" / "onnx" / "model.onnx_data").symlink_to("../../blobs/def")
    else:
        onnx.save(whole, tmp_path / "blobs" / "abc")
    (tmp_path / "snapshots" / "onnx" / "model.onnx").symlink_to("../../blobs/abc")
    return tmp_path / "snapshots" / "onnx" / "model.onnx"


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
        assert [one.tobytes() for one in saved] == [one.tobytes() for one in edited]
        assert_runs_like_the_file(tmp_path / name)
