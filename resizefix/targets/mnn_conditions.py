"""What MNN's rules ask of a node: the dimensions that Interp works on, and how it samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.deviations import (
    by_ratio,
    instead,
    old_resize,
    without_antialias,
    without_exclusion,
)
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import (
    Positions,
    Sampling,
    by,
    copied,
    copies_alike,
    is_resized,
    resized,
    samples_alike,
    samplings,
)
from resizefix.targets.shared_rules import INTEGERS

_WIDE = frozenset({TensorProto.INT32, TensorProto.INT64})


def _dimensions(f: SiteFacts) -> int | None:
    """How many dimensions Interp works on: batch and channels get two or one more where they are resized."""
    if f.rank is None:
        return None
    in_order = f.axes is not None and len(f.axes) == f.rank  # the order of `axes` is not read
    stretched = replace(f, keep_aspect_ratio_policy="stretch", axes=None if in_order else f.axes)
    first = min((axis for axis, size, out, _ in resized(stretched) if size != out), default=2)
    return f.rank + 2 - min(first, 2)


def is_spread(f: SiteFacts) -> bool:
    """Dimensions were put in front of it, as of a line whose only axis is resized."""
    return not f.is_upsample and f.rank is not None and _dimensions(f) == 3 and f.rank < 3


def dimensions_are_known(f: SiteFacts) -> bool:
    """Interp has as many dimensions."""
    found = _dimensions(f)
    return f.is_upsample or found is None or found <= 5


def is_volume(f: SiteFacts, mode: str) -> bool:
    """A Resize over five dimensions, in this mode."""
    return not f.is_upsample and _dimensions(f) == 5 and computed_mode(f) == mode


def computed_mode(f: SiteFacts) -> str:
    """Without the attribute Resize is linear."""
    return f.mode if f.is_upsample or "mode" in f.attributes else "linear"


def is_misread(f: SiteFacts) -> bool:
    """Integers that Interp has no kernel for: linear takes those of one byte, cubic none."""
    mode = computed_mode(f)
    return f.elem_type in INTEGERS and (mode == "cubic" or (mode == "linear" and f.elem_type in _WIDE))


def lists_the_image(f: SiteFacts) -> bool:
    """Two sizes are taken for height and width."""
    if f.axes_in_order:
        return True
    if not f.by_sizes or f.axes is None or f.rank != 4:
        return False
    axes, values = tuple(axis % 4 for axis in f.axes), f.values or ()
    return axes == (2, 3) or (axes == (3, 2) and len(set(values)) == 1)


def two_scales(f: SiteFacts) -> bool:
    """Of axes that are listed, two scales are taken for a height and a width: 0 of them is no size."""
    if f.axes is None or len(f.axes) == f.rank:
        return True
    return len(f.axes) == 2 and (not f.by_scales or f.values is None or all(scale >= 1 for scale in f.values))


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


def has_a_mode(f: SiteFacts) -> bool:
    """The mode is written, or it is Upsample, which asks for it."""
    return "mode" in f.attributes or f.is_upsample


def kept_channels(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Batch and channels that keep their length are copied, whatever their scale."""
    kept = sampling.axis < 2 < (f.rank or 0) and sampling.size == sampling.out
    return copied(sampling) if kept else sampling


def crops(f: SiteFacts) -> bool:
    """Where no scale changes a length, onnxruntime copies, as MNN does."""
    return f.crops and (f.by_sizes or is_resized(f))


def _between(x: Floats) -> Floats:
    """Whole numbers without the rounding of the last bits; what lies between two samples stays."""
    nearest = np.round(x)
    return np.asarray(np.where(np.abs(x - nearest) < 2e-5, nearest, x), np.float32)


def linear_without_a_mode(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Linear reads what nearest reads where no output lies between two samples."""
    if has_a_mode(f):
        return sampling
    changed = sampling if f.has_coordinates else by("half_pixel")(sampling)
    return changed._replace(rounding=_between)


def nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Down where nearest_mode is floor, and for Upsample; else to the nearest, ties down."""
    if sampling.mode != "nearest" or not has_a_mode(f):
        return sampling
    floor = f.is_upsample or (f.nearest_mode == "floor" and not f.is_old_resize)
    coordinates = Coordinates.HALF_PIXEL if f.is_old_resize else sampling.form[0]
    sampling = _upsampled_by_ratio(f, sampling)
    by_lengths = f.is_upsample or f.by_sizes
    return sampling._replace(positions=_POSITIONS[coordinates, by_lengths], rounding=np.floor if floor else _tie_down)


def _upsampled_by_ratio(f: SiteFacts, sampling: Sampling) -> Sampling:
    return by_ratio(f, sampling) if f.is_upsample else sampling


def depth_is_kept(f: SiteFacts) -> bool:
    """pytorch_half_pixel writes the depth's offset over its scale; from one sample, or for one, the first is read."""
    if f.coordinates != "pytorch_half_pixel" or _dimensions(f) != 5 or f.rank is None:
        return True
    axis = f.rank - 3
    depth = f.input_shape[axis] if f.input_shape else None
    if depth is not None:
        outs = [out for resized_axis, _, out, _ in resized(f) if resized_axis == axis]
        return depth == 1 or (bool(outs) and all(out == 1 for out in outs))
    return bool(f.by_sizes and f.axes_are_trivial and f.values and f.values[axis] == 1)


def reads_before_the_first(f: SiteFacts) -> bool:
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


SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric", None, ("linear", "cubic"))
OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
BEFORE = (without_antialias, without_exclusion, SYMMETRIC, OLD)
COPYING = (*BEFORE, _upsampled_by_ratio, linear_without_a_mode, nearest, kept_channels)
READS_THE_NEAREST = samples_alike(linear_without_a_mode)
COPIES = copies_alike(linear_without_a_mode)
UPSAMPLED = samples_alike(by_ratio, after=(nearest,))
