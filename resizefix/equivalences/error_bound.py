"""How far two float32 evaluations of one interpolation can lie apart, for an input whose largest magnitude is 1.

Two causes. Rounding: a sum of n products in float32 is off by at most n·2⁻²⁴ of the sum of magnitudes (Higham,
Accuracy and Stability of Numerical Algorithms, §3.1). Drift: the kernel computes coordinates in float32, so that far
from the origin two formulas of one coordinate differ, and the weights with them: by twice as much on an axis that is
twice as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.index_map import Floats, coordinates
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import Interpolation, Mode
from resizefix.outcome import DYNAMIC_SIZE, ErrorBound

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
