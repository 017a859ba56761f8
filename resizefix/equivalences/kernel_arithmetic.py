"""The float32 arithmetic of onnxruntime's CPU kernel: which samples it reads along one axis, and how far two
evaluations of one interpolation can lie apart, for an input whose largest magnitude is 1.

Source of coordinates and nearest indices: onnxruntime/core/providers/cpu/tensor/upsamplebase.h,
GetOriginalCoordinateFromResizedCoordinate and GetNearestPixelFromOriginal; that a scale of exactly 1 skips the formula:
upsample.cc. Two forms that read the same samples at the same coordinates compute the same bits, since everything else
in the kernel is shared.

Two causes set evaluations apart. Rounding: a sum of n products in float32 is off by at most n·2⁻²⁴ of the sum of
magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). Drift: the kernel computes coordinates in
float32, so that far from the origin two formulas of one coordinate differ, and the weights with them: by twice as much
on an axis that is twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.outcome import DYNAMIC_SIZE, ErrorBound
from resizefix.shapes.output_size import every_rule_gives, near_scales, sampled_scale

if TYPE_CHECKING:  # which reads what this knows
    from resizefix.equivalences.resize_spec import Axis, ResizeSpec

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


UNIT = 2.0**-24
"""The unit roundoff of float32."""

GROWS = Diagnostic("equivalences.grows", samples=DYNAMIC_SIZE)
"""The condition of a bound with drift on a dynamic axis. Coordinates are rounded to a step that doubles at 2ᵏ."""

_Doubles = npt.NDArray[np.float64]


def spelling_bound(before: ResizeSpec, after: ResizeSpec) -> ErrorBound | None:
    """The largest difference between a node and its other spelling, and the condition under which it holds.

    Both sample the same true coordinates: they differ in the formula, in a unit in the last place of the scale, or in
    antialias where every axis grows. None: no bound is known (mode nearest, integer tensors).
    """
    types = (TensorProto.FLOAT, TensorProto.FLOAT16)
    if before.interpolation.mode is Mode.NEAREST or before.element_type not in types:
        return None
    pairs = zip(before.listed, after.listed, strict=True)
    if not any(one.size is None and not _is_copied(one, other) for one, other in pairs):
        return ErrorBound(exact=False, bound=_spelled_apart(before, after))
    bound = _spelled_apart(before, after)
    return ErrorBound(exact=False, bound=bound, conditions=(GROWS,), drift=bound - _spelled_apart(before, after, 0))


def _is_copied(one: Axis, other: Axis) -> bool:
    return one.scale is None or one.scale == other.scale == 1


def _spelled_apart(before: ResizeSpec, after: ResizeSpec, samples: int = DYNAMIC_SIZE) -> float:
    """The bound where coordinates of a dynamic axis are rounded as on one of that many samples; with 0 they are not."""
    half = before.element_type == TensorProto.FLOAT16
    errors, gains = [], []
    for one, other in zip(before.listed, after.listed, strict=True):
        if one.scale is None or _is_copied(one, other):
            continue
        if one.size is None:
            positions = _border_positions(one.scale)
            drift = np.full_like(positions, _open_drift(before.interpolation, after.interpolation, samples))
        else:
            positions, others = (_sampled(each.interpolation, axis) for each, axis in ((before, one), (after, other)))
            drift = np.abs(positions - others)
        row_errors, row_gains = _row_bounds(before.interpolation, drift, positions, one.size or DYNAMIC_SIZE)
        smooth = max(_normalising(each, axis) for each, axis in ((before, one), (after, other)))
        errors.append(float(np.max(row_errors, initial=0.0)) + smooth)
        gains.append(float(np.max(row_gains, initial=1.0)))
    total = math.prod(gains)
    scales = [axis.scale or 1.0 for axis in before.listed if axis.scale != 1]
    roundings = sum(native_roundings(each.interpolation, scales, each.rank) for each in (before, after))
    bound = sum(error * total / gain for error, gain in zip(errors, gains, strict=True))
    return bound + roundings * UNIT * total + (half_step(total) if half else 0.0)


def _sampled(interpolation: Interpolation, axis: Axis) -> _Doubles:
    """The coordinates that the kernel arrives at; the antialias kernel adds half a pixel to them in float32."""
    size, out, scale = axis.known
    position = coordinates(interpolation.coordinate_transformation_mode, scale, size, out)
    if not interpolation.antialias:
        return position.astype(np.float64)
    return np.asarray((position + np.float32(0.5)).astype(np.float64) - 0.5)


def _open_drift(one: Interpolation, other: Interpolation, samples: int) -> float:
    """How far two coordinates on an axis of that many samples lie apart at most: half a step for each rounding of
    either.

    half_pixel rounds twice (the quotient, then the difference), half_pixel_symmetric once, antialias once more.
    """
    roundings = int(one.antialias) + int(other.antialias)
    if one.coordinate_transformation_mode is not other.coordinate_transformation_mode:
        roundings += 3
    return roundings * UNIT * samples / 2


def _border_positions(scale: float) -> _Doubles:
    """Where an axis of DYNAMIC_SIZE that becomes longer may be sampled next to its borders."""
    first, last = np.linspace(-0.5, 0, 257), np.linspace(0, 1 - min(1.0, 1 / scale), 257)
    return np.concatenate([first, DYNAMIC_SIZE - 1 + last])


def _row_bounds(
    interpolation: Interpolation, drift: _Doubles, position: _Doubles, size: int
) -> tuple[_Doubles, _Doubles]:
    """For each output: how much its weights change when its coordinate moves by `drift`, and their magnitudes' sum."""
    change = slope(interpolation) * drift + 2 * noise(interpolation)
    gains = np.full_like(drift, gain(interpolation))
    if interpolation.mode is not Mode.CUBIC or not interpolation.exclude_outside:
        return change, gains
    assert interpolation.cubic_coeff_a is not None
    floor = np.floor(position)
    columns = floor[:, None] + np.arange(-1, 3)
    inside = (columns >= 0) & (columns < size)
    taps = cubic_coefficients(position - floor, interpolation.cubic_coeff_a)
    total = np.abs(np.where(inside, taps, 0).sum(axis=1) - np.where(inside.all(axis=1), 0, change))
    # A quotient w/S changes by Δw/S + w·ΔS/S²; S is the sum of the weights that lie inside.
    total = np.where(inside.all(axis=1), 1.0, np.maximum(total, UNIT))
    return change / total + np.where(inside.all(axis=1), 0.0, gains * change / total**2), gains / total


