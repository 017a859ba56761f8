from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_bytes import first_array, names, rich_model, value
from onnx import TensorProto, helper, numpy_helper

from resizefix.diagnostics import RefusedError, UnreadableModelError, UsageError
from resizefix.document.document import Document

MODEL = rich_model()
FIRST = numpy_helper.to_array(MODEL.graph.initializer[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "m.onnx").write_bytes(MODEL.SerializeToString())
    return tmp_path / "m.onnx"


@pytest.fixture
def out(path: Path) -> Path:
    return path.with_name("out.onnx")


def renamed(document: Document, name: str = "renamed") -> Document:
    document.proto.graph.node[3].name = name
    return document


def test_a_document_knows_its_path_and_folder_and_holds_no_large_payload(path):
    document = Document.open(str(path))
    assert document.path == path
    assert document.folder == path.parent
    assert len(document.light_bytes()) < 25_000 < 50_000 < path.stat().st_size
    assert not document.proto.graph.initializer[0].HasField("raw_data")


def test_the_complete_model_is_that_of_the_file_and_independent_of_the_document(path):
    document = Document.open(path)
    proto = document.to_proto()
    assert proto == MODEL
    proto.graph.node[3].name = "other"
    assert document.proto.graph.node[3].name == "add"
    assert not document.is_changed()


def test_a_copy_is_independent_and_shares_the_file(path, out):
    document = Document.open(path)
    copy = renamed(document.copy())
    assert document.proto.graph.node[3].name == "add"
    assert copy.is_changed()
    assert not document.is_changed()
    copy.save(out)
    assert onnx.load(out) == copy.to_proto()
    assert np.array_equal(first_array(copy), FIRST)


def test_arrays_of_detached_inline_and_typed_tensors_are_those_of_the_file(path):
    document = Document.open(path)
    for light, whole in zip(document.proto.graph.initializer, MODEL.graph.initializer, strict=True):
        assert np.array_equal(document.array(light), numpy_helper.to_array(whole))
    constant, copied = document.proto.graph.node[0].attribute[0].t, TensorProto()
    copied.CopyFrom(constant)
    for tensor in (constant, copied):
        assert np.array_equal(document.array(tensor), numpy_helper.to_array(MODEL.graph.node[0].attribute[0].t))


@pytest.mark.parametrize(
    ("data_type", "count"),
    [(TensorProto.FLOAT16, 4096), (TensorProto.BFLOAT16, 4096), (TensorProto.INT4, 16384), (TensorProto.BOOL, 8192)],
)
def test_arrays_of_every_kind_are_those_onnx_reads(tmp_path, data_type, count):
    raw = np.random.default_rng(0).integers(0, 2, 8192, np.uint8).tobytes()
    tensor = TensorProto(name="w", data_type=data_type, dims=[count], raw_data=raw)
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [value("y", [1])], [tensor])), tmp_path / "m.onnx")
    document = Document.open(tmp_path / "m.onnx")
    light = document.proto.graph.initializer[0]
    assert light.data_location == TensorProto.EXTERNAL
    read, expected = document.array(light), numpy_helper.to_array(tensor)
    assert read.dtype == expected.dtype
    assert read.tobytes() == expected.tobytes()


def test_a_tensor_with_new_data_and_the_old_reference_is_refused(path, out):
    document = Document.open(path)
    tensor = document.proto.graph.initializer[0]
    tensor.raw_data = bytes(4096)
    with pytest.raises(RefusedError, match="tensor 'w': was given new data but still refers to its old data"):
        document.save(out)
    with pytest.raises(RefusedError):
        document.array(tensor)
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    document.save(out)
    assert onnx.load(out).graph.initializer[0].raw_data == bytes(4096)


