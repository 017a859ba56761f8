"""Which forms sample one axis alike: the conditions of the axis equivalences, one short function each.

A form is (coordinate_transformation_mode, nearest_mode or None). Each function gets the axis and the form it is sampled
by, and gives the forms that read the same samples, or none where its condition does not hold. The proofs by arithmetic
hold for axes up to 2²² long, where a coordinate still has two binary digits behind the point; longer ones are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache

from resizefix.equivalences.index_map import LONGEST, Form, samples
from resizefix.equivalences.resize_spec import Axis
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode

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
    found = axis.factor
    return found if found is not None and 2 <= found <= LARGEST_FACTOR and _is_short(axis) else None


def divisor(axis: Axis) -> int | None:
    """The whole number k ≥ 2 where the scale is float32(1/k); None: it is not."""
    found = axis.divisor
    return found if found is not None and found <= LARGEST_FACTOR and _is_short(axis) else None


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
    found: dict[bytes, frozenset[Form]] = {}
    for form in forms_of(mode):
        digest = samples(mode, antialias, form, scale, size, out)
        found[digest] = found.get(digest, NOTHING) | {form}
    return found


def _swapped(form: Form, *coordinate_modes: CoordinateTransformationMode) -> frozenset[Form]:
    coordinates, rounding = form
    return frozenset((c, rounding) for c in coordinate_modes) if coordinates in coordinate_modes else NOTHING
