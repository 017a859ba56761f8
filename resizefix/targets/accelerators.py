"""MIGraphX, RKNN and TIDL: rules from sources, a simulator and documentation, not run here.

RKNN's simulator computes in float16 and has other kernels than the device: it says what is accepted.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets import shared_rules as shared
from resizefix.targets.conditions import S, is_power_of_two, no_single_pixel_output
from resizefix.targets.deviations import by_ratio, old_resize, old_upsample
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.sampling import Sampling, is_resized, last_two_axes, resized, samples_alike
from resizefix.targets.target import Release, Rule, differs, targets_of

# ---- AMD's MIGraphX -------------------------------------------------------------------------------------------------

_MIGRAPHX_PARSER = "AMDMIGraphX f729a52, src/onnx/parse_resize.cpp; not run here"
_MIGRAPHX_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
_ALL_MODES = ("nearest", "linear", "cubic")

MIGRAPHX = targets_of(
    "migraphx",
    (Release("", "MIGraphX f729a52 (source, not run here)"),),
    (
        shared.coordinate_modes(
            _MIGRAPHX_MODES, f"; the parser takes {', '.join(_MIGRAPHX_MODES)}", fix=shared.SYMMETRIC_WHERE_WHOLE
        ),
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
            holds=samples_alike(old_upsample("half_pixel", "round_prefer_floor", _ALL_MODES)),
            because="Upsample is read with the defaults of Resize: half_pixel, round_prefer_floor",
            fix="write Resize with asymmetric and floor, or replace the node",
        ),
        shared.old_resize_is_half_pixel(old_resize("half_pixel", "round_prefer_floor", _ALL_MODES)),
    ),
    source=_MIGRAPHX_PARSER,
)


# ---- Rockchip's RKNN toolkit 2 ---------------------------------------------------------------------------------------

_RKNN_SIMULATOR = "measured on the simulator of rknn-toolkit2 2.x, float16; not run here"
_ROUNDED_DOWN = old_resize("asymmetric", "floor", ("nearest",))
_RKNN_TYPES = (None, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32)


def _rknn_old(f: SiteFacts, sampling: Sampling) -> Sampling:
    return by_ratio(f, _ROUNDED_DOWN(f, sampling)) if sampling.mode == "nearest" and not f.has_coordinates else sampling


RKNN = targets_of(
    "rknn",
    (Release("", "rknn-toolkit2, simulator (not run here)"),),
    (
        shared.EXTENT_IS_CONSTANT.saying(' ("need to be constant! It will cause the graph to be a dynamic graph!")'),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: f.coordinates != "tf_half_pixel_for_nn",
            because="\"Not support '{f.coordinate_transformation_mode}' in 'Resize'(opset-11)!\"",
            fix="tf_half_pixel_for_nn with floor is half_pixel with round_prefer_ceil; else replace the node",
        ),
        Rule(
            name="not-cubic",
            holds=lambda f: f.mode != "cubic" or f.exclude_outside or f.roi is Roi.TENSOR,
            because='mode is cubic without exclude_outside or roi, and the converter stops ("The follow op is not '
            'support")',
        ),
        shared.AXES_FROM_THE_FRONT.saying(""),
        Rule(
            name="images-alone",
            holds=lambda f: f.rank != 5 or (f.mode, f.coordinates) == ("linear", "align_corners") or not is_resized(f),
            because="the rank is 5, of which the converter takes linear with align_corners alone",
        ),
        Rule(
            name="input-type",
            holds=lambda f: f.elem_type in _RKNN_TYPES,
            because="the tensor is {f.type_name}, of which the converter stops",
            fix=shared.CAST,
        ),
        differs(
            name="resize-10-by-ratio",
            holds=samples_alike(_rknn_old),
            because="nearest Resize of opset 10 rounds down, and positions follow the two lengths",
            fix="raise the model to opset 11 and write nearest_mode, or replace the node",
        ),
        shared.SYMMETRIC_TIES_DIFFER,
    ),
    source=_RKNN_SIMULATOR,
)


# ---- Texas Instruments' TIDL -----------------------------------------------------------------------------------------

_TIDL_PAGE = "edgeai-tidl-tools 95ba2c7, docs/supported_ops_rts_versions.md, TIDL_ResizeLayer; not run here"
_TIDL_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.SHAPE, S.UNKNOWN})
_TIDL_MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric")


def _tidl_scales_are_equal(f: SiteFacts) -> bool:
    found = [scale for *_, scale in resized(f)]
    return not found or (len(set(found)) == 1 and (f.rank is None or f.rank < 4 or len(found) != 1))


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
            "; TIDL compiles for fixed shapes", lambda f: f.source in _TIDL_CONSTANTS or f.values is not None
        ),
        Rule(
            name="image-axes-alone",
            holds=last_two_axes,
            because='"Resize is only supported along width and height axis"',
            fix=shared.TRANSPOSE,
        ),
        Rule(
            name="one-scale",
            holds=_tidl_scales_are_equal,
            because='"Width and Height scale should be same"; they are {f.values}',
        ),
        Rule(
            name="powers-of-two",
            holds=lambda f: all(scale >= 1 and is_power_of_two(scale) for *_, scale in resized(f)),
            because='"Only Power of 2 scales are supported", and none below 1; the {f.extent_name} are {f.values}',
        ),
        shared.NO_ANTIALIAS.saying('"Only default antialias = 0 is supported"'),
        shared.STRETCH_ALONE.saying("\"Only default keep_aspect_ratio_policy = 'stretch' is supported\""),
        shared.coordinate_modes(_TIDL_MODES, f"; TIDL takes {', '.join(_TIDL_MODES)}"),
        Rule(
            name="nearest-rounding",
            holds=lambda f: (
                f.mode != "nearest"
                or f.coordinates is None
                or f.nearest_mode == ("floor" if f.coordinates == "asymmetric" else "round_prefer_ceil")
            ),
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
    source=_TIDL_PAGE,
)
