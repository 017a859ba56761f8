"""TensorRT 10 and TensorRT-RTX: parsers that know `axes`, and refuse the other additions of Resize-18 and -19."""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.facts import SiteFacts
from resizefix.targets.operators import AT_THE_EDGES, UINT8_IS_CAST
from resizefix.targets.target import Effect, Rule, Target
from resizefix.targets.tensorrt_8_to_9 import FROM_8_5, TYPE_LIST, TYPES_9
from resizefix.targets.tensorrt_any import ANTIALIAS_MEND, MEASURED, WEIGHTS, S, element_types

_FED = (S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED)


def _counted_from_the_front(f: SiteFacts) -> set[int]:
    """The listed axes as the parser counts them, those that the input does not have included."""
    return {axis + (f.rank or 1 << 30) if axis < 0 else axis for axis in f.axes or ()}


HALF_WEIGHTS = Rule(
    name="extent-is-not-float16",
    holds=lambda f: f.source not in WEIGHTS or f.operand_type != TensorProto.FLOAT16,
    because="the {f.extent_name} are a float16 constant, which the parser takes for zeros without a word: the output "
    "has no elements",
    source="measured on TensorRT-RTX 1.7.1",
    mend="convert the constant to the type that ONNX asks for, float32 for scales, int64 for sizes",
    effect=Effect.DIFFERENT,
)
FED_IN_IF = Rule(
    name="fed-extent-not-in-an-if",
    holds=lambda f: "If" not in f.enclosing or f.source not in _FED,
    because="it stands in a branch of an If and its {f.extent_name} follow an integer input; the model parses, but the "
    "builder crashes where the profile gives that input a range",
    source="measured on TensorRT-RTX 1.7.1",
    mend="take the resize out of the If, or freeze it",
)
NO_ANTIALIAS = Rule(
    name="no-antialias",
    holds=lambda f: f.is_upsample or not f.antialias,
    because='antialias is 1 ("Antialiasing is not supported currently.")',
    source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
    mend=ANTIALIAS_MEND,
)
STRETCH_ALONE = Rule(
    name="aspect-policy-stretch",
    holds=lambda f: f.is_upsample or f.keep_aspect_ratio_policy == "stretch",
    because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}; this parser has stretch alone",
    source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
    mend="write the sizes that the policy leads to",
)
UNIQUE_AXES = Rule(
    name="axes-are-unique",
    holds=lambda f: f.axes is None or len(_counted_from_the_front(f)) == len(f.axes),
    because="axes {f.axes} name an axis twice",
    source="onnx-tensorrt 973d68d … 96e7811, checker of Resize; " + MEASURED,
    mend="name each axis once",
)
AXES_OF_THE_INPUT = Rule(
    name="axes-of-the-input",
    holds=lambda f: f.axes is None or f.rank is None or all(-f.rank <= axis <= f.rank for axis in f.axes),
    because='axes {f.axes} of an input of rank {f.rank_name}, which is no valid ONNX ("Axis must be in the range [0, '
    'nbDims]")',
    source="onnx-tensorrt 973d68d … 96e7811, convertAxis; measured on TensorRT-RTX 1.7.1",
    mend="name axes that the input has",
)
AXIS_BEHIND_THE_LAST = Rule(
    name="axis-behind-the-last",
    holds=lambda f: f.axes is None or f.rank is None or f.rank not in f.axes,
    because="axes {f.axes} of an input of rank {f.rank_name}, which is no valid ONNX; this parser counts one axis "
    "more than there are",
    source="onnx-tensorrt 973d68d … 96e7811, convertAxis; parsed and built on TensorRT-RTX 1.7.1, never run",
    mend="name axes that the input has",
    effect=Effect.DIFFERENT,
)
AXES_WITH_TENSOR_SCALES = Rule(
    name="axes-with-tensor-scales",
    holds=lambda f: not f.by_scales or f.axes_are_trivial or f.source in WEIGHTS | {S.ATTRIBUTE, S.CONSTANT_LIST},
    because="axes {f.axes} go with constant scales, or with sizes; the scales are: {f.source.value}",
    source="onnx-tensorrt 973d68d … 96e7811, importer of Resize; " + MEASURED,
    mend="give one scale per dimension (Concat), or sizes",
)
AXES_WITH_CONSTANT_SIZES = Rule(
    name="axes-with-constant-sizes",
    holds=lambda f: (
        not f.by_sizes
        or f.axes_are_trivial
        or f.source not in WEIGHTS | {S.CONSTANT_LIST}
        or f.input_shape is None
        or all(
            size is not None or axis in {listed % len(f.input_shape) for listed in f.axes or ()}
            for axis, size in enumerate(f.input_shape)
        )
    ),
    because="with axes {f.axes} and constant sizes every other axis must be static; the input is {f.shown_input_shape}",
    source="onnx-tensorrt 973d68d … 96e7811, importer of Resize; " + MEASURED,
    mend="give sizes for all axes as Concat(Shape(x)[:2], hw), or scales",
)
INT8_FROM_1_5 = Rule(
    name="int8-from-1.5",
    holds=lambda f: f.elem_type != TensorProto.INT8,
    because="the tensor is int8, which TensorRT-RTX 1.4 parses and then fails to build",
    source="measured on TensorRT-RTX 1.4.0 (fails), 1.5.0, 1.6.1, 1.7.1 (build)",
    mend="take TensorRT-RTX 1.5 or later",
    effect=Effect.NOTED,
)

_FROM_10 = (
    *FROM_8_5,
    HALF_WEIGHTS,
    FED_IN_IF,
    element_types(TYPES_9, TYPE_LIST.format(commit="973d68d … 96e7811") + "; " + MEASURED),
    NO_ANTIALIAS,
    STRETCH_ALONE,
    UNIQUE_AXES,
    AXES_OF_THE_INPUT,
    AXIS_BEHIND_THE_LAST,
    AXES_WITH_TENSOR_SCALES,
    AXES_WITH_CONSTANT_SIZES,
)
TENSORRT_10 = Target(
    "tensorrt-10", "onnx-tensorrt 973d68d (TensorRT 10.0) to 96e7811 (10.1)", _FROM_10, (UINT8_IS_CAST,), AT_THE_EDGES
)
TENSORRT_RTX = Target(
    "tensorrt-rtx", "TensorRT-RTX 1.4.0.76 to 1.7.1.116", (*_FROM_10, INT8_FROM_1_5), (UINT8_IS_CAST,), AT_THE_EDGES
)
