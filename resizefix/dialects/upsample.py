"""The rows of Upsample: https://onnx.ai/onnx/operators/onnx__Upsample.html (deprecated at opset 10).

All three sample asymmetrically; the spec writes no formula, runtimes agree on `x_original = x_resized / scale`.
onnxruntime would also compute mode `cubic` here; the spec has no such mode, so no row has it.
"""

from __future__ import annotations

from dataclasses import replace

from resizefix.dialects.row import FLOAT, FLOATS, STRING, Attribute, Dialect, Input
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode

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
