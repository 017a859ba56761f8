from __future__ import annotations

import gzip
import json
import pickle
import random
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_bytes import hostile, rich_model
from onnx import numpy_helper

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.foreign_formats import describe
from resizefix.document.wire import encode_bytes, encode_header

MODEL = rich_model().SerializeToString()


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(UnreadableModelError) as caught:
        Document.open(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def zipped(path: Path, entry: str) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, b"x" * 100)
    return path.read_bytes()


def zipped_checkpoint(path: Path) -> bytes:
    return zipped(path, "archive/data.pkl")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"just some words\n", "is a text file"),
        ("Möglicherweise ein Text. ".encode() * 50, "is a text file"),
        (json.dumps({"model": [1, 2]}).encode(), "is a JSON document"),
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "is a web page, not a model; download the file itself"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "is a Git LFS pointer; run `git lfs pull`"),
        (pickle.dumps({"state_dict": [1.0]}, protocol=2), "is a Python pickle"),
        (gzip.compress(MODEL), "is compressed with gzip"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "is an HDF5 file"),
        (b"\x1c\0\0\0TFL3" + bytes(100), "is a TensorFlow Lite model"),
        (b"\x1c\0\0\0ORTM" + bytes(100), "is a model in onnxruntime's ORT format"),
        (b"ftrt" + bytes(100), "is a TensorRT engine"),
        (b"\x50\0\0\0\0\0\0\0{" + b'"w": 1' * 12, "is a safetensors file"),
        (b"GGUF\x03\0\0\0" + bytes(100), "is a GGUF file"),
        (b'<\n  ir_version: 8,\n  opset_import: ["" : 17]\n>\ng (float[1] x) => (x) {}', "an ONNX model in text form"),
        (numpy_helper.from_array(np.zeros(3, np.float32), "x").SerializeToString(), "holds no graph"),
        (b"\x08\x01\x12\x0a" + bytes(10), "holds no graph"),
        (b"\x38\x01", "holds no graph"),
        (bytes(1000), "is not an ONNX model"),
        (b"\x3a\x04\x0b\x0b\x0b\x0b", "is not an ONNX model, or a damaged one"),
        (b"\x0b" + MODEL, "is not an ONNX model, or a damaged one"),
        (b"\x80" * 11 + MODEL, "is not an ONNX model, or a damaged one"),
        (MODEL[:-1], "is cut off"),
        (MODEL[: len(MODEL) // 2], "is cut off (field 7"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_model_is_refused_saying_what_it_is(tmp_path, content, said):
    assert said in refusal(tmp_path / "model.onnx", content)


# What stands in the first entry of the archive, and what the file is then.
ARCHIVES = [
    ("archive/data.pkl", "is a PyTorch checkpoint; export it to ONNX: torch.onnx.export("),
    ("metadata.json", "is a Keras model; export it to ONNX: keras."),
    ("x.npy", "is an archive of NumPy arrays"),
    ("model.onnx", "is a zip archive; unpack it, and give the .onnx file inside"),
]


@pytest.mark.parametrize(("entry", "said"), ARCHIVES)
def test_a_zip_archive_is_told_by_its_first_entry(tmp_path, entry, said):
    assert said in refusal(tmp_path / "model.onnx", zipped(tmp_path / "z", entry))


# A name, and what to run instead where the contents do not say what the file is.
NAMES = [
    (".pt", "torch.onnx.export("),
    (".pth", "torch.onnx.export("),
    (".PT", "torch.onnx.export("),
    (".engine", "give the .onnx file that it was built from"),
    (".plan", "give the .onnx file that it was built from"),
    (".trt", "give the .onnx file that it was built from"),
    (".tflite", "python -m tf2onnx.convert --tflite"),
    (".pb", "python -m tf2onnx.convert --saved-model"),
    (".h5", "keras.models.load_model(path).export("),
    (".keras", "keras.models.load_model(path).export("),
    (".safetensors", "load these weights into the network"),
    (".ort", "give the .onnx file that it was converted from"),
    (".xml", "give the .onnx file that it was converted from"),
    (".mlmodel", "give the .onnx file that it was converted from"),
    (".pdmodel", "paddle2onnx --model_dir"),
]
_UNKNOWN = b"\xff\xfe\xfd" * 100


@pytest.mark.parametrize(("suffix", "said"), NAMES)
def test_where_the_contents_say_nothing_the_name_says_what_to_run_instead(tmp_path, suffix, said):
    text = refusal(tmp_path / f"model{suffix}", _UNKNOWN)
    assert "is named like a" in text
    assert said in text


@pytest.mark.parametrize(("suffix", "said"), NAMES)
def test_the_contents_go_before_the_name(tmp_path, suffix, said):
    assert "is a web page, not a model" in refusal(tmp_path / f"model{suffix}", b"<html>404</html>")
    assert "is a TensorFlow Lite model" in refusal(tmp_path / f"model{suffix}", b"\x1c\0\0\0TFL3" + bytes(100))


@pytest.mark.parametrize("content", [zipped_checkpoint, lambda path: pickle.dumps({"w": 1}, protocol=2)])
def test_a_checkpoint_is_never_to_be_unpacked(tmp_path, content):
    text = refusal(tmp_path / "w.pt", content(tmp_path / "z"))
    assert "torch.onnx.export(" in text
    assert "unpack" not in text


def test_a_zip_archive_named_as_a_checkpoint_is_one(tmp_path):
    assert "torch.onnx.export(" in refusal(tmp_path / "w.pt", zipped(tmp_path / "z", "other"))


def test_a_link_that_leads_nowhere_names_what_is_missing(tmp_path):
    (tmp_path / "first.onnx").symlink_to("second.onnx")
    (tmp_path / "second.onnx").symlink_to(tmp_path / "gone" / "x3.onnx")
    with pytest.raises(UnreadableModelError) as caught:
        Document.open(tmp_path / "first.onnx")
    there = (tmp_path / "gone" / "x3.onnx").resolve()
    assert str(caught.value) == f"{tmp_path / 'first.onnx'}: is a link to {there}, and there is no such file."


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(UnreadableModelError, match=r"there is no such file"):
        Document.open(tmp_path / "missing.onnx")
    with pytest.raises(UnreadableModelError, match=r"is a folder; name the .onnx file inside it"):
        Document.open(tmp_path)


def test_a_record_that_lies_about_its_length_costs_no_memory(tmp_path):
    graph = b"\x2a" + b"\xff" * 8 + b"\x7f" + bytes(5000)
    assert "claims 9223372036854775807 bytes" in refusal(tmp_path / "m", encode_bytes(7, graph))


def test_messages_nested_without_end_are_refused(tmp_path):
    content = b"\x0a\x00" + bytes(5000)
    for _ in range(60):
        content = encode_bytes(1, encode_bytes(5, encode_bytes(6, content)))
    assert "nested more than 100 deep" in refusal(tmp_path / "m", encode_bytes(7, content))


def test_a_sparse_file_of_terabytes_is_refused_without_reading_it(tmp_path):
    size = 3 << 40
    with (tmp_path / "m").open("wb") as file:
        file.write(b"\x08\x08" + encode_header(7, size) + encode_header(10, size - 20))
        try:
            file.truncate(file.tell() + size)
        except OSError:  # a file system that has no files of this size
            file.truncate(1 << 33)
    with pytest.raises(UnreadableModelError, match=r"is not an ONNX model|is cut off"):
        Document.open(tmp_path / "m")


def test_every_beginning_of_a_model_is_refused_or_is_one(tmp_path):
    for length in [*range(1, 300), *range(300, len(MODEL), 97)]:
        (tmp_path / "m").write_bytes(MODEL[:length])
        try:
            document = Document.open(tmp_path / "m")
        except UnreadableModelError:
            continue
        document.save(tmp_path / "out", overwrite=True)
        assert (tmp_path / "out").read_bytes() == MODEL[:length]


def test_damaged_models_are_refused_or_kept_as_they_are(tmp_path):
    rng = random.Random(7)
    refused = 0
    for _ in range(400):
        data = bytearray(hostile(rich_model(), rng) if rng.random() < 0.1 else MODEL)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data) if rng.random() < 0.5 else 400)] = rng.randrange(256)
        (tmp_path / "m").write_bytes(data)
        try:
            document = Document.open(tmp_path / "m")
        except UnreadableModelError:
            refused += 1
            continue
        document.save(tmp_path / "out", overwrite=True)
        assert (tmp_path / "out").read_bytes() == data
    assert 0 < refused < 400


def test_a_model_is_never_described_as_something_else():
    rng = random.Random(1)
    assert describe(MODEL[:512]) is None
    assert not [seed for seed in range(50) if describe(hostile(rich_model(), rng)[:512])]


def test_what_protobuf_reads_is_opened_whatever_the_suffix(tmp_path):
    (tmp_path / "no suffix").write_bytes(MODEL)
    assert Document.open(tmp_path / "no suffix").to_proto() == onnx.ModelProto.FromString(MODEL)
