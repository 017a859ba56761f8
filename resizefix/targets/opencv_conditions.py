"""What OpenCV's rules ask of a node: what the importers see, and how the Resize layers of 4.x and 5.x sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resizefix.equivalences.index_map import Floats
from resizefix.interpolation import NearestMode
from resizefix.targets.conditions import FED, STORED, S
from resizefix.targets.deviations import (
    BY_LENGTHS,
    by_ratio,
    half_down,
    half_up,
    instead,
    old_resize,
    without_antialias,
)
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.sampling import Rounding, Sampling, by, is_resized, moved_axes, resized, samples_alike

_HALF = frozenset({"half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"})
_FUSED = frozenset({"Cast", "Concat", "Constant", "Gather", "Shape", "Unsqueeze"})
_FIRST_WITH_AXES = 13
_EXTRACTED = _FUSED - {"Constant"} | {"Div", "Floor", "Mul", "Slice"}
_FUSED_CHAINS = (_FUSED | {"Floor", "Mul"}, _FUSED | {"Floor", "Mul", "Slice"}, _FUSED | {"Slice"})


def becomes_upsample(f: SiteFacts) -> bool:
    """The importer takes Resize and the chain from shapes to sizes, as torch writes it at opset 11, for one Upsample
    (ResizeSubgraph1 to 3). From opset 13 on Unsqueeze has its axes as an input, which the pattern does not have."""
    empty = f.by_sizes and f.n_inputs == 4 and f.roi is Roi.EMPTY and not f.unnamed_scales
    return empty and f.opset < _FIRST_WITH_AXES and f.computed_by in _FUSED_CHAINS


def takes_out_scales(f: SiteFacts) -> bool:
    """The importer takes the factors of Upsample-9 out of torch's chain of new lengths over old ones
    (ExtractScalesSubgraph); it looks for Upsample alone."""
    return f.is_upsample and f.computed_by in (_EXTRACTED, _EXTRACTED | {"Constant"})


def has_whole_factors(f: SiteFacts) -> bool:
    """Factors of that Upsample are stored as integers."""
    if not becomes_upsample(f) or "Mul" not in f.computed_by or not f.is_computable:
        return True
    return all(out % size == 0 for _, size, out, _ in resized(f))


def is_constant(f: SiteFacts) -> bool:
    """The importer knows the extent, or what is computed of shapes that it knows."""
    shape = f.input_shape
    # It takes an open batch of three or more axes for 1. The whole shape of another tensor may be known, too.
    known = shape is not None and None not in shape[int(len(shape) > 2) :]
    of_another = f.computed_by == {"Shape"} and f.static_values is not None
    folded = f.source is S.SHAPE and (known or of_another)
    return f.source in STORED or f.values is not None or folded or becomes_upsample(f)


def is_whole(f: SiteFacts) -> bool:
    """Not a single length that Gather took: a Cast leaves it whole, and arithmetic refuses it beside a float."""
    mixed = f.computed_by >= {"Gather", "Cast"} and bool(f.computed_by & {"Add", "Div", "Mul", "Sub"})
    return not mixed or f.values is not None or becomes_upsample(f) or takes_out_scales(f)


def _has_coordinate_attribute(f: SiteFacts) -> bool:
    return f.has_coordinates and "coordinate_transformation_mode" in f.attributes


def linear_is_known(f: SiteFacts) -> bool:
    """Linear names its coordinates, or is pytorch's."""
    return f.mode != "linear" or _has_coordinate_attribute(f) or f.producer_name == "pytorch"


def crop_is_seen(f: SiteFacts) -> bool:
    """The importer looks at the coordinates before it takes the extent."""
    return f.source in STORED or (f.by_scales and f.source in FED)


def takes_rank(f: SiteFacts) -> bool:
    """Four values for four axes."""
    return f.rank in (None, 4) and f.length in (None, 4)


