"""TensorRT 8.0 to 9: parsers with ONNX's coordinate modes, which overlook what later versions of Resize added."""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.operators import AT_THE_EDGES, NO_UINT8, UINT8_IS_CAST
from resizefix.targets.target import Effect, Rule, Target
from resizefix.targets.tensorrt_5_to_7 import NOT_CUBIC, OTHERS_BECOME_LINEAR
from resizefix.targets.tensorrt_any import (
    ANTIALIAS_IGNORED,
    ATTRIBUTE_OR_OPERAND,
    AXES_IGNORED,
    DATA_DEPENDENT,
    DEFAULT_INPUT,
    EXTENT,
    FLOAT_INPUT,
    HYBRID,
    LENGTH,
    LINEAR_TRAILING_AXES,
    MEASURED,
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
    keeps_scales_exact,
    not_inside,
    resize_modes,
    trailing_ones,
    upsample_modes,
)

_FIVE_COORDINATES = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"}
_INTEGERS = (TensorProto.INT32, TensorProto.INT64)
_TYPES_8 = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT8})
TYPES_9 = _TYPES_8 | {TensorProto.BFLOAT16}


# ---- rules ----------------------------------------------------------------------------------------------------------

TF_ROUNDING = Rule(
    name="tf-half-pixel-rounding",
    holds=lambda f: (
        not f.has_coordinates
        or f.coordinate_transformation_mode != "tf_half_pixel_for_nn"
        or f.nearest_mode == "round_prefer_floor"
    ),
    because="tf_half_pixel_for_nn is taken with nearest_mode unset or round_prefer_floor; it is {f.nearest_mode}",
    source="onnx-tensorrt 8fea430 … 96e7811, importer or checker of Resize; " + MEASURED,
    mend="tf_half_pixel_for_nn with floor is half_pixel with round_prefer_ceil",
)
TF_IS_FOR_NEAREST = Rule(
    name="tf-half-pixel-is-for-nearest",
    holds=lambda f: (
        not f.has_coordinates or f.coordinate_transformation_mode != "tf_half_pixel_for_nn" or f.mode == "nearest"
    ),
    because="tf_half_pixel_for_nn becomes half_pixel with rounding up, which is the same for nearest alone; "
    "mode is {f.mode}",
    source="onnx-tensorrt 8fea430 … 96e7811, importer of Resize; " + MEASURED,
    mend="replace the node",
    effect=Effect.DIFFERENT,
)
TF_BY_SCALES = Rule(
    name="tf-half-pixel-by-scales",
    holds=lambda f: (
        not f.has_coordinates or f.coordinate_transformation_mode != "tf_half_pixel_for_nn" or not f.by_sizes
    ),
    because="with tf_half_pixel_for_nn this parser overlooks `sizes` and asks for scales",
    source="onnx-tensorrt 3b008c4 … 96e7811, importer of Resize; " + MEASURED,
    mend="write half_pixel (nearest_mode floor: round_prefer_ceil; round_prefer_floor: ceil), or scales",
)
NEAREST_RESIZE_10 = Rule(
    name="nearest-resize-10",
    holds=lambda f: f.is_upsample or f.has_coordinates or f.mode != "nearest",
    because="TensorRT 8.0.1 samples nearest Resize-10 as align_corners; 8.0.3 and 8.2 do not",
    source="onnx-tensorrt 8fea430, importer of Resize (mended by d486806)",
    mend="write Resize-11 with asymmetric and floor, or take 8.0.3 or later",
    effect=Effect.DIFFERENT,
)
WEIGHTS_8_0 = Rule(
    name="scales-are-weights",
    holds=lambda f: (
        not f.by_scales or f.source in WEIGHTS | {S.ATTRIBUTE} or (f.source is S.CONSTANT_LIST and f.opset >= 12)
    ),
    because="the scales come from: {f.source.value}; this parser takes an initializer or a Constant node alone "
    '("Resize scales must be an initializer!")',
    source="onnx-tensorrt 8fea430 … 85e79f6, importers of Upsample, Resize and Constant",
    mend="make the scales an initializer",
)
VALUE_INTS = Rule(
    name="sizes-not-in-value-ints",
    holds=lambda f: not (f.by_sizes and f.source is S.CONSTANT_LIST),
    because="the sizes are a Constant node's `value_ints`, whose bytes TensorRT 8.0 to 9.1 read as floats",
    source="onnx-tensorrt 8fea430 … 9d2d786, importer of Constant (mended by 306247b)",
    mend="make the sizes an initializer",
    effect=Effect.DIFFERENT,
)
SIZES_OR_OUT = Rule(
    name="tensor-scales-sample-by-size",
    holds=lambda f: f.source is not S.FOLDED or keeps_scales_exact(f),
    because="scales that are no initializer become an output size, and the positions follow out/in instead of "
    "the scales {f.values}",
    source="onnx-tensorrt 1da7332 … 96e7811, resizeShapeTensor; " + MEASURED,
    mend="make the scales an initializer",
    effect=Effect.DIFFERENT,
)
CUBIC_TRAILING_AXES = Rule(
    name="cubic-last-two-axes",
    # It looks at as many of the full scales as the operand has, less two, and neither at tensors nor at sizes.
    holds=lambda f: (
        f.mode != "cubic"
        or not f.by_scales
        or f.source not in WEIGHTS | {S.CONSTANT_LIST}
        or f.full_scales is None
        or all(scale == 1 for scale in f.full_scales[: max(0, len(f.values or ()) - 2)])
    ),
    because="cubic changes axes {f.resized_axes} of {f.rank_name}; the parser takes the last two",
    source="onnx-tensorrt 3b008c4 … 96e7811, canUseNDResize; " + MEASURED,
    mend="move the axes to the end by a Transpose",
)
CUBIC_UNCHECKED = Rule(
    name="cubic-elsewhere-is-not-checked",
    holds=lambda f: f.mode != "cubic" or trailing_ones(f, 2) or not CUBIC_TRAILING_AXES.holds(f),
    because="cubic changes axes {f.resized_axes} of {f.rank_name} by sizes, a tensor or `axes`, which nothing checks; "
    "but TensorRT has cubic along the last two axes alone",
    source="NvInfer.h, ResizeMode; parsed and built on TensorRT-RTX 1.4.0 … 1.7.1, never run",
    mend="move the axes to the end by a Transpose",
    effect=Effect.DIFFERENT,
)
LINEAR_UNCHECKED = Rule(
    name="linear-by-a-tensor-is-not-checked",
    holds=lambda f: f.mode not in ("linear", "bilinear") or f.source is not S.FOLDED or trailing_ones(f, 3),
    because="linear changes axes {f.resized_axes} of {f.rank_name} by a tensor, which nothing checks; but TensorRT has "
    "linear along the last three axes at most",
    source="NvInfer.h, ResizeMode; parsed and built on TensorRT-RTX 1.7.1, never run",
    mend="split the node in two, or move the axes to the end by a Transpose",
    effect=Effect.DIFFERENT,
)
KNOWN_LENGTH = Rule(
    name="fed-extent-has-a-length",
    holds=lambda f: (
        f.source not in (S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED) or f.length is not None or f.operand_rank is None
    ),
    because="the integer input that gives the {f.extent_name} has no fixed length",
    source="measured on TensorRT-RTX 1.4.0 … 1.7.1",
    mend="declare the input with its length",
)
NOT_DIVIDED = Rule(
    name="no-float-quotient",
    holds=lambda f: f.source is not S.INTEGER_INPUT_DIVIDED,
    because="the {f.extent_name} are an integer input divided as floats by a constant, which the builder mostly "
    "fails on (invalid shape profile)",
    source="measured on TensorRT-RTX 1.4.0 … 1.7.1: divisors 10, 100, 1000 fail, powers of two build",
    mend="divide in int64, sizes = Shape(x) · f ÷ d, or multiply by 1/d",
)
TENSOR_SCALES_ARE_FLOAT = Rule(
    name="tensor-scales-are-float",
    holds=lambda f: (
        not f.by_scales or f.source in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT, TensorProto.DOUBLE)
    ),
    because="the scales are computed as {f.operand_type_name}; as a tensor they must be float32",
    source="measured on TensorRT-RTX 1.7.1",
    mend="put a Cast to float before the node, or make them an initializer",
)
TENSOR_SIZES_ARE_INTEGERS = Rule(
    name="tensor-sizes-are-integers",
    holds=lambda f: not f.by_sizes or f.source in WEIGHTS or f.operand_type in (None, *_INTEGERS),
    because="the sizes are computed as {f.operand_type_name}; as a tensor they must be int64 or int32",
    source="measured on TensorRT-RTX 1.7.1",
    mend="put a Cast to int64 before the node, or make them an initializer",
)
NOT_NEGATIVE = Rule(
    name="extent-is-not-negative",
    holds=lambda f: f.values is None or all(value >= 0 for value in f.values),
    because="the {f.extent_name} are {f.values}; a value below 0 or NaN has no meaning",
    source="measured on TensorRT-RTX 1.7.1",
    mend="give values above 0",
)
LOOP_KEEPS_SHAPES = Rule(
    name="loop-keeps-shapes",
    holds=lambda f: "Loop" not in f.enclosing or f.resized_axes == (),
    because="it stands in the body of a Loop; where it changes the shape of a tensor that the loop carries from turn "
    "to turn, the model parses but no engine is built (IRecurrenceLayer)",
    source="measured on TensorRT-RTX 1.7.1; NvInfer.h, IRecurrenceLayer",
    mend="unroll the loop, or resize outside of it",
    effect=Effect.NOTED,
)
DOUBLE_AS_FLOAT = Rule(
    name="double-computed-as-float",
    holds=lambda f: f.elem_type != TensorProto.DOUBLE,
    because="the tensor is float64, and TensorRT makes the network float32",
    source="onnx-tensorrt 8fea430 … 96e7811, convertDtype; " + MEASURED,
    mend="cast to float32 where that is wanted",
    effect=Effect.NOTED,
)

