"""Conditions that several lowerings share, and what the kernel takes; each gives None or the reason why not."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.targets.onnxruntime_target import runs_on_axes

LONGEST_CHECKED = 2**16
"""A dynamic axis is taken to be no longer than this."""

# 64 MiB of float32: a file that grows by more is not wanted, and nothing is built that may not be written.
MOST_WEIGHTS = 1 << 24


def why_not_mode(interpolation: Interpolation, mode: Mode) -> str | None:
    """None where it is an interpolation of this mode, without antialiasing."""
    if interpolation.mode is mode and not interpolation.antialias:
        return None
    code = "lowerings.mode-with-antialias" if interpolation.antialias else "lowerings.mode"
    return Diagnostic(code, mode=interpolation.mode.value, wanted=mode.value)


def why_not_whole(axes: Iterable[Axis]) -> str | None:
    """None where every axis grows by a whole factor."""
    other = next((axis.index for axis in axes if axis.factor is None), None)
    return None if other is None else Diagnostic("lowerings.factor-not-whole", axis=other)


def why_too_large(elements: int) -> str | None:
    """Constants must stay within what a file can hold and a machine build."""
    if elements <= MOST_WEIGHTS:
        return None
    return Diagnostic("lowerings.weights-too-large", elements=elements, most=MOST_WEIGHTS)


def why_not_image_axes(subject: ResizeSpec) -> str | None:
    """Convolutions and pools read N × C × 1 to 3 spatial axes and leave N and C alone."""
    if not 3 <= len(subject.axes) <= 5:
        return Diagnostic("lowerings.rank-not-convolved", rank=len(subject.axes))
    return why_not_spatial(subject)


def why_not_spatial(subject: ResizeSpec) -> str | None:
    """None where neither the first axis nor the second is scaled."""
    first = next((axis.index for axis in subject.scaled), 2)
    return Diagnostic("lowerings.axis-not-spatial", axis=first) if first < 2 else None


def why_no_channel_count(subject: ResizeSpec) -> str | None:
    """A depthwise kernel has one filter per channel."""
    return Diagnostic("lowerings.channels-not-static") if subject.axes[1].size is None else None


def up_to(subject: ResizeSpec, longest: int) -> tuple[str, ...]:
    """The condition of what was looked at for dynamic axes up to a length."""
    is_open = any(axis.size is None for axis in subject.scaled)
    return (Diagnostic("lowerings.for-axes-up-to", longest=longest),) if is_open else ()


def why_not_static(axes: Iterable[Axis]) -> str | None:
    """The index map or the weights are constants only if the size is."""
    for axis in axes:
        if axis.size is None or axis.out is None or axis.scale is None:
            return Diagnostic("lowerings.size-not-static", axis=axis.index)
    return None


def why_not_divided(axis: Axis) -> str | None:
    """At scale float32(1/k) the output length is floor(size / k), unless the float32 product rounds to one less."""
    k = axis.divisor
    if axis.scale is None or k is None:
        return Diagnostic("lowerings.not-divided", axis=axis.index)
    sizes = np.arange(LONGEST_CHECKED + 1) if axis.size is None else np.array([axis.size])
    lost = sizes[(np.float32(axis.scale) * sizes.astype(np.float32)).astype(np.int64) != sizes // k]
    if len(lost):
        return Diagnostic("lowerings.length-rounds", axis=axis.index, size=lost[0], length=lost[0] // k, divisor=k)
    return None


# What onnxruntime's own kernel takes. Where it has no answer there is nothing a lowering could be equal to.
# Read in core/providers/cpu/tensor/upsamplebase.h (ScalesValidation) and upsample.cc (the registered types).
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