def _normalising(subject: ResizeSpec, axis: Axis) -> float:
    """What the antialias kernel adds: its weights are divided by their sum, and its filter is as wide as the scale."""
    if not subject.interpolation.antialias:
        return 0.0
    taps = _antialias_taps(subject.interpolation, axis.scale or 1.0)
    return (2 * taps + 16 * slope(subject.interpolation)) * UNIT + 2 * noise(subject.interpolation)


def slope(interpolation: Interpolation) -> float:
    """How much the weights of one output change, summed over the taps, per pixel of its coordinate."""
    if interpolation.mode is Mode.LINEAR:
        return 2.0
    assert interpolation.cubic_coeff_a is not None
    a, f = interpolation.cubic_coeff_a, np.linspace(0, 1, 257)
    inner = [np.abs(3 * (a + 2) * x * x - 2 * (a + 3) * x) for x in (f, 1 - f)]
    outer = [np.abs(a * (3 * x * x - 10 * x + 8)) for x in (1 + f, 2 - f)]
    return float(np.max(np.sum([*inner, *outer], axis=0)))


def gain(interpolation: Interpolation) -> float:
    """The largest sum of the weights' magnitudes of one output along one axis."""
    if interpolation.mode is not Mode.CUBIC:
        return 1.0
    assert interpolation.cubic_coeff_a is not None
    taps = cubic_coefficients(np.linspace(0, 1, 257, dtype=np.float32), interpolation.cubic_coeff_a)
    return float(np.max(np.sum(np.abs(taps), axis=1)))


def noise(interpolation: Interpolation) -> float:
    """How far the weights of one output, computed in float32, are from the true ones of its coordinate (measured)."""
    if interpolation.mode is not Mode.CUBIC:
        return 0.0  # linear: a difference of neighbours, which is exact
    return 32 * UNIT * (1 + abs(interpolation.cubic_coeff_a or 0.0))


def half_step(total: float) -> float:
    """One step of float16 at the largest output, to which float32 results are rounded."""
    return 2.0**-10 * total + UNIT


def native_roundings(interpolation: Interpolation, scales: Sequence[float], rank: int | None) -> int:
    """How often onnxruntime's kernel rounds each term of an output, with these scales of the axes that are scaled."""
    if interpolation.antialias:
        return sum(_antialias_taps(interpolation, scale) + 1 for scale in scales)
    if interpolation.mode is Mode.CUBIC:
        return 12  # per axis: 4 sums, a product and a division
    return 2**3 + 3 if rank in (3, 5, None) else 2**2 + 2


def _antialias_taps(interpolation: Interpolation, scale: float) -> int:
    support = 1 if interpolation.mode is Mode.LINEAR else 2
    return 2 * math.ceil(support * max(1.0, 1 / scale)) + 1


def cubic_coefficients(fraction: Floats | _Doubles, cubic_coeff_a: float) -> Floats:
    """The four taps [n, 4] of cubic convolution (Keys) for coordinates `fraction` right of the second tap; in float32,
    as onnxruntime computes them, where `fraction` is."""
    one, a = np.float32(1), np.float32(cubic_coeff_a)
    two, three, four, five, eight = (np.float32(k) for k in (2, 3, 4, 5, 8))

    def outer(x: Floats | _Doubles) -> Floats:
        return np.asarray(((a * x - five * a) * x + eight * a) * x - four * a)

    def inner(x: Floats | _Doubles) -> Floats:
        return np.asarray(((a + two) * x - (a + three)) * x * x + one)

    return np.stack([outer(fraction + one), inner(fraction), inner(one - fraction), outer(two - fraction)], axis=1)
