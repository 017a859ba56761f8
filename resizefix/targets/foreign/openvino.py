"""OpenVINO: what its ONNX frontend refuses, and how the CPU plugin's Interpolate samples."""

from __future__ import annotations

import numpy as np

from resizefix.shapes.output_size import kernel_length
from resizefix.targets import shared_rules as shared
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign import sampled_otherwise as otherwise
from resizefix.targets.foreign.deviations import old_upsample, without_antialias, without_exclusion
from resizefix.targets.foreign.sampling import Sampling, copied, moved_axes, resized, samples_alike
from resizefix.targets.shared_rules import unentered
from resizefix.targets.target import Release, Rule, differs, noted, targets_of

_RELEASE = "OpenVINO 2026.4.1, CPU"
_FRONTEND = f"openvino 019873b, src/frontends/onnx/frontend/src/op/resize.cpp; measured on {_RELEASE}"
_UPSAMPLE = f"openvino 12f3a53, src/frontends/onnx/frontend/src/op/upsample.cpp; measured on {_RELEASE}"
_PLUGIN = f"openvino, src/plugins/intel_cpu/src/nodes/interpolate.cpp; measured on {_RELEASE}"
_COORDINATES = frozenset({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"})
_MOST = 1 << 17
_PROBED = 33  # lengths below are looked at where an axis is open


def _copied(f: SiteFacts, sampling: Sampling) -> Sampling:
    """An axis whose length stays is copied, whatever its scale."""
    return copied(sampling) if sampling.size == sampling.out and not sampling.antialias else sampling


def _cubic_axes(f: SiteFacts) -> bool:
    rank = f.rank
    if f.mode != "cubic" or rank is None:
        return True
    scaled = {axis for axis, scale in enumerate(f.full_scales or ()) if scale != 1}  # though the length stays
    return all(axis >= rank - 2 for axis in scaled | {axis for axis, *_ in resized(f)})


def _resizes_batch(f: SiteFacts) -> bool:
    if f.rank is None or f.rank <= 3:
        return False
    scales, first = f.full_scales, {0} if f.rank == 4 else {0, 1}
    written = scales is not None and len(scales) == f.rank and any(scales[axis] != 1 for axis in first)
    return written or bool(first & moved_axes(f))


def _has_the_length(f: SiteFacts) -> bool:
    """Lengths are in·scale, with a little added before they are rounded down."""
    return all(
        int(np.float32(scale) * np.float32(length) + np.float32(1e-5)) == kernel_length(scale, length)
        for scale, size in f.scaled_sizes
        if 0 < scale <= _MOST
        for length in ((size,) if size is not None else range(1, _PROBED))
        if length <= _MOST
    )


_UPSAMPLED = old_upsample("half_pixel", "round_prefer_floor", ("nearest",))
_BEFORE = (without_exclusion, without_antialias)

OPENVINO = targets_of(
    "openvino",
    (Release("", _RELEASE),),
    (
        shared.DOMAIN_IS_EMPTY.saying("Model wasn't fully converted"),
        *unentered("OpConversionFailure: Model wasn't fully converted", f"measured on {_RELEASE}"),
        shared.coordinate_modes(
            _COORDINATES,
            ' ("this type of coordinate transformation mode is not supported")',
            shared.SYMMETRIC_WHERE_WHOLE,
        ).read_in(_FRONTEND),
        shared.AXES_FROM_THE_FRONT.saying(' ("All axes values should less than input rank")').read_in(
            f"measured on {_RELEASE}; openvino 019873b normalizes them"
        ),
        Rule(
            name="batch-stays",
            holds=lambda f: f.is_open or not _resizes_batch(f),
            because='the batch is resized, or the channels of a tensor with five axes ("only supports resize on '
            'spatial dimensions(depth, height and width)")',
            source=_PLUGIN,
        ),
        differs(
            name="batch-of-open-images",
            holds=lambda f: not f.is_open or not _resizes_batch(f),
            because="the batch or the channels of five axes are resized, and lengths are open: the output is empty",
        ),
        otherwise.OPEN_BATCH_OF_SIZES.saying("the output is empty"),
        noted(
            name="short-inputs-are-copied",
            # Two samples stay two by a scale below 3/2; a single one is the same however it is read.
            holds=lambda f: not any(size is None and 1 < scale < 1.5 for scale, size in f.scaled_sizes),
            because="an open length grows by the scales {f.values}: a short one keeps its length, and is copied",
            source=_PLUGIN,
            fix="feed larger inputs",
        ),
        differs(
            name="cubic-last-two-axes",
            holds=_cubic_axes,
            because="cubic along other axes than the last two reads memory that is not the tensor's",
            fix=f"{shared.TRANSPOSE}, or replace the node",
        ),
        differs(
            name="lengths-are-rounded-down",
            holds=_has_the_length,
            because="in·scale lies just below a whole number for the scales {f.values} and the input "
            "{f.shown_input_shape}, and the output gets that length",
            fix="write sizes instead of scales",
        ),
        otherwise.exclusion_ignored().read_in(_FRONTEND),
        otherwise.antialias_ignored((without_exclusion,)).read_in(
            f"measured on {_RELEASE}; the frontend passes it on, linear_onnx and cubic do not read it"
        ),
        otherwise.POLICY_IGNORED.read_in(_FRONTEND),
        differs(
            name="upsample-nearest-is-half-pixel",
            holds=samples_alike(_UPSAMPLED),
            because="nearest Upsample is computed as half_pixel, round_prefer_floor; ONNX says asymmetric, floor",
            source=_UPSAMPLE,
            fix="write Resize with asymmetric and floor, or replace the node",
        ),
        differs(
            name="equal-lengths-are-copied",
            holds=samples_alike(_copied, after=(*_BEFORE, _UPSAMPLED)),
            because="an axis keeps its length with a scale other than 1 ({f.values}), and is copied instead of sampled",
            source=_PLUGIN,
            fix="write 1 for that axis where a copy is meant; else replace the node",
        ),
        otherwise.ties_are_exact((*_BEFORE, _UPSAMPLED, _copied)),
        otherwise.INTEGERS_ARE_ROUNDED,
        otherwise.factors_are_not_known(*_BEFORE, _UPSAMPLED, _copied).read_in(_UPSAMPLE),
        otherwise.FED_AXES.saying(
            "the batch, and the channels of a tensor with five axes, are not resized; fractional sizes are rounded "
            "another way"
        ),
    ),
    source=f"measured on {_RELEASE}",
)
