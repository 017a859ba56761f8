"""OpenCV's dnn module, 4.x and 5.x: what its ONNX importers refuse, and how its Resize layers sample.

4.x has the classic importer; 5.x tries the new engine first. A `producer_name` "pytorch" makes old linear half_pixel.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import (
    BY_LENGTHS,
    EXACT_ROUNDINGS,
    by_ratio,
    half_up,
    instead,
    old_resize,
    without_antialias,
)
from resizefix.targets.foreign.sampling import (
    Rounding,
    Sampling,
    by,
    image_gives_samples,
    images_only,
    is_resized,
    moved_axes,
    resized,
    samples_alike,
)
from resizefix.targets.shared_rules import FED, STORED, S, lists_all_in_order, unentered
from resizefix.targets.target import OperatorLimit, Release, Rule, differs, noted, targets_of

_4 = "opencv 4.x, modules/dnn/src/onnx/onnx_importer.cpp and src/layers/resize_layer.cpp; measured on 4.14.0"
_5 = "opencv 011ef85, modules/dnn/src/onnx/onnx_importer2.cpp, and src/layers/resize_layer.cpp; measured on 5.0.0"
_LAYER_5 = "opencv 36960b0, modules/dnn/src/layers/resize2_layer.cpp; measured on OpenCV 5.0.0"
_ASYMMETRIC = "replace the node, or raise the model to opset 11 and write Resize with asymmetric"
_MEASURED, _MEASURED_5 = "measured on OpenCV 4.14.0 and 5.0.0", "measured on OpenCV 5.0.0"
_HALF = frozenset({"half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"})
_FUSED = frozenset({"Cast", "Concat", "Constant", "Gather", "Shape", "Unsqueeze"})
_EXTRACTED = _FUSED - {"Constant"} | {"Div", "Floor", "Mul", "Slice"}
_FUSED_CHAINS = (_FUSED | {"Floor", "Mul"}, _FUSED | {"Floor", "Mul", "Slice"}, _FUSED | {"Slice"})


def _becomes_upsample(f: SiteFacts) -> bool:
    """The importer takes Resize and the chain from shapes to sizes, as torch writes it at opset 11, for one Upsample
    (ResizeSubgraph1 to 3). From opset 13 on Unsqueeze has its axes as an input, which the pattern does not have."""
    empty = f.by_sizes and f.n_inputs == 4 and f.roi is Roi.EMPTY and not f.unnamed_scales
    return empty and f.opset < 13 and f.computed_by in _FUSED_CHAINS


def _takes_out_scales(f: SiteFacts) -> bool:
    """The importer takes the factors of Upsample-9 out of torch's chain of new lengths over old ones
    (ExtractScalesSubgraph); it looks for Upsample alone."""
    return f.is_upsample and f.computed_by in (_EXTRACTED, _EXTRACTED | {"Constant"})


def _has_whole_factors(f: SiteFacts) -> bool:
    """Factors of that Upsample are stored as integers."""
    if not _becomes_upsample(f) or "Mul" not in f.computed_by or not f.is_computable:
        return True
    return all(out % size == 0 for _, size, out, _ in resized(f))


def _is_constant(f: SiteFacts) -> bool:
    """The importer knows the extent, or what is computed of shapes that it knows."""
    shape = f.input_shape
    # It takes an open batch of three or more axes for 1. The whole shape of another tensor may be known, too.
    is_known = shape is not None and None not in shape[int(len(shape) > 2) :]
    of_another = f.computed_by == {"Shape"} and f.static_values is not None
    folded = f.source is S.SHAPE and (is_known or of_another)
    return f.source in STORED or f.values is not None or folded or _becomes_upsample(f)


def _is_whole(f: SiteFacts) -> bool:
    """Not a single length that Gather took: a Cast leaves it whole, and arithmetic refuses it with a float."""
    mixed = f.computed_by >= {"Gather", "Cast"} and bool(f.computed_by & {"Add", "Div", "Mul", "Sub"})
    return not mixed or f.values is not None or _becomes_upsample(f) or _takes_out_scales(f)


def _crop_is_seen(f: SiteFacts) -> bool:
    """The importer looks at the coordinates before it takes the extent."""
    return f.source in STORED or (f.by_scales and f.source in FED)


def _fed_in_order(f: SiteFacts) -> bool:
    """Two fed values are those of height and width, in this order."""
    if _is_constant(f) or f.axes is None or f.rank != 4 or len(f.axes) != 2:
        return True
    return tuple(axis % 4 for axis in f.axes) == (2, 3)


def _has_two_rows(f: SiteFacts) -> bool:
    """Linear never reads the row before the first: the height is 2 or more, the extent known."""
    if f.mode != "linear" or f.input_shape is None or len(f.input_shape) != 4 or not _is_constant(f):
        return True
    return f.input_shape[2] != 1 or not is_resized(f)


# ---- sampling -------------------------------------------------------------------------------------------------------


def _half_from_zero(scale: float, size: int, out: int) -> Floats:
    step = np.float32(size) / np.float32(out)
    return np.asarray(np.arange(out, dtype=np.float32) * step + np.float32(0.5) * step, np.float32)


def _as_floor(scale: float, size: int, out: int) -> Floats:
    return np.asarray(np.floor(np.arange(out) * (1 / (out / size))), np.float32)


def _tie(round_half: Rounding) -> Rounding:
    def rounding(x: Floats) -> Floats:
        fraction = x - np.floor(x)
        return round_half(np.where(np.abs(fraction - np.float32(0.5)) < _TIE_5, np.floor(x) + np.float32(0.5), x))

    return rounding


_TIE_5 = np.float32(1e-6)
_ROUNDINGS_5 = {name: _tie(one) if "round" in name else one for name, one in EXACT_ROUNDINGS.items()}


def _by_step_5(f: SiteFacts, sampling: Sampling) -> Sampling:
    """By the two lengths, as computeSrcGeneric of 5.x has it where nearest rounds what comes of it."""
    sampling = by_ratio(f, sampling)
    coordinates, nearest_mode = sampling.form
    if sampling.mode != "nearest" or nearest_mode is None or nearest_mode.value not in _ROUNDINGS_5:
        return sampling
    return sampling._replace(positions=BY_LENGTHS[coordinates], rounding=_ROUNDINGS_5[nearest_mode.value])


def _nearest_4(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Rounded by the coordinate mode alone; without the attribute as asymmetric."""
    if sampling.mode != "nearest":
        return sampling
    is_written = f.has_coordinates and "coordinate_transformation_mode" in f.attributes
    mode = sampling.form[0].value if is_written else "asymmetric"
    if mode in _HALF:
        return sampling._replace(positions=_half_from_zero, rounding=np.floor)
    if mode == "align_corners":
        return by("align_corners", "round_prefer_ceil")(sampling)._replace(rounding=half_up)
    return sampling._replace(positions=_as_floor, rounding=np.floor)


