"""MNN: its converter takes every Resize and reads a few of the attributes; Interp samples by the two lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.conditions import FED
from resizefix.targets.deviations import (
    by_ratio,
    down,
    instead,
    old_resize,
    without_antialias,
    without_exclusion,
)
from resizefix.targets.facts import SiteFacts
from resizefix.targets.operators import OperatorLimit
from resizefix.targets.sampling import (
    Sampling,
    by,
    copies_alike,
    moved_axes,
    resized,
    samples_alike,
    samplings,
)
from resizefix.targets.shared_deviations import (
    INTEGERS,
    antialias_ignored,
    coefficient_fixed,
    exclusion_ignored,
    factors_are_not_known,
    fed_axes,
    integers_are_rounded,
    kept_axes_are_sampled,
    old_resize_is_half_pixel,
    policy_ignored,
    symmetric_is_asymmetric,
    whole_copies_are_sampled,
)
from resizefix.targets.shared_rules import output_is_not_empty
from resizefix.targets.target import Effect, Release, Rule, targets_of

_RELEASE = "MNN 3.6.1"
_CONVERTER = f"MNN 4d40bdb, tools/converter/source/onnx/ResizeOnnx.cpp; measured on {_RELEASE}"
_UPSAMPLE = f"MNN 4d40bdb, tools/converter/source/optimizer/onnxextra/OnnxUpsample.cpp; measured on {_RELEASE}"
_SHAPE = f"MNN 4d40bdb, source/shape/ShapeInterp.cpp; measured on {_RELEASE}"
_KERNEL = f"MNN 4d40bdb, source/geometry/ConvertUtils.hpp and source/backend/cpu/CPUResize.hpp; measured on {_RELEASE}"


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


def _dimensions_are_known(f: SiteFacts) -> bool:
    found = _dimensions(f)
    return f.is_upsample or found is None or found <= 5


def _is_volume(f: SiteFacts, mode: str) -> bool:
    return not f.is_upsample and _dimensions(f) == 5 and _mode(f) == mode


def _mode(f: SiteFacts) -> str:
    """Without the attribute Resize is linear."""
    return f.mode if f.is_upsample or "mode" in f.attributes else "linear"


def _upsamples_images(f: SiteFacts) -> bool:
    return not f.is_upsample or all(axis >= 2 for axis in moved_axes(f))


def _lists_the_image(f: SiteFacts) -> bool:
    """Two sizes are taken for height and width."""
    if f.axes_in_order:
        return True
    if not f.by_sizes or f.axes is None or f.rank != 4:
        return False
    axes, values = tuple(axis % 4 for axis in f.axes), f.values or ()
    return axes == (2, 3) or (axes == (3, 2) and len(set(values)) == 1)


def _two_scales(f: SiteFacts) -> bool:
    """Of axes that are listed, two scales are taken for a height and a width: 0 of them is no size."""
    if f.axes is None or len(f.axes) == f.rank:
        return True
    return len(f.axes) == 2 and (not f.by_scales or f.values is None or all(scale >= 1 for scale in f.values))


# ---- sampling -------------------------------------------------------------------------------------------------------


def _step(coordinates: Coordinates, scale: float, size: int, out: int) -> tuple[np.float32, np.float32]:
    """Step and offset of the positions, in the float32 of ConvertUtils.hpp."""
    ratio, half = np.float32(1) / np.float32(scale), np.float32(0.5)
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


def _at(coordinates: Coordinates, scale: float, size: int, out: int) -> Floats:
    step, offset = _step(coordinates, scale, size, out)
    return np.asarray(np.arange(out, dtype=np.float32) * step + offset, np.float32)


def _tie_down(x: Floats) -> Floats:
    return np.asarray(np.floor(x + np.float32(0.499)), np.float32)


def _has_a_mode(f: SiteFacts) -> bool:
    return "mode" in f.attributes or f.is_upsample


def _between(x: Floats) -> Floats:
    """Whole numbers without the rounding of the last bits; what lies between two samples stays."""
    nearest = np.round(x)
    return np.asarray(np.where(np.abs(x - nearest) < 2e-5, nearest, x), np.float32)


def _linear_without_a_mode(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Linear reads what nearest reads where no output lies between two samples."""
    if _has_a_mode(f):
        return sampling
    changed = sampling if f.has_coordinates else by("half_pixel")(sampling)
    return replace(changed, rounding=_between)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Down where nearest_mode is floor, and for Upsample; else to the nearest, ties down."""
    if sampling.mode != "nearest" or not _has_a_mode(f):
        return sampling
    floor = f.is_upsample or (f.has_coordinates and f.nearest_mode == "floor")
    old = not f.is_upsample and not f.has_coordinates
    coordinates = Coordinates.HALF_PIXEL if old else sampling.form[0]
    if f.is_upsample:
        sampling = replace(sampling, scale=sampling.ratio)
    return replace(sampling, positions=_POSITIONS[coordinates], rounding=down if floor else _tie_down)


def _upsampled_by_ratio(f: SiteFacts, sampling: Sampling) -> Sampling:
    return replace(sampling, scale=sampling.ratio) if f.is_upsample else sampling


def _positions(coordinates: Coordinates):  # type: ignore[no-untyped-def]
    def positions(scale: float, size: int, out: int) -> Floats:
        return _at(coordinates, scale, size, out)

    return positions


_POSITIONS = {coordinates: _positions(coordinates) for coordinates in Coordinates}


def _depth_is_kept(f: SiteFacts) -> bool:
    """pytorch_half_pixel writes the depth's offset over its scale."""
    pytorch = f.has_coordinates and f.coordinate_transformation_mode == "pytorch_half_pixel"
    return not pytorch or _dimensions(f) != 5


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
_READS_THE_NEAREST = samples_alike(_linear_without_a_mode)
_COPIES = copies_alike(_linear_without_a_mode)
_UPSAMPLED = samples_alike(by_ratio, after=(_nearest,))

