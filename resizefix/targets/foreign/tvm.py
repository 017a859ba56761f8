"""TVM's relax frontend: scales become sizes at import, which its resize operators sample by."""

from __future__ import annotations

import numpy as np

from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import BY_LENGTHS, EXACT_ROUNDINGS, by_ratio, without_antialias
from resizefix.targets.foreign.sampling import Sampling, image_gives_samples, images_only, resized, samples_alike
from resizefix.targets.shared_rules import STORED, S, lists_all_in_order, scales_images_alone, unentered
from resizefix.targets.target import Release, Rule, differs, noted, targets_of

_RELEASE = "TVM 0.27.0"
_FRONTEND = f"tvm 5d4dc87, python/tvm/relax/frontend/onnx/onnx_frontend.py, Resize; measured on {_RELEASE}"
_UPSAMPLE = f"tvm 5d4dc87, python/tvm/relax/frontend/onnx/onnx_frontend.py, Upsample; measured on {_RELEASE}"
_KERNEL = f"tvm 5d4dc87, python/tvm/topi/image/resize.py; measured on {_RELEASE}"
_DIVIDED = ("asymmetric", "floor")
_FOLDS = frozenset({"Add", "Cast", "Concat", "Constant", "Div", "Identity", "Mul", "Sub", "Unsqueeze"})
_FOLDS_OF_SHAPES = frozenset({*_FOLDS, "Gather", "Shape", "Slice"}) - {"Identity"}


def _is_constant(f: SiteFacts) -> bool:
    folded = f.source is S.FOLDED and f.computed_by <= _FOLDS
    of_shapes = f.source is S.SHAPE and f.static_values is not None and f.computed_by <= _FOLDS_OF_SHAPES
    return f.source in STORED or folded or (of_shapes and _is_taken_apart(f))


def _is_taken_apart(f: SiteFacts) -> bool:
    """Numbers are multiplied after a shape was sliced; the shape itself is none."""
    arithmetic = f.computed_by & {"Add", "Div", "Mul", "Sub"}
    return not arithmetic or bool(f.computed_by & {"Cast", "Gather", "Slice"})


def _divides(f: SiteFacts) -> bool:
    if f.is_upsample:
        return not f.is_open
    if f.mode != "nearest" or (f.coordinate_transformation_mode, f.nearest_mode) != _DIVIDED:
        return True
    return not f.by_sizes or f.rank == 5 or not f.has_open_image


def _has_corners(f: SiteFacts) -> bool:
    """No axis of the image is known to get the length 1."""
    corners = f.coordinates in ("align_corners", "tf_crop_and_resize")
    if not corners or f.rank is None or f.input_shape is None:
        return True
    shape = f.input_shape
    outs: dict[int, float] = {axis: out for axis, size, out, _ in resized(f) if size == shape[axis]}
    if f.by_sizes and f.axes is None:
        outs |= {axis: size for axis, (size, old) in enumerate(zip(f.values or (), shape, strict=False)) if old is None}
    return all(outs.get(axis, shape[axis]) != 1 for axis in range(2, f.rank))


def _open_values(f: SiteFacts) -> tuple[float, ...]:
    """The scales or sizes of the image's open lengths, where linear or cubic divides by an output's length."""
    divides = f.coordinates in ("align_corners", "asymmetric")
    values = f.full_scales if f.by_scales else f.values if f.axes is None else None
    if not divides or f.mode == "nearest" or f.input_shape is None or values is None:
        return ()
    return tuple(value for value, size in zip(values[2:], f.input_shape[2:], strict=False) if size is None)


def _divides_by_one(f: SiteFacts) -> bool:
    """An open length, or with align_corners the length less 1, is divided by itself or by 1."""
    if f.by_scales:
        return 1 in _open_values(f)
    return f.coordinate_transformation_mode == "align_corners" and 2 in _open_values(f)


# ---- sampling -------------------------------------------------------------------------------------------------------


_ROUNDINGS = {
    **EXACT_ROUNDINGS,
    "floor": lambda x: np.asarray(np.floor(x + np.float32(1e-5)), np.float32),
    "ceil": lambda x: np.asarray(np.ceil(x - np.float32(1e-5)), np.float32),
}
_NOT_REPLACED = (Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.TF_CROP_AND_RESIZE)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    """By the two lengths, with a hundred-thousandth added before rounding down, and taken off before rounding up."""
    replaced = f.has_coordinates and sampling.form[0] not in _NOT_REPLACED
    if sampling.mode != "nearest" or f.is_upsample or not replaced:
        return sampling
    return sampling._replace(positions=BY_LENGTHS[sampling.form[0]], rounding=_ROUNDINGS[f.nearest_mode])


