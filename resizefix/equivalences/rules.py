"""What the rows of the table say: which forms sample one axis alike, and the rewrites of whole nodes (which axes are
listed, scales or sizes, aspect policy, antialiasing). One short function each.

A form is (coordinate_transformation_mode, nearest_mode or None). Functions of an axis get the axis and the form it
is sampled by, and give the forms that read the same samples, or none where the condition does not hold. The proofs
by arithmetic hold for axes up to 2²² long, where a coordinate still has two binary digits behind the point; longer
ones are left out. Functions of a node give the subjects that may stand in the place of their argument, or why
nothing may."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.kernel_arithmetic import LONGEST, Form, samples, scale_for_size
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.shapes.output_size import every_rule_gives, robust_scale, sampled_scale

ASYMMETRIC = CoordinateTransformationMode.ASYMMETRIC
HALF_PIXEL = CoordinateTransformationMode.HALF_PIXEL
HALF_PIXEL_SYMMETRIC = CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC
PYTORCH_HALF_PIXEL = CoordinateTransformationMode.PYTORCH_HALF_PIXEL
TF_HALF_PIXEL_FOR_NN = CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN
TF_CROP_AND_RESIZE = CoordinateTransformationMode.TF_CROP_AND_RESIZE
FLOOR, CEIL, SIMPLE = NearestMode.FLOOR, NearestMode.CEIL, NearestMode.SIMPLE
ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL = NearestMode.ROUND_PREFER_FLOOR, NearestMode.ROUND_PREFER_CEIL

LARGEST_FACTOR = 4096
Alike = Callable[[Axis, Form, Interpolation], frozenset[Form]]
"""The forms that sample the axis as this form does; none where it is not known."""
NOTHING: frozenset[Form] = frozenset()

THREE_HALF_PIXELS = (HALF_PIXEL, PYTORCH_HALF_PIXEL, HALF_PIXEL_SYMMETRIC)
_ROUNDS = (ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL)
GROWING = frozenset({(ASYMMETRIC, SIMPLE), (ASYMMETRIC, FLOOR)})
SHRINKING = frozenset({(ASYMMETRIC, SIMPLE), (ASYMMETRIC, CEIL)})
# The p-th copy of sample m lies at m + (p + ½)/s − ½, at least 1/(2s) from a tie; asymmetric is an integer division,
# where `simple` is `floor`; and (i + ½)/s = m + (p + ½)/s lies strictly between m and m + 1.
REPEATS = frozenset(
    {(coordinates, rounding) for coordinates in THREE_HALF_PIXELS for rounding in _ROUNDS}
    | {(ASYMMETRIC, FLOOR), (ASYMMETRIC, SIMPLE), (TF_HALF_PIXEL_FOR_NN, FLOOR)}
)
"""The forms under which a factor of 2 or more repeats every sample, whatever the size."""
DOUBLES = REPEATS | {(ASYMMETRIC, ROUND_PREFER_FLOOR)}
"""At factor 2 i/2 is whole or a tie, too, and the tie goes to the floor."""
UPPER_HALVES = frozenset({(coordinates, CEIL) for coordinates in THREE_HALF_PIXELS}) | {
    (TF_HALF_PIXEL_FOR_NN, ROUND_PREFER_FLOOR)
}
_STRIDES = frozenset({(ASYMMETRIC, rounding) for rounding in _ROUNDS})
CENTRES = frozenset({(HALF_PIXEL, rounding) for rounding in _ROUNDS} | {(TF_HALF_PIXEL_FOR_NN, FLOOR)})
_FOR_NN = (
    frozenset({(TF_HALF_PIXEL_FOR_NN, FLOOR), (HALF_PIXEL, ROUND_PREFER_CEIL)}),
    frozenset({(TF_HALF_PIXEL_FOR_NN, ROUND_PREFER_FLOOR), (HALF_PIXEL, CEIL)}),
)


@cache
def forms_of(mode: Mode) -> tuple[Form, ...]:
    """Every form of the mode, those that read a roi left out; in a fixed order."""
    coordinate_modes = [c for c in CoordinateTransformationMode if c is not TF_CROP_AND_RESIZE]
    if mode is not Mode.NEAREST:
        return tuple((coordinates, None) for coordinates in coordinate_modes)
    roundings = [rounding for rounding in NearestMode if rounding is not SIMPLE]
    return ((ASYMMETRIC, SIMPLE), *((c, rounding) for c in coordinate_modes for rounding in roundings))


def factor(axis: Axis) -> int | None:
    """The whole number ≥ 2 that the axis is scaled up by; None: it is not."""
    number = axis.factor
    return number if number is not None and 2 <= number <= LARGEST_FACTOR and _is_short(axis) else None


def divisor(axis: Axis) -> int | None:
    """The whole number k ≥ 2 where the scale is float32(1/k); None: it is not."""
    number = axis.divisor
    return number if number is not None and number <= LARGEST_FACTOR and _is_short(axis) else None


def _is_short(axis: Axis) -> bool:
    return all(length is None or length <= LONGEST for length in (axis.size, axis.out))


def is_power_of_two(number: int | None) -> bool:
    """2ᵏ for a whole k."""
    return number is not None and number & (number - 1) == 0


def _if_member(form: Form, family: Iterable[Form]) -> frozenset[Form]:
    alike = frozenset(family)
    return alike if form in alike else NOTHING


def family(alike: frozenset[Form], holds: Callable[[Axis], bool]) -> Alike:
    """The forms of a family sample alike an axis of which this holds."""
    return lambda axis, form, interpolation: _if_member(form, alike) if holds(axis) else NOTHING


def symmetric(holds: Callable[[Axis], bool]) -> Alike:
    """half_pixel and half_pixel_symmetric do, whatever the rounding is."""
    pair = HALF_PIXEL, HALF_PIXEL_SYMMETRIC
    return lambda axis, form, interpolation: _swapped(form, *pair) if holds(axis) else NOTHING


def for_nn(holds: Callable[[Axis], bool]) -> Alike:
    """The pairs of tf_half_pixel_for_nn and half_pixel do."""
    return lambda axis, form, interpolation: (
        next((pair for pair in _FOR_NN if form in pair), NOTHING) if holds(axis) else NOTHING
    )


def unscaled(axis: Axis, form: Form, interpolation: Interpolation) -> frozenset[Form]:
    """E4: tf_half_pixel_for_nn is half a pixel off the grid by the spec's formula, so only where that rounds back."""
    return _if_member(form, _on_the_grid(interpolation.mode)) if axis.scale == 1 else NOTHING


