"""AMD's MIGraphX: rules from the source of its ONNX parser, not run here."""

from __future__ import annotations

from resizefix.targets import shared_rules as shared
from resizefix.targets.deviations import old_resize, old_upsample
from resizefix.targets.sampling import samples_alike
from resizefix.targets.target import Release, Rule, differs, targets_of

_PARSER = "AMDMIGraphX f729a52, src/onnx/parse_resize.cpp; not run here"
_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
_ALL = ("nearest", "linear", "cubic")

MIGRAPHX = targets_of(
    "migraphx",
    (Release("", "MIGraphX f729a52 (source, not run here)"),),
    (
        shared.coordinate_modes(_MODES, f"; the parser takes {', '.join(_MODES)}", fix=shared.SYMMETRIC_WHERE_WHOLE),
        shared.NO_EXCLUDE_OUTSIDE.saying('"PARSE_RESIZE: exclude_outside 1 is not supported!"'),
        Rule(
            name="axes-are-all",
            holds=lambda f: f.axes is None or f.length in (None, f.rank),
            because="`axes` is {f.axes}, which the parser does not follow: it asks for one value per dimension",
            fix=shared.EVERY_DIMENSION,
        ),
        differs(
            name="axes-ignored",
            holds=lambda f: f.axes_are_trivial or f.length != f.rank,
            because="`axes` is {f.axes}, and the values are taken in order",
            fix="write the values in the order of the dimensions",
        ),
        Rule(
            name="stretch-alone",
            holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes,
            because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy} (\"only 'stretch' is accepted\")",
            fix=shared.PLAIN_SIZES,
        ),
        shared.antialias_ignored(),
        differs(
            name="upsample-is-half-pixel",
            holds=samples_alike(old_upsample("half_pixel", "round_prefer_floor", _ALL)),
            because="Upsample is read with the defaults of Resize: half_pixel, round_prefer_floor",
            fix="write Resize with asymmetric and floor, or replace the node",
        ),
        shared.old_resize_is_half_pixel(old_resize("half_pixel", "round_prefer_floor", _ALL)),
    ),
    source=_PARSER,
)
