"""Lowerings that keep an interpolation node, though a simpler one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.document.edits import NodeBuilder
from resizefix.equivalences.kernel_arithmetic import slope
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.rules import THREE_HALF_PIXELS
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.lowerings.copies import copied
from resizefix.lowerings.lowering import (
    FINITE,
    Lowering,
    drift,
    drifting_bound,
    rounding,
    why_not_image_axes,
    why_not_mode,
    why_not_spatial,
    why_not_static,
    why_not_whole,
)
from resizefix.outcome import ErrorBound
from resizefix.shapes.output_size import kernel_length


def resize_node(
    interpolation: Interpolation, extent: ExtentKind, values: Sequence[float], x: str, builder: NodeBuilder
) -> str:
    """Adds the node that resizes `x`, all axes listed, and gives its output's name."""
    dialect = dialect_of("Upsample" if builder.opset < 10 else "Resize", builder.opset)
    name = builder.fresh("upsample")
    if dialect.scales_input is None:
        operands = Operands(x, scales_attribute=tuple(values))
        return builder.append(write(interpolation, operands, dialect, name=name, output=name))
    demands_all = dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional  # Resize-11
    roi = builder.value([], "roi", np.float32) if demands_all else None
    if extent is ExtentKind.SIZES:
        scales = builder.value([], "scales", np.float32) if demands_all else None
        operands = Operands(x, roi=roi, scales=scales, sizes=builder.value(values, "sizes", np.int64))
    else:
        operands = Operands(x, roi=roi, scales=builder.value(values, "scales", np.float32))
    return builder.append(write(interpolation, operands, dialect, name=name, output=name))


# Linear at sample centres through the asymmetric linear Upsample, so that the file keeps an Upsample-7 node.
# With one repeated sample at both ends, the wanted coordinate (i + ½)/s + ½ is j/s at j = i + (s + 1)/2 for an odd s.
# For an even s it is the middle of j/s and (j + 1)/s at j = i + s/2: between two grid points linear is a straight line,
# so that the mean of the two neighbours, an AveragePool of width 2, is the value there. (Upsampling by 2s and taking
# every second sample says the same with four times the memory.)
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
    return drifting_bound(subject, _bound)


def _bound(subject: ResizeSpec, samples: int) -> float:
    axes = subject.scaled
    through = 2**3 + 3 + 2 ** len(axes)  # the asymmetric kernel, then the mean
    bound = rounding(subject, [1.0] * len(axes), through)
    for axis in axes:
        wider = dataclasses.replace(axis, size=None if axis.size is None else axis.size + 2)
        bound += slope(_ASYMMETRIC) * (drift(subject.interpolation, axis, samples) + drift(_ASYMMETRIC, wider, samples))
    return bound


PAD_UPSAMPLE_SLICE = Lowering(
    "pad_upsample_slice",
    frozenset({"Slice", "Concat", "Upsample", "Resize", "AveragePool"}),
    _why_not,
    _write,
    computes=True,
    first_full_axis=1,
)


# A volume resized by two nodes of four dimensions: every slice in its plane, then along the depth.
# The axes are sampled one by one, so that the order does not matter. Runtimes that resize images alone (OpenCV, ncnn,
# TensorRT before 8) take both nodes.
_ROUNDINGS = 2 * (2**2 + 2)  # two kernels of four taps


def _why_not_5d(subject: ResizeSpec) -> str | None:
    interpolation = subject.interpolation
    if len(subject.axes) != 5:
        return Diagnostic("lowerings.rank-not-5", rank=len(subject.axes))
    if interpolation.antialias or interpolation.keep_aspect_ratio_policy is not None:
        return Diagnostic("lowerings.all-axes-at-once")
    reason = why_not_spatial(subject) or why_not_static(subject.axes[1:])
    if reason is not None:
        return reason
    for stage in (subject.axes[3:], subject.axes[2:3]):
        # onnxruntime copies where no length changes, whatever the scales; it did not in the node of all axes.
        if any(not axis.is_copied for axis in stage) and all(axis.size == axis.out for axis in stage):
            return Diagnostic("lowerings.length-stays", axis=stage[0].index)
    return _why_no_scale(subject)


def _why_no_scale(subject: ResizeSpec) -> str | None:
    """Sizes name every axis, the batch too; where that is open, scales must give the same lengths."""
    if subject.extent is ExtentKind.SCALES or subject.axes[0].size is not None:
        return None
    for axis in subject.scaled:
        if kernel_length(axis.scale or 1.0, axis.size or 0) != axis.out:
            return Diagnostic("lowerings.batch-not-static", size=axis.size, out=axis.out, axis=axis.index)
    return None


def _write_5d(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    channels, depth, height, width = subject.axes[1:]
    if not (height.is_copied and width.is_copied):
        flat = builder.reshape(x, [0, -1, height.size or 0, width.size or 0])
        x = _resized(subject, [height, width], [(channels.size or 0) * (depth.size or 0)], flat, builder)
    if not depth.is_copied:
        area = (height.out or 0) * (width.out or 0)
        flat = builder.reshape(x, [0, channels.size or 0, depth.size or 0, area])
        line = Axis(area, area, 1.0)
        x = _resized(subject, [depth, line], [channels.size or 0], flat, builder)
    builder.reshape(x, [0, channels.size or 0, depth.out or 0, height.out or 0, width.out or 0])
    if subject.interpolation.mode is Mode.NEAREST:
        return copied(subject)
    bound = rounding(subject, [1.0] * len(subject.scaled), _ROUNDINGS)
    return ErrorBound(exact=False, bound=bound, conditions=(FINITE,))


def _resized(subject: ResizeSpec, axes: Sequence[Axis], channels: list[int], x: str, builder: NodeBuilder) -> str:
    """`x` of four dimensions with its last two resized, by scales or by sizes as the node was."""
    meaning = replace(subject.interpolation, axes=None)
    batch = subject.axes[0].size
    if subject.extent is ExtentKind.SIZES and batch is not None:
        sizes = [batch, *channels, *(axis.out or 0 for axis in axes)]
        return resize_node(meaning, ExtentKind.SIZES, sizes, x, builder)
    return resize_node(meaning, ExtentKind.SCALES, [1.0, 1.0, *(axis.scale or 1.0 for axis in axes)], x, builder)


TWO_4D_RESIZES = Lowering(
    "two_4d_resizes",
    frozenset({"Reshape", "Upsample", "Resize"}),
    _why_not_5d,
    _write_5d,
    computes=True,
    first_full_axis=0,
)
