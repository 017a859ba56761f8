"""Rules that hold for several generations of the TensorRT parser, and the conditions they are made of.

Sources: "onnx-tensorrt <commit>" is that commit of the repository onnx/onnx-tensorrt, where the importers of Upsample
and Resize stand in builtin_op_importers.cpp (from 10.0 on onnxOpImporters.cpp); "measured" is TensorRT-RTX 1.4.0,
1.5.0, 1.6.1 and 1.7.1, whose parser is that of TensorRT 10.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from onnx import TensorProto

from resizefix.dialects.resized_length import inference_length
from resizefix.targets.facts import OperandSource, SiteFacts
from resizefix.targets.target import Effect, Rule

S = OperandSource

WEIGHTS = frozenset({S.INITIALIZER, S.INITIALIZER_AND_INPUT, S.CONSTANT, S.UNKNOWN})
"""Sources that every parser holds as weights, not as a tensor of the network."""

MEASURED = "measured on TensorRT-RTX 1.4.0, 1.5.0, 1.6.1, 1.7.1"
IMPORTERS = "onnx-tensorrt {commit}, importers of Upsample and Resize"


# ---- conditions -----------------------------------------------------------------------------------------------------


def has_scales_attribute(f: SiteFacts) -> bool:
    """The attribute `scales` of Upsample-7 is written."""
    return "scales" in f.attributes


def trailing_ones(f: SiteFacts, most: int) -> bool:
    """At most the last `most` axes change, as far as scales or sizes and the input's shape are known."""
    rank = f.rank if f.rank is not None else (f.length if f.axes is None else None)
    return rank is None or f.resized_axes is None or all(axis >= rank - most for axis in f.resized_axes)


def output_sizes(f: SiteFacts) -> tuple[int | None, ...] | None:
    """The output's sizes: stored or inferred, else by scales or sizes where the input's are known."""
    if f.output_shape is not None:
        return f.output_shape
    if f.by_sizes:
        return None if f.values is None or f.axes is not None else tuple(int(size) for size in f.values)
    scales = f.full_scales
    if scales is None or f.input_shape is None or len(scales) != len(f.input_shape):
        return None
    return tuple(
        inference_length(scale, size) if size is not None and math.isfinite(scale) else None
        for scale, size in zip(scales, f.input_shape, strict=True)
    )


def no_single_pixel_output(f: SiteFacts) -> bool:
    """No spatial output size is known to be 1."""
    sizes = output_sizes(f)
    return sizes is None or 1 not in sizes[2:]


def is_power_of_two(value: float) -> bool:
    """2^k for an integer k, negative ones too."""
    return math.frexp(value)[0] == 0.5


def keeps_scales_exact(f: SiteFacts) -> bool:
    """Sampling by out/in is sampling by the scale: no product scale·size is known to have a fraction."""
    scales = f.full_scales
    if scales is None or f.coordinate_transformation_mode == "align_corners":
        return True
    shape = f.input_shape if f.input_shape is not None else (None,) * len(scales)
    return all(
        float(scale).is_integer() or (size is not None and float(scale * size).is_integer())
        for scale, size in zip(scales, shape, strict=False)
    )


ANTIALIAS_MEND = "antialias=0 gives nearly the same on an upscale; on a downscale replace the node"


# ---- rules ----------------------------------------------------------------------------------------------------------

