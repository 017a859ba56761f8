"""Rockchip's RKNN toolkit 2: what its converter refuses, measured on its simulator, not run here.

The simulator computes in float16 and has other kernels than the device: it says what is accepted.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.targets.conditions import FED
from resizefix.targets.deviations import by_ratio, old_resize, symmetric_ties
from resizefix.targets.facts import Roi, SiteFacts
from resizefix.targets.sampling import Sampling, resized, samples_alike
from resizefix.targets.target import Effect, Release, Rule, targets_of

_SIMULATOR = "measured on the simulator of rknn-toolkit2 2.x, float16; not run here"
_DOWN = old_resize("asymmetric", "floor", ("nearest",))
_TYPES = (None, TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32)


def _takes_volumes(f: SiteFacts) -> bool:
    corners = f.mode == "linear" and f.coordinate_transformation_mode == "align_corners" and f.has_coordinates
    return f.rank != 5 or corners or not any(True for _ in resized(f))


def _old(f: SiteFacts, sampling: Sampling) -> Sampling:
    return by_ratio(f, _DOWN(f, sampling)) if sampling.mode == "nearest" and not f.has_coordinates else sampling


RKNN = targets_of(
    "rknn",
    (Release("", "rknn-toolkit2, simulator (not run here)"),),
    (
        Rule(
            name="extent-is-constant",
            holds=lambda f: f.source not in FED or f.values is not None,
            because='the {f.extent_name} come from {f.source.value} ("need to be constant! It will cause the graph to '
            'be a dynamic graph!")',
            source=_SIMULATOR,
            fix="freeze the scales",
        ),
        Rule(
            name="coordinate-transformation-mode",
            holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode != "tf_half_pixel_for_nn",
            because="\"Not support '{f.coordinate_transformation_mode}' in 'Resize'(opset-11)!\"",
            source=_SIMULATOR,
            fix="tf_half_pixel_for_nn with floor is half_pixel with round_prefer_ceil; else replace the node",
        ),
        Rule(
            name="not-cubic",
            holds=lambda f: f.mode != "cubic" or f.exclude_outside or f.roi is Roi.TENSOR,
            because='mode is cubic without exclude_outside or roi, and the converter stops ("The follow op is not '
            'support")',
            source=_SIMULATOR,
            fix="replace the node",
        ),
        Rule(
            name="axes-from-the-front",
            holds=lambda f: all(axis >= 0 for axis in f.axes or ()),
            because="axes are {f.axes}, counted from the end",
            source=_SIMULATOR,
            fix="count the axes from the front",
        ),
        Rule(
            name="images-alone",
            holds=_takes_volumes,
            because="the rank is 5, of which the converter takes linear with align_corners alone",
            source=_SIMULATOR,
            fix="replace the node",
        ),
        Rule(
            name="input-type",
            holds=lambda f: f.elem_type in _TYPES,
            because="the tensor is {f.type_name}, of which the converter stops",
            source=_SIMULATOR,
            fix="put a Cast to float before the node and one back after it",
        ),
        Rule(
            name="resize-10-by-ratio",
            holds=samples_alike(_old),
            because="nearest Resize of opset 10 rounds down, and positions follow the two lengths",
            source=_SIMULATOR,
            fix="raise the model to opset 11 and write nearest_mode, or replace the node",
            effect=Effect.DIFFERENT,
        ),
        Rule(
            name="symmetric-ties",
            holds=samples_alike(symmetric_ties),
            because="half_pixel_symmetric is computed in float32, and a coordinate that lies between two samples falls "
            "to the other one",
            source=_SIMULATOR,
            fix="replace the node",
            effect=Effect.DIFFERENT,
        ),
    ),
)
