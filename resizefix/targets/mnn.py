"""MNN: its converter takes every Resize and reads a few of the attributes; Interp samples by the two lengths."""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets import mnn_conditions as conditions
from resizefix.targets import shared_rules as shared
from resizefix.targets.conditions import FED
from resizefix.targets.deviations import without_antialias, without_exclusion
from resizefix.targets.operators import OperatorLimit
from resizefix.targets.sampling import moves_images_alone, samples_alike
from resizefix.targets.target import Release, Rule, differs, targets_of

_RELEASE = "MNN 3.6.1"
_CONVERTER = f"MNN 4d40bdb, tools/converter/source/onnx/ResizeOnnx.cpp; measured on {_RELEASE}"
_UPSAMPLE = f"MNN 4d40bdb, tools/converter/source/optimizer/onnxextra/OnnxUpsample.cpp; measured on {_RELEASE}"
_SHAPE = f"MNN 4d40bdb, source/shape/ShapeInterp.cpp; measured on {_RELEASE}"
_KERNEL = f"MNN 4d40bdb, source/geometry/ConvertUtils.hpp and source/backend/cpu/CPUResize.hpp; measured on {_RELEASE}"
_DIMENSIONS = f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}"
_COUNTS = "counts for a dimension more, of which MNN takes five and interpolates four"


