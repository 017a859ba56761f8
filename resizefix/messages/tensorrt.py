"""Messages of TensorRT's parsers, the oldest first. `tensorrt_builder` has those of its builder."""

from __future__ import annotations

from resizefix.messages.message import FREEZE, LEGACY, NEWEST, REPAIR, Fix, Message, legalize

_RULES = "docs/reference/targets.md"


def _row(cause: str, *texts: str, page: str = _RULES, fixes: tuple[Fix, ...] = (NEWEST,), rule: str = "") -> Message:
    """What writes for a target may need constant scales or a whole node first."""
    if any(fix == LEGACY or "--target" in fix for fix in fixes):
        fixes = tuple(dict.fromkeys((*fixes, FREEZE, REPAIR)))
    return Message("TensorRT", texts, cause, page, fixes, rule=rule)


MESSAGES = (
    _row(
        "TensorRT {releases} reads the scales of Upsample from an attribute, and the file has them as an input. "
        "The file needs the form of opset 7 or 8.",
        "Attribute not found: height_scale",
        page="old-tensorrt",
        fixes=(LEGACY, legalize("tensorrt-5.0")),
        rule="scales-attribute",
    ),
    _row(
        "TensorRT {releases} has no Resize, and older releases no Upsample of opset 9. "
        "The file needs the form of opset 7 or 8.",
        "No importer registered for op: Resize",
        "No importer registered for op: Upsample",
        "getPluginCreator could not find plugin Resize version",
        "getPluginCreator could not find plugin Upsample version",
        page="old-tensorrt",
        fixes=(LEGACY, legalize("tensorrt-5.1"), legalize("tensorrt-6.0")),
        rule="upsample-alone",
    ),
    _row(
        "The model has a plugin of TensorRT in place of a resize, and the library of plugins is not loaded. "
        "Call `initLibNvInferPlugins` before parsing, or export the model with ONNX's own Resize.",
        "No importer registered for op: ResizeNearest_TRT",
        "No importer registered for op: ResizeBilinear_TRT",
        "No importer registered for op: ResizeNearest",
        "getPluginCreator could not find plugin ResizeNearest",
        "getPluginCreator could not find plugin ResizeNearest_TRT",
        "Cannot deserialize plugin ResizeNearest",
        "Unsupported operation _ResizeNearest_TRT",
        "Unsupported operation _ResizeNearestNeighbor",
        page="old-tensorrt",
        fixes=(),
    ),
    _row(
        "TensorRT {releases} upsamples with mode nearest alone, and this node has another mode. "
        "Other operators compute the same.",
        'Assertion failed: mode == "nearest"',
        page="old-tensorrt",
        fixes=(legalize("tensorrt-5.1"),),
        rule="upsample-mode: has nearest for Upsample",
    ),
    _row(
        "TensorRT {releases} upsamples with mode nearest or linear alone, and this node has another mode. "
        "Other operators compute the same.",
        'Assertion failed: mode == "nearest" || mode == "linear"',
        "The attribute mode can only be nearest or linear.",
        page="broken-by-a-converter",
        fixes=(legalize("tensorrt-7.0"), legalize("tensorrt-8.0"), legalize("tensorrt-6.0")),
        rule="upsample-mode: has linear, nearest for Upsample",
    ),
    _row(
        "TensorRT {releases} upsamples images of four axes alone. Other operators compute the same for other ranks.",
        "Assertion failed: tensor.getDimensions().nbDims == «3»",
        fixes=(legalize("tensorrt-5.1"),),
        rule="rank-4",
    ),
    _row(
        "TensorRT {releases} upsamples images of four or five axes alone. Other operators compute the same for other ranks.",
        "Assertion failed: nbSpatialDims == «2» || nbSpatialDims == «3»",
        fixes=(legalize("tensorrt-6.0"),),
        rule="upsample-rank",
    ),
    _row(
        "TensorRT {releases} upsamples height and width alone, and this node scales batch or channels. "
        "Other operators compute that.",
        "Assertion failed: scales_ptr[0] == 1 && scales_ptr[1] == 1",
        "Assertion failed: scales[0] == 1 && scales[1] == 1",
        fixes=(legalize("tensorrt-5.1"),),
        rule="scales-leave-batch-and-channels",
    ),
    _row(
        "TensorRT {releases} takes a resize with two inputs, the image and the scales, and this node has others. "
        "Scales of opset 10 are the second of two.",
        "In function importResize: … Assertion failed: inputs.size() == «2»",
        "In function importUpsample: … Assertion failed: inputs.size() == «2»",
        page="old-tensorrt",
        fixes=(legalize("tensorrt-6.0"), legalize("tensorrt-7.0")),
        rule="exactly-two-inputs",
    ),
    _row(
        "TensorRT {releases} wants the scales of this Upsample as an input; the model has them as an attribute at opset 9 or later. "
        "That is no valid ONNX.",
        "Operator Upsample requires exactly 2 inputs. Current input size = 1",
        "requires exactly 2 inputs",
        page="old-tensorrt",
        fixes=(REPAIR, LEGACY),
        rule="upsample-not-hybrid",
    ),
    _row(
        "The Upsample node has no attribute `scales` where its opset wants one. "
        "Its scales stand in an input, or in the attributes of Upsample-1.",
        'Assertion failed: attrs.contains("scales"): Attribute scales is missing',
        "Attribute scales is missing",
        'Assertion failed: attrs.count("scales")',
        fixes=(REPAIR, LEGACY),
    ),
    _row(
        "TensorRT 6 counts the batch among the scales of an attribute, but not among the axes, and so refuses this valid form. "
        "Scales as an input are taken.",
        "Assertion failed: static_cast<int>(scales.size()) == nbDims",
        fixes=(legalize("tensorrt-6.0"), legalize("tensorrt-7.0")),
    ),
    _row(
        "The scales are no vector for TensorRT: other nodes compute them, or they are a single number. "
        "Make them a constant with one number for each axis.",
        "Assertion failed: scales_weights.shape.nbDims == «1»",
        page="scales-must-be-constant",
        fixes=(legalize("tensorrt-6.0"), legalize("tensorrt-7.0")),
    ),
    _row(
        "TensorRT {releases} takes constant scales only, and other nodes compute the scales of this model. "
        "Where their result is always the same, a constant can take its place.",
        "Assertion failed: scales_input.is_weights()",
        "The scales input must be an initializer.",
        page="scales-must-be-constant",
        fixes=(legalize("tensorrt-7.0"), FREEZE),
        rule="scales-are-weights",
    ),
    _row(
        "TensorRT {releases} takes scales from an initializer or a Constant node only. "
        "In the model that it refused, other nodes compute them, even if the result is always the same.",
        "Resize scales must be an initializer!",
        "Assertion failed: scales.is_weights()",
        page="scales-must-be-constant",
        fixes=(legalize("tensorrt-8.0"), FREEZE),
        rule="scales-are-weights",
    ),
    _row(
        "TensorRT {releases} looks up every input of Resize, and the roi of this node is an empty name or an empty Constant. "
        "It wants an initializer there.",
        "Assertion failed: ctx->tensors().count(inputName)",
        page="old-tensorrt",
        fixes=(legalize("tensorrt-7.0"),),
        rule="no-empty-constant-node",
    ),
    _row(
        "TensorRT {releases} interpolates an Upsample linearly over three dimensions at most, batch included. "
        "The image of this model has four.",
        "Assertion failed: (nbDims >= 1) && (nbDims <= 3)",
        page="old-tensorrt",
        fixes=(legalize("tensorrt-7.0"),),
        rule="upsample-linear-rank",
    ),
    _row(
        "TensorRT {releases} samples asymmetrically only, and this node uses other coordinates. "
        "Other operators compute the same.",
        "This version of TensorRT only supports asymmetric resize!",
        page="coordinates-and-rounding",
        fixes=(legalize("tensorrt-7.0"),),
        rule="coordinate-transformation-mode: only supports asymmetric resize!",
    ),
    _row(
        "TensorRT {releases} has four coordinate modes, and not that of this node. Other operators compute the same.",
        "This version of TensorRT only supports asymmetric, align_corners, half_pixel, and pytorch_half_pixel resize!",
        page="coordinates-and-rounding",
        fixes=(legalize("tensorrt-7.2"), legalize("tensorrt-7.1")),
        rule="coordinate-transformation-mode: align_corners, half_pixel, and pytorch_half_pixel",
    ),
    _row(
        "TensorRT {releases} takes each coordinate mode with some modes alone, and with scales or sizes alone. "
        "Another form of this node that it takes computes the same.",
        "TensorRT only supports asymmetric and align_corners transformation modes for nearest neighbor resizes when "
        "sizes are provided!",
        "TensorRT only supports half_pixel, pytorch_half_pixel, and align_corners transofmration modes for linear "
        "resizes when sizes are provided!",
        "TensorRT only supports asymmetric tranformation mode for nearest neighbor resizes when scales are provided!",
        "TensorRT only supports half pixel, pytorch half_pixel, and asymmetric tranformation mode for linear resizes "
        "when scales are provided!",
        page="coordinates-and-rounding",
        fixes=(legalize("tensorrt-7.2"),),
        rule="coordinates-for-mode-and-extent",
    ),
    _row(
        "TensorRT {releases} computes pytorch_half_pixel as half_pixel, which differs where an output size is 1. "
        "Other operators compute it.",
        "TensorRT doesn't support pytorch_half_pixel resizing for 1D interpolation!",
        page="coordinates-and-rounding",
        fixes=(legalize("tensorrt-7.2"), legalize("tensorrt-7.1")),
        rule="pytorch-half-pixel-to-one-pixel",
    ),
    _row(
        "This is a warning: pytorch_half_pixel is computed as half_pixel, and both are the same unless an output size is 1. "
        "The file needs no change for it.",
        "TensorRT currently uses half_pixel calculation for the pytorch_half_pixel transformation mode.",
        page="coordinates-and-rounding",
        fixes=(),
    ),
    _row(
        "TensorRT {releases} rounds down in mode nearest, and this node rounds another way. "
        "Where both pick the same samples, floor can be written instead.",
        "This version of TensorRT only supports floor nearest_mode!",
        page="coordinates-and-rounding",
        fixes=(legalize("tensorrt-7.2"), legalize("tensorrt-7.0")),
        rule="nearest-mode-floor",
    ),
    _row(
        "TensorRT {releases} has no cubic interpolation, and later releases have. Other operators compute the same.",
        "This version of TensorRT does not support cubic interpolation!",
        page="cubic-and-other-attributes",
        fixes=(legalize("tensorrt-8.0"), legalize("tensorrt-7.0")),
        rule="not-cubic",
    ),
    _row(
        "TensorRT {releases} knows the modes nearest, linear and cubic, and this node has another. "
        "It is misspelt or belongs to another framework.",
        'Assertion failed: (mode == "nearest") && "Invalid Resize mode"',
        "Invalid Resize mode",
        page="broken-by-a-converter",
        fixes=(REPAIR,),
        rule="resize-mode: has cubic, linear, nearest",
    ),
    _row(
        "TensorRT has no half_pixel_symmetric and no tf_crop_and_resize. "
        "Where another coordinate mode or other operators compute the same, they can take the place.",
        "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners "
        "transformation modes!",
        "Unsupported coordinate transformation mode tf_crop_and_resize",
        "Unsupported coordinate transformation mode half_pixel_symmetric",
        page="coordinates-and-rounding",
    ),
    _row(
        "TensorRT {releases} takes tf_half_pixel_for_nn with round_prefer_floor alone. "
        "half_pixel or asymmetric picks the same samples with another rounding.",
        "This version of TensorRT only support round_prefer_floor nearest mode in tf_half_pixel_for_nn!",
        "only support round_prefer_floor nearest mode in tf_half_pixel_for_nn",
        page="coordinates-and-rounding",
        rule="tf-half-pixel-rounding",
    ),
    _row(
        "TensorRT {releases} refuses antialiasing, and older releases leave it out. Enlarging needs none, and shrinking at a fixed size can be a matrix product.",
        "Antialiasing is not supported currently.",
        page="cubic-and-other-attributes",
        rule="no-antialias",
    ),
    _row(
        "TensorRT {releases} refuses an aspect ratio policy, and older releases stretch. The sizes that the policy gives can be written instead.",
        "Only 'stretch' is supported currently as 'keep_aspect_ratio_policy'.",
        page="cubic-and-other-attributes",
        rule="aspect-policy-stretch",
    ),
    _row(
        "TensorRT {releases} takes computed scales for all axes in order only, and this node lists some of them. "
        "Scales for every axis mean the same.",
        "'axes' attribute is supported with 'scales' tensor only when it's trivial",
        page="axes-and-rank",
        rule="axes-with-tensor-scales",
    ),
    _row(
        "The scales or sizes are not as many as the axes that the node lists, or an axis stands there twice. "
        "One number for every axis means the same.",
        "Length of scales input must be same as length of axes attribute.",
        "Length of sizes input must be same as length of axes attribute.",
        "sizes input tensor should be of the same length as axes attribute i.e.",
        "The input axes must have unique elements.",
        "Axis must be in the range [0, nbDims]",
        page="axes-and-rank",
        fixes=(REPAIR, NEWEST),
    ),
    _row(
        "TensorRT {releases} interpolates linearly along the last three axes; those with cubic, cubically along the last two. "
        "This node scales an axis before those.",
        "This version of TensorRT only supports linear resizing on the outermost 3 dimensions",
        "This version of TensorRT only supports cubic resizing on the outermost 2 dimensions",
        "Linear resize mode only supports resize up to last 3 dimensions",
        "Assertion failed: canUseLinearResize(",
        "Assertion failed: canUseNDResize(",
        rule="linear-last-three-axes",
    ),
    _row(
        "The parser knows no other mode for this operator. The node's mode is misspelt or belongs to a later version.",
        "The attribute mode can only be nearest, linear, or bilinear.",
        page="broken-by-a-converter",
        fixes=(REPAIR, NEWEST),
    ),
    _row(
        "TensorRT resizes no tensor of this element type. Casts around the node change that where they lose nothing.",
        "first input has type Int32 but must have type Float, Half",
        "first input has type Int64 but must have type Float, Half",
        "Found unsupported input type of UINT8",
        "Found unsupported input type of BOOL",
        "Failed to convert ONNX date type to TensorRT data type.",
        "This version of TensorRT does not support INT32 or BOOL input for the Resize operator.",
        "This version of TensorRT does not support INT32 or BOOL input for the Upsample operator.",
        "Assertion failed: input.getType() != nvinfer1::DataType::kINT32",
        "In function importUpsample: … Assertion failed: tensor.getType() != nvinfer1::DataType::kINT32",
        fixes=(NEWEST, legalize("tensorrt-8.0"), legalize("tensorrt-7.0")),
    ),
    _row(
        "The scales are no float32 vector with one number for each axis. A converter or an edit left them so.",
        "This version of TensorRT only supports FLOAT scales input. Current scales weight type",
        "The shape of weights must align with input data. Length of scales = 2, rank of input = 4",
        "The scales input must be 1D.",
        "The sizes input must be 1D. Sizes rank",
        "The shape of weights must align with input data. Length of sizes = 2, rank of input = 4",
        "The shape of the scales input must align with the dimensions of the input.",
        "The shape of the scales input must aligin with the dimensions of the input.",
        "The shape of input scales must align with the input rank.",
        "Resize output shape type must be integral.",
        "Assertion failed: scales_weights.type == ::ONNX_NAMESPACE::TensorProto::FLOAT",
        "Assertion failed: scales_weights.count() ==",
        "Assertion failed: scales_count == input_dims",
        "Assertion failed: scaleSize == inputRank",
        page="broken-by-a-converter",
        fixes=(REPAIR,),
    ),
)
