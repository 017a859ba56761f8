"""ncnn, converted by pnnx: which Resize becomes F.interpolate, and how Interp samples.

pnnx reads `coordinate_transformation_mode` half_pixel and align_corners, `nearest_mode` floor, and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.index_map import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.conditions import FED, S
from resizefix.targets.deviations import without_antialias, without_exclusion
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.operators import OperatorLimit
from resizefix.targets.sampling import (
    Sampling,
    by,
    copied,
    copies_alike,
    gives_samples,
    moved_axes,
    reads_between,
    resized,
    samples_alike,
)
from resizefix.targets.shared_deviations import (
    INTEGERS,
    antialias_ignored,
    coefficient_fixed,
    empties_short_inputs,
    exclusion_ignored,
    factors_are_not_known,
    open_batch_of_sizes,
    policy_ignored,
)
from resizefix.targets.shared_rules import domain_is_empty, operands_come_first, output_is_not_empty
from resizefix.targets.target import Effect, Release, Rule, targets_of

_RELEASE = "ncnn and pnnx 20261020"
_PNNX = f"ncnn a4d2ea1, tools/pnnx/src/pass_level2/F_interpolate.cpp; measured on {_RELEASE}"
_WRITER = f"ncnn a4d2ea1, tools/pnnx/src/pass_ncnn/F_interpolate.cpp; measured on {_RELEASE}"
_LAYER = f"ncnn a4d2ea1, src/layer/interp.cpp; measured on {_RELEASE}"


def _images_only(f: SiteFacts) -> bool:
    scales = f.full_scales
    return all(axis >= 2 for axis in moved_axes(f)) and all(scale == 1 for scale in (scales or ())[:2])


def _resizes(f: SiteFacts) -> bool:
    return bool(moved_axes(f)) or not gives_samples(f)


def _line_by_scales(f: SiteFacts) -> bool:
    return f.rank != 3 or not f.by_sizes or not _resizes(f)


def _net_has_layers(f: SiteFacts) -> bool:
    # Sizes of an initializer were measured both ways: copied, and as a net without a layer.
    computed = f.by_sizes and f.source in (S.CONSTANT, S.FOLDED, S.SHAPE)
    if not f.is_at_the_edges or (not computed and f.keep_aspect_ratio_policy == "stretch"):
        return True
    return any(True for _ in resized(f)) or not gives_samples(f)


# ---- sampling -------------------------------------------------------------------------------------------------------


def _from_zero(scale: float, size: int, out: int) -> Floats:
    return np.asarray(np.arange(out, dtype=np.float32) * (np.float32(1) / np.float32(scale)), np.float32)


def _truncated(x: Floats) -> Floats:
    return np.asarray(np.trunc(x), np.float32)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.mode != "nearest":
        return sampling
    return replace(sampling, positions=_from_zero, rounding=_truncated)


def _interpolated(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Everything but align_corners is half_pixel, and an axis that keeps its length is copied."""
    if sampling.mode == "nearest":
        return sampling
    if sampling.size == sampling.out:
        return copied(sampling)
    corners = sampling.form[0] is Coordinates.ALIGN_CORNERS
    return sampling if corners else by("half_pixel")(sampling)


_COPIES = copies_alike()

