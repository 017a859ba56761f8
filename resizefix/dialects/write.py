"""From a meaning to a node: one writer for all dialects; what the dialect cannot express is refused."""

from __future__ import annotations

import struct
from typing import Any

from onnx import NodeProto, helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import FLOAT, FLOATS, Dialect, Operands
from resizefix.dialects.read import label_of
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode


def write(
    interpolation: Interpolation,
    operands: Operands,
    dialect: Dialect,
    *,
    name: str = "",
    output: str = "",
    doc_string: str = "",
) -> NodeProto:
    """A node of `dialect` that means `interpolation` of `operands`; reading it gives both back unchanged.

    It spells out every attribute its mode reads, even one at its default, and none of the others. Where `scales` and
    `sizes` are both named it names both: that one of them is an empty tensor is for the caller to see to.

    Raises:
        RefusedError: the dialect cannot say it; the text names the node, the rule and the fix.

    """
    writer = _Writer(interpolation, operands, dialect, label_of(dialect.op_type, name, output))
    node: NodeProto = helper.make_node(
        dialect.op_type, writer.inputs(), [output] if output else [], name=name, doc_string=doc_string
    )
    for key, value in writer.attributes().items():
        row = dialect.attribute(key)
        assert row is not None
        node.attribute.append(helper.make_attribute(key, value, attr_type=row.type))
    return node


class _Writer:
    """One meaning under one dialect: `inputs` and `attributes` each refuse what they have no place for."""

    def __init__(self, interpolation: Interpolation, operands: Operands, dialect: Dialect, label: str) -> None:
        self.interpolation = interpolation
        self.operands = operands
        self.named = {"X": operands.x, "roi": operands.roi, "scales": operands.scales, "sizes": operands.sizes}
        self.dialect = dialect
        self.label = label

    def refusal(self, rule: str, code: str, /, **arguments: Any) -> RefusedError:
        why = Diagnostic(code, **arguments)
        return RefusedError(
            "dialects.not-expressible", label=self.label, name=self.dialect.name, why=why, node=self.label, rule=rule
        )

    def inputs(self) -> list[str]:
        self.check_operands()
        names = [self.named[row.name] or "" for row in self.dialect.inputs]
        while names and not names[-1]:  # before TensorRT 8.5 a trailing '' was taken for sizes
            names.pop()
        return names

    def check_operands(self) -> None:
        operands, dialect = self.operands, self.dialect
        if operands.roi is not None and dialect.roi_input is None:
            raise self.refusal("roi", "dialects.no-roi")
        if operands.sizes is not None and dialect.sizes_input is None:
            raise self.refusal("sizes", "dialects.no-sizes")
        if operands.scales is not None and dialect.scales_input is None:
            raise self.refusal("scales", "dialects.scales-are-attribute", scales=operands.scales)
        if operands.scales_attribute is not None and dialect.scales_input is not None:
            raise self.refusal("scales", "dialects.scales-are-input")
        for row in dialect.inputs:
            if not row.optional and not self.named[row.name]:
                may_be_empty = dialect.roi_input is not None and row.name != "X"
                code = "dialects.input-not-named-or-empty" if may_be_empty else "dialects.input-not-named"
                raise self.refusal("inputs", code, name=row.name)
        if "" in self.named.values():
            raise self.refusal("inputs", "dialects.operand-without-name")
        extents = (operands.scales, operands.sizes, operands.scales_attribute)
        if all(extent is None for extent in extents):
            raise self.refusal("inputs", "dialects.no-extent")
        crop = self.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        if crop and operands.roi is None:
            raise self.refusal("roi", "dialects.roi-missing")

    def attributes(self) -> dict[str, Any]:
        interpolation = self.interpolation
        values = {"mode": self.mode(), **self.scales_attributes()}
        if self.coordinates_are_attributes():
            values["coordinate_transformation_mode"] = interpolation.coordinate_transformation_mode.value
            if interpolation.nearest_mode is not None:
                values["nearest_mode"] = interpolation.nearest_mode.value
        if interpolation.cubic_coeff_a is not None:
            values["cubic_coeff_a"] = interpolation.cubic_coeff_a
        if interpolation.extrapolation_value is not None:
            values["extrapolation_value"] = interpolation.extrapolation_value
        if interpolation.exclude_outside:
            values["exclude_outside"] = 1
        if interpolation.antialias:
            if interpolation.mode is Mode.NEAREST:
                raise self.refusal("antialias", "dialects.antialias-with-nearest")
            values["antialias"] = 1
        if interpolation.axes is not None:
            if not interpolation.axes:
                raise self.refusal("axes", "dialects.axes-empty-here")
            values["axes"] = interpolation.axes
        if interpolation.keep_aspect_ratio_policy is not None:
            if self.operands.sizes is None:
                raise self.refusal("keep_aspect_ratio_policy", "dialects.policy-without-sizes")
            values["keep_aspect_ratio_policy"] = interpolation.keep_aspect_ratio_policy.value
        self.check_attributes(values)
        return values

    def mode(self) -> str:
        for spelling, mode in self.dialect.mode_spellings:
            if mode is self.interpolation.mode:
                return spelling
        raise self.refusal("mode", "dialects.lacks-mode", mode=self.interpolation.mode.value)

    def coordinates_are_attributes(self) -> bool:
        """False before Resize-11. Refuses what the dialect does not compute."""
        coordinates, nearest_mode = self.interpolation.coordinate_transformation_mode, self.interpolation.nearest_mode
        if coordinates not in self.dialect.coordinate_transformation_modes:
            need = "19" if coordinates is CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC else "11"
            raise self.refusal(
                "coordinate_transformation_mode", "dialects.lacks-coordinates", value=coordinates.value, need=need
            )
        if nearest_mode is not None and nearest_mode not in self.dialect.nearest_modes:
            simple = nearest_mode is NearestMode.SIMPLE
            code = "dialects.lacks-simple" if simple else "dialects.lacks-nearest-mode"
            raise self.refusal("nearest_mode", code, value=nearest_mode.value)
        return self.dialect.attribute("coordinate_transformation_mode") is not None

    def scales_attributes(self) -> dict[str, Any]:
        scales = self.operands.scales_attribute
        if self.dialect.scales_input is not None:
            return {}
        assert scales is not None  # check_operands
        if not scales or not all(self.dialect.min_scale <= scale < float("inf") for scale in scales):
            raise self.refusal(
                "scales", "dialects.scales-not-taken", least=f"{self.dialect.min_scale:g}", scales=list(scales)
            )
        if self.dialect.rank is None:
            return {"scales": scales}
        if len(scales) != self.dialect.rank or scales[:2] != (1, 1):
            raise self.refusal("scales", "dialects.scales-image-only", scales=list(scales))
        return {"height_scale": float(scales[2]), "width_scale": float(scales[3])}

    def check_attributes(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            row = self.dialect.attribute(key)
            if row is None:
                later = 18 if key in ("antialias", "axes", "keep_aspect_ratio_policy") else 11
                raise self.refusal(key, "dialects.lacks-attribute", name=key, need=later)
            if row.type in (FLOAT, FLOATS):
                for number in value if row.type == FLOATS else (value,):
                    if _float32(number) != number:
                        raise self.refusal(key, "dialects.no-float32", name=key, number=repr(number))


def _float32(number: float) -> float | None:
    try:
        value: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return value
