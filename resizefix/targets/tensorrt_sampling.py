"""TensorRT: modes, coordinates, roundings and antialiasing."""

from __future__ import annotations

from resizefix.targets.conditions import is_power_of_two, no_single_pixel_output
from resizefix.targets.facts import SiteFacts
from resizefix.targets.shared_rules import PLAIN_SIZES, coordinate_modes, resize_modes, upsample_modes
from resizefix.targets.target import Rule, differs
from resizefix.targets.tensorrt_sources import MEASURED

_FOUR_COORDINATES = frozenset({"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"})
_ANTIALIAS_FIX = "antialias=0 gives nearly the same on an upscale; on a downscale replace the node"
_EQUAL_MODE = "rewrite it in an equal mode where there is one"
_PAIRS_7_2 = {
    ("nearest", "scales"): ("asymmetric",),
    ("linear", "scales"): ("asymmetric", "half_pixel", "pytorch_half_pixel"),
    ("nearest", "sizes"): ("asymmetric", "align_corners"),
    ("linear", "sizes"): ("half_pixel", "pytorch_half_pixel", "align_corners"),
}


def _agrees_7_1(f: SiteFacts) -> bool:
    """nearest+asymmetric and linear+half_pixel, by scales: the pairs that alignCorners on or off cannot spoil."""
    if f.is_upsample:
        return True  # linear has a rule of its own
    if not f.has_coordinates:
        return f.mode == "nearest"
    good = {"nearest": ("asymmetric",), "linear": ("half_pixel", "pytorch_half_pixel")}
    return f.by_scales and f.coordinate_transformation_mode in good.get(f.mode, ())


