"""MNN: its converter takes every Resize and reads a few of the attributes; Interp samples by the two lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import by_ratio, instead, old_resize, without_antialias, without_exclusion
from resizefix.targets.foreign.sampling import (
    Positions,
    Sampling,
    by,
    copied,
    copies_alike,
    is_resized,
    moves_images_alone,
    resized,
    samples_alike,
    samplings,
)
from resizefix.targets.shared_rules import FED, unentered
from resizefix.targets.target import OperatorLimit, Release, Rule, differs, targets_of

_RELEASE = "MNN 3.6.1"
_CONVERTER = f"MNN 4d40bdb, tools/converter/source/onnx/ResizeOnnx.cpp; measured on {_RELEASE}"
_UPSAMPLE = f"MNN 4d40bdb, tools/converter/source/optimizer/onnxextra/OnnxUpsample.cpp; measured on {_RELEASE}"
_SHAPE = f"MNN 4d40bdb, source/shape/ShapeInterp.cpp; measured on {_RELEASE}"
_KERNEL = f"MNN 4d40bdb, source/geometry/ConvertUtils.hpp and source/backend/cpu/CPUResize.hpp; measured on {_RELEASE}"
_DIMENSIONS = f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}"
_COUNTS = "counts for a dimension more, of which MNN takes five and interpolates four"
_WIDE = frozenset({TensorProto.INT32, TensorProto.INT64})


def _dimensions(f: SiteFacts) -> int | None:
    """How many dimensions Interp works on: batch and channels get two or one more where they are resized."""
    if f.rank is None:
        return None
    in_order = f.axes is not None and len(f.axes) == f.rank  # the order of `axes` is not read
    stretched = replace(f, keep_aspect_ratio_policy="stretch", axes=None if in_order else f.axes)
    first = min((axis for axis, size, out, _ in resized(stretched) if size != out), default=2)
    return f.rank + 2 - min(first, 2)


def _is_spread(f: SiteFacts) -> bool:
    """Dimensions were put in front of it, as of a line whose only axis is resized."""
    return not f.is_upsample and f.rank is not None and _dimensions(f) == 3 and f.rank < 3


def _is_volume(f: SiteFacts, mode: str) -> bool:
    """A Resize over five dimensions, in this mode."""
    return not f.is_upsample and _dimensions(f) == 5 and _computed_mode(f) == mode


def _computed_mode(f: SiteFacts) -> str:
    """Without the attribute Resize is linear."""
    return f.mode if f.is_upsample or "mode" in f.attributes else "linear"


def _is_misread(f: SiteFacts) -> bool:
    """Integers that Interp has no kernel for: linear takes those of one byte, cubic none."""
    mode = _computed_mode(f)
    return f.elem_type in shared.INTEGERS and (mode == "cubic" or (mode == "linear" and f.elem_type in _WIDE))


def _lists_the_image(f: SiteFacts) -> bool:
    """Two sizes are taken for height and width."""
    if f.axes_in_order:
        return True
    if not f.by_sizes or f.axes is None or f.rank != 4:
        return False
    axes, values = tuple(axis % 4 for axis in f.axes), f.values or ()
    return axes == (2, 3) or (axes == (3, 2) and len(set(values)) == 1)


# ---- sampling -------------------------------------------------------------------------------------------------------


def _step(coordinates: Coordinates, ratio: np.float32, size: int, out: int) -> tuple[np.float32, np.float32]:
    """Step and offset of the positions, in the float32 of ConvertUtils.hpp; `ratio`: of the input to the output."""
    half = np.float32(0.5)
    match coordinates:
        case Coordinates.ALIGN_CORNERS:
            return (np.float32(0) if out == 1 else np.float32(size - 1) / np.float32(out - 1)), np.float32(0)
        case Coordinates.HALF_PIXEL:
            return ratio, half * ratio - half
        case Coordinates.PYTORCH_HALF_PIXEL:
            return (ratio, half * ratio - half) if out > 1 else (np.float32(0), np.float32(0))
        case Coordinates.TF_HALF_PIXEL_FOR_NN:
            return ratio, half * ratio
        case _:
            return ratio, np.float32(0)


def _positions(coordinates: Coordinates, by_lengths: bool) -> Positions:
    """Of sizes, and of Upsample, the two lengths are divided; of scales their inverse is taken."""

    def positions(scale: float, size: int, out: int) -> Floats:
        ratio = np.float32(size) / np.float32(out) if by_lengths else np.float32(1) / np.float32(scale)
        step, offset = _step(coordinates, ratio, size, out)
        return np.asarray(np.arange(out, dtype=np.float32) * step + offset, np.float32)

    return positions


_POSITIONS = {(mode, divided): _positions(mode, divided) for mode in Coordinates for divided in (False, True)}


def _tie_down(x: Floats) -> Floats:
    return np.asarray(np.floor(x + np.float32(0.499)), np.float32)


def _has_a_mode(f: SiteFacts) -> bool:
    """The mode is written, or it is Upsample, which asks for it."""
    return "mode" in f.attributes or f.is_upsample


def _kept_channels(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Batch and channels that keep their length are copied, whatever their scale."""
    keeps_length = sampling.axis < 2 < (f.rank or 0) and sampling.size == sampling.out
    return copied(sampling) if keeps_length else sampling


