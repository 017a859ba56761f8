"""Messages of the runtimes that read ONNX files besides onnxruntime and TensorRT."""

from __future__ import annotations

from resizefix.messages.message import Fix, Message
from resizefix.messages.tensorrt import FREEZE, REPAIR, legalize

GATHER: Fix = ("set", "form=gather")
MATMUL: Fix = ("set", "form=matmul")
# By the target that stands for them.
_RUNTIMES = {
    "openvino": "OpenVINO", "opencv-4": "OpenCV", "opencv-5": "OpenCV", "ncnn": "ncnn", "mnn": "MNN", "tract": "tract",
    "tvm": "TVM", "rknn": "RKNN", "qnn": "QNN", "coreml": "CoreML", "nnapi": "NNAPI", "migraphx": "MIGraphX",
}  # fmt: skip


def _row(target: str, page: str, cause: str, *texts: str, frozen: bool = False, runtime: str | None = None) -> Message:
    """`frozen`: the runtime wants constants, so freezing comes first.

    Releases differ: where the rules accept the node that a release refused, other operators take its place.
    """
    first = (FREEZE, legalize(target)) if frozen else (legalize(target), FREEZE)
    others = (MATMUL,) if target == "ncnn" else (GATHER, MATMUL)
    return Message(runtime or _RUNTIMES[target], texts, cause, page, (*first, REPAIR, *others))


def _computed(target: str, *texts: str) -> Message:
    cause = f"{_RUNTIMES[target]} wants constant scales or sizes, and these are computed or fed. Make them constant."
    return _row(target, "neither-sizes-nor-scales-makes-sense", cause, *texts, frozen=True)


def _coordinates(target: str, *texts: str) -> Message:
    cause = f"{_RUNTIMES[target]} does not have the coordinate mode of this node. Another form or other operators compute the same."
    return _row(target, "coordinate-transformation-mode-is-not-supported", cause, *texts)