MNN = targets_of(
    "mnn",
    (Release("", _RELEASE),),
    (
        shared.OUTPUT_IS_NOT_EMPTY.saying("Acquire buffer size = 0"),
        shared.EMPTIES_SHORT_INPUTS,
        Rule(
            name="upsample-has-a-mode",
            holds=lambda f: not f.is_upsample or "mode" in f.attributes,
            because='the attribute `mode` is not written ("Unsupported Upsample mode!")',
            source=_UPSAMPLE,
            fix="write mode=nearest",
        ),
        differs(
            name="no-mode-is-linear",
            holds=lambda f: conditions.has_a_mode(f) or (conditions.READS_THE_NEAREST(f) and conditions.COPIES(f)),
            because="the attribute `mode` is not written, and linear is computed; ONNX says nearest",
            source=_CONVERTER,
            fix="write mode=nearest",
        ),
        Rule(
            name="no-int8",
            holds=lambda f: f.elem_type != TensorProto.INT8,
            because='the tensor is int8 ("does not support this dtype")',
            source=f"MNN 4d40bdb, pymnn/src/util.h; measured on {_RELEASE}",
            fix=shared.CAST,
        ),
        Rule(
            name="upsample-four-axes",
            holds=lambda f: not f.is_upsample or f.rank in (None, 4),
            because='the rank is {f.rank_name}; Upsample has the widths of four axes ("Compute Shape Error")',
            source=f"{_UPSAMPLE}; {_SHAPE}",
            fix="write Resize, or replace the node",
        ),
        Rule(
            name="lines-are-not-interpolated",
            holds=lambda f: conditions.computed_mode(f) != "linear" or not conditions.is_spread(f),
            because="one axis of {f.rank_name} is resized; MNN makes three dimensions of them, and reads a fourth, "
            'which is 0 ("Acquire buffer size = 0")',
            source=_DIMENSIONS,
            fix="reshape to four axes around the node",
        ),
        differs(
            name="lines-are-read",
            holds=lambda f: not conditions.is_spread(f),
            because="one axis of {f.rank_name} is resized; MNN makes three dimensions of them, and reads a fourth, "
            "which is any number",
            source=_DIMENSIONS,
            fix="reshape to four axes around the node",
        ),
        Rule(
            name="upsample-has-constant-scales",
            holds=lambda f: not f.is_upsample or f.source not in FED,
            because="the scales come from {f.source.value}, and MNN takes them for a height and a width "
            "(\"Tensorflow's interp's shape should be length two\")",
            source=_UPSAMPLE,
            fix="freeze the scales, or write Resize",
        ),
        Rule(
            name="five-axes-at-most",
            holds=conditions.dimensions_are_known,
            because="the rank is {f.rank_name}; MNN counts a resized batch as two more axes, and resized channels as "
            "one more "
            '("MNN Interp don\'t support >= 6 dimension Interp")',
            source=_DIMENSIONS,
            fix=shared.RESHAPE,
        ),
        Rule(
            name="no-linear-volumes",
            holds=lambda f: not conditions.is_volume(f, "linear"),
            because="mode is linear over five dimensions (resized channels count as one more); MNN has nearest alone "
            "there, and aborts",
        ),
        differs(
            name="no-cubic-volumes",
            holds=lambda f: not conditions.is_volume(f, "cubic"),
            because="mode is cubic over five dimensions (resized channels count as one more); MNN has nearest alone "
            "there, and reads memory that is not the tensor's",
        ),
        differs(
            name="no-integer-volumes",
            holds=lambda f: (
                not conditions.is_volume(f, "nearest") or f.elem_type not in shared.INTEGERS - {TensorProto.INT32}
            ),
            because="the tensor is {f.type_name} and has five dimensions, of which MNN resizes elements of four bytes",
            fix=shared.CAST,
        ),
        differs(
            name="depth-of-pytorch-half-pixel",
            holds=conditions.depth_is_kept,
            because="pytorch_half_pixel over five dimensions writes the offset of the depth over its scale",
            source=_KERNEL,
            fix="half_pixel is the same where no output has length 1",
        ),
        shared.kept_axes_are_sampled(copies=False).read_in(_KERNEL),
        shared.kept_axes_may_be_sampled().read_in(_KERNEL),
        differs(
            name="upsample-images-alone",
            holds=lambda f: not f.is_upsample or moves_images_alone(f),
            because="Upsample resizes the axes 2 and 3 of four; the rank is {f.rank_name}, the scales {f.values}",
            source=_UPSAMPLE,
            fix="write Resize, or replace the node",
        ),
        differs(
            name="crop-is-not-known",
            holds=lambda f: not conditions.crops(f),
            because="tf_crop_and_resize is taken and not computed",
            source=_KERNEL,
            fix=shared.FIRST_CROP,
        ),
        Rule(
            name="two-axes",
            holds=conditions.two_scales,
            because="`axes` is {f.axes}, which is not read: {f.counted_extent} are taken for height and width "
            '("Compute Shape Error")',
            source=_SHAPE,
            fix=shared.EVERY_DIMENSION,
        ),
        differs(
            name="axes-ignored",
            holds=conditions.lists_the_image,
            because="`axes` is not read: {f.counted_extent} are taken for height and width in this order",
            source=_SHAPE,
            fix=shared.EVERY_DIMENSION,
        ),
        shared.POLICY_IGNORED.read_in(_CONVERTER),
        differs(
            name="no-interpolated-integers",
            holds=lambda f: not conditions.is_misread(f),
            because="the tensor is {f.type_name}: {f.mode} is computed as if it held floats, even of a copy",
            fix=shared.CAST,
        ),
        shared.INTEGERS_ARE_ROUNDED,
        shared.antialias_ignored().read_in(_CONVERTER),
        shared.exclusion_ignored((without_antialias,)).read_in(_CONVERTER),
        shared.whole_copies_are_sampled(*conditions.COPYING).read_in(_KERNEL),
        shared.coefficient_fixed(conditions.BEFORE),
        shared.symmetric_is_asymmetric(conditions.SYMMETRIC, (without_antialias, without_exclusion)).read_in(
            _CONVERTER
        ),
        shared.old_resize_is_half_pixel(conditions.OLD).read_in(_CONVERTER),
        differs(
            name="nearest-mode-ignored",
            holds=samples_alike(conditions.nearest),
            because="nearest rounds down, or to the nearest with ties down, and nothing else: {f.op_type} of opset "
            "{f.opset}, nearest_mode {f.nearest_mode}",
            source=f"{_CONVERTER}; {_KERNEL}",
        ),
        differs(
            name="ratio-instead-of-scales",
            holds=lambda f: not f.is_upsample or conditions.UPSAMPLED(f),
            because="Upsample follows the two lengths instead of the scales {f.values}, and these differ",
            source=_UPSAMPLE,
        ),
        differs(
            name="kept-channels-are-copied",
            holds=lambda f: f.mode == "cubic" or (f.rank or 0) < 3 or samples_alike(conditions.kept_channels)(f),
            because="batch or channels keep their length with a scale other than 1 ({f.values}), and are copied "
            "instead of sampled",
            source=_DIMENSIONS,
            fix="write 1 for that axis where a copy is meant; else replace the node",
        ),
        differs(
            name="cubic-before-the-first-sample",
            holds=conditions.reads_before_the_first,
            because="a coordinate below 0 is cut off for the samples and rounded down for the weights of cubic",
            source=_KERNEL,
        ),
        shared.factors_are_not_known(*conditions.BEFORE, conditions.linear_without_a_mode, conditions.nearest).read_in(
            _KERNEL
        ),
        shared.FED_AXES.saying(f"each that is resized {_COUNTS}").read_in(_DIMENSIONS),
        shared.OPEN_BATCH_OF_SIZES.saying(f"it {_COUNTS}").read_in(_DIMENSIONS),
    ),
    (
        OperatorLimit(frozenset({"ConvTranspose"}), f"measured on {_RELEASE}, another shape", ranks=frozenset({3})),
        OperatorLimit(frozenset({"AveragePool"}), f"measured on {_RELEASE}, aborts", ranks=frozenset({5})),
    ),
    f"measured on {_RELEASE}",
)
