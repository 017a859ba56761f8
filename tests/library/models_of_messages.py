# ruff: noqa: E501
"""For each message, a model that has its fault: names of fixtures, and models in ONNX's text form."""

import onnx
import onnx_text

S = "float[4] s = {1, 1, 2, 2}"


def text_model(opset, nodes, rest=S, kind="float", data="[1,3,8,8]"):
    return onnx_text.model(f"({kind}{data} x) => ({kind}[a, b, c, d] y) <{rest}> {{ {nodes} }}", opset)


# By the command that fixes it and the wording of the message: a model that has its fault.
FIXED_BY: dict[str, dict[str, str | onnx.ModelProto]] = {
    "trt-legacy": {
        "Attribute not found: height_scale": "bisenet_x8_nearest_opset9",
        "No importer registered for op: Resize": "bisenet_x8_nearest_opset10",
        "No Adapter From Version $11 for Resize": "bisenet_x8_nearest_opset11",
    },
    "repair": {
        "Input dimensions with this name have different constant values": "broken/reused_name_onnx",
        "Operator Upsample requires exactly 2 inputs. Current input size = 1": "handmade/upsample9_hybrid",
        'Assertion failed: attrs.contains("scales"): Attribute scales is missing':
            text_model(8, 'y = Upsample <mode = "linear"> (x, s)'),
        "The attribute mode can only be nearest, linear, or bilinear.": "handmade/resize_mode_bilinear",
        "This version of TensorRT only supports FLOAT scales input. Current scales weight type":
            "handmade/scales_half_precision",
        "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid":
            "broken/fp16_scales_const_13",
        "Either 'sizes' or 'scales' must be provided, but not both of them": "handmade/resize_scales_and_sizes",
        "input 1 is marked single but has an empty string in the graph": "broken/empty_name_opset11_05",
        "Scale value should be greater than 0": "broken/upsample_downscales_01",
        "mode attribute is bilinear. It can only be nearest(default) or linear or cubic":
            "broken/mode_bilinear_opset11",
        "Op registered for Upsample is deprecated in domain_version of 11": "handmade/upsample_at_opset_11",
        "Unrecognized attribute: … for operator Resize":
            text_model(13, 'y = Resize <mode = "linear", align_corners = 1> (x, "", s)'),
        "No Op registered for Resize with domain_version of 9": text_model(9, "y = Resize (x, s)"),
        "Could not find an implementation for Resize(13) node": "handmade/upsample1_height_scale",
        "(…, Upsample, …) has input size 2 not in range [min=1, max=1]": text_model(7, "y = Upsample (x, s)"),
        "with schema(::Resize:11) has input size 2 not in range": text_model(11, "y = Resize (x, s)"),
        "Number of elements of input 'scales' must be same as rank of input 'X'":
            "broken/scales_of_two_axes_caffe2onnx",
        "coordinate_transform_mode:[…] is not supported!":
            text_model(13, 'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners "> (x, "", s)'),
        "Mismatched attribute type in '… : cubic_coeff_a'":
            text_model(13, 'y = Resize <mode = "cubic", exclude_outside = 0.0> (x, "", s)'),
        "two nodes with same node name (…)": "broken/duplicate_output_name_01",
        "Type (tensor(float16)) of output arg (…) of node (…) does not match expected type (tensor(float))":
            "broken/fp16_scales_and_stale_type_02",
    },
    "legalize": {
        "Assertion failed: scales_input.is_weights()": "computed_scales_opset9",
        "Resize scales must be an initializer!": "handmade/scales_concat",
        "Assertion failed: ctx->tensors().count(inputName)": "bisenet_x8_nearest_opset11",
        "Assertion failed: (nbDims >= 1) && (nbDims <= 3)": "bisenet_x8_linear_opset9",
        "This version of TensorRT only supports asymmetric resize!": "bisenet_x8_linear_opset13",
        "This version of TensorRT only supports floor nearest_mode!": "handmade/sizes_constant",
        "This version of TensorRT does not support cubic interpolation!": "srcnn_x3_opset11",
        "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners transformation modes!":
            "handmade/resize19_half_pixel_symmetric",
        "This version of TensorRT only support round_prefer_floor nearest mode in tf_half_pixel_for_nn!":
            "handmade/resize11_tf_half_pixel_for_nn",
        "Antialiasing is not supported currently.": "handmade/resize18_antialias",
        "Only 'stretch' is supported currently as 'keep_aspect_ratio_policy'.": "handmade/sizes_not_larger",
        "'axes' attribute is supported with 'scales' tensor only when it's trivial":
            text_model(18, 'h = Concat <axis = 0> (p, p) y = Resize <axes = [2, 3]> (x, "", h)', "float[1] p = {2}"),
        "first input has type Int32 but must have type Float, Half": "handmade/data_int32",
    },
    "freeze-scales": {
        "Unsupported Upsample scales !": "computed_scales_opset9",
    },
    "promote-scales": {
        "is a shape tensor and must have type Int32 or Int64. Type is Float": "handmade/scales_graph_input",
        "Assertion !isInFlight(p.second.symbolicRep) failed": "handmade/scales_graph_input",
        "Network has dynamic or shape inputs, but no optimization profile has been defined": "srcnn_x3_opset11",
        "Attempting to broadcast an axis by a dimension other than 1. 10 by 15": "handmade/stale_value_info",
        "Non concat axis dimensions must match": "handmade/two_sites_together",
        "--at 2.5: … takes only whole numbers": "srcnn_x3_opset11",
    },
}  # fmt: skip
MODELS = {text: (model, command) for command, rows in FIXED_BY.items() for text, model in rows.items()}
# Messages of which no model is here whose fault can be fixed, and why.
CROPS = "tf_crop_and_resize reads a roi and extrapolates, which no other node does"
WITHOUT = {
    "Input element type must be f32, f16, bf16, i8, u8, i64, i32": "today's OpenVINO takes float64",
    "Don't support CoordinateTransformationMode_TensorflowCropAndResize currently": CROPS,
    "Resize in tf_crop_and_resize mode needs a roi": CROPS,
    "Resize: roi input is not supported": CROPS,
    'PARSE_RESIZE: "tf_crop_and_resize" mode is not supported!': CROPS,
    "exclude_outside can be set to 1 when (1 mode is CUBIC.": "onnxruntime runs no such node, so no other can be compared with it",
    "when anti-aliasing is set, Resize only supports mode `LINEAR` and `CUBIC`.": "onnxruntime runs no such node, so no other can be compared with it",
    'Providing `scales` is incompatible with a `keep_aspect_ratio_policy` other than "stretch".': "onnxruntime runs no such node, so no other can be compared with it",
    "ONNX's Upsample/Resize operator did not match Pytorch's Interpolation until opset 11": "it is a warning, and the file cannot say which coordinates were meant",
    "This version of TensorRT only supports linear resizing on the outermost 3 dimensions": "onnxruntime runs no such node",
    "'Linear' mode only supports:": "onnxruntime runs no such node, so no other can be compared with it",
    "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
    "being 1": "onnxruntime runs no such node, so no other can be compared with it",
}
# Of the runtimes that refuse what onnxruntime takes: a model that has the fault of each message.
CUBIC = text_model(13, 'y = Resize <mode = "cubic"> (x, "", s)')
SYMMETRIC = text_model(19, 'y = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, "", s)')
COMPUTED = text_model(13, 'a = Shape (x) b = Mul (a, f) y = Resize (x, "", "", b)', "int64[4] f = {1, 1, 2, 2}")
UPSAMPLE = text_model(9, "y = Upsample (x, s)")
FRACTION = text_model(9, "y = Upsample (x, s)", "float[4] s = {1, 1, 1.5, 1.5}")
SHRUNK = text_model(18, 'y = Resize <antialias = 1, mode = "linear"> (x, "", s)', "float[4] s = {1, 1, 0.5, 0.5}")
FROM_THE_END = text_model(18, 'y = Resize <axes = [-2, -1]> (x, "", s)', "float[2] s = {2, 2}")
CHANNELS = text_model(
    13, 'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, "", s)',
    "float[4] s = {1, 2, 2, 2}",
)  # fmt: skip
TF_HALF = text_model(
    11, 'y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, e, s)', f"{S}, float[0] e = {{}}"
)
CEIL = text_model(13, 'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"> (x, "", s)')
OUTSIDE = text_model(13, 'y = Resize <mode = "cubic", exclude_outside = 1> (x, "", s)')
SIX_AXES = text_model(
    13, 'h = Unsqueeze (x, q) r = Resize (h, "", s) y = Squeeze (r, q)',
    "int64[2] q = {0, 1}, float[6] s = {1, 1, 1, 1, 2, 2}",
)  # fmt: skip
EMPTY = text_model(13, "y = Resize (x, e, e, z)", "float[0] e = {}, int64[4] z = {1, 3, 16, 16}")
LINEAR_9 = text_model(9, 'y = Upsample <mode = "linear"> (x, s)')
OTHERS: dict[str, onnx.ModelProto] = {
    "this type of coordinate transformation mode is not supported. Choose one of the following modes": SYMMETRIC,
    "All axes values should less than input rank: 4": FROM_THE_END,
    "only supports resize on spatial dimensions(depth, height and width)": CHANNELS,
    "ONNX Resize operation from opset 12 is not supported.": CUBIC,
    "of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank": CUBIC,
    'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"': CUBIC,
    "'interpolation' is cubic": CUBIC,
    "'interpolation' is linear": LINEAR_9,
    "layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'": COMPUTED,
    "Node [Resize@ai.onnx]:(…) parse error": COMPUTED,
    'interp_mode != "tf_half_pixel_for_nn"': TF_HALF,
    "HCHW layout is expected (expected: 'scales.total() == (size_t)4')": FROM_THE_END,
    "!isDynamicShape in function 'parseShape'": COMPUTED,
    "fracpart == 0.0 in function 'get<long int>'": FRACTION,
    "cannot be loaded with the new parser. Trying the older parser.": COMPUTED,
    "ninputs == 1 || ninputs == 2 || ninputs >= 4 in function 'getMemoryShapes'": CUBIC,
    "layer Resize not exists or registered": CEIL,
    "Unsupported Resize scales and sizes are all empty!": COMPUTED,
    "Compute Shape Error for": COMPUTED,
    "Tensorflow's interp's shape should be length two": FROM_THE_END,
    "MNN Interp don't support >= 6 dimension Interp": SIX_AXES,
    "Unimplemented(Upsample) ToTypedTranslator": UPSAMPLE,
    "Neither sizes nor scales makes sense": COMPUTED,
    "for scale is currently unsupported.": COMPUTED,
    "Only one of scales and sizes can be provided in Resize.": EMPTY,
    "Unsupported coordinate_transformation_mode: half_pixel_symmetric": SYMMETRIC,
    "Resize2D expects the given output image size to be a 2-dim shape": FROM_THE_END,
    "need to be constant! It will cause the graph to be a dynamic graph!": COMPUTED,
    "Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!": TF_HALF,
    "The follow op is not support : ['Resize']": CUBIC,
    "QNN EP: Resize doesn't support anti-aliasing.": SHRUNK,
    "QNN EP: Resize does not support coordinate_transformation_mode": SYMMETRIC,
    "QNN EP: Resize may only change the spatial dimensions.": CHANNELS,
    "Resize with 'scales' requires the H and W dimensions to have fixed values": UPSAMPLE,
    "Resize nearest neighbor, unsupported coord_trans_mode,": SYMMETRIC,
    "Input scales of Resize must be known": COMPUTED,
    "PARSE_RESIZE: only nearest and linear modes are supported!": CUBIC,
    "PARSE_RESIZE: dynamic output size is not supported!": COMPUTED,
    "PARSE_RESIZE: exclude_outside 1 is not supported!": OUTSIDE,
}
# Of the rows without a command whose model is above: what runtimes print of such a model.
LINEAR = text_model(13, 'y = Resize <mode = "linear"> (x, "", s)')
THREE_AXES = text_model(
    13, 'h = Squeeze (x, q) r = Resize <mode = "linear"> (h, "", s) y = Unsqueeze (r, q)',
    "int64[1] q = {0}, float[3] s = {1, 2, 2}",
)  # fmt: skip
THREE_AXES_9 = text_model(
    9, "h = Squeeze <axes = [0]> (x) r = Upsample (h, s) y = Unsqueeze <axes = [0]> (r)", "float[3] s = {1, 2, 2}"
)
FIVE_AXES = text_model(
    13, 'h = Unsqueeze (x, q) r = Resize (h, "", s) y = Squeeze (r, q)',
    "int64[1] q = {0}, float[5] s = {1, 1, 1, 2, 2}",
)  # fmt: skip
CHANNELS_9 = text_model(9, "y = Upsample (x, s)", "float[4] s = {1, 2, 2, 2}")
ATTRIBUTE = text_model(8, "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", "")
FOUR_INPUTS = text_model(10, "y = Resize (x, e, s, e)", f"{S}, float[0] e = {{}}")
SIZES = text_model(
    13, 'y = Resize <coordinate_transformation_mode = "half_pixel"> (x, "", "", z)', "int64[4] z = {1, 3, 16, 16}"
)
NEAREST = text_model(13, 'y = Resize <nearest_mode = "round_prefer_floor"> (x, "", s)')
TO_ONE_PIXEL = text_model(
    13, 'y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, "", s)',
    "float[4] s = {1, 1, 0.125, 0.125}",
)  # fmt: skip
ONE_SCALE = "broken/scales_of_two_axes_caffe2onnx"
MISSPELT = text_model(13, 'y = Resize <mode = "bilinear"> (x, "", s)')
POLICY = text_model(
    18, 'y = Resize <keep_aspect_ratio_policy = "not_larger"> (x, "", "", z)', "int64[4] z = {1, 3, 16, 20}"
)
HALF_SCALES = "broken/fp16_scales_const_13"
BOTH = "handmade/resize_scales_and_sizes"
FIXED_RESHAPE = text_model(
    13, "h = Reshape (x, z) y = Transpose <perm = [0, 1, 3, 2]> (h)", "int64[4] z = {1, 3, 8, 8}"
)
# By the model: the messages that a runtime prints of it.
PRINTED_OF = (
    (LINEAR_9, 'Assertion failed: mode == "nearest"'),
    (
        text_model(9, 'y = Upsample <mode = "bilinear"> (x, s)'),
        'Assertion failed: mode == "nearest" || mode == "linear"',
    ),
    (THREE_AXES_9, "Assertion failed: tensor.getDimensions().nbDims == 3"),
    (THREE_AXES_9, "Assertion failed: nbSpatialDims == 2 || nbSpatialDims == 3"),
    (CHANNELS_9, "Assertion failed: scales_ptr[0] == 1 && scales_ptr[1] == 1"),
    (LINEAR, "In function importResize: … Assertion failed: inputs.size() == 2"),
    (ATTRIBUTE, "Assertion failed: static_cast<int>(scales.size()) == nbDims"),
    (COMPUTED, "Assertion failed: scales_weights.shape.nbDims == 1"),
    (
        TF_HALF,
        "This version of TensorRT only supports asymmetric, align_corners, half_pixel, and pytorch_half_pixel resize!",
    ),
    (
        SIZES,
        "TensorRT only supports asymmetric and align_corners transformation modes for nearest neighbor resizes when sizes are provided!",
    ),
    (TO_ONE_PIXEL, "TensorRT doesn't support pytorch_half_pixel resizing for 1D interpolation!"),
    (MISSPELT, 'Assertion failed: (mode == "nearest") && "Invalid Resize mode"'),
    (ONE_SCALE, "Length of scales input must be same as length of axes attribute."),
    (COMPUTED, "Assertion Error in validate: 0 (nbResizeDim >= 0)"),
    (COMPUTED, "dimension 0 never exceeds -1"),
    (
        "handmade/two_sites_together",
        "all concat input tensors must have the same dimensions except on the concatenation axis",
    ),
    (FOUR_INPUTS, "input size 4 not in range [min=2, max=2]"),
    (FIXED_RESHAPE, "The input tensor cannot be reshaped to the requested shape. Input shape:{…}, requested shape:{…}"),
    ("handmade/stale_value_info", "Expected shape from model of {…} does not match actual shape of {…} for output"),
    (LINEAR, "Input dim is zero but required output dim is non-zero."),
    (HALF_SCALES, "Input 'scales' must have float element type."),
    (TF_HALF, "`tf_half_pixel_for_nn` is deprecated since opset 13"),
    (BOTH, "Non-zero status code returned while running Resize node."),
    (BOTH, "Op (Resize) [ShapeInferenceError]"),
    (COMPUTED, "running Resize node. … 80070057 The parameter is incorrect"),
    (CUBIC, "Resize donesn't support cubic mode!"),
    (CUBIC, "QNN.backendValidateOpConfig() failed for node `…` of type `Resize`"),
    (CUBIC, "Resize unsupported input mode,"),
    (OUTSIDE, "Resize does not support exclude_outside for now"),
    (FIVE_AXES, "Resize only support 4d shape, input is 5d shape"),
    (SHRUNK, "Resize 18+ antialias feature is not currently supported by NNAPI."),
    (FRACTION, "Resize: scale_h: … is not a whole number"),
    (NEAREST, "resize (packed) does not support mode: 'nearest'"),
    (LINEAR, "unrecognized input '' for node: Resize"),
    (LINEAR, "cannot resolve operator 'Resize' with opsets"),
    (FIVE_AXES, "Resize requires scales input size to be 2 or 4 for linear mode"),
    (FROM_THE_END, "Resize requires axes input values to be positive and less than rank"),
    (FROM_THE_END, "Resize axes is not supported when converting from opset 18 to opset 17."),
    (LINEAR, "Resize coordinate_transformation_mode=pytorch_half_pixel is not supported in Tensorflow."),
    ("handmade/upsample1_height_scale", "Upsample version 1 is not implemented"),
    (THREE_AXES, "Currently, Resize operations other than 4D and 5D are not supported."),
    (LINEAR, "KeyError: 'Resize'"),
    (LINEAR, "Don't know how to translate op Resize"),
    (
        UPSAMPLE,
        "This ONNX upsample layer has 'scales' provided as an input. CoreML upsample requires 'scales' as an attribute of the layer.",
    ),
    (COMPUTED, "Error while converting op of type: Resize."),
    (CUBIC, "Current Interpolate supports 'nearest' and 'linear' modes only"),
    (CHANNELS, "Current Interpolate does not support paddings, batches, and resize by channels"),
    (MISSPELT, "this type of interpolation mode is not supported. Choose one of the following modes"),
    (ONE_SCALE, "Input tensor's rank is required to be the same as number of elements of 'scales' attribute."),
    (COMPUTED, 'Cannot infer shapes or values for node "Resize_….'),
    ("handmade/two_sites_together", "Inconsistent shape for ConcatLayer"),
    (CUBIC, "unsupported interpolate mode nearest-exact"),
    (CUBIC, "Unsupported Upsample mode! ==>"),
    (LINEAR, "Onnx Resize should have 4 or 2 inputs!"),
    (BOTH, "Resize with neither scales nor sizes"),
    (UPSAMPLE, "The following operators are not supported for frontend ONNX: … Upsample"),
    (SIX_AXES, "Only resize1d/resize2d/resize3d are supported."),
    (EMPTY, "One of scale or size should be passed, not both."),
    (LINEAR, "Unsupported resize mode: linear"),
    (NEAREST, "Unsupported nearest_mode for resize: round_prefer_floor"),
    (THREE_AXES, "Unsupported rank for nearest resize: 3"),
    (BOTH, "Scales and sizes cannot both be set for Resize operation"),
    (LINEAR, "unsupported op_type Resize for op"),
    (COMPUTED, "Runtime resize requires sizes input"),
    (UPSAMPLE, "Unsupported ONNX operation(s): Upsample"),
    (COMPUTED, "PARSE_RESIZE: no shapes for scales/size input provided"),
    (POLICY, 'PARSE_RESIZE: keep_aspect_ratio_policy="…" is not supported (only "stretch" is accepted)'),
    (ONE_SCALE, "PARSE_RESIZE: ranks of input and scale are different!"),
    ("handmade/two_sites_together", "CONCAT: Non-axis dimensions should match"),
    (FIVE_AXES, "Meet unsupported upsample input dim !=4"),
    (LINEAR, "Unsupported operator Resize"),
    (LINEAR, 'There is no registered "infer" function for node "…" with op = "Resize"'),
    ("handmade/two_sites_together", "While validating node 'v1::Add … Argument shapes are inconsistent."),
    (BOTH, "While validating ONNX node '<Node(Resize): …>'"),
    (
        LINEAR,
        "Applying rule inputs[2].shape[0] == {(inputs[0].rank) as dim} … Impossible to unify Val(0) with Val(4)",
    ),
    (LINEAR, "WebGL: ERROR: … : invalid number"),
    (LINEAR, "resize: coordinate_transformation_mode(…) is not supported, result may be different"),
    (LINEAR, "Fractional upsample only compatible with align_corners=true or align_corners=false"),
    (COMPUTED, "Shape not supported yet!"),
    (
        NEAREST,
        "Unsupported attribute nearest_mode, node … of type Resize. Value will be ignored and defaulted to",
    ),
    (LINEAR, "Didn't find op for builtin opcode 'RESIZE_NEAREST_NEIGHBOR' version '3'"),
    (CHANNELS, "Pytorch's interpolate cannot scale channel or batch dimensions."),
    (FIXED_RESHAPE, "Reshape error: 1 -> 115200"),
    ("handmade/two_sites_together", "ArgumentException: Off-axis dimensions must match"),
)
OTHERS |= {text: model for model, text in PRINTED_OF}
