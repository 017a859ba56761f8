"""What a file is that turned out to be no ONNX model, and what its owner can do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

# How much of a file the rows below look at.
HEAD = 512


class _Format(NamedTuple):
    what: str
    matches: Callable[[bytes], bool]
    mend: str


def _starts_with(*magics: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magics)


def _is_html(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype", b"<html", b"<?xml"))


def _is_onnx_text(head: bytes) -> bool:
    return head.lstrip().startswith(b"<") and b"ir_version" in head


def _is_json(head: bytes) -> bool:
    return _is_text(head) and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))


def _is_text(head: bytes) -> bool:
    # The head may end in the middle of a character.
    text = head.decode("utf-8", errors="ignore")
    return len(text.encode()) > len(head) - 4 and all(c.isprintable() or c in "\t\r\n" for c in text)


_ZIP = b"PK\x03\x04"
_PICKLES = tuple(b"\x80" + bytes((version,)) for version in range(2, 6))

# The first row that matches is the answer.
_FORMATS = (
    _Format("a Git LFS pointer", _starts_with(b"version https://git-lfs"), "run `git lfs pull` to get the file itself"),
    _Format("a zip archive, such as a PyTorch checkpoint", _starts_with(_ZIP), "export it to ONNX"),
    _Format("a Python pickle (PyTorch checkpoint?)", _starts_with(*_PICKLES), "export the model to ONNX"),
    _Format("an HDF5 file (Keras model?)", _starts_with(b"\x89HDF"), "convert the model with tf2onnx"),
    _Format("a TensorFlow Lite model", lambda head: head[4:8] == b"TFL3", "convert the original with tf2onnx"),
    _Format(
        "a model in onnxruntime's ORT format", lambda head: head[4:8] == b"ORTM", "give the .onnx it was made from"
    ),
    _Format("a TensorRT engine", _starts_with(b"ftrt", b"ptrt"), "give the .onnx file it was built from"),
    _Format("a safetensors file", lambda head: head[5:9] == b"\0\0\0{", "export the model to ONNX"),
    _Format("a GGUF file", _starts_with(b"GGUF"), "export the model to ONNX"),
    _Format("a NumPy array", _starts_with(b"\x93NUMPY"), "give the model, not its data"),
    _Format("compressed with gzip", _starts_with(b"\x1f\x8b"), "unpack it first"),
    _Format("an ONNX model in text form", _is_onnx_text, "convert it with onnx.parser.parse_model and onnx.save"),
    _Format("a web page, not a model", _is_html, "download the file itself"),
    _Format("a JSON document", _is_json, "give the .onnx file"),
    _Format("a text file", _is_text, "give the .onnx file"),
)


def describe(head: bytes) -> str | None:
    """What a file is that begins with `head` and what to do about it; None if nothing known begins so."""
    for row in _FORMATS:
        if row.matches(head):
            return f"is {row.what}; {row.mend}"
    return None
