"""Messages of what writes or rewrites ONNX files, and of what makes another format of them."""

from __future__ import annotations

from resizefix.messages.message import FREEZE, LEGACY, OTHER_OPERATORS, REPAIR, Fix, Message

_COORDINATES = "coordinates-and-rounding"
_WITHOUT = "missing-kernel"
# How a tool says that it has no operator of a name.
_LACKING = (
    "Unsupported operator {}",
    "Unsupported operator: {}",
    "Unsupported op: {}",
    "Unsupported op {}",
    "Unsupported op_type {}",
    "Unsupported {}",
    "Unsupported layer type: {}",
    "Unsupported layer {}",
    "Unsupported node {}",
    "Unsupported ONNX ops of type: {}",
    "Unsupported ONNX op: {}",
    "operator {} is not supported",
    "op {} is not supported",
    "node of type {} is not supported",
    "layer of type {} is not supported",
    "{} op is not supported",
    "{} operator is not supported",
    "{} layer is not supported",
    "operator {} is not implemented",
    "op {} is not implemented",
    "Unknown operator {}",
    "Unknown op {}",
    "Unknown layer type {}",
    "Unknown operator: {}",
    "No conversion function registered for op type: {}",
    "No translator registered for layer: {}",
    "There is no converter for {}",
)


def _row(runtime: str, page: str, cause: str, *texts: str, fixes: tuple[Fix, ...] = OTHER_OPERATORS) -> Message:
    return Message(runtime, texts, cause, page, fixes)


