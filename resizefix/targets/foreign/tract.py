"""tract: extents are constants once the input's shape is known; align_corners and Resize-10 are computed otherwise."""

from __future__ import annotations

import numpy as np

from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import EXACT_ROUNDINGS, kept_is_sampled, old_resize, symmetric_ties
from resizefix.targets.foreign.sampling import Sampling, resized, samples_alike
from resizefix.targets.shared_rules import S, counts_from_the_front, lists_all_in_order, unentered
from resizefix.targets.target import Release, Rule, differs, targets_of

_RELEASE = "tract 0.23.9"
_OPERATOR = f"tract 38b383f, onnx-opl/src/resize.rs and core/src/ops/nn/resize.rs; measured on {_RELEASE}"


def _is_dynamic(f: SiteFacts) -> bool:
    """A length of an axis that the extent resizes is open."""
    shape = f.input_shape or ()
    return any(shape[axis] is None for axis in f.listed_axes if -len(shape) <= axis < len(shape))


def _needs_lengths(f: SiteFacts) -> bool:
    if f.source is S.SHAPE and f.known_values is None:
        return True
    if f.by_sizes:
        return f.keep_aspect_ratio_policy != "stretch"
    return any(size is None and not float(scale).is_integer() for scale, size in f.scaled_sizes)


def _unrounded_corners(scale: float, size: int, out: int) -> Floats:
    width = np.float32(scale) * np.float32(size)
    x = np.arange(out, dtype=np.float32)
    if width == 1:
        return np.zeros_like(x)
    with np.errstate(divide="ignore"):
        return np.asarray(x * np.float32(size - 1) / (width - np.float32(1)), np.float32)


