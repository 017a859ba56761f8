"""The TensorRT targets, oldest first: the releases, and the rows that are selected for each.

Here: which operator, in which form and opset; where its scales or sizes come from, and what they say.
"""

from __future__ import annotations

from functools import partial

from onnx import TensorProto

from resizefix.targets.shared_rules import WEIGHTS, S, ratio_is_scale
from resizefix.targets.target import EVERY_MOVE, OperatorLimit, Release, Rule, Target, differs, noted, targets_of
from resizefix.targets.tensorrt_sampling import MEASURED, SAMPLING, TENSORS

_UINT8 = frozenset({TensorProto.UINT8})
_LEGACY = "write Upsample-7 in a model of opset 7 or 8"
_INTEGERS = (TensorProto.INT32, TensorProto.INT64)
LENGTH_IS_SEEN = "length-is-seen-equal"
FED_AS_INTEGER = "runtime-extent-is-integer"
_fed_as_integer = partial(
    Rule,
    name=FED_AS_INTEGER,
    because="an input that decides a shape must be int32 or int64, and the {f.extent_name} follow another graph "
    'input ("… is a shape tensor and must have type Int32 or Int64")',
    source="NVIDIA/TensorRT#2301; " + MEASURED,
)
_FED = (S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED)

FORM = (
    Rule(
        name="extent-given",
        holds=lambda f: f.extent is not None,
        because="the node names neither scales nor sizes where the parser looks for them at opset {f.opset}",
        source=MEASURED,
        fix="give it scales or sizes",
    ).only(since="6.0"),
    Rule(
        name="upsample-alone",
        holds=lambda f: f.is_upsample,
        because='this parser has no importer for Resize ("No importer registered for op: Resize")',
        source="onnx-tensorrt a9a47bb … 8b52755, builtin_op_importers.cpp",
        fix=_LEGACY,
    ).only(until="5.1"),
    Rule(
        name="scales-attribute",
        holds=lambda f: (
            not f.is_upsample or "scales" in f.attributes or {"height_scale", "width_scale"} <= f.attributes
        ),
        because='this parser reads the scales from the attribute alone and fails with "Attribute not found: '
        'height_scale"',
        source="onnx-tensorrt a9a47bb, importer of Upsample; onnx-tensorrt#77",
        fix=_LEGACY,
    ).only(until="5.0"),
    noted(
        name="hybrid-is-taken-here-alone",
        holds=lambda f: not f.is_hybrid,
        because="it has the attribute `scales` of Upsample-7 in a model of opset {f.opset}. This parser takes it, "
        "because it does not read the opset; ONNX and other parsers forbid it",
        source="onnx-tensorrt a9a47bb, importer of Upsample",
        fix="have the model import opset 8 if its other operators allow",
    ).only(until="5.0"),
    Rule(
        name="upsample-not-hybrid",
        holds=lambda f: not f.is_hybrid,
        because="it has the attribute `scales` of Upsample-7 in a model of opset {f.opset}, where the scales are the "
        "second input. Old tutorials write this form; it is no valid ONNX, and no parser since 5.1 takes it",
        source="onnx-tensorrt 8b52755 … 96e7811, importer of Upsample; " + MEASURED,
        fix="drop the attribute and give the scales as second input, or have the model import opset 8 if its other "
        "operators allow",
    ).only(since="5.1"),
    Rule(
        name="upsample-form-of-its-opset",
        holds=lambda f: (
            not f.is_upsample
            or f.is_hybrid
            or (f.source is S.ATTRIBUTE if f.opset < 9 else f.n_inputs == 2 and f.source in WEIGHTS)
        ),
        because="below opset 9 this parser takes the scales as an attribute, and from 9 on as the second of two "
        "inputs, an initializer or a Constant node with `value`. At opset {f.opset} they come from {f.source.value}",
        source="onnx-tensorrt 8b52755, importer of Upsample",
        fix=_LEGACY,
    ).only(since="5.1", until="5.1"),
    Rule(
        name="exactly-two-inputs",
        holds=lambda f: f.is_hybrid or (f.n_inputs == 2 and f.opset >= (9 if f.is_upsample else 1)),
        because="this parser takes X and scales as inputs and nothing else; the node has {f.counted_inputs} at opset "
        "{f.opset}. A bug of this version refuses the attribute form for every input with a batch dimension",
        source="onnx-tensorrt 400df73, importers of Upsample and Resize",
        fix="write Upsample-9 or Resize-10",
    ).only(since="6.0", until="6.0"),
    Rule(
        name="upsample-form-of-its-opset",
        holds=lambda f: (
            not f.is_upsample
            or f.is_hybrid
            or (f.source is S.ATTRIBUTE and "scales" in f.attributes if f.opset < 9 else f.n_inputs == 2)
        ),
        because="below opset 9 this parser takes the scales of Upsample as the attribute `scales`, and from 9 on as "
        "the second of exactly two inputs. At opset {f.opset} the node has {f.counted_inputs}",
        source="onnx-tensorrt 84b5be1 … 96e7811, importer of Upsample; " + MEASURED,
        fix="write the form of the model's opset",
    ).only(since="7.0"),
    Rule(
        name="resize-10-scales-input",
        holds=lambda f: not f.is_old_resize or f.n_inputs >= 2,
        because="Resize at opset {f.opset} has its scales as second input; the node has {f.counted_inputs}",
        source="onnx-tensorrt 400df73 … 96e7811, importer of Resize; " + MEASURED,
        fix="give the scales as an input",
    ).only(since="7.0"),
    Rule(
        name="no-trailing-empty-input",
        holds=lambda f: f.is_upsample or not (f.trailing_empty_input and f.n_inputs >= 4),
        because="the fourth input is '' and this parser takes a fourth input for sizes whatever it is",
        source="onnx-tensorrt 84b5be1 … 1da7332, importer of Resize (fixed by 12eb0d6)",
        fix="drop the trailing ''",
    ).only(since="7.0", until="8.4"),
    Rule(
        name="no-empty-sizes-beside-scales",
        holds=lambda f: not f.empty_sizes,
        because="a `sizes` tensor without elements stands next to the scales, and the parser takes it for the output "
        "size",
        source="onnx-tensorrt 84b5be1 … 96e7811, importer of Resize; measured on TensorRT-RTX 1.7.1",
        fix="leave the input out",
    ).only(since="7.0"),
    Rule(
        name="no-empty-constant-node",
        holds=lambda f: not f.empty_constant,
        because="an input is an empty Constant, which this parser loses "
        '("Assertion failed: ctx->tensors().count(inputName)")',
        source="onnx-tensorrt 84b5be1, ModelImporter.cpp (fixed by ba53ee5); NVIDIA/TensorRT#284",
        fix="make it an initializer",
    ).only(since="7.0", until="7.0"),
    Rule(
        name="initializers-are-inputs",
        holds=lambda f: f.initializers_are_inputs,
        because="an initializer is not listed as a graph input, and this parser finds no other initializers",
        source="onnx-tensorrt a9a47bb … 8b52755, ModelImporter.cpp, importInputs",
        fix="write the model as IR 3, every initializer a graph input too",
    ).only(until="5.1"),
)

