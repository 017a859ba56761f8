"""The interpolation matrices onnxruntime applies: for one axis, out × size float32, each row the weights of one output.

Kernel arithmetic again, in float32 and in the kernel's order: linear and cubic from
onnxruntime/core/providers/cpu/tensor/upsample.cc (SetupUpsampleBilinear, GetCubicCoeffs, ResizeBiCubic), antialias from
upsample_antialias.h (SetupUpsampleFilterAntiAlias). Tests read the same weights out of the running kernel.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from resizefix.equivalences.error_bound import cubic_coefficients
from resizefix.equivalences.index_map import Floats, coordinates, nearest_indices
from resizefix.interpolation import Interpolation, Mode

_SUPPORT = {Mode.LINEAR: np.float32(2), Mode.CUBIC: np.float32(4)}
"""Width of the antialias filter at scale 1, in input pixels."""


def matrix(interpolation: Interpolation, size: int, out: int, scale: float) -> Floats:
    """The weights float32[out, size] of one axis of length `size` scaled by `scale` to length `out`.

    `interpolation` must not be tf_crop_and_resize, whose weights depend on a roi.
    """
    if interpolation.antialias:
        return _antialias(interpolation, size, out, scale)
    mode = interpolation.coordinate_transformation_mode
    if interpolation.mode is Mode.NEAREST:
        return np.eye(size, dtype=np.float32)[nearest_indices((mode, interpolation.nearest_mode), scale, size, out)]
    position = coordinates(mode, scale, size, out)
    if interpolation.mode is Mode.LINEAR:
        return _linear(position, size)
    assert interpolation.cubic_coeff_a is not None
    return _cubic(position, size, interpolation.cubic_coeff_a, exclude_outside=interpolation.exclude_outside)


def _linear(position: Floats, size: int) -> Floats:
    clamped = np.clip(position, np.float32(0), np.float32(size - 1))
    low = np.minimum(clamped.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    toward_high = np.abs(clamped - low.astype(np.float32))
    toward_low = np.abs(clamped - high.astype(np.float32))
    weights = np.zeros((len(position), size), np.float32)
    rows = np.arange(len(position))
    weights[rows, low] = toward_low
    weights[rows, high] = toward_high
    weights[low == high, size - 1] = 1  # the kernel adds two halves of the last pixel
    return weights


def _cubic(position: Floats, size: int, cubic_coeff_a: float, *, exclude_outside: bool) -> Floats:
    floor = np.floor(position)
    taps = cubic_coefficients(position - floor, cubic_coeff_a)
    columns = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    if exclude_outside:
        taps = np.where((columns < 0) | (columns >= size), np.float32(0), taps)
        taps = taps / (((taps[:, 0] + taps[:, 1]) + taps[:, 2]) + taps[:, 3])[:, None]
    weights = np.zeros((len(position), size), np.float32)
    np.add.at(weights, (np.arange(len(position))[:, None], np.clip(columns, 0, size - 1)), taps)
    return weights


def _antialias(interpolation: Interpolation, size: int, out: int, scale: float) -> Floats:
    """A filter that widens when the axis shrinks, of sum 1; what lies outside counts for the border pixel."""
    if out == size:
        return np.eye(size, dtype=np.float32)  # the antialias kernels copy such an axis, whatever its scale
    one, half = np.float32(1), np.float32(0.5)
    stretch = one / np.float32(scale)
    half_width = _SUPPORT[interpolation.mode] * half
    support = half_width * stretch if stretch >= 1 else half_width
    window = 2 * math.ceil(support) + 1
    weights = np.zeros((out, size), np.float32)
    positions = coordinates(interpolation.coordinate_transformation_mode, scale, size, out)
    for row, coordinate in enumerate(positions):
        center = coordinate + half
        first = int(np.floor(center - support + half))
        last = first + min(max(int(np.floor(center + support + half)) - first, 0), window)
        columns = np.arange(first, last)
        inside = np.clip(columns, 0, size - 1)
        if interpolation.exclude_outside:
            columns = inside = columns[(columns >= 0) & (columns < size)]
        distance = columns.astype(np.float32) - center + half
        taps = _filter(interpolation, distance * (one / stretch) if stretch >= 1 else distance)
        total = _sum(taps)
        outside_last = np.argsort(columns != inside, kind="stable")  # the order in which the kernel folds them in
        np.add.at(weights[row], inside[outside_last], taps[outside_last])
        weights[row] *= one if total == 0 else one / total
    return weights


def _sum(taps: Floats) -> np.float32:
    """The sum from left to right, as the kernel's loop adds (np.sum adds pairwise)."""
    return reduce(lambda total, tap: np.float32(total + tap), taps, np.float32(0))


def _filter(interpolation: Interpolation, distance: Floats) -> Floats:
    """The antialias filter at some distances from its middle, in pixels of the coarser grid."""
    one, x = np.float32(1), np.abs(distance)
    if interpolation.mode is Mode.LINEAR:
        return np.asarray(np.maximum(one - x, np.float32(0)))
    assert interpolation.cubic_coeff_a is not None
    a = np.float32(interpolation.cubic_coeff_a)
    near = ((a + np.float32(2)) * x - (a + np.float32(3))) * x * x + one
    far = (((x - np.float32(5)) * x + np.float32(8)) * x - np.float32(4)) * a
    return np.select([x < 1, x < 2], [near, far], np.float32(0))
