"""OpenCV's dnn module, 4.x and 5.x: what its ONNX importers refuse, and how its Resize layers sample.

4.x has the classic importer; `readNetFromONNX` of 5.x tries the new engine first. `producer_name` decides of linear
nodes without coordinate attributes: the importer takes "pytorch" for half_pixel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import Floats
from resizefix.targets.conditions import FED, S
from resizefix.targets.deviations import by_ratio, down, half_up, instead, old_resize, without_antialias
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.operators import OperatorLimit
from resizefix.targets.sampling import Sampling, by, moved_axes, resized, samples_alike
from resizefix.targets.shared_deviations import (
    antialias_ignored,
    factors_are_not_known,
    fed_axes,
    integers_are_rounded,
    kept_axes_are_sampled,
    old_resize_is_half_pixel,
    policy_ignored,
    ratio_instead_of_scales,
    symmetric_is_asymmetric,
)
from resizefix.targets.shared_rules import mode_is_written, output_is_not_empty
from resizefix.targets.target import Effect, Release, Rule, targets_of

_4 = "opencv 4.x, modules/dnn/src/onnx/onnx_importer.cpp and src/layers/resize_layer.cpp; measured on 4.14.0"
_5 = "opencv 011ef85, modules/dnn/src/onnx/onnx_importer2.cpp, and src/layers/resize_layer.cpp; measured on 5.0.0"
_BOTH = f"{_4}; {_5}"
_HALF = frozenset({"half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"})
_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.INITIALIZER_AND_INPUT, S.CONSTANT, S.CONSTANT_LIST, S.UNKNOWN})
_FUSED = frozenset({"Cast", "Concat", "Constant", "Gather", "Shape", "Unsqueeze"})
_FUSED_CHAINS = (_FUSED | {"Floor", "Mul"}, _FUSED | {"Floor", "Mul", "Slice"}, _FUSED | {"Slice"})


def _becomes_upsample(f: SiteFacts) -> bool:
    """The importer takes Resize and the chain from shapes to sizes, as torch writes it at opset 11, for one Upsample
    (ResizeSubgraph1 to 3)."""
    empty = f.by_sizes and f.n_inputs == 4 and f.roi is Roi.EMPTY and not f.unnamed_scales
    return empty and f.computed_by in _FUSED_CHAINS


def _has_whole_factors(f: SiteFacts) -> bool:
    """Factors of that Upsample are stored as integers."""
    if not _becomes_upsample(f) or "Mul" not in f.computed_by or not f.is_computable:
        return True
    return all(out % size == 0 for _, size, out, _ in resized(f))


def _is_constant(f: SiteFacts) -> bool:
    # The importer takes an open batch of three or more axes for 1.
    folded = (
        f.source is S.SHAPE and f.input_shape is not None and None not in f.input_shape[int(len(f.input_shape) > 2) :]
    )
    return f.source in _CONSTANTS or f.values is not None or folded or _becomes_upsample(f)


def _is_whole(f: SiteFacts) -> bool:
    """Not a single length that Gather took: a Cast leaves it whole, and arithmetic refuses it beside a float."""
    mixed = f.computed_by >= {"Gather", "Cast"} and bool(f.computed_by & {"Add", "Div", "Mul", "Sub"})
    return not mixed or f.values is not None or _becomes_upsample(f)


def _has_coordinate_attribute(f: SiteFacts) -> bool:
    return f.has_coordinates and "coordinate_transformation_mode" in f.attributes


def _linear_is_known(f: SiteFacts) -> bool:
    return f.mode != "linear" or _has_coordinate_attribute(f) or f.producer_name == "pytorch"


def _crops(f: SiteFacts) -> bool:
    return f.has_coordinates and f.coordinate_transformation_mode == "tf_crop_and_resize"


def _crop_is_seen(f: SiteFacts) -> bool:
    return f.source in _CONSTANTS or (f.by_scales and f.source in FED)


def _images_only(f: SiteFacts) -> bool:
    return all(axis >= 2 for axis in moved_axes(f))


def _takes_rank(f: SiteFacts) -> bool:
    return f.rank in (None, 4) and f.length in (None, 4)


def _takes_rank_5(f: SiteFacts) -> bool:
    """The new engine takes two values where they are fed."""
    return f.rank in (None, 4) and f.length in ((None, 4) if _is_constant(f) or f.is_upsample else (None, 2, 4))


def _samples_all(f: SiteFacts) -> bool:
    """The importer does not know the factors, and half a sample further on lies another sample."""
    known = f.source in _CONSTANTS or f.values is not None or _becomes_upsample(f)
    return not known and (f.mode != "nearest" or f.nearest_mode in ("ceil", "round_prefer_ceil"))


def _fed_in_order(f: SiteFacts) -> bool:
    if _is_constant(f) or f.axes is None or f.rank != 4 or len(f.axes) != 2:
        return True
    return tuple(axis % 4 for axis in f.axes) == (2, 3)


def _has_two_rows(f: SiteFacts) -> bool:
    if f.mode != "linear" or f.input_shape is None or len(f.input_shape) != 4 or not _is_constant(f):
        return True
    return f.input_shape[2] != 1 or not any(True for _ in resized(f))


# ---- sampling -------------------------------------------------------------------------------------------------------


def _from_zero(scale: float, size: int, out: int) -> Floats:
    return np.asarray(np.arange(out, dtype=np.float32) * (np.float32(size) / np.float32(out)), np.float32)


def _half_from_zero(scale: float, size: int, out: int) -> Floats:
    step = np.float32(size) / np.float32(out)
    return np.asarray(np.arange(out, dtype=np.float32) * step + np.float32(0.5) * step, np.float32)


def _as_floor(scale: float, size: int, out: int) -> Floats:
    return np.asarray(np.floor(np.arange(out) * (1 / (out / size))), np.float32)


def _nearest_4(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Rounded by the coordinate mode alone; without the attribute as asymmetric."""
    if sampling.mode != "nearest":
        return sampling
    mode = sampling.form[0].value if _has_coordinate_attribute(f) else "asymmetric"
    if mode in _HALF:
        return replace(sampling, positions=_half_from_zero, rounding=down)
    if mode == "align_corners":
        return replace(by("align_corners", "round_prefer_ceil")(sampling), rounding=half_up)
    return replace(sampling, positions=_as_floor, rounding=down)


