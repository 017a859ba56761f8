"""TensorRT: where the scales or sizes come from, of which type they are, and what they say."""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.conditions import WEIGHTS, S, ratio_is_scale
from resizefix.targets.target import Rule, differs, noted
from resizefix.targets.tensorrt_sources import MEASURED

_INTEGERS = (TensorProto.INT32, TensorProto.INT64)
_FED = (S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED)

EXTENT: tuple[Rule, ...] = (
    Rule(
        name="extent-is-a-vector",
        holds=lambda f: f.operand_rank in (None, 1),
        because="the {f.extent_name} are a tensor of rank {f.operand_rank}; the parser takes rank 1",
        source="onnx-tensorrt 8b52755 … 96e7811, importers of Upsample and Resize; " + MEASURED,
        fix="reshape the constant to one dimension",
    ).only(since="5.1"),
    Rule(
        name="one-value-per-axis",
        holds=lambda f: f.length is None or f.length == (f.rank if f.axes is None else len(f.axes)) or f.rank is None,
        because="it has {f.counted_extent} for {f.counted_axes}",
        source="onnx-tensorrt 8b52755 … 96e7811, importers of Upsample and Resize; " + MEASURED,
        fix="give one value per dimension (1 for those that stay)",
    ).only(since="6.0"),
    Rule(
        name="extent-is-not-negative",
        holds=lambda f: f.values is None or all(value >= 0 for value in f.values),
        because="the {f.extent_name} are {f.values}; a value below 0 or NaN has no meaning",
        source="measured on TensorRT-RTX 1.7.1",
        fix="give values above 0",
    ).only(since="8.0"),
    Rule(
        name="scales-leave-batch-and-channels",
        holds=lambda f: not f.is_upsample or f.values is None or (len(f.values) == 4 and f.values[:2] == (1.0, 1.0)),
        because="the scales are {f.values}; the plugin takes [1, 1, height, width]",
        source="onnx-tensorrt a9a47bb … 8b52755, importer of Upsample",
        fix="resize H and W alone; transpose other axes there",
    ).only(until="5.1"),
    differs(
        name="batch-is-not-scaled",
        holds=lambda f: f.values is None or f.values[:1] == (1.0,),
        because="the first scale is dropped, since the network has no batch dimension: scales {f.values}",
        source="onnx-tensorrt 400df73, importers of Upsample and Resize",
        fix="do not resize the batch dimension",
    ).only(since="6.0", until="6.0"),
    Rule(
        name="scales-are-weights",
        holds=lambda f: not f.by_scales or f.source in WEIGHTS | {S.ATTRIBUTE},
        because="the scales come from {f.source.value}; this parser takes an initializer or a Constant node with "
        '`value` alone ("Resize scales must be an initializer!"; of an Upsample "Assertion failed: '
        'scales_input.is_weights()")',
        source="onnx-tensorrt 8b52755 … 85e79f6, importers of Upsample and Resize",
        fix="make the scales an initializer",
    ).only(since="6.0", until="7.2"),
    Rule(
        name="scales-are-weights",
        holds=lambda f: (
            not f.by_scales or f.source in WEIGHTS | {S.ATTRIBUTE} or (f.source is S.CONSTANT_LIST and f.opset >= 12)
        ),
        because="the scales come from {f.source.value}; this parser takes an initializer or a Constant node alone "
        '("Resize scales must be an initializer!")',
        source="onnx-tensorrt 8fea430 … 85e79f6, importers of Upsample, Resize and Constant",
        fix="make the scales an initializer",
    ).only(since="8.0", until="8.0"),
    Rule(
        name="upsample-scales-are-float32",
        holds=lambda f: not f.is_upsample or f.source not in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT),
        because="the scales of Upsample are no float32",
        source="onnx-tensorrt 8b52755 … 96e7811, importer of Upsample; " + MEASURED,
        fix="convert the constant to float32, as ONNX asks",
    ).only(since="5.1"),
    differs(
        name="resize-scales-are-float32",
        holds=lambda f: (
            f.is_upsample or not f.by_scales or f.source not in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT)
        ),
        because="the scales are no float32, but the parser reads their bytes as such",
        source="onnx-tensorrt 84b5be1 … 1def182, importer of Resize",
        fix="convert the constant to float32, as ONNX asks",
    ).only(since="6.0", until="9"),
    differs(
        name="extent-is-not-float16",
        holds=lambda f: f.source not in WEIGHTS or f.operand_type != TensorProto.FLOAT16,
        because="the {f.extent_name} are a float16 constant, which the parser takes for zeros without a word: the "
        "output has no elements",
        source="measured on TensorRT-RTX 1.7.1",
        fix="convert the constant to the type that ONNX asks for, float32 for scales, int64 for sizes",
    ).only(since="10"),
    differs(
        name="sizes-not-in-value-ints",
        holds=lambda f: not (f.by_sizes and f.source is S.CONSTANT_LIST),
        because="the sizes are a Constant node's `value_ints`, whose bytes TensorRT 8.0 to 9.1 read as floats",
        source="onnx-tensorrt 8fea430 … 9d2d786, importer of Constant (fixed by 306247b)",
        fix="make the sizes an initializer",
    ).only(since="8.0", until="9"),
    Rule(
        name="extent-not-from-data",
        holds=lambda f: f.source is not S.DATA,
        because="the {f.extent_name} depend on the values of a tensor; TensorRT computes shapes from shapes, constants "
        "and integer inputs",
        source=MEASURED,
        fix="make them a constant, or an int64 input",
    ).only(since="7.0"),
    Rule(
        name="runtime-extent-is-integer",
        holds=lambda f: f.source is not S.OTHER_INPUT,
        because="an input that decides a shape must be int32 or int64, and the {f.extent_name} follow another graph "
        'input ("… is a shape tensor and must have type Int32 or Int64")',
        source="NVIDIA/TensorRT#2301; " + MEASURED,
        fix="freeze them; to feed them still, promote the frozen scales with --for tensorrt",
    ).only(since="7.0"),
    Rule(
        name="tensor-scales-are-float",
        holds=lambda f: (
            not f.by_scales or f.source in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT, TensorProto.DOUBLE)
        ),
        because="the scales are computed as {f.operand_type_name}; as a tensor they must be float32",
        source="measured on TensorRT-RTX 1.7.1",
        fix="put a Cast to float before the node, or make them an initializer",
    ).only(since="8.4"),
    Rule(
        name="tensor-sizes-are-integers",
        holds=lambda f: not f.by_sizes or f.source in WEIGHTS or f.operand_type in (None, *_INTEGERS),
        because="the sizes are computed as {f.operand_type_name}; as a tensor they must be int64 or int32",
        source="measured on TensorRT-RTX 1.7.1",
        fix="put a Cast to int64 before the node, or make them an initializer",
    ).only(since="8.4"),
    Rule(
        name="fed-extent-has-a-length",
        holds=lambda f: (
            f.source not in (S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED)
            or f.length is not None
            or f.operand_rank is None
        ),
        because="the integer input that gives the {f.extent_name} has no fixed length",
        source="measured on TensorRT-RTX 1.4.0 … 1.7.1",
        fix="declare the input with its length",
    ).only(since="8.4"),
    Rule(
        name="no-float-quotient",
        holds=lambda f: f.source is not S.INTEGER_INPUT_DIVIDED,
        because="the {f.extent_name} are an integer input divided as floats by a constant, which the builder mostly "
        "fails on (invalid shape profile)",
        source="measured on TensorRT-RTX 1.4.0 … 1.7.1: divisors 10, 100, 1000 fail, powers of two build",
        fix="divide in int64, sizes = Shape(x) · f ÷ d, or multiply by 1/d",
    ).only(since="8.4"),
    differs(
        name="tensor-scales-sample-by-size",
        holds=lambda f: f.source is not S.FOLDED or ratio_is_scale(f),
        because="scales that are no initializer become an output size, and the positions follow out/in instead of "
        "the scales {f.values}",
        source="onnx-tensorrt 1da7332 … 96e7811, resizeShapeTensor; " + MEASURED,
        fix="make the scales an initializer",
    ).only(since="8.4"),
    Rule(
        name="fed-extent-not-in-an-if",
        holds=lambda f: "If" not in f.enclosing or f.source not in _FED,
        because="it stands in a branch of an If and its {f.extent_name} follow an integer input; the model parses, "
        "but the builder crashes where the profile gives that input a range",
        source="measured on TensorRT-RTX 1.7.1",
        fix="take the resize out of the If, or freeze it",
    ).only(since="10"),
    noted(
        name="default-becomes-constant",
        holds=lambda f: f.source is not S.INITIALIZER_AND_INPUT or f.ir_version < 4,
        because="the {f.extent_name} are an initializer and a graph input of the same name: the parser takes the "
        "initializer, and the network has no such input any more",
        source="onnx-tensorrt a9a47bb … 96e7811, ModelImporter.cpp; " + MEASURED,
        fix="leave it if that input is never fed; else freeze it and make it one that TensorRT takes",
    ),
)
