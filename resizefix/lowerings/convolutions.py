"""Lowerings that compute with convolutions and pools, by whole factors or their inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import TO_THE_END, NodeBuilder
from resizefix.equivalences.kernel_arithmetic import Floats, cubic_coefficients, gain, noise, slope
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode
from resizefix.lowerings.copies import LONGEST_REPEATED, why_not_repeated
from resizefix.lowerings.lowering import (
    LATTICE,
    LONGEST_CHECKED,
    Lowering,
    drift,
    drifting_bound,
    rounding,
    up_to,
    why_no_channel_count,
    why_not_divided,
    why_not_image_axes,
    why_not_mode,
    why_not_whole,
    why_off_lattice,
    why_too_large,
)
from resizefix.outcome import ErrorBound


# Linear by 1/k: every output is one sample, or the mean of two neighbours, at a stride of k. AveragePool says both.
def _why_not_pooled(subject: ResizeSpec) -> str | None:
    interpolation = subject.interpolation
    mode = interpolation.coordinate_transformation_mode
    reason = why_not_mode(interpolation, Mode.LINEAR) or why_off_lattice(mode) or why_not_image_axes(subject)
    for axis in subject.scaled:
        reason = reason or why_not_divided(axis) or _why_not_there(mode, axis)
    return reason


def _why_not_there(mode: CoordinateTransformationMode, axis: Axis) -> str | None:
    """Where output samples lie off the lattice of `mode`."""
    if mode is CoordinateTransformationMode.PYTORCH_HALF_PIXEL and (axis.out is None or axis.out == 1):
        return Diagnostic("lowerings.length-one", axis=axis.index)
    if mode is CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC and (
        axis.size is None or axis.size % (axis.divisor or 1)
    ):
        return Diagnostic("lowerings.no-multiple", axis=axis.index, divisor=axis.divisor)
    return None


def _write_pool(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    a, b = LATTICE[subject.interpolation.coordinate_transformation_mode]
    strides = [axis.divisor or 1 for axis in subject.axes[2:]]
    positions = [0.0 if stride == 1 else a * stride + b for stride in strides]  # of output 0: whole, or a middle
    starts = [math.floor(position) for position in positions]
    widths = [1 if position == start else 2 for position, start in zip(positions, starts, strict=True)]
    # The pool must make floor(size / k) outputs, hence see size - k + width samples from `start` on.
    tails = [s - width - start for s, width, start in zip(strides, widths, starts, strict=True)]
    cut = [k for k in range(len(strides)) if starts[k] or tails[k]]
    if cut:
        ends = [-tails[k] if tails[k] else TO_THE_END for k in cut]
        x = builder.slice(x, [k + 2 for k in cut], [starts[k] for k in cut], ends)
    builder.add("AveragePool", x, kernel_shape=widths, strides=strides)
    least = max((axis.divisor or 1 for axis in subject.scaled if axis.size is None), default=None)
    lengths = [] if least is None else [Diagnostic("lowerings.for-lengths", least=least, most=LONGEST_CHECKED)]
    return drifting_bound(subject, _pool_bound, *lengths)


def _pool_bound(subject: ResizeSpec, samples: int) -> float:
    drifts = [drift(subject.interpolation, axis, samples) for axis in subject.scaled]
    roundings = 2 ** len(drifts) + 1  # the sums of the mean and its division
    return rounding(subject, [1.0], roundings) + slope(subject.interpolation) * sum(drifts)


AVERAGE_POOL = Lowering(
    "average_pool", frozenset({"Slice", "AveragePool"}), _why_not_pooled, _write_pool, computes=True, first_full_axis=1
)


# Linear and cubic by a whole factor as a depthwise deconvolution over repeated edges, whatever the size.
# Every output is a sum of a few inputs with weights that depend only on its place between them, hence on i mod s: that
# is what ConvTranspose of stride s computes. Its `pads` cut off what the repeated edges add.
@dataclass(frozen=True)
class Kernel:
    """One axis: input m adds `taps[t]` times its value to output m · stride + first + t."""

    taps: Floats
    first: int
    stride: int

    @property
    def before(self) -> int:
        """How many samples before the first one some output reads."""
        return (self.first + len(self.taps) - 1) // self.stride

    @property
    def after(self) -> int:
        """How many samples after the last one some output reads."""
        return -(self.first // self.stride)

    @property
    def crop(self) -> tuple[int, int]:
        """What ConvTranspose over `before` and `after` repeated samples makes too much, at both ends."""
        begin = self.before * self.stride - self.first
        return begin, (self.before + self.after - 1) * self.stride + len(self.taps) - begin


TAPS = {Mode.LINEAR: 2, Mode.CUBIC: 4}
COPY = Kernel(np.ones(1, np.float32), 0, 1)
"""An axis that is not scaled."""


def kernel(interpolation: Interpolation, factor: int) -> Kernel:
    """The deconvolution kernel of one axis; linear or cubic, coordinates on a lattice (`LATTICE`)."""
    a, b = LATTICE[interpolation.coordinate_transformation_mode]
    position = (np.arange(factor) + a) / factor + b
    floor = np.floor(position)
    fraction = (position - floor).astype(np.float32)
    if interpolation.mode is Mode.LINEAR:
        taps, column = np.stack([np.float32(1) - fraction, fraction], axis=1), floor[:, None] + [0, 1]
    else:
        assert interpolation.cubic_coeff_a is not None
        taps, column = cubic_coefficients(fraction, interpolation.cubic_coeff_a), floor[:, None] + [-1, 0, 1, 2]
    reach = (np.arange(factor)[:, None] - column * factor).astype(np.int64)
    dense = np.zeros(reach.max() - reach.min() + 1, np.float32)
    dense[reach - reach.min()] = taps
    used = np.flatnonzero(dense)
    return Kernel(dense[used[0] : used[-1] + 1], int(reach.min() + used[0]), factor)


def _why_not(subject: ResizeSpec) -> str | None:
    interpolation = subject.interpolation
    if interpolation.mode is Mode.NEAREST:
        return Diagnostic("lowerings.mode-is-nearest")
    if interpolation.antialias or interpolation.exclude_outside:
        option = "antialias" if interpolation.antialias else "exclude_outside"
        return Diagnostic("lowerings.border-is-normalised", option=option)
    reason = why_off_lattice(interpolation.coordinate_transformation_mode) or why_not_whole(subject.scaled)
    reason = reason or why_not_image_axes(subject) or why_no_channel_count(subject)
    per_channel = math.prod(TAPS[interpolation.mode] * (axis.factor or 1) for axis in subject.scaled)
    return reason or why_too_large((subject.axes[1].size or 1) * per_channel)


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    channels = subject.axes[1].size
    assert channels is not None
    kernels = [COPY if axis.is_copied else kernel(subject.interpolation, axis.factor or 1) for axis in subject.axes[2:]]
    for index, one in enumerate(kernels, start=2):
        x = builder.repeat_edges(x, index, one.before, one.after)
    dense = reduce(np.multiply.outer, [one.taps.astype(np.float64) for one in kernels])
    weights = np.broadcast_to(dense, (channels, 1, *dense.shape))
    builder.add(
        "ConvTranspose",
        x,
        builder.value(weights, "weights", np.float32),
        group=channels,
        kernel_shape=dense.shape,
        strides=[one.stride for one in kernels],
        pads=[one.crop[0] for one in kernels] + [one.crop[1] for one in kernels],
    )
    return drifting_bound(subject, _bound)


def _bound(subject: ResizeSpec, samples: int) -> float:
    interpolation = subject.interpolation
    gains = [gain(interpolation)] * len(subject.scaled)
    bound = rounding(subject, gains, TAPS[interpolation.mode] ** len(gains) + len(gains))
    for axis in subject.scaled:
        pixels = drift(interpolation, axis, samples)
        weights = slope(interpolation) * pixels + (2 * noise(interpolation) if pixels else 0.0)
        bound += weights * math.prod(gains) / gains[0]
    return bound


CONV_TRANSPOSE = Lowering(
    "conv_transpose",
    frozenset({"Slice", "Concat", "ConvTranspose"}),
    _why_not,
    _write,
    computes=True,
    first_full_axis=1,
)


# Nearest by a whole factor as a depthwise deconvolution with a kernel of ones, as deconvolution tutorials have it.
def _why_not_ones(subject: ResizeSpec) -> str | None:
    reason = why_not_repeated(subject) or why_not_image_axes(subject) or why_no_channel_count(subject)
    factors = math.prod(axis.factor or 1 for axis in subject.axes[2:])
    return reason or why_too_large((subject.axes[1].size or 1) * factors)


def _write_ones(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    channels = subject.axes[1].size
    assert channels is not None
    factors = [axis.factor or 1 for axis in subject.axes[2:]]
    ones = builder.value(np.ones([channels, 1, *factors]), "ones", np.float32)
    builder.add("ConvTranspose", x, ones, group=channels, kernel_shape=factors, strides=factors)
    note = Diagnostic("lowerings.equal-numbers-all")
    return ErrorBound(exact=False, note=note, conditions=up_to(subject, LONGEST_REPEATED))


DEPTHWISE_CONV_TRANSPOSE = Lowering(
    "depthwise_conv_transpose",
    frozenset({"ConvTranspose"}),
    _why_not_ones,
    _write_ones,
    computes=True,
    first_full_axis=1,
)
