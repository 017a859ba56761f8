"""The rows of Resize: https://onnx.ai/onnx/operators/onnx__Resize.html."""

from __future__ import annotations

from dataclasses import replace

from resizefix.dialects.row import FLOAT, INT, INTS, STRING, Attribute, Dialect, Input
from resizefix.dialects.upsample import UPSAMPLE_9
from resizefix.interpolation import CoordinateTransformationMode, Mode, NearestMode

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
