"""OpenCV's dnn module, 4.x and 5.x: what its ONNX importers refuse, and how its Resize layers sample.

4.x has the classic importer; `readNetFromONNX` of 5.x tries the new engine first. `producer_name` decides of linear
nodes without coordinate attributes: the importer takes "pytorch" for half_pixel.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets import opencv_conditions as conditions
from resizefix.targets import shared_rules as shared
from resizefix.targets.conditions import STORED, S, lists_all_in_order
from resizefix.targets.deviations import by_ratio, without_antialias
from resizefix.targets.operators import OperatorLimit
from resizefix.targets.sampling import image_gives_samples, images_only, samples_alike
from resizefix.targets.target import Release, Rule, differs, noted, targets_of

_4 = "opencv 4.x, modules/dnn/src/onnx/onnx_importer.cpp and src/layers/resize_layer.cpp; measured on 4.14.0"
_5 = "opencv 011ef85, modules/dnn/src/onnx/onnx_importer2.cpp, and src/layers/resize_layer.cpp; measured on 5.0.0"
_LAYER_5 = "opencv 36960b0, modules/dnn/src/layers/resize2_layer.cpp; measured on OpenCV 5.0.0"
_ASYMMETRIC = "replace the node, or raise the model to opset 11 and write Resize with asymmetric"
_MEASURED, _MEASURED_5 = "measured on OpenCV 4.14.0 and 5.0.0", "measured on OpenCV 5.0.0"

_NO_CROP = shared.NO_CROP.saying("coordinate_transformation_mode is tf_crop_and_resize")
_OLD_LINEAR = Rule(
    name="old-linear",
    holds=lambda f: f.has_coordinates or f.mode != "linear" or f.producer_name == "pytorch",
    because="mode of {f.op_type} at opset {f.opset} is linear; this layer knows no such interpolation",
    fix=_ASYMMETRIC,
)

RULES = (
    shared.OPERANDS_COME_FIRST.saying("in function 'getBlob'").read_in(_MEASURED),
    shared.MODE_IS_WRITTEN.saying('this parser asks for ("Required argument "mode" not found into dictionary")'),
    shared.OUTPUT_IS_NOT_EMPTY.saying("getLayerShapesRecursively; 5.0.0 crashes", image_gives_samples).read_in(
        _MEASURED
    ),
    shared.EMPTIES_SHORT_INPUTS.read_in(_MEASURED),
    shared.EXTENT_IS_CONSTANT.saying(
        '; this importer takes constants alone ("layer_id.find(node_proto.input(i)) == layer_id.end()")',
        conditions.is_constant,
    )
    ._replace(fix="freeze the scales, or take OpenCV 5")
    .read_in(_4)
    .only(until="4"),
    shared.CONSTANT_IS_A_TENSOR.saying("layerParams.blobs.size() == 1 in function 'parseConstant'")
    .read_in("measured on OpenCV 4.14.0")
    .only(until="4"),
    Rule(
        name="lengths-stay-whole",
        holds=conditions.is_whole,
        because="the {f.extent_name} are computed from a single length that is cast to float. OpenCV keeps it an "
        'integer, and arithmetic refuses it ("Mixed input data types", in OpenCV 5 "inputs should have equal types")',
        source=_MEASURED,
        fix="freeze the scales",
    ),
    Rule(
        name="four-axes",
        holds=conditions.takes_rank,
        because="it has {f.counted_extent}, and the rank is {f.rank_name}. This importer takes four numbers for four "
        'axes ("HCHW layout is expected")',
        source=_4,
        fix="give one value for each of four axes, without the attribute `axes`, or replace the node",
    ).only(until="4"),
    Rule(
        name="four-axes",
        holds=conditions.takes_rank_5,
        because="it has {f.counted_extent}, and the rank is {f.rank_name}. This importer takes four numbers for four "
        'axes ("HCHW layout is expected", "ninputs == 1 || ninputs == 2 || ninputs >= 4")',
        source=_5,
        fix="give one value for each of four axes, without the attribute `axes`, or replace the node",
    ).only(since="5"),
    Rule(
        name="extent-is-folded",
        holds=lambda f: f.source is not S.FOLDED or f.n_inputs != 3,
        because="the {f.extent_name} are computed from constants, which the new engine does not fold "
        '("ninputs == 1 || ninputs == 2 || ninputs >= 4")',
        source=_MEASURED_5,
        fix="make them an initializer",
    ).only(since="5"),
    Rule(
        name="no-int32",
        holds=lambda f: f.elem_type != TensorProto.INT32 or f.source not in STORED | {S.FOLDED},
        because="the tensor is int32, which this layer does not take where the {f.extent_name} are constants",
        source=_MEASURED_5,
        fix=shared.CAST,
    ).only(since="5"),
    differs(
        name="listed-axes-in-order",
        holds=lists_all_in_order,
        because="`axes` is {f.axes}, which is not read: the values are taken in the order of the axes",
        source=_MEASURED,
        fix="list the axes in order, or leave them out",
    ),
    differs(
        name="axes-in-order",
        holds=conditions.fed_in_order,
        because="`axes` is {f.axes}, which is not read: two fed values are taken for height and width",
        source=_MEASURED_5,
        fix="list the axes 2 and 3 in this order",
    ).only(since="5"),
    differs(
        name="linear-has-two-rows",
        holds=conditions.has_two_rows,
        because="linear over a height of 1 reads memory that is not the tensor's",
        source=_LAYER_5,
    ).only(since="5"),
    noted(
        name="heights-of-two",
        holds=lambda f: f.mode != "linear" or not conditions.has_open_height(f),
        because="the height is open: linear over a height of 1 reads memory that is not the tensor's",
        source=_LAYER_5,
        fix="feed two rows or more",
    ).only(since="5"),
    Rule(
        name="not-cubic",
        holds=lambda f: f.mode != "cubic",
        because='mode is cubic; this layer has nearest and linear ("interpolation == "nearest" || interpolation == '
        '"opencv_linear" || interpolation == "bilinear"")',
        source=_4,
        fix="replace the node, or take OpenCV 5",
    ).only(until="4"),
    Rule(
        name="fused-chains-are-not-cubic",
        holds=lambda f: f.mode != "cubic" or not conditions.becomes_upsample(f),
        because="the sizes are computed as torch writes it at opset 11; the importer takes the chain for one Upsample, "
        'which is not cubic ("interpolation == "nearest" || interpolation == "opencv_linear"")',
        source="opencv 00b409c, modules/dnn/src/onnx/onnx_graph_simplifier.cpp, ResizeSubgraph3; measured on OpenCV "
        "5.0.0",
        fix="freeze the scales",
    ).only(since="5"),
    Rule(
        name="linear-names-its-coordinates",
        holds=lambda f: conditions.linear_is_known(f) if f.has_coordinates else True,
        because="mode is linear without a coordinate_transformation_mode, and the producer is not pytorch",
        source=_4,
        fix="write the attribute",
    ).only(until="4"),
    _OLD_LINEAR.read_in(_4).only(until="4"),
    _OLD_LINEAR._replace(holds=lambda f: not f.is_upsample or _OLD_LINEAR.holds(f)).read_in(_5).only(since="5"),
    Rule(
        name="upsample-by-whole-numbers",
        holds=lambda f: (
            f.source is not S.ATTRIBUTE or f.values is None or all(scale.is_integer() for scale in f.values[2:])
        ),
        because='the attribute `scales` is {f.values}; this importer takes whole numbers ("fracpart == 0.0")',
        fix="replace the node, or raise the model to opset 11",
    ),
    _NO_CROP.only(until="4"),
    _NO_CROP._replace(holds=lambda f: not f.crops or not conditions.crop_is_seen(f)).read_in(_5).only(since="5"),
    differs(
        name="crop-is-not-computed",
        holds=lambda f: not f.crops or conditions.crop_is_seen(f),
        because="tf_crop_and_resize is read and not computed where the {f.extent_name} come from {f.source.value}",
        source=_MEASURED_5,
        fix=shared.FIRST_CROP,
    ).only(since="5"),
    differs(
        name="image-axes-alone",
        holds=images_only,
        because="only height and width are resized, the axes 2 and 3: the other {f.extent_name} of {f.values} are not "
        "read, and the shape is another",
        fix=f"{shared.TRANSPOSE}, or replace the node",
    ),
    shared.OPEN_BATCH_OF_SIZES.saying("it stays as it is"),
    shared.POLICY_IGNORED,
    differs(
        name="factors-in-shape-chains",
        holds=conditions.has_whole_factors,
        because="the sizes are computed as torch writes it at opset 11; the importer takes the chain for one Upsample, "
        "whose factors it cuts off to whole numbers",
        source="opencv 00b409c, modules/dnn/src/onnx/onnx_graph_simplifier.cpp, ExtractScalesSubgraph; measured on "
        "OpenCV 4.14.0 and 5.0.0",
        fix="fix the input's size, or replace the node",
    ),
    shared.INTEGERS_ARE_ROUNDED.read_in(_MEASURED),
    shared.antialias_ignored(),
    differs(
        name="nearest-mode-ignored",
        holds=samples_alike(conditions.nearest_4),
        because="nearest_mode is not read, and the two lengths replace the scales: half_pixel modes round "
        "up at ½, align_corners to the nearest, asymmetric (and no attribute) down",
        source=_4,
    ).only(until="4"),
    shared.symmetric_is_asymmetric(conditions.SYMMETRIC, (without_antialias,)).read_in(_4).only(until="4"),
    differs(
        name="tf-half-pixel-is-for-nearest",
        holds=samples_alike(conditions.TF_LINEAR, after=(without_antialias,)),
        because="tf_half_pixel_for_nn with mode {f.mode} is computed as half_pixel",
        source=_4,
    ).only(until="4"),
    differs(
        name="old-linear-of-pytorch",
        holds=samples_alike(conditions.linear_of_pytorch),
        because="the producer is pytorch, and {f.op_type} at opset {f.opset} is computed as half_pixel instead of "
        "asymmetric",
        source=_4,
        fix=_ASYMMETRIC,
    ).only(until="4"),
    differs(
        name="old-linear-of-pytorch",
        holds=samples_alike(conditions.upsample_of_pytorch),
        because="the producer is pytorch, and Upsample is computed as half_pixel instead of asymmetric",
        source=_5,
        fix=_ASYMMETRIC,
    ).only(since="5"),
    differs(
        name="one-pixel-output",
        holds=samples_alike(conditions.ONE_PIXEL, after=(without_antialias,)),
        because="pytorch_half_pixel is computed as half_pixel, which is another pixel where an output has length 1",
    ).only(until="4"),
    shared.old_resize_is_half_pixel(conditions.OLD_5).read_in(_5).only(since="5"),
    shared.symmetric_is_asymmetric(conditions.SYMMETRIC_5, (without_antialias,)).read_in(_5).only(since="5"),
    differs(
        name="ratio-instead-of-scales",
        holds=lambda f: f.mode == "nearest" or conditions.by_scales_4(f),
        because="positions follow the two lengths instead of the scales {f.values}, and these differ",
        source=_4,
    ).only(until="4"),
    shared.ratio_instead_of_scales(conditions.BEFORE_5).read_in(_5).only(since="5"),
    differs(
        name="ties-of-the-ratio",
        holds=lambda f: not f.is_static or conditions.steps_alike_5(f),
        because="a coordinate is a product with in/out, where onnxruntime divides by the scale: with nearest_mode "
        "{f.nearest_mode} it falls to another sample",
        source=_LAYER_5,
    ).only(since="5"),
    noted(
        name="ties-of-some-lengths",
        holds=lambda f: f.is_static or conditions.steps_alike_5(f),
        because="a coordinate is a product with in/out, where onnxruntime divides by the scale: at some lengths it "
        "falls to another sample with nearest_mode {f.nearest_mode}",
        source=_LAYER_5,
        fix="fix the input's size, or replace the node",
    ).only(since="5"),
    shared.factors_are_not_known(*conditions.BEFORE_4, conditions.nearest_4, by_ratio).read_in(_4).only(until="4"),
    shared.factors_are_not_known(*conditions.BEFORE_5, conditions.by_step_5).read_in(_5).only(since="5"),
    shared.kept_axes_are_sampled(shared.reads_on).read_in(_LAYER_5).only(since="5"),
    shared.kept_axes_may_be_sampled(shared.reads_on).read_in(_LAYER_5).only(since="5"),
    shared.FED_AXES.saying("their numbers are not read, and both stay as they are")
    .read_in(_MEASURED_5)
    .only(since="5"),
)

OPENCV = targets_of(
    "opencv",
    (Release("4", "OpenCV 4.14.0, cv2.dnn on the CPU"), Release("5", "OpenCV 5.0.0, cv2.dnn on the CPU")),
    RULES,
    (
        OperatorLimit(
            frozenset({"ConvTranspose"}), "measured on OpenCV 4.14.0, images alone", ranks=frozenset({3, 5}), until="4"
        ),
    ),
    f"{_4}; {_5}",
)
