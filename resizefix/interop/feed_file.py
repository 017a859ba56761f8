"""What a model is fed from a file: arrays of numpy or ONNX, or a picture, whose pixels become the tensor that an input
takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

from resizefix.document.values import Array
from resizefix.errors import UsageError
from resizefix.interop.tensor_file import (
    NPY,
    NPZ,
    PB,
    StoredArrays,
    assigned,
    holds_many,
    read_array,
    read_arrays,
)
from resizefix.runtimes.inputs import InputKind, TensorInput, as_stored

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
    """The values of `given`, by input numbers or the path of a file; a path without a name ("") is that of arrays for
    several inputs (.npz, a folder of ONNX's tests), or a picture for the only input that takes one. Raises UsageError
    for what cannot be fed.
    """
    inputs = {entry.name: entry for entry in entries}
    fed = Fed({}, {}, {}, [])
    for said, value in given.items():
        if not said and isinstance(value, (str, os.PathLike)) and holds_many(os.fsdecode(value)):
            _feed_arrays(fed, read_arrays(os.fsdecode(value), "input"), entries)
            continue
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


def _feed_arrays(fed: Fed, stored: StoredArrays, entries: Sequence[TensorInput]) -> None:
    """Feed the inputs that a file has arrays for, each of the input's shape and kind of numbers."""
    required = [entry.name for entry in entries if not entry.has_default]
    names = required if max(stored.by_place, default=-1) < len(required) else [entry.name for entry in entries]
    arrays, unknown, note = assigned(stored, names, "input", [entry.name for entry in entries])
    if unknown:
        inputs = ", ".join(entry.name for entry in entries)
        raise UsageError("interop.feed-no-such-input", name=f"{stored.path}: {', '.join(unknown)}", known=inputs)
    fed.notes.extend(filter(None, [note]))
    for entry in entries:
        if entry.name not in arrays:
            continue
        if entry.name in fed.values:
            raise UsageError("interop.feed-twice", name=entry.name)
        array = as_stored(arrays[entry.name], _type_of(entry))
        _require_fitting(stored.path, entry, array)
        fed.paths[entry.name], fed.arrays[entry.name] = stored.path, array
        if array.dtype != _type_of(entry):
            fed.notes.append(_how(f"{stored.file}: {entry.name}", array, entry))


def _require_fitting(path: str, entry: TensorInput, array: Array) -> None:
    """Raise UsageError for an array of another shape or of another kind of numbers than the input takes."""
    kinds = array.dtype.kind, _type_of(entry).kind
    is_alike = kinds[0] == kinds[1] or set(kinds) <= {"i", "u"} or set(kinds) <= {"f", "V"} or "O" in kinds
    if entry.kind is InputKind.TENSOR and entry.takes(array.shape) and is_alike:
        return
    given = f"{array.dtype.name}{list(array.shape)}"
    raise UsageError("interop.array-does-not-fit", path=path, given=given, name=entry.name, type_text=entry.type_text)


def _type_of(entry: TensorInput) -> np.dtype[Any]:
    return np.dtype(helper.tensor_dtype_to_np_dtype(entry.elem_type))


def _how(label: str, array: Array, entry: TensorInput) -> str:
    wanted = _type_of(entry)
    return f"{label} as it is" if array.dtype == wanted else f"{label} {array.dtype.name} as {wanted.name}"


def _only_image(path: str, entries: Sequence[TensorInput]) -> str:
    """The input that a picture without a name is for."""
    fitting = [entry.name for entry in entries if _takes_pictures(entry)]
    if len(fitting) != 1:
        names = ", ".join(fitting or (entry.name for entry in entries))
        raise UsageError("interop.feed-which-input", path=path, known=names or "none")
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
    if (suffix := PurePath(path).suffix.lower()) in (NPY, NPZ, PB):
        array = read_array(path) if suffix == NPY else _one_of(read_arrays(path, "input"), entry.name)
        return array, _how(PurePath(path).name, array, entry)
    return _picture(path, entry)


def _one_of(stored: StoredArrays, name: str) -> Array:
    """The array of an input's name, or the only one."""
    arrays = [*stored.by_name.values()] or [*stored.by_place.values()]
    if name in stored.by_name:
        return stored.by_name[name]
    if len(arrays) != 1:
        raise UsageError("interop.feed-no-single-array", path=stored.path)
    return arrays[0]


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
    """The picture upright, as a viewer shows it: cameras store which way is up next to the pixels."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise UsageError("interop.feed-needs-pillow", path=path, install=_INSTALL) from error
    try:
        with Image.open(path) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert(mode), np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UsageError("interop.feed-unreadable", path=path, error=error) from error