_TENSOR_SCALES = (
    DATA_DEPENDENT,
    FLOAT_INPUT,
    TENSOR_SCALES_ARE_FLOAT,
    TENSOR_SIZES_ARE_INTEGERS,
    KNOWN_LENGTH,
    NOT_DIVIDED,
    SIZES_OR_OUT,
    LINEAR_UNCHECKED,
)
_EVERY = (
    RANK,
    EXTENT,
    NOT_NEGATIVE,
    HYBRID,
    ATTRIBUTE_OR_OPERAND,
    RESIZE_HAS_TWO_INPUTS,
    VECTOR,
    LENGTH,
    UPSAMPLE_SCALES_ARE_FLOAT,
    NO_EMPTY_SIZES,
    coordinate_modes(
        _FIVE_COORDINATES,
        "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners "
        "transformation modes!",
        "onnx-tensorrt 8fea430 … 96e7811, importer or checker of Resize; " + MEASURED,
    ),
    TF_ROUNDING,
    LINEAR_TRAILING_AXES,
    TF_IS_FOR_NEAREST,
    SIMPLE_ROUNDING,
    LOOP_KEEPS_SHAPES,
    DOUBLE_AS_FLOAT,
    DEFAULT_INPUT,
)
_IGNORED = (RESIZE_SCALES_ARE_FLOAT, AXES_IGNORED, ANTIALIAS_IGNORED, POLICY_IGNORED)
_NO_FUNCTIONS = not_inside({"function"}, "onnx-tensorrt 8fea430 … 6ba67d3, ModelImporter.cpp (added by 66b2536)")
_ONLY_NEAREST_LINEAR = (NOT_CUBIC, OTHERS_BECOME_LINEAR)
_UPSAMPLE_MODES = upsample_modes(
    {"nearest", "linear", "bilinear"}, "onnx-tensorrt 1da7332 … 96e7811, importer or checker of Upsample; " + MEASURED
)
_THREE_MODES = resize_modes(
    {"nearest", "linear", "cubic"}, "onnx-tensorrt 3b008c4 … 96e7811, importer or checker of Resize; " + MEASURED
)
TYPE_LIST = "onnx-tensorrt {commit}, importers of Upsample and Resize, docs/operators.md"


