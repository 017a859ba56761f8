"""How far two float32 evaluations of one interpolation can lie apart, for an input whose largest magnitude is 1.

Two causes. Rounding: a sum of n products in float32 is off by at most n·2⁻²⁴ of the sum of magnitudes (Higham,
Accuracy and Stability of Numerical Algorithms, §3.1). Drift: the kernel computes coordinates in float32, so that far
from the origin they are off from the true ones, and the weights with them, unless the scale is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import coordinates
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode
from resizefix.lowerings.subject import Axis, Subject
from resizefix.lowerings.weights import cubic_coefficients

UNIT = 2.0**-24
"""The unit roundoff of float32."""

FINITE = "for finite inputs"

DYNAMIC_SIZE = 1024
"""The input length a bound is computed for where an axis is dynamic; the drift grows in proportion."""

LATTICE: dict[CoordinateTransformationMode, tuple[float, float]] = {
    CoordinateTransformationMode.HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.PYTORCH_HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC: (0.5, -0.5),
    CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN: (0.5, 0.0),
    CoordinateTransformationMode.ASYMMETRIC: (0.0, 0.0),
}
"""(a, b): output i lies at (i + a)/scale + b. pytorch_half_pixel does not at output length 1; half_pixel_symmetric only
where the output length is exactly scale · size; align_corners has no such form."""


def drift(interpolation: Interpolation, axis: Axis) -> float:
    """The largest error of the kernel's coordinates on an axis scaled by a whole number or its inverse, in pixels."""
    size = axis.size or DYNAMIC_SIZE
    mode = interpolation.coordinate_transformation_mode
    assert axis.scale is not None
    step = 1 / axis.factor if axis.factor else float(axis.divisor or 1)
    out = math.floor(size / step)
    a, b = LATTICE[mode]
    true = (np.arange(out) + a) * step + b
    return float(np.max(np.abs(coordinates(mode, axis.scale, size, out) - true), initial=0.0))


def finite_and_short(subject: Subject) -> tuple[str, ...]:
    """The conditions of a bound that may contain drift: it holds for finite inputs, and up to which size."""
    if any(axis.size is None and drift(subject.interpolation, axis) for axis in subject.scaled):
        return FINITE, f"for axes up to {DYNAMIC_SIZE}, and the bound grows in proportion beyond"
    return (FINITE,)


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


def rounding(subject: Subject, gains: Sequence[float], roundings: int) -> float:
    """The difference by rounding alone, when the lowering rounds each term `roundings` times at most."""
    total = math.prod(gains)
    both = (_native_roundings(subject) + roundings) * UNIT * total
    half = 2.0**-10 * total + UNIT if subject.elem_type == TensorProto.FLOAT16 else 0.0  # one step of float16
    return both + half


def _native_roundings(subject: Subject) -> int:
    interpolation = subject.interpolation
    if interpolation.antialias:
        support = 1 if interpolation.mode is Mode.LINEAR else 2
        windows = [2 * math.ceil(support * max(1.0, 1 / (axis.scale or 1))) + 1 for axis in subject.scaled]
        return sum(windows) + len(windows)
    if interpolation.mode is Mode.CUBIC:
        return 12  # per axis: 4 sums, a product and a division
    return 2**3 + 3 if subject.rank in (3, 5) else 2**2 + 2
