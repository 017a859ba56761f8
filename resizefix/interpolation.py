"""The canonical form: what an Upsample/Resize node computes, whatever opset spelled it.

Names and values are those of the ONNX operator specification (Resize-19, the union of all dialects), with one addition:
`NearestMode.SIMPLE`, the rounding of Upsample-7/-9 and Resize-10, which have no `nearest_mode` attribute. onnxruntime
calls it `SIMPLE` too (core/providers/cpu/tensor/upsamplebase.h): floor where the axis grows, ceil where it shrinks.

Where scales or sizes come from is not part of the meaning: that is `resizefix.origins.classify.Origin`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Mode(str, Enum):
    """How a sample between grid points is made."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"


class CoordinateTransformationMode(str, Enum):
    """How an output coordinate maps to an input coordinate."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    ASYMMETRIC = "asymmetric"
    TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"
    TF_CROP_AND_RESIZE = "tf_crop_and_resize"


class NearestMode(str, Enum):
    """How mode `nearest` rounds an input coordinate to a grid point."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"
    SIMPLE = "simple"


class KeepAspectRatioPolicy(str, Enum):
    """What `sizes` means when the wanted size has another aspect ratio; `stretch`, the default, is None in the
    canonical form."""

    NOT_LARGER = "not_larger"
    NOT_SMALLER = "not_smaller"


class ExtentKind(str, Enum):
    """Which of the two operands says how large the output is."""

    SCALES = "scales"
    SIZES = "sizes"


class Extent(NamedTuple):
    """How large the output is: `values` are float scales or integer sizes, None where the file does not fix them.

    Of a computed operand they are the constants that stand for the chain; then `kind` need not be the operand's: a
    chain that makes sizes twice the input's has the scales 2.
    """

    kind: ExtentKind
    values: tuple[float, ...] | tuple[int, ...] | None


@dataclass(frozen=True)
class Interpolation:
    """The meaning of one node, apart from the extent. Two nodes that compare equal compute the same from equal
    operands.

    Fields that the mode does not read are normalised away (None or False), so that `==` compares meaning and not
    spelling:
    `nearest_mode` is set iff mode is nearest, `cubic_coeff_a` iff cubic; `exclude_outside` is False unless cubic or
    antialiased; `extrapolation_value` is set iff the coordinates are tf_crop_and_resize.
    `axes` is None for "all axes, in order".
    """

    mode: Mode
    coordinate_transformation_mode: CoordinateTransformationMode
    nearest_mode: NearestMode | None = None
    cubic_coeff_a: float | None = None
    exclude_outside: bool = False
    antialias: bool = False
    axes: tuple[int, ...] | None = None
    keep_aspect_ratio_policy: KeepAspectRatioPolicy | None = None
    extrapolation_value: float | None = None

    def __post_init__(self) -> None:
        if (self.nearest_mode is not None) != (self.mode is Mode.NEAREST):
            raise ValueError(
                f"nearest_mode goes with mode=nearest alone, and with that always; this is {self.mode.value}"
            )
        if (self.cubic_coeff_a is not None) != (self.mode is Mode.CUBIC):
            raise ValueError(
                f"cubic_coeff_a goes with mode=cubic alone, and with that always; this is {self.mode.value}"
            )
        if self.exclude_outside and self.mode is not Mode.CUBIC and not self.antialias:
            raise ValueError(f"exclude_outside with mode={self.mode.value} and no antialias")
        crop = self.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        if (self.extrapolation_value is not None) != crop:
            raise ValueError("extrapolation_value is read by tf_crop_and_resize alone")
        if (
            self.nearest_mode is NearestMode.SIMPLE
            and self.coordinate_transformation_mode is not CoordinateTransformationMode.ASYMMETRIC
        ):
            raise ValueError("nearest_mode simple (Upsample, Resize-10) goes with asymmetric coordinates alone")
        if self.axes is not None and len(set(self.axes)) != len(self.axes):
            raise ValueError(f"axes {list(self.axes)} name an axis twice")
