"""Texas Instruments' TIDL: the rules that its documentation lists for Upsample and Resize, not run here."""

from __future__ import annotations

from resizefix.targets.conditions import S, is_power_of_two, no_single_pixel_output
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import last_two_axes, resized
from resizefix.targets.target import Release, Rule, targets_of

_PAGE = "edgeai-tidl-tools 95ba2c7, docs/supported_ops_rts_versions.md, TIDL_ResizeLayer; not run here"
_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.SHAPE, S.UNKNOWN})
_MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric")


def _equal_scales(f: SiteFacts) -> bool:
    found = [scale for *_, scale in resized(f)]
    return not found or (len(set(found)) == 1 and (f.rank is None or f.rank < 4 or len(found) != 1))


def _powers(f: SiteFacts) -> bool:
    return all(scale >= 1 and is_power_of_two(scale) for *_, scale in resized(f))


def _rounding(f: SiteFacts) -> bool:
    if f.mode != "nearest" or not f.has_coordinates:
        return True
    wanted = "floor" if f.coordinate_transformation_mode == "asymmetric" else "round_prefer_ceil"
    return f.nearest_mode == wanted


def _linear(f: SiteFacts) -> bool:
    return f.mode != "linear" or (f.has_coordinates and f.coordinate_transformation_mode != "asymmetric")


def _pytorch(f: SiteFacts) -> bool:
    return f.coordinate_transformation_mode != "pytorch_half_pixel" or no_single_pixel_output(f)


TIDL = targets_of(
    "tidl",
    (Release("", "TIDL 10.x (documentation, not run here)"),),
    (
        Rule(
            name="nearest-or-linear",
            holds=lambda f: f.mode in ("nearest", "linear"),
            because="mode is {f.mode}; \"only 'nearest' and 'linear' resize mode are supported\"",
            source=_PAGE,
            fix="replace the node",
        ),
        Rule(
            name="extent-is-constant",
            holds=lambda f: f.source in _CONSTANTS or f.values is not None,
            because="the {f.extent_name} come from {f.source.value}; TIDL compiles for fixed shapes",
            source=_PAGE,
            fix="freeze the scales",
        ),
        Rule(
            name="image-axes-alone",
            holds=last_two_axes,
            because='"Resize is only supported along width and height axis"',
            source=_PAGE,
            fix="put a Transpose before the node and one behind it",
        ),
        Rule(
            name="one-scale",
            holds=_equal_scales,
            because='"Width and Height scale should be same"; they are {f.values}',
            source=_PAGE,
            fix="replace the node",
        ),
        Rule(
            name="powers-of-two",
            holds=_powers,
            because='"Only Power of 2 scales are supported", and none below 1; the {f.extent_name} are {f.values}',
            source=_PAGE,
            fix="replace the node",
        ),
        Rule(
            name="no-antialias",
            holds=lambda f: not f.antialias,
            because='"Only default antialias = 0 is supported"',
            source=_PAGE,
            fix="antialias=0 is nearly the same where no axis shrinks; else replace the node",
        ),
        Rule(
            name="stretch-alone",
            holds=lambda f: f.keep_aspect_ratio_policy == "stretch",
            because="\"Only default keep_aspect_ratio_policy = 'stretch' is supported\"",
            source=_PAGE,
            fix="write the sizes that the policy leads to",
        ),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode in _MODES,
            because="coordinate_transformation_mode is {f.coordinate_transformation_mode}; TIDL takes "
            f"{', '.join(_MODES)}",
            source=_PAGE,
            fix="write an equal mode, or replace the node",
        ),
        Rule(
            name="nearest-rounding",
            holds=_rounding,
            because="nearest_mode is {f.nearest_mode}: half_pixel goes with round_prefer_ceil, asymmetric with floor",
            source=_PAGE,
            fix="write the pair that is the same, or replace the node",
        ),
        Rule(
            name="linear-is-half-pixel",
            holds=_linear,
            because="\"'linear' resize mode is not supported when coordinate_transformation_mode is 'asymmetric'\"",
            source=_PAGE,
            fix="replace the node",
        ),
        Rule(
            name="one-pixel-output",
            holds=_pytorch,
            because="\"'pytorch_half_pixel' … is not supported for Resize output shapes <= 1\"",
            source=_PAGE,
            fix="replace the node",
        ),
        Rule(
            name="no-exclude-outside",
            holds=lambda f: not f.exclude_outside,
            because='"Only default exclude_outside = 0 is supported"',
            source=_PAGE,
            fix="replace the node",
        ),
    ),
)