MESSAGES = (
    _row(
        "openvino",
        "coordinate-transformation-mode-is-not-supported",
        "OpenVINO has no tf_crop_and_resize and no half_pixel_symmetric. Where another form computes the same, it can be written.",
        "this type of coordinate transformation mode is not supported. Choose one of the following modes",
        "coordinate transformation mode is not supported",
    ),
    _row(
        "openvino",
        "all-axes-values-should-less-than-input-rank",
        "OpenVINO takes no negative numbers in `axes`. Axes counted from the front mean the same.",
        "All axes values should less than input rank: 4",
        "std::all_of(axes.cbegin(), axes.cend(), ov::cmp::Less<size_t>(rank))",
    ),
    _row(
        "openvino",
        "only-supports-resize-on-spatial-dimensions",
        "OpenVINO resizes depth, height and width alone, and this node scales batch or channels. Other operators compute that.",
        "only supports resize on spatial dimensions(depth, height and width)",
    ),
    _row(
        "openvino",
        "unimplemented-upsample-totypedtranslator",
        "An old release of OpenVINO reads Resize up to opset 11. Other operators compute the same in any opset.",
        "ONNX Resize operation from opset 12 is not supported.",
    ),
    _row(
        "openvino",
        "ninputs-in-function-getmemoryshapes",
        "OpenVINO interpolates images of four axes alone in this mode. Other operators compute the same for other ranks.",
        "of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank",
    ),
    _row(
        "opencv-4",
        "interpolation-is-cubic",
        "OpenCV has no cubic interpolation. At a fixed size, other operators compute it.",
        'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"',
        "'interpolation' is cubic",
        "'interpolation' is 'cubic'",
    ),
    _row(
        "opencv-4",
        "neither-sizes-nor-scales-makes-sense",
        "OpenCV 4 takes constant scales and sizes only, and other nodes compute those of this model. Make them constant.",
        "layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'",
        "in function 'parseResize'",
        frozen=True,
    ),
    _coordinates("opencv-4", 'interp_mode != "tf_half_pixel_for_nn"', 'interp_mode != "tf_crop_and_resize"'),
    _row(
        "opencv-4",
        "ninputs-in-function-getmemoryshapes",
        "OpenCV 4 resizes images of four axes alone, with one scale for each. This node has another rank, or lists some axes.",
        "HCHW layout is expected (expected: 'scales.total() == (size_t)4')",
        "scales.total() == (size_t)4",
    ),
    _row(
        "opencv-4",
        "neither-sizes-nor-scales-makes-sense",
        "OpenCV 4 computes no sizes at run time, and the scales or sizes of this model follow a Shape node. Make them constant.",
        "!isDynamicShape in function 'parseShape'",
        frozen=True,
    ),
    _row(
        "opencv-4",
        "fracpart-in-function-get",
        "OpenCV reads the scales of Upsample as whole numbers, and these are not. Another form computes the same.",
        "fracpart == 0.0 in function 'get<long int>'",
        "fracpart == 0.0 in function 'get",
    ),
    _row(
        "opencv-5",
        "cannot-be-loaded-with-the-new-parser",
        "OpenCV 5 has two parsers, and the new one refuses this model. The old one computes some resizes otherwise.",
        "cannot be loaded with the new parser. Trying the older parser.",
    ),
    _row(
        "opencv-5",
        "ninputs-in-function-getmemoryshapes",
        "OpenCV 5 takes a Resize of one, two or four inputs, and this one has three. Sizes instead of scales are a fourth input.",
        "ninputs == 1 || ninputs == 2 || ninputs >= 4 in function 'getMemoryShapes'",
    ),
    Message(
        "ncnn",
        ("Unsupported Upsample scales !", "Unsupported Resize scales !"),
        "onnx2ncnn reads scales from a Constant or an initializer only. Other nodes compute the scales of this model.",
        "unsupported-upsample-scales",
        (FREEZE, legalize("ncnn")),
    ),
    _row(
        "ncnn",
        "layer-resize-not-exists-or-registered",
        "pnnx left the resize as it was, so ncnn has no layer for it. Its scales are not constant, or ncnn lacks its mode.",
        "layer Resize not exists or registered",
        "layer F.interpolate not exists or registered",
        "ignore Resize … param mode=",
        "ignore F.interpolate … param mode=",
    ),
    _row(
        "ncnn",
        "unsupported-upsample-scales",
        "The converter found neither scales nor sizes as constants. Other nodes compute them, or they are missing.",
        "Unsupported Resize scales and sizes are all empty!",
        frozen=True,
    ),
    _row(
        "mnn",
        "all-axes-values-should-less-than-input-rank",
        "MNN cannot compute the size of this resize. Its scales or sizes are in a form that MNN does not read.",
        "Compute Shape Error for",
    ),
    _row(
        "mnn",
        "all-axes-values-should-less-than-input-rank",
        "MNN expects two sizes, and the node names others. Scales for every axis, or other operators, mean the same.",
        "Tensorflow's interp's shape should be length two",
    ),
    _row(
        "mnn",
        "only-supports-resize-on-spatial-dimensions",
        "MNN resizes tensors of up to five axes. Other operators resize those with more.",
        "MNN Interp don't support >= 6 dimension Interp",
    ),
    _row(
        "tract",
        "unimplemented-upsample-totypedtranslator",
        "tract has no Upsample. Resize or other operators compute the same.",
        "Unimplemented(Upsample) ToTypedTranslator",
    ),
    _computed("tract", "Neither sizes nor scales makes sense", "Can not compute output shape. inputs are"),
    _computed(
        "tvm",
        "for scale is currently unsupported.",
        "for size is currently unsupported.",
        "object of type 'NoneType' has no len()",
    ),
    _row(
        "tvm",
        "either-sizes-or-scales-must-be-provided",
        "TVM counts an operand that is there but empty as given. The empty operand must go.",
        "Only one of scales and sizes can be provided in Resize.",
    ),
    _row(
        "tvm",
        "all-axes-values-should-less-than-input-rank",
        "TVM takes scales or sizes of all axes, and this node lists some of them. Numbers for every axis mean the same.",
        "Resize2D expects the given output image size to be a 2-dim shape",
        "Error converting operator Resize, with inputs",
    ),
    _coordinates("tvm", "Unsupported coordinate_transformation_mode: half_pixel_symmetric"),
    _computed("rknn", "need to be constant! It will cause the graph to be a dynamic graph!"),
    _coordinates(
        "rknn", "Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!", "Not support '…' in 'Resize'(opset-11)!"
    ),
    _row(
        "rknn",
        "unimplemented-upsample-totypedtranslator",
        "RKNN takes no resize of this form. Another form or other operators compute the same.",
        "The follow op is not support : ['Resize']",
        "The follow op is not support : ['Upsample']",
    ),
    _row(
        "qnn",
        "antialiasing-is-not-supported-currently",
        "QNN has no antialiasing. Enlarging needs none, and shrinking at a fixed size can be a matrix product.",
        "QNN EP: Resize doesn't support anti-aliasing.",
    ),
    _row(
        "qnn",
        "coordinate-transformation-mode-is-not-supported",
        "QNN does not have this combination of coordinates and rounding. Another one that picks the same samples can be written.",
        "QNN EP: Resize does not support coordinate_transformation_mode",
        "QNN EP: ResizeNearestNeighbor on the NPU does not support the combination of nearest_mode == 'ceil' or 'round_prefer_floor' and transformation_mode == 'asymmetric'.",
        "QNN EP: ResizeNearestNeighbor on the NPU does not support the combination of nearest_mode",
    ),
    _row(
        "qnn",
        "only-supports-resize-on-spatial-dimensions",
        "QNN resizes height and width alone, and this node scales batch or channels. Other operators compute that.",
        "QNN EP: Resize may only change the spatial dimensions.",
    ),
    _row(
        "coreml",
        "requires-the-h-and-w-dimensions-to-have-fixed-values",
        "CoreML wants a fixed height and width where a node has scales, and this model leaves them open. Fix the input's size first.",
        "Resize with 'scales' requires the H and W dimensions to have fixed values",
    ),
    _coordinates("nnapi", "Resize nearest neighbor, unsupported coord_trans_mode,", "unsupported coord_trans_mode"),
    _row(
        "nnapi",
        "neither-sizes-nor-scales-makes-sense",
        "These providers want constant scales, and other nodes compute those of this model. Make them constant.",
        "Input scales of Resize must be known",
        runtime="CoreML and NNAPI",
        frozen=True,
    ),
    _row(
        "migraphx",
        "interpolation-is-cubic",
        "Older releases of MIGraphX have no cubic interpolation. At a fixed size, other operators compute it.",
        "PARSE_RESIZE: only nearest and linear modes are supported!",
    ),
    _computed("migraphx", "PARSE_RESIZE: dynamic output size is not supported!"),
    _row(
        "migraphx",
        "exclude-outside-is-not-supported",
        "MIGraphX does not have exclude_outside. Other operators compute the same at a fixed size.",
        "PARSE_RESIZE: exclude_outside 1 is not supported!",
    ),
)
