"""How far a lowering can lie from the node it replaces, by the causes of `equivalences/error_bound.py`.

A lowering has weights of the true coordinates; the kernel's are off from them unless the scale is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.error_bound import DYNAMIC_SIZE, GROWS, UNIT, half_step, native_roundings
from resizefix.equivalences.index_map import coordinates
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, Interpolation

FINITE = Diagnostic("lowerings.for-finite")

LATTICE: dict[CoordinateTransformationMode, tuple[float, float]] = {
    CoordinateTransformationMode.HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.PYTORCH_HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC: (0.5, -0.5),
    CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN: (0.5, 0.0),
    CoordinateTransformationMode.ASYMMETRIC: (0.0, 0.0),
}
"""(a, b): output i lies at (i + a)/scale + b. pytorch_half_pixel does not at output length 1; half_pixel_symmetric only
where the output length is exactly scale · size; align_corners has no such form."""


def why_off_lattice(mode: CoordinateTransformationMode) -> str | None:
    """None where the coordinates of `mode` have the form of `LATTICE`."""
    return None if mode in LATTICE else Diagnostic("lowerings.weights-differ", mode=mode.value)


def drift(interpolation: Interpolation, axis: Axis) -> float:
    """The largest error of the kernel's coordinates on an axis scaled by a whole number or its inverse, in pixels.

    On a dynamic axis half a step at DYNAMIC_SIZE for each rounding: of the quotient, of the difference, and twice that
    of a scale 1/k.
    """
    mode = interpolation.coordinate_transformation_mode
    assert axis.scale is not None
    step = 1 / axis.factor if axis.factor else float(axis.divisor or 1)
    if axis.size is None:
        is_exact = math.log2(step).is_integer()
        return 0.0 if is_exact else (2 if axis.factor else 4) * UNIT * DYNAMIC_SIZE / 2
    out = math.floor(axis.size / step)
    a, b = LATTICE[mode]
    true = (np.arange(out) + a) * step + b
    return float(np.max(np.abs(coordinates(mode, axis.scale, axis.size, out) - true), initial=0.0))


def finite_and_short(subject: ResizeSpec) -> tuple[str, ...]:
    """The conditions of a bound that may contain drift: it holds for finite inputs, and up to which size."""
    if any(axis.size is None and drift(subject.interpolation, axis) for axis in subject.scaled):
        return FINITE, GROWS
    return (FINITE,)


def rounding(subject: ResizeSpec, gains: Sequence[float], roundings: int) -> float:
    """The difference by rounding alone, when the lowering rounds each term `roundings` times at most."""
    total = math.prod(gains)
    scales = [axis.scale or 1.0 for axis in subject.scaled]
    both = native_roundings(subject.interpolation, scales, len(subject.axes)) + roundings
    return both * UNIT * total + (half_step(total) if subject.element_type == TensorProto.FLOAT16 else 0.0)