def _corners(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.form[0] is not Coordinates.ALIGN_CORNERS:
        return sampling
    changed = sampling._replace(positions=_unrounded_corners)
    return changed if sampling.mode != "nearest" else changed._replace(rounding=EXACT_ROUNDINGS[f.nearest_mode])


def _half_before(scale: float, size: int, out: int) -> Floats:
    return np.full(out, -0.5, np.float32)


def _one_pixel(f: SiteFacts, sampling: Sampling) -> Sampling:
    pytorch = sampling.form[0] is Coordinates.PYTORCH_HALF_PIXEL
    return sampling._replace(positions=_half_before) if pytorch and sampling.out == 1 else sampling


def _is_whole(f: SiteFacts) -> bool:
    """No in·scale has a fraction."""
    axes = list(resized(f))
    by_lengths = f.by_sizes and f.keep_aspect_ratio_policy == "stretch"
    return by_lengths or all(float(np.float32(scale) * np.float32(size)).is_integer() for _, size, _, scale in axes)


def _declutters(f: SiteFacts) -> bool:
    """Sizes of listed axes are filled up with the input's lengths, which most kernels then need as numbers."""
    filled = f.by_sizes and f.rank is not None and len(f.listed_axes) < f.rank
    taken = f.mode == "nearest" and f.nearest_mode in ("ceil", "round_prefer_floor")
    return taken or not filled or not f.is_open


def _lists_in_order(f: SiteFacts) -> bool:
    """Antialias is computed as it is written, and is not simplified."""
    return f.antialias or lists_all_in_order(f)


def _is_open(f: SiteFacts) -> bool:
    """No length is known, which a simplified node could contradict."""
    return f.input_shape is not None and set(f.input_shape) == {None}


_OLD = old_resize("asymmetric", "round_prefer_floor", ("nearest",))

TRACT = targets_of(
    "tract",
    (Release("", _RELEASE),),
    (
        *unentered("Operator can not be made a TypedOp", f"measured on {_RELEASE}", {"Loop"}),
        Rule(
            name="not-upsample",
            holds=lambda f: not f.is_upsample,
            because='it is Upsample, which tract reads and cannot run ("Unimplemented(Upsample) ToTypedTranslator")',
            fix="write Resize at opset 10 or later, or replace the node",
        ),
        shared.EXTENT_IS_CONSTANT.saying(
            '; tract makes the plan at load ("Neither sizes nor scales makes sense")'
        ).read_in(_OPERATOR),
        Rule(
            name="lengths-are-known",
            holds=lambda f: not (_is_dynamic(f) and _needs_lengths(f)),
            because="the input is {f.shown_input_shape}, and its lengths are needed at load: the {f.extent_name} are "
            'no whole factors ("Can not compute output shape. inputs are")',
            source=_OPERATOR,
            fix="give tract the shape of the input (set_input_fact), or write it into the file",
        ),
        Rule(
            name="listed-sizes-of-known-lengths",
            holds=_declutters,
            because="the sizes are those of the axes {f.axes} alone, and the input is {f.shown_input_shape} "
            '("Undetermined symbol in expression")',
            source=f"measured on {_RELEASE}; nearest with ceil or round_prefer_floor is taken",
            fix="give tract the shape of the input (set_input_fact), or write one size for every axis",
        ),
        Rule(
            name="all-axes-in-order",
            holds=lambda f: _lists_in_order(f) or _is_open(f),
            because="`axes` lists every axis in another order, {f.axes}, and the values are taken in order "
            '("Trying to substitute")',
            fix="list the axes in order, or leave them out",
        ),
        differs(
            name="all-open-axes-in-order",
            holds=lambda f: _lists_in_order(f) or not _is_open(f),
            because="`axes` lists every axis in another order, {f.axes}, and the values are taken in order",
            fix="list the axes in order, or leave them out",
        ),
        Rule(
            name="roi-of-listed-axes",
            holds=lambda f: (
                not f.crops or f.axes is None or f.roi_values is None or len(f.roi_values) == 2 * len(f.axes)
            ),
            because="`axes` lists {f.axes}, and the roi has {f.roi_values}: tract takes two numbers of each listed "
            'axis ("needs a roi of")',
            fix="write the roi of the listed axes alone",
        ),
        differs(
            name="policy-of-negative-axes",
            holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or counts_from_the_front(f),
            because="with keep_aspect_ratio_policy and the negative axes {f.axes} onnxruntime returns the input's "
            "size, and tract what the policy says",
            source=f"measured on {_RELEASE} and onnxruntime 1.32.0",
            fix="count the axes from the front",
        ),
        differs(
            name="kept-axes-are-filtered",
            holds=samples_alike(kept_is_sampled),
            because="with antialias, an axis that keeps its length is sampled by its scale {f.values}; onnxruntime "
            "copies it",
            fix="write 1 for that axis",
        ),
        differs(
            name="align-corners-unrounded",
            holds=samples_alike(_corners),
            because="align_corners divides by in·scale-1 where ONNX divides by the output's length less 1, and "
            "in·scale is not whole: scales {f.values}",
            source=_OPERATOR,
            fix="write sizes instead of scales",
        ),
        differs(
            name="resize-10-rounds-to-nearest",
            holds=samples_alike(_OLD),
            because="nearest Resize of opset 10 rounds with round_prefer_floor; ONNX says floor, and ceil where an "
            "axis shrinks",
            source="tract 38b383f, onnx/src/ops/resize.rs, resize_10; measured on " + _RELEASE,
            fix="raise the model to opset 11 and write nearest_mode, or replace the node",
        ),
        differs(
            name="one-pixel-output",
            holds=samples_alike(_one_pixel),
            because="pytorch_half_pixel reads at -½ instead of 0 where an output has length 1, and mode {f.mode} "
            "reads beyond the axis",
            source=_OPERATOR,
        ),
        otherwise.whole_copies_are_sampled(kept_is_sampled, _corners, _one_pixel, _OLD).read_in(_OPERATOR),
        otherwise.crop_is_not_computed(_is_whole),
        otherwise.SYMMETRIC_TIES_DIFFER.read_in(_OPERATOR),
        otherwise.ties_are_exact((_corners, _OLD, symmetric_ties)),
        otherwise.integers_are_summed_otherwise(samples_copies=True),
    ),
    source=f"measured on {_RELEASE}",
)
