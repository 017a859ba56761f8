"""Linear at sample centres through the asymmetric linear Upsample, so that the file keeps an Upsample-7 node.

With one repeated sample at both ends, the wanted coordinate (i + ½)/s + ½ is j/s at j = i + (s + 1)/2 for an odd s. For
an even s it is the middle of j/s and (j + 1)/s at j = i + s/2: between two grid points linear is a straight line, so
that the mean of the two neighbours, an AveragePool of width 2, is the value there. (Upsampling by 2s and taking every
second sample says the same with four times the memory.)
"""

from __future__ import annotations

import dataclasses

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.axis_forms import THREE_HALF_PIXELS
from resizefix.equivalences.error_bound import slope
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.lowerings.bounds import drift, finite_and_short, rounding
from resizefix.lowerings.conditions import why_not_image_axes, why_not_mode, why_not_whole
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.resize_node import resize_node

_ASYMMETRIC = Interpolation(Mode.LINEAR, CoordinateTransformationMode.ASYMMETRIC)


def _why_not(subject: ResizeSpec) -> str | None:
    interpolation = subject.interpolation
    mode, reason = interpolation.coordinate_transformation_mode, why_not_mode(interpolation, Mode.LINEAR)
    if reason is None and mode not in THREE_HALF_PIXELS:  # equal to one another at whole factors of 2 and more
        reason = Diagnostic("lowerings.not-at-centres", mode=mode.value)
    return reason or why_not_whole(subject.scaled) or why_not_image_axes(subject)


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    scaled = [(axis.index, axis.factor or 1) for axis in subject.scaled]
    for index, _ in scaled:
        x = builder.repeat_edges(x, index, 1, 1)
    scales = tuple(axis.scale or 1.0 for axis in subject.axes)
    x = resize_node(_ASYMMETRIC, ExtentKind.SCALES, scales, x, builder)
    widths = [2 if axis.factor and axis.factor % 2 == 0 and not axis.is_copied else 1 for axis in subject.axes[2:]]
    if max(widths) == 2:
        x = builder.add("AveragePool", x, kernel_shape=widths, strides=[1] * len(widths))
    starts = [(s + 1) // 2 for _, s in scaled]
    ends = [start - 2 * s if s % 2 else start + 1 - 2 * s for start, (_, s) in zip(starts, scaled, strict=True)]
    builder.slice(x, [index for index, _ in scaled], starts, ends)
    return ErrorBound(exact=False, bound=_bound(subject), conditions=finite_and_short(subject))


def _bound(subject: ResizeSpec) -> float:
    axes = subject.scaled
    through = 2**3 + 3 + 2 ** len(axes)  # the asymmetric kernel, then the mean
    bound = rounding(subject, [1.0] * len(axes), through)
    for axis in axes:
        wider = dataclasses.replace(axis, size=None if axis.size is None else axis.size + 2)
        bound += slope(_ASYMMETRIC) * (drift(subject.interpolation, axis) + drift(_ASYMMETRIC, wider))
    return bound


PAD_UPSAMPLE_SLICE = Lowering(
    "pad_upsample_slice",
    frozenset({"Slice", "Concat", "Upsample", "Resize", "AveragePool"}),
    _why_not,
    _write,
    computes=True,
    first_full_axis=1,
)
