"""What a model is fed from a file: numpy's `.npy`, or a picture, whose pixels become the tensor that an input takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from resizefix.document.values import Array
from resizefix.errors import UsageError
from resizefix.runtimes.inputs import InputKind, TensorInput

NUMPY = ".npy"
_INSTALL = "pip install 'resizefix[images]'"
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE})
_CHANNELS = {1: "L", 3: "RGB"}
_WORDS = {"L": "grey", "RGB": "red, green, blue"}


class Fed(NamedTuple):
    """Values for inputs: numbers as they are given, and arrays out of files; `paths` names the files by input, and
    `notes` says in words how each was read."""

    numbers: dict[str, object]
    arrays: dict[str, Array]
    paths: dict[str, str]
    notes: list[str]

    @property
    def values(self) -> dict[str, object]:
        """All of them."""
        return {**self.numbers, **self.arrays}

    def with_notes(self, reason: str | None) -> str | None:
        """A verification's reason, and the notes behind it."""
        return (
            "; ".join(filter(None, [(reason or "").removesuffix("."), *self.notes])) or None if self.notes else reason
        )


def read_feeds(given: Mapping[str, object], entries: Sequence[TensorInput]) -> Fed:
    """The values of `given`, by input numbers or the path of a file; a path without a name ("") is a picture for the
    only input that takes one. Raises UsageError for what cannot be fed.
    """
    inputs = {entry.name: entry for entry in entries}
    fed = Fed({}, {}, {}, [])
    for said, value in given.items():
        name = said or _only_image(str(value), entries)
        if name in fed.values:
            raise UsageError("interop.feed-twice", name=name)
        if isinstance(value, (str, os.PathLike)):
            if name not in inputs:
                raise UsageError("interop.feed-no-such-input", name=name, known=", ".join(inputs) or "none")
            fed.paths[name] = os.fsdecode(value)
            fed.arrays[name], note = fed_from_file(fed.paths[name], inputs[name])
            fed.notes.append(note)
        else:
            fed.numbers[name] = value
    return fed


def _only_image(path: str, entries: Sequence[TensorInput]) -> str:
    """The input that a picture without a name is for."""
    fitting = [entry.name for entry in entries if _takes_pictures(entry)]
    if len(fitting) != 1:
        known = ", ".join(fitting or (entry.name for entry in entries))
        raise UsageError("interop.feed-which-input", path=path, known=known or "none")
    return fitting[0]


def _takes_pictures(entry: TensorInput) -> bool:
    shape = entry.shape
    if entry.kind is not InputKind.TENSOR or shape is None or len(shape) not in (3, 4):
        return False
    return entry.elem_type in (*_FLOATS, TensorProto.UINT8)


def fed_from_file(path: str, entry: TensorInput) -> tuple[Array, str]:
    """The value for an input out of a file, and how it was made, in words.

    A picture is read upright, as grey or RGB as the input has 1 or 3 channels, channels first or last as its
    shape says (first where it leaves that open); divided by 255 for floats, as it is for uint8. Nothing is cut, scaled
    or normalised. Raises UsageError for a file that is not there or does not fit, and where Pillow is not installed.
    """
    if not Path(path).is_file():
        raise UsageError("interop.feed-no-file", path=path)
    if PurePath(path).suffix.lower() == NUMPY:
        found = _numpy(path)
        wanted = np.dtype(helper.tensor_dtype_to_np_dtype(entry.elem_type))
        how = "as it is" if found.dtype == wanted else f"{found.dtype.name} as {wanted.name}"
        return found, f"{PurePath(path).name} {how}"
    return _picture(path, entry)


def _numpy(path: str) -> Array:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError("interop.feed-no-numpy", path=path, error=error) from error
    if not isinstance(found, np.ndarray):
        raise UsageError("interop.feed-no-single-array", path=path)
    return found


def _picture(path: str, entry: TensorInput) -> tuple[Array, str]:
    channels, is_last = _layout(path, entry)
    mode = _CHANNELS[channels]
    pixels = _pixels(path, mode)
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    if not is_last:
        pixels = np.moveaxis(pixels, -1, 0)
    reading = ["NHWC" if is_last else "NCHW", _WORDS[mode]]
    if entry.elem_type == TensorProto.UINT8:
        reading.append("0 to 255")
        value = pixels
    else:
        reading.append("divided by 255")
        value = (pixels / np.float32(255)).astype(helper.tensor_dtype_to_np_dtype(entry.elem_type))
    rank = len(entry.shape or ())
    value = value[None] if rank == 4 else value
    if not entry.takes(value.shape):
        given = list(value.shape)
        raise UsageError(
            "interop.feed-does-not-fit", path=path, given=given, name=entry.name, type_text=entry.type_text
        )
    return np.ascontiguousarray(value), f"{PurePath(path).name}: {', '.join(reading)}"


def _layout(path: str, entry: TensorInput) -> tuple[int, bool]:
    """How many channels the input takes, and whether they are its last axis."""
    shape = entry.shape
    if shape is None or not _takes_pictures(entry):
        raise UsageError("interop.feed-no-picture", path=path, name=entry.name, type_text=entry.type_text)
    first, last = shape[-3], shape[-1]
    if first in _CHANNELS:
        return int(first), False
    if last in _CHANNELS:
        return int(last), True
    if isinstance(first, int):
        raise UsageError("interop.feed-no-channels", path=path, name=entry.name, type_text=entry.type_text)
    return 3, False


def _pixels(path: str, mode: str) -> Array:
    """The picture upright, as a viewer shows it: cameras store which way is up beside the pixels."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise UsageError("interop.feed-needs-pillow", path=path, install=_INSTALL) from error
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert(mode), np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UsageError("interop.feed-unreadable", path=path, error=error) from error
