"""Messages of onnxruntime, of onnx and of its converters."""

from __future__ import annotations

from resizefix.messages.message import SIZE, Fix, Message
from resizefix.messages.tensorrt import LEGACY, REPAIR, legalize

_ORT = legalize("onnxruntime")
_PROMOTE: Fix = ("promote-scales",)
_TOGETHER: Fix = ("promote-scales", "--shared")


def _row(
    texts: tuple[str, ...], cause: str, page: str = "docs/repair.md", *fixes: Fix, runtime: str = "onnxruntime"
) -> Message:
    """Without fixes, `repair` helps."""
    return Message(runtime, texts, cause, page, fixes or (REPAIR,))


MESSAGES = (
    _row(
        (
            "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid",
            "Type 'tensor(…)' of input parameter (…) of operator (Resize) in node (…) is invalid",
            "Type 'tensor(…)' of input parameter (…) of operator (Upsample) in node (…) is invalid",
        ),
        "Scales must be float32 and sizes int64, and a converter wrote another type. "
        "Converters to float16 do this when Resize is not on their list of exceptions.",
        "type-tensor-float16-of-input-parameter",
    ),
    _row(
        (
            "Either 'sizes' or 'scales' must be provided, but not both of them",
            "Only one of scales or sizes must be provided as input.",
        ),
        "The node has both scales and sizes, or neither, and ONNX wants one of them. "
        "An empty operand behind a Cast counts as given.",
        "either-sizes-or-scales-must-be-provided",
        REPAIR,
        ("repair", "--prefer", "sizes"),
    ),
    _row(
        ("input 1 is marked single but has an empty string in the graph",),
        "Opset 11 wants a tensor for roi, and the node has an empty name there. Opset 13 made it optional.",
        "input-1-is-marked-single",
    ),
    _row(
        ("'Linear' mode only supports:", "'Linear' mode only support"),
        "onnxruntime interpolates linearly along the last two or three axes, or along the middle ones of NHWC. "
        "This node scales another axis, or has another rank.",
        "linear-mode-only-supports",
        _ORT,
        REPAIR,
    ),
    _row(
        (
            "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
            "being 1",
            "'Cubic' mode only supports:",
        ),
        "onnxruntime interpolates cubically along the last two axes of an image alone. "
        "This node scales another axis, or has another rank.",
        "linear-mode-only-supports",
        _ORT,
        REPAIR,
    ),
    _row(
        ("Scale value should be greater than 0", "Scale value should be greater than or equal to 1"),
        "A scale is 0, negative or no number; or Upsample, which only enlarges, has one below 1. "
        "Exporters of opset 9 write such an Upsample for half the size.",
        "scale-value-should-be-greater",
    ),
    _row(
        (
            "mode attribute is bilinear. It can only be nearest(default) or linear or cubic",
            "mode attribute is … It can only be nearest(default) or linear or cubic",
        ),
        "The mode has a name of another framework. ONNX calls bilinear and trilinear `linear`, and bicubic `cubic`.",
        "mode-attribute-is-bilinear",
    ),
    _row(
        ("Op registered for Upsample is deprecated in domain_version of 11",),
        "Upsample ends with opset 9, and the model imports a later one. Somebody raised the opset and left the node.",
        "upsample-is-deprecated",
    ),
    _row(
        ("Unrecognized attribute: … for operator Resize", "Unrecognized attribute: … for operator Upsample"),
        "The node has an attribute that its opset does not have. It comes from another opset or another framework.",
    ),
    _row(
        ("No Op registered for Resize with domain_version of 9", "Resize is not a registered function/op"),
        "The model imports an opset that has no Resize. Somebody lowered the opset, or an exporter wrote the wrong one.",
    ),
    _row(
        (
            "Could not find an implementation for Resize(13) node",
            "Could not find an implementation for Upsample(1) node",
        ),
        "onnxruntime has no kernel for this version of the operator with these element types. "
        "Another form of the node computes the same.",
        "unimplemented-upsample-totypedtranslator",
        REPAIR,
        _ORT,
    ),
    _row(
        ("(…, Upsample, …) has input size 2 not in range [min=1, max=1]", "Upsample … has input size 2 not in range"),
        "Upsample of opset 7 and 8 has one input and an attribute for the scales; from opset 9 on, it has two inputs. "
        "This node is written for the other opset.",
    ),
    _row(
        ("with schema(::Resize:11) has input size 2 not in range",),
        "From opset 11 on, the inputs of Resize are the image, roi, scales and sizes. "
        "This node has fewer: its scales often stand in the place of roi.",
    ),
    _row(
        (
            "Number of elements of input 'scales' must be same as rank of input 'X'",
            "Number of elements of input 'sizes' must be same as rank of input 'X'",
        ),
        "Resize takes one number for each axis of the image, and this node has more or fewer. "
        "Some converters write height and width alone.",
    ),
    _row(
        (
            "coordinate_transform_mode:[…] is not supported!",
            "nearest_mode:[…] is not supported!",
            "keep_aspect_ratio_policy:[…] is not supported!",
        ),
        "An attribute of the node has a value that ONNX does not have. It is misspelt, or a name of another framework.",
    ),
    _row(
        tuple(
            f"Mismatched attribute type in '… : {name}'"
            for name in (
                "cubic_coeff_a",
                "antialias",
                "coordinate_transformation_mode",
                "exclude_outside",
                "extrapolation_value",
                "keep_aspect_ratio_policy",
                "nearest_mode",
            )
        ),
        "An attribute of the node has another type than ONNX gives it, as a float where an integer belongs. "
        "A tool that edits nodes wrote it so.",
    ),
    _row(
        ("two nodes with same node name (…)", "Duplicate definition of name (…)", "Duplicate definition-site for (…)"),
        "Several nodes write one name: a converter named its Casts after nodes without a name. "
        "Where readers and writers pair up, each pair gets its own name.",
    ),
    _row(
        (
            "Type (tensor(float16)) of output arg (…) of node (…) does not match expected type (tensor(float))",
            "Type (tensor(…)) of output arg (…) of node (…) does not match expected type (tensor(…))",
            "Type parameter (T) of Optype (…) bound to different types (tensor(…) and tensor(…)",
        ),
        "A stored type is not that of the nodes, or one of two Casts is missing. Converters to float16 leave both.",
    ),
    _row(
        ("Attempting to broadcast an axis by a dimension other than 1. 10 by 15",),
        "Two tensors of different sizes meet after a resize. "
        "A stored shape is that of another scale, or a skip connection holds the other tensor at its size.",
        "stale-shape-after-setting-the-scales",
        _PROMOTE,
        _TOGETHER,
        REPAIR,
    ),
    _row(
        ("Non concat axis dimensions must match",),
        "A resized tensor meets another one of a different size. "
        "Two branches that are both resized must share one input; beside a skip connection, feed a larger image instead.",
        "non-concat-axis-dimensions-must-match",
        _TOGETHER,
        _PROMOTE,
        ("input-size", "any"),
    ),
    _row(
        ("Got invalid dimensions for input: … Got: 364 Expected: 518", "Got invalid dimensions for input"),
        "The file fixes the size of its input, and you feed another. The input and constants that follow its size must change.",
        "got-invalid-dimensions-for-input",
        ("input-size", SIZE),
        ("input-size", "any"),
    ),
    _row(
        ("No Adapter From Version $11 for Resize", "No Adapter From Version $…for Resize", "No Adapter for … Resize"),
        "onnx.version_converter lowers no Resize below opset 11. resizefix lowers it where the old form says the same.",
        "no-adapter-from-version-for-resize",
        LEGACY,
        runtime="onnx",
    ),
    _row(
        (
            "…takes only whole numbers, so 2.5 cannot be fed; add --denominator 2",
            "…holds whole numbers, and 2.5 is not one; add --denominator 2",
        ),
        "TensorRT takes an integer input for the scale, so a fraction needs a denominator. "
        "With --denominator 2 you feed 5 for 2.5.",
        "fractional-factors-for-tensorrt",
        ("promote-scales", "--for", "tensorrt", "--denominator", "2"),
        runtime="resizefix",
    ),
)
