"""Conditions that several lowerings share; each gives None or the reason why it does not hold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import Interpolation, Mode

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
