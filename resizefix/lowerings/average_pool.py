"""Linear by 1/k: every output is one sample, or the mean of two neighbours, at a stride of k. AveragePool says both."""

from __future__ import annotations

import math

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import TO_THE_END, NodeBuilder
from resizefix.equivalences.error_bound import slope
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode, Mode
from resizefix.lowerings.bounds import LATTICE, drift, finite_and_short, rounding
from resizefix.lowerings.conditions import LONGEST_CHECKED, why_not_divided, why_not_image_axes, why_not_mode
from resizefix.lowerings.lowering import Lowering


def _why_not(subject: ResizeSpec) -> str | None:
    interpolation = subject.interpolation
    if interpolation.mode is not Mode.LINEAR or interpolation.antialias:
        return why_not_mode(interpolation, Mode.LINEAR)
    mode = interpolation.coordinate_transformation_mode
    if mode not in LATTICE:
        return Diagnostic("lowerings.weights-differ", mode=mode.value)
    reason = why_not_image_axes(subject)
    for axis in subject.scaled:
        reason = reason or why_not_divided(axis) or _why_off_lattice(mode, axis)
    return reason


def _why_off_lattice(mode: CoordinateTransformationMode, axis: Axis) -> str | None:
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
    return ErrorBound(exact=False, bound=_bound(subject), conditions=_conditions(subject))


def _conditions(subject: ResizeSpec) -> tuple[str, ...]:
    least = [axis.divisor or 1 for axis in subject.scaled if axis.size is None]
    if not least:
        return finite_and_short(subject)
    lengths = Diagnostic("lowerings.for-lengths", least=max(least), most=LONGEST_CHECKED)
    return (*finite_and_short(subject), lengths)


def _bound(subject: ResizeSpec) -> float:
    drifts = [drift(subject.interpolation, axis) for axis in subject.scaled]
    roundings = 2 ** len(drifts) + 1  # the sums of the mean and its division
    return rounding(subject, [1.0], roundings) + slope(subject.interpolation) * sum(drifts)


AVERAGE_POOL = Lowering(
    name="average_pool",
    operators=frozenset({"Slice", "AveragePool"}),
    computes=True,
    condition=_why_not,
    write=_write,
    first_full_axis=1,
)
