"""TensorRT: the tensor that is resized and the body that the node stands in; modes, coordinates and roundings.

"onnx-tensorrt <commit>" is that commit of the repository onnx/onnx-tensorrt, where the importers of Upsample and Resize
stand in builtin_op_importers.cpp (from 10.0 on onnxOpImporters.cpp). What the core computes is not in the repository:
where an importer's later comment or fix says that an accepted node came out wrong, the rule's effect is DIFFERENT, and
its source names that commit.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import SiteFacts
from resizefix.targets.shared_rules import (
    WEIGHTS,
    S,
    is_power_of_two,
    no_single_pixel_output,
    not_inside,
    trailing_ones,
)
from resizefix.targets.target import Rule, differs, noted

MEASURED = "measured on TensorRT-RTX 1.4.0, 1.5.0, 1.6.1, 1.7.1"
"""Four releases whose parser is that of TensorRT 10."""
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
    shared.upsample_modes({"nearest"})
    .read_in("onnx-tensorrt a9a47bb … 8b52755, importer of Upsample")
    .only(until="5.1"),
    shared.upsample_modes({"nearest", "linear"})
    .read_in("onnx-tensorrt 400df73 … 85e79f6, importer of Upsample")
    .only(since="6.0", until="8.0"),
    shared.upsample_modes({"nearest", "linear", "bilinear"})
    .read_in("onnx-tensorrt 1da7332 … 96e7811, importer or checker of Upsample; " + MEASURED)
    .only(since="8.4"),
    shared.resize_modes({"nearest", "linear"})
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
    shared.resize_modes({"nearest", "linear", "cubic"})
    .read_in("onnx-tensorrt 3b008c4 … 96e7811, importer or checker of Resize; " + MEASURED)
    .only(since="8.5"),
    shared.coordinate_modes(
        {"asymmetric"},
        ' ("This version of TensorRT only supports asymmetric resize!")',
        _EQUAL_MODE,
    )
    .read_in("onnx-tensorrt 84b5be1, importer of Resize")
    .only(since="7.0", until="7.0"),
    shared.coordinate_modes(
        _FOUR_COORDINATES,
        ' ("This version of TensorRT only supports asymmetric, align_corners, half_pixel, and pytorch_half_pixel '
        'resize!")',
        _EQUAL_MODE,
    )
    .read_in("onnx-tensorrt 1cf89dd … eb559b6, importer of Resize")
    .only(since="7.1", until="7.2"),
    shared.coordinate_modes(
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
        "{f.mode} with {f.coordinate_transformation_mode} by {f.extent_name} loads, but may pick other pixels",
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
        fix=shared.PLAIN_SIZES,
    ).only(since="7.0", until="9"),
    Rule(
        name="aspect-policy-stretch",
        holds=lambda f: f.is_upsample or f.keep_aspect_ratio_policy == "stretch",
        because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}; this parser has stretch alone",
        source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
        fix=shared.PLAIN_SIZES,
    ).only(since="10"),
)


_HALF_OR_FLOAT = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_UP_TO_INT8 = _HALF_OR_FLOAT | {TensorProto.INT8}
_IMPORTED = _UP_TO_INT8 | {TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL}
_TYPES_8 = _UP_TO_INT8 | {TensorProto.DOUBLE}
_TYPES_9 = _TYPES_8 | {TensorProto.BFLOAT16}


def _counted_from_the_front(f: SiteFacts) -> set[int]:
    """The listed axes as the parser counts them, those that the input does not have included."""
    return {axis + (f.rank or 1 << 30) if axis < 0 else axis for axis in f.axes or ()}


CUBIC_TRAILING_AXES = Rule(
    name="cubic-last-two-axes",
    # It looks at as many of the full scales as the operand has, less two, and neither at tensors nor at sizes.
    holds=lambda f: (
        f.mode != "cubic"
        or f.source not in WEIGHTS | {S.CONSTANT_LIST}
        or all(scale == 1 for scale in (f.full_scales or ())[: max(0, len(f.values or ()) - 2)])
    ),
    because="cubic changes axes {f.resized_axes} of {f.rank_name}; the parser takes the last two",
    source="onnx-tensorrt 3b008c4 … 96e7811, canUseNDResize; " + MEASURED,
    fix="move the axes to the end by a Transpose",
).only(since="8.5")

TENSORS: tuple[Rule, ...] = (
    Rule(
        name="rank",
        holds=lambda f: f.rank is None or 1 <= f.rank <= 8,
        because="the input is of rank {f.rank_name}; TensorRT has 1 to 8 dimensions",
        source="onnx-tensorrt 84b5be1 … 96e7811, importers of Upsample and Resize; measured on TensorRT-RTX 1.7.1",
        fix=shared.RESHAPE,
    ).only(since="7.0"),
    Rule(
        name="rank-4",
        holds=lambda f: f.rank in (None, 4),
        because="the input is of rank {f.rank_name}; the plugin takes NCHW",
        source="onnx-tensorrt a9a47bb … 8b52755, importer of Upsample",
        fix="reshape to rank 4 around the node",
    ).only(until="5.1"),
    Rule(
        name="upsample-rank",
        holds=lambda f: not f.is_upsample or f.rank in (None, 4, 5),
        because="the input is of rank {f.rank_name}; this parser upsamples rank 4 and 5",
        source="onnx-tensorrt 400df73, importer of Upsample",
        fix="write Resize-10",
    ).only(since="6.0", until="6.0"),
    Rule(
        name="upsample-linear-rank",
        holds=lambda f: not f.is_upsample or f.mode != "linear" or f.rank is None or f.rank <= 3,
        because="linear Upsample is taken up to rank 3; the input is of rank {f.rank_name} "
        '("Assertion failed: (nbDims >= 1) && (nbDims <= 3)")',
        source="onnx-tensorrt 84b5be1, importer of Upsample (fixed by 0c3a957)",
        fix="write Resize-10",
    ).only(since="7.0", until="7.0"),
    Rule(
        name="linear-last-three-axes",
        holds=lambda f: f.mode not in ("linear", "bilinear") or f.source is S.FOLDED or trailing_ones(f, 3),
        because="linear changes axes {f.resized_axes} of {f.rank_name}; TensorRT interpolates along the last three at "
        "most",
        source="onnx-tensorrt 1cf89dd … 96e7811, canUseLinearResize/canUseNDResize; " + MEASURED,
        fix="split the node in two, or move the axes to the end by a Transpose",
    ).only(since="7.1"),
    differs(
        name="linear-by-a-tensor-is-not-checked",
        holds=lambda f: f.mode not in ("linear", "bilinear") or f.source is not S.FOLDED or trailing_ones(f, 3),
        because="linear changes axes {f.resized_axes} of {f.rank_name} by a tensor, which nothing checks; but "
        "TensorRT has linear along the last three axes at most",
        source="NvInfer.h, ResizeMode; parsed and built on TensorRT-RTX 1.7.1, never run",
        fix="split the node in two, or move the axes to the end by a Transpose",
    ).only(since="8.4"),
    CUBIC_TRAILING_AXES,
    differs(
        name="cubic-elsewhere-is-not-checked",
        holds=lambda f: f.mode != "cubic" or trailing_ones(f, 2) or not CUBIC_TRAILING_AXES.holds(f),
        because="cubic changes axes {f.resized_axes} of {f.rank_name} by sizes, a tensor or `axes`, which nothing "
        "checks; but TensorRT has cubic along the last two axes alone",
        source="NvInfer.h, ResizeMode; parsed and built on TensorRT-RTX 1.4.0 … 1.7.1, never run",
        fix="move the axes to the end by a Transpose",
    ).only(since="8.5"),
    differs(
        name="axes-ignored",
        holds=lambda f: f.axes_are_trivial,
        because="this parser knows no attribute `axes` and takes {f.extent_name} for all axes in order; axes is "
        "{f.axes}",
        source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
        fix=shared.EVERY_DIMENSION,
    ).only(since="7.0", until="9"),
    Rule(
        name="axes-are-unique",
        holds=lambda f: f.axes is None or len(_counted_from_the_front(f)) == len(f.axes),
        because="axes {f.axes} name an axis twice",
        source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
        fix="name each axis once",
    ).only(since="10"),
    Rule(
        name="axes-of-the-input",
        holds=lambda f: f.axes is None or f.rank is None or all(-f.rank <= axis <= f.rank for axis in f.axes),
        because='axes {f.axes} of an input of rank {f.rank_name}, which is no valid ONNX ("Axis must be in the range '
        '[0, nbDims]")',
        source="onnx-tensorrt 973d68d … 96e7811, convertAxis; measured on TensorRT-RTX 1.7.1",
        fix="name axes that the input has",
    ).only(since="10"),
    differs(
        name="axis-behind-the-last",
        holds=lambda f: f.axes is None or f.rank is None or f.rank not in f.axes,
        because="axes {f.axes} of an input of rank {f.rank_name}, which is no valid ONNX; this parser counts one axis "
        "more than there are",
        source="onnx-tensorrt 973d68d … 96e7811, convertAxis; parsed and built on TensorRT-RTX 1.7.1, never run",
        fix="name axes that the input has",
    ).only(since="10"),
    Rule(
        name="axes-with-tensor-scales",
        holds=lambda f: not f.by_scales or f.axes_are_trivial or f.source in WEIGHTS | {S.ATTRIBUTE, S.CONSTANT_LIST},
        because="axes {f.axes} go with constant scales, or with sizes; the scales come from {f.source.value}",
        source="onnx-tensorrt 973d68d … 96e7811, importer of Resize; " + MEASURED,
        fix="give one scale per dimension (Concat), or sizes",
    ).only(since="10"),
    Rule(
        name="axes-with-constant-sizes",
        holds=lambda f: (
            not f.by_sizes
            or f.axes_are_trivial
            or f.source not in WEIGHTS | {S.CONSTANT_LIST}
            or all(
                size is not None or axis in {listed % (f.rank or 1) for listed in f.axes or ()}
                for axis, size in enumerate(f.input_shape or ())
            )
        ),
        because="with axes {f.axes} and constant sizes every other axis must be static; the input is "
        "{f.shown_input_shape}",
        source="onnx-tensorrt 973d68d … 96e7811, importer of Resize; " + MEASURED,
        fix="give sizes for all axes as Concat(Shape(x)[:2], hw), or scales",
    ).only(since="10"),
    shared.element_types(_HALF_OR_FLOAT)
    .read_in("onnx-tensorrt a9a47bb … 8b52755, plugin.cpp, supportsFormat")
    .only(until="5.1"),
    shared.element_types(_IMPORTED)
    .read_in("onnx-tensorrt 400df73 … 84b5be1, convert_dtype or convertDtype")
    .only(since="6.0", until="7.0"),
    shared.element_types(_UP_TO_INT8)
    .read_in("onnx-tensorrt 1cf89dd … eb559b6, importers of Upsample and Resize, convertDtype")
    .only(since="7.1", until="7.2"),
    shared.element_types(_TYPES_8)
    .read_in("onnx-tensorrt 8fea430 … 6ba67d3, importers of Upsample and Resize, docs/operators.md")
    .only(since="8.0", until="8.5"),
    shared.element_types(_TYPES_9)
    .read_in("onnx-tensorrt 9d2d786 … 1def182, importers of Upsample and Resize, docs/operators.md")
    .only(since="9", until="9"),
    shared.element_types(_TYPES_9)
    .read_in("onnx-tensorrt 973d68d … 96e7811, importers of Upsample and Resize, docs/operators.md; " + MEASURED)
    .only(since="10"),
    noted(
        name="double-computed-as-float",
        holds=lambda f: f.elem_type != TensorProto.DOUBLE,
        because="the tensor is float64, and TensorRT makes the network float32",
        source="onnx-tensorrt 8fea430 … 96e7811, convertDtype; " + MEASURED,
        fix="cast to float32 where that is wanted",
    ).only(since="8.0"),
    noted(
        name="int8-from-1.5",
        holds=lambda f: f.elem_type != TensorProto.INT8,
        because="the tensor is int8, which TensorRT-RTX 1.4 parses and then fails to build",
        source="measured on TensorRT-RTX 1.4.0 (fails), 1.5.0, 1.6.1, 1.7.1 (build)",
        fix="take TensorRT-RTX 1.5 or later",
    ).only(since="rtx"),
    not_inside({"If", "Loop", "Scan", "function"})
    .read_in("onnx-tensorrt a9a47bb … 400df73, builtin_op_importers.cpp, operators.md")
    .only(until="6.0"),
    not_inside({"If", "function"})
    .read_in("onnx-tensorrt 84b5be1 … eb559b6, operators.md")
    .only(since="7.0", until="7.2"),
    not_inside({"function"})
    .read_in("onnx-tensorrt 8fea430 … 6ba67d3, ModelImporter.cpp (added by 66b2536)")
    .only(since="8.0", until="8.5"),
    noted(
        name="loop-keeps-shapes",
        holds=lambda f: "Loop" not in f.enclosing or f.resized_axes == (),
        because="it stands in the body of a Loop. Where it changes the shape of a tensor that the loop carries from "
        "turn to turn, the model parses but no engine is built (IRecurrenceLayer)",
        source="measured on TensorRT-RTX 1.7.1; NvInfer.h, IRecurrenceLayer",
        fix="unroll the loop, or resize outside of it",
    ).only(since="8.0"),
)
