"""Linear and cubic by a whole factor as a depthwise deconvolution over repeated edges, whatever the size.

Every output is a sum of a few inputs with weights that depend only on its place between them, hence on i mod s: that is
what ConvTranspose of stride s computes. Its `pads` cut off what the repeated edges add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.error_bound import cubic_coefficients, gain, noise, slope
from resizefix.equivalences.index_map import Floats
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import Interpolation, Mode
from resizefix.lowerings.bounds import LATTICE, drift, finite_and_short, rounding, why_off_lattice
from resizefix.lowerings.conditions import why_no_channel_count, why_not_image_axes, why_not_whole, why_too_large
from resizefix.lowerings.lowering import Lowering


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
    return ErrorBound(exact=False, bound=_bound(subject), conditions=finite_and_short(subject))


def _bound(subject: ResizeSpec) -> float:
    interpolation = subject.interpolation
    gains = [gain(interpolation)] * len(subject.scaled)
    bound = rounding(subject, gains, TAPS[interpolation.mode] ** len(gains) + len(gains))
    for axis in subject.scaled:
        pixels = drift(interpolation, axis)
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
