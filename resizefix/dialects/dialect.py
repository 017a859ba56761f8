"""What a dialect is: one version of Upsample or Resize as data.

The rows of Upsample and Resize, and the choice among them by operator and opset version.

Sources: https://onnx.ai/onnx/operators/onnx__Upsample.html (deprecated at opset 10) and onnx__Resize.html.
Upsample samples asymmetrically; the spec writes no formula, runtimes agree on `x_original = x_resized / scale`.
onnxruntime would also compute mode `cubic` here; the spec has no such mode, so no row has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeGuard

import numpy as np
from onnx import AttributeProto, NodeProto

from resizefix.diagnostics import RefusedError
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode, NearestMode


class Attribute(NamedTuple):
    """An attribute of the operator's schema; `type` is an `AttributeProto.AttributeType`."""

    name: str
    type: int
    default: str | int | float | None = None
    required: bool = False


class Input(NamedTuple):
    """An input of the operator's schema, in order. An optional one may be left out or named `''`."""

    name: str
    optional: bool = False


class Operands(NamedTuple):
    """How a node names its operands; `''` in the file is None here.

    A name says nothing about the value: an operand may well be an empty tensor, and where both `scales` and `sizes` are
    named one of them must be. `scales_attribute` holds the scales of Upsample-7, and of Upsample-1 as (1, 1, h, w).
    """

    x: str
    roi: str | None = None
    scales: str | None = None
    sizes: str | None = None
    scales_attribute: tuple[float, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are given."""
        return tuple(name for name in (self.x, self.roi, self.scales, self.sizes) if name)


@dataclass(frozen=True)
class Dialect:
    """A version of the operator: what it can say, and how.

    `since_version` is the schema's, `last_opset` the last opset in which it is the one that counts (None: no end yet).
    `mode_spellings` maps each value of the `mode` attribute to its meaning. `nearest_modes` and
    `coordinate_transformation_modes` hold one member where the operator has no such attribute.
    """

    op_type: str
    since_version: int
    last_opset: int | None
    attributes: tuple[Attribute, ...]
    inputs: tuple[Input, ...]
    mode_spellings: tuple[tuple[str, Mode], ...]
    coordinate_transformation_modes: frozenset[CoordinateTransformationMode]
    nearest_modes: frozenset[NearestMode]
    min_scale: float = 0.0
    """Upsample: every scale ≥ 1. Resize: 0, which itself is excluded."""
    rank: int | None = None
    """The only rank of X it takes; None: any."""

    @property
    def name(self) -> str:
        """The name used in messages and documentation, "Upsample-7"."""
        return f"{self.op_type}-{self.since_version}"

    @property
    def modes(self) -> frozenset[Mode]:
        """The modes it can say."""
        return frozenset(mode for _, mode in self.mode_spellings)

    @cached_property
    def roi_input(self) -> int | None:
        """The position of the input `roi`; None: there is none."""
        return self.position("roi")

    @cached_property
    def scales_input(self) -> int | None:
        """The position of the input `scales`; None: the scales are attributes."""
        return self.position("scales")

    @cached_property
    def sizes_input(self) -> int | None:
        """The position of the input `sizes`; None: there is none."""
        return self.position("sizes")

    def slot(self, kind: ExtentKind) -> int:
        """The position of the input for scales, or for sizes. Raises RefusedError where it has none."""
        position = self.scales_input if kind is ExtentKind.SCALES else self.sizes_input
        if position is None:
            first = "9" if kind is ExtentKind.SCALES else "11"
            raise RefusedError(
                "dialects.no-input-for-extent", name=self.name, value=kind.value, first=first, rule="form"
            )
        return position

    def position(self, input_name: str) -> int | None:
        """The position of an input by its schema name; None: this version has no such input."""
        return next((k for k, row in enumerate(self.inputs) if row.name == input_name), None)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name; None: this version has no such attribute."""
        return next((row for row in self.attributes if row.name == name), None)


STRING, INT, INTS, FLOAT, FLOATS = (
    AttributeProto.STRING,
    AttributeProto.INT,
    AttributeProto.INTS,
    AttributeProto.FLOAT,
    AttributeProto.FLOATS,
)


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

NO_NUMBERS = np.zeros(0, np.float32)
"""What stands for a roi or scales that a version wants and nothing reads."""

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