def _upsampled(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.mode != "nearest" or not f.is_upsample:
        return sampling
    return sampling._replace(positions=BY_LENGTHS[Coordinates.ASYMMETRIC], rounding=np.round)


TVM = targets_of(
    "tvm",
    (Release("", _RELEASE),),
    (
        *unentered("not supported for frontend ONNX", f"measured on {_RELEASE}", {"Loop", "Scan"}),
        shared.EXTENT_IS_CONSTANT.saying(' ("for scale is currently unsupported.")', _is_constant).read_in(_FRONTEND),
        shared.OPERANDS_COME_FIRST.saying("is not output of any previous nodes"),
        shared.CONSTANT_IS_A_TENSOR.saying("no value in Constant"),
        shared.NOT_RESIZE_10.saying("for size is currently unsupported.").read_in(_FRONTEND),
        Rule(
            name="upsample-has-an-attribute",
            holds=lambda f: not f.is_upsample or "scales" in f.attributes,
            because="Upsample has its scales as an input; the attribute is read (\"object of type 'NoneType' has no "
            'len()")',
            source=_UPSAMPLE,
            fix="write Resize, or replace the node",
        ),
        Rule(
            name="three-to-five-axes",
            holds=lambda f: (
                f.rank is None or (f.rank == 4 and scales_images_alone(f) if f.is_upsample else 3 <= f.rank <= 5)
            ),
            because='the rank is {f.rank_name} ("Only resize1d/resize2d/resize3d are supported.")',
            source=_FRONTEND,
            fix="reshape around the node, or replace it",
        ),
        Rule(
            name="one-extent",
            holds=lambda f: not f.by_sizes or not f.has_coordinates or f.unnamed_scales,
            because='a tensor, though empty, stands in the place of scales next to its sizes ("Only one of scales and '
            'sizes can be provided in Resize.")',
            source=_FRONTEND,
            fix="write scales, or name no tensor there (from opset 13 on)",
        ),
        Rule(
            name="lengths-are-known",
            holds=_divides,
            because="the input is {f.shown_input_shape}, and its lengths are needed at import: for Upsample, and for "
            "asymmetric with floor to given sizes (\"'Div' object has no attribute 'value'\")",
            source=f"{_UPSAMPLE}; {_KERNEL}",
            fix="give the shape (shape_dict), or write it into the file",
        ),
        Rule(
            name="corners-of-one-pixel",
            holds=_has_corners,
            because="{f.coordinate_transformation_mode} divides by an output's length less 1, which is 0 here "
            '("Divide by zero")',
            source=_KERNEL,
            fix="write asymmetric, which reads the same pixel there",
        ),
        Rule(
            name="open-lengths-are-divided",
            holds=lambda f: not _divides_by_one(f),
            because="the input is {f.shown_input_shape}: {f.mode} with {f.coordinate_transformation_mode} divides an "
            'open length by itself or by 1 ("IntImm supports only int")',
            fix="give the shape (shape_dict), or write it into the file",
        ),
        noted(
            name="corners-may-be-one-pixel",
            holds=lambda f: (
                not f.by_scales
                or f.coordinate_transformation_mode != "align_corners"
                or not any(scale < 1 for scale in _open_values(f))
            ),
            because="an open length shrinks with align_corners: where the output gets the length 1, {f.mode} divides "
            "by 0, and gives no numbers",
            fix="feed larger inputs",
        ),
        Rule(
            name="axes-ignored",
            holds=lambda f: f.axes_in_order or len(f.axes or ()) == f.rank,
            because="`axes` is not read; it is {f.axes}",
            source=_FRONTEND,
            fix=shared.EVERY_DIMENSION,
        ),
        differs(
            name="axes-out-of-order",
            holds=lists_all_in_order,
            because="`axes` is not read: {f.axes} are taken for all axes in order",
            source=_FRONTEND,
            fix="list the axes in order",
        ),
        Rule(
            name="crops-of-known-lengths",
            holds=lambda f: not f.crops or not f.has_open_image,
            because='tf_crop_and_resize multiplies by lengths that are open ("IntImm supports only int")',
            fix=shared.FIRST_CROP,
        ),
        otherwise.OUTPUT_IS_NOT_EMPTY.saying("Divide by zero", holds=image_gives_samples),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: f.coordinates != "half_pixel_symmetric",
            because='coordinate_transformation_mode is {f.coordinate_transformation_mode} ("Unsupported '
            'coordinate_transformation_mode")',
            source=_KERNEL,
            fix=shared.WHERE_WHOLE,
        ),
        otherwise.crop_is_not_computed(),
        otherwise.kept_axes_are_sampled(otherwise.reads_on, copies=False).read_in(_KERNEL),
        otherwise.kept_axes_may_be_sampled(otherwise.reads_on).read_in(_KERNEL),
        otherwise.POLICY_IGNORED.read_in(_FRONTEND),
        differs(
            name="image-axes-alone",
            holds=images_only,
            because="batch and channels are not resized, whatever the {f.extent_name} of {f.values} say",
            source=_FRONTEND,
            fix=f"{shared.TRANSPOSE}, or replace the node",
        ),
        otherwise.OPEN_BATCH_OF_SIZES.saying("it stays as it is").read_in(_FRONTEND),
        otherwise.antialias_ignored().read_in(_FRONTEND),
        differs(
            name="upsample-rounds-to-even",
            holds=samples_alike(_upsampled),
            because="nearest Upsample rounds to the nearest, ties to even; ONNX says floor",
            source=_UPSAMPLE,
            fix="write Resize with asymmetric and floor, or replace the node",
        ),
        differs(
            name="nearest-by-ratio",
            holds=samples_alike(_nearest),
            because="nearest positions follow the two lengths instead of the {f.extent_name} {f.values}, and other "
            "samples are read",
            source=_KERNEL,
        ),
        otherwise.integers_are_summed_otherwise(),
        otherwise.ratio_instead_of_scales((without_antialias, _upsampled, _nearest)).read_in(_KERNEL),
        otherwise.factors_are_not_known(without_antialias, _upsampled, _nearest, by_ratio).read_in(_KERNEL),
    ),
    source=f"measured on {_RELEASE}",
)
