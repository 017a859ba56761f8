"""The rows of Upsample: https://onnx.ai/onnx/operators/onnx__Upsample.html (deprecated at opset 10).

All three sample asymmetrically; the spec writes no formula, runtimes agree on `x_original = x_resized / scale`.
onnxruntime would also compute mode `cubic` here; the spec has no such mode, so no row has it.
"""

from __future__ import annotations

from resizefix.dialects.row import FLOAT, FLOATS, STRING, Attribute, Dialect, Input
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode

_MODE = Attribute("mode", STRING, "nearest")
_ASYMMETRIC = frozenset({CoordinateTransformationMode.ASYMMETRIC})
_SIMPLE = frozenset({NearestMode.SIMPLE})

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
    coordinate_transformation_modes=_ASYMMETRIC,
    nearest_modes=_SIMPLE,
    min_scale=1.0,
    rank=4,
)

# One scale per axis, still an attribute: the form that TensorRT 5.0 reads.
UPSAMPLE_7 = Dialect(
    op_type="Upsample",
    since_version=7,
    last_opset=8,
    attributes=(_MODE, Attribute("scales", FLOATS, required=True)),
    inputs=(Input("X"),),
    mode_spellings=(("nearest", Mode.NEAREST), ("linear", Mode.LINEAR)),
    coordinate_transformation_modes=_ASYMMETRIC,
    nearest_modes=_SIMPLE,
    min_scale=1.0,
)

# The scales become an input.
UPSAMPLE_9 = Dialect(
    op_type="Upsample",
    since_version=9,
    last_opset=9,
    attributes=(_MODE,),
    inputs=(Input("X"), Input("scales")),
    mode_spellings=(("nearest", Mode.NEAREST), ("linear", Mode.LINEAR)),
    coordinate_transformation_modes=_ASYMMETRIC,
    nearest_modes=_SIMPLE,
    min_scale=1.0,
)
