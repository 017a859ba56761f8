"""Arrays out of files: numpy's `.npy` and `.npz`, tensors of ONNX (`.pb`), and the folders `test_data_set_N` of ONNX's
backend tests, which hold what a model is fed and what it must give."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.values import Array
from resizefix.errors import UsageError

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
