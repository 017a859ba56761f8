"""onnxruntime's QNN provider on the HTP: rules from its source and from Qualcomm's x86 simulator, not run here."""

from __future__ import annotations

import numpy as np

from resizefix.dialects.resized_length import inference_length
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.conditions import S
from resizefix.targets.deviations import BY_LENGTHS, half_up, old_resize, without_exclusion
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import Sampling, by, resized, samples_alike
from resizefix.targets.target import Release, Rule, differs, targets_of

_PROVIDER = "onnxruntime, core/providers/qnn/builder/opbuilder/resize_op_builder.cc"
_SIMULATOR = "measured on the HTP simulator of onnxruntime-qnn (x86-64); not run here"
_BOTH = f"{_PROVIDER}; {_SIMULATOR}"
_OTHER_LENGTH = "the output's length is taken from shape inference, which differs from the kernel's: {f.values}"
_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.UNKNOWN})


def _is_constant(f: SiteFacts) -> bool:
    return f.source in _CONSTANTS or (f.source is S.SHAPE and not f.is_open)


def _sizes_agree(f: SiteFacts) -> bool:
    return not f.by_scales or all(inference_length(scale, size) == out for _, size, out, scale in resized(f))


def _nearest_combination(f: SiteFacts) -> bool:
    asymmetric = f.mode == "nearest" and f.coordinates == "asymmetric"
    return not asymmetric or f.nearest_mode in ("floor", "round_prefer_ceil")


def _nearest_rank(f: SiteFacts) -> bool:
    if f.mode != "nearest" or f.rank in (None, 4):
        return True
    return f.rank == 3 and f.coordinate_transformation_mode == "asymmetric" and f.nearest_mode == "floor"


# ---- sampling -------------------------------------------------------------------------------------------------------


_FROM_ZERO, _HALF = BY_LENGTHS[Coordinates.ASYMMETRIC], BY_LENGTHS[Coordinates.TF_HALF_PIXEL_FOR_NN]


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """The rounding follows the coordinate mode, the positions the two lengths."""
    if sampling.mode != "nearest" or not f.has_coordinates:
        return sampling
    match sampling.form[0]:
        case Coordinates.HALF_PIXEL:
            return sampling._replace(positions=_HALF, rounding=np.floor)
        case Coordinates.ALIGN_CORNERS:
            return by("align_corners", "round_prefer_ceil")(sampling)._replace(rounding=half_up)
        case Coordinates.ASYMMETRIC if f.nearest_mode == "round_prefer_ceil":
            return sampling._replace(positions=_FROM_ZERO, rounding=half_up)
        case _:
            return sampling._replace(positions=_FROM_ZERO, rounding=np.floor)


_OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
_BEFORE = (without_exclusion, _OLD, _nearest)

QNN = targets_of(
    "qnn",
    (Release("", "QNN provider of onnxruntime, HTP (simulator, not run here)"),),
    (
        Rule(
            name="shapes-are-static",
            holds=lambda f: not f.is_open,
            because="the input is {f.shown_input_shape}; QNN compiles for fixed shapes",
            source=_BOTH,
            fix="write the input's size into the file",
        ),
        shared.EXTENT_IS_CONSTANT.saying("; the output's shape must be known", _is_constant).read_in(_BOTH),
        Rule(
            name="image-axes-alone",
            holds=lambda f: all(axis >= 2 for axis, *_ in resized(f)),
            because='another axis is resized ("QNN EP: Resize may only change the spatial dimensions.")',
            source=_BOTH,
            fix=shared.TRANSPOSE,
        ),
        shared.NO_ANTIALIAS.saying('"QNN EP: Resize doesn\'t support anti-aliasing."').read_in(_BOTH),
        shared.coordinate_modes(_MODES, ' ("QNN EP: Resize does not support coordinate_transformation_mode")').read_in(
            _BOTH
        ),
        Rule(
            name="nearest-combination",
            holds=_nearest_combination,
            because="nearest_mode {f.nearest_mode} with asymmetric is a combination that the NPU does not take",
            source=_BOTH,
            fix="write asymmetric with floor where that is the same, or replace the node",
        ),
        Rule(
            name="nearest-of-four-axes",
            holds=_nearest_rank,
            because="nearest of rank {f.rank_name}; the NPU takes four axes",
            source=_BOTH,
            fix="reshape around the node to four axes",
        ),
        Rule(
            name="cubic-grows",
            holds=lambda f: f.mode != "cubic" or all(scale >= 1 for *_, scale in resized(f)),
            because="cubic with scales below 1: {f.values}",
        ),
        Rule(
            name="length-by-float64",
            holds=lambda f: _sizes_agree(f) or not f.has_coordinates,
            because=_OTHER_LENGTH,
            fix="write sizes instead of scales",
        ),
        differs(
            name="old-length-by-float64",
            holds=lambda f: _sizes_agree(f) or f.has_coordinates,
            because=_OTHER_LENGTH,
        ),
        shared.exclusion_ignored(),
        differs(
            name="resize-10-is-half-pixel",
            holds=samples_alike(_OLD),
            because="linear Resize at opset 10 is computed as half_pixel",
            fix="raise the model to opset 11 and write asymmetric, or replace the node",
        ),
        differs(
            name="nearest-mode-ignored",
            holds=samples_alike(_nearest),
            because="nearest with {f.coordinate_transformation_mode} is rounded by the coordinate mode alone; "
            "nearest_mode is {f.nearest_mode}",
        ),
        shared.ratio_instead_of_scales(_BEFORE),
    ),
    source=_SIMULATOR,
)
