"""What a model is fed from a file: arrays of numpy (`.npy`, `.npz`) or ONNX (`.pb`), or a picture, whose pixels become
the tensor that an input takes. Folders `test_data_set_N` of ONNX's backend tests hold what it must give, too."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.values import Array
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


NPY, NPZ, PB = ".npy", ".npz", ".pb"
_MOST_NAMED = 8
_NUMBER = re.compile(r"_(\d+)$")


TensorRole = Literal["input", "output"]
"""What arrays are to a model; files of a test data set begin with it."""


class StoredArrays(NamedTuple):
    """The arrays of a file, by the names that it gives them; `by_place` those that have a place instead: np.savez calls
    them arr_0, arr_1, …, and a test data set input_0.pb, input_1.pb, …. `path` is what sentences call it."""

    path: str
    by_name: Mapping[str, Array]
    by_place: Mapping[int, Array]

    @property
    def file(self) -> str:
        """The file's own name."""
        return Path(self.path).name


class Assigned(NamedTuple):
    """Arrays by names of the model. `unknown` are names in the file that the model does not have, `note` how arrays
    without names were taken, in words."""

    arrays: dict[str, Array]
    unknown: tuple[str, ...] = ()
    note: str | None = None


def holds_many(path: str) -> bool:
    """Whether a path is one of several arrays: an .npz file or a folder."""
    return Path(path).suffix.lower() == NPZ or Path(path).is_dir()


def read_arrays(path: str, role: TensorRole) -> StoredArrays:
    """The arrays of a file; of a test data set those of the role.

    Nothing is unpickled, and no data are read from a further file that a tensor names. Raises UsageError for a path
    that is not there or holds something else.
    """
    place = Path(path)
    if place.is_dir():
        return StoredArrays(path, {}, _of_data_set(place, role))
    if not place.is_file():
        raise UsageError("interop.no-file", path=path)
    suffix = place.suffix.lower()
    if suffix == NPZ:
        by_name = _of_archive(path)
        names = [f"arr_{index}" for index in range(len(by_name))]
        has_places = set(names) == set(by_name)
        return StoredArrays(path, by_name, {at: by_name[name] for at, name in enumerate(names)} if has_places else {})
    if suffix == NPY:
        return StoredArrays(path, {}, {0: read_array(path)})
    if suffix == PB:
        return StoredArrays(path, {}, {0: _of_tensor(place)})
    raise UsageError("interop.no-array-file", path=path)


def read_array(path: str) -> Array:
    """The array of a .npy file. Raises UsageError for a file that holds something else."""
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError("interop.feed-no-numpy", path=path, error=error) from error
    if not isinstance(array, np.ndarray):
        raise UsageError("interop.feed-no-single-array", path=path)
    return array


def assigned(stored: StoredArrays, names: Sequence[str], role: TensorRole, others: Collection[str] = ()) -> Assigned:
    """The arrays by names of the model: `names` are its inputs or outputs in order, `others` its further tensors.

    Arrays go by name. By order go those without a name, where not one name is the model's. Raises UsageError where
    nothing goes together, and where more arrays have a place than the model has inputs or outputs.
    """
    common = {name: array for name, array in stored.by_name.items() if name in names or name in others}
    if common or not stored.by_place:
        unknown = tuple(name for name in stored.by_name if name not in common)
        if not common:
            raise UsageError(
                "interop.arrays-of-other-names",
                path=stored.path,
                names=_listed(stored.by_name),
                role=role,
                known=_listed(names),
            )
        return Assigned(common, unknown)
    if max(stored.by_place) >= len(names):
        count = max(stored.by_place) + 1
        raise UsageError(
            "interop.more-arrays-than-names", path=stored.path, count=count, role=role, known=_listed(names)
        )
    arrays = {names[at]: array for at, array in stored.by_place.items()}
    note = Diagnostic("interop.arrays-by-order", file=stored.file, role=role, names=_listed(arrays))
    return Assigned(arrays, note=note if stored.by_name or len(names) > 1 else None)


def _of_archive(path: str) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {str(name): np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise UsageError("interop.arrays-unreadable", path=path, error=error) from error
    if not arrays:
        raise UsageError("interop.no-arrays", path=path)
    return arrays


def _of_data_set(folder: Path, role: TensorRole) -> dict[int, Array]:
    files = sorted(folder.glob(f"{role}_*{PB}"))
    inner = sorted(folder.glob("test_data_set_*"))
    if not files and len(inner) == 1:
        return _of_data_set(inner[0], role)
    if not files and inner:
        raise UsageError("interop.which-data-set", path=str(folder), names=_listed([one.name for one in inner]))
    numbered = {int(number[1]): file for file in files if (number := _NUMBER.search(file.stem))}
    if not numbered:
        raise UsageError("interop.no-data-set", path=str(folder), role=role)
    return {at: _of_tensor(numbered[at]) for at in sorted(numbered)}


def _of_tensor(file: Path) -> Array:
    tensor = TensorProto()
    try:
        tensor.ParseFromString(file.read_bytes())
        if tensor.data_type == TensorProto.UNDEFINED or tensor.data_location == TensorProto.EXTERNAL:
            raise UsageError("interop.no-tensor-file", path=str(file))
        return np.asarray(numpy_helper.to_array(tensor))
    except (OSError, DecodeError, ValueError, TypeError, KeyError) as error:
        raise UsageError("interop.arrays-unreadable", path=str(file), error=error) from error


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(map(repr, list(names)[:_MOST_NAMED]))
    return f"{shown}, …" if len(names) > _MOST_NAMED else shown or "none"
