"""onnxruntime's CoreML, NNAPI and QNN providers, not run here: what they leave to the CPU, read in their source.

A node that is refused runs on the CPU all the same, and cuts the graph in two; with `session.disable_cpu_ep_fallback`
the session fails. What QNN's HTP computes was measured on Qualcomm's x86 simulator.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from resizefix.dialects.resized_length import inference_length
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.conditions import S, output_sizes
from resizefix.targets.deviations import BY_LENGTHS, half_up, old_resize, without_exclusion
from resizefix.targets.facts import SiteFacts
from resizefix.targets.sampling import Sampling, by, last_two_axes, resized, samples_alike
from resizefix.targets.target import Release, Rule, differs, targets_of

_COREML = (
    "onnxruntime 38a9413 (of elrid's fork), onnxruntime/core/providers/coreml/builders/impl/resize_op_builder.cc, for "
    "an ML Program; not run here"
)
_NNAPI = "onnxruntime 0bd42bd, core/providers/nnapi/nnapi_builtin/builders/impl/resize_op_builder.cc; not run here"
_NNAPI_LINEAR = ("half_pixel", "align_corners", "asymmetric")
_NNAPI_COORDINATES = {"nearest": ("asymmetric",)}
_INITIALIZERS = frozenset({S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.UNKNOWN})


def _knows_other_lengths(f: SiteFacts) -> bool:
    """Sizes of batch and channels are compared with the input's, where an open one counts for -1."""
    shape, rank = f.input_shape, f.rank or 0
    if not f.by_sizes or not shape:
        return True
    return all(shape[axis] is not None or axis % rank >= rank - 2 for axis in f.listed_axes if -rank <= axis < rank)


def _lists_height_and_width(f: SiteFacts) -> bool:
    if f.axes is None or not f.rank:
        return True
    return tuple(axis % f.rank for axis in f.axes[-2:]) == (f.rank - 2, f.rank - 1)


def _is_divided(f: SiteFacts, *, by_whole: bool) -> bool:
    """Factors, whole ones if `by_whole`, or the inverse of a factor of the length; not one of each."""
    if not f.by_scales or f.values is None:
        return True
    found = [(size, scale) for _, size, _, scale in resized(f)]
    if all(scale >= 1 for _, scale in found):
        return not by_whole or all(float(scale).is_integer() for _, scale in found)
    return all((1 / scale).is_integer() and size % round(1 / scale) == 0 for size, scale in found)


def _coreml_coordinates(f: SiteFacts) -> bool:
    mode = f.coordinate_transformation_mode
    if f.mode == "nearest":
        return mode == "asymmetric"
    if mode == "pytorch_half_pixel":
        sizes = output_sizes(f)
        return sizes is None or all(size != 1 for size in sizes[-2:])
    return mode in ("half_pixel", "align_corners") or (mode == "asymmetric" and f.by_sizes)


# What both leave to the CPU.
_BOTH = (
    Rule(
        name="resize-11",
        holds=lambda f: f.has_coordinates,
        because="{f.op_type} at opset {f.opset}: the provider takes Resize of opset 11 and later",
        fix="raise the model to opset 11",
    ),
    Rule(
        name="not-cubic",
        holds=lambda f: f.mode in ("nearest", "linear"),
        because='mode is {f.mode}; the provider takes nearest and linear ("Resize unsupported input mode")',
    ),
    Rule(
        name="nearest-floor",
        holds=lambda f: f.mode != "nearest" or f.nearest_mode == "floor",
        because="nearest_mode is {f.nearest_mode}; the provider takes floor",
        fix="write asymmetric with floor where that is the same, or replace the node",
    ),
    shared.NO_EXCLUDE_OUTSIDE.saying('exclude_outside is 1 ("Resize does not support exclude_outside")'),
    shared.NO_ANTIALIAS.saying("antialias is 1, which the provider does not take"),
    shared.STRETCH_ALONE.saying("keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}; the provider takes stretch"),
    Rule(
        name="extent-is-initializer",
        holds=lambda f: f.source in _INITIALIZERS,
        because='the {f.extent_name} come from {f.source.value} ("Input scales of Resize must be known")',
        fix="freeze the scales",
    ),
)

