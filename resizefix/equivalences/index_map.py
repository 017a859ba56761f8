"""Which samples onnxruntime reads along one axis: coordinates and nearest indices, in the float32 of its CPU kernel.

Source: onnxruntime/core/providers/cpu/tensor/upsamplebase.h, GetOriginalCoordinateFromResizedCoordinate and
GetNearestPixelFromOriginal; that a scale of exactly 1 skips the formula: upsample.cc. Two forms that read the
same samples at the same coordinates compute the same bits, since everything else in the kernel is shared.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode
from resizefix.shapes.output_size import every_rule_gives, near_scales, sampled_scale

Form = tuple[CoordinateTransformationMode, NearestMode | None]
"""What decides where an axis is sampled; the rounding is None unless the mode is nearest."""

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]

TIE_TOLERANCES: tuple[float, ...] = (1e-6, 0.0)
"""How near to one half a fraction counts as a tie: in onnxruntime of mid-2026 on (its issue 28291), and before."""

LONGEST = 2**22
"""How long an axis may be of which samples are compared: here a coordinate has two binary digits behind the point."""
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)


def coordinates(
    coordinate_transformation_mode: CoordinateTransformationMode, scale: float, size: int, out: int
) -> Floats:
    """The input coordinate of each of the `out` samples, float32, neither rounded nor clamped.

    Raises:
        ValueError: tf_crop_and_resize, whose coordinates depend on the roi.

    """
    x = np.arange(out, dtype=np.float32)
    s, length_original, length_resized = np.float32(scale), np.float32(size), np.float32(out)
    if s == 1:
        return x
    mode = CoordinateTransformationMode
    match coordinate_transformation_mode:
        case mode.ASYMMETRIC:
            result = x / s
        case mode.HALF_PIXEL:
            result = (x + _HALF) / s - _HALF
        case mode.PYTORCH_HALF_PIXEL:
            result = (x + _HALF) / s - _HALF if out > 1 else np.zeros_like(x)
        case mode.TF_HALF_PIXEL_FOR_NN:
            result = (x + _HALF) / s
        case mode.ALIGN_CORNERS:
            result = x * (length_original - _ONE) / (length_resized - _ONE) if out > 1 else np.zeros_like(x)
        case mode.HALF_PIXEL_SYMMETRIC:
            adjustment = length_resized / (s * length_original)
            offset = (length_original / _TWO) * (_ONE - adjustment)
            # Here, and only here, the kernel's 0.5 is a double.
            result = (np.float64(offset) + (x.astype(np.float64) + 0.5) / np.float64(s) - 0.5).astype(np.float32)
        case _:
            raise ValueError(f"the coordinates of {coordinate_transformation_mode.value} depend on the roi")
    return np.asarray(result, dtype=np.float32)


def nearest_indices(form: Form, scale: float, size: int, out: int, tie_tolerance: float = TIE_TOLERANCES[0]) -> Indices:
    """The input index of each of the `out` samples in mode nearest, int64, within [0, size - 1]."""
    coordinate_transformation_mode, nearest_mode = form
    x = coordinates(coordinate_transformation_mode, scale, size, out)
    if np.float32(scale) == 1:
        return np.minimum(x.astype(np.int64), size - 1)
    floor = np.floor(x)
    match nearest_mode:
        case NearestMode.SIMPLE:
            index = np.ceil(x) if scale < 1 else np.trunc(x)
        case NearestMode.FLOOR:
            index = floor
        case NearestMode.CEIL:
            index = np.ceil(x)
        case _:
            tied = floor if nearest_mode is NearestMode.ROUND_PREFER_FLOOR else floor + 1
            tie = np.abs(x - floor - _HALF) <= np.float32(tie_tolerance)
            index = np.where(tie, tied, np.floor(x.astype(np.float64) + 0.5))
    return np.clip(index.astype(np.int64), 0, size - 1)


@lru_cache(maxsize=256)
def samples(mode: Mode, antialias: bool, form: Form, scale: float, size: int, out: int) -> bytes:
    """What mode `mode` reads of `form`, as a digest to compare: equal digests, equal results, in every onnxruntime.

    Linear clamps its coordinates to the axis before it uses them (SetupUpsampleBilinear); cubic and the antialiasing
    filters do not, and the latter also use the scale itself.
    """
    if mode is Mode.NEAREST:
        return _digest(*(nearest_indices(form, scale, size, out, tolerance) for tolerance in TIE_TOLERANCES))
    x = coordinates(form[0], scale, size, out)
    if antialias:
        return _digest(x + np.float32(0), np.float32(scale))
    if mode is Mode.LINEAR:
        x = np.clip(x, np.float32(0), np.float32(size - 1))
    return _digest(x + np.float32(0))  # + 0 makes -0 and 0 one


def scale_for_size(size: int, out: int, mode: Mode, form: Form, *, antialias: bool = False) -> float | None:
    """A float32 scale that makes `size` into `out` under every rule *and* samples as sizes do; None: there is none.

    Sizes make onnxruntime sample by the quotient. A neighbour of it that has the right length may move coordinates by a
    unit in the last place, which flips some nearest indices and changes the bits of other modes; only a scale for which
    the samples are the same is returned. Samples of axes longer than `LONGEST` are not compared: there is none.

    Raises:
        ValueError: a size below 1, or coordinates that depend on a roi.

    """
    if max(size, out) > LONGEST:
        return None
    wanted = samples(mode, antialias, form, sampled_scale(size, out), size, out)
    for scale in near_scales(size, out):
        if every_rule_gives(scale, size, out) and samples(mode, antialias, form, scale, size, out) == wanted:
            return scale
    return None


def _digest(*arrays: npt.NDArray[Any] | np.float32) -> bytes:
    # Remembered for many forms and sizes, of which the samples themselves would fill the memory.
    from hashlib import sha256  # it loads OpenSSL, and of most nodes no samples are compared

    digest = sha256()
    for array in arrays:
        digest.update(np.asarray(array).tobytes())
    return digest.digest()
