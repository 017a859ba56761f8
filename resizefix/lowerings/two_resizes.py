"""A volume resized by two nodes of four dimensions: every slice in its plane, then along the depth.

The axes are sampled one by one, so that the order does not matter. Runtimes that resize images alone (OpenCV, ncnn,
TensorRT before 8) take both nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.output_size import output_size
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import ExtentKind, Mode
from resizefix.lowerings.bounds import FINITE, rounding
from resizefix.lowerings.conditions import why_not_spatial, why_not_static
from resizefix.lowerings.copies import copied
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.resize_node import resize_node

_ROUNDINGS = 2 * (2**2 + 2)  # two kernels of four taps


def _why_not(subject: ResizeSpec) -> str | None:
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
        if output_size(axis.scale or 1.0, axis.size or 0) != axis.out:
            return Diagnostic("lowerings.batch-not-static", size=axis.size, out=axis.out, axis=axis.index)
    return None


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
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
    "two_4d_resizes", frozenset({"Reshape", "Upsample", "Resize"}), _why_not, _write, computes=True, first_full_axis=0
)
