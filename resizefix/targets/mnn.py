"""MNN: its converter takes every Resize and reads a few of the attributes; Interp samples by the two lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.conditions import S
from resizefix.targets.deviations import (
    by_ratio,
    down,
    instead,
    old_resize,
    with_coefficient,
    without_antialias,
    without_exclusion,
)
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import Sampling, resized, samples_alike, samplings
from resizefix.targets.target import Effect, Release, Rule, targets_of

_RELEASE = "MNN 3.6.1"
_CONVERTER = f"MNN 4d40bdb, tools/converter/source/onnx/ResizeOnnx.cpp; measured on {_RELEASE}"
_UPSAMPLE = f"MNN 4d40bdb, tools/converter/source/optimizer/onnxextra/OnnxUpsample.cpp; measured on {_RELEASE}"
_SHAPE = f"MNN 4d40bdb, source/shape/ShapeInterp.cpp; measured on {_RELEASE}"
_KERNEL = f"MNN 4d40bdb, source/geometry/ConvertUtils.hpp and source/backend/cpu/CPUResize.hpp; measured on {_RELEASE}"
_FED = frozenset({S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED, S.OTHER_INPUT, S.DATA})
_OTHER_TYPES = frozenset({TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64})


def _images_only(f: SiteFacts) -> bool:
    return all(axis >= 2 for axis, *_ in resized(f))


def _lists_every_axis(f: SiteFacts) -> bool:
    return f.axes is None or f.rank in (None, len(f.axes)) and f.axes == tuple(range(len(f.axes)))


# ---- sampling -------------------------------------------------------------------------------------------------------


def _step(coordinates: Coordinates, size: int, out: int) -> tuple[np.float32, np.float32]:
    """Step and offset of the positions, in the float32 of ConvertUtils.hpp."""
    ratio, half = np.float32(size) / np.float32(out), np.float32(0.5)
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


def _at(coordinates: Coordinates, size: int, out: int) -> Floats:
    step, offset = _step(coordinates, size, out)
    return np.asarray(np.arange(out, dtype=np.float32) * step + offset, np.float32)


def _tie_down(x: Floats) -> Floats:
    return np.asarray(np.floor(x + np.float32(0.499)), np.float32)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Down where nearest_mode is floor, and for Upsample; else to the nearest, ties down."""
    if sampling.mode != "nearest":
        return sampling
    floor = f.is_upsample or (f.has_coordinates and f.nearest_mode == "floor")
    old = not f.is_upsample and not f.has_coordinates
    coordinates = Coordinates.HALF_PIXEL if old else sampling.form[0]
    return replace(sampling, positions=_POSITIONS[coordinates], rounding=down if floor else _tie_down)


def _positions(coordinates: Coordinates):  # type: ignore[no-untyped-def]
    def positions(scale: float, size: int, out: int) -> Floats:
        return _at(coordinates, size, out)

    return positions


_POSITIONS = {coordinates: _positions(coordinates) for coordinates in Coordinates}


def _reads_before_the_first(f: SiteFacts) -> bool:
    """Cubic takes int(x) for the sample and x - floor(x) for the weight, which do not go together below 0."""
    if f.mode != "cubic":
        return True
    for sampling in samplings(f):
        x = sampling.positions(sampling.ratio, sampling.size, sampling.out)
        if np.any((x < -2e-5) & (x > np.floor(x) + 2e-5)):
            return False
    return True


_SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric")
_OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
_BEFORE = (without_antialias, without_exclusion, _SYMMETRIC, _OLD)

MNN = targets_of(
    "mnn",
    (Release("", _RELEASE),),
    (
        Rule(
            name="upsample-has-constant-scales",
            holds=lambda f: not f.is_upsample or f.source not in _FED,
            because='Upsample reads its scales from: {f.source.value}; Interp takes that for a height and a width '
            '("Tensorflow\'s interp\'s shape should be length two")',
            source=_UPSAMPLE,
            fix="freeze the scales, or write Resize",
        ),
        Rule(
            name="five-axes-at-most",
            holds=lambda f: f.rank is None or f.rank <= 5,
            because='the rank is {f.rank_name} ("MNN Interp don\'t support >= 6 dimension Interp")',
            source=f"MNN 4d40bdb, source/geometry/GeometryImageOp.cpp; measured on {_RELEASE}",
            fix="reshape around the node",
        ),
        Rule(
            name="not-volumes",
            holds=lambda f: f.rank != 5,
            because="the rank is 5, and MNN's Interp of volumes computes other numbers or stops",
            source=f"measured on {_RELEASE}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="not-short-ranks",
            holds=lambda f: f.rank is None or f.rank >= 4 or not any(True for _ in resized(f)),
            because="the rank is {f.rank_name}, of which height and width are not the last two axes here",
            source=f"measured on {_RELEASE}",
            fix="reshape around the node to four axes, or replace the node",
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
            name="axes-ignored",
            holds=_lists_every_axis,
            because="`axes` is not read: {f.counted_extent} are taken for height and width in this order",
            source=_SHAPE,
            fix="write one value per dimension instead",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="aspect-policy-ignored",
            holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes,
            because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}, which is not read",
            source=_CONVERTER,
            fix="write the sizes that the policy leads to",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="image-axes-alone",
            holds=_images_only,
            because="another axis than height and width is resized, which the shape follows and the samples do not",
            source=_KERNEL,
            fix="put a Transpose before the node and one behind it, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="integers-are-not-resized",
            holds=lambda f: f.elem_type not in _OTHER_TYPES or f.mode == "nearest" or not any(True for _ in resized(f)),
            because="the tensor is {f.type_name}, and interpolated integers differ from onnxruntime's",
            source=f"measured on {_RELEASE}",
            fix="put a Cast to float before the node and one back after it",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="antialias-ignored",
            holds=samples_alike(without_antialias),
            because="`antialias` is not read, and an axis shrinks",
            source=_CONVERTER,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="exclude-outside-ignored",
            holds=samples_alike(without_exclusion, after=(without_antialias,)),
            because="`exclude_outside` is not read",
            source=_CONVERTER,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="cubic-coefficient-is-fixed",
            holds=samples_alike(with_coefficient(-0.75), after=_BEFORE),
            because="cubic_coeff_a is {f.cubic_coeff_a:g}, and -0.75 is computed",
            source=f"measured on {_RELEASE}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="symmetric-is-asymmetric",
            holds=samples_alike(_SYMMETRIC, after=(without_antialias, without_exclusion)),
            because="half_pixel_symmetric is not known, and asymmetric is computed",
            source=_CONVERTER,
            fix="half_pixel is the same where in·scale is whole; else replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="resize-10-is-half-pixel",
            holds=samples_alike(_OLD),
            because="Resize at opset 10 is read with the defaults of opset 11: half_pixel, round_prefer_floor",
            source=_CONVERTER,
            fix="raise the model to opset 11 and write asymmetric, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="nearest-mode-ignored",
            holds=samples_alike(_nearest, after=(_SYMMETRIC,)),
            because="nearest_mode is floor or round_prefer_floor, nothing else, and the two lengths replace the "
            "scales; {f.op_type} of opset {f.opset} has {f.nearest_mode}",
            source=f"{_CONVERTER}; {_KERNEL}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="ratio-instead-of-scales",
            holds=samples_alike(by_ratio, after=_BEFORE),
            because="positions follow the two lengths instead of the scales {f.values}, and these differ",
            source=_KERNEL,
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
    ),
)