RANK = Rule(
    name="rank",
    holds=lambda f: f.rank is None or 1 <= f.rank <= 8,
    because="the input is of rank {f.rank_name}; TensorRT has 1 to 8 dimensions",
    source="onnx-tensorrt 84b5be1 … 96e7811, importers of Upsample and Resize; measured on TensorRT-RTX 1.7.1",
    mend="reshape around the node",
)
EXTENT = Rule(
    name="extent-given",
    holds=lambda f: f.extent is not None,
    because="the node names neither scales nor sizes where the parser looks for them at opset {f.opset}",
    source=MEASURED,
    mend="give it scales or sizes",
)
VECTOR = Rule(
    name="extent-is-a-vector",
    holds=lambda f: f.operand_rank in (None, 1),
    because="the {f.extent_name} are a tensor of rank {f.operand_rank}; the parser takes rank 1",
    source="onnx-tensorrt 8b52755 … 96e7811, importers of Upsample and Resize; " + MEASURED,
    mend="reshape the constant to one dimension",
)
LENGTH = Rule(
    name="one-value-per-axis",
    holds=lambda f: f.length is None or f.length == (f.rank if f.axes is None else len(f.axes)) or f.rank is None,
    because="it has {f.counted_extent} for {f.counted_axes}",
    source="onnx-tensorrt 8b52755 … 96e7811, importers of Upsample and Resize; " + MEASURED,
    mend="give one value per dimension (1 for those that stay)",
)
DEFAULT_INPUT = Rule(
    name="default-becomes-constant",
    holds=lambda f: f.source is not S.INITIALIZER_AND_INPUT or f.ir_version < 4,
    because="the {f.extent_name} are an initializer and a graph input of the same name: the parser takes the "
    "initializer, and the network has no such input any more",
    source="onnx-tensorrt a9a47bb … 96e7811, ModelImporter.cpp; " + MEASURED,
    mend="leave it if nobody feeds that input; else freeze it and make it one that TensorRT takes",
    effect=Effect.NOTED,
)
SIMPLE_ROUNDING = Rule(
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
    mend="write Resize-11 with asymmetric and nearest_mode=ceil where the target takes it",
    effect=Effect.DIFFERENT,
)
DATA_DEPENDENT = Rule(
    name="extent-not-from-data",
    holds=lambda f: f.source is not S.DATA,
    because="the {f.extent_name} depend on the values of a tensor; TensorRT computes shapes from shapes, constants "
    "and integer inputs",
    source=MEASURED,
    mend="make them a constant, or an int64 input",
)
FLOAT_INPUT = Rule(
    name="runtime-extent-is-integer",
    holds=lambda f: f.source is not S.OTHER_INPUT,
    because="the {f.extent_name} follow a graph input that is neither int32 nor int64, as an input that decides a "
    'shape must be ("… is a shape tensor and must have type Int32 or Int64")',
    source="NVIDIA/TensorRT#2301; " + MEASURED,
    mend="freeze them; to feed them still, make an int64 factor of what is frozen then",
)
CONSTANT_SCALES = Rule(
    name="scales-are-weights",
    holds=lambda f: not f.by_scales or f.source in WEIGHTS | {S.ATTRIBUTE},
    because="the scales come from: {f.source.value}; this parser takes an initializer or a Constant node with `value` "
    'alone ("Resize scales must be an initializer!"; of an Upsample "Assertion failed: scales_input.is_weights()")',
    source="onnx-tensorrt 8b52755 … 85e79f6, importers of Upsample and Resize",
    mend="make the scales an initializer",
)
HYBRID = Rule(
    name="upsample-not-hybrid",
    holds=lambda f: not f.is_hybrid,
    because="it has the attribute `scales` of Upsample-7 in a model of opset {f.opset}, where the scales are the "
    "second input: the form of old tutorials, which is no valid ONNX and which no parser since 5.1 takes",
    source="onnx-tensorrt 8b52755 … 96e7811, importer of Upsample; " + MEASURED,
    mend="drop the attribute and give the scales as second input, or have the model import opset 8 if its other "
    "operators allow",
)
ATTRIBUTE_OR_OPERAND = Rule(
    name="upsample-form-of-its-opset",
    holds=lambda f: (
        not f.is_upsample
        or f.is_hybrid
        or (f.source is S.ATTRIBUTE and has_scales_attribute(f) if f.opset < 9 else f.n_inputs == 2)
    ),
    because="at opset {f.opset} this parser wants the scales of Upsample as the attribute `scales` (below 9) or as the "
    "second of exactly two inputs (from 9 on); the node has {f.counted_inputs}",
    source="onnx-tensorrt 84b5be1 … 96e7811, importer of Upsample; " + MEASURED,
    mend="write the form of the model's opset",
)
UPSAMPLE_SCALES_ARE_FLOAT = Rule(
    name="upsample-scales-are-float32",
    holds=lambda f: not f.is_upsample or f.source not in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT),
    because="the scales of Upsample are no float32",
    source="onnx-tensorrt 8b52755 … 96e7811, importer of Upsample; " + MEASURED,
    mend="convert the constant to float32, as ONNX asks",
)
RESIZE_SCALES_ARE_FLOAT = Rule(
    name="resize-scales-are-float32",
    holds=lambda f: (
        f.is_upsample or not f.by_scales or f.source not in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT)
    ),
    because="the scales are no float32, but the parser reads their bytes as such",
    source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
    mend="convert the constant to float32, as ONNX asks",
    effect=Effect.DIFFERENT,
)
RESIZE_HAS_TWO_INPUTS = Rule(
    name="resize-10-scales-input",
    holds=lambda f: f.is_upsample or f.opset >= 11 or f.n_inputs >= 2,
    because="Resize at opset {f.opset} has its scales as second input; the node has {f.counted_inputs}",
    source="onnx-tensorrt 400df73 … 96e7811, importer of Resize; " + MEASURED,
    mend="give the scales as an input",
)
NO_EMPTY_SIZES = Rule(
    name="no-empty-sizes-beside-scales",
    holds=lambda f: not f.empty_sizes,
    because="a `sizes` tensor without elements stands beside the scales, and the parser takes it for the output size",
    source="onnx-tensorrt 84b5be1 … 96e7811, importer of Resize; measured on TensorRT-RTX 1.7.1",
    mend="leave the input out",
)
NO_TRAILING_EMPTY_INPUT = Rule(
    name="no-trailing-empty-input",
    holds=lambda f: f.is_upsample or not (f.trailing_empty_input and f.n_inputs >= 4),
    because="the fourth input is '' and this parser takes a fourth input for sizes whatever it is",
    source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize (mended by 12eb0d6)",
    mend="drop the trailing ''",
)
AXES_IGNORED = Rule(
    name="axes-ignored",
    holds=lambda f: f.axes_are_trivial,
    because="this parser knows no attribute `axes` and takes {f.extent_name} for all axes in order; axes is {f.axes}",
    source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
    mend="write one value per dimension instead",
    effect=Effect.DIFFERENT,
)
ANTIALIAS_IGNORED = Rule(
    name="antialias-ignored",
    holds=lambda f: not f.antialias,
    because="this parser knows no attribute `antialias` and resizes without",
    source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
    mend=ANTIALIAS_MEND,
    effect=Effect.DIFFERENT,
)
POLICY_IGNORED = Rule(
    name="aspect-policy-ignored",
    holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes,
    because="this parser knows no keep_aspect_ratio_policy and stretches; it is {f.keep_aspect_ratio_policy}",
    source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
    mend="write the sizes that the policy leads to",
    effect=Effect.DIFFERENT,
)
LINEAR_TRAILING_AXES = Rule(
    name="linear-last-three-axes",
    holds=lambda f: f.mode not in ("linear", "bilinear") or f.source is S.FOLDED or trailing_ones(f, 3),
    because="linear changes axes {f.resized_axes} of {f.rank_name}; TensorRT interpolates along the last three at most",
    source="onnx-tensorrt 1cf89dd … 96e7811, canUseLinearResize/canUseNDResize; " + MEASURED,
    mend="split the node in two, or move the axes to the end by a Transpose",
)


