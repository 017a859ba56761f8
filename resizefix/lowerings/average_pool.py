"""Linear by 1/k: every output is one sample, or the mean of two neighbours, at a stride of k. AveragePool says both."""

from __future__ import annotations

import math

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import TO_THE_END, NodeBuilder
from resizefix.equivalences.error_bound import slope
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode, Mode
from resizefix.lowerings.bounds import LATTICE, drift, finite_and_short, rounding, why_off_lattice
from resizefix.lowerings.conditions import LONGEST_CHECKED, why_not_divided, why_not_image_axes, why_not_mode
from resizefix.lowerings.lowering import Lowering


def _why_not(subject: ResizeSpec) -> str | None:
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


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
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
    conditions = finite_and_short(subject)
    least = max((axis.divisor or 1 for axis in subject.scaled if axis.size is None), default=None)
    if least is not None:
        conditions = (*conditions, Diagnostic("lowerings.for-lengths", least=least, most=LONGEST_CHECKED))
    return ErrorBound(exact=False, bound=_bound(subject), conditions=conditions)


def _bound(subject: ResizeSpec) -> float:
    drifts = [drift(subject.interpolation, axis) for axis in subject.scaled]
    roundings = 2 ** len(drifts) + 1  # the sums of the mean and its division
    return rounding(subject, [1.0], roundings) + slope(subject.interpolation) * sum(drifts)


AVERAGE_POOL = Lowering(
    "average_pool", frozenset({"Slice", "AveragePool"}), _why_not, _write, computes=True, first_full_axis=1
)
