"""From a node to its meaning: one reader for all dialects, driven by the dialect's row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from onnx import AttributeProto, NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import DIALECTS, Dialect, Operands
from resizefix.document.text import counted
from resizefix.interpolation import (
    CoordinateTransformationMode,
    Interpolation,
    KeepAspectRatioPolicy,
    Mode,
)

_E = TypeVar("_E", bound=Enum)


class SiteReading(NamedTuple):
    """What a node computes, and the names of the operands it computes it from."""

    interpolation: Interpolation
    operands: Operands


def label_of(op_type: str, name: str, output: str) -> str:
    """How messages name a node: its name, or its first output where it has none."""
    if name:
        return Diagnostic("dialects.node", operator=op_type, name=name)
    return Diagnostic("dialects.node-without-name", operator=op_type, output=output)


def read(node: NodeProto, dialect: Dialect) -> SiteReading:
    """The canonical meaning of `node`, with the spec's defaults applied and fields its mode does not read left out.

    Raises:
        RefusedError: the node is not valid in the dialect; the text names the node, the rule and the fix.
        ValueError: `dialect` is not one of the node's operator.

    """
    if node.op_type != dialect.op_type:
        raise ValueError(f"{node.op_type} is not {dialect.name}")
    inputs = tuple(node.input)
    attributes = tuple(attribute.SerializeToString() for attribute in node.attribute)
    shared_reading = _reading_of(dialect.op_type, dialect.since_version, tuple(map(bool, inputs)), attributes)
    if shared_reading is None:  # the reason names the node
        return _Reader(node, dialect).reading()
    operands = shared_reading.operands
    x, roi, scales, sizes = (
        name and inputs[int(name)] for name in (operands.x, operands.roi, operands.scales, operands.sizes)
    )
    return SiteReading(shared_reading.interpolation, Operands(x or "", roi, scales, sizes, operands.scales_attribute))


@lru_cache(maxsize=256)
def _reading_of(op_type: str, since: int, given: tuple[bool, ...], attributes: tuple[bytes, ...]) -> SiteReading | None:
    """What such a node computes, each operand called by its position: models have many nodes of few kinds."""
    dialect = next(row for row in DIALECTS if (row.op_type, row.since_version) == (op_type, since))
    names = [str(position) if there else "" for position, there in enumerate(given)]
    node = NodeProto(op_type=dialect.op_type, input=names, attribute=map(AttributeProto.FromString, attributes))
    try:
        return _Reader(node, dialect).reading()
    except RefusedError:
        return None


class _Reader:
    """One node under one dialect: each method reads one thing and refuses on the spot."""

    def __init__(self, node: NodeProto, dialect: Dialect) -> None:
        self.node = node
        self.dialect = dialect
        self.label = label_of(node.op_type, node.name, node.output[0] if node.output else "")

    def refusal(self, rule: str, code: str, /, **arguments: Any) -> RefusedError:
        why = Diagnostic(code, **arguments)
        return RefusedError(
            "dialects.not-valid", label=self.label, dialect=self.dialect.name, why=why, node=self.label, rule=rule
        )

    def reading(self) -> SiteReading:
        self.explain_hybrids()
        values = self.attributes()
        mode = self.mode(values["mode"])
        operands = self.operands(values)
        return SiteReading(self.interpolation(mode, values, operands), operands)

    def explain_hybrids(self) -> None:
        """Mixtures of two Upsample versions that old tutorials and exporters write, and no runtime runs."""
        names = {attribute.name for attribute in self.node.attribute}
        if self.dialect.name == "Upsample-9" and "scales" in names:
            raise self.refusal("hybrid", "dialects.scales-attribute-at-opset-9")
        if self.dialect.op_type == "Upsample" and self.dialect.scales_input is None and len(self.node.input) > 1:
            raise self.refusal("hybrid", "dialects.scales-input-before-opset-9")
        if self.dialect.since_version == 7 and "height_scale" in names:
            raise self.refusal("hybrid", "dialects.upsample-1-attributes")

    def attributes(self) -> dict[str, Any]:
        """Every attribute's value by name, defaults filled in."""
        values: dict[str, Any] = {row.name: row.default for row in self.dialect.attributes}
        given = set()
        for attribute in self.node.attribute:
            row = self.dialect.attribute(attribute.name)
            if row is None:
                raise self.unknown_attribute(attribute.name)
            if attribute.name in given:
                raise self.refusal("attribute", "dialects.attribute-twice", name=attribute.name)
            if attribute.ref_attr_name:
                raise self.refusal(
                    "attribute", "dialects.attribute-of-function", name=attribute.name, outer=attribute.ref_attr_name
                )
            if attribute.type != row.type:
                raise self.refusal(
                    "attribute",
                    "dialects.attribute-type",
                    name=attribute.name,
                    given=_type_name(attribute.type),
                    wanted=_type_name(row.type),
                )
            given.add(attribute.name)
            values[attribute.name] = self.value(attribute)
        for row in self.dialect.attributes:
            if row.required and row.name not in given:
                raise self.refusal("attribute", "dialects.attribute-missing", name=row.name, dialect=self.dialect.name)
        return values

    def unknown_attribute(self, name: str) -> RefusedError:
        owners = [row.name for row in DIALECTS if row.op_type == self.dialect.op_type and row.attribute(name)]
        if not owners:
            return self.refusal("attribute", "dialects.attribute-unknown", name=name, dialect=self.dialect.name)
        return self.refusal(
            "attribute",
            "dialects.attribute-of-other-version",
            name=name,
            dialect=self.dialect.name,
            owners=", ".join(owners),
        )

    def value(self, attribute: AttributeProto) -> str | int | float | tuple[int, ...] | tuple[float, ...]:
        if attribute.type == AttributeProto.STRING:
            return attribute.s.decode("utf-8", errors="replace")
        if attribute.type == AttributeProto.INT:
            return attribute.i
        if attribute.type == AttributeProto.FLOAT:
            return attribute.f
        return tuple(attribute.ints) if attribute.type == AttributeProto.INTS else tuple(attribute.floats)

    def mode(self, spelling: str) -> Mode:
        spellings = dict(self.dialect.mode_spellings)
        if spelling in spellings:
            return spellings[spelling]
        hint = ""
        if spelling in ("bilinear", "linear", "trilinear"):
            linear = next(s for s, mode in spellings.items() if mode is Mode.LINEAR)
            hint = Diagnostic("dialects.write-mode", mode=linear)
        elif spelling in ("cubic", "bicubic"):
            hint = Diagnostic("dialects.cubic-needs-resize-11")
            if Mode.CUBIC in self.dialect.modes:
                hint = Diagnostic("dialects.write-mode", mode="cubic")
        raise self.not_a_value("mode", spelling, list(spellings), hint)

    def choice(self, name: str, spelling: str, allowed: frozenset[_E]) -> _E:
        for member in allowed:
            if member.value == spelling:
                return member
        hint = Diagnostic("dialects.needs-opset-19") if spelling == "half_pixel_symmetric" else ""
        raise self.not_a_value(name, spelling, sorted(str(member.value) for member in allowed), hint)

    def not_a_value(self, name: str, spelling: str, values: Sequence[str], hint: str) -> RefusedError:
        return self.refusal(
            name,
            "dialects.no-such-value",
            name=name,
            spelling=spelling,
            dialect=self.dialect.name,
            known=", ".join(values),
            hint=hint,
        )

    def flag(self, name: str, value: int) -> bool:
        if value not in (0, 1):
            raise self.refusal(name, "dialects.no-flag", name=name, value=value)
        return value == 1

    def operands(self, values: dict[str, Any]) -> Operands:
        names = list(self.node.input)
        rows = self.dialect.inputs
        if len(names) > len(rows):
            raise self.refusal(
                "inputs",
                "dialects.too-many-inputs",
                given=counted(len(names), "input"),
                dialect=self.dialect.name,
                known=", ".join(row.name for row in rows),
            )
        names += [""] * (len(rows) - len(names))
        for row, name in zip(rows, names, strict=True):
            if not name and not row.optional:
                may_be_empty = row.name in ("roi", "scales") and self.dialect.roi_input
                hint = Diagnostic("dialects.give-empty-tensor") if may_be_empty else ""
                raise self.refusal(
                    "inputs", "dialects.input-missing", name=row.name, dialect=self.dialect.name, hint=hint
                )
        named = {row.name: name or None for row, name in zip(rows, names, strict=True)}
        operands = Operands(
            x=names[0],
            roi=named.get("roi"),
            scales=named.get("scales"),
            sizes=named.get("sizes"),
            scales_attribute=self.scales_attribute(values),
        )
        if operands.scales is None and operands.sizes is None and operands.scales_attribute is None:
            raise self.refusal("inputs", "dialects.no-extent")
        return operands

    def scales_attribute(self, values: dict[str, Any]) -> tuple[float, ...] | None:
        if "height_scale" in values:
            scales: tuple[float, ...] = (1.0, 1.0, values["height_scale"], values["width_scale"])
        elif "scales" in values:
            scales = values["scales"]
        else:
            return None
        if not scales:
            raise self.refusal("scales", "dialects.scales-empty")
        if not all(self.dialect.min_scale <= scale < float("inf") for scale in scales):
            raise self.refusal(
                "scales",
                "dialects.scales-too-small",
                scales=list(scales),
                least=f"{self.dialect.min_scale:g}",
                dialect=self.dialect.name,
            )
        return scales

    def interpolation(self, mode: Mode, values: dict[str, Any], operands: Operands) -> Interpolation:
        dialect = self.dialect
        nearest_mode = None
        if dialect.attribute("coordinate_transformation_mode") is None:  # before Resize-11 the row's one member counts
            (coordinates,) = dialect.coordinate_transformation_modes
            if mode is Mode.NEAREST:
                (nearest_mode,) = dialect.nearest_modes
            return Interpolation(mode, coordinates, nearest_mode)
        coordinates = self.choice(
            "coordinate_transformation_mode",
            values["coordinate_transformation_mode"],
            dialect.coordinate_transformation_modes,
        )
        if mode is Mode.NEAREST:
            nearest_mode = self.choice("nearest_mode", values["nearest_mode"], dialect.nearest_modes)
        exclude_outside = self.flag("exclude_outside", values["exclude_outside"])
        # The antialiasing filter is one of the linear and the cubic mode (Resize-18, attribute antialias).
        antialias = self.flag("antialias", values.get("antialias", 0)) and mode is not Mode.NEAREST
        crop = coordinates is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        if crop and operands.roi is None:
            raise self.refusal("roi", "dialects.roi-missing")
        return Interpolation(
            mode=mode,
            coordinate_transformation_mode=coordinates,
            nearest_mode=nearest_mode,
            cubic_coeff_a=values["cubic_coeff_a"] if mode is Mode.CUBIC else None,
            exclude_outside=exclude_outside and (mode is Mode.CUBIC or antialias),
            antialias=antialias,
            axes=self.axes(values.get("axes")),
            keep_aspect_ratio_policy=self.policy(values.get("keep_aspect_ratio_policy"), operands),
            extrapolation_value=values["extrapolation_value"] if crop else None,
        )

    def axes(self, axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if axes == ():
            raise self.refusal("axes", "dialects.axes-empty")
        if axes is not None and len(set(axes)) != len(axes):
            raise self.refusal("axes", "dialects.axis-twice", axes=list(axes))
        return axes

    def policy(self, spelling: str | None, operands: Operands) -> KeepAspectRatioPolicy | None:
        if spelling is None or spelling == "stretch":
            return None
        policy = self.choice("keep_aspect_ratio_policy", spelling, frozenset(KeepAspectRatioPolicy))
        # "it is not applicable when the `scales` input is used" (Resize-18)
        return policy if operands.sizes is not None else None


def _type_name(attribute_type: int) -> str:
    type_numbers = AttributeProto.AttributeType.values()
    return AttributeProto.AttributeType.Name(attribute_type) if attribute_type in type_numbers else str(attribute_type)