def element_types(allowed: Collection[int], source: str) -> Rule:
    """The types of X that a parser takes."""
    names = ", ".join(TensorProto.DataType.Name(elem_type).lower() for elem_type in sorted(allowed))
    return Rule(
        name="input-type",
        holds=lambda f: f.elem_type is None or f.elem_type in allowed,
        because=f"the tensor to resize is {{f.type_name}}; this parser resizes {names}",
        source=source,
        mend="put a Cast to float before the node and one back after it",
    )


def resize_modes(allowed: Collection[str], source: str) -> Rule:
    """The spellings of `mode` that a parser takes at Resize from opset 11 on, where it looks at all."""
    return Rule(
        name="resize-mode",
        holds=lambda f: f.is_upsample or f.mode in allowed,
        because=f"mode is {{f.mode}}; this parser has {', '.join(sorted(allowed))}",
        source=source,
        mend="replace the node, or take a later TensorRT",
    )


def upsample_modes(allowed: Collection[str], source: str) -> Rule:
    """The spellings of `mode` that a parser takes at Upsample."""
    return Rule(
        name="upsample-mode",
        holds=lambda f: not f.is_upsample or f.mode in allowed,
        because=f"mode is {{f.mode}}; this parser has {', '.join(sorted(allowed))} for Upsample",
        source=source,
        mend="replace the node, or take a later TensorRT",
    )


def coordinate_modes(allowed: Collection[str], says: str, source: str) -> Rule:
    """The coordinate transformation modes that a parser takes, and what it says of others."""
    return Rule(
        name="coordinate-transformation-mode",
        holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode in allowed,
        because=f'coordinate_transformation_mode is {{f.coordinate_transformation_mode}} ("{says}")',
        source=source,
        mend="rewrite it in an equal mode where there is one",
    )


def not_inside(containers: Collection[str], source: str) -> Rule:
    """Bodies that a parser does not enter."""
    return Rule(
        name="body-is-imported",
        holds=lambda f: not f.enclosing & frozenset(containers),
        because=f"it stands in a body of {{f.bodies}}; this parser enters none of {', '.join(sorted(containers))}",
        source=source,
        mend="inline the function or take the branch out of the If before converting",
    )
