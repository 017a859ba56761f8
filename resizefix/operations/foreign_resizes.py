"""Resizes of other domains whose meaning is published: plugins of TensorRT, and operators of old exporters.

No runtime here runs them: what each computes is read from its source, which the row names. No run verifies it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.document.edits import NodeBuilder
from resizefix.document.scopes import Scope
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.operations.moved_elements import constant_of
from resizefix.scope_path import Key
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView

_C = CoordinateTransformationMode
_NEAREST = Interpolation(Mode.NEAREST, _C.ASYMMETRIC, NearestMode.FLOOR)


class Meaning(NamedTuple):
    """What a node computes. `scales` has one for each of four axes; None: `sizes` adds the nodes that compute them."""

    interpolation: Interpolation
    scales: tuple[float, ...] | None
    sizes: Callable[[NodeBuilder], str] | None = None

    @property
    def extent(self) -> ExtentKind:
        """Whether it is given scales or sizes."""
        return ExtentKind.SIZES if self.scales is None else ExtentKind.SCALES


class ForeignResize(NamedTuple):
    """A node that computes `y` from `x`, by a row of `ROWS`."""

    scope: Scope
    label: str
    operator: str
    x: str
    y: str
    meaning: Meaning
    source: str

    @property
    def key(self) -> Key:
        """The output, by which the node is known."""
        return self.scope.path, self.y


Reader = Callable[[ModelView, Scope, NodeProto], Meaning | None]


def _one_scale(view: ModelView, scope: Scope, node: NodeProto) -> Meaning | None:
    scale = attribute_of(node, "scale")
    return Meaning(_NEAREST, (1.0, 1.0, float(scale), float(scale))) if scale and scale > 0 else None


def _height_and_width(view: ModelView, scope: Scope, node: NodeProto) -> Meaning | None:
    """The second input holds both scales, where there is one."""
    if attribute_of(node, "order", b"NCHW") != b"NCHW":
        return None
    scales: Any = attribute_of(node, "height_scale", 1.0), attribute_of(node, "width_scale", 1.0)
    if len(node.input) > 1:
        scales = constant_of(view, scope, node.input[1])
    if scales is None or np.size(scales) != 2 or min(scales) <= 0:
        return None
    return Meaning(_NEAREST, (1.0, 1.0, *(float(scale) for scale in scales)))


def _bicubic(node: NodeProto) -> Interpolation:
    aligned = bool(attribute_of(node, "align_corners", 0))
    return Interpolation(Mode.CUBIC, _C.ALIGN_CORNERS if aligned else _C.HALF_PIXEL, cubic_coeff_a=-0.75)


def _bicubic_by_factors(view: ModelView, scope: Scope, node: NodeProto) -> Meaning | None:
    factors = attribute_of(node, "scale_factor", [])
    if len(factors) != 2 or min(factors) <= 0:
        return None
    return Meaning(_bicubic(node), (1.0, 1.0, *(float(factor) for factor in factors)))


def _bicubic_by_tensor(view: ModelView, scope: Scope, node: NodeProto) -> Meaning | None:
    """As large as the last two axes of the second input."""
    if len(node.input) != 2:
        return None
    x, like = node.input

    def sizes(builder: NodeBuilder) -> str:
        batch_and_channel = builder.slice(builder.add("Shape", x), [0], [0], [2])
        return builder.add(
            "Concat", batch_and_channel, builder.slice(builder.add("Shape", like), [0], [-2], [2**31 - 1]), axis=0
        )

    return Meaning(_bicubic(node), None, sizes)


ROWS: dict[str, tuple[Reader, str]] = {
    # y/scale, cut off, in float32
    "ResizeNearest_TRT": (
        _one_scale,
        "TensorRT, plugin/resizeNearestPlugin and plugin/common/kernels/maskRCNNKernels.cu",
    ),
    "ResizeNearest": (_height_and_width, "caffe2, operators/resize_op.cc (2017)"),
    # torch's bicubic, a = -0.75, which the kernel clamps at the borders
    "TRTBicubicInterpolate": (_bicubic_by_factors, "mmdeploy, csrc/mmdeploy/backend_ops/tensorrt/bicubic_interpolate"),
    "DynamicTRTResize": (_bicubic_by_tensor, "mmdeploy's tutorial, chapter 6"),
    "DynamicTRTResize_TRT": (_bicubic_by_tensor, "mmdeploy's tutorial, chapter 6"),
}
"""What reads each operator, and where its meaning is known from."""


def foreign_resizes(view: ModelView) -> list[ForeignResize]:
    """The nodes outside local functions that a row can read, in the order of the file."""
    resizes = []
    for scope in view.scopes.all:
        if scope.in_function:
            continue
        for node in scope.body.node:
            row = ROWS.get(node.op_type)
            meaning = None if row is None or not node.input or not node.output else row[0](view, scope, node)
            if row is not None and meaning is not None:
                label, y = node.name or node.output[0], node.output[0]
                resizes.append(ForeignResize(scope, label, node.op_type, node.input[0], y, meaning, row[1]))
    return resizes
