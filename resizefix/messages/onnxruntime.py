"""Messages of onnxruntime, of onnx and of its converters."""

from __future__ import annotations

from resizefix.messages.message import SIZE, Fix, Message
from resizefix.messages.tensorrt import LEGACY, REPAIR, legalize

_ORT = legalize("onnxruntime")
_PROMOTE: Fix = ("promote-scales",)
_TOGETHER: Fix = ("promote-scales", "--shared")


def _row(
    cause: str,
    *texts: str,
    page: str = "docs/repair.md",
    fixes: tuple[Fix, ...] = (REPAIR,),
    runtime: str = "onnxruntime",
) -> Message:
    return Message(runtime, texts, cause, page, fixes)


MESSAGES = (
    _row(
        "Scales must be float32 and sizes int64, and a converter wrote another type. "
        "Converters to float16 do this when Resize is not on their list of exceptions.",
        "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid",
        "Type 'tensor(…)' of input parameter (…) of operator (Resize) in node (…) is invalid",
        "Type 'tensor(…)' of input parameter (…) of operator (Upsample) in node (…) is invalid",
        page="type-tensor-float16-of-input-parameter",
    ),
    _row(
        "The node has both scales and sizes, or neither, and ONNX wants one of them. "
        "An empty operand behind a Cast counts as given.",
        "Either 'sizes' or 'scales' must be provided, but not both of them",
        "Only one of scales or sizes must be provided as input.",
        page="either-sizes-or-scales-must-be-provided",
        fixes=(REPAIR, ("repair", "--prefer", "sizes")),
    ),
    _row(
        "Opset 11 wants a tensor for roi, and the node has an empty name there. Opset 13 made it optional.",
        "input 1 is marked single but has an empty string in the graph",
        page="input-1-is-marked-single",
    ),
    _row(
        "onnxruntime interpolates linearly along the last two or three axes, or along the middle ones of NHWC. "
        "This node scales another axis, or has another rank.",
        "'Linear' mode only supports:",
        "'Linear' mode only support",
        page="linear-mode-only-supports",
        fixes=(_ORT, REPAIR),
    ),
    _row(
        "onnxruntime interpolates cubically along the last two axes of an image alone. "
        "This node scales another axis, or has another rank.",
        "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
        "being 1",
        "'Cubic' mode only supports:",
        page="linear-mode-only-supports",
        fixes=(_ORT, REPAIR),
    ),
    _row(
        "A scale is 0, negative or no number; or Upsample, which only enlarges, has one below 1. "
        "Exporters of opset 9 write such an Upsample for half the size.",
        "Scale value should be greater than 0",
        "Scale value should be greater than or equal to 1",
        page="scale-value-should-be-greater",
    ),
    _row(
        "The mode has a name of another framework. ONNX calls bilinear and trilinear `linear`, and bicubic `cubic`.",
        "mode attribute is bilinear. It can only be nearest(default) or linear or cubic",
        "mode attribute is … It can only be nearest(default) or linear or cubic",
        page="mode-attribute-is-bilinear",
    ),
    _row(
        "Upsample ends with opset 9, and the model imports a later one. Somebody raised the opset and left the node.",
        "Op registered for Upsample is deprecated in domain_version of 11",
        page="upsample-is-deprecated",
    ),
    _row(
        "The node has an attribute that its opset does not have. It comes from another opset or another framework.",
        "Unrecognized attribute: … for operator Resize",
        "Unrecognized attribute: … for operator Upsample",
    ),
    _row(
        "The model imports an opset that has no Resize. Somebody lowered the opset, or an exporter wrote the wrong one.",
        "No Op registered for Resize with domain_version of 9",
        "Resize is not a registered function/op",
    ),
    _row(
        "onnxruntime has no kernel for this version of the operator with these element types. "
        "Another form of the node computes the same.",
        "Could not find an implementation for Resize(13) node",
        "Could not find an implementation for Upsample(1) node",
        page="unimplemented-upsample-totypedtranslator",
        fixes=(REPAIR, _ORT),
    ),
    _row(
        "Upsample of opset 7 and 8 has one input and an attribute for the scales; from opset 9 on, it has two inputs. "
        "This node is written for the other opset.",
        "(…, Upsample, …) has input size 2 not in range [min=1, max=1]",
        "Upsample … has input size 2 not in range",
    ),
    _row(
        "From opset 11 on, the inputs of Resize are the image, roi, scales and sizes. "
        "This node has fewer: its scales often stand in the place of roi.",
        "with schema(::Resize:11) has input size 2 not in range",
    ),
    _row(
        "Resize takes one number for each axis of the image, and this node has more or fewer. "
        "Some converters write height and width alone.",
        "Number of elements of input 'scales' must be same as rank of input 'X'",
        "Number of elements of input 'sizes' must be same as rank of input 'X'",
    ),
    _row(
        "An attribute of the node has a value that ONNX does not have. It is misspelt, or a name of another framework.",
        "coordinate_transform_mode:[…] is not supported!",
        "nearest_mode:[…] is not supported!",
        "keep_aspect_ratio_policy:[…] is not supported!",
    ),
    _row(
        "An attribute of the node has another type than ONNX gives it, as a float where an integer belongs. "
        "A tool that edits nodes wrote it so.",
        *tuple(
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
    ),
    _row(
        "Several nodes write one name: a converter named its Casts after nodes without a name. "
        "Where readers and writers pair up, each pair gets its own name.",
        "two nodes with same node name (…)",
        "Duplicate definition of name (…)",
        "Duplicate definition-site for (…)",
    ),
    _row(
        "A stored type is not that of the nodes, or one of two Casts is missing. Converters to float16 leave both.",
        "Type (tensor(float16)) of output arg (…) of node (…) does not match expected type (tensor(float))",
        "Type (tensor(…)) of output arg (…) of node (…) does not match expected type (tensor(…))",
        "Type parameter (T) of Optype (…) bound to different types (tensor(…) and tensor(…)",
    ),
    _row(
        "Two tensors of different sizes meet after a resize. "
        "A stored shape is that of another scale, or a skip connection holds the other tensor at its size.",
        "Attempting to broadcast an axis by a dimension other than 1. 10 by 15",
        page="stale-shape-after-setting-the-scales",
        fixes=(_PROMOTE, _TOGETHER, REPAIR),
    ),
    _row(
        "A resized tensor meets another one of a different size. "
        "Two branches that are both resized must share one input; beside a skip connection, feed a larger image instead.",
        "Non concat axis dimensions must match",
        page="non-concat-axis-dimensions-must-match",
        fixes=(_TOGETHER, _PROMOTE, ("input-size", "any")),
    ),
    _row(
        "The file fixes the size of its input, and you feed another. The input and constants that follow its size must change.",
        "Got invalid dimensions for input: … Got: 364 Expected: 518",
        "Got invalid dimensions for input",
        page="got-invalid-dimensions-for-input",
        fixes=(("input-size", SIZE), ("input-size", "any")),
    ),
    _row(
        "onnx.version_converter lowers no Resize below opset 11. resizefix lowers it where the old form says the same.",
        "No Adapter From Version $11 for Resize",
        "No Adapter From Version $…for Resize",
        "No Adapter for … Resize",
        page="no-adapter-from-version-for-resize",
        fixes=(LEGACY,),
        runtime="onnx",
    ),
    _row(
        "TensorRT takes an integer input for the scale, so a fraction needs a denominator. "
        "With --denominator 2 you feed 5 for 2.5.",
        "…takes only whole numbers, so 2.5 cannot be fed; add --denominator 2",
        "…holds whole numbers, and 2.5 is not one; add --denominator 2",
        page="fractional-factors-for-tensorrt",
        fixes=(("promote-scales", "--for", "tensorrt", "--denominator", "2"),),
        runtime="resizefix",
    ),
)
