"""The way back from what a lowering writes: which interpolation has these indices, this matrix, or this kernel.

Every candidate is computed by the functions that write the lowerings (copies.py, matmul.py, convolutions.py), so that
an interpolation is found exactly where its lowering would have written the same constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from resizefix.equivalences.kernel_arithmetic import TIE_TOLERANCES, Floats, Indices, nearest_indices
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings.convolutions import Kernel, kernel
from resizefix.lowerings.lowering import LATTICE
from resizefix.lowerings.matmul import matrix
from resizefix.shapes.output_size import every_rule_gives, sampled_scale

_C, _N = CoordinateTransformationMode, NearestMode
WITHIN = 1e-5
"""Weights that differ by no more, summed over a row, are those of the interpolation, computed in another order."""
_LAST_BITS = 2e-6
_TYPED = tuple(sorted({tenths / 10 for tenths in range(1, 81)} | {quarters / 4 for quarters in range(1, 33)}))
NEAREST_EXACT = (_C.HALF_PIXEL, _N.ROUND_PREFER_CEIL)
"""What torch's nearest-exact is: floor((i + 0.5) · in/out)."""
_TYPED_32 = tuple(float(np.float32(factor)) for factor in _TYPED)
_MOST_COMBINED = 16
_FORMS = (
    (_C.ASYMMETRIC, _N.FLOOR),
    (_C.HALF_PIXEL, _N.ROUND_PREFER_FLOOR),
    *((c, n) for c, n in product(_C, (_N.ROUND_PREFER_FLOOR, _N.ROUND_PREFER_CEIL, _N.FLOOR, _N.CEIL))),
)


class Sampled(NamedTuple):
    """One axis, by the sample that each output position copies."""

    size: int
    indices: Indices


class Recovered(NamedTuple):
    """An interpolation that has the constants of every axis, with the scale of each.

    `is_by_scales`: the scales are such as somebody types, and give the lengths in every runtime; else they are the
    quotients of the lengths. `error` is the largest difference of the weights, summed over a row; 0: the same bits.
    """

    interpolation: Interpolation
    scales: tuple[float, ...]
    is_by_scales: bool
    error: float = 0.0


def nearest_of(
    axes: Sequence[Sampled], first: tuple[CoordinateTransformationMode, NearestMode] = _FORMS[0]
) -> list[Recovered]:
    """Every interpolation of mode nearest that copies these samples, in onnxruntime of today and of before; `first` is
    preferred to the others."""
    recovered: list[Recovered] = []
    lengths = [(axis.size, len(axis.indices)) for axis in axes]
    for scales, is_by_scales in _scales(lengths):
        for form in dict.fromkeys((first, *_FORMS)):
            if form[0] is not _C.TF_CROP_AND_RESIZE and all(
                _copies(axis, form, scale) for axis, scale in zip(axes, scales, strict=True)
            ):
                recovered.append(Recovered(Interpolation(Mode.NEAREST, *form), scales, is_by_scales))
    preferred = [one for one in recovered if _form(one) == first]
    return preferred + [one for one in recovered if _form(one) != first]


def _form(one: Recovered) -> tuple[CoordinateTransformationMode, NearestMode | None]:
    return one.interpolation.coordinate_transformation_mode, one.interpolation.nearest_mode


def _copies(axis: Sampled, form: tuple[CoordinateTransformationMode, NearestMode], scale: float) -> bool:
    out = len(axis.indices)
    return all(
        np.array_equal(nearest_indices(form, scale, axis.size, out, tolerance), axis.indices)
        for tolerance in TIE_TOLERANCES
    )


