"""Conditions that several lowerings share; each gives None or the reason why it does not hold."""

from __future__ import annotations

import numpy as np

from resizefix.equivalences.resize_spec import Axis, ResizeSpec

LONGEST_CHECKED = 2**16
"""A dynamic axis is taken to be no longer than this."""

# 64 MiB of float32: a file that grows by more is nobody's wish, and nothing is built that may not be written.
MOST_WEIGHTS = 1 << 24


def why_too_large(elements: int) -> str | None:
    """Constants must stay within what a file can hold and a machine build."""
    return f"its weights would have {elements} elements, more than {MOST_WEIGHTS}" if elements > MOST_WEIGHTS else None


def why_not_image_axes(subject: ResizeSpec) -> str | None:
    """Convolutions and pools read N × C × 1 to 3 spatial axes and leave N and C alone."""
    if not 3 <= len(subject.axes) <= 5:
        return f"the rank is {len(subject.axes)}, and only N × C × 1 to 3 spatial axes are convolved or pooled"
    for axis in subject.scaled[:1]:
        if axis.index < 2:
            return f"axis {axis.index} is scaled, which is not a spatial one"
    return None


def why_no_channel_count(subject: ResizeSpec) -> str | None:
    """A depthwise kernel has one filter per channel."""
    return "the number of channels is not static" if subject.axes[1].size is None else None


def up_to(subject: ResizeSpec, longest: int) -> tuple[str, ...]:
    """The condition of what was looked at for dynamic axes up to a length."""
    return (f"for axes up to {longest}",) if any(axis.size is None for axis in subject.scaled) else ()


def why_not_static(axes: tuple[Axis, ...]) -> str | None:
    """The index map or the weights are constants only if the size is."""
    for axis in axes:
        if axis.size is None or axis.out is None or axis.scale is None:
            return f"the size of axis {axis.index} is not static"
    return None


def why_not_divided(axis: Axis) -> str | None:
    """At scale float32(1/k) the output length is floor(size / k), unless the float32 product rounds to one less."""
    k = axis.divisor
    if axis.scale is None or k is None:
        return f"axis {axis.index} is not scaled by 1/k"
    sizes = np.arange(LONGEST_CHECKED + 1) if axis.size is None else np.array([axis.size])
    lost = sizes[(np.float32(axis.scale) * sizes.astype(np.float32)).astype(np.int64) != sizes // k]
    if len(lost):
        return f"axis {axis.index} of length {lost[0]} has another length than {lost[0] // k} at scale float32(1/{k})"
    return None
