"""Messages of the runtimes that read ONNX files besides onnxruntime and TensorRT."""

from __future__ import annotations

from resizefix.messages.message import Fix, Message
from resizefix.messages.tensorrt import FREEZE, REPAIR, legalize

GATHER: Fix = ("set", "form=gather")
MATMUL: Fix = ("set", "form=matmul")


def _row(runtime: str, target: str, texts: tuple[str, ...], cause: str, page: str, *, frozen: bool = False) -> Message:
    """`frozen`: the runtime wants constants, so freezing comes first.

    Releases differ: where the rules accept the node that a release refused, other operators take its place.
    """
    first = (FREEZE, legalize(target)) if frozen else (legalize(target), FREEZE)
    others = (MATMUL,) if target == "ncnn" else (GATHER, MATMUL)
    return Message(runtime, texts, cause, page, (*first, REPAIR, *others))


MESSAGES = (
    _row(
        "OpenVINO",
        "openvino",
        (
            "this type of coordinate transformation mode is not supported. Choose one of the following modes",
            "coordinate transformation mode is not supported",
        ),
        "OpenVINO has no tf_crop_and_resize and no half_pixel_symmetric. Where another form computes the same, it can be written.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "OpenVINO",
        "openvino",
        (
            "All axes values should less than input rank: 4",
            "std::all_of(axes.cbegin(), axes.cend(), ov::cmp::Less<size_t>(rank))",
        ),
        "OpenVINO takes no negative numbers in `axes`. Axes counted from the front mean the same.",
        "all-axes-values-should-less-than-input-rank",
    ),
    _row(
        "OpenVINO",
        "openvino",
        ("only supports resize on spatial dimensions(depth, height and width)",),
        "OpenVINO resizes depth, height and width alone, and this node scales batch or channels. Other operators compute that.",
        "only-supports-resize-on-spatial-dimensions",
    ),
    _row(
        "OpenVINO",
        "openvino",
        ("ONNX Resize operation from opset 12 is not supported.",),
        "An old release of OpenVINO reads Resize up to opset 11. Other operators compute the same in any opset.",
        "unimplemented-upsample-totypedtranslator",
    ),
    _row(
        "OpenVINO",
        "openvino",
        ("of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank",),
        "OpenVINO interpolates images of four axes alone in this mode. Other operators compute the same for other ranks.",
        "ninputs-in-function-getmemoryshapes",
    ),
    _row(
        "OpenCV",
        "opencv-4",
        (
            'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"',
            "'interpolation' is cubic",
            "'interpolation' is 'cubic'",
        ),
        "OpenCV has no cubic interpolation. At a fixed size, other operators compute it.",
        "interpolation-is-cubic",
    ),
    _row(
        "OpenCV",
        "opencv-4",
        ("layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'", "in function 'parseResize'"),
        "OpenCV 4 takes constant scales and sizes only, and other nodes compute those of this model. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "OpenCV",
        "opencv-4",
        ('interp_mode != "tf_half_pixel_for_nn"', 'interp_mode != "tf_crop_and_resize"'),
        "OpenCV does not have the coordinate mode of this node. Another form or other operators compute the same.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "OpenCV",
        "opencv-4",
        ("HCHW layout is expected (expected: 'scales.total() == (size_t)4')", "scales.total() == (size_t)4"),
        "OpenCV 4 resizes images of four axes alone, with one scale for each. This node has another rank, or lists some axes.",
        "ninputs-in-function-getmemoryshapes",
    ),
    _row(
        "OpenCV",
        "opencv-4",
        ("!isDynamicShape in function 'parseShape'",),
        "OpenCV 4 computes no sizes at run time, and the scales or sizes of this model follow a Shape node. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "OpenCV",
        "opencv-4",
        ("fracpart == 0.0 in function 'get<long int>'", "fracpart == 0.0 in function 'get"),
        "OpenCV reads the scales of Upsample as whole numbers, and these are not. Another form computes the same.",
        "fracpart-in-function-get",
    ),
    _row(
        "OpenCV",
        "opencv-5",
        ("cannot be loaded with the new parser. Trying the older parser.",),
        "OpenCV 5 has two parsers, and the new one refuses this model. The old one computes some resizes otherwise.",
        "cannot-be-loaded-with-the-new-parser",
    ),
    _row(
        "OpenCV",
        "opencv-5",
        ("ninputs == 1 || ninputs == 2 || ninputs >= 4 in function 'getMemoryShapes'",),
        "OpenCV 5 takes a Resize of one, two or four inputs, and this one has three. Sizes instead of scales are a fourth input.",
        "ninputs-in-function-getmemoryshapes",
    ),
    Message(
        "ncnn",
        ("Unsupported Upsample scales !", "Unsupported Resize scales !"),
        "onnx2ncnn reads scales from a Constant or an initializer only. Other nodes compute the scales of this model.",
        "docs/how-to/unsupported-upsample-scales.md",
        (FREEZE, legalize("ncnn")),
    ),
    _row(
        "ncnn",
        "ncnn",
        (
            "layer Resize not exists or registered",
            "layer F.interpolate not exists or registered",
            "ignore Resize … param mode=",
            "ignore F.interpolate … param mode=",
        ),
        "pnnx left the resize as it was, so ncnn has no layer for it. Its scales are not constant, or ncnn lacks its mode.",
        "layer-resize-not-exists-or-registered",
    ),
    _row(
        "ncnn",
        "ncnn",
        ("Unsupported Resize scales and sizes are all empty!",),
        "The converter found neither scales nor sizes as constants. Other nodes compute them, or they are missing.",
        "unsupported-upsample-scales",
        frozen=True,
    ),
    _row(
        "MNN",
        "mnn",
        ("Compute Shape Error for",),
        "MNN cannot compute the size of this resize. Its scales or sizes are in a form that MNN does not read.",
        "all-axes-values-should-less-than-input-rank",
    ),
    _row(
        "MNN",
        "mnn",
        ("Tensorflow's interp's shape should be length two",),
        "MNN expects two sizes, and the node names others. Scales for every axis, or other operators, mean the same.",
        "all-axes-values-should-less-than-input-rank",
    ),
    _row(
        "MNN",
        "mnn",
        ("MNN Interp don't support >= 6 dimension Interp",),
        "MNN resizes tensors of up to five axes. Other operators resize those with more.",
        "only-supports-resize-on-spatial-dimensions",
    ),
    _row(
        "tract",
        "tract",
        ("Unimplemented(Upsample) ToTypedTranslator",),
        "tract has no Upsample. Resize or other operators compute the same.",
        "unimplemented-upsample-totypedtranslator",
    ),
    _row(
        "tract",
        "tract",
        ("Neither sizes nor scales makes sense", "Can not compute output shape. inputs are"),
        "tract wants constant scales or sizes, and these are computed or fed. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "TVM",
        "tvm",
        (
            "for scale is currently unsupported.",
            "for size is currently unsupported.",
            "object of type 'NoneType' has no len()",
        ),
        "TVM wants constant scales or sizes, and these are computed or fed. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "TVM",
        "tvm",
        ("Only one of scales and sizes can be provided in Resize.",),
        "TVM counts an operand that is there but empty as given. The empty operand must go.",
        "either-sizes-or-scales-must-be-provided",
    ),
    _row(
        "TVM",
        "tvm",
        (
            "Resize2D expects the given output image size to be a 2-dim shape",
            "Error converting operator Resize, with inputs",
        ),
        "TVM takes scales or sizes of all axes, and this node lists some of them. Numbers for every axis mean the same.",
        "all-axes-values-should-less-than-input-rank",
    ),
    _row(
        "TVM",
        "tvm",
        ("Unsupported coordinate_transformation_mode: half_pixel_symmetric",),
        "TVM does not have the coordinate mode of this node. Another form or other operators compute the same.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "RKNN",
        "rknn",
        ("need to be constant! It will cause the graph to be a dynamic graph!",),
        "RKNN wants constant scales or sizes, and these are computed or fed. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "RKNN",
        "rknn",
        ("Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!", "Not support '…' in 'Resize'(opset-11)!"),
        "RKNN does not have the coordinate mode of this node. Another form or other operators compute the same.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "RKNN",
        "rknn",
        ("The follow op is not support : ['Resize']", "The follow op is not support : ['Upsample']"),
        "RKNN takes no resize of this form. Another form or other operators compute the same.",
        "unimplemented-upsample-totypedtranslator",
    ),
    _row(
        "QNN",
        "qnn",
        ("QNN EP: Resize doesn't support anti-aliasing.",),
        "QNN has no antialiasing. Enlarging needs none, and shrinking at a fixed size can be a matrix product.",
        "antialiasing-is-not-supported-currently",
    ),
    _row(
        "QNN",
        "qnn",
        (
            "QNN EP: Resize does not support coordinate_transformation_mode",
            "QNN EP: ResizeNearestNeighbor on the NPU does not support the combination of nearest_mode == 'ceil' or "
            "'round_prefer_floor' and transformation_mode == 'asymmetric'.",
            "QNN EP: ResizeNearestNeighbor on the NPU does not support the combination of nearest_mode",
        ),
        "QNN does not have this combination of coordinates and rounding. Another one that picks the same samples can be written.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "QNN",
        "qnn",
        ("QNN EP: Resize may only change the spatial dimensions.",),
        "QNN resizes height and width alone, and this node scales batch or channels. Other operators compute that.",
        "only-supports-resize-on-spatial-dimensions",
    ),
    _row(
        "CoreML",
        "coreml",
        ("Resize with 'scales' requires the H and W dimensions to have fixed values",),
        "CoreML wants a fixed height and width where a node has scales, and this model leaves them open. Fix the input's size first.",
        "requires-the-h-and-w-dimensions-to-have-fixed-values",
    ),
    _row(
        "NNAPI",
        "nnapi",
        ("Resize nearest neighbor, unsupported coord_trans_mode,", "unsupported coord_trans_mode"),
        "NNAPI does not have the coordinate mode of this node. Another form or other operators compute the same.",
        "coordinate-transformation-mode-is-not-supported",
    ),
    _row(
        "CoreML and NNAPI",
        "nnapi",
        ("Input scales of Resize must be known",),
        "These providers want constant scales, and other nodes compute those of this model. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "MIGraphX",
        "migraphx",
        ("PARSE_RESIZE: only nearest and linear modes are supported!",),
        "Older releases of MIGraphX have no cubic interpolation. At a fixed size, other operators compute it.",
        "interpolation-is-cubic",
    ),
    _row(
        "MIGraphX",
        "migraphx",
        ("PARSE_RESIZE: dynamic output size is not supported!",),
        "MIGraphX wants constant scales or sizes, and these are computed or fed. Make them constant.",
        "neither-sizes-nor-scales-makes-sense",
        frozen=True,
    ),
    _row(
        "MIGraphX",
        "migraphx",
        ("PARSE_RESIZE: exclude_outside 1 is not supported!",),
        "MIGraphX does not have exclude_outside. Other operators compute the same at a fixed size.",
        "exclude-outside-is-not-supported",
    ),
)