NCNN = targets_of(
    "ncnn",
    (Release("", _RELEASE),),
    (
        operands_come_first("does not exist in the graph", f"measured on {_RELEASE}"),
        domain_is_empty("unexpected op_type Resize", f"measured on {_RELEASE}"),
        replace(
            output_is_not_empty("out0 was not computed", f"measured on {_RELEASE}"),
            holds=lambda f: f.rank not in (3, 4) or gives_samples(f),
        ),
        Rule(
            name="nearest-mode",
            holds=lambda f: not f.has_coordinates or "nearest_mode" not in f.attributes or f.nearest_mode == "floor",
            because='nearest_mode is {f.nearest_mode}; pnnx converts floor alone, and leaves the others ("layer Resize '
            'not exists or registered")',
            source=_PNNX,
            fix="replace the node",
        ),
        Rule(
            name="mode-is-written",
            holds=lambda f: "mode" in f.attributes,
            because="the attribute `mode` is not written, which pnnx asks for",
            source=_PNNX,
            fix="write mode=nearest",
        ),
        Rule(
            name="not-resize-10",
            holds=lambda f: f.is_upsample or f.opset >= 11,
            because='Resize of opset 10 is read as a later one, whose second input is the roi ("layer Resize not '
            'exists or registered")',
            source=_PNNX,
            fix="raise the model to opset 11, or replace the node",
        ),
        Rule(
            name="extent-is-constant",
            holds=lambda f: f.source not in FED or f.values is not None,
            because='the {f.extent_name} come from {f.source.value} ("Unsupported Resize scales and sizes are all '
            'empty!")',
            source=_PNNX,
            fix="freeze the scales",
        ),
        Rule(
            name="image-axes-alone",
            holds=_images_only,
            because="another axis than height and width is resized",
            source=_PNNX,
            fix="put a Transpose before the node and one behind it, or replace the node",
        ),
        Rule(
            name="not-two-axes",
            holds=lambda f: f.rank is None or f.rank > 2,
            because="the rank is {f.rank_name}; pnnx converts three axes and more",
            source=_PNNX,
            fix="reshape around the node",
        ),
        Rule(
            name="three-or-four-axes",
            holds=lambda f: f.rank in (None, 3, 4) or not _resizes(f),
            because="the rank is {f.rank_name}; ncnn resizes lines and images, and gives back another shape",
            source=_WRITER,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="axes-ignored",
            holds=lambda f: f.axes_in_order,
            because="`axes` is {f.axes}: {f.counted_extent} are no three to five values",
            source=_PNNX,
            fix="write one value per dimension instead",
        ),
        Rule(
            name="no-crop",
            holds=lambda f: not f.crops,
            because="tf_crop_and_resize has a roi, which pnnx does not convert",
            source=_PNNX,
            fix="crop with Slice, then resize",
        ),
        Rule(
            name="roi-is-empty",
            holds=lambda f: f.roi is not Roi.TENSOR,
            because="it has a roi of numbers, and pnnx converts none, though the mode does not read it",
            source=_PNNX,
            fix="leave the roi out",
        ),
        Rule(
            name="fractions-of-integers",
            holds=lambda f: f.elem_type not in INTEGERS or not reads_between(f),
            because="the tensor is {f.type_name}; ncnn computes with floats, and gives fractions where ONNX cuts off",
            source=f"measured on {_RELEASE}",
            fix="put a Cast to float before the node and one back after it",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="float-alone",
            holds=lambda f: f.elem_type in (None, TensorProto.FLOAT),
            because="the tensor is {f.type_name}; ncnn takes what it is fed for floats of single precision",
            source=f"measured on {_RELEASE}",
            fix="feed single precision",
            effect=Effect.NOTED,
        ),
        Rule(
            name="line-by-scales",
            holds=_line_by_scales,
            because="it has three axes and sizes, and the length stays",
            source=_WRITER,
            fix="write scales instead of sizes",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="net-has-layers",
            holds=_net_has_layers,
            because="it resizes nothing, and the converter leaves a net without a layer",
            source=f"measured on {_RELEASE}",
            fix="leave the node out",
        ),
        empties_short_inputs(f"measured on {_RELEASE}"),
        open_batch_of_sizes(_PNNX, "another batch comes out"),
        policy_ignored(_PNNX),
        antialias_ignored(_PNNX),
        exclusion_ignored(_PNNX, (without_antialias,)),
        coefficient_fixed(_LAYER, (without_antialias, without_exclusion)),
        Rule(
            name="cubic-copies-are-sampled",
            holds=lambda f: f.mode != "cubic" or _COPIES(f),
            because="no length changes, and cubic samples by the scales {f.values}; onnxruntime copies",
            source=_LAYER,
            fix="write 1 where a copy is meant",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="other-modes-are-half-pixel",
            holds=samples_alike(_interpolated, after=(without_antialias, without_exclusion)),
            because="{f.mode} of {f.op_type} at opset {f.opset} with {f.coordinate_transformation_mode} is computed "
            "as half_pixel",
            source=f"{_PNNX}; {_LAYER}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="nearest-is-asymmetric",
            holds=samples_alike(_nearest),
            because="nearest is computed as asymmetric and floor, whatever the coordinates",
            source=f"{_PNNX}; {_LAYER}",
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
        factors_are_not_known(_LAYER, without_antialias, without_exclusion, _interpolated, _nearest),
        Rule(
            name="no-batch",
            holds=lambda f: f.input_shape is None or f.input_shape[:1] in ((), (1,), (None,)),
            because="ncnn has no batch, and the input is {f.shown_input_shape}",
            source=f"measured on {_RELEASE}",
            fix="feed one image at a time",
            effect=Effect.NOTED,
        ),
    ),
    (
        OperatorLimit(frozenset({"Split"}), f"measured on {_RELEASE}, not loaded", ranks=frozenset({5})),
        OperatorLimit(frozenset({"Reshape"}), f"measured on {_RELEASE}, not registered", ranks=frozenset({5})),
        OperatorLimit(
            frozenset({"Cast"}),
            f"measured on {_RELEASE}, Tensor.to is not registered",
            types=frozenset({TensorProto.FLOAT16}),
        ),
    ),
)
