"""The rows of Upsample and Resize, and the choice among them by operator and opset version.

Sources: https://onnx.ai/onnx/operators/onnx__Upsample.html (deprecated at opset 10) and onnx__Resize.html.
Upsample samples asymmetrically; the spec writes no formula, runtimes agree on `x_original = x_resized / scale`.
onnxruntime would also compute mode `cubic` here; the spec has no such mode, so no row has it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TypeGuard

from onnx import NodeProto

from resizefix.dialects.row import FLOAT, FLOATS, INT, INTS, STRING, Attribute, Dialect, Input, Operands
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.errors import RefusedError
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode

__all__ = ["DIALECTS", "Attribute", "Dialect", "Input", "Operands", "dialect_of", "is_resize"]

_MODE = Attribute("mode", STRING, "nearest")

# One scale per image axis of an NCHW tensor, as attributes. The spec spells linear `bilinear` here.
UPSAMPLE_1 = Dialect(
    op_type="Upsample",
    since_version=1,
    last_opset=6,
    attributes=(
        _MODE,
        Attribute("height_scale", FLOAT, required=True),
        Attribute("width_scale", FLOAT, required=True),
    ),
    inputs=(Input("X"),),
    mode_spellings=(("nearest", Mode.NEAREST), ("bilinear", Mode.LINEAR)),
    coordinate_transformation_modes=frozenset({CoordinateTransformationMode.ASYMMETRIC}),
    nearest_modes=frozenset({NearestMode.SIMPLE}),
    min_scale=1.0,
    rank=4,
)

# One scale per axis, still an attribute: the form that TensorRT 5.0 reads.
UPSAMPLE_7 = replace(
    UPSAMPLE_1,
    since_version=7,
    last_opset=8,
    attributes=(_MODE, Attribute("scales", FLOATS, required=True)),
    mode_spellings=(("nearest", Mode.NEAREST), ("linear", Mode.LINEAR)),
    rank=None,
)

# The scales become an input.
UPSAMPLE_9 = replace(
    UPSAMPLE_7, since_version=9, last_opset=9, attributes=(_MODE,), inputs=(Input("X"), Input("scales"))
)

# Upsample-9 under a new name, with scales below 1 allowed. onnxruntime runs mode `cubic` here too; the spec has none.
RESIZE_10 = replace(UPSAMPLE_9, op_type="Resize", since_version=10, last_opset=10, min_scale=0.0)

# Coordinates, roundings and cubic become attributes; roi and scales are mandatory, an unused one is an empty tensor.
RESIZE_11 = Dialect(
    op_type="Resize",
    since_version=11,
    last_opset=12,
    attributes=(
        Attribute("mode", STRING, "nearest"),
        Attribute("coordinate_transformation_mode", STRING, "half_pixel"),
        Attribute("nearest_mode", STRING, "round_prefer_floor"),
        Attribute("cubic_coeff_a", FLOAT, -0.75),
        Attribute("exclude_outside", INT, 0),
        Attribute("extrapolation_value", FLOAT, 0.0),
    ),
    inputs=(Input("X"), Input("roi"), Input("scales"), Input("sizes", optional=True)),
    mode_spellings=(("nearest", Mode.NEAREST), ("linear", Mode.LINEAR), ("cubic", Mode.CUBIC)),
    coordinate_transformation_modes=frozenset(CoordinateTransformationMode)
    - {CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC},
    nearest_modes=frozenset(NearestMode) - {NearestMode.SIMPLE},
)

# Unused operands are left out: no empty tensors.
RESIZE_13 = replace(
    RESIZE_11,
    since_version=13,
    last_opset=17,
    inputs=(Input("X"), Input("roi", optional=True), Input("scales", optional=True), Input("sizes", optional=True)),
)

# Antialiasing, a subset of axes, and sizes that keep the aspect ratio.
RESIZE_18 = replace(
    RESIZE_13,
    since_version=18,
    last_opset=18,
    attributes=(
        *RESIZE_13.attributes,
        Attribute("antialias", INT, 0),
        Attribute("axes", INTS),
        Attribute("keep_aspect_ratio_policy", STRING, "stretch"),
    ),
)

# One more coordinate transformation: half_pixel_symmetric.
RESIZE_19 = replace(
    RESIZE_18,
    since_version=19,
    last_opset=None,
    coordinate_transformation_modes=frozenset(CoordinateTransformationMode),
)

DIALECTS: tuple[Dialect, ...] = (
    UPSAMPLE_1,
    UPSAMPLE_7,
    UPSAMPLE_9,
    RESIZE_10,
    RESIZE_11,
    RESIZE_13,
    RESIZE_18,
    RESIZE_19,
)

RESIZES = frozenset(row.op_type for row in DIALECTS)


def is_resize(node: NodeProto | None) -> TypeGuard[NodeProto]:
    """Whether a node is an Upsample or Resize of ai.onnx."""
    return node is not None and node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS


@lru_cache(maxsize=64)
def dialect_of(op_type: str, opset_version: int) -> Dialect:
    """The dialect of an Upsample or Resize node in a model that imports this version of the default opset.

    Raises:
        RefusedError: Upsample at opset 10 or later, Resize before 10, an operator that is neither, no such opset.

    """
    for row in DIALECTS:
        if row.op_type == op_type and row.since_version <= opset_version <= (row.last_opset or opset_version):
            return row
    raise RefusedError(_why_none(op_type, opset_version), op_type=op_type, opset=opset_version, rule="dialect")


def _why_none(op_type: str, opset_version: int) -> str:
    if op_type == "Upsample" and opset_version >= 10:
        return "dialects.upsample-was-removed"
    if op_type == "Resize" and 1 <= opset_version <= 9:
        return "dialects.resize-is-younger"
    if op_type not in RESIZES:
        return "dialects.no-resize"
    return "dialects.no-such-opset"
