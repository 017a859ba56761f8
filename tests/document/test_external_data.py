from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_bytes import LARGE, first_array, names, value, weights
from onnx import TensorProto, helper

from resizefix.diagnostics import UnreadableModelError, UsageError
from resizefix.document.document import Document

W = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)
DATA = b"unrelated" + W.tobytes()


def reference(location: str, offset: int | str | None = 9, length: int | str | None = W.nbytes) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[LARGE], data_location=TensorProto.EXTERNAL)
    for key, said in (("location", location), ("offset", offset), ("length", length)):
        if said is not None:
            tensor.external_data.add(key=key, value=str(said))
    return tensor


def model(*tensors: TensorProto) -> bytes:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [value("x", [LARGE])], [value("y", [LARGE])], list(tensors))
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(DATA)
    (folder / "m.onnx").write_bytes(model(reference("weights.bin")))
    return folder


@pytest.fixture
def away(tmp_path: Path) -> Path:
    (tmp_path / "away").mkdir()
    return tmp_path / "away"


def document(folder: Path, *tensors: TensorProto) -> Document:
    (folder / "m.onnx").write_bytes(model(*tensors))
    return Document.open(folder / "m.onnx")


def test_external_values_are_read(home):
    assert np.array_equal(first_array(Document.open(home / "m.onnx")), W)


def test_length_and_offset_may_be_left_out(home):
    (home / "plain.bin").write_bytes(W.tobytes())
    assert np.array_equal(first_array(document(home, reference("plain.bin", None, None))), W)
    assert np.array_equal(first_array(document(home, reference("weights.bin", 9, None))), W)


def test_beside_the_original_references_stay_and_no_data_file_is_written(home):
    Document.open(home / "m.onnx").save(home / "copy.onnx")
    assert names(home) == ["copy.onnx", "m.onnx", "weights.bin"]
    assert (home / "copy.onnx").read_bytes() == (home / "m.onnx").read_bytes()


def test_in_another_folder_the_data_file_goes_along_under_its_name(home, away):
    (home / "deep").mkdir()
    (home / "deep" / "w.bin").write_bytes(DATA)
    document(home, reference("deep/w.bin")).save(away / "out.onnx")
    assert (away / "deep" / "w.bin").read_bytes() == DATA
    assert np.array_equal(first_array(Document.open(away / "out.onnx")), W)
    assert (away / "out.onnx").read_bytes() == (home / "m.onnx").read_bytes()


def test_the_same_data_file_already_there_is_left_alone_and_another_refused(home, away):
    (away / "weights.bin").write_bytes(DATA)
    before = (away / "weights.bin").stat()
    Document.open(home / "m.onnx").save(away / "out.onnx")
    after = (away / "weights.bin").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    (away / "weights.bin").write_bytes(b"of another model")
    for overwrite in (False, True):  # it may be the data of a model that nobody allowed to be replaced
        with pytest.raises(
            UsageError, match=r"weights.bin: this file exists, and the model's external data would replace it"
        ):
            Document.open(home / "m.onnx").save(away / "second.onnx", overwrite=overwrite)
        assert (away / "weights.bin").read_bytes() == b"of another model"
        assert names(away) == ["out.onnx", "weights.bin"]


def test_when_the_model_cannot_be_written_no_data_file_remains(home, away):
    (away / "out.onnx").write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        Document.open(home / "m.onnx").save(away / "out.onnx")
    assert names(away) == ["out.onnx"]


def test_a_data_file_reached_by_another_way_is_not_copied_onto_itself(home, away):
    os.link(home / "weights.bin", away / "weights.bin")
    Document.open(home / "m.onnx").save(away / "out.onnx", overwrite=True)
    assert (away / "weights.bin").samefile(home / "weights.bin")


def test_a_tensor_that_was_deleted_takes_no_file_along(home, away):
    opened = Document.open(home / "m.onnx")
    del opened.proto.graph.initializer[:]
    opened.save(away / "out.onnx")
    assert names(away) == ["out.onnx"]


