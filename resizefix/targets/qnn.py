"""onnxruntime's QNN provider on the HTP: rules from its source and from Qualcomm's x86 simulator, not run here."""

from __future__ import annotations

from dataclasses import replace

from resizefix.dialects.resized_length import inference_length
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.conditions import S
from resizefix.targets.deviations import BY_LENGTHS, down, half_up, old_resize, without_exclusion
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import Sampling, by, resized, samples_alike
from resizefix.targets.shared_deviations import exclusion_ignored, ratio_instead_of_scales
from resizefix.targets.target import Effect, Release, Rule, targets_of

_PROVIDER = "onnxruntime, core/providers/qnn/builder/opbuilder/resize_op_builder.cc"
_SIMULATOR = "measured on the HTP simulator of onnxruntime-qnn (x86-64); not run here"
_BOTH = f"{_PROVIDER}; {_SIMULATOR}"
_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.UNKNOWN})


def _is_static(f: SiteFacts) -> bool:
    return f.input_shape is None or None not in f.input_shape


def _is_constant(f: SiteFacts) -> bool:
    return f.source in _CONSTANTS or (f.source is S.SHAPE and _is_static(f))


def _sizes_agree(f: SiteFacts) -> bool:
    return not f.by_scales or all(inference_length(scale, size) == out for _, size, out, scale in resized(f))


def _nearest_combination(f: SiteFacts) -> bool:
    if f.mode != "nearest" or not f.has_coordinates:
        return True
    asymmetric = f.coordinate_transformation_mode == "asymmetric"
    return not asymmetric or f.nearest_mode in ("floor", "round_prefer_ceil")


def _nearest_rank(f: SiteFacts) -> bool:
    if f.mode != "nearest" or f.rank in (None, 4):
        return True
    return f.rank == 3 and f.coordinate_transformation_mode == "asymmetric" and f.nearest_mode == "floor"


def _shrinking_cubic(f: SiteFacts) -> bool:
    return f.mode != "cubic" or all(scale >= 1 for *_, scale in resized(f))


# ---- sampling -------------------------------------------------------------------------------------------------------


_FROM_ZERO, _HALF = BY_LENGTHS[Coordinates.ASYMMETRIC], BY_LENGTHS[Coordinates.TF_HALF_PIXEL_FOR_NN]


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """The rounding follows the coordinate mode, the positions the two lengths."""
    if sampling.mode != "nearest" or not f.has_coordinates:
        return sampling
    match sampling.form[0]:
        case Coordinates.HALF_PIXEL:
            return replace(sampling, positions=_HALF, rounding=down)
        case Coordinates.ALIGN_CORNERS:
            return replace(by("align_corners", "round_prefer_ceil")(sampling), rounding=half_up)
        case Coordinates.ASYMMETRIC if f.nearest_mode == "round_prefer_ceil":
            return replace(sampling, positions=_FROM_ZERO, rounding=half_up)
        case _:
            return replace(sampling, positions=_FROM_ZERO, rounding=down)


_OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
_BEFORE = (without_exclusion, _OLD, _nearest)

QNN = targets_of(
    "qnn",
    (Release("", "QNN provider of onnxruntime, HTP (simulator, not run here)"),),
    (
        Rule(
            name="shapes-are-static",
            holds=_is_static,
            because="the input is {f.shown_input_shape}; QNN compiles for fixed shapes",
            source=_BOTH,
            fix="write the input's size into the file",
        ),
        Rule(
            name="extent-is-constant",
            holds=_is_constant,
            because="the {f.extent_name} come from {f.source.value}; the output's shape must be known",
            source=_BOTH,
            fix="freeze the scales",
        ),
        Rule(
            name="image-axes-alone",
            holds=lambda f: all(axis >= 2 for axis, *_ in resized(f)),
            because='another axis is resized ("QNN EP: Resize may only change the spatial dimensions.")',
            source=_BOTH,
            fix="put a Transpose before the node and one behind it",
        ),
        Rule(
            name="no-antialias",
            holds=lambda f: not f.antialias,
            because='"QNN EP: Resize doesn\'t support anti-aliasing."',
            source=_BOTH,
            fix="antialias=0 is nearly the same where no axis shrinks; else replace the node",
        ),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: (
                not f.has_coordinates
                or f.coordinate_transformation_mode
                in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
            ),
            because='coordinate_transformation_mode is {f.coordinate_transformation_mode} ("QNN EP: Resize does not '
            'support coordinate_transformation_mode")',
            source=_BOTH,
            fix="write an equal mode, or replace the node",
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
            holds=_shrinking_cubic,
            because="cubic with scales below 1: {f.values}",
            source=_SIMULATOR,
            fix="replace the node",
        ),
        Rule(
            name="length-by-float64",
            holds=lambda f: _sizes_agree(f) or not f.has_coordinates,
            because="the output's length is taken from shape inference, which differs from the kernel's: {f.values}",
            source=_SIMULATOR,
            fix="write sizes instead of scales",
        ),
        Rule(
            name="old-length-by-float64",
            holds=lambda f: _sizes_agree(f) or f.has_coordinates,
            because="the output's length is taken from shape inference, which differs from the kernel's: {f.values}",
            source=_SIMULATOR,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        exclusion_ignored(_SIMULATOR),
        Rule(
            name="resize-10-is-half-pixel",
            holds=samples_alike(_OLD),
            because="linear Resize at opset 10 is computed as half_pixel",
            source=_SIMULATOR,
            fix="raise the model to opset 11 and write asymmetric, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="nearest-mode-ignored",
            holds=samples_alike(_nearest),
            because="nearest with {f.coordinate_transformation_mode} is rounded by the coordinate mode alone; "
            "nearest_mode is {f.nearest_mode}",
            source=_SIMULATOR,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        ratio_instead_of_scales(_SIMULATOR, _BEFORE),
    ),
)
