"""ncnn, converted by pnnx: which Resize becomes F.interpolate, and how Interp samples.

pnnx reads `coordinate_transformation_mode` half_pixel and align_corners, `nearest_mode` floor, and nothing else.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import without_antialias, without_exclusion
from resizefix.targets.foreign.sampling import (
    Sampling,
    by,
    copied,
    copies_alike,
    gives_samples,
    is_resized,
    moved_axes,
    moves_images_alone,
    reads_between,
    samples_alike,
)
from resizefix.targets.shared_rules import S, scales_images_alone, unentered
from resizefix.targets.target import OperatorLimit, Release, Rule, differs, noted, targets_of

_RELEASE = "ncnn and pnnx 20261020"
_PNNX = f"ncnn a4d2ea1, tools/pnnx/src/pass_level2/F_interpolate.cpp; measured on {_RELEASE}"
_WRITER = f"ncnn a4d2ea1, tools/pnnx/src/pass_ncnn/F_interpolate.cpp; measured on {_RELEASE}"
_LAYER = f"ncnn a4d2ea1, src/layer/interp.cpp; measured on {_RELEASE}"


def _resizes(f: SiteFacts) -> bool:
    return bool(moved_axes(f)) or not gives_samples(f)


def _net_has_layers(f: SiteFacts) -> bool:
    # Sizes of an initializer were measured both ways: copied, and as a net without a layer.
    computed = f.by_sizes and f.source in (S.CONSTANT, S.FOLDED, S.SHAPE)
    if not f.is_at_the_edges or (not computed and f.keep_aspect_ratio_policy == "stretch"):
        return True
    return is_resized(f) or not gives_samples(f)


# ---- sampling -------------------------------------------------------------------------------------------------------


def _from_zero(scale: float, size: int, out: int) -> Floats:
    return np.asarray(np.arange(out, dtype=np.float32) * (np.float32(1) / np.float32(scale)), np.float32)


def _nearest(f: SiteFacts, sampling: Sampling) -> Sampling:
    if sampling.mode != "nearest":
        return sampling
    return sampling._replace(positions=_from_zero, rounding=np.trunc)


def _interpolated(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Everything but align_corners is half_pixel, and an axis that keeps its length is copied."""
    if sampling.mode == "nearest":
        return sampling
    if sampling.size == sampling.out:
        return copied(sampling)
    corners = sampling.form[0] is Coordinates.ALIGN_CORNERS
    return sampling if corners else by("half_pixel")(sampling)


_COPIES = copies_alike()
_BODIES = f"measured on {_RELEASE}; some functions are inlined, others crash pnnx"

