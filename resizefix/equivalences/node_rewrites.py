"""The rewrites of whole nodes: which axes are listed, scales or sizes, aspect policy, antialiasing. One function each.

Each gives the subjects that may stand in the place of its argument, or a `WhyNot`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnx import TensorProto

from resizefix.dialects.resized_length import sampled_scale
from resizefix.equivalences.equivalence import WhyNot
from resizefix.equivalences.index_map import samples
from resizefix.equivalences.output_size import every_rule_gives
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.scale_for_size import robust_scale, scale_for_size
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode

Rewritten = tuple[ResizeSpec, ...] | WhyNot

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)


def list_all_axes(subject: ResizeSpec) -> Rewritten:
    """E14: fill in what `axes` leaves out."""
    axes = subject.interpolation.axes
    if axes is None:
        return WhyNot("all axes are listed already")
    if subject.rank is None:
        return WhyNot("the rank of the input is not known")
    reason = _axes_are_tied(subject)
    if reason:
        return WhyNot(reason)
    scales = subject.extent is ExtentKind.SCALES
    full: list[float | None] = [1.0] * subject.rank if scales else list(subject.shape or ())
    for axis, value in zip(axes, subject.values, strict=True):
        full[axis] = value
    listed = {axis % subject.rank for axis in axes}
    unknown = [axis for axis, value in enumerate(full) if value is None and axis not in listed]
    if unknown:
        return WhyNot(f"sizes must name every axis, and the length of axis {unknown[0]} is not known")
    return (replace(subject, interpolation=replace(subject.interpolation, axes=None), values=tuple(full)),)


def list_resized_axes(subject: ResizeSpec) -> Rewritten:
    """E15: name only the axes that change, in order."""
    if subject.interpolation.axes is not None:
        return WhyNot("the axes are listed already")
    reason = _axes_are_tied(subject)
    if reason:
        return WhyNot(reason)
    resized = tuple(position for position, axis in enumerate(subject.listed) if axis.scale != 1)
    if not resized or len(resized) == len(subject.listed):
        return WhyNot("no axis can be left out" if resized else "no axis is resized, and axes must not be empty")
    values = tuple(subject.values[position] for position in resized)
    return (replace(subject, interpolation=replace(subject.interpolation, axes=resized), values=values),)


def _axes_are_tied(subject: ResizeSpec) -> str:
    if subject.interpolation.keep_aspect_ratio_policy is not None:
        return "keep_aspect_ratio_policy takes one scale for the listed axes, so another list means another size"
    if _reads_roi(subject):
        return "the roi of tf_crop_and_resize has one entry per listed axis and would have to change too"
    return ""


def _reads_roi(subject: ResizeSpec) -> bool:
    coordinates = subject.interpolation.coordinate_transformation_mode
    return coordinates is CoordinateTransformationMode.TF_CROP_AND_RESIZE


def scales_to_sizes(subject: ResizeSpec) -> Rewritten:
    """E16: sizes are sampled by their quotient, so that must sample as the scale does."""
    reason = _cannot_change_extent(subject, ExtentKind.SCALES)
    if reason:
        return WhyNot(reason)
    sizes: list[float | None] = []
    for position, axis in enumerate(subject.listed):
        assert axis.size is not None
        assert axis.out is not None
        assert axis.scale is not None
        if axis.out < 1:
            return WhyNot(f"scale {axis.scale:g} leaves nothing of axis {position}")
        by_size = sampled_scale(axis.size, axis.out)
        if by_size != axis.scale and not _same_samples(subject, axis, by_size):
            return WhyNot(
                f"scale {axis.scale:.9g} makes {axis.size} into {axis.out} on axis {position}, but the size {axis.out} "
                f"would be sampled by {axis.out}/{axis.size} = {by_size:.9g}"
            )
        sizes.append(axis.out)
    return (replace(subject, extent=ExtentKind.SIZES, values=tuple(sizes)),)


def sizes_to_scales(subject: ResizeSpec) -> Rewritten:
    """E17: a float32 scale with the right length under every rule and the same samples."""

    def same(axis: Axis) -> float | None:
        assert axis.size is not None
        assert axis.out is not None
        interpolation = subject.interpolation
        return scale_for_size(axis.size, axis.out, interpolation.mode, subject.form, antialias=interpolation.antialias)

    return _sizes_to_scales(subject, same, " and samples as the size does")


def sizes_to_near_scales(subject: ResizeSpec) -> Rewritten:
    """E22: the right length under every rule, coordinates moved by a unit in the last place."""
    if subject.interpolation.mode is Mode.NEAREST:
        return WhyNot("in mode nearest another scale may read other samples")
    if subject.element_type not in _FLOATS:
        return WhyNot("the bound is known for floating-point tensors only")

    def near(axis: Axis) -> float | None:
        assert axis.size is not None
        assert axis.out is not None
        return robust_scale(axis.size, axis.out)

    return _sizes_to_scales(subject, near, "")


def _sizes_to_scales(subject: ResizeSpec, choose: Callable[[Axis], float | None], also: str) -> Rewritten:
    reason = _cannot_change_extent(subject, ExtentKind.SIZES)
    if reason:
        return WhyNot(reason)
    if subject.interpolation.keep_aspect_ratio_policy is not None:
        return WhyNot("keep_aspect_ratio_policy changes the sizes first")
    scales: list[float | None] = []
    for position, axis in enumerate(subject.listed):
        scale = choose(axis)
        if scale is None:
            return WhyNot(
                f"no float32 scale makes {axis.size} into {axis.out} in every runtime{also} (axis {position})"
            )
        scales.append(scale)
    return (replace(subject, extent=ExtentKind.SCALES, values=tuple(scales)),)


def _cannot_change_extent(subject: ResizeSpec, extent: ExtentKind) -> str:
    if subject.extent is not extent:
        return f"its extent is given by {subject.extent.value} already"
    if _reads_roi(subject):
        return "the output size of tf_crop_and_resize depends on the roi"
    for position, (size, value) in enumerate(zip(subject.listed_sizes, subject.values, strict=True)):
        if value is None:
            return f"the {extent.value} entry of axis {position} is not known"
        if size is None:
            return f"the length of axis {position} of the input is not known"
        if size < 1 or value <= 0:
            return f"axis {position} is empty"
    return ""


def _same_samples(subject: ResizeSpec, axis: Axis, scale: float) -> bool:
    assert axis.size is not None
    assert axis.out is not None
    assert axis.scale is not None
    mode, antialias = subject.interpolation.mode, subject.interpolation.antialias
    by_this, by_other = (samples(mode, antialias, subject.form, s, axis.size, axis.out) for s in (axis.scale, scale))
    return by_this == by_other


def drop_aspect_policy(subject: ResizeSpec) -> Rewritten:
    """E18: where every length is known the policy comes down to one scale, which can be said by itself."""
    if subject.interpolation.keep_aspect_ratio_policy is None:
        return WhyNot("it has no keep_aspect_ratio_policy")
    if subject.interpolation.axes is not None and min(subject.interpolation.axes) < 0:
        return WhyNot("its axes count from the end, with which onnxruntime resizes nothing; write them from the front")
    reason = _cannot_change_extent(subject, ExtentKind.SIZES)
    if reason:
        return WhyNot(reason)
    plain = replace(subject.interpolation, keep_aspect_ratio_policy=None)
    axes = subject.listed
    alternatives = []
    if all(every_rule_gives(axis.scale, axis.size, axis.out) for axis in axes):  # type: ignore[arg-type]
        scales = tuple(axis.scale for axis in axes)
        alternatives.append(replace(subject, interpolation=plain, extent=ExtentKind.SCALES, values=scales))
    if all(axis.out and _same_samples(subject, axis, sampled_scale(axis.size, axis.out)) for axis in axes):
        alternatives.append(replace(subject, interpolation=plain, values=tuple(axis.out for axis in axes)))
    if not alternatives:
        return WhyNot(
            f"the policy scales every axis by {axes[0].scale:.9g}, to {[axis.out for axis in axes]}: "
            "neither that scale nor those sizes by themselves give the same lengths and the same samples"
        )
    return tuple(alternatives)


def drop_antialias(subject: ResizeSpec) -> Rewritten:
    """E19: the filter is stretched only where an axis shrinks; but an axis that keeps its length is copied with it."""
    interpolation = subject.interpolation
    if not interpolation.antialias:
        return WhyNot("it has no antialias")
    if subject.element_type not in _FLOATS:
        return WhyNot("the bound is known for floating-point tensors only")
    if subject.form[0] is CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN or _reads_roi(subject):
        return WhyNot(f"{subject.form[0].value} samples beyond the edge, which the two filters treat differently")
    if interpolation.exclude_outside and interpolation.mode is not Mode.CUBIC:
        return WhyNot("exclude_outside needs mode cubic or antialias")
    for position, axis in enumerate(subject.listed):
        grows = axis.scale is not None and (axis.scale == 1 or axis.scale >= 2 or (axis.scale > 1 and _is_longer(axis)))
        if not grows:
            return WhyNot(f"axis {position} is not known to become longer, and antialias acts where one shrinks")
    return (replace(subject, interpolation=replace(interpolation, antialias=False)),)


def _is_longer(axis: Axis) -> bool:
    return axis.size is not None and axis.out is not None and axis.out > axis.size