@cache
def _on_the_grid(mode: Mode) -> frozenset[Form]:
    back = (None, FLOOR, ROUND_PREFER_FLOOR) if mode is Mode.NEAREST else ()
    return frozenset(form for form in forms_of(mode) if form[0] is not TF_HALF_PIXEL_FOR_NN or form[1] in back)


def strides(axis: Axis, form: Form, interpolation: Interpolation) -> frozenset[Form]:
    """E8: floor and ceil join on the side to which float32(1/k) errs, both where it does not err."""
    k = divisor(axis)
    if k is None or axis.scale is None:
        return NOTHING
    product = Fraction(axis.scale) * k
    family = set(_STRIDES)
    if product >= 1:
        family |= {(ASYMMETRIC, CEIL), (ASYMMETRIC, SIMPLE)}
    if product <= 1:
        family |= {(ASYMMETRIC, FLOOR)}
    return _if_member(form, family)


def not_one_long(axis: Axis, form: Form, interpolation: Interpolation) -> frozenset[Form]:
    """E10."""
    clamped = interpolation.mode is not Mode.CUBIC and not interpolation.antialias
    longer = axis.out is not None and axis.out >= 2
    grown = axis.scale is not None and axis.scale >= (1 if clamped else 2)
    return _swapped(form, HALF_PIXEL, PYTORCH_HALF_PIXEL) if longer or grown else NOTHING


def same_samples(axis: Axis, form: Form, interpolation: Interpolation) -> frozenset[Form]:
    """E13."""
    mode, antialias = interpolation.mode, interpolation.antialias
    if axis.size is None or axis.out is None or axis.scale is None or axis.size < 1 or form[0] is TF_CROP_AND_RESIZE:
        return NOTHING
    alike = _by_samples(mode, antialias, axis.scale, axis.size, axis.out)
    return alike.get(samples(mode, antialias, form, axis.scale, axis.size, axis.out), NOTHING)


@lru_cache(maxsize=256)
def _by_samples(mode: Mode, antialias: bool, scale: float, size: int, out: int) -> dict[bytes, frozenset[Form]]:
    """The forms that read the same samples of an axis, by the digest of these."""
    forms: dict[bytes, frozenset[Form]] = {}
    for form in forms_of(mode):
        digest = samples(mode, antialias, form, scale, size, out)
        forms[digest] = forms.get(digest, NOTHING) | {form}
    return forms


def _swapped(form: Form, *coordinate_modes: CoordinateTransformationMode) -> frozenset[Form]:
    coordinates, rounding = form
    return frozenset((c, rounding) for c in coordinate_modes) if coordinates in coordinate_modes else NOTHING


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
