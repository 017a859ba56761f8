"""The rewrites of whole nodes: which axes are listed, scales or sizes, aspect policy, antialiasing. One function each.

Each gives the subjects that may stand in the place of its argument, or why nothing may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.resized_length import every_rule_gives, robust_scale, sampled_scale
from resizefix.equivalences.index_map import samples, scale_for_size
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode

Rewritten = tuple[ResizeSpec, ...] | Diagnostic

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)


def list_all_axes(subject: ResizeSpec) -> Rewritten:
    """E14: fill in what `axes` leaves out."""
    axes = subject.interpolation.axes
    if axes is None:
        return Diagnostic("equivalences.all-axes-listed")
    if subject.rank is None:
        return Diagnostic("equivalences.rank-unknown")
    reason = _axes_are_tied(subject)
    if reason:
        return reason
    scales = subject.extent is ExtentKind.SCALES
    full: list[float | None] = [1.0] * subject.rank if scales else list(subject.shape or ())
    for axis, value in zip(axes, subject.values, strict=True):
        full[axis] = value
    listed = {axis % subject.rank for axis in axes}
    unknown = [axis for axis, value in enumerate(full) if value is None and axis not in listed]
    if unknown:
        return Diagnostic("equivalences.size-of-axis-unknown", axis=unknown[0])
    return (replace(subject, interpolation=replace(subject.interpolation, axes=None), values=tuple(full)),)


def list_resized_axes(subject: ResizeSpec) -> Rewritten:
    """E15: name only the axes that change, in order."""
    if subject.interpolation.axes is not None:
        return Diagnostic("equivalences.axes-listed")
    reason = _axes_are_tied(subject)
    if reason:
        return reason
    resized = tuple(position for position, axis in enumerate(subject.listed) if axis.scale != 1)
    if not resized or len(resized) == len(subject.listed):
        return Diagnostic("equivalences.no-axis-to-leave-out" if resized else "equivalences.no-axis-resized")
    values = tuple(subject.values[position] for position in resized)
    return (replace(subject, interpolation=replace(subject.interpolation, axes=resized), values=values),)


def _axes_are_tied(subject: ResizeSpec) -> Diagnostic | None:
    if subject.interpolation.keep_aspect_ratio_policy is not None:
        return Diagnostic("equivalences.axes-tied-by-policy")
    if _reads_roi(subject):
        return Diagnostic("equivalences.axes-tied-by-roi")
    return None


def _reads_roi(subject: ResizeSpec) -> bool:
    coordinates = subject.interpolation.coordinate_transformation_mode
    return coordinates is CoordinateTransformationMode.TF_CROP_AND_RESIZE


def scales_to_sizes(subject: ResizeSpec) -> Rewritten:
    """E16: sizes are sampled by their quotient, so that must sample as the scale does."""
    reason = _cannot_change_extent(subject, ExtentKind.SCALES)
    if reason:
        return reason
    sizes: list[float | None] = []
    for position, axis in enumerate(subject.listed):
        size, out, scale = axis.known
        if out < 1:
            return Diagnostic("equivalences.scale-leaves-nothing", scale=scale, axis=position)
        by_size = sampled_scale(size, out)
        if by_size != scale and not _same_samples(subject, axis, by_size):
            sampled = {"scale": scale, "size": size, "out": out, "by_size": by_size}
            return Diagnostic("equivalences.sampled-by-size", axis=position, **sampled)
        sizes.append(out)
    return (replace(subject, extent=ExtentKind.SIZES, values=tuple(sizes)),)


def sizes_to_scales(subject: ResizeSpec) -> Rewritten:
    """E17: a float32 scale with the right length under every rule and the same samples."""

    def same(size: int, out: int) -> float | None:
        interpolation = subject.interpolation
        return scale_for_size(size, out, interpolation.mode, subject.form, antialias=interpolation.antialias)

    return _sizes_to_scales(subject, same, without="equivalences.no-scale-samples-alike")


def sizes_to_near_scales(subject: ResizeSpec) -> Rewritten:
    """E22: the right length under every rule, coordinates moved by a unit in the last place."""
    if subject.interpolation.mode is Mode.NEAREST:
        return Diagnostic("equivalences.nearest-reads-others")
    if subject.element_type not in _FLOATS:
        return Diagnostic("equivalences.bound-of-floats")
    return _sizes_to_scales(subject, robust_scale, without="equivalences.no-scale")


def _sizes_to_scales(subject: ResizeSpec, choose: Callable[[int, int], float | None], *, without: str) -> Rewritten:
    reason = _cannot_change_extent(subject, ExtentKind.SIZES)
    if reason:
        return reason
    if subject.interpolation.keep_aspect_ratio_policy is not None:
        return Diagnostic("equivalences.policy-first")
    scales: list[float | None] = []
    for position, axis in enumerate(subject.listed):
        size, out, _ = axis.known
        scale = choose(size, out)
        if scale is None:
            return Diagnostic(without, size=size, out=out, axis=position)
        scales.append(scale)
    return (replace(subject, extent=ExtentKind.SCALES, values=tuple(scales)),)


def _cannot_change_extent(subject: ResizeSpec, extent: ExtentKind) -> Diagnostic | None:
    if subject.extent is not extent:
        return Diagnostic("equivalences.extent-is", kind=subject.extent.value)
    if _reads_roi(subject):
        return Diagnostic("equivalences.size-by-roi")
    for position, (size, value) in enumerate(zip(subject.listed_sizes, subject.values, strict=True)):
        if value is None:
            return Diagnostic("equivalences.entry-unknown", kind=extent.value, axis=position)
        if size is None:
            return Diagnostic("equivalences.length-unknown", axis=position)
        if size < 1 or value <= 0:
            return Diagnostic("equivalences.axis-empty", axis=position)
    return None


def _same_samples(subject: ResizeSpec, axis: Axis, scale: float) -> bool:
    size, out, own = axis.known
    mode, antialias = subject.interpolation.mode, subject.interpolation.antialias
    by_this, by_other = (samples(mode, antialias, subject.form, s, size, out) for s in (own, scale))
    return by_this == by_other


def drop_aspect_policy(subject: ResizeSpec) -> Rewritten:
    """E18: where every length is known the policy comes down to one scale, which can be said by itself."""
    if subject.interpolation.keep_aspect_ratio_policy is None:
        return Diagnostic("equivalences.no-policy")
    if subject.interpolation.axes is not None and min(subject.interpolation.axes) < 0:
        return Diagnostic("equivalences.axes-from-the-end")
    reason = _cannot_change_extent(subject, ExtentKind.SIZES)
    if reason:
        return reason
    plain = replace(subject.interpolation, keep_aspect_ratio_policy=None)
    axes = subject.listed
    alternatives = []
    if all(every_rule_gives(axis.scale, axis.size, axis.out) for axis in axes):  # type: ignore[arg-type]
        scales = tuple(axis.scale for axis in axes)
        alternatives.append(replace(subject, interpolation=plain, extent=ExtentKind.SCALES, values=scales))
    if all(axis.out and _same_samples(subject, axis, sampled_scale(axis.size, axis.out)) for axis in axes):
        alternatives.append(replace(subject, interpolation=plain, values=tuple(axis.out for axis in axes)))
    if not alternatives:
        return Diagnostic("equivalences.policy-not-alike", scale=axes[0].scale, sizes=[axis.out for axis in axes])
    return tuple(alternatives)


def drop_antialias(subject: ResizeSpec) -> Rewritten:
    """E19: the filter is stretched only where an axis shrinks; but an axis that keeps its length is copied with it."""
    interpolation = subject.interpolation
    if not interpolation.antialias:
        return Diagnostic("equivalences.no-antialias")
    if subject.element_type not in _FLOATS:
        return Diagnostic("equivalences.bound-of-floats")
    if subject.form[0] is CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN or _reads_roi(subject):
        return Diagnostic("equivalences.beyond-the-edge", coordinates=subject.form[0].value)
    if interpolation.exclude_outside and interpolation.mode is not Mode.CUBIC:
        return Diagnostic("equivalences.exclude-outside")
    for position, axis in enumerate(subject.listed):
        grows = axis.scale is not None and (axis.scale == 1 or axis.scale >= 2 or (axis.scale > 1 and _is_longer(axis)))
        if not grows:
            return Diagnostic("equivalences.axis-may-shrink", axis=position)
    return (replace(subject, interpolation=replace(interpolation, antialias=False)),)


def _is_longer(axis: Axis) -> bool:
    return axis.size is not None and axis.out is not None and axis.out > axis.size