COREML = targets_of(
    "coreml",
    (Release("", "CoreML provider of onnxruntime (source, not run here)"),),
    (
        *_BOTH,
        Rule(
            name="three-to-five-axes",
            holds=lambda f: f.rank is None or 3 <= f.rank <= 5,
            because="the rank is {f.rank_name}; the provider takes 3 to 5",
            fix=shared.RESHAPE,
        ),
        Rule(
            name="last-two-axes",
            holds=last_two_axes,
            because="another axis than the last two is resized",
            fix=shared.TRANSPOSE,
        ),
        Rule(
            name="other-lengths-are-known",
            holds=_knows_other_lengths,
            because="it has sizes, and a length before the last two is open: {f.shown_input_shape} "
            '("Resize only supports resizing the last two axes")',
            fix="write the input's size into the file, or write scales",
        ),
        differs(
            name="axes-in-order",
            holds=_lists_height_and_width,
            because="`axes` is {f.axes}; the last two values are taken for height and width in this order",
            fix="list the axes of height and width last, in this order",
        ),
        Rule(
            name="image-lengths-are-known",
            holds=lambda f: not f.by_scales or None not in (f.input_shape or ())[-2:],
            because="\"Resize with 'scales' requires the H and W dimensions to have fixed values\"; the input is "
            "{f.shown_input_shape}",
            fix="write the input's size into the file",
        ),
        Rule(
            name="whole-factors",
            holds=lambda f: _is_divided(f, by_whole=True),
            because="the scales are {f.values}: all whole, or all the inverse of a factor of the length",
            fix="write sizes instead of scales",
        ),
        Rule(
            name="coordinate-transformation-mode",
            holds=_coreml_coordinates,
            because="coordinate_transformation_mode is {f.coordinate_transformation_mode} with mode {f.mode}: nearest "
            "takes asymmetric; linear half_pixel, align_corners, and asymmetric with sizes",
            fix="write an equal mode, or replace the node",
        ),
    ),
    source=_COREML,
)

NNAPI = targets_of(
    "nnapi",
    (Release("", "NNAPI provider of onnxruntime (source, not run here)"),),
    (
        *_BOTH,
        Rule(
            name="four-axes",
            holds=lambda f: f.rank in (None, 4) and f.axes is None,
            because="rank {f.rank_name}, axes {f.axes}: the provider takes four axes, all of them "
            '("Resize only support 4d shape")',
            fix="write one value for each of four axes",
        ),
        Rule(
            name="image-axes-alone",
            # Behind the channels or before them.
            holds=lambda f: any(image.issuperset(axis for axis, *_ in resized(f)) for image in ({2, 3}, {1, 2})),
            because="another axis than height and width is resized",
            fix=shared.TRANSPOSE,
        ),
        Rule(
            name="whole-parts",
            holds=lambda f: f.rank is None or _is_divided(f, by_whole=False),
            because='the scales are {f.values} ("Input size must be evenly divisible by output size")',
            fix="write sizes instead of scales",
        ),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: f.coordinate_transformation_mode in _NNAPI_COORDINATES.get(f.mode, _NNAPI_LINEAR),
            because="coordinate_transformation_mode is {f.coordinate_transformation_mode} with mode {f.mode}: nearest "
            "takes asymmetric; linear half_pixel, align_corners, asymmetric",
            fix="write an equal mode, or replace the node",
        ),
        Rule(
            name="input-type",
            holds=lambda f: f.elem_type in (None, TensorProto.FLOAT, TensorProto.UINT8),
            because="the tensor is {f.type_name}; the provider takes float and uint8",
            fix=shared.CAST,
        ),
    ),
    source=_NNAPI,
)


# ---- QNN on the HTP --------------------------------------------------------------------------------------------------