MNN = targets_of(
    "mnn",
    (Release("", _RELEASE),),
    (
        output_is_not_empty("Acquire buffer size = 0", f"measured on {_RELEASE}"),
        Rule(
            name="upsample-has-a-mode",
            holds=lambda f: not f.is_upsample or "mode" in f.attributes,
            because='the attribute `mode` is not written ("Unsupported Upsample mode!")',
            source=_UPSAMPLE,
            fix="write mode=nearest",
        ),
        Rule(
            name="no-mode-is-linear",
            holds=lambda f: _has_a_mode(f) or (_READS_THE_NEAREST(f) and _COPIES(f)),
            because="the attribute `mode` is not written, and linear is computed; ONNX says nearest",
            source=_CONVERTER,
            fix="write mode=nearest",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="no-int8",
            holds=lambda f: f.elem_type != TensorProto.INT8,
            because='the tensor is int8 ("does not support this dtype")',
            source=f"MNN 4d40bdb, pymnn/src/util.h; measured on {_RELEASE}",
            fix="put a Cast to float before the node and one back after it",
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
            holds=lambda f: _mode(f) != "linear" or not _is_spread(f),
            because="one axis of {f.rank_name} is resized; it becomes three dimensions, and the width, the fourth, is "
            '0 ("Acquire buffer size = 0")',
            source=f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}",
            fix="reshape to four axes around the node",
        ),
        Rule(
            name="lines-are-read",
            holds=lambda f: not _is_spread(f),
            because="one axis of {f.rank_name} is resized; it becomes three dimensions, and the width, the fourth, is "
            "any number",
            source=f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}",
            fix="reshape to four axes around the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="upsample-has-constant-scales",
            holds=lambda f: not f.is_upsample or f.source not in FED,
            because="Upsample reads its scales from: {f.source.value}; Interp takes that for a height and a width "
            "(\"Tensorflow's interp's shape should be length two\")",
            source=_UPSAMPLE,
            fix="freeze the scales, or write Resize",
        ),
        Rule(
            name="five-axes-at-most",
            holds=_dimensions_are_known,
            because="the rank is {f.rank_name}, and batch or channels that are resized count for two or one more "
            '("MNN Interp don\'t support >= 6 dimension Interp")',
            source=f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}",
            fix="reshape around the node",
        ),
        Rule(
            name="no-linear-volumes",
            holds=lambda f: not _is_volume(f, "linear"),
            because="mode is linear over five dimensions (channels that are resized count for one more), of which MNN "
            "has nearest; it aborts",
            source=f"measured on {_RELEASE}",
            fix="replace the node",
        ),
        Rule(
            name="no-cubic-volumes",
            holds=lambda f: not _is_volume(f, "cubic"),
            because="mode is cubic over five dimensions (channels that are resized count for one more), of which MNN "
            "has nearest; it reads memory that is not the tensor's",
            source=f"measured on {_RELEASE}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="no-integer-volumes",
            holds=lambda f: not _is_volume(f, "nearest") or f.elem_type not in INTEGERS,
            because="the tensor is {f.type_name} and has five dimensions, of which MNN resizes floats",
            source=f"measured on {_RELEASE}",
            fix="put a Cast to float before the node and one back after it",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="depth-of-pytorch-half-pixel",
            holds=_depth_is_kept,
            because="pytorch_half_pixel over five dimensions writes the offset of the depth over its scale",
            source=_KERNEL,
            fix="half_pixel is the same where no output has length 1",
            effect=Effect.DIFFERENT,
        ),
        kept_axes_are_sampled(_KERNEL),
        Rule(
            name="upsample-images-alone",
            holds=_upsamples_images,
            because="Upsample resizes the axes 2 and 3 of four; the rank is {f.rank_name}, the scales {f.values}",
            source=_UPSAMPLE,
            fix="write Resize, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="crop-is-not-known",
            holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode != "tf_crop_and_resize",
            because="tf_crop_and_resize is taken and not computed",
            source=_KERNEL,
            fix="crop with Slice, then resize",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="two-axes",
            holds=_two_scales,
            because="`axes` is {f.axes}, which is not read: {f.counted_extent} are taken for height and width "
            '("Compute Shape Error")',
            source=_SHAPE,
            fix="write one value per dimension instead",
        ),
        Rule(
            name="axes-ignored",
            holds=_lists_the_image,
            because="`axes` is not read: {f.counted_extent} are taken for height and width in this order",
            source=_SHAPE,
            fix="write one value per dimension instead",
            effect=Effect.DIFFERENT,
        ),
        policy_ignored(_CONVERTER),
        integers_are_rounded(f"measured on {_RELEASE}"),
        antialias_ignored(_CONVERTER),
        exclusion_ignored(_CONVERTER, (without_antialias,)),
        whole_copies_are_sampled(_KERNEL, *_BEFORE, _upsampled_by_ratio, _linear_without_a_mode, _nearest),
        coefficient_fixed(f"measured on {_RELEASE}", _BEFORE),
        symmetric_is_asymmetric(_CONVERTER, _SYMMETRIC, (without_antialias, without_exclusion)),
        old_resize_is_half_pixel(_CONVERTER, _OLD),
        Rule(
            name="nearest-mode-ignored",
            holds=samples_alike(_nearest),
            because="nearest rounds down, or to the nearest with ties down, and nothing else: {f.op_type} of opset "
            "{f.opset}, nearest_mode {f.nearest_mode}",
            source=f"{_CONVERTER}; {_KERNEL}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="ratio-instead-of-scales",
            holds=lambda f: not f.is_upsample or _UPSAMPLED(f),
            because="Upsample follows the two lengths instead of the scales {f.values}, and these differ",
            source=_UPSAMPLE,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="cubic-before-the-first-sample",
            holds=_reads_before_the_first,
            because="a coordinate below 0 is cut off for the samples and rounded down for the weights of cubic",
            source=_KERNEL,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        factors_are_not_known(_KERNEL, *_BEFORE, _nearest),
        fed_axes(
            f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}",
            "each that is resized counts for a dimension more, of which MNN takes five and interpolates four",
        ),
    ),
    (
        OperatorLimit(frozenset({"ConvTranspose"}), f"measured on {_RELEASE}, another shape", ranks=frozenset({3})),
        OperatorLimit(frozenset({"AveragePool"}), f"measured on {_RELEASE}, aborts", ranks=frozenset({5})),
    ),
)
