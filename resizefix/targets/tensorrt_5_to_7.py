"""TensorRT 5.0 to 7.2: parsers without coordinate modes, or with two that hide behind `alignCorners`.

What the core computes is not in the repository. Where an importer's later comment or fix says that an accepted node
came out wrong, the rule's effect is DIFFERENT, and its source names that commit.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.facts import SiteFacts
from resizefix.targets.operators import BEFORE_6_0, BEFORE_7_0, NO_UINT8
from resizefix.targets.target import Effect, Rule, Target
from resizefix.targets.tensorrt_any import (
    ANTIALIAS_IGNORED,
    ATTRIBUTE_OR_OPERAND,
    AXES_IGNORED,
    CONSTANT_SCALES,
    DATA_DEPENDENT,
    DEFAULT_INPUT,
    EXTENT,
    FLOAT_INPUT,
    HYBRID,
    IMPORTERS,
    LENGTH,
    LINEAR_TRAILING_AXES,
    NO_EMPTY_SIZES,
    NO_TRAILING_EMPTY_INPUT,
    POLICY_IGNORED,
    RANK,
    RESIZE_HAS_TWO_INPUTS,
    RESIZE_SCALES_ARE_FLOAT,
    SIMPLE_ROUNDING,
    UPSAMPLE_SCALES_ARE_FLOAT,
    VECTOR,
    WEIGHTS,
    S,
    coordinate_modes,
    element_types,
    has_scales_attribute,
    no_single_pixel_output,
    not_inside,
    resize_modes,
    upsample_modes,
)

_HALF_OR_FLOAT = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_UP_TO_INT8 = _HALF_OR_FLOAT | {TensorProto.INT8}
_IMPORTED = _UP_TO_INT8 | {TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL}
_LEGACY = "write Upsample-7 in a model of opset 7 or 8"


# ---- 5.0 and 5.1: the ResizeNearest plugin --------------------------------------------------------------------------

UPSAMPLE_ALONE = Rule(
    name="upsample-alone",
    holds=lambda f: f.is_upsample,
    because='this parser has no importer for Resize ("No importer registered for op: Resize")',
    source="onnx-tensorrt a9a47bb … 8b52755, builtin_op_importers.cpp",
    mend=_LEGACY,
)
ATTRIBUTE_5_0 = Rule(
    name="scales-attribute",
    holds=lambda f: not f.is_upsample or has_scales_attribute(f) or {"height_scale", "width_scale"} <= f.attributes,
    because='this parser reads the scales from the attribute alone and fails with "Attribute not found: height_scale"',
    source="onnx-tensorrt a9a47bb, importer of Upsample; onnx-tensorrt#77",
    mend=_LEGACY,
)
FORM_5_1 = Rule(
    name="upsample-form-of-its-opset",
    holds=lambda f: (
        not f.is_upsample
        or f.is_hybrid
        or (f.source is S.ATTRIBUTE if f.opset < 9 else f.n_inputs == 2 and f.source in WEIGHTS)
    ),
    because="at opset {f.opset} this parser wants the scales as an attribute (below 9) or as the second of two inputs, "
    "an initializer or a Constant node with `value` (from 9 on); they are: {f.source.value}",
    source="onnx-tensorrt 8b52755, importer of Upsample",
    mend=_LEGACY,
)
NCHW_SCALES = Rule(
    name="scales-leave-batch-and-channels",
    holds=lambda f: not f.is_upsample or f.values is None or (len(f.values) == 4 and f.values[:2] == (1.0, 1.0)),
    because="the scales are {f.values}; the plugin takes [1, 1, height, width]",
    source="onnx-tensorrt a9a47bb … 8b52755, importer of Upsample",
    mend="resize H and W alone; transpose other axes there",
)
RANK_4 = Rule(
    name="rank-4",
    holds=lambda f: f.rank in (None, 4),
    because="the input is of rank {f.rank_name}; the plugin takes NCHW",
    source="onnx-tensorrt a9a47bb … 8b52755, importer of Upsample",
    mend="reshape to rank 4 around the node",
)
HYBRID_5_0 = Rule(
    name="hybrid-is-taken-here-alone",
    holds=lambda f: not f.is_hybrid,
    because="it has the attribute `scales` of Upsample-7 in a model of opset {f.opset}: this parser, which never "
    "looks at the opset, takes it, but it is no valid ONNX and nothing else does",
    source="onnx-tensorrt a9a47bb, importer of Upsample",
    mend="have the model import opset 8 if its other operators allow",
    effect=Effect.NOTED,
)
INITIALIZERS_LISTED = Rule(
    name="initializers-are-inputs",
    holds=lambda f: f.initializers_are_inputs,
    because="an initializer is not listed as a graph input, and this parser finds no other initializers",
    source="onnx-tensorrt a9a47bb … 8b52755, ModelImporter.cpp, importInputs",
    mend="write the model as IR 3, every initializer a graph input too",
)
_ANY_5 = (
    upsample_modes({"nearest"}, "onnx-tensorrt a9a47bb … 8b52755, importer of Upsample"),
    NCHW_SCALES,
    RANK_4,
    INITIALIZERS_LISTED,
    element_types(_HALF_OR_FLOAT, "onnx-tensorrt a9a47bb … 8b52755, plugin.cpp, supportsFormat"),
    not_inside({"If", "Loop", "Scan", "function"}, "onnx-tensorrt a9a47bb … 8b52755, builtin_op_importers.cpp"),
    SIMPLE_ROUNDING,
    DEFAULT_INPUT,
)
_LIMITS_5 = (BEFORE_6_0, BEFORE_7_0, NO_UINT8)

TENSORRT_5_0 = Target(
    "tensorrt-5.0",
    "onnx-tensorrt a9a47bb (TensorRT 4.0 to 5.0.2)",
    (UPSAMPLE_ALONE, ATTRIBUTE_5_0, HYBRID_5_0, *_ANY_5),
    _LIMITS_5,
)
TENSORRT_5_1 = Target(
    "tensorrt-5.1",
    "onnx-tensorrt 8b52755",
    (UPSAMPLE_ALONE, HYBRID, FORM_5_1, VECTOR, UPSAMPLE_SCALES_ARE_FLOAT, *_ANY_5),
    _LIMITS_5,
)


# ---- 6.0: IResizeLayer, implicit batch ------------------------------------------------------------------------------

TWO_INPUTS_6_0 = Rule(
    name="exactly-two-inputs",
    holds=lambda f: f.is_hybrid or (f.n_inputs == 2 and f.opset >= (9 if f.is_upsample else 1)),
    because="this parser takes X and scales as inputs and nothing else; the node has {f.counted_inputs} at opset "
    "{f.opset} (the attribute form is refused for every input with a batch dimension, a bug of this version)",
    source="onnx-tensorrt 400df73, importers of Upsample and Resize",
    mend="write Upsample-9 or Resize-10",
)
BATCH_SCALE_DROPPED = Rule(
    name="batch-is-not-scaled",
    holds=lambda f: f.values is None or f.values[:1] == (1.0,),
    because="the first scale is dropped, since the network has no batch dimension: scales {f.values}",
    source="onnx-tensorrt 400df73, importers of Upsample and Resize",
    mend="do not resize the batch dimension",
    effect=Effect.DIFFERENT,
)
UPSAMPLE_RANK_6_0 = Rule(
    name="upsample-rank",
    holds=lambda f: not f.is_upsample or f.rank in (None, 4, 5),
    because="the input is of rank {f.rank_name}; this parser upsamples rank 4 and 5",
    source="onnx-tensorrt 400df73, importer of Upsample",
    mend="write Resize-10",
)
_SOURCE_6_0 = IMPORTERS.format(commit="400df73")
TENSORRT_6_0 = Target(
    "tensorrt-6.0",
    "onnx-tensorrt 400df73",
    (
        EXTENT,
        HYBRID,
        TWO_INPUTS_6_0,
        CONSTANT_SCALES,
        VECTOR,
        LENGTH,
        UPSAMPLE_SCALES_ARE_FLOAT,
        RESIZE_SCALES_ARE_FLOAT,
        upsample_modes({"nearest", "linear"}, _SOURCE_6_0),
        resize_modes({"nearest", "linear"}, _SOURCE_6_0),
        UPSAMPLE_RANK_6_0,
        not_inside({"If", "Loop", "Scan", "function"}, "onnx-tensorrt 400df73, operators.md"),
        BATCH_SCALE_DROPPED,
        element_types(_IMPORTED, "onnx-tensorrt 400df73, convert_dtype"),
        SIMPLE_ROUNDING,
        DEFAULT_INPUT,
    ),
    (BEFORE_7_0, NO_UINT8),
)


# ---- 7.0, 7.1, 7.2: explicit batch, Resize-11 -----------------------------------------------------------------------

NOT_CUBIC = Rule(
    name="not-cubic",
    holds=lambda f: not f.has_coordinates or f.mode != "cubic",
    because='"This version of TensorRT does not support cubic interpolation!"',
    source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize",
    mend="replace the node, or take TensorRT 8.5 or later",
)
OTHERS_BECOME_LINEAR = Rule(
    name="other-modes-become-linear",
    holds=lambda f: f.is_upsample or f.mode in ("nearest", "linear") or (f.has_coordinates and f.mode == "cubic"),
    because="this parser takes every mode that it does not refuse, but for nearest, for linear; mode is {f.mode}",
    source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize",
    mend="write a mode that the operator has: nearest or linear, from opset 11 on cubic",
    effect=Effect.DIFFERENT,
)
FLOOR_ALONE = Rule(
    name="nearest-mode-floor",
    holds=lambda f: not f.has_coordinates or f.mode != "nearest" or f.nearest_mode == "floor",
    because='nearest_mode is {f.nearest_mode} ("This version of TensorRT only supports floor nearest_mode!")',
    source="onnx-tensorrt 84b5be1 … eb559b6, importer of Resize",
    mend="for integer scales asymmetric with floor gives the same",
)
NO_EMPTY_CONSTANT = Rule(
    name="no-empty-constant-node",
    holds=lambda f: not f.empty_constant,
    because="an input is the output, without elements, of a Constant node, which this parser forgets "
    '("Assertion failed: ctx->tensors().count(inputName)")',
    source="onnx-tensorrt 84b5be1, ModelImporter.cpp (mended by ba53ee5); NVIDIA/TensorRT#284",
    mend="make it an initializer",
)
LINEAR_RANK_3 = Rule(
    name="upsample-linear-rank",
    holds=lambda f: not f.is_upsample or f.mode != "linear" or f.rank is None or f.rank <= 3,
    because="linear Upsample is taken up to rank 3; the input is of rank {f.rank_name} "
    '("Assertion failed: (nbDims >= 1) && (nbDims <= 3)")',
    source="onnx-tensorrt 84b5be1, importer of Upsample (mended by 0c3a957)",
    mend="write Resize-10",
)
LINEAR_UPSAMPLE_IS_HALF_PIXEL = Rule(
    name="linear-upsample-becomes-half-pixel",
    holds=lambda f: not f.is_upsample or f.mode != "linear",
    because="linear Upsample is asymmetric in ONNX, but the importer leaves alignCorners unset, and this core samples "
    "that as half_pixel",
    source="onnx-tensorrt 3a4b16b and eb559b6, comments in the importer of Resize; NVIDIA/TensorRT#974",
    mend="write Resize-10 or Resize-11 with asymmetric coordinates, or replace the node",
    effect=Effect.DIFFERENT,
)
NO_SINGLE_PIXEL = Rule(
    name="pytorch-half-pixel-to-one-pixel",
    holds=lambda f: (
        not f.has_coordinates or f.coordinate_transformation_mode != "pytorch_half_pixel" or no_single_pixel_output(f)
    ),
    because="an output size is 1, where pytorch_half_pixel differs from the half_pixel that this parser makes of it",
    source="onnx-tensorrt 1cf89dd … eb559b6, importer of Resize",
    mend="replace the node",
)


def _agrees_7_1(f: SiteFacts) -> bool:
    """nearest+asymmetric and linear+half_pixel, by scales: the pairs that alignCorners on or off cannot spoil."""
    if f.is_upsample:
        return True  # linear has a rule of its own
    if not f.has_coordinates:
        return f.mode == "nearest"
    good = {"nearest": ("asymmetric",), "linear": ("half_pixel", "pytorch_half_pixel")}
    return f.by_scales and f.coordinate_transformation_mode in good.get(f.mode, ())


ALIGN_CORNERS_7_1 = Rule(
    name="coordinates-survive-align-corners",
    holds=_agrees_7_1,
    because="this parser has one switch, alignCorners, and sets it for asymmetric and align_corners alike: {f.mode} "
    "with {f.coordinate_transformation_mode} by {f.extent_name} is taken and may be sampled otherwise",
    source="onnx-tensorrt 1cf89dd, importer of Resize; onnxruntime#4841",
    mend="use nearest+asymmetric+floor or linear+half_pixel, both by scales",
    effect=Effect.DIFFERENT,
)

_PAIRS_7_2 = {
    ("nearest", "scales"): ("asymmetric",),
    ("linear", "scales"): ("asymmetric", "half_pixel", "pytorch_half_pixel"),
    ("nearest", "sizes"): ("asymmetric", "align_corners"),
    ("linear", "sizes"): ("half_pixel", "pytorch_half_pixel", "align_corners"),
}
PAIRS_7_2 = Rule(
    name="coordinates-for-mode-and-extent",
    holds=lambda f: (
        not f.has_coordinates
        or f.coordinate_transformation_mode
        in _PAIRS_7_2.get((f.mode, f.extent_name), (f.coordinate_transformation_mode,))
    ),
    because="{f.mode} by {f.extent_name} with {f.coordinate_transformation_mode} is not among those it takes: "
    "nearest with asymmetric (by sizes also align_corners), linear with half_pixel, pytorch_half_pixel and, by scales, "
    "asymmetric or, by sizes, align_corners",
    source="onnx-tensorrt eb559b6, importer of Resize",
    mend="rewrite it in one of these",
)

_FOUR_COORDINATES = {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"}
_ANY_7 = (
    RANK,
    EXTENT,
    HYBRID,
    ATTRIBUTE_OR_OPERAND,
    RESIZE_HAS_TWO_INPUTS,
    CONSTANT_SCALES,
    VECTOR,
    LENGTH,
    UPSAMPLE_SCALES_ARE_FLOAT,
    RESIZE_SCALES_ARE_FLOAT,
    NO_TRAILING_EMPTY_INPUT,
    NO_EMPTY_SIZES,
    DATA_DEPENDENT,
    FLOAT_INPUT,
    upsample_modes({"nearest", "linear"}, "onnx-tensorrt 84b5be1 … eb559b6, importer of Upsample"),
    NOT_CUBIC,
    FLOOR_ALONE,
    not_inside({"If", "function"}, "onnx-tensorrt 84b5be1 … eb559b6, operators.md"),
    OTHERS_BECOME_LINEAR,
    SIMPLE_ROUNDING,
    AXES_IGNORED,
    ANTIALIAS_IGNORED,
    POLICY_IGNORED,
    DEFAULT_INPUT,
)
TENSORRT_7_0 = Target(
    "tensorrt-7.0",
    "onnx-tensorrt 84b5be1 (TensorRT 7.0.0)",
    (
        *_ANY_7,
        coordinate_modes(
            {"asymmetric"},
            "This version of TensorRT only supports asymmetric resize!",
            "onnx-tensorrt 84b5be1, importer of Resize",
        ),
        element_types(_IMPORTED, "onnx-tensorrt 84b5be1, convertDtype"),
        LINEAR_RANK_3,
        NO_EMPTY_CONSTANT,
    ),
    (NO_UINT8,),
)
_FROM_7_1 = (
    *_ANY_7,
    coordinate_modes(
        _FOUR_COORDINATES,
        "This version of TensorRT only supports asymmetric, align_corners, half_pixel, and pytorch_half_pixel resize!",
        "onnx-tensorrt 1cf89dd … eb559b6, importer of Resize",
    ),
    element_types(_UP_TO_INT8, "onnx-tensorrt 1cf89dd … eb559b6, importers of Upsample and Resize, convertDtype"),
    LINEAR_TRAILING_AXES,
    NO_SINGLE_PIXEL,
    LINEAR_UPSAMPLE_IS_HALF_PIXEL,
)
TENSORRT_7_1 = Target(
    "tensorrt-7.1", "onnx-tensorrt 1cf89dd (TensorRT 7.1)", (*_FROM_7_1, ALIGN_CORNERS_7_1), (NO_UINT8,)
)
TENSORRT_7_2 = Target("tensorrt-7.2", "onnx-tensorrt eb559b6 (TensorRT 7.2.1)", (*_FROM_7_1, PAIRS_7_2), (NO_UINT8,))