_QNN_PROVIDER = "onnxruntime, core/providers/qnn/builder/opbuilder/resize_op_builder.cc"
_QNN_SIMULATOR = "measured on the HTP simulator of onnxruntime-qnn (x86-64); not run here"
_QNN_BOTH = f"{_QNN_PROVIDER}; {_QNN_SIMULATOR}"
_OTHER_LENGTH = "the output's length is taken from shape inference, which differs from the kernel's: {f.values}"
_QNN_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
_QNN_CONSTANTS = frozenset({S.ATTRIBUTE, S.INITIALIZER, S.CONSTANT, S.CONSTANT_LIST, S.FOLDED, S.UNKNOWN})


def _sizes_agree(f: SiteFacts) -> bool:
    return not f.by_scales or all(inference_length(scale, size) == out for _, size, out, scale in resized(f))


def _nearest_rank(f: SiteFacts) -> bool:
    if f.mode != "nearest" or f.rank in (None, 4):
        return True
    return f.rank == 3 and f.coordinate_transformation_mode == "asymmetric" and f.nearest_mode == "floor"


_FROM_ZERO, _HALF = BY_LENGTHS[Coordinates.ASYMMETRIC], BY_LENGTHS[Coordinates.TF_HALF_PIXEL_FOR_NN]


def _qnn_nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
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


_QNN_OLD = old_resize("half_pixel", "round_prefer_floor", ("linear",))
_QNN_BEFORE = (without_exclusion, _QNN_OLD, _qnn_nearest)

QNN = targets_of(
    "qnn",
    (Release("", "QNN provider of onnxruntime, HTP (simulator, not run here)"),),
    (
        Rule(
            name="shapes-are-static",
            holds=lambda f: not f.is_open,
            because="the input is {f.shown_input_shape}; QNN compiles for fixed shapes",
            source=_QNN_BOTH,
            fix="write the input's size into the file",
        ),
        shared.EXTENT_IS_CONSTANT.saying(
            "; the output's shape must be known",
            lambda f: f.source in _QNN_CONSTANTS or (f.source is S.SHAPE and not f.is_open),
        ).read_in(_QNN_BOTH),
        Rule(
            name="image-axes-alone",
            holds=lambda f: all(axis >= 2 for axis, *_ in resized(f)),
            because='another axis is resized ("QNN EP: Resize may only change the spatial dimensions.")',
            source=_QNN_BOTH,
            fix=shared.TRANSPOSE,
        ),
        shared.NO_ANTIALIAS.saying('"QNN EP: Resize doesn\'t support anti-aliasing."').read_in(_QNN_BOTH),
        shared.coordinate_modes(
            _QNN_MODES, ' ("QNN EP: Resize does not support coordinate_transformation_mode")'
        ).read_in(_QNN_BOTH),
        Rule(
            name="nearest-combination",
            holds=lambda f: (
                (f.mode, f.coordinates) != ("nearest", "asymmetric") or f.nearest_mode in ("floor", "round_prefer_ceil")
            ),
            because="nearest_mode {f.nearest_mode} with asymmetric is a combination that the NPU does not take",
            source=_QNN_BOTH,
            fix="write asymmetric with floor where that is the same, or replace the node",
        ),
        Rule(
            name="nearest-of-four-axes",
            holds=_nearest_rank,
            because="nearest of rank {f.rank_name}; the NPU takes four axes",
            source=_QNN_BOTH,
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
            holds=samples_alike(_QNN_OLD),
            because="linear Resize at opset 10 is computed as half_pixel",
            fix="raise the model to opset 11 and write asymmetric, or replace the node",
        ),
        differs(
            name="nearest-mode-ignored",
            holds=samples_alike(_qnn_nearest),
            because="nearest with {f.coordinate_transformation_mode} is rounded by the coordinate mode alone; "
            "nearest_mode is {f.nearest_mode}",
        ),
        shared.ratio_instead_of_scales(_QNN_BEFORE),
    ),
    source=_QNN_SIMULATOR,
)
