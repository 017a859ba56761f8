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


def _row(texts: tuple[str, ...], cause: str, page: str, *fixes: Fix, then: Fix | None = None) -> Message:
    """What writes for a target may need constant scales or a whole node first. Without fixes, the newest rules help."""
    fixes = fixes or (NEWEST,)
    if any(fix == LEGACY or "--target" in fix for fix in fixes):
        fixes = tuple(dict.fromkeys((*fixes, FREEZE, REPAIR)))
    return Message("TensorRT", texts, cause, page, fixes, then)


MESSAGES = (
    _row(
        ("Attribute not found: height_scale",),
        "TensorRT 4.0 to 5.0.2 reads the scales of Upsample from an attribute, and the file has them as an input. "
        "The file needs the form of opset 7 or 8.",
        "attribute-not-found-height-scale",
        LEGACY,
        legalize("tensorrt-5.0"),
    ),
    _row(
        ("No importer registered for op: Resize", "No importer registered for op: Upsample"),
        "TensorRT 5.1 and older has no Resize, and older releases no Upsample of opset 9. "
        "The file needs the form of opset 7 or 8.",
        "no-importer-registered-for-op-resize",
        LEGACY,
        legalize("tensorrt-5.1"),
        legalize("tensorrt-6.0"),
    ),
    _row(
        ("Operator Upsample requires exactly 2 inputs. Current input size = 1", "requires exactly 2 inputs"),
        "The Upsample node has its scales as an attribute in a model of opset 9 or later, which is no valid ONNX. "
        "Scales are an input there.",
        "requires-exactly-2-inputs",
        REPAIR,
        LEGACY,
    ),
    _row(
        ('Assertion failed: attrs.contains("scales"): Attribute scales is missing',),
        "The Upsample node has no attribute `scales` where its opset wants one. "
        "Its scales stand in an input, or in the attributes of Upsample-1.",
        _RULES,
        REPAIR,
        LEGACY,
    ),
    _row(
        ("Assertion failed: scales_input.is_weights()",),
        "TensorRT 6 and 7 take constant scales only, and other nodes compute the scales of this model. "
        "Where their result is always the same, a constant can take its place.",
        "scales-input-is-weights",
        legalize("tensorrt-7.0"),
        FREEZE,
    ),
    _row(
        ("Resize scales must be an initializer!",),
        "TensorRT 8.0 to 8.2 takes scales from an initializer or a Constant node only. "
        "Other nodes compute the scales of this model, even if the result is always the same.",
        "resize-scales-must-be-an-initializer",
        legalize("tensorrt-8.0"),
        FREEZE,
    ),
    _row(
        ("Assertion failed: ctx->tensors().count(inputName)",),
        "TensorRT 7.0 looks up every input of Resize, and the roi of this node is an empty name or an empty Constant. "
        "It wants an initializer there.",
        "ctx-tensors-count-inputname",
        legalize("tensorrt-7.0"),
    ),
    _row(
        ("Assertion failed: (nbDims >= 1) && (nbDims <= 3)",),
        "TensorRT 6 and 7.0 interpolates linearly over three dimensions at most, batch included. "
        "The image of this model has four.",
        "nbdims-1-to-3",
        legalize("tensorrt-7.0"),
    ),
    _row(
        ("This version of TensorRT only supports asymmetric resize!",),
        "TensorRT 7.0 samples asymmetrically only, and this node uses other coordinates. "
        "Other operators compute the same.",
        "only-supports-asymmetric-resize",
        legalize("tensorrt-7.0"),
    ),
    _row(
        ("This version of TensorRT only supports floor nearest_mode!",),
        "TensorRT 7 rounds down in mode nearest, and this node rounds another way. "
        "Where both pick the same samples, floor can be written instead.",
        "only-supports-floor-nearest-mode",
        legalize("tensorrt-7.2"),
        legalize("tensorrt-7.0"),
    ),
    _row(
        ("This version of TensorRT does not support cubic interpolation!",),
        "TensorRT has cubic interpolation from 8.5 on. Before, other operators compute the same.",
        "does-not-support-cubic-interpolation",
        legalize("tensorrt-8.0"),
        legalize("tensorrt-7.0"),
    ),
    _row(
        ("is a shape tensor and must have type Int32 or Int64. Type is Float",),
        "An input that decides a shape must be an integer for TensorRT, and this model reads its scales from a float input. "
        "Make the scales constant first, then make an integer factor of them.",
        "must-have-type-int32-or-int64",
        FOR_TENSORRT,
        FREEZE,
        then=FOR_TENSORRT,
    ),
    _row(
        ("Assertion !isInFlight(p.second.symbolicRep) failed",),
        "TensorRT computes shapes from integers and constants, and here a float input or the data of a tensor leads to one. "
        "Make the scales or sizes constant, or an integer factor.",
        "must-have-type-int32-or-int64",
        FOR_TENSORRT,
        FREEZE,
        then=FOR_TENSORRT,
    ),
    _row(
        (
            "Network has dynamic or shape inputs, but no optimization profile has been defined",
            "Optimization profile 0 is missing values for shape input tensor",
        ),
        "The builder wants a range of values for every input that is dynamic or decides a shape. "
        "`promote-scales --for tensorrt` prints the profile and the flags of trtexec.",
        "no-optimization-profile-has-been-defined",
        FOR_TENSORRT,
    ),
    _row(
        (
            "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners "
            "transformation modes!",
        ),
        "TensorRT has no half_pixel_symmetric and no tf_crop_and_resize. "
        "Where another coordinate mode or other operators compute the same, they can take the place.",
        "transformation-modes",
    ),
    _row(
        (
            "This version of TensorRT only support round_prefer_floor nearest mode in tf_half_pixel_for_nn!",
            "only support round_prefer_floor nearest mode in tf_half_pixel_for_nn",
        ),
        "TensorRT takes tf_half_pixel_for_nn with round_prefer_floor alone. "
        "half_pixel or asymmetric picks the same samples with another rounding.",
        "round-prefer-floor-in-tf-half-pixel-for-nn",
    ),
    _row(
        ("Antialiasing is not supported currently.",),
        "TensorRT has no antialiasing. Enlarging needs none, and shrinking at a fixed size can be a matrix product.",
        "antialiasing-is-not-supported-currently",
    ),
    _row(
        ("Only 'stretch' is supported currently as 'keep_aspect_ratio_policy'.",),
        "TensorRT takes no aspect ratio policy. The sizes that the policy gives can be written instead.",
        "only-stretch-is-supported",
    ),
    _row(
        ("'axes' attribute is supported with 'scales' tensor only when it's trivial",),
        "TensorRT takes computed scales for all axes in order only, and this node lists some of them. "
        "Scales for every axis mean the same.",
        "all-axes-values-should-less-than-input-rank",
    ),
    _row(
        (
            "This version of TensorRT only supports linear resizing on the outermost 3 dimensions",
            "This version of TensorRT only supports cubic resizing on the outermost 2 dimensions",
            "Linear resize mode only supports resize up to last 3 dimensions",
        ),
        "TensorRT interpolates linearly along the last three axes and cubically along the last two. "
        "This node scales an axis before those.",
        _RULES,
    ),
    _row(
        ("The attribute mode can only be nearest, linear, or bilinear.",),
        "The parser knows no other mode for this operator. The node's mode is misspelt or belongs to a later version.",
        "mode-attribute-is-bilinear",
        REPAIR,
        NEWEST,
    ),
    _row(
        (
            "first input has type Int32 but must have type Float, Half",
            "first input has type Int64 but must have type Float, Half",
            "Found unsupported input type of UINT8",
            "Found unsupported input type of BOOL",
        ),
        "TensorRT resizes no tensor of this element type. Casts around the node change that where they lose nothing.",
        _RULES,
    ),
    _row(
        (
            "This version of TensorRT only supports FLOAT scales input. Current scales weight type",
            "The shape of weights must align with input data. Length of scales = 2, rank of input = 4",
            "The scales input must be 1D. Scales rank",
        ),
        "The scales are no float32 vector with one number for each axis. A converter or an edit left them so.",
        "type-tensor-float16-of-input-parameter",
        REPAIR,
    ),
)
