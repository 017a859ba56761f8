"""tf_crop_and_resize with a constant roi and constant sizes: one MatMul per axis, with the weights of the crop.

The coordinates are those of onnxruntime/core/providers/cpu/tensor/upsamplebase.h (TF_CROP_AND_RESIZE), in float32; the
weights between samples are those of `matmul`. Outside the image a crop gives `extrapolation_value`: 0 is a row of
zeros, and another value no product with the image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.index_map import Floats
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.errors import RefusedError
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode
from resizefix.lowerings.lowering import FLOATING, Lowered, why_not_static, why_too_large
from resizefix.lowerings.matmul import between_samples, multiplied

OPERATORS = frozenset({"MatMul", "Reshape"})
_NAME = "matmul"
Part = tuple[float, float]
"""Where the crop of an axis begins and ends, as parts of the axis."""


def crops(subject: ResizeSpec) -> bool:
    """Whether the node cuts a part out of its input."""
    return subject.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE


def lower_crop(
    subject: ResizeSpec, roi: Sequence[float] | None, *, x: str, y: str, opset: int, fresh: Callable[[str], str]
) -> Lowered:
    """The nodes that compute `y` from `x`; `roi` as the node reads it, None where it is no constant.

    Raises RefusedError with the reason why there are none.
    """
    parts = _parts(subject, roi)
    reason = _why_not(subject, parts)
    if reason is not None:
        raise RefusedError("lowerings.crop-refused", why=reason, rule="lowering")
    assert parts is not None
    matrices = [(axis, _weights(subject, axis, part)) for axis, part in parts if not _is_whole(axis, part)]
    if subject.interpolation.extrapolation_value and any(not rows.any(axis=1).all() for _, rows in matrices):
        value = subject.interpolation.extrapolation_value
        raise RefusedError("lowerings.crop-refused", why=Diagnostic("lowerings.crop-outside", value=value))
    builder = NodeBuilder(fresh, opset, y)
    error = multiplied(subject, x, list(reversed(matrices)), builder)
    builder.nodes[-1].output[0] = y
    return Lowered(_NAME, tuple(builder.nodes), tuple(builder.initializers), error)


def _parts(subject: ResizeSpec, roi: Sequence[float] | None) -> list[tuple[Axis, Part]] | None:
    """The part of each axis that is listed; None where the roi does not have two numbers for each."""
    count = len(subject.listed)
    if roi is None or len(roi) != 2 * count or not np.all(np.isfinite(roi)):
        return None
    ends = [(float(np.float32(roi[at])), float(np.float32(roi[count + at]))) for at in range(count)]
    return sorted(zip(subject.listed, ends, strict=True), key=lambda pair: pair[0].index)


def _why_not(subject: ResizeSpec, parts: list[tuple[Axis, Part]] | None) -> str | None:
    if parts is None:
        return Diagnostic("lowerings.roi-not-constant")
    if subject.extent is not ExtentKind.SIZES:
        return Diagnostic("lowerings.crop-by-scales")
    if subject.interpolation.mode is Mode.NEAREST or subject.interpolation.antialias:
        return Diagnostic("lowerings.crop-mode")
    if subject.element_type not in FLOATING or subject.rank is None:
        return Diagnostic("lowerings.crop-of-floats")
    moved = [axis for axis, part in parts if not _is_whole(axis, part)]
    if not moved:
        return Diagnostic("lowerings.nothing-scaled")
    if any(axis.index < len(subject.axes) - 2 for axis in moved):
        return Diagnostic("lowerings.crop-of-images")
    if any(axis.scale == 1 for axis in moved):
        return Diagnostic("lowerings.crop-of-same-size")
    sizes = ((axis.size or 0) * max(axis.size or 0, axis.out or 0) for axis in moved)
    return why_not_static(moved) or next(filter(None, map(why_too_large, sizes)), None)


def _is_whole(axis: Axis, part: Part) -> bool:
    """Whether the axis stays as it is."""
    return axis.is_copied and part == (0.0, 1.0)


def _weights(subject: ResizeSpec, axis: Axis, part: Part) -> Floats:
    """The weights float32[out, size] of one axis; a row of zeros for what lies outside."""
    size, out, _ = axis.known
    position = _coordinates(size, out, part)
    weights = between_samples(subject.interpolation, position, size)
    weights[(position < 0) | (position > np.float32(size - 1))] = 0
    return weights


def _coordinates(size: int, out: int, part: Part) -> Floats:
    start, end, last = np.float32(part[0]), np.float32(part[1]), np.float32(size - 1)
    if out == 1:
        return np.array([np.float32(0.5) * (start + end) * last], np.float32)
    x = np.arange(out, dtype=np.float32)
    return np.asarray(start * last + x * (end - start) * last / np.float32(out - 1), np.float32)
