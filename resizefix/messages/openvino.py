"""Messages of OpenVINO: its ONNX frontend, its plugins, and the Model Optimizer of old releases."""

from __future__ import annotations

from resizefix.messages.message import (
    ANY_SIZE,
    COORDINATES,
    CUBIC,
    FREEZE,
    OTHER_OPERATORS,
    PARTNER,
    RANK,
    REPAIR,
    SPATIAL,
    TOGETHER,
    WITHOUT,
    Message,
    computed,
    elsewhere,
    legalize,
    row,
)

MESSAGES = (
    row(
        "openvino",
        COORDINATES,
        "OpenVINO has no tf_crop_and_resize and no half_pixel_symmetric. Where another form computes the same, it can be written.",
        "this type of coordinate transformation mode is not supported. Choose one of the following modes",
        "coordinate transformation mode is not supported",
    ),
    row(
        "openvino",
        "axes-and-rank",
        "OpenVINO takes no negative numbers in `axes`. Axes counted from the front mean the same.",
        "All axes values should less than input rank: 4",
        "std::all_of(axes.cbegin(), axes.cend(), ov::cmp::Less<size_t>(rank))",
    ),
    row(
        "openvino",
        SPATIAL,
        "OpenVINO resizes depth, height and width alone, and this node scales batch or channels. Other operators compute that.",
        "only supports resize on spatial dimensions(depth, height and width)",
    ),
    row(
        "openvino",
        WITHOUT,
        "An old release of OpenVINO reads Resize up to opset 11. Other operators compute the same in any opset.",
        "ONNX Resize operation from opset 12 is not supported.",
        "Model wasn't fully converted. Failed operations detailed log: … Resize-19 with",
        "Unexpected exception happened during extracting attributes for node Resize",
        "List of operations that cannot be converted to Inference Engine IR: … Upsample",
        "List of operations that cannot be converted to Inference Engine IR: … Resize",
        'nGraph does not support the following ONNX operations: … "Resize"',
        'nGraph does not support the following ONNX operations: … "Upsample"',
    ),
    row(
        "openvino",
        RANK,
        "OpenVINO interpolates images of four axes alone in this mode. Other operators compute the same for other ranks.",
        "of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank",
    ),
    row(
        "openvino",
        CUBIC,
        "OpenVINO's plugins for VPUs interpolate nearest and linear alone, and this node is cubic. At a fixed size, other operators compute it.",
        "Current Interpolate supports 'nearest' and 'linear' modes only",
    ),
    row(
        "openvino",
        SPATIAL,
        "OpenVINO's plugins for VPUs resize height and width of images alone. Other operators compute the rest.",
        "Current Interpolate does not support paddings, batches, and resize by channels",
        "Current Interpolate supports (N)HWC, (N)CHW data orders only",
    ),
    row(
        "openvino",
        "broken-by-a-converter",
        "OpenVINO does not know the mode of this node. It is misspelt, or an Upsample has a mode that only Resize has.",
        "this type of interpolation mode is not supported. Choose one of the following modes",
    ),
    row(
        "openvino",
        "broken-by-a-converter",
        "Upsample wants one scale for each axis, and this node has more or fewer. Some converters write height and width alone.",
        "Input tensor's rank is required to be the same as number of elements of 'scales' attribute.",
        "Input tensor is required to be 4D.",
    ),
    row(
        "openvino",
        "broken-by-a-converter",
        "OpenVINO interpolates no tensor of this element type. Casts around the node change that where they lose nothing.",
        "Input element type must be f32, f16, bf16, i8, u8, i64, i32",
    ),
    computed(
        "openvino",
        'Cannot infer shapes or values for node "Resize_….',
        'Cannot infer shapes or values for node "Upsample_….',
    ),
    elsewhere(
        "OpenVINO",
        WITHOUT,
        "The Model Optimizer of 2019 and 2020 has no Resize, and old plugins for VPUs have none either. Other operators compute the same.",
        'There is no registered "infer" function for node "…" with op = "Resize"',
        'There is no registered "infer" function for node "…" with op = "Upsample"',
        'due to unsupported layer type "Resample"',
        'due to unsupported layer type "Interp"',
    ),
    Message(
        "OpenVINO",
        (
            "While validating node 'v1::Add … Argument shapes are inconsistent.",
            "While validating node '…Add … Argument shapes are inconsistent",
            "While validating node '…Concat… Argument shapes are inconsistent; they must have the same rank, and must have equal dimension everywhere except on the concatenation axis",
            "Check 'T::broadcast_merge_into(output_shape, input_shapes[1], autob)' failed",
        ),
        "A resized tensor meets another one of a different size: constant sizes stay as they are when the image has another size. "
        "Scales, or the size of the other tensor, follow it.",
        "sizes-that-differ",
        (ANY_SIZE, PARTNER, TOGETHER, legalize("openvino")),
        target="openvino",
        at_other_sizes=True,
    ),
    Message(
        "OpenVINO",
        (
            "While validating ONNX node '<Node(Resize): …>'",
            "While validating ONNX node '<Node(Upsample): …>'",
            "node not found in graph cache",
        ),
        "OpenVINO refuses the resize or one of its operands, and the words behind this say why. "
        "Often the scales or sizes are computed, or an operand is missing.",
        "docs/reference/targets.md",
        (REPAIR, legalize("openvino"), FREEZE, *OTHER_OPERATORS),
        target="openvino",
        says_where=True,
    ),
)
