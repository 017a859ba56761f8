"""Messages of onnxruntime on the CPU, and of the checks of onnx that it calls."""

from __future__ import annotations

from resizefix.messages.message import (
    ANY_SIZE,
    FED_SIZE,
    FOR_TENSORRT,
    ORT,
    OTHER_OPERATORS,
    PARTNER,
    PROMOTE,
    REPAIR,
    TOGETHER,
    Fix,
    Message,
)

_STALE = "sizes-that-differ"
_EXTENTS = "broken-by-a-converter"


def _row(
    cause: str,
    *texts: str,
    page: str = "docs/repair.md",
    fixes: tuple[Fix, ...] = (REPAIR,),
    runtime: str = "onnxruntime",
    at_other_sizes: bool = False,
    says_where: bool = False,
) -> Message:
    target = "onnxruntime" if ORT in fixes else None
    return Message(
        runtime, texts, cause, page, fixes, target=target, at_other_sizes=at_other_sizes, says_where=says_where
    )


MESSAGES = (
    _row(
        "Scales must be float32 and sizes int64, and a converter wrote another type. "
        "Converters to float16 do this when Resize is not on their list of exceptions.",
        "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid",
        "Type 'tensor(…)' of input parameter (…) of operator (Resize) in node (…) is invalid",
        "Type 'tensor(…)' of input parameter (…) of operator (Upsample) in node (…) is invalid",
        page="broken-by-a-converter",
    ),
    _row(
        "The node has both scales and sizes, or neither, and ONNX wants one of them. "
        "An empty operand behind a Cast counts as given.",
        "Either 'sizes' or 'scales' must be provided, but not both of them",
        "Only one of scales or sizes must be provided as input.",
        page="broken-by-a-converter",
        fixes=(REPAIR, ("repair", "--prefer", "sizes")),
    ),
    _row(
        "Opset 11 wants a tensor for roi, and the node has an empty name there. Opset 13 made it optional.",
        "input 1 is marked single but has an empty string in the graph",
        page="broken-by-a-converter",
    ),
    _row(
        "onnxruntime interpolates linearly along the last two or three axes, or along the middle ones of NHWC. "
        "This node scales another axis, or has another rank.",
        "'Linear' mode only supports:",
        "'Linear' mode only support",
        "'Linear' mode and 'Cubic' mode only support 2-D inputs ('Bilinear', 'Bicubic') or 4-D inputs",
        "linear mode upsample only support bilinear with 4 dimension",
        "4-D inputs with the corresponding outermost 2 scale values being 1",
        page="broken-by-a-converter",
        fixes=(ORT, REPAIR),
    ),
    _row(
        "onnxruntime interpolates cubically along the last two axes of an image alone. "
        "This node scales another axis, or has another rank.",
        "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
        "being 1",
        "'Cubic' mode only supports:",
        page="broken-by-a-converter",
        fixes=(ORT, REPAIR),
    ),
    _row(
        "A scale is 0, negative or no number; or Upsample, which only enlarges, has one below 1. "
        "Exporters of opset 9 write such an Upsample for half the size.",
        "Scale value should be greater than 0",
        "Scale value should be greater than or equal to 1",
        "scales size should be greater than 0.",
        page="broken-by-a-converter",
    ),
    _row(
        "The mode has a name of another framework. ONNX calls bilinear and trilinear `linear`, and bicubic `cubic`.",
        "mode attribute is bilinear. It can only be nearest(default) or linear or cubic",
        "mode attribute is … It can only be nearest(default) or linear or cubic",
        page="broken-by-a-converter",
    ),
    _row(
        "Upsample ends with opset 9, and the model imports a later one. Somebody raised the opset and left the node.",
        "Op registered for Upsample is deprecated in domain_version of 11",
        "Upsample is not a registered function/op",
        "Upsample(10) is not a registered function/op",
        page="broken-by-a-converter",
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
        "Resize(10) is not a registered function/op",
    ),
    _row(
        "onnxruntime has no kernel for this version of the operator with these element types. "
        "Another form of the node computes the same.",
        "Could not find an implementation for Resize(13) node",
        "Could not find an implementation for Upsample(1) node",
        "Could not find an implementation for the node …:Resize(11)",
        "Could not find an implementation for the node …:Upsample(9)",
        page="missing-kernel",
        fixes=(REPAIR, ORT),
    ),
    _row(
        "Resize of opset 10 has two inputs, and from opset 11 on, three or four. "
        "This node has those of opset 11, and the model imports opset 10: somebody lowered the opset, or the exporter is old.",
        "input size «4» not in range [min=«2», max=«2»]",
        "input size «3» not in range [min=«2», max=«2»]",
        page="docs/repair.md",
    ),
    _row(
        "Upsample of opset 7 and 8 has one input and an attribute for the scales; from opset 9 on, it has two inputs. "
        "This node is written for the other opset.",
        "(…, Upsample, …) has input size «2» not in range [min=«1», max=«1»]",
        "with schema(::Upsample:7) has input size «2» not in range",
        "with schema(::Upsample:9) has input size «1» not in range",
        "Upsample … has input size «2» not in range",
        "input size «2» not in range [min=«1», max=«1»]",
        "input size «1» not in range [min=«2», max=«2»]",
    ),
    _row(
        "From opset 11 on, the inputs of Resize are the image, roi, scales and sizes. "
        "This node has fewer: its scales often stand in the place of roi.",
        "with schema(::Resize:11) has input size «2» not in range",
        "input size «2» not in range [min=«3», max=«4»]",
    ),
    _row(
        "Resize takes one number for each axis of the image, and this node has more or fewer. "
        "Some converters write height and width alone.",
        "Number of elements of input 'scales' must be same as rank of input 'X'",
        "Number of elements of input 'sizes' must be same as rank of input 'X'",
        "Number of elements of input 'sizes' (…) must be same as rank of input 'X' (…)",
        "Number of elements of input 'sizes' (…) does not match the number of axes (…)",
        "Number of elements of input 'scales' (…) does not match the number of axes (…)",
        "Resize: input tensor's dimension does not match the scales.",
        "Upsample: input tensor's dimension does not match the scales.",
        "Resize: input tensor's rank does not match the output tensor's rank.",
        "all values in axes should be less than rank of the data",
        "axes should be less than output_dims.size()",
    ),
    _row(
        "An attribute of the node has a value that ONNX does not have. It is misspelt, or a name of another framework.",
        "coordinate_transform_mode:[…] is not supported!",
        "nearest_mode:[…] is not supported!",
        "keep_aspect_ratio_policy:[…] is not supported!",
        "keep_aspect_ratio of […] is not supported!",
        "Unknown value for `keep_aspect_ratio_policy`:",
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
        "Attempting to broadcast an axis",
        page="sizes-that-differ",
        fixes=(PROMOTE, TOGETHER, PARTNER, REPAIR, ANY_SIZE),
        at_other_sizes=True,
    ),
    _row(
        "A resized tensor meets another one of a different size. "
        "Two branches that are both resized must share one input; beside a skip connection, feed a larger image instead.",
        "Non concat axis dimensions must match",
        "[ShapeInferenceError] Can't merge shape info. Both source and target dimension have values but they differ.",
        page="sizes-that-differ",
        fixes=(TOGETHER, PROMOTE, PARTNER, ANY_SIZE),
        at_other_sizes=True,
    ),
    _row(
        "The file fixes the size of its input, and you feed another. The input and constants that follow its size must change.",
        "Got invalid dimensions for input: … Got: 364 Expected: 518",
        "Got invalid dimensions for input",
        "Got: 364 Expected: 518",
        page="another-input-size",
        fixes=(FED_SIZE, ANY_SIZE, REPAIR),
        at_other_sizes=True,
    ),
    _row(
        "TensorRT takes an integer input for the scale, so a fraction needs a denominator. "
        "With --denominator 2 you feed 5 for 2.5.",
        "--at 2.5: … takes only whole numbers",
        "…takes only whole numbers, so 2.5 cannot be fed; add --denominator 2",
        "…holds whole numbers, and 2.5 is not one; add --denominator 2",
        page="tensorrt-runtime-factor",
        fixes=((*FOR_TENSORRT, "--denominator", "2"),),
        runtime="resizefix",
    ),
    _row(
        "A constant shape of a Reshape, or a constant size of a Resize, is that of another input size or batch. "
        "Such constants must change with the input.",
        "The input tensor cannot be reshaped to the requested shape. Input shape:{…}, requested shape:{…}",
        "The input tensor cannot be reshaped to the requested shape",
        page="another-input-size",
        fixes=(ANY_SIZE, ("input-size", "any", "--batch", "any"), REPAIR),
        at_other_sizes=True,
    ),
    _row(
        "An output, or a tensor inside, has another size than the file says of it. "
        "The stored shape is old, or a constant size does not follow the input or the batch.",
        "Expected shape from model of {…} does not match actual shape of {…} for output",
        "Shape mismatch attempting to re-use buffer. {…} != {…}.",
        "Error merging shape info for output. … source:{…} target:{…}. Falling back to lenient merge.",
        "Can't merge shape info. Both inferred and declared dimension have values but they differ.",
        "Mismatch between number of inferred and declared dimensions.",
        "Dimension value inferred (…) is not equal to the existing dim value (…).",
        "Ranks inferred (…) is not equal to the existing rank value (…).",
        page=_STALE,
        fixes=(REPAIR, ANY_SIZE, ("input-size", "any", "--batch", "any")),
        at_other_sizes=True,
    ),
    _row(
        "The axis is empty before the resize and is not to be afterwards, and no scale does that. "
        "A cut or a size computed before this node leaves nothing; look at the size that you feed.",
        "Input dim is zero but required output dim is non-zero.",
        page=_STALE,
        fixes=(ANY_SIZE, REPAIR),
        at_other_sizes=True,
    ),
    _row(
        "ONNX forbids exclude_outside outside of mode cubic, unless antialias is set. "
        "In the other modes it changes nothing, and can go.",
        "exclude_outside can be set to 1 when (1 mode is CUBIC.",
        "exclude_outside can be set to 1 only when mode is CUBIC",
        page="cubic-and-other-attributes",
        fixes=(REPAIR, ORT),
    ),
    _row(
        "ONNX defines antialias for the modes linear and cubic alone, and this node has another. "
        "In mode nearest there is nothing to smooth: the attribute can go.",
        "when anti-aliasing is set, Resize only supports mode `LINEAR` and `CUBIC`.",
        page="cubic-and-other-attributes",
        fixes=(REPAIR, ORT),
    ),
    _row(
        "Scales and an aspect ratio policy contradict each other: a policy goes with sizes. "
        "With scales, the policy can only be stretch.",
        'Providing `scales` is incompatible with a `keep_aspect_ratio_policy` other than "stretch".',
        page="cubic-and-other-attributes",
        fixes=(REPAIR, ORT),
    ),
    _row(
        "Scales must be float32, and a converter wrote another type. Converters to float16 and to double do this.",
        "Input 'scales' must have float element type.",
        page="broken-by-a-converter",
    ),
    _row(
        "This is a warning: ONNX has dropped tf_half_pixel_for_nn, and onnxruntime still computes it. "
        "Another form computes the same.",
        "`tf_half_pixel_for_nn` is deprecated since opset 13",
        page="coordinates-and-rounding",
        fixes=(("legalize", "--target", "tensorrt-10"), *OTHER_OPERATORS),
    ),
    _row(
        "onnxruntime takes no scales or sizes from an external file. Save the model with small tensors inside, as "
        "`onnx.save_model(model, path, save_as_external_data=True)` does.",
        "Cannot parse data from external tensors",
        page="docs/repair.md",
        fixes=(),
    ),
    _row(
        "This is a sentence of resizefix itself. It names the node and the rule; `resizefix inspect MODEL -v` explains each node.",
        *(
            f"resizefix {command}: "
            for command in (
                *("inspect", "promote-scales", "freeze-scales", "trt-legacy", "legalize", "check", "verify", "diff"),
                *("repair", "input-size", "set", "opset"),
            )
        ),
        "refused onnxruntime refuses it (",
        "refused tensorrt-… refuses it (",
        page="docs/library.md",
        fixes=(),
        runtime="resizefix",
        says_where=True,
    ),
    _row(
        "An input of the model was not fed, or was fed under another name. `promote-scales` and others add an input and "
        "print its name; feed it together with the image.",
        "Required inputs ([…]) are missing from input feed",
        "Missing Input:",
        page="docs/library.md",
        fixes=(),
    ),
    _row(
        "An input was fed with another element type than the model has. NumPy makes double of `[1.0, 2.0]`: write "
        "`numpy.array(values, numpy.float32)` where float is expected, and numpy.int64 for sizes.",
        "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))",
        "Unexpected input data type. Actual: (tensor(…)) , expected: (tensor(…))",
        page="docs/library.md",
        fixes=(),
    ),
    _row(
        "A kernel of Resize or Upsample failed, and the words behind this say why. "
        "Often the scales, the size or the type of the node are not what the provider takes.",
        "Non-zero status code returned while running Resize node.",
        "Non-zero status code returned while running Upsample node.",
        "onnxruntime::UpsampleBase::UpsampleBase(const KernelInfoType&)",
        "Exception during initialization: …/upsamplebase.h",
        page="docs/repair.md",
        fixes=(REPAIR, ORT, *OTHER_OPERATORS),
        says_where=True,
    ),
    _row(
        "ONNX's shape inference refuses the node, and the words behind this say why. "
        "Often an operand is missing, or is not as long as the image has axes.",
        "Op (Resize) [ShapeInferenceError]",
        "Op (Upsample) [ShapeInferenceError]",
        page="docs/repair.md",
        says_where=True,
    ),
)