NCNN = targets_of(
    "ncnn",
    (Release("", _RELEASE),),
    (
        *unentered("pnnx ends with a signal", _BODIES, {"If", "Loop", "Scan"}),
        shared.OPERANDS_COME_FIRST.saying("does not exist in the graph"),
        shared.DOMAIN_IS_EMPTY.saying("unexpected op_type Resize"),
        otherwise.OUTPUT_IS_NOT_EMPTY.saying(
            "out0 was not computed", holds=lambda f: f.rank not in (3, 4) or gives_samples(f)
        ),
        Rule(
            name="nearest-mode",
            holds=lambda f: f.coordinates is None or "nearest_mode" not in f.attributes or f.nearest_mode == "floor",
            because='nearest_mode is {f.nearest_mode}; pnnx converts floor alone, and leaves the others ("layer Resize '
            'not exists or registered")',
            source=_PNNX,
        ),
        shared.MODE_IS_WRITTEN.saying("pnnx asks for").read_in(_PNNX),
        shared.NOT_RESIZE_10.saying("layer Resize not exists or registered").read_in(_PNNX),
        shared.EXTENT_IS_CONSTANT.saying(' ("Unsupported Resize scales and sizes are all empty!")').read_in(_PNNX),
        Rule(
            name="image-axes-alone",
            holds=lambda f: moves_images_alone(f) and scales_images_alone(f),
            because="another axis than height and width is resized",
            source=_PNNX,
            fix=f"{shared.TRANSPOSE}, or replace the node",
        ),
        Rule(
            name="not-two-axes",
            holds=lambda f: f.rank is None or f.rank > 2,
            because="the rank is {f.rank_name}; pnnx converts three axes and more",
            source=_PNNX,
            fix=shared.RESHAPE,
        ),
        differs(
            name="three-or-four-axes",
            holds=lambda f: f.rank in (None, 3, 4) or not _resizes(f),
            because="the rank is {f.rank_name}; ncnn resizes lines and images, and gives back another shape",
            source=_WRITER,
        ),
        Rule(
            name="axes-ignored",
            holds=lambda f: f.axes_in_order,
            because="`axes` is {f.axes}: {f.counted_extent} are no three to five values",
            source=_PNNX,
            fix=shared.EVERY_DIMENSION,
        ),
        shared.NO_CROP.saying("tf_crop_and_resize has a roi, which pnnx does not convert").read_in(_PNNX),
        Rule(
            name="roi-is-empty",
            holds=lambda f: f.roi is not Roi.TENSOR,
            because="it has a roi of numbers, and pnnx converts none, though the mode does not read it",
            source=_PNNX,
            fix="leave the roi out",
        ),
        differs(
            name="fractions-of-integers",
            holds=lambda f: f.elem_type not in shared.INTEGERS or not reads_between(f),
            because="the tensor is {f.type_name}; ncnn computes with floats, and gives fractions where ONNX cuts off",
            fix=shared.CAST,
        ),
        noted(
            name="float-alone",
            holds=lambda f: f.elem_type in (None, TensorProto.FLOAT),
            because="the tensor is {f.type_name}; ncnn takes what it is fed for floats of single precision",
            fix="feed single precision",
        ),
        differs(
            name="line-by-scales",
            holds=lambda f: f.rank != 3 or not f.by_sizes or not _resizes(f),
            because="it has three axes and sizes, and the length stays",
            source=_WRITER,
            fix="write scales instead of sizes",
        ),
        Rule(
            name="net-has-layers",
            holds=_net_has_layers,
            because="it resizes nothing, and the converter leaves a net without a layer",
            fix="leave the node out",
        ),
        otherwise.EMPTIES_SHORT_INPUTS,
        otherwise.OPEN_BATCH_OF_SIZES.saying("another batch comes out").read_in(_PNNX),
        otherwise.POLICY_IGNORED.read_in(_PNNX),
        otherwise.antialias_ignored().read_in(_PNNX),
        otherwise.exclusion_ignored((without_antialias,)).read_in(_PNNX),
        otherwise.coefficient_fixed((without_antialias, without_exclusion)).read_in(_LAYER),
        differs(
            name="cubic-copies-are-sampled",
            holds=lambda f: f.mode != "cubic" or _COPIES(f),
            because="no length changes, and cubic samples by the scales {f.values}; onnxruntime copies",
            source=_LAYER,
            fix="write 1 where a copy is meant",
        ),
        differs(
            name="other-modes-are-half-pixel",
            holds=samples_alike(_interpolated, after=(without_antialias, without_exclusion)),
            because="{f.mode} of {f.op_type} at opset {f.opset} with {f.coordinate_transformation_mode} is computed "
            "as half_pixel",
            source=f"{_PNNX}; {_LAYER}",
        ),
        differs(
            name="nearest-is-asymmetric",
            holds=samples_alike(_nearest),
            because="nearest is computed as asymmetric and floor, whatever the coordinates",
            source=f"{_PNNX}; {_LAYER}",
        ),
        otherwise.factors_are_not_known(without_antialias, without_exclusion, _interpolated, _nearest).read_in(_LAYER),
        noted(
            name="no-batch",
            holds=lambda f: f.input_shape is None or f.input_shape[:1] in ((), (1,), (None,)),
            because="ncnn has no batch, and the input is {f.shown_input_shape}",
            fix="feed one image at a time",
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
    f"measured on {_RELEASE}",
)
