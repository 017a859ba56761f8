"""What a model is fed from a file: numpy's `.npy`, or a picture, whose pixels become the tensor that an input takes."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper

from resizefix.errors import UsageError
from resizefix.runtimes.inputs import Array, InputKind, TensorInput

if TYPE_CHECKING:
    from PIL.Image import Image

NUMPY = ".npy"
_INSTALL = "pip install 'resizefix[images]'"
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE})
_CHANNELS = {1: "L", 3: "RGB"}
_WORDS = {"L": "grey", "RGB": "red, green, blue"}


def fed_from_file(path: str, entry: TensorInput) -> tuple[Array, str]:
    """The value for an input out of a file, and how it was made, in words.

    A picture is read upright, as grey or RGB as the input has 1 or 3 channels, channels first or last as its
    shape says (first where it leaves that open); divided by 255 for floats, as it is for uint8. Nothing is cut, scaled
    or normalised. Raises UsageError for a file that is not there or does not fit, and where Pillow is not installed.
    """
    if not Path(path).is_file():
        raise UsageError("interop.feed-no-file", path=path)
    if PurePath(path).suffix.lower() == NUMPY:
        return _numpy(path), f"{PurePath(path).name} as it is"
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
    told = ["NHWC" if is_last else "NCHW", _WORDS[mode]]
    if entry.elem_type == TensorProto.UINT8:
        told.append("0 to 255")
        value = pixels
    else:
        told.append("divided by 255")
        value = (pixels / np.float32(255)).astype(helper.tensor_dtype_to_np_dtype(entry.elem_type))
    rank = len(entry.shape or ())
    value = value[None] if rank == 4 else value
    _require_fit(path, entry, value)
    return np.ascontiguousarray(value), f"{PurePath(path).name}: {', '.join(told)}"


def _layout(path: str, entry: TensorInput) -> tuple[int, bool]:
    """How many channels the input takes, and whether they are its last axis."""
    shape, kind = entry.shape, entry.elem_type
    if entry.kind is not InputKind.TENSOR or shape is None or len(shape) not in (3, 4):
        raise UsageError("interop.feed-no-picture", path=path, name=entry.name, type_text=entry.type_text)
    if kind not in _FLOATS and kind != TensorProto.UINT8:
        raise UsageError("interop.feed-no-picture", path=path, name=entry.name, type_text=entry.type_text)
    first, last = shape[-3], shape[-1]
    if first in _CHANNELS:
        return int(first), False
    if last in _CHANNELS:
        return int(last), True
    if isinstance(first, int):
        raise UsageError("interop.feed-no-channels", path=path, name=entry.name, type_text=entry.type_text)
    return 3, False


def _require_fit(path: str, entry: TensorInput, value: Array) -> None:
    wanted = entry.shape or ()
    if len(wanted) == value.ndim and all(
        size == dim for size, dim in zip(value.shape, wanted, strict=True) if isinstance(dim, int)
    ):
        return
    given = list(value.shape)
    raise UsageError("interop.feed-does-not-fit", path=path, given=given, name=entry.name, type_text=entry.type_text)


def _pixels(path: str, mode: str) -> Array:
    with _opened(path) as image:
        try:
            return np.asarray(_upright(image).convert(mode), np.uint8)
        except (OSError, ValueError, SyntaxError) as error:
            raise UsageError("interop.feed-unreadable", path=path, error=error) from error


def _upright(image: Image) -> Image:
    """As a viewer shows it: cameras store which way is up beside the pixels."""
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _opened(path: str) -> Image:
    try:
        from PIL import Image as pillow
    except ImportError as error:
        raise UsageError("interop.feed-needs-pillow", path=path, install=_INSTALL) from error
    try:
        return pillow.open(path)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise UsageError("interop.feed-unreadable", path=path, error=error) from error
