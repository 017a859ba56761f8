"""Where onnxruntime samples: the input coordinate of every output position, and the grid point `nearest` takes there.

The arithmetic is that of the CPU kernel, operation for operation and in float32 where it uses float32
(onnxruntime/core/providers/cpu/tensor/upsamplebase.h, GetOriginalCoordinateFromResizedCoordinate and
GetNearestPixelFromOriginal), because a lowering has to hit the same grid points and the same weights. Read off
onnxruntime 1.31.1; up to some earlier version a tie of the rounding modes counted only when it was exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from resizefix.interpolation import CoordinateTransformationMode, NearestMode

Float32s = npt.NDArray[np.float32]
Int64s = npt.NDArray[np.int64]

TIE = 1e-6
"""How near to a half a coordinate must be for `prefer_floor` and `prefer_ceil` to decide."""


def output_size(scale: float, size: int) -> int:
    """The output length onnxruntime allocates: the float32 product, cut off (upsamplebase.h, ComputeOutputShape)."""
    return int(np.float32(scale) * np.float32(size))


def coordinates(size: int, out: int, scale: float, mode: CoordinateTransformationMode) -> Float32s:
    """The input coordinate of each of `out` output positions on an axis of length `size`; float32, not clamped.

    Raises:
        KeyError: tf_crop_and_resize, which needs a roi.

    """
    position = np.arange(out, dtype=np.float32)
    if scale == 1:
        return position  # the kernels skip the transformation: align_corners with out != size is no exception
    return _FORMULAS[mode](position, np.float32(scale), size, out)


# Python's 0.5 and size - 1 become float32 beside a float32 array, and are exact there.


def _half_pixel(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    return np.asarray((x + 0.5) / scale - 0.5)


def _pytorch_half_pixel(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    return _half_pixel(x, scale, size, out) if out > 1 else np.zeros_like(x)


def _half_pixel_symmetric(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    adjustment = np.float32(out) / (scale * np.float32(size))
    offset = np.float32(size / 2) * (np.float32(1) - adjustment)
    in_double = float(offset) + (x.astype(np.float64) + 0.5) / float(scale) - 0.5  # the kernel's 0.5 is a double here
    return np.asarray(in_double, dtype=np.float32)


def _align_corners(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    return np.zeros_like(x) if out == 1 else np.asarray(x * (size - 1) / (out - 1))


def _asymmetric(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    return np.asarray(x / scale)


def _tf_half_pixel_for_nn(x: Float32s, scale: np.float32, size: int, out: int) -> Float32s:
    return np.asarray((x + 0.5) / scale)


_FORMULAS: dict[CoordinateTransformationMode, Callable[[Float32s, np.float32, int, int], Float32s]] = {
    CoordinateTransformationMode.HALF_PIXEL: _half_pixel,
    CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC: _half_pixel_symmetric,
    CoordinateTransformationMode.PYTORCH_HALF_PIXEL: _pytorch_half_pixel,
    CoordinateTransformationMode.ALIGN_CORNERS: _align_corners,
    CoordinateTransformationMode.ASYMMETRIC: _asymmetric,
    CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN: _tf_half_pixel_for_nn,
}


def nearest_indices(
    size: int, out: int, scale: float, mode: CoordinateTransformationMode, nearest_mode: NearestMode
) -> Int64s:
    """The input index that each of `out` output positions copies, under mode `nearest`; int64[out]."""
    indices = round_to_grid(coordinates(size, out, scale, mode), nearest_mode, shrinks=scale < 1)
    return np.asarray(np.clip(indices, 0, size - 1))


def round_to_grid(coordinate: Float32s, nearest_mode: NearestMode, *, shrinks: bool) -> Int64s:
    """Coordinates rounded as `nearest_mode` says; `shrinks`: whether the scale is below 1, which `simple` asks."""
    if nearest_mode is NearestMode.SIMPLE:
        rounded = np.ceil(coordinate) if shrinks else np.trunc(coordinate)
    elif nearest_mode is NearestMode.FLOOR:
        rounded = np.floor(coordinate)
    elif nearest_mode is NearestMode.CEIL:
        rounded = np.ceil(coordinate)
    else:
        floor = np.floor(coordinate)
        tie = np.abs(coordinate - floor - 0.5) < TIE
        preferred = floor if nearest_mode is NearestMode.ROUND_PREFER_FLOOR else floor + 1
        rounded = np.where(tie, preferred, np.floor(coordinate.astype(np.float64) + 0.5))
    return rounded.astype(np.int64)
