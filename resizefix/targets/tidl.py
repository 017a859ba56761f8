"""Texas Instruments' TIDL: the rules that its documentation lists for Upsample and Resize, not run here."""

from __future__ import annotations

from resizefix.targets import shared_rules as shared
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


def _rounding(f: SiteFacts) -> bool:
    wanted = "floor" if f.coordinates == "asymmetric" else "round_prefer_ceil"
    return f.mode != "nearest" or f.coordinates is None or f.nearest_mode == wanted


TIDL = targets_of(
    "tidl",
    (Release("", "TIDL 10.x (documentation, not run here)"),),
    (
        Rule(
            name="nearest-or-linear",
            holds=lambda f: f.mode in ("nearest", "linear"),
            because="mode is {f.mode}; \"only 'nearest' and 'linear' resize mode are supported\"",
        ),
        shared.EXTENT_IS_CONSTANT.saying(
            "; TIDL compiles for fixed shapes", lambda f: f.source in _CONSTANTS or f.values is not None
        ),
        Rule(
            name="image-axes-alone",
            holds=last_two_axes,
            because='"Resize is only supported along width and height axis"',
            fix=shared.TRANSPOSE,
        ),
        Rule(
            name="one-scale",
            holds=_equal_scales,
            because='"Width and Height scale should be same"; they are {f.values}',
        ),
        Rule(
            name="powers-of-two",
            holds=lambda f: all(scale >= 1 and is_power_of_two(scale) for *_, scale in resized(f)),
            because='"Only Power of 2 scales are supported", and none below 1; the {f.extent_name} are {f.values}',
        ),
        shared.NO_ANTIALIAS.saying('"Only default antialias = 0 is supported"'),
        shared.STRETCH_ALONE.saying("\"Only default keep_aspect_ratio_policy = 'stretch' is supported\""),
        shared.coordinate_modes(_MODES, f"; TIDL takes {', '.join(_MODES)}"),
        Rule(
            name="nearest-rounding",
            holds=_rounding,
            because="nearest_mode is {f.nearest_mode}: half_pixel goes with round_prefer_ceil, asymmetric with floor",
            fix="write the pair that is the same, or replace the node",
        ),
        Rule(
            name="linear-is-half-pixel",
            holds=lambda f: f.mode != "linear" or f.coordinates not in (None, "asymmetric"),
            because="\"'linear' resize mode is not supported when coordinate_transformation_mode is 'asymmetric'\"",
        ),
        Rule(
            name="one-pixel-output",
            holds=lambda f: f.coordinate_transformation_mode != "pytorch_half_pixel" or no_single_pixel_output(f),
            because="\"'pytorch_half_pixel' … is not supported for Resize output shapes <= 1\"",
        ),
        shared.NO_EXCLUDE_OUTSIDE.saying('"Only default exclude_outside = 0 is supported"'),
    ),
    source=_PAGE,
)
