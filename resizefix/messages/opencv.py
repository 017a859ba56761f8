"""Messages of OpenCV's dnn module."""

from __future__ import annotations

from dataclasses import replace

from resizefix.messages.message import (
    ANY_SIZE,
    CONSTANT,
    COORDINATES,
    CUBIC,
    PARTNER,
    RANK,
    Message,
    coordinates,
    legalize,
    row,
)

MESSAGES = (
    replace(
        row(
            "opencv-4",
            CUBIC,
            "OpenCV resizes by nearest and linear interpolation, and the end of this message names another: most often cubic. "
            "At a fixed size, other operators compute it.",
            'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"',
        ),
        says_where=True,
    ),
    row(
        "opencv-4",
        CUBIC,
        "OpenCV has no cubic interpolation. At a fixed size, other operators compute it.",
        "'interpolation' is cubic",
        "'interpolation' is 'cubic'",
    ),
    row(
        "opencv-4",
        COORDINATES,
        "OpenCV 4 takes a linear Upsample from files of PyTorch's exporter only. A Resize that computes the same is taken.",
        "'interpolation' is linear",
        "'interpolation' is 'linear'",
    ),
    row(
        "opencv-4",
        CONSTANT,
        "OpenCV 4 takes constant scales and sizes only, and other nodes compute those of this model. Make them constant.",
        "layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'",
        frozen=True,
    ),
    replace(
        row(
            "opencv-4",
            CONSTANT,
            "OpenCV 4 names the node that it cannot read, and the lines behind it say why. Scales and sizes that are not "
            "constant are the most frequent cause.",
            "Node [Resize@ai.onnx]:(…) parse error",
            "in function 'parseResize'",
            "Node [Upsample@ai.onnx]:(…) parse error",
            "Node [Identity]:(onnx::Resize_…) parse error",
            "Node [Identity@ai.onnx]:(onnx_node!…Resize…) parse error",
            frozen=True,
        ),
        says_where=True,
    ),
    coordinates("opencv-4", 'interp_mode != "tf_half_pixel_for_nn"', 'interp_mode != "tf_crop_and_resize"'),
    row(
        "opencv-4",
        RANK,
        "OpenCV 4 resizes images of four axes alone, with one scale for each. This node has another rank, or lists some axes.",
        "HCHW layout is expected (expected: 'scales.total() == (size_t)4')",
        "scales.total() == (size_t)4",
    ),
    row(
        "opencv-4",
        CONSTANT,
        "OpenCV 4 computes no sizes at run time, and the scales or sizes of this model follow a Shape node. Make them constant.",
        "!isDynamicShape in function 'parseShape'",
        "(expected: 'shapes.depth() == CV_32S')",
        frozen=True,
    ),
    row(
        "opencv-4",
        "missing-kernel",
        "OpenCV reads the scales of Upsample as whole numbers, and these are not. Another form computes the same.",
        "fracpart == 0.0 in function 'get<long int>'",
        "fracpart == 0.0 in function 'get",
    ),
    row(
        "opencv-5",
        "cubic-and-other-attributes",
        "OpenCV 5 has two parsers, and the new one refuses this model. The old one computes some resizes otherwise.",
        "cannot be loaded with the new parser. Trying the older parser.",
    ),
    row(
        "opencv-5",
        RANK,
        "OpenCV 5 takes a Resize of one, two or four inputs, and this one has three. Sizes instead of scales are a fourth input.",
        "ninputs == 1 || ninputs == 2 || ninputs >= 4 in function 'getMemoryShapes'",
    ),
    Message(
        "OpenCV",
        ("Inconsistent shape for ConcatLayer", "Inconsistent shape for ConcatLayer in function 'getMemoryShapes'"),
        "A resized tensor meets another one of a different size: constant sizes stay as they are when the image has another size. "
        "Scales, or the size of the other tensor, follow it.",
        "sizes-that-differ",
        (ANY_SIZE, PARTNER, legalize("opencv-4")),
        target="opencv-4",
        at_other_sizes=True,
    ),
)