def weighted_of(matrices: Sequence[Floats]) -> list[Recovered]:
    """Every interpolation whose weights float32[out, size] these are, on each axis, those within last bits first."""
    tables = [_one_sample_each(weights) for weights in matrices]
    copied = [table for table in tables if table is not None]
    if len(copied) == len(matrices):
        return nearest_of(copied)
    recovered: list[Recovered] = []
    lengths = [(weights.shape[1], weights.shape[0]) for weights in matrices]
    for scales, is_by_scales in _scales(lengths):
        for interpolation in _WEIGHTED:
            error = _error(matrices, interpolation, scales)
            if error is not None:
                recovered.append(Recovered(interpolation, scales, is_by_scales, error))
    return sorted(recovered, key=lambda one: one.error > _LAST_BITS)


def _one_sample_each(weights: Floats) -> Sampled | None:
    one_hot = bool(np.all((weights == 0) | (weights == 1)) and np.all(weights.sum(axis=1) == 1))
    return Sampled(weights.shape[1], weights.argmax(axis=1).astype(np.int64)) if one_hot else None


def _error(matrices: Sequence[Floats], interpolation: Interpolation, scales: Sequence[float]) -> float | None:
    """The largest difference of all axes; None where the weights are others."""
    total = 0.0
    for weights, scale in zip(matrices, scales, strict=True):
        out, size = weights.shape
        own = matrix(interpolation, size, out, scale)
        error = float(np.abs(own.astype(np.float64) - weights).sum(axis=1).max())
        if not error <= WITHIN:
            return None
        total += error
    return total


def _weighted() -> Iterator[Interpolation]:
    coordinates = [mode for mode in _C if mode is not _C.TF_CROP_AND_RESIZE]
    for mode in coordinates:
        yield Interpolation(Mode.LINEAR, mode)
    for mode, a, outside in product(coordinates, (-0.75, -0.5), (False, True)):
        yield Interpolation(Mode.CUBIC, mode, cubic_coeff_a=a, exclude_outside=outside)
    for outside in (True, False):
        yield Interpolation(Mode.LINEAR, _C.HALF_PIXEL, antialias=True, exclude_outside=outside)
        for a in (-0.5, -0.75):
            yield Interpolation(Mode.CUBIC, _C.HALF_PIXEL, None, a, outside, True)


_WEIGHTED = tuple(_weighted())


def kernel_of(dense: Floats, factors: Sequence[int]) -> list[tuple[Recovered, list[Kernel]]]:
    """Every interpolation whose deconvolution by these whole factors has the kernel `dense`, with that of each axis."""
    recovered = []
    for interpolation in _WEIGHTED:
        plain = not interpolation.antialias and not interpolation.exclude_outside
        if not plain or interpolation.coordinate_transformation_mode not in LATTICE:
            continue
        kernels = [kernel(interpolation, factor) for factor in factors]
        own = reduce(np.multiply.outer, [one.taps.astype(np.float64) for one in kernels])
        if own.shape == dense.shape:
            error = float(np.abs(own - dense).sum())
            if error <= WITHIN:
                recovered.append((Recovered(interpolation, tuple(map(float, factors)), True, error), kernels))
    return recovered


def _scales(lengths: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[float, ...], bool]]:
    """The scales that may stand behind the lengths: those that somebody typed, then the quotients. None where every
    length stays: onnxruntime copies such a tensor, whatever the scales are (upsample.cc, `dims == output_dims`)."""
    if all(size == out for size, out in lengths):
        return
    for factor in _TYPED:
        near = float(np.float32(factor)), float(np.nextafter(np.float32(factor), np.float32(np.inf)))
        fitting = [next((one for one in near if every_rule_gives(one, *axis)), None) for axis in lengths]
        typed = tuple(scale for scale in fitting if scale is not None)
        if len(typed) == len(lengths):
            yield typed, True
    fitting_each = [[one for one in _TYPED_32 if every_rule_gives(one, *axis)] for axis in lengths]
    for typed in islice(product(*fitting_each), _MOST_COMBINED):
        yield typed, True
    whole = all(out % size == 0 or size % out == 0 for size, out in lengths)
    quotients = tuple(sampled_scale(size, out) for size, out in lengths)
    rules = all(every_rule_gives(scale, size, out) for scale, (size, out) in zip(quotients, lengths, strict=True))
    yield quotients, whole and rules
