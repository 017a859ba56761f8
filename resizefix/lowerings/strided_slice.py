"""Nearest by 1/k: every k-th sample, by one Slice with steps."""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import TO_THE_END, NodeBuilder
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode, Mode
from resizefix.lowerings.conditions import why_not_divided, why_not_mode
from resizefix.lowerings.copies import copied, index_map
from resizefix.lowerings.lowering import Lowering

_SIZE_DEPENDENT = frozenset(
    {CoordinateTransformationMode.ALIGN_CORNERS, CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC}
)
"""Their index map at one size says nothing about other sizes."""


def _why_not(subject: ResizeSpec) -> str | None:
    reason = why_not_mode(subject.interpolation, Mode.NEAREST)
    for axis in subject.scaled:
        reason = reason or why_not_divided(axis) or _why_not_regular(subject, axis)
    return reason


def _why_not_regular(subject: ResizeSpec, axis: Axis) -> str | None:
    interpolation = subject.interpolation
    mode = interpolation.coordinate_transformation_mode
    if axis.size is None and mode in _SIZE_DEPENDENT:
        return Diagnostic("lowerings.depends-on-size", axis=axis.index, mode=mode.value)
    indices = index_map(subject, axis)
    if not len(indices):
        return Diagnostic("lowerings.no-output", axis=axis.index)
    k = axis.divisor or 1
    regular = indices[0] % k + k * np.arange(len(indices))
    wrong = np.flatnonzero(indices != regular)
    if len(wrong):
        at = wrong[0]
        return Diagnostic("lowerings.irregular", axis=axis.index, output=at, sample=indices[at], regular=regular[at])
    if axis.size is None and mode is CoordinateTransformationMode.PYTORCH_HALF_PIXEL and indices[0]:
        return Diagnostic("lowerings.length-one", axis=axis.index)
    return None


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    axes = [axis.index for axis in subject.scaled]
    starts = [int(index_map(subject, axis)[0]) for axis in subject.scaled]
    steps = [axis.divisor or 1 for axis in subject.scaled]
    # Where the size is no multiple of k the last sample may be one too many: it lies in the last k - 1 - start.
    ends = [start + 1 - step or TO_THE_END for start, step in zip(starts, steps, strict=True)]
    builder.slice(x, axes, starts, ends, steps)
    return copied(subject)


STRIDED_SLICE = Lowering("strided_slice", frozenset({"Slice"}), _why_not, _write, since_opset=10)