# ---- targets --------------------------------------------------------------------------------------------------------

TENSORRT_8_0 = Target(
    "tensorrt-8.0",
    "onnx-tensorrt 8fea430 (TensorRT 8.0) to 85e79f6 (8.2)",
    (
        *_EVERY,
        WEIGHTS_8_0,
        DATA_DEPENDENT,
        FLOAT_INPUT,
        upsample_modes({"nearest", "linear"}, "onnx-tensorrt 8fea430 … 85e79f6, importer of Upsample"),
        *_ONLY_NEAREST_LINEAR,
        NO_TRAILING_EMPTY_INPUT,
        element_types(_TYPES_8, TYPE_LIST.format(commit="8fea430 … 85e79f6")),
        NEAREST_RESIZE_10,
        VALUE_INTS,
        *_IGNORED,
        _NO_FUNCTIONS,
    ),
    (NO_UINT8,),
)
TENSORRT_8_4 = Target(
    "tensorrt-8.4",
    "onnx-tensorrt 1da7332 (TensorRT 8.4 GA)",
    (
        *_EVERY,
        *_TENSOR_SCALES,
        _UPSAMPLE_MODES,
        *_ONLY_NEAREST_LINEAR,
        NO_TRAILING_EMPTY_INPUT,
        element_types(_TYPES_8, TYPE_LIST.format(commit="1da7332")),
        VALUE_INTS,
        *_IGNORED,
        _NO_FUNCTIONS,
    ),
    (NO_UINT8,),
)
FROM_8_5 = (
    *_EVERY,
    *_TENSOR_SCALES,
    _UPSAMPLE_MODES,
    _THREE_MODES,
    TF_BY_SCALES,
    CUBIC_TRAILING_AXES,
    CUBIC_UNCHECKED,
)
TENSORRT_8_5 = Target(
    "tensorrt-8.5",
    "onnx-tensorrt 3b008c4 (TensorRT 8.5 GA) to 6ba67d3 (8.6.1)",
    (
        *FROM_8_5,
        element_types(_TYPES_8, TYPE_LIST.format(commit="3b008c4 … 6ba67d3")),
        VALUE_INTS,
        *_IGNORED,
        _NO_FUNCTIONS,
    ),
    (UINT8_IS_CAST,),
    AT_THE_EDGES,
)
TENSORRT_9 = Target(
    "tensorrt-9",
    "onnx-tensorrt 9d2d786 (TensorRT 9.0) to 1def182 (9.3)",
    (
        *FROM_8_5,
        element_types(TYPES_9, TYPE_LIST.format(commit="9d2d786 … 1def182")),
        VALUE_INTS,
        *_IGNORED,
    ),
    (UINT8_IS_CAST,),
    AT_THE_EDGES,
)
