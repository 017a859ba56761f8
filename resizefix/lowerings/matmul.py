"""Any mode at a static size: one MatMul per scaled axis with the weights onnxruntime computes.

The nearest to the node replaced, for the weights are the same bits: in float32 and in the kernel's order, linear and
cubic from onnxruntime/core/providers/cpu/tensor/upsample.cc (SetupUpsampleBilinear, GetCubicCoeffs, ResizeBiCubic),
antialias from upsample_antialias.h (SetupUpsampleFilterAntiAlias). Tests read them out of the running kernel. A matrix
has out × size elements, mostly zeros, and the work grows with it: small ones are a row of their own, preferred to a
deconvolution, which overtakes them later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.document.edits import NodeBuilder, Replacement
from resizefix.equivalences.kernel_arithmetic import Floats, coordinates, cubic_coefficients, nearest_indices
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.lowerings.lowering import FINITE, FLOATING, Lowering, rounding, why_not_static, why_too_large
from resizefix.outcome import ErrorBound

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
    return between_samples(interpolation, coordinates(mode, scale, size, out), size)


def between_samples(interpolation: Interpolation, position: Floats, size: int) -> Floats:
    """The weights float32[len(position), size] of mode linear or cubic at some coordinates of an axis."""
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


SMALL = {Mode.NEAREST: 2**14, Mode.LINEAR: 2**14, Mode.CUBIC: 2**18}
"""Elements of a matrix up to which MatMul is the fastest way to compute (docs/lowerings.md)."""


def _why_not_small(subject: ResizeSpec) -> str | None:
    reason, most = _why_not(subject), SMALL[subject.interpolation.mode]
    for axis in () if reason else subject.scaled:
        elements = (axis.size or 0) * (axis.out or 0)
        if elements > most:
            return Diagnostic("lowerings.matrix-too-large", axis=axis.index, elements=elements, most=most)
    return reason


def _why_not(subject: ResizeSpec) -> str | None:
    reason = why_not_static(subject.scaled)
    for axis in subject.scaled:
        reason = reason or why_too_large((axis.size or 0) * max(axis.size or 0, axis.out or 0))
    if reason:
        return reason
    first = subject.scaled[0].index
    if first >= len(subject.axes) - 2:
        return None
    for axis in subject.axes[first:]:
        if axis.size is None:
            return Diagnostic("lowerings.size-behind-not-static", axis=axis.index, scaled=first)
    return None


Multiply = Callable[[str, Floats, int, list[int | None], NodeBuilder], str]
"""Writes the product of a value with a matrix along an axis."""


def _write(multiply: Multiply, subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    # the last axis first, as the cubic and antialias kernels do
    matrices = [(axis, matrix(subject.interpolation, *axis.known)) for axis in reversed(subject.scaled)]
    return multiplied(subject, x, matrices, builder, multiply)


def multiplied(
    subject: ResizeSpec,
    x: str,
    matrices: Sequence[tuple[Axis, Floats]],
    builder: NodeBuilder,
    multiply: Multiply | None = None,
) -> ErrorBound:
    """Writes the products of `x` with the weights of these axes, in this order; says how near they come."""
    sizes = [axis.size for axis in subject.axes]
    gains, taps = [], []
    for axis, weights in matrices:
        x = (multiply or _multiply)(x, weights, axis.index, sizes, builder)
        sizes[axis.index] = axis.out
        gains.append(float(np.abs(weights).sum(axis=1).max()))
        taps.append(int(np.count_nonzero(weights, axis=1).max()))
    if subject.interpolation.mode is Mode.NEAREST:
        return ErrorBound(exact=False, note=Diagnostic("lowerings.equal-numbers"), conditions=(FINITE,))
    bound = rounding(subject, gains, sum(taps) + len(taps))
    note = Diagnostic("lowerings.infinity-spreads")
    return ErrorBound(exact=False, bound=bound, note=note, conditions=(FINITE,))


def _multiply(x: str, weights: Floats, axis: int, sizes: list[int | None], builder: NodeBuilder) -> str:
    """`weights` (out × size) applied along one axis; MatMul itself works on the last two."""
    if axis == len(sizes) - 1:
        return builder.add("MatMul", x, builder.value(weights.T, "weights", np.float32))
    constant = builder.value(weights, "weights", np.float32)
    if axis == len(sizes) - 2:
        return builder.add("MatMul", constant, x)
    behind = [size or 0 for size in sizes[axis + 1 :]]  # all static, _why_not has seen to it
    flat = builder.reshape(x, [0] * axis + [weights.shape[1], math.prod(behind)])
    return builder.reshape(builder.add("MatMul", constant, flat), [0] * axis + [weights.shape[0], *behind])


def _multiply_transposed(x: str, weights: Floats, axis: int, sizes: list[int | None], builder: NodeBuilder) -> str:
    """`_multiply`, with the axis last between two Transposes where it is before the last two."""
    if axis >= len(sizes) - 2:
        return _multiply(x, weights, axis, sizes, builder)
    order = [*(at for at in range(len(sizes)) if at != axis), axis]
    moved = builder.add("Transpose", x, perm=order)
    grown = builder.add("MatMul", moved, builder.value(weights.T, "weights", np.float32))
    return builder.add("Transpose", grown, perm=[order.index(at) for at in range(len(sizes))])


def _why_not_transposed(subject: ResizeSpec) -> str | None:
    if subject.scaled[0].index >= len(subject.axes) - 2:
        return Diagnostic("lowerings.nothing-to-transpose")
    return _why_not(subject)


SMALL_MATMUL = Lowering(
    "small_matmul",
    frozenset({"MatMul", "Reshape"}),
    _why_not_small,
    partial(_write, _multiply),
    computes=True,
    first_full_axis=0,
)

MATMUL = Lowering(
    "matmul", frozenset({"MatMul", "Reshape"}), _why_not, partial(_write, _multiply), computes=True, first_full_axis=0
)

TRANSPOSED_MATMUL = Lowering(
    "transposed_matmul",
    frozenset({"MatMul", "Transpose"}),
    _why_not_transposed,
    partial(_write, _multiply_transposed),
    computes=True,
    first_full_axis=0,
)


OPERATORS = frozenset({"MatMul", "Reshape"})
_NAME = "matmul"
Part = tuple[float, float]
"""Where the crop of an axis begins and ends, as parts of the axis."""


def crops(subject: ResizeSpec) -> bool:
    """Whether the node cuts a part out of its input."""
    return subject.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE


def lower_crop(
    subject: ResizeSpec, roi: Sequence[float] | None, *, x: str, y: str, opset: int, fresh: Callable[[str], str]
) -> Replacement:
    """The nodes that compute `y` from `x`; `roi` as the node reads it, None where it is no constant.

    Raises RefusedError with the reason why there are none.
    """
    parts = _parts(subject, roi)
    reason = _why_no_crop(subject, parts)
    if reason is not None:
        raise RefusedError("lowerings.crop-refused", why=reason, rule="lowering")
    assert parts is not None
    matrices = [(axis, _weights(subject, axis, part)) for axis, part in parts if not _is_whole(axis, part)]
    if subject.interpolation.extrapolation_value and any(not rows.any(axis=1).all() for _, rows in matrices):
        value = subject.interpolation.extrapolation_value
        raise RefusedError("lowerings.crop-refused", why=Diagnostic("lowerings.crop-outside", value=value))
    builder = NodeBuilder(fresh, opset, y)
    error = multiplied(subject, x, list(reversed(matrices)), builder)
    builder.nodes[-1].output[0] = y
    return Replacement(tuple(builder.nodes), tuple(builder.initializers), error, _NAME)


def _parts(subject: ResizeSpec, roi: Sequence[float] | None) -> list[tuple[Axis, Part]] | None:
    """The part of each axis that is listed; None where the roi does not have two numbers for each."""
    count = len(subject.listed)
    if roi is None or len(roi) != 2 * count or not np.all(np.isfinite(roi)):
        return None
    ends = [(float(np.float32(roi[at])), float(np.float32(roi[count + at]))) for at in range(count)]
    return sorted(zip(subject.listed, ends, strict=True), key=lambda pair: pair[0].index)


def _why_no_crop(subject: ResizeSpec, parts: list[tuple[Axis, Part]] | None) -> str | None:
    if parts is None:
        return Diagnostic("lowerings.roi-not-constant")
    if subject.extent is not ExtentKind.SIZES:
        return Diagnostic("lowerings.crop-by-scales")
    if subject.interpolation.mode is Mode.NEAREST or subject.interpolation.antialias:
        return Diagnostic("lowerings.crop-mode")
    if subject.element_type not in FLOATING or subject.rank is None:
        return Diagnostic("lowerings.crop-of-floats")
    moved = [axis for axis, part in parts if not _is_whole(axis, part)]
    if not moved:
        return Diagnostic("lowerings.nothing-scaled")
    if any(axis.index < len(subject.axes) - 2 for axis in moved):
        return Diagnostic("lowerings.crop-of-images")
    if any(axis.scale == 1 for axis in moved):
        return Diagnostic("lowerings.crop-of-same-size")
    sizes = ((axis.size or 0) * max(axis.size or 0, axis.out or 0) for axis in moved)
    return why_not_static(moved) or next(filter(None, map(why_too_large, sizes)), None)


def _is_whole(axis: Axis, part: Part) -> bool:
    """Whether the axis stays as it is."""
    return axis.is_copied and part == (0.0, 1.0)


def _weights(subject: ResizeSpec, axis: Axis, part: Part) -> Floats:
    """The weights float32[out, size] of one axis; a row of zeros for what lies outside."""
    size, out, _ = axis.known
    position = _coordinates(size, out, part)
    weights = between_samples(subject.interpolation, position, size)
    weights[(position < 0) | (position > np.float32(size - 1))] = 0
    return weights


def _coordinates(size: int, out: int, part: Part) -> Floats:
    start, end, last = np.float32(part[0]), np.float32(part[1]), np.float32(size - 1)
    if out == 1:
        return np.array([np.float32(0.5) * (start + end) * last], np.float32)
    x = np.arange(out, dtype=np.float32)
    return np.asarray(start * last + x * (end - start) * last / np.float32(out - 1), np.float32)
