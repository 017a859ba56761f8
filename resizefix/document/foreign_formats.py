"""What a file is that turned out to be no ONNX model, and what to run instead: one row for each format.

The first row that matches is the answer. So the rows stand in the order of what is most certain: contents that only one
format has, then names, then contents that many formats share.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import NamedTuple

# How much of a file the rows below look at.
HEAD = 512


class _Format(NamedTuple):
    """`matches` gets the first bytes of the file and its suffix in lower case, as `.pt`; `fix` is what to do."""

    what: str
    matches: Callable[[bytes, str], bool]
    fix: str


def _starts_with(*magics: bytes) -> Callable[[bytes, str], bool]:
    return lambda head, suffix: head.startswith(magics)


def _holds(start: int, magic: bytes) -> Callable[[bytes, str], bool]:
    return lambda head, suffix: head[start : start + len(magic)] == magic


def _named(*suffixes: str) -> Callable[[bytes, str], bool]:
    return lambda head, suffix: suffix in suffixes


def _zip_of(*entries: bytes) -> Callable[[bytes, str], bool]:
    """A zip archive in whose beginning one of these names of entries stands."""
    return lambda head, suffix: head.startswith(_ZIP) and any(entry in head for entry in entries)


def _is_html(head: bytes, suffix: str) -> bool:
    return _without_space(head).lower().startswith((b"<!doctype", b"<html"))


def _is_openvino(head: bytes, suffix: str) -> bool:
    return _without_space(head).startswith((b"<?xml", b"<net ")) and b"<net " in head


def _is_onnx_text(head: bytes, suffix: str) -> bool:
    return head.lstrip().startswith(b"<") and b"ir_version" in head


def _is_json(head: bytes, suffix: str) -> bool:
    return _is_text(head, suffix) and _without_space(head).startswith((b"{", b"["))


def _is_text(head: bytes, suffix: str) -> bool:
    # The head may end in the middle of a character.
    text = head.decode("utf-8", errors="ignore")
    return len(text.encode()) > len(head) - 4 and all(c.isprintable() or c in "\t\r\n" for c in text)


def _without_space(head: bytes) -> bytes:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")


_ZIP = b"PK\x03\x04"
_PICKLES = tuple(b"\x80" + bytes((version,)) for version in range(2, 6))
_EXPORT = "export it to ONNX: torch.onnx.export(network, (image,), 'model.onnx')"
_OF_KERAS = "export it to ONNX: keras.models.load_model(path).export('model.onnx', format='onnx')"
_OF_TENSORFLOW = "convert it: python -m tf2onnx.convert --{option} {given} --output model.onnx"
_SAVED_MODEL = _OF_TENSORFLOW.format(option="saved-model", given="FOLDER")
_LITE = _OF_TENSORFLOW.format(option="tflite", given="FILE")
_WEIGHTS = "load these weights into the network, then torch.onnx.export(network, (image,), 'model.onnx')"
_BUILT_FROM = "give the .onnx file that it was built from"
_CONVERTED_FROM = "give the .onnx file that it was converted from"

_FORMATS = (
    # Contents that one format alone has.
    _Format("a Git LFS pointer", _starts_with(b"version https://git-lfs"), "run `git lfs pull` to get the file itself"),
    _Format("a PyTorch checkpoint", _zip_of(b"/data.pkl", b"/byteorder", b"/archive_format"), _EXPORT),
    _Format("a Keras model", _zip_of(b"metadata.json", b"config.json", b"model.weights.h5"), _OF_KERAS),
    _Format("an archive of NumPy arrays", _zip_of(b".npy"), "give the model, not its data"),
    _Format("an HDF5 file, as Keras writes", _starts_with(b"\x89HDF"), _OF_KERAS),
    _Format("a TensorFlow Lite model", _holds(4, b"TFL3"), _LITE),
    _Format("a model in onnxruntime's ORT format", _holds(4, b"ORTM"), _CONVERTED_FROM),
    _Format("a TensorRT engine", _starts_with(b"ftrt", b"ptrt"), _BUILT_FROM),
    _Format("a safetensors file, which holds weights only", _holds(5, b"\0\0\0{"), _WEIGHTS),
    _Format("a GGUF file", _starts_with(b"GGUF"), _WEIGHTS),
    _Format("a NumPy array", _starts_with(b"\x93NUMPY"), "give the model, not its data"),
    _Format("compressed with gzip", _starts_with(b"\x1f\x8b"), "unpack it first"),
    _Format("the graph of an ncnn model", _starts_with(b"7767517"), _CONVERTED_FROM),
    _Format("an OpenVINO model", _is_openvino, _CONVERTED_FROM),
    _Format(
        "an ONNX model in text form",
        _is_onnx_text,
        "convert it: onnx.save(onnx.parser.parse_model(open(path).read()), 'model.onnx')",
    ),
    _Format("a web page, not a model", _is_html, "download the file itself"),
    # Names, of files whose first bytes say less.
    _Format("named like a PyTorch checkpoint", _named(".pt", ".pth", ".pt2"), _EXPORT),
    _Format("named like a TensorRT engine", _named(".engine", ".plan", ".trt"), _BUILT_FROM),
    _Format("named like a TensorFlow Lite model", _named(".tflite", ".lite"), _LITE),
    _Format("named like a TensorFlow graph", _named(".pb", ".pbtxt"), _SAVED_MODEL),
    _Format("named like a Keras model", _named(".h5", ".hdf5", ".keras"), _OF_KERAS),
    _Format("named like a safetensors file", _named(".safetensors"), _WEIGHTS),
    _Format("named like a model in onnxruntime's ORT format", _named(".ort"), _CONVERTED_FROM),
    _Format("named like an OpenVINO, ncnn, MNN or RKNN model",
        _named(".xml", ".bin", ".param", ".mnn", ".rknn"), _CONVERTED_FROM),
    _Format("named like a CoreML model", _named(".mlmodel", ".mlpackage"), _CONVERTED_FROM),
    _Format("named like a PaddlePaddle model", _named(".pdmodel", ".pdiparams"),
        "convert it: paddle2onnx --model_dir FOLDER --model_filename FILE --params_filename FILE --save_file OUT.onnx"),
    # Contents that many formats share.
    _Format("a zip archive", _starts_with(_ZIP), "unpack it, and give the .onnx file inside"),
    _Format("a Python pickle, as PyTorch writes", _starts_with(*_PICKLES), _EXPORT),
    _Format("an XML document", _starts_with(b"<?xml"), "give the .onnx file"),
    _Format("a JSON document", _is_json, "give the .onnx file"),
    _Format("a text file", _is_text, "give the .onnx file"),
)  # fmt: skip


def describe(head: bytes, name: str = "") -> str | None:
    """What a file is that begins with `head` and has this name, and what to do about it; None if no row matches."""
    suffix = PurePath(name).suffix.lower()
    for row in _FORMATS:
        if row.matches(head, suffix):
            return f"is {row.what}; {row.fix}"
    return None