def _linear_of_pytorch(f: SiteFacts, sampling: Sampling) -> Sampling:
    asymmetric = sampling.mode == "linear" and not f.has_coordinates and f.producer_name == "pytorch"
    return by("half_pixel")(sampling) if asymmetric else sampling


def _upsample_of_pytorch(f: SiteFacts, sampling: Sampling) -> Sampling:
    return _linear_of_pytorch(f, sampling) if f.is_upsample else sampling


_SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric", "floor", ("linear", "cubic"))
_TF_LINEAR = instead(("tf_half_pixel_for_nn",), "half_pixel", None, ("linear", "cubic"))
_ONE_PIXEL = instead(("pytorch_half_pixel",), "half_pixel", None, ("linear",))
_SYMMETRIC_5 = instead(("half_pixel_symmetric",), "asymmetric")
_by_scales_4 = samples_alike(by_ratio, after=(without_antialias, _SYMMETRIC, _TF_LINEAR, _ONE_PIXEL))
_OLD_5 = old_resize("half_pixel", "round_prefer_floor", ("nearest", "linear"))

RULES = (
    mode_is_written('Required argument "mode" not found into dictionary', _BOTH),
    output_is_not_empty("getLayerShapesRecursively; 5.0.0 crashes", "measured on OpenCV 4.14.0 and 5.0.0"),
    Rule(
        name="extent-is-constant",
        holds=_is_constant,
        because="the {f.extent_name} come from: {f.source.value}; this importer takes constants alone "
        '("layer_id.find(node_proto.input(i)) == layer_id.end()")',
        source=_4,
        fix="freeze the scales, or take OpenCV 5",
        until="4",
    ),
    Rule(
        name="lengths-stay-whole",
        holds=_is_whole,
        because="the {f.extent_name} are computed from a single length that is cast to float; the Cast leaves it "
        'whole, and arithmetic refuses it ("Mixed input data types", in OpenCV 5 "inputs should have equal types")',
        source="measured on OpenCV 4.14.0 and 5.0.0",
        fix="freeze the scales",
    ),
    Rule(
        name="four-axes",
        holds=_takes_rank,
        because='it has {f.counted_extent} for rank {f.rank_name}; this importer takes four of four axes ("HCHW '
        'layout is expected")',
        source=_4,
        fix="give one value for each of four axes, without the attribute `axes`, or replace the node",
        until="4",
    ),
    Rule(
        name="four-axes",
        holds=_takes_rank_5,
        because='it has {f.counted_extent} for rank {f.rank_name}; this importer takes four of four axes ("HCHW '
        'layout is expected", "ninputs == 1 || ninputs == 2 || ninputs >= 4")',
        source=_5,
        fix="give one value for each of four axes, without the attribute `axes`, or replace the node",
        since="5",
    ),
    Rule(
        name="extent-is-folded",
        holds=lambda f: f.source is not S.FOLDED or f.n_inputs != 3,
        because="the {f.extent_name} are computed from constants, which the new engine does not fold "
        '("ninputs == 1 || ninputs == 2 || ninputs >= 4")',
        source="measured on OpenCV 5.0.0",
        fix="make them an initializer",
        since="5",
    ),
    Rule(
        name="no-int32",
        holds=lambda f: f.elem_type != TensorProto.INT32 or not _is_constant(f),
        because="the tensor is int32, which this layer does not take",
        source="measured on OpenCV 5.0.0",
        fix="put a Cast to float before the node and one back after it",
        since="5",
    ),
    Rule(
        name="axes-in-order",
        holds=_fed_in_order,
        because="`axes` is {f.axes}, which is not read: two fed values are taken for height and width",
        source="measured on OpenCV 5.0.0",
        fix="list the axes 2 and 3 in this order",
        effect=Effect.DIFFERENT,
        since="5",
    ),
    Rule(
        name="linear-has-two-rows",
        holds=_has_two_rows,
        because="linear over a height of 1 reads memory that is not the tensor's",
        source="measured on OpenCV 5.0.0",
        fix="replace the node",
        effect=Effect.DIFFERENT,
        since="5",
    ),
    Rule(
        name="not-cubic",
        holds=lambda f: f.mode != "cubic",
        because='mode is cubic; this layer has nearest and linear ("interpolation == "nearest" || interpolation == '
        '"opencv_linear" || interpolation == "bilinear"")',
        source=_4,
        fix="replace the node, or take OpenCV 5",
        until="4",
    ),
    Rule(
        name="linear-names-its-coordinates",
        holds=lambda f: _linear_is_known(f) if f.has_coordinates else True,
        because="mode is linear without a coordinate_transformation_mode, and the producer is not pytorch",
        source=_4,
        fix="write the attribute",
        until="4",
    ),
    Rule(
        name="old-linear",
        holds=lambda f: f.has_coordinates or f.mode != "linear" or f.producer_name == "pytorch",
        because="mode of {f.op_type} at opset {f.opset} is linear; this layer knows no such interpolation",
        source=_4,
        fix="replace the node, or raise the model to opset 11 and write Resize with asymmetric",
        until="4",
    ),
    Rule(
        name="old-linear",
        holds=lambda f: not f.is_upsample or f.mode != "linear" or f.producer_name == "pytorch",
        because="mode of {f.op_type} at opset {f.opset} is linear; this layer knows no such interpolation",
        source=_5,
        fix="replace the node, or raise the model to opset 11 and write Resize with asymmetric",
        since="5",
    ),
    Rule(
        name="upsample-by-whole-numbers",
        holds=lambda f: (
            f.source is not S.ATTRIBUTE or f.values is None or all(scale.is_integer() for scale in f.values[2:])
        ),
        because='the attribute `scales` is {f.values}; this importer takes whole numbers ("fracpart == 0.0")',
        source=_BOTH,
        fix="replace the node, or raise the model to opset 11",
    ),
    Rule(
        name="no-crop",
        holds=lambda f: not _crops(f),
        because="coordinate_transformation_mode is tf_crop_and_resize",
        source=_BOTH,
        fix="crop with Slice, then resize",
        until="4",
    ),
    Rule(
        name="no-crop",
        holds=lambda f: not _crops(f) or not _crop_is_seen(f),
        because="coordinate_transformation_mode is tf_crop_and_resize",
        source=_5,
        fix="crop with Slice, then resize",
        since="5",
    ),
    Rule(
        name="crop-is-not-computed",
        holds=lambda f: not _crops(f) or _crop_is_seen(f),
        because="tf_crop_and_resize with an extent from: {f.source.value} is taken and not computed",
        source="measured on OpenCV 5.0.0",
        fix="crop with Slice, then resize",
        effect=Effect.DIFFERENT,
        since="5",
    ),
    Rule(
        name="image-axes-alone",
        holds=_images_only,
        because="only height and width are resized, the axes 2 and 3: the other {f.extent_name} of {f.values} are not "
        "read, and the shape is another",
        source=_BOTH,
        fix="put a Transpose before the node and one behind it, or replace the node",
        effect=Effect.DIFFERENT,
    ),
    policy_ignored(_BOTH),
    Rule(
        name="factors-in-shape-chains",
        holds=_has_whole_factors,
        because="the sizes are computed as torch writes it at opset 11; the importer takes the chain for one Upsample, "
        "whose factors it cuts off to whole numbers",
        source="opencv 00b409c, modules/dnn/src/onnx/onnx_graph_simplifier.cpp, ExtractScalesSubgraph; measured on "
        "OpenCV 4.14.0 and 5.0.0",
        fix="fix the input's size, or replace the node",
        effect=Effect.DIFFERENT,
    ),
    integers_are_rounded("measured on OpenCV 4.14.0 and 5.0.0"),
    antialias_ignored(_BOTH),
    Rule(
        name="nearest-mode-ignored",
        holds=samples_alike(_nearest_4),
        because="nearest_mode is not read, and the two lengths replace the scales: half_pixel modes round "
        "up at ½, align_corners to the nearest, asymmetric (and no attribute) down",
        source=_4,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        until="4",
    ),
    symmetric_is_asymmetric(_4, _SYMMETRIC, (without_antialias,), until="4"),
    Rule(
        name="tf-half-pixel-is-for-nearest",
        holds=samples_alike(_TF_LINEAR, after=(without_antialias,)),
        because="tf_half_pixel_for_nn with mode {f.mode} is computed as half_pixel",
        source=_4,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        until="4",
    ),
    Rule(
        name="old-linear-of-pytorch",
        holds=samples_alike(_linear_of_pytorch),
        because="the producer is pytorch, and {f.op_type} at opset {f.opset} is computed as half_pixel instead of "
        "asymmetric",
        source=_4,
        fix="replace the node, or raise the model to opset 11 and write Resize with asymmetric",
        effect=Effect.DIFFERENT,
        until="4",
    ),
    Rule(
        name="old-linear-of-pytorch",
        holds=samples_alike(_upsample_of_pytorch),
        because="the producer is pytorch, and Upsample is computed as half_pixel instead of asymmetric",
        source=_5,
        fix="replace the node, or raise the model to opset 11 and write Resize with asymmetric",
        effect=Effect.DIFFERENT,
        since="5",
    ),
    Rule(
        name="one-pixel-output",
        holds=samples_alike(_ONE_PIXEL, after=(without_antialias,)),
        because="pytorch_half_pixel is computed as half_pixel, which is another pixel where an output has length 1",
        source=_BOTH,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        until="4",
    ),
    old_resize_is_half_pixel(_5, _OLD_5, since="5"),
    symmetric_is_asymmetric(_5, _SYMMETRIC_5, (without_antialias,), since="5"),
    Rule(
        name="ratio-instead-of-scales",
        holds=lambda f: f.mode == "nearest" or _by_scales_4(f),
        because="positions follow the two lengths instead of the scales {f.values}, and these differ",
        source=_4,
        fix="replace the node",
        effect=Effect.DIFFERENT,
        until="4",
    ),
    ratio_instead_of_scales(_5, (without_antialias, _SYMMETRIC_5, _OLD_5), since="5"),
    factors_are_not_known(_4, without_antialias, _SYMMETRIC, _TF_LINEAR, _ONE_PIXEL, _nearest_4, by_ratio, until="4"),
    factors_are_not_known(_5, without_antialias, _SYMMETRIC_5, _OLD_5, by_ratio, since="5"),
    kept_axes_are_sampled("measured on OpenCV 5.0.0", _samples_all, since="5"),
    fed_axes("measured on OpenCV 5.0.0", "their numbers are not read, and both stay as they are", since="5"),
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
)