@pytest.mark.parametrize(
    "location",
    ["../secret", "/etc/hostname", "link/secret", "symlink", "a/../../secret", "link/../weights.bin", "", "."],
)
def test_locations_that_leave_the_folder_are_neither_read_nor_copied(home, away, tmp_path, location):
    (tmp_path / "secret").write_bytes(DATA)
    (home / "symlink").symlink_to("../secret")
    (home / "link").symlink_to("..")
    opened = document(home, reference(location))
    with pytest.raises(UnreadableModelError, match=r"tensor 'w'.*inside the model's folder"):
        first_array(opened)
    with pytest.raises(UnreadableModelError, match="inside the model's folder"):
        opened.save(away / "out.onnx")
    assert names(away) == []
    opened.save(home / "out.onnx")
    assert (home / "out.onnx").read_bytes() == (home / "m.onnx").read_bytes()


def test_a_location_that_goes_down_and_up_again_is_inside_and_found_beside_the_copy(home, away):
    (home / "a" / "b").mkdir(parents=True)
    opened = document(home, reference("a/b/../../weights.bin"))
    np.testing.assert_array_equal(first_array(opened), W)
    opened.save(away / "out.onnx")
    np.testing.assert_array_equal(first_array(Document.open(away / "out.onnx")), W)
    assert (away / "out.onnx").read_bytes() == (home / "m.onnx").read_bytes()


def test_folders_on_the_way_to_a_data_file_go_where_the_model_cannot_be_written(home, away):
    (home / "a").mkdir()
    (away / "weights.bin").write_bytes(b"other")
    with pytest.raises(UsageError):
        document(home, reference("a/../weights.bin")).save(away / "out.onnx")
    assert names(away) == ["weights.bin"]


