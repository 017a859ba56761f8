"""Resizes of other domains whose meaning is published: plugins of TensorRT, and operators of old exporters.

No runtime here runs them: what each computes is read from its source, which the row names. No run verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import NodeProto

from resizefix.document.edits import NodeBuilder
from resizefix.document.scopes import Scope
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings.recovered import Recovered
from resizefix.operations.moved_elements import constant_of
from resizefix.operations.written_resizes import WrittenResize
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView

_C = CoordinateTransformationMode
_RANK = 4  # of all of them
_NEAREST = Interpolation(Mode.NEAREST, _C.ASYMMETRIC, NearestMode.FLOOR)


Reader = Callable[[ModelView, Scope, NodeProto], Recovered | None]
Sizes = Callable[[NodeProto, NodeBuilder], str]


def _by_scales(interpolation: Interpolation, scales: Sequence[float]) -> Recovered:
    return Recovered(interpolation, (1.0, 1.0, *(float(scale) for scale in scales)), is_by_scales=True)


def _one_scale(view: ModelView, scope: Scope, node: NodeProto) -> Recovered | None:
    scale = attribute_of(node, "scale")
    return _by_scales(_NEAREST, [scale, scale]) if scale and scale > 0 else None


def _height_and_width(view: ModelView, scope: Scope, node: NodeProto) -> Recovered | None:
    """The second input holds both scales, where there is one."""
    if attribute_of(node, "order", b"NCHW") != b"NCHW":
        return None
    scales: Any = attribute_of(node, "height_scale", 1.0), attribute_of(node, "width_scale", 1.0)
    if len(node.input) > 1:
        scales = constant_of(view, scope, node.input[1])
    if scales is None or np.size(scales) != 2 or min(scales) <= 0:
        return None
    return _by_scales(_NEAREST, scales)


def _bicubic(node: NodeProto) -> Interpolation:
    aligned = bool(attribute_of(node, "align_corners", 0))
    return Interpolation(Mode.CUBIC, _C.ALIGN_CORNERS if aligned else _C.HALF_PIXEL, cubic_coeff_a=-0.75)


def _bicubic_by_factors(view: ModelView, scope: Scope, node: NodeProto) -> Recovered | None:
    factors = attribute_of(node, "scale_factor", [])
    if len(factors) != 2 or min(factors) <= 0:
        return None
    return _by_scales(_bicubic(node), factors)


def _bicubic_by_tensor(view: ModelView, scope: Scope, node: NodeProto) -> Recovered | None:
    return Recovered(_bicubic(node), (), is_by_scales=False) if len(node.input) == 2 else None


def _sizes_of_second(node: NodeProto, builder: NodeBuilder) -> str:
    """As large as the last two axes of the second input."""
    x, like = node.input
    batch_and_channel = builder.slice(builder.add("Shape", x), [0], [0], [2])
    return builder.add(
        "Concat", batch_and_channel, builder.slice(builder.add("Shape", like), [0], [-2], [2**31 - 1]), axis=0
    )


ROWS: dict[str, tuple[Reader, str, Sizes | None]] = {
    # y/scale, cut off, in float32
    "ResizeNearest_TRT": (
        _one_scale,
        "TensorRT, plugin/resizeNearestPlugin and plugin/common/kernels/maskRCNNKernels.cu",
        None,
    ),
    "ResizeNearest": (_height_and_width, "caffe2, operators/resize_op.cc (2017)", None),
    # torch's bicubic, a = -0.75, which the kernel clamps at the borders
    "TRTBicubicInterpolate": (
        _bicubic_by_factors,
        "mmdeploy, csrc/mmdeploy/backend_ops/tensorrt/bicubic_interpolate",
        None,
    ),
    "DynamicTRTResize": (_bicubic_by_tensor, "mmdeploy's tutorial, chapter 6", _sizes_of_second),
    "DynamicTRTResize_TRT": (_bicubic_by_tensor, "mmdeploy's tutorial, chapter 6", _sizes_of_second),
}
"""What reads each operator, where its meaning is known from, and what computes its sizes, where no constants do."""


def foreign_resizes(view: ModelView) -> list[WrittenResize]:
    """The nodes outside local functions that a row can read, in the order of the file."""
    resizes = []
    for scope in view.scopes.all:
        if scope.in_function:
            continue
        for node in scope.body.node:
            row = ROWS.get(node.op_type) if node.input and node.output else None
            if row is None:
                continue
            reader, source, sizes = row
            meaning = reader(view, scope, node)
            if meaning is not None:
                computed = None if sizes is None else partial(sizes, node)
                place = WrittenResize(
                    scope, node.name or node.output[0], (node.op_type,), node.input[0], node.output[0],
                    _RANK, tuple(range(_RANK)), (), (), None, (meaning,), source, computed,
                )  # fmt: skip
                resizes.append(place)
    return resizes
