"""What onnxruntime's own kernel takes. Where it has no answer there is nothing a lowering could be equal to.

Read in onnxruntime/core/providers/cpu/tensor/upsamplebase.h (ScalesValidation) and upsample.cc (the registered types).
"""

from __future__ import annotations

from functools import lru_cache

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode

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
    mode, rank = subject.interpolation.mode, len(subject.axes)
    scaled = {axis.index for axis in subject.scaled}
    if mode is Mode.NEAREST or rank == 2 or (rank == 3 and mode is Mode.LINEAR):
        return None
    if rank == 4 and (scaled <= {2, 3} or (scaled <= {1, 2} and _takes_channels_last(subject))):
        return None
    if rank == 5 and scaled <= {2, 3, 4} and mode is Mode.LINEAR:
        return None
    axes = ", ".join(str(axis) for axis in sorted(scaled))
    return Diagnostic("lowerings.no-kernel-of-rank", mode=mode.value, rank=rank, axes=axes)


def _takes_channels_last(subject: ResizeSpec) -> bool:
    grows = all(axis.scale is not None and axis.scale >= 1 for axis in subject.axes)
    return subject.interpolation.mode is Mode.LINEAR or subject.interpolation.antialias or grows