def test_data_are_not_written_through_a_link_out_of_the_new_folder(home, away, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (away / "deep").symlink_to(tmp_path / "elsewhere")
    (home / "deep").mkdir()
    (home / "deep" / "w.bin").write_bytes(DATA)
    with pytest.raises(UsageError, match="is outside of the folder"):
        document(home, reference("deep/w.bin")).save(away / "out.onnx", overwrite=True)
    assert names(tmp_path / "elsewhere") == []


@pytest.mark.parametrize(
    ("offset", "length", "reason"),
    [
        (10, W.nbytes, "bytes 10 to 4106 of .*, which has only 4105"),
        (5000, None, "begin at byte 5000 of .*, which has only 4105 bytes"),
        (9, "9" * 5000, "is not a number of up to 19 digits"),
        ("-9", None, "offset '-9' of its external data is not a number"),
        (9, 10**18, "incomplete or belongs to another model"),
        ("-9", 4096, "offset '-9'"),
        (9, "many", "length 'many'"),
        ("1" * 30, 1, "is not a number"),
        (9, 4092, "do not match the type and shape"),
    ],
)
def test_references_beyond_the_file_or_without_sense_are_refused_when_read(home, offset, length, reason):
    with pytest.raises(UnreadableModelError, match=reason):
        first_array(document(home, reference("weights.bin", offset, length)))


@pytest.mark.parametrize(("location", "offset"), [(b"\xff.bin", 0), ("nul\0.bin", 0), ("weights.bin", "x" * 9000)])
def test_nonsense_that_nobody_reads_is_kept_as_it_is(home, away, location, offset):
    tensor = reference("LOCATION", offset)
    data = model(tensor)
    entry = b"\x12\x08LOCATION"
    said = location.encode() if isinstance(location, str) else location
    data = data.replace(entry, b"\x12\x08" + said.ljust(8, b"_")[:8])
    (home / "m.onnx").write_bytes(data)
    opened = Document.open(home / "m.onnx")
    opened.save(home / "out.onnx")
    assert (home / "out.onnx").read_bytes() == data
    opened.proto.graph.node[0].name = "edited"
    opened.save(home / "out.onnx", overwrite=True)
    with pytest.raises(UnreadableModelError, match="tensor 'w'"):
        first_array(opened)
    with pytest.raises(UnreadableModelError, match="tensor 'w'"):
        opened.save(away / "out.onnx")


def test_a_missing_data_file_is_refused_where_it_is_needed_and_only_there(home, away):
    opened = document(home, reference("missing.bin"))
    opened.save(home / "copy.onnx")
    with pytest.raises(UnreadableModelError, match=r"tensor 'w' cannot be read: .*missing.bin: there is no such file"):
        opened.save(away / "out.onnx")
    assert names(away) == []


def test_a_new_reference_must_lead_somewhere(home):
    opened = Document.open(home / "m.onnx")
    opened.proto.graph.initializer.append(reference("missing.bin"))
    with pytest.raises(UnreadableModelError, match="there is no such file"):
        opened.save(home / "out.onnx")
    opened.proto.graph.initializer[1].CopyFrom(reference("weights.bin", 0, 4))
    opened.save(home / "out.onnx")


def test_data_of_the_model_itself_are_never_overwritten(home):
    opened = Document.open(home / "m.onnx")
    with pytest.raises(UsageError, match=r"weights.bin: holds the data of tensor 'w'"):
        opened.save(home / "weights.bin", overwrite=True)
    os.link(home / "weights.bin", home / "hard.onnx")
    with pytest.raises(UsageError, match="holds the data of tensor 'w'"):
        opened.save(home / "hard.onnx", overwrite=True)
    assert (home / "weights.bin").read_bytes() == DATA


def test_a_model_that_would_share_its_name_with_its_data_is_refused(home, away):
    with pytest.raises(UsageError, match="the model's external data have this name"):
        Document.open(home / "m.onnx").save(away / "weights.bin")


def test_a_tensor_that_refers_into_the_model_file_itself_is_not_taken_for_a_detached_one(home, away):
    at = model(reference("m.onnx", "0000", 4096), weights("big", 1)).index(weights("big", 1).raw_data)
    data = model(reference("m.onnx", f"{at:04}", 4096), weights("big", 1))
    (home / "m.onnx").write_bytes(data)
    opened = Document.open(home / "m.onnx")
    own, detached = opened.proto.graph.initializer
    assert [entry.value for entry in own.external_data] == ["m.onnx", f"{at:04}", "4096"]
    assert [entry.value for entry in detached.external_data][:3] == ["m.onnx", str(at), "4096"]
    assert np.array_equal(opened.array(own), opened.array(detached))
    opened.save(home / "copy.onnx")
    assert (home / "copy.onnx").read_bytes() == data
    opened.proto.graph.initializer.reverse()
    opened.save(home / "turned.onnx")
    big, itself = onnx.load(home / "turned.onnx", load_external_data=False).graph.initializer
    assert big.HasField("raw_data")
    assert itself.external_data[0].value == "m.onnx"
    with pytest.raises(UsageError, match="holds the data of tensor 'w' and cannot be replaced"):
        opened.save(home / "m.onnx", overwrite=True)
    with pytest.raises(UsageError, match="the model's external data have this name"):
        opened.save(away / "m.onnx")
    opened.save(away / "other.onnx")
    assert names(away) == ["m.onnx", "other.onnx"]


def test_a_model_in_memory_resolves_in_the_folder_it_was_given(home, away):
    proto = onnx.ModelProto.FromString(model(reference("weights.bin")))
    opened = Document.from_proto(proto, home)
    assert opened.folder == home
    assert np.array_equal(first_array(opened), W)
    opened.save(away / "out.onnx")
    assert names(away) == ["out.onnx", "weights.bin"]


def test_a_model_in_memory_without_a_folder_may_only_go_where_its_data_lie(home, away):
    opened = Document.from_proto(onnx.ModelProto.FromString(model(reference("weights.bin"))))
    with pytest.raises(UnreadableModelError, match="the folder is not known"):
        first_array(opened)
    opened.save(home / "out.onnx")
    with pytest.raises(UnreadableModelError, match="there is no such file"):
        opened.save(away / "out.onnx")


def test_thousands_of_data_files_do_not_need_as_many_open_ones(home, away):
    tensors = []
    for i in range(1500):
        (home / f"w{i}").write_bytes(b"abcd")
        tensors.append(reference(f"w{i}", 0, 4))
    document(home, *tensors).save(away / "out.onnx")
    assert len(names(away)) == 1501
