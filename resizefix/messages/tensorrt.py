"""TensorRT's messages, oldest parser first."""

from __future__ import annotations

from resizefix.messages.message import Fix, Message


def legalize(target: str) -> Fix:
    """The command that rewrites a model for a target."""
    return ("legalize", "--target", target)


LEGACY: Fix = ("trt-legacy",)
REPAIR: Fix = ("repair",)
FREEZE: Fix = ("freeze-scales",)
FOR_TENSORRT: Fix = ("promote-scales", "--for", "tensorrt")
NEWEST = legalize("tensorrt-10")
_RULES = "docs/reference/targets.md"


def _row(cause: str, *texts: str, page: str, fixes: tuple[Fix, ...] = (NEWEST,), then: Fix | None = None) -> Message:
    """What writes for a target may need constant scales or a whole node first."""
    if any(fix == LEGACY or "--target" in fix for fix in fixes):
        fixes = tuple(dict.fromkeys((*fixes, FREEZE, REPAIR)))
    return Message("TensorRT", texts, cause, page, fixes, then)


MESSAGES = (
    _row(
        "TensorRT 4.0 to 5.0.2 reads the scales of Upsample from an attribute, and the file has them as an input. "
        "The file needs the form of opset 7 or 8.",
        "Attribute not found: height_scale",
        page="attribute-not-found-height-scale",
        fixes=(LEGACY, legalize("tensorrt-5.0")),
    ),
    _row(
        "TensorRT 5.1 and older has no Resize, and older releases no Upsample of opset 9. "
        "The file needs the form of opset 7 or 8.",
        "No importer registered for op: Resize",
        "No importer registered for op: Upsample",
        page="no-importer-registered-for-op-resize",
        fixes=(LEGACY, legalize("tensorrt-5.1"), legalize("tensorrt-6.0")),
    ),
    _row(
        "The Upsample node has its scales as an attribute in a model of opset 9 or later, which is no valid ONNX. "
        "Scales are an input there.",
        "Operator Upsample requires exactly 2 inputs. Current input size = 1",
        "requires exactly 2 inputs",
        page="requires-exactly-2-inputs",
        fixes=(REPAIR, LEGACY),
    ),
    _row(
        "The Upsample node has no attribute `scales` where its opset wants one. "
        "Its scales stand in an input, or in the attributes of Upsample-1.",
        'Assertion failed: attrs.contains("scales"): Attribute scales is missing',
        page=_RULES,
        fixes=(REPAIR, LEGACY),
    ),
    _row(
        "TensorRT 6 and 7 take constant scales only, and other nodes compute the scales of this model. "
        "Where their result is always the same, a constant can take its place.",
        "Assertion failed: scales_input.is_weights()",
        page="scales-input-is-weights",
        fixes=(legalize("tensorrt-7.0"), FREEZE),
    ),
    _row(
        "TensorRT 8.0 to 8.2 takes scales from an initializer or a Constant node only. "
        "Other nodes compute the scales of this model, even if the result is always the same.",
        "Resize scales must be an initializer!",
        page="resize-scales-must-be-an-initializer",
        fixes=(legalize("tensorrt-8.0"), FREEZE),
    ),
    _row(
        "TensorRT 7.0 looks up every input of Resize, and the roi of this node is an empty name or an empty Constant. "
        "It wants an initializer there.",
        "Assertion failed: ctx->tensors().count(inputName)",
        page="ctx-tensors-count-inputname",
        fixes=(legalize("tensorrt-7.0"),),
    ),
    _row(
        "TensorRT 6 and 7.0 interpolates linearly over three dimensions at most, batch included. "
        "The image of this model has four.",
        "Assertion failed: (nbDims >= 1) && (nbDims <= 3)",
        page="nbdims-1-to-3",
        fixes=(legalize("tensorrt-7.0"),),
    ),
    _row(
        "TensorRT 7.0 samples asymmetrically only, and this node uses other coordinates. "
        "Other operators compute the same.",
        "This version of TensorRT only supports asymmetric resize!",
        page="only-supports-asymmetric-resize",
        fixes=(legalize("tensorrt-7.0"),),
    ),
    _row(
        "TensorRT 7 rounds down in mode nearest, and this node rounds another way. "
        "Where both pick the same samples, floor can be written instead.",
        "This version of TensorRT only supports floor nearest_mode!",
        page="only-supports-floor-nearest-mode",
        fixes=(legalize("tensorrt-7.2"), legalize("tensorrt-7.0")),
    ),
    _row(
        "TensorRT has cubic interpolation from 8.5 on. Before, other operators compute the same.",
        "This version of TensorRT does not support cubic interpolation!",
        page="does-not-support-cubic-interpolation",
        fixes=(legalize("tensorrt-8.0"), legalize("tensorrt-7.0")),
    ),
    _row(
        "An input that decides a shape must be an integer for TensorRT, and this model reads its scales from a float input. "
        "Make the scales constant first, then make an integer factor of them.",
        "is a shape tensor and must have type Int32 or Int64. Type is Float",
        page="must-have-type-int32-or-int64",
        fixes=(FOR_TENSORRT, FREEZE),
        then=FOR_TENSORRT,
    ),
    _row(
        "TensorRT computes shapes from integers and constants, and here a float input or the data of a tensor leads to one. "
        "Make the scales or sizes constant, or an integer factor.",
        "Assertion !isInFlight(p.second.symbolicRep) failed",
        page="must-have-type-int32-or-int64",
        fixes=(FOR_TENSORRT, FREEZE),
        then=FOR_TENSORRT,
    ),
    _row(
        "The builder wants a range of values for every input that is dynamic or decides a shape. "
        "`promote-scales --for tensorrt` prints the profile and the flags of trtexec.",
        "Network has dynamic or shape inputs, but no optimization profile has been defined",
        "Optimization profile 0 is missing values for shape input tensor",
        page="no-optimization-profile-has-been-defined",
        fixes=(FOR_TENSORRT,),
    ),
    _row(
        "TensorRT has no half_pixel_symmetric and no tf_crop_and_resize. "
        "Where another coordinate mode or other operators compute the same, they can take the place.",
        "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners "
        "transformation modes!",
        page="transformation-modes",
    ),
    _row(
        "TensorRT takes tf_half_pixel_for_nn with round_prefer_floor alone. "
        "half_pixel or asymmetric picks the same samples with another rounding.",
        "This version of TensorRT only support round_prefer_floor nearest mode in tf_half_pixel_for_nn!",
        "only support round_prefer_floor nearest mode in tf_half_pixel_for_nn",
        page="round-prefer-floor-in-tf-half-pixel-for-nn",
    ),
    _row(
        "TensorRT has no antialiasing. Enlarging needs none, and shrinking at a fixed size can be a matrix product.",
        "Antialiasing is not supported currently.",
        page="antialiasing-is-not-supported-currently",
    ),
    _row(
        "TensorRT takes no aspect ratio policy. The sizes that the policy gives can be written instead.",
        "Only 'stretch' is supported currently as 'keep_aspect_ratio_policy'.",
        page="only-stretch-is-supported",
    ),
    _row(
        "TensorRT takes computed scales for all axes in order only, and this node lists some of them. "
        "Scales for every axis mean the same.",
        "'axes' attribute is supported with 'scales' tensor only when it's trivial",
        page="all-axes-values-should-less-than-input-rank",
    ),
    _row(
        "TensorRT interpolates linearly along the last three axes and cubically along the last two. "
        "This node scales an axis before those.",
        "This version of TensorRT only supports linear resizing on the outermost 3 dimensions",
        "This version of TensorRT only supports cubic resizing on the outermost 2 dimensions",
        "Linear resize mode only supports resize up to last 3 dimensions",
        page=_RULES,
    ),
    _row(
        "The parser knows no other mode for this operator. The node's mode is misspelt or belongs to a later version.",
        "The attribute mode can only be nearest, linear, or bilinear.",
        page="mode-attribute-is-bilinear",
        fixes=(REPAIR, NEWEST),
    ),
    _row(
        "TensorRT resizes no tensor of this element type. Casts around the node change that where they lose nothing.",
        "first input has type Int32 but must have type Float, Half",
        "first input has type Int64 but must have type Float, Half",
        "Found unsupported input type of UINT8",
        "Found unsupported input type of BOOL",
        page=_RULES,
    ),
    _row(
        "The scales are no float32 vector with one number for each axis. A converter or an edit left them so.",
        "This version of TensorRT only supports FLOAT scales input. Current scales weight type",
        "The shape of weights must align with input data. Length of scales = 2, rank of input = 4",
        "The scales input must be 1D. Scales rank",
        page="type-tensor-float16-of-input-parameter",
        fixes=(REPAIR,),
    ),
)