def _between(x: Floats) -> Floats:
    """Whole numbers without the rounding of the last bits; what lies between two samples stays."""
    nearest = np.round(x)
    return np.asarray(np.where(np.abs(x - nearest) < 2e-5, nearest, x), np.float32)


def _linear_without_a_mode(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Linear reads what nearest reads where no output lies between two samples."""
    if _has_a_mode(f):
        return sampling
    changed = sampling if f.has_coordinates else by("half_pixel")(sampling)
    return changed._replace(rounding=_between)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Down where nearest_mode is floor, and for Upsample; else to the nearest, ties down."""
    if sampling.mode != "nearest" or not _has_a_mode(f):
        return sampling
    floor = f.is_upsample or (f.nearest_mode == "floor" and not f.is_old_resize)
    coordinates = Coordinates.HALF_PIXEL if f.is_old_resize else sampling.form[0]
    sampling = _upsampled_by_ratio(f, sampling)
    by_lengths = f.is_upsample or f.by_sizes
    return sampling._replace(positions=_POSITIONS[coordinates, by_lengths], rounding=np.floor if floor else _tie_down)


def _upsampled_by_ratio(f: SiteFacts, sampling: Sampling) -> Sampling:
    return by_ratio(f, sampling) if f.is_upsample else sampling


def _depth_is_kept(f: SiteFacts) -> bool:
    """pytorch_half_pixel writes the depth's offset over its scale; from one sample, or for one, the first is read."""
    if f.coordinates != "pytorch_half_pixel" or _dimensions(f) != 5 or f.rank is None:
        return True
    axis = f.rank - 3
    depth = f.input_shape[axis] if f.input_shape else None
    if depth is not None:
        outs = [out for resized_axis, _, out, _ in resized(f) if resized_axis == axis]
        return depth == 1 or (bool(outs) and all(out == 1 for out in outs))
    return bool(f.by_sizes and f.axes_are_trivial and f.values and f.values[axis] == 1)


def _reads_before_the_first(f: SiteFacts) -> bool:
    """Cubic takes int(x) for the sample and x - floor(x) for the weight, which do not go together below 0."""
    if f.mode != "cubic":
        return True
    for sampling in samplings(f):
        if sampling.size == 1:
            continue
        x = sampling.positions(sampling.scale, sampling.size, sampling.out)
        if np.any((x < -2e-5) & (x > np.floor(x) + 2e-5)):
            return False
    return True


_SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric", None, ("linear", "cubic"))
_OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
_BEFORE = (without_antialias, without_exclusion, _SYMMETRIC, _OLD)
_COPYING = (*_BEFORE, _upsampled_by_ratio, _linear_without_a_mode, _nearest, _kept_channels)
_READS_THE_NEAREST = samples_alike(_linear_without_a_mode)
_COPIES = copies_alike(_linear_without_a_mode)
_UPSAMPLED = samples_alike(by_ratio, after=(_nearest,))


MNN = targets_of(
    "mnn",
    (Release("", _RELEASE),),
    (
        *unentered("the converter writes no model", f"measured on {_RELEASE}", {"Scan"}),
        otherwise.OUTPUT_IS_NOT_EMPTY.saying("Acquire buffer size = 0"),
        otherwise.EMPTIES_SHORT_INPUTS,
        Rule(
            name="upsample-has-a-mode",
            holds=lambda f: not f.is_upsample or "mode" in f.attributes,
            because='the attribute `mode` is not written ("Unsupported Upsample mode!")',
            source=_UPSAMPLE,
            fix="write mode=nearest",
        ),
        differs(
            name="no-mode-is-linear",
            holds=lambda f: _has_a_mode(f) or (_READS_THE_NEAREST(f) and _COPIES(f)),
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
            holds=lambda f: _computed_mode(f) != "linear" or not _is_spread(f),
            because="one axis of {f.rank_name} is resized; MNN makes three dimensions of them, and reads a fourth, "
            'which is 0 ("Acquire buffer size = 0")',
            source=_DIMENSIONS,
            fix="reshape to four axes around the node",
        ),
        differs(
            name="lines-are-read",
            holds=lambda f: not _is_spread(f),
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
            holds=lambda f: f.is_upsample or (_dimensions(f) or 0) <= 5,
            because="the rank is {f.rank_name}; MNN counts a resized batch as two more axes, and resized channels as "
            "one more "
            '("MNN Interp don\'t support >= 6 dimension Interp")',
            source=_DIMENSIONS,
            fix=shared.RESHAPE,
        ),
        Rule(
            name="no-linear-volumes",
            holds=lambda f: not _is_volume(f, "linear"),
            because="mode is linear over five dimensions (resized channels count as one more); MNN has nearest alone "
            "there, and aborts",
        ),
        differs(
            name="no-cubic-volumes",
            holds=lambda f: not _is_volume(f, "cubic"),
            because="mode is cubic over five dimensions (resized channels count as one more); MNN has nearest alone "
            "there, and reads memory that is not the tensor's",
        ),
        differs(
            name="no-integer-volumes",
            holds=lambda f: not _is_volume(f, "nearest") or f.elem_type not in shared.INTEGERS - {TensorProto.INT32},
            because="the tensor is {f.type_name} and has five dimensions, of which MNN resizes elements of four bytes",
            fix=shared.CAST,
        ),
        differs(
            name="depth-of-pytorch-half-pixel",
            holds=_depth_is_kept,
            because="pytorch_half_pixel over five dimensions writes the offset of the depth over its scale",
            source=_KERNEL,
            fix="half_pixel is the same where no output has length 1",
        ),
        otherwise.kept_axes_are_sampled(copies=False).read_in(_KERNEL),
        otherwise.kept_axes_may_be_sampled().read_in(_KERNEL),
        differs(
            name="upsample-images-alone",
            holds=lambda f: not f.is_upsample or moves_images_alone(f),
            because="Upsample resizes the axes 2 and 3 of four; the rank is {f.rank_name}, the scales {f.values}",
            source=_UPSAMPLE,
            fix="write Resize, or replace the node",
        ),
        differs(
            name="crop-is-not-known",
            # Where no scale changes a length, onnxruntime copies, as MNN does.
            holds=lambda f: not f.crops or not (f.by_sizes or is_resized(f)),
            because="tf_crop_and_resize is taken and not computed",
            source=_KERNEL,
            fix=shared.FIRST_CROP,
        ),
        Rule(
            name="two-axes",
            # Two scales are taken for a height and a width: 0 of them is no size.
            holds=lambda f: (
                f.axes is None
                or len(f.axes) == f.rank
                or (len(f.axes) == 2 and (not f.by_scales or all(scale >= 1 for scale in f.values or ())))
            ),
            because="`axes` is {f.axes}, which is not read: {f.counted_extent} are taken for height and width "
            '("Compute Shape Error")',
            source=_SHAPE,
            fix=shared.EVERY_DIMENSION,
        ),
        differs(
            name="axes-ignored",
            holds=_lists_the_image,
            because="`axes` is not read: {f.counted_extent} are taken for height and width in this order",
            source=_SHAPE,
            fix=shared.EVERY_DIMENSION,
        ),
        otherwise.POLICY_IGNORED.read_in(_CONVERTER),
        differs(
            name="no-interpolated-integers",
            holds=lambda f: not _is_misread(f),
            because="the tensor is {f.type_name}: {f.mode} is computed as if it held floats, even of a copy",
            fix=shared.CAST,
        ),
        otherwise.INTEGERS_ARE_ROUNDED,
        otherwise.antialias_ignored().read_in(_CONVERTER),
        otherwise.exclusion_ignored((without_antialias,)).read_in(_CONVERTER),
        otherwise.whole_copies_are_sampled(*_COPYING).read_in(_KERNEL),
        otherwise.coefficient_fixed(_BEFORE),
        otherwise.symmetric_is_asymmetric(_SYMMETRIC, (without_antialias, without_exclusion)).read_in(_CONVERTER),
        otherwise.old_resize_is_half_pixel(_OLD).read_in(_CONVERTER),
        differs(
            name="nearest-mode-ignored",
            holds=samples_alike(_nearest),
            because="nearest rounds down, or to the nearest with ties down, and nothing else: {f.op_type} of opset "
            "{f.opset}, nearest_mode {f.nearest_mode}",
            source=f"{_CONVERTER}; {_KERNEL}",
        ),
        differs(
            name="ratio-instead-of-scales",
            holds=lambda f: not f.is_upsample or _UPSAMPLED(f),
            because="Upsample follows the two lengths instead of the scales {f.values}, and these differ",
            source=_UPSAMPLE,
        ),
        differs(
            name="kept-channels-are-copied",
            holds=lambda f: f.mode == "cubic" or (f.rank or 0) < 3 or samples_alike(_kept_channels)(f),
            because="batch or channels keep their length with a scale other than 1 ({f.values}), and are copied "
            "instead of sampled",
            source=_DIMENSIONS,
            fix="write 1 for that axis where a copy is meant; else replace the node",
        ),
        differs(
            name="cubic-before-the-first-sample",
            holds=_reads_before_the_first,
            because="below coordinate 0, samples are read from 0 on, but the cubic weights are those below 0",
            source=_KERNEL,
        ),
        otherwise.factors_are_not_known(*_BEFORE, _linear_without_a_mode, _nearest).read_in(_KERNEL),
        otherwise.FED_AXES.saying(f"each that is resized {_COUNTS}").read_in(_DIMENSIONS),
        otherwise.OPEN_BATCH_OF_SIZES.saying(f"it {_COUNTS}").read_in(_DIMENSIONS),
    ),
    (
        OperatorLimit(frozenset({"ConvTranspose"}), f"measured on {_RELEASE}, another shape", ranks=frozenset({3})),
        OperatorLimit(frozenset({"AveragePool"}), f"measured on {_RELEASE}, aborts", ranks=frozenset({5})),
    ),
    f"measured on {_RELEASE}",
)
