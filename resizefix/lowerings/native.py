"""What onnxruntime's own kernel takes. Where it has no answer there is nothing a lowering could be equal to.

Read in onnxruntime/core/providers/cpu/tensor/upsamplebase.h (ScalesValidation) and upsample.cc (the registered types).
"""

from __future__ import annotations

from functools import lru_cache

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode
from resizefix.targets.onnxruntime_target import runs_on_axes

FLOATING = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
ANY_MODE = FLOATING
NEAREST_TOO = FLOATING | {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32}
"""Linear takes integers as well, but cuts the fraction off: no lowering here says that."""


@lru_cache(maxsize=256)  # asked for each lowering of a site
def why_not_native(subject: ResizeSpec) -> str | None:
    """None where onnxruntime runs the node and its samples are known beforehand; else the reason why not."""
    interpolation = subject.interpolation
    if None in subject.values:
        return Diagnostic("lowerings.extent-not-constant")
    if interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE:
        return Diagnostic("lowerings.crops")
    if interpolation.keep_aspect_ratio_policy is not None and any(axis < 0 for axis in interpolation.axes or ()):
        return Diagnostic("lowerings.policy-ignored")
    if subject.extent is ExtentKind.SCALES and any(not 0 < (scale or 0) < float("inf") for scale in subject.values):
        return Diagnostic("lowerings.scale-not-positive")
    if any(axis.size == 0 or axis.out == 0 for axis in subject.axes):
        return Diagnostic("lowerings.output-empty")
    return _why_not_type(subject) or _why_not_rank(subject)


def _why_not_type(subject: ResizeSpec) -> str | None:
    types = NEAREST_TOO if subject.interpolation.mode is Mode.NEAREST else ANY_MODE
    if subject.element_type in types:
        return None
    name = TensorProto.DataType.Name(subject.element_type).lower()
    if subject.element_type in NEAREST_TOO and subject.interpolation.mode is Mode.LINEAR:
        return Diagnostic("lowerings.linear-of-integers", kind=name)
    return Diagnostic("lowerings.no-kernel-of-type", mode=subject.interpolation.mode.value, kind=name)


def _why_not_rank(subject: ResizeSpec) -> str | None:
    """Linear and cubic kernels exist for some ranks and places of the scaled axes only."""
    mode, rank, scaled = subject.interpolation.mode, len(subject.axes), sorted(axis.index for axis in subject.scaled)
    grows = all(axis.scale is not None and axis.scale >= 1 for axis in subject.axes)
    channels_last = mode is Mode.LINEAR or subject.interpolation.antialias or grows
    if runs_on_axes(mode.value, rank, scaled, channels_last=channels_last):
        return None
    axes = ", ".join(map(str, scaled))
    return Diagnostic("lowerings.no-kernel-of-rank", mode=mode.value, rank=rank, axes=axes)