SAMPLING: tuple[Rule, ...] = (
    upsample_modes({"nearest"}).read_in("onnx-tensorrt a9a47bb … 8b52755, importer of Upsample").only(until="5.1"),
    upsample_modes({"nearest", "linear"})
    .read_in("onnx-tensorrt 400df73 … 85e79f6, importer of Upsample")
    .only(since="6.0", until="8.0"),
    upsample_modes({"nearest", "linear", "bilinear"})
    .read_in("onnx-tensorrt 1da7332 … 96e7811, importer or checker of Upsample; " + MEASURED)
    .only(since="8.4"),
    resize_modes({"nearest", "linear"})
    .read_in("onnx-tensorrt 400df73, importers of Upsample and Resize")
    .only(since="6.0", until="6.0"),
    Rule(
        name="not-cubic",
        holds=lambda f: f.coordinates is None or f.mode != "cubic",
        because='"This version of TensorRT does not support cubic interpolation!"',
        source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize",
        fix="replace the node, or take TensorRT 8.5 or later",
    ).only(since="7.0", until="8.4"),
    differs(
        name="other-modes-become-linear",
        holds=lambda f: f.is_upsample or f.mode in ("nearest", "linear") or (f.has_coordinates and f.mode == "cubic"),
        because="this parser takes every mode that it does not refuse, but for nearest, for linear; mode is {f.mode}",
        source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize",
        fix="write a mode that the operator has: nearest or linear, from opset 11 on cubic",
    ).only(since="7.0", until="8.4"),
    resize_modes({"nearest", "linear", "cubic"})
    .read_in("onnx-tensorrt 3b008c4 … 96e7811, importer or checker of Resize; " + MEASURED)
    .only(since="8.5"),
    coordinate_modes(
        {"asymmetric"},
        ' ("This version of TensorRT only supports asymmetric resize!")',
        _EQUAL_MODE,
    )
    .read_in("onnx-tensorrt 84b5be1, importer of Resize")
    .only(since="7.0", until="7.0"),
    coordinate_modes(
        _FOUR_COORDINATES,
        ' ("This version of TensorRT only supports asymmetric, align_corners, half_pixel, and pytorch_half_pixel '
        'resize!")',
        _EQUAL_MODE,
    )
    .read_in("onnx-tensorrt 1cf89dd … eb559b6, importer of Resize")
    .only(since="7.1", until="7.2"),
    coordinate_modes(
        _FOUR_COORDINATES | {"tf_half_pixel_for_nn"},
        ' ("TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners '
        'transformation modes!")',
        _EQUAL_MODE,
    )
    .read_in("onnx-tensorrt 8fea430 … 96e7811, importer or checker of Resize; " + MEASURED)
    .only(since="8.0"),
    Rule(
        name="nearest-mode-floor",
        holds=lambda f: f.coordinates is None or f.mode != "nearest" or f.nearest_mode == "floor",
        because='nearest_mode is {f.nearest_mode} ("This version of TensorRT only supports floor nearest_mode!")',
        source="onnx-tensorrt 84b5be1 … eb559b6, importer of Resize",
        fix="for integer scales asymmetric with floor gives the same",
    ).only(since="7.0", until="7.2"),
    Rule(
        name="pytorch-half-pixel-to-one-pixel",
        holds=lambda f: f.coordinates != "pytorch_half_pixel" or no_single_pixel_output(f),
        because="an output size is 1, where pytorch_half_pixel differs from the half_pixel that this parser makes of "
        "it",
        source="onnx-tensorrt 1cf89dd … eb559b6, importer of Resize",
    ).only(since="7.1", until="7.2"),
    differs(
        name="linear-upsample-becomes-half-pixel",
        holds=lambda f: not f.is_upsample or f.mode != "linear",
        because="linear Upsample is asymmetric in ONNX, but the importer leaves alignCorners unset, and this core "
        "samples that as half_pixel",
        source="onnx-tensorrt 3a4b16b and eb559b6, comments in the importer of Resize; NVIDIA/TensorRT#974",
        fix="write Resize-10 or Resize-11 with asymmetric coordinates, or replace the node",
    ).only(since="7.1", until="7.2"),
    differs(
        name="coordinates-survive-align-corners",
        holds=_agrees_7_1,
        because="this parser has one switch, alignCorners, and sets it for asymmetric and align_corners alike: "
        "{f.mode} with {f.coordinate_transformation_mode} by {f.extent_name} is taken and may be sampled otherwise",
        source="onnx-tensorrt 1cf89dd, importer of Resize; onnxruntime#4841",
        fix="use nearest+asymmetric+floor or linear+half_pixel, both by scales",
    ).only(since="7.1", until="7.1"),
    Rule(
        name="coordinates-for-mode-and-extent",
        holds=lambda f: (
            f.coordinates is None or f.coordinates in _PAIRS_7_2.get((f.mode, f.extent_name), (f.coordinates,))
        ),
        because="{f.mode} by {f.extent_name} with {f.coordinate_transformation_mode} is not among those it takes: "
        "nearest with asymmetric (by sizes also align_corners), linear with half_pixel, pytorch_half_pixel and, by "
        "scales, asymmetric or, by sizes, align_corners",
        source="onnx-tensorrt eb559b6, importer of Resize",
        fix="rewrite it in one of these",
    ).only(since="7.2", until="7.2"),
    Rule(
        name="tf-half-pixel-rounding",
        holds=lambda f: f.coordinates != "tf_half_pixel_for_nn" or f.nearest_mode == "round_prefer_floor",
        because="tf_half_pixel_for_nn is taken with nearest_mode unset or round_prefer_floor; it is {f.nearest_mode}",
        source="onnx-tensorrt 8fea430 … 96e7811, importer or checker of Resize; " + MEASURED,
        fix="tf_half_pixel_for_nn with floor is half_pixel with round_prefer_ceil",
    ).only(since="8.0"),
    differs(
        name="tf-half-pixel-is-for-nearest",
        holds=lambda f: f.coordinates != "tf_half_pixel_for_nn" or f.mode == "nearest",
        because="tf_half_pixel_for_nn becomes half_pixel with rounding up, which is the same for nearest alone; "
        "mode is {f.mode}",
        source="onnx-tensorrt 8fea430 … 96e7811, importer of Resize; " + MEASURED,
    ).only(since="8.0"),
    Rule(
        name="tf-half-pixel-by-scales",
        holds=lambda f: f.coordinates != "tf_half_pixel_for_nn" or not f.by_sizes,
        because="with tf_half_pixel_for_nn this parser overlooks `sizes` and asks for scales",
        source="onnx-tensorrt 3b008c4 … 96e7811, importer of Resize; " + MEASURED,
        fix="write half_pixel (nearest_mode floor: round_prefer_ceil; round_prefer_floor: ceil), or scales",
    ).only(since="8.5"),
    differs(
        name="nearest-resize-10",
        holds=lambda f: not f.is_old_resize or f.mode != "nearest",
        because="TensorRT 8.0.1 samples nearest Resize-10 as align_corners; 8.0.3 and 8.2 do not",
        source="onnx-tensorrt 8fea430, importer of Resize (fixed by d486806)",
        fix="write Resize-11 with asymmetric and floor, or take 8.0.3 or later",
    ).only(since="8.0", until="8.0"),
    differs(
        name="shrinking-nearest-rounds-up",
        holds=lambda f: (
            f.has_coordinates
            or f.mode != "nearest"
            or f.values is None
            or all(scale >= 1 or is_power_of_two(scale) for scale in f.values if scale > 0)
        ),
        because="nearest of Upsample and Resize-10 rounds up where an axis shrinks (onnxruntime and onnx's own test "
        "resize_downsample_nearest do), but the parser sets rounding to floor: scales {f.values}",
        source="onnx-tensorrt a9a47bb … 96e7811, importers of Upsample and Resize; " + MEASURED,
        fix="write Resize-11 with asymmetric and nearest_mode=ceil where the target takes it",
    ),
    differs(
        name="antialias-ignored",
        holds=lambda f: not f.antialias,
        because="this parser knows no attribute `antialias` and resizes without",
        source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
        fix=_ANTIALIAS_FIX,
    ).only(since="7.0", until="9"),
    Rule(
        name="no-antialias",
        holds=lambda f: f.is_upsample or not f.antialias,
        because='antialias is 1 ("Antialiasing is not supported currently.")',
        source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
        fix=_ANTIALIAS_FIX,
    ).only(since="10"),
    differs(
        name="aspect-policy-ignored",
        holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes,
        because="this parser knows no keep_aspect_ratio_policy and stretches; it is {f.keep_aspect_ratio_policy}",
        source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
        fix=PLAIN_SIZES,
    ).only(since="7.0", until="9"),
    Rule(
        name="aspect-policy-stretch",
        holds=lambda f: f.is_upsample or f.keep_aspect_ratio_policy == "stretch",
        because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}; this parser has stretch alone",
        source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
        fix=PLAIN_SIZES,
    ).only(since="10"),
)
