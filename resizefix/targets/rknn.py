"""Rockchip's RKNN toolkit 2: what its converter refuses, measured on its simulator, not run here.

The simulator computes in float16 and has other kernels than the device: it says what is accepted.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.deviations import by_ratio, old_resize
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.sampling import Sampling, is_resized, samples_alike
from resizefix.targets.shared_rules import AXES_FROM_THE_FRONT, CAST, EXTENT_IS_CONSTANT, SYMMETRIC_TIES_DIFFER
from resizefix.targets.target import Release, Rule, differs, targets_of

_SIMULATOR = "measured on the simulator of rknn-toolkit2 2.x, float16; not run here"
_DOWN = old_resize("asymmetric", "floor", ("nearest",))
_TYPES = (None, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32)


def _old(f: SiteFacts, sampling: Sampling) -> Sampling:
    return by_ratio(f, _DOWN(f, sampling)) if sampling.mode == "nearest" and not f.has_coordinates else sampling


RKNN = targets_of(
    "rknn",
    (Release("", "rknn-toolkit2, simulator (not run here)"),),
    (
        EXTENT_IS_CONSTANT.saying(' ("need to be constant! It will cause the graph to be a dynamic graph!")'),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: f.coordinates != "tf_half_pixel_for_nn",
            because="\"Not support '{f.coordinate_transformation_mode}' in 'Resize'(opset-11)!\"",
            fix="tf_half_pixel_for_nn with floor is half_pixel with round_prefer_ceil; else replace the node",
        ),
        Rule(
            name="not-cubic",
            holds=lambda f: f.mode != "cubic" or f.exclude_outside or f.roi is Roi.TENSOR,
            because='mode is cubic without exclude_outside or roi, and the converter stops ("The follow op is not '
            'support")',
        ),
        AXES_FROM_THE_FRONT.saying(""),
        Rule(
            name="images-alone",
            holds=lambda f: f.rank != 5 or (f.mode, f.coordinates) == ("linear", "align_corners") or not is_resized(f),
            because="the rank is 5, of which the converter takes linear with align_corners alone",
        ),
        Rule(
            name="input-type",
            holds=lambda f: f.elem_type in _TYPES,
            because="the tensor is {f.type_name}, of which the converter stops",
            fix=CAST,
        ),
        differs(
            name="resize-10-by-ratio",
            holds=samples_alike(_old),
            because="nearest Resize of opset 10 rounds down, and positions follow the two lengths",
            fix="raise the model to opset 11 and write nearest_mode, or replace the node",
        ),
        SYMMETRIC_TIES_DIFFER,
    ),
    source=_SIMULATOR,
)
