"""What a dialect is: one version of Upsample or Resize as data. The rows are in dialect.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from onnx import AttributeProto

from resizefix.errors import RefusedError
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