def _linear_of_pytorch(f: SiteFacts, sampling: Sampling) -> Sampling:
    """4.x takes pytorch's linear nodes without coordinate attributes for half_pixel, and 5.x Upsample."""
    asymmetric = sampling.mode == "linear" and not f.has_coordinates and f.producer_name == "pytorch"
    return by("half_pixel")(sampling) if asymmetric else sampling


_SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric", "floor", ("linear", "cubic"))
_TF_LINEAR = instead(("tf_half_pixel_for_nn",), "half_pixel", None, ("linear", "cubic"))
_ONE_PIXEL = instead(("pytorch_half_pixel",), "half_pixel", None, ("linear",))
_BEFORE_4 = (without_antialias, _SYMMETRIC, _TF_LINEAR, _ONE_PIXEL)
_by_scales_4 = samples_alike(by_ratio, after=_BEFORE_4)
_SYMMETRIC_5 = instead(("half_pixel_symmetric",), "asymmetric")
_OLD_5 = old_resize("half_pixel", "round_prefer_floor", ("nearest", "linear"))
_BEFORE_5 = (without_antialias, _SYMMETRIC_5, _OLD_5)
_steps_alike_5 = samples_alike(_by_step_5, after=(*_BEFORE_5, by_ratio))
_NO_CROP = shared.NO_CROP.saying("coordinate_transformation_mode is tf_crop_and_resize")
_FOUR_AXES = Rule(
    name="four-axes",
    holds=lambda f: f.rank in (None, 4) and f.length in (None, 4),
    because="it has {f.counted_extent}, and the rank is {f.rank_name}. This importer takes four numbers for four "
    'axes ("HCHW layout is expected"{says})',
    fix="give one value for each of four axes, without the attribute `axes`, or replace the node",
)
_OLD_LINEAR_OF_PYTORCH = differs(
    name="old-linear-of-pytorch",
    holds=samples_alike(_linear_of_pytorch),
    because="the producer is pytorch, and {says} is computed as half_pixel instead of asymmetric",
    fix=_ASYMMETRIC,
)
_OLD_LINEAR = Rule(
    name="old-linear",
    holds=lambda f: f.has_coordinates or f.mode != "linear" or f.producer_name == "pytorch",
    because="mode of {f.op_type} at opset {f.opset} is linear; this layer knows no such interpolation",
    fix=_ASYMMETRIC,
)