def takes_rank_5(f: SiteFacts) -> bool:
    """The new engine takes two values where they are fed."""
    return f.rank in (None, 4) and f.length in ((None, 4) if is_constant(f) or f.is_upsample else (None, 2, 4))


def fed_in_order(f: SiteFacts) -> bool:
    """Two fed values are those of height and width, in this order."""
    if is_constant(f) or f.axes is None or f.rank != 4 or len(f.axes) != 2:
        return True
    return tuple(axis % 4 for axis in f.axes) == (2, 3)


def has_two_rows(f: SiteFacts) -> bool:
    """Linear never reads the row before the first: the height is 2 or more, the extent known."""
    if f.mode != "linear" or f.input_shape is None or len(f.input_shape) != 4 or not is_constant(f):
        return True
    return f.input_shape[2] != 1 or not is_resized(f)


def has_open_height(f: SiteFacts) -> bool:
    """The height is open, and resized."""
    return f.input_shape is not None and len(f.input_shape) == 4 and f.input_shape[2] is None and bool(moved_axes(f))


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
_ROUNDINGS_5: Mapping[NearestMode | None, Rounding] = {
    NearestMode.FLOOR: np.floor,
    NearestMode.CEIL: np.ceil,
    NearestMode.ROUND_PREFER_FLOOR: _tie(half_down),
    NearestMode.ROUND_PREFER_CEIL: _tie(half_up),
}


def by_step_5(f: SiteFacts, sampling: Sampling) -> Sampling:
    """By the two lengths, as computeSrcGeneric of 5.x has it where nearest rounds what comes of it."""
    sampling = by_ratio(f, sampling)
    rounding = _ROUNDINGS_5.get(sampling.form[1])
    if sampling.mode != "nearest" or rounding is None:
        return sampling
    return sampling._replace(positions=BY_LENGTHS[sampling.form[0]], rounding=rounding)


def nearest_4(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Rounded by the coordinate mode alone; without the attribute as asymmetric."""
    if sampling.mode != "nearest":
        return sampling
    mode = sampling.form[0].value if _has_coordinate_attribute(f) else "asymmetric"
    if mode in _HALF:
        return sampling._replace(positions=_half_from_zero, rounding=np.floor)
    if mode == "align_corners":
        return by("align_corners", "round_prefer_ceil")(sampling)._replace(rounding=half_up)
    return sampling._replace(positions=_as_floor, rounding=np.floor)


def linear_of_pytorch(f: SiteFacts, sampling: Sampling) -> Sampling:
    """4.x takes pytorch's linear nodes without coordinate attributes for half_pixel."""
    asymmetric = sampling.mode == "linear" and not f.has_coordinates and f.producer_name == "pytorch"
    return by("half_pixel")(sampling) if asymmetric else sampling


def upsample_of_pytorch(f: SiteFacts, sampling: Sampling) -> Sampling:
    """5.x does so with Upsample."""
    return linear_of_pytorch(f, sampling) if f.is_upsample else sampling


SYMMETRIC = instead(("half_pixel_symmetric",), "asymmetric", "floor", ("linear", "cubic"))
TF_LINEAR = instead(("tf_half_pixel_for_nn",), "half_pixel", None, ("linear", "cubic"))
ONE_PIXEL = instead(("pytorch_half_pixel",), "half_pixel", None, ("linear",))
BEFORE_4 = (without_antialias, SYMMETRIC, TF_LINEAR, ONE_PIXEL)
by_scales_4 = samples_alike(by_ratio, after=BEFORE_4)
SYMMETRIC_5 = instead(("half_pixel_symmetric",), "asymmetric")
OLD_5 = old_resize("half_pixel", "round_prefer_floor", ("nearest", "linear"))
BEFORE_5 = (without_antialias, SYMMETRIC_5, OLD_5)
steps_alike_5 = samples_alike(by_step_5, after=(*BEFORE_5, by_ratio))
