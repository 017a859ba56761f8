"""AMD's MIGraphX: rules from the source of its ONNX parser, not run here."""

from __future__ import annotations

from resizefix.targets.deviations import old_resize, old_upsample
from resizefix.targets.sampling import samples_alike
from resizefix.targets.shared_deviations import antialias_ignored, old_resize_is_half_pixel
from resizefix.targets.target import Effect, Release, Rule, targets_of

_PARSER = "AMDMIGraphX f729a52, src/onnx/parse_resize.cpp; not run here"
_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
_ALL = ("nearest", "linear", "cubic")

MIGRAPHX = targets_of(
    "migraphx",
    (Release("", "MIGraphX f729a52 (source, not run here)"),),
    (
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode in _MODES,
            because="coordinate_transformation_mode is {f.coordinate_transformation_mode}; the parser takes "
            f"{', '.join(_MODES)}",
            source=_PARSER,
            fix="half_pixel is half_pixel_symmetric where in·scale is whole; else replace the node",
        ),
        Rule(
            name="no-exclude-outside",
            holds=lambda f: not f.exclude_outside,
            because='"PARSE_RESIZE: exclude_outside 1 is not supported!"',
            source=_PARSER,
            fix="replace the node",
        ),
        Rule(
            name="axes-are-all",
            holds=lambda f: f.axes is None or f.length in (None, f.rank),
            because="`axes` is {f.axes}, which the parser does not follow: it asks for one value per dimension",
            source=_PARSER,
            fix="write one value per dimension instead",
        ),
        Rule(
            name="axes-ignored",
            holds=lambda f: f.axes_are_trivial or f.length != f.rank,
            because="`axes` is {f.axes}, and the values are taken in order",
            source=_PARSER,
            fix="write the values in the order of the dimensions",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="stretch-alone",
            holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes,
            because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy} (\"only 'stretch' is accepted\")",
            source=_PARSER,
            fix="write the sizes that the policy leads to",
        ),
        antialias_ignored(_PARSER),
        Rule(
            name="upsample-is-half-pixel",
            holds=samples_alike(old_upsample("half_pixel", "round_prefer_floor", _ALL)),
            because="Upsample is read with the defaults of Resize: half_pixel, round_prefer_floor",
            source=_PARSER,
            fix="write Resize with asymmetric and floor, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        old_resize_is_half_pixel(_PARSER, old_resize("half_pixel", "round_prefer_floor", _ALL)),
    ),
)