RULES = (
    *unentered("in function 'handleNode'", _MEASURED, {"If", "Loop", "Scan"}, until="4"),
    *unentered("in function 'handleNode'", _MEASURED_5, {"Loop", "Scan"}, since="5"),
    shared.OPERANDS_COME_FIRST.saying("in function 'getBlob'").read_in(_MEASURED),
    shared.MODE_IS_WRITTEN.saying('this parser asks for ("Required argument "mode" not found into dictionary")'),
    otherwise.OUTPUT_IS_NOT_EMPTY.saying("getLayerShapesRecursively; 5.0.0 crashes", image_gives_samples).read_in(
        _MEASURED
    ),
    otherwise.EMPTIES_SHORT_INPUTS.read_in(_MEASURED),
    shared.EXTENT_IS_CONSTANT.saying(
        '; this importer takes constants alone ("layer_id.find(node_proto.input(i)) == layer_id.end()")',
        _is_constant,
    )
    ._replace(fix="freeze the scales, or take OpenCV 5")
    .read_in(_4)
    .only(until="4"),
    shared.CONSTANT_IS_A_TENSOR.saying("blobs.size() == 1 in function 'parseConstant'").read_in(_4).only(until="4"),
    Rule(
        name="lengths-stay-whole",
        holds=_is_whole,
        because="the {f.extent_name} are computed from a single length that is cast to float. OpenCV keeps it an "
        'integer, and arithmetic refuses it ("Mixed input data types", in OpenCV 5 "inputs should have equal types")',
        source=_MEASURED,
        fix="freeze the scales",
    ),
    _FOUR_AXES.saying("").read_in(_4).only(until="4"),
    # Two values where they are fed.
    _FOUR_AXES.saying(
        ', "ninputs == 1 || ninputs == 2 || ninputs >= 4"',
        lambda f: (
            _FOUR_AXES.holds(f) or (f.rank in (None, 4) and f.length == 2 and not _is_constant(f) and not f.is_upsample)
        ),
    )
    .read_in(_5)
    .only(since="5"),
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
        holds=_fed_in_order,
        because="`axes` is {f.axes}, which is not read: two fed values are taken for height and width",
        source=_MEASURED_5,
        fix="list the axes 2 and 3 in this order",
    ).only(since="5"),
    differs(
        name="linear-has-two-rows",
        holds=_has_two_rows,
        because="linear over a height of 1 reads memory that is not the tensor's",
        source=_LAYER_5,
    ).only(since="5"),
    noted(
        name="heights-of-two",
        holds=lambda f: (
            f.mode != "linear" or f.rank != 4 or None not in (f.input_shape or ())[2:3] or not moved_axes(f)
        ),
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
        holds=lambda f: f.mode != "cubic" or not _becomes_upsample(f),
        because="the sizes are computed as torch writes it at opset 11; the importer takes the chain for one Upsample, "
        'which is not cubic ("interpolation == "nearest" || interpolation == "opencv_linear"")',
        source="opencv 00b409c, modules/dnn/src/onnx/onnx_graph_simplifier.cpp, ResizeSubgraph3; measured on OpenCV "
        "5.0.0",
        fix="freeze the scales",
    ).only(since="5"),
    Rule(
        name="linear-names-its-coordinates",
        holds=lambda f: (
            not f.has_coordinates
            or f.mode != "linear"
            or "coordinate_transformation_mode" in f.attributes
            or f.producer_name == "pytorch"
        ),
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
    _NO_CROP._replace(holds=lambda f: not f.crops or not _crop_is_seen(f)).read_in(_5).only(since="5"),
    differs(
        name="crop-is-not-computed",
        holds=lambda f: not f.crops or _crop_is_seen(f),
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
    otherwise.OPEN_BATCH_OF_SIZES.saying("it stays as it is"),
    otherwise.POLICY_IGNORED,
    differs(
        name="factors-in-shape-chains",
        holds=_has_whole_factors,
        because="the sizes are computed as torch writes it at opset 11; the importer takes the chain for one Upsample, "
        "whose factors it cuts off to whole numbers",
        source="opencv 00b409c, modules/dnn/src/onnx/onnx_graph_simplifier.cpp, ExtractScalesSubgraph; measured on "
        "OpenCV 4.14.0 and 5.0.0",
        fix="fix the input's size, or replace the node",
    ),
    otherwise.INTEGERS_ARE_ROUNDED.read_in(_MEASURED),
    otherwise.antialias_ignored(),
    differs(
        name="nearest-mode-ignored",
        holds=samples_alike(_nearest_4),
        because="nearest_mode is not read, and the two lengths replace the scales: half_pixel modes round "
        "up at ½, align_corners to the nearest, asymmetric (and no attribute) down",
        source=_4,
    ).only(until="4"),
    otherwise.symmetric_is_asymmetric(_SYMMETRIC, (without_antialias,)).read_in(_4).only(until="4"),
    differs(
        name="tf-half-pixel-is-for-nearest",
        holds=samples_alike(_TF_LINEAR, after=(without_antialias,)),
        because="tf_half_pixel_for_nn with mode {f.mode} is computed as half_pixel",
        source=_4,
    ).only(until="4"),
    _OLD_LINEAR_OF_PYTORCH.saying("{f.op_type} at opset {f.opset}").read_in(_4).only(until="4"),
    _OLD_LINEAR_OF_PYTORCH.saying("Upsample", lambda f: not f.is_upsample or _OLD_LINEAR_OF_PYTORCH.holds(f))
    .read_in(_5)
    .only(since="5"),
    differs(
        name="one-pixel-output",
        holds=samples_alike(_ONE_PIXEL, after=(without_antialias,)),
        because="pytorch_half_pixel is computed as half_pixel, which is another pixel where an output has length 1",
    ).only(until="4"),
    otherwise.old_resize_is_half_pixel(_OLD_5).read_in(_5).only(since="5"),
    otherwise.symmetric_is_asymmetric(_SYMMETRIC_5, (without_antialias,)).read_in(_5).only(since="5"),
    differs(
        name="ratio-instead-of-scales",
        holds=lambda f: f.mode == "nearest" or _by_scales_4(f),
        because="positions follow the two lengths instead of the scales {f.values}, and these differ",
        source=_4,
    ).only(until="4"),
    otherwise.ratio_instead_of_scales(_BEFORE_5).read_in(_5).only(since="5"),
    differs(
        name="ties-of-the-ratio",
        holds=lambda f: not f.is_static or _steps_alike_5(f),
        because="a coordinate is a product with in/out, where onnxruntime divides by the scale: with nearest_mode "
        "{f.nearest_mode} it falls to another sample",
        source=_LAYER_5,
    ).only(since="5"),
    noted(
        name="ties-of-some-lengths",
        holds=lambda f: f.is_static or _steps_alike_5(f),
        because="a coordinate is a product with in/out, where onnxruntime divides by the scale: at some lengths it "
        "falls to another sample with nearest_mode {f.nearest_mode}",
        source=_LAYER_5,
        fix="fix the input's size, or replace the node",
    ).only(since="5"),
    otherwise.factors_are_not_known(*_BEFORE_4, _nearest_4, by_ratio).read_in(_4).only(until="4"),
    otherwise.factors_are_not_known(*_BEFORE_5, _by_step_5).read_in(_5).only(since="5"),
    otherwise.kept_axes_are_sampled(otherwise.reads_on).read_in(_LAYER_5).only(since="5"),
    otherwise.kept_axes_may_be_sampled(otherwise.reads_on).read_in(_LAYER_5).only(since="5"),
    otherwise.FED_AXES.saying("their numbers are not read, and both stay as they are")
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