MESSAGES = (
    _row(
        "onnx",
        "old-tensorrt",
        "onnx.version_converter lowers no Resize below opset 11. resizefix lowers it where the old form says the same.",
        "No Adapter From Version $11 for Resize",
        "No Adapter From Version $…for Resize",
        "No Adapter for … Resize",
        "Unsupported conversion due to unavailable input: scale",
        "adapt_upsample_9_8: Assertion `false` failed: Unsuppported conversion due to unavailable input: scale",
        "Upsample in opset 9 needs to have 2 inputs.",
        fixes=(LEGACY, REPAIR),
    ),
    _row(
        "onnx",
        "old-tensorrt",
        "Opset 17 has no axes, no antialias, no policy and no half_pixel_symmetric, and onnx.version_converter drops none of them. "
        "A form without them means the same where one exists.",
        "Resize axes is not supported when converting from opset 18 to opset 17.",
        "Resize coordinate_transformation_mode='…' is not supported when converting to opset 17.",
        "Resize antialias=1 is not supported when converting from opset 18 to opset 17.",
        "Resize keep_aspect_ratio_policy must be 'stretch' when converting from opset 18 to opset 17.",
        fixes=(("legalize", "--target", "tensorrt-10"), *OTHER_OPERATORS),
    ),
    _row(
        "onnx",
        "docs/repair.md",
        "The file has an operator that no opset of ONNX has: exporters before ONNX 1.0 wrote it. Export again with a newer version.",
        "No Schema registered for ResizeNearest",
        "No Op registered for ResizeNearest",
        fixes=(),
    ),
    _row(
        "PyTorch",
        "docs/reference/torch-interpolate.md",
        "Resize and Upsample before opset 11 cannot say how PyTorch samples, so the exported file computes other numbers. "
        "Export with opset 11 or later; `repair` can write the coordinates that were lost.",
        "ONNX's Upsample/Resize operator did not match Pytorch's Interpolation until opset 11",
        fixes=(("repair", "--prefer", "half_pixel"),),
    ),
    _row(
        "PyTorch",
        "docs/reference/torch-interpolate.md",
        "The exporter has no ONNX form of this interpolation in that opset. Export with another mode or a later opset; "
        "`set` changes the interpolation of the file.",
        "ONNX export failed: Couldn't export operator aten::upsample_bilinear2d",
        "ONNX export failed on ATen operator upsample_bilinear2d because",
        "ONNX export failed on upsample_bilinear2d because",
        "Exporting the operator upsample_bicubic2d to ONNX opset version 9 is not supported",
        "Exporting the operator 'aten::upsample_bicubic2d' to ONNX opset version",
        "Exporting the operator 'aten::_upsample_nearest_exact2d' to ONNX opset version",
        "Exporting the operator 'aten::_upsample_bilinear2d_aa' to ONNX opset version",
        "Unsupported: ONNX export of operator upsample_nearest2d",
        "Unsupported: ONNX export of operator upsample_bilinear2d",
        "Unsupported: ONNX export of operator upsample_bicubic2d",
        "No ONNX function found for <OpOverload(op='aten._upsample_bilinear2d_aa'",
        fixes=(),
    ),
    _row(
        "onnx-tf",
        _COORDINATES,
        "TensorFlow has no resize with these coordinates. Other operators compute the same.",
        "Resize coordinate_transformation_mode=pytorch_half_pixel is not supported in Tensorflow.",
        "Resize coordinate_transformation_mode=half_pixel and mode=nearest is not supported in Tensorflow.",
        "Resize coordinate_transformation_mode=… is not supported in Tensorflow.",
        "pytorch_half_pixel mode unsupported",
    ),
    _row(
        "onnx-tf",
        _WITHOUT,
        "onnx-tf has no converter for this version of the operator. Another version or other operators compute the same.",
        "Upsample version 1 is not implemented",
        "Resize version 11 is not implemented",
        fixes=(REPAIR, *OTHER_OPERATORS),
    ),
    _row(
        "onnx2tf",
        "axes-and-rank",
        "onnx2tf resizes tensors of four and five axes alone. Other operators compute the same for other ranks.",
        "Currently, Resize operations other than 4D and 5D are not supported.",
    ),
    _row(
        "onnx2keras",
        _WITHOUT,
        "onnx2keras has no converter for this operator. Other operators compute the same.",
        "KeyError: 'Resize'",
        "AVAILABLE_CONVERTERS[node_type]( KeyError: 'Resize'",
        "KeyError: 'Upsample'",
    ),
    _row(
        "Caffe2",
        _WITHOUT,
        "Caffe2 reads no Resize. Other operators compute the same.",
        "Don't know how to translate op Resize",
        "Don't know how to translate op Upsample",
    ),
    _row(
        "onnx-coreml",
        "old-tensorrt",
        "onnx-coreml reads the scales of Upsample from an attribute, and the file has them as an input. "
        "The file needs the form of opset 7 or 8.",
        "This ONNX upsample layer has 'scales' provided as an input. CoreML upsample requires 'scales' as an attribute of the layer.",
        "in _convert_upsample scales = node.attrs[\"scales\"] KeyError: 'scales'",
        "Error while converting op of type: Upsample.",
        fixes=(LEGACY, FREEZE),
    ),
    _row(
        "onnx-coreml",
        "scales-must-be-constant",
        "onnx-coreml wants constant scales or sizes, and other nodes compute those of this model. Make them constant.",
        "Error while converting op of type: Resize.",
        "in _convert_resize",
        fixes=(FREEZE, *OTHER_OPERATORS),
    ),
    _row(
        "Barracuda",
        _COORDINATES,
        "Barracuda ignores this attribute and computes another resize without an error. Other operators compute the same as the file.",
        "Unsupported attribute nearest_mode, node … of type Resize. Value will be ignored and defaulted to",
        "Unsupported attribute coordinate_transformation_mode, node … of type Resize. Value will be ignored and defaulted to",
        "Unsupported attribute cubic_coeff_a, node … of type Resize. Value will be ignored and defaulted to",
        "Unsupported attribute exclude_outside, node … of type Resize. Value will be ignored and defaulted to",
    ),
    _row(
        "TensorFlow Lite",
        _WITHOUT,
        "The interpreter or the compiler for Edge TPU is older than the operator that TensorFlow wrote. "
        "Convert from a file in which other operators compute the same.",
        "Didn't find op for builtin opcode 'RESIZE_NEAREST_NEIGHBOR' version '3'",
        "Didn't find op for builtin opcode 'RESIZE_BILINEAR' version '3'",
        "RESIZE_NEAREST_NEIGHBOR … Operation version not supported",
        "RESIZE_BILINEAR … Operation version not supported",
        "RESIZE_NEAREST_NEIGHBOR … Operation is otherwise supported, but not mapped",
        "RESIZE_BILINEAR … Operation is otherwise supported, but not mapped",
    ),
    _row(
        "tf2onnx",
        "scales-must-be-constant",
        "tf2onnx writes a resize of an old opset for constant sizes alone, and the sizes are computed. "
        "Give `--opset 11` or later, or a fixed input size.",
        "node … ResizeBilinear: exception get tensor value: … must be Const",
        "node … ResizeNearestNeighbor: exception get tensor value: … must be Const",
        "in upsample_op7 … must be Const",
        fixes=(),
    ),
    _row(
        "onnx2torch",
        "axes-and-rank",
        "PyTorch resizes the axes behind batch and channels alone, and this node scales those. Other operators compute that.",
        "Pytorch's interpolate cannot scale channel or batch dimensions.",
        "Pytorch's interpolate cannot resize channel or batch dimensions.",
    ),
    _row(
        "TNN",
        _COORDINATES,
        "TNN has not these coordinates, and computes others instead. Other operators compute the same as the file.",
        "resize: coordinate_transformation_mode(…) is not supported, result may be different",
    ),
    _row(
        "CoreML",
        _WITHOUT,
        "CoreML enlarges by fractions in mode linear alone, and with two kinds of coordinates. Other operators compute the same.",
        "Fractional upsample only compatible with align_corners=true or align_corners=false",
    ),
    _row(
        "other converters",
        _WITHOUT,
        "The tool that speaks has no Resize or Upsample, or not this version of it. Other operators compute the same.",
        *(form.format(operator) for form in _LACKING for operator in ("Resize", "Upsample")),
        fixes=(*OTHER_OPERATORS, REPAIR),
    ),
)