EXTENT = (
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
        because="the scales come from {f.source.value}; this parser takes only an initializer or a Constant node "
        'with `value` ("Resize scales must be an initializer!"; of an Upsample "Assertion failed: '
        'scales_input.is_weights()")',
        source="onnx-tensorrt 8b52755 … 85e79f6, importers of Upsample and Resize",
        fix="make the scales an initializer",
    ).only(since="6.0", until="7.2"),
    Rule(
        name="scales-are-weights",
        holds=lambda f: (
            not f.by_scales or f.source in WEIGHTS | {S.ATTRIBUTE} or (f.source is S.CONSTANT_LIST and f.opset >= 12)
        ),
        because="the scales come from {f.source.value}; this parser takes only an initializer or a Constant node "
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
        because="the {f.extent_name} are a float16 constant, which the parser silently reads as zeros: the "
        "output has no elements",
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
        fix="export the model so that shapes, constants or an input of its own give them; no command can",
    ).only(since="7.0"),
    # Where scales must be weights, an input of integers is refused as well.
    _fed_as_integer(holds=lambda f: f.source is not S.OTHER_INPUT, fix="freeze them").only(since="7.0", until="8.0"),
    _fed_as_integer(
        holds=lambda f: f.source is not S.OTHER_INPUT,
        fix="to feed them still, make the input int64 (resizefix legalize --target {target.typed} --shape-inputs"
        "{f.denominator_option}); else freeze them",
    ).only(since="8.4"),
    Rule(
        name="tensor-scales-are-float",
        holds=lambda f: (
            not f.by_scales or f.source in WEIGHTS or f.operand_type in (None, TensorProto.FLOAT, TensorProto.DOUBLE)
        ),
        because="the scales are computed as {f.operand_type_name}; as a tensor they must be float32",
        fix="put a Cast to float before the node, or make them an initializer",
    ).only(since="8.4"),
    Rule(
        name="tensor-sizes-are-integers",
        holds=lambda f: not f.by_sizes or f.source in WEIGHTS or f.operand_type in (None, *_INTEGERS),
        because="the sizes are computed as {f.operand_type_name}; as a tensor they must be int64 or int32",
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
    Rule(
        name=LENGTH_IS_SEEN,
        holds=lambda f: not f.hidden_at,
        because="it meets another tensor at {f.hidden_at!r}, and a float division by an even number computes its "
        "{f.extent_name}: for many ranges of sizes the builder does not see equal lengths",
        source="built on TensorRT-RTX 1.7.1: divisors 6, 10, 12, 14, 18, 20, 24 fail, odd ones and powers of two build",
        fix="`legalize` gives it the size of the tensor that it meets, by a Reshape",
    ).only(since="10"),
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

RELEASES = (
    Release("5.0", "onnx-tensorrt a9a47bb (TensorRT 4.0 to 5.0.2)"),
    Release("5.1", "onnx-tensorrt 8b52755"),
    Release("6.0", "onnx-tensorrt 400df73"),
    Release("7.0", "onnx-tensorrt 84b5be1 (TensorRT 7.0.0)"),
    Release("7.1", "onnx-tensorrt 1cf89dd (TensorRT 7.1)"),
    Release("7.2", "onnx-tensorrt eb559b6 (TensorRT 7.2.1)"),
    Release("8.0", "onnx-tensorrt 8fea430 (TensorRT 8.0) to 85e79f6 (8.2)", last="8.2"),
    Release("8.4", "onnx-tensorrt 1da7332 (TensorRT 8.4 GA)"),
    Release("8.5", "onnx-tensorrt 3b008c4 (TensorRT 8.5 GA) to 6ba67d3 (8.6.1)"),
    Release("9", "onnx-tensorrt 9d2d786 (TensorRT 9.0) to 1def182 (9.3)"),
    Release("10", "onnx-tensorrt 973d68d (TensorRT 10.0) to 96e7811 (10.1)"),
    Release("rtx", "TensorRT-RTX 1.4.0.76 to 1.7.1.116"),
)

# "documented": docs/operators.md of onnx-tensorrt, which lists the types of every operator since 8.0.
LIMITS = (
    OperatorLimit(
        frozenset({"ConvTranspose"}),
        "onnx-tensorrt 5.0 and 5.1, importer of ConvTranspose",
        ranks=frozenset({5}),
        until="5.1",
    ),
    OperatorLimit(
        frozenset({"AveragePool"}),
        "onnx-tensorrt 5.0 to 6.0, importer of AveragePool",
        ranks=frozenset({5}),
        until="6.0",
    ),
    OperatorLimit(
        EVERY_MOVE | {"Identity"},
        "onnx-tensorrt 5.0 to 8.4, convertDtype: there is no such tensor",
        types=_UINT8,
        until="8.4",
    ),
    # From 8.6 on a Cast. TensorRT-RTX 1.7.1: "TensorRT does not support UINT8 types for intermediate tensors".
    OperatorLimit(
        EVERY_MOVE,
        "documented from 8.5 on; measured on TensorRT-RTX 1.7.1 (bool, int8, int32 and int64 are taken everywhere)",
        types=_UINT8,
        only_at_the_edges=True,
        since="8.5",
    ),
)

TENSORRT_TARGETS: tuple[Target, ...] = targets_of(
    "tensorrt", RELEASES, (*FORM, *EXTENT, *SAMPLING, *TENSORS), LIMITS, "measured on TensorRT-RTX 1.7.1"
)
# Those that the form of `trt-legacy` is for.
LEGACY_TARGETS = tuple(
    target for target in TENSORRT_TARGETS if target.version in ("5.0", "5.1", "6.0", "7.0", "7.1", "7.2")
)

# The targets that the TensorRT to be installed from PyPI answers for, and what the report calls it then.
SPEAKS_FOR = {"tensorrt-rtx": "library.parser", "tensorrt-10": "library.parser-for-tensorrt-10"}
