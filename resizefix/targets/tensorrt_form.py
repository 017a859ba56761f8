"""TensorRT: which operator, in which form and opset, and which inputs and attributes it names."""

from __future__ import annotations

from resizefix.targets.conditions import WEIGHTS, S
from resizefix.targets.target import Rule, noted
from resizefix.targets.tensorrt_sources import MEASURED

_LEGACY = "write Upsample-7 in a model of opset 7 or 8"

FORM: tuple[Rule, ...] = (
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
        because="a `sizes` tensor without elements stands beside the scales, and the parser takes it for the output "
        "size",
        source="onnx-tensorrt 84b5be1 … 96e7811, importer of Resize; measured on TensorRT-RTX 1.7.1",
        fix="leave the input out",
    ).only(since="7.0"),
    Rule(
        name="no-empty-constant-node",
        holds=lambda f: not f.empty_constant,
        because="an input is the output, without elements, of a Constant node, which this parser forgets "
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