def test_a_model_in_memory_is_copied_and_saved(tmp_path):
    proto = rich_model()
    document = renamed(Document.from_proto(proto))
    assert proto == MODEL
    assert (document.path, document.folder) == (None, None)
    assert document.is_changed()
    document.save(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == document.to_proto() == document.copy().to_proto()
    assert np.array_equal(document.array(proto.graph.initializer[1]), numpy_helper.to_array(proto.graph.initializer[1]))


def test_an_existing_out_is_replaced_only_with_overwrite(path, out):
    out.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        Document.open(path).save(out)
    assert out.read_bytes() == b"old"
    Document.open(path).save(out, overwrite=True)
    assert out.read_bytes() == path.read_bytes()
    assert names(path.parent) == ["m.onnx", "out.onnx"]


def test_a_model_is_saved_over_itself_again_and_again(path):
    document = Document.open(path)
    original = path.read_bytes()
    for name in ("one", "another name", "add"):
        renamed(document, name).save(path, overwrite=True)
        assert onnx.load(path).graph.node[3].name == name
        assert onnx.load(path) == document.to_proto()
    assert path.read_bytes() == original


@pytest.mark.parametrize("link", ["hard", "soft"])
def test_a_model_is_saved_over_itself_under_another_name(path, link):
    other = path.with_name("other.onnx")
    os.link(path, other) if link == "hard" else other.symlink_to("m.onnx")
    document = renamed(Document.open(path))
    document.save(other, overwrite=True)
    assert onnx.load(other.resolve()) == document.to_proto()
    assert onnx.load(path).graph.node[3].name == ("add" if link == "hard" else "renamed")
    document.save(path, overwrite=True)
    assert onnx.load(path) == document.to_proto()


def test_a_file_replaced_by_another_is_still_the_one_that_was_opened(path, out):
    document = renamed(Document.open(path))
    path.with_name("new").write_bytes(b"something else")
    os.replace(path.with_name("new"), path)
    document.save(out)
    assert onnx.load(out) == document.to_proto()
    with pytest.raises(UnreadableModelError, match="was modified or replaced since it was opened; open it again"):
        document.light_bytes()


def test_a_file_written_to_since_it_was_opened_is_refused(path, out):
    document = renamed(Document.open(path))
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    for refused in (
        lambda: document.save(out),
        document.light_bytes,
        document.to_proto,
        lambda: first_array(document),
    ):
        with pytest.raises(UnreadableModelError, match="since it was opened; open it again"):
            refused()
    assert os.listdir(path.parent) == ["m.onnx"]


def test_a_truncated_file_does_not_kill_the_process(path, out):
    document = renamed(Document.open(path))
    os.truncate(path, 10)
    with pytest.raises(UnreadableModelError, match="was modified"):
        document.save(out)


def test_relative_paths_survive_a_change_of_folder(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    document = Document.open("m.onnx")
    monkeypatch.chdir("/")
    assert document.path == Path("m.onnx")
    assert document.folder == path.parent
    assert document.light_bytes()
    assert np.array_equal(first_array(document), FIRST)


def test_names_with_spaces_and_letters_of_any_language_and_none(tmp_path):
    for name in ("with space.onnx", "mödel 漢.onnx", "a", os.fsdecode(b"no \xff utf8.onnx")):
        folder = tmp_path / f"folder of {name}"
        folder.mkdir()
        (folder / name).write_bytes(MODEL.SerializeToString())
        document = renamed(Document.open(folder / name))
        document.save(folder / "out.onnx")
        assert onnx.load(folder / "out.onnx") == document.to_proto()


def test_two_documents_of_one_file_are_alike_and_their_tensors_fit_both(path):
    one, other = Document.open(path), Document.open(path)
    assert one.light_bytes() == other.light_bytes()
    one.proto.graph.initializer[0].CopyFrom(other.proto.graph.initializer[0])
    assert not one.is_changed()


def test_a_tensor_of_another_document_is_refused_even_if_name_and_place_are_the_same(path, out):
    path.with_name("other").mkdir()
    twin = rich_model()
    twin.graph.initializer[0].raw_data = bytes(4096)
    onnx.save(twin, path.with_name("other") / "m.onnx")
    theirs = Document.open(path.with_name("other") / "m.onnx").proto.graph.initializer[0]
    document = Document.open(path)
    ours = document.proto.graph.initializer[0]
    assert list(ours.external_data)[:3] == list(theirs.external_data)[:3]
    ours.CopyFrom(theirs)
    for refused in (lambda: document.save(out), lambda: document.array(ours)):
        with pytest.raises(RefusedError, match="tensor 'w': was taken from another document"):
            refused()
    assert not out.exists()


def test_a_light_model_saved_by_other_means_is_a_model_with_external_data(path, out):
    document = Document.open(path)
    onnx.save(document.proto, path.with_name("light.onnx"))
    light = renamed(Document.open(path.with_name("light.onnx")))
    light.proto.graph.initializer[0].name = "another name"
    light.save(out)
    assert np.array_equal(first_array(light), FIRST)
    assert np.array_equal(first_array(Document.from_proto(document.proto, document.folder)), FIRST)
