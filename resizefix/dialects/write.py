"""From a meaning to a node: one writer for all dialects; what the dialect has no words for is refused."""

from __future__ import annotations

import struct
from typing import Any

from onnx import NodeProto, helper

from resizefix.dialects.read import label_of
from resizefix.dialects.row import FLOAT, FLOATS, Dialect, Operands
from resizefix.errors import RefusedError
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
        RefusedError: the dialect cannot say it; the text names the node, the rule and the mend.

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
        self.dialect = dialect
        self.label = label

    def refusal(self, rule: str, reason: str) -> RefusedError:
        return RefusedError(
            "dialects.not-expressible", label=self.label, name=self.dialect.name, why=reason, node=self.label, rule=rule
        )

    def inputs(self) -> list[str]:
        self.check_operands()
        operands = self.operands
        named = {"X": operands.x, "roi": operands.roi, "scales": operands.scales, "sizes": operands.sizes}
        names = [named[row.name] or "" for row in self.dialect.inputs]
        while names and not names[-1]:  # before TensorRT 8.5 a trailing '' was taken for sizes
            names.pop()
        return names

    def check_operands(self) -> None:
        operands, dialect = self.operands, self.dialect
        if operands.roi is not None and dialect.roi_input is None:
            raise self.refusal("roi", "it has no roi. Only tf_crop_and_resize reads one; leave it out with any other.")
        if operands.sizes is not None and dialect.sizes_input is None:
            raise self.refusal("sizes", "it has no input sizes. Turn the sizes into scales first.")
        if operands.scales is not None and dialect.scales_input is None:
            raise self.refusal("scales", f"its scales are an attribute; those here are the tensor '{operands.scales}'.")
        if operands.scales_attribute is not None and dialect.scales_input is not None:
            raise self.refusal(
                "scales", "its scales are an input; those here are an attribute. Make them an initializer."
            )
        named = {"X": operands.x, "roi": operands.roi, "scales": operands.scales, "sizes": operands.sizes}
        for row in dialect.inputs:
            if not row.optional and not named[row.name]:
                mend = ", if only an empty tensor" if dialect.roi_input is not None and row.name != "X" else ""
                raise self.refusal("inputs", f"the input {row.name} must be named{mend}.")
        if "" in named.values():
            raise self.refusal("inputs", "an operand is named ''; use None for one that is absent.")
        extents = (operands.scales, operands.sizes, operands.scales_attribute)
        if all(extent is None for extent in extents):
            raise self.refusal("inputs", "neither scales nor sizes is given. Give one of them.")
        crop = self.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        if crop and operands.roi is None:
            raise self.refusal("roi", "tf_crop_and_resize reads the input roi, which is missing.")

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
                raise self.refusal(
                    "antialias", "antialias is for the modes linear and cubic. Leave it out with nearest."
                )
            values["antialias"] = 1
        if interpolation.axes is not None:
            if not interpolation.axes:
                raise self.refusal("axes", "axes is empty. Name the axes, or use None for all.")
            values["axes"] = interpolation.axes
        if interpolation.keep_aspect_ratio_policy is not None:
            if self.operands.sizes is None:
                raise self.refusal("keep_aspect_ratio_policy", "keep_aspect_ratio_policy is read with sizes alone.")
            values["keep_aspect_ratio_policy"] = interpolation.keep_aspect_ratio_policy.value
        self.check_attributes(values)
        return values

    def mode(self) -> str:
        for spelling, mode in self.dialect.mode_spellings:
            if mode is self.interpolation.mode:
                return spelling
        raise self.refusal("mode", f"it has no mode {self.interpolation.mode.value}. Use Resize-11 or later.")

    def coordinates_are_attributes(self) -> bool:
        """False before Resize-11. Refuses what the dialect does not compute."""
        coordinates, nearest_mode = self.interpolation.coordinate_transformation_mode, self.interpolation.nearest_mode
        if coordinates not in self.dialect.coordinate_transformation_modes:
            need = "19" if coordinates is CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC else "11"
            raise self.refusal(
                "coordinate_transformation_mode",
                f"it has no coordinate_transformation_mode {coordinates.value}. Use Resize-{need} or later, "
                "or another meaning that is equivalent here.",
            )
        if nearest_mode is not None and nearest_mode not in self.dialect.nearest_modes:
            mend = "Use Resize-11 or later, or simple where that is equivalent."
            if nearest_mode is NearestMode.SIMPLE:
                mend = "Use floor where every scale is ≥ 1, ceil where every scale is < 1."
            raise self.refusal("nearest_mode", f"it has no nearest_mode {nearest_mode.value}. {mend}")
        return self.dialect.attribute("coordinate_transformation_mode") is not None

    def scales_attributes(self) -> dict[str, Any]:
        scales = self.operands.scales_attribute
        if self.dialect.scales_input is not None:
            return {}
        assert scales is not None  # check_operands
        if not scales or not all(self.dialect.min_scale <= scale < float("inf") for scale in scales):
            raise self.refusal(
                "scales", f"every scale must be ≥ {self.dialect.min_scale:g} and finite; here they are {list(scales)}."
            )
        if self.dialect.rank is None:
            return {"scales": scales}
        if len(scales) != self.dialect.rank or scales[:2] != (1, 1):
            raise self.refusal("scales", f"it scales the height and width of an NCHW tensor only, not {list(scales)}.")
        return {"height_scale": scales[2], "width_scale": scales[3]}

    def check_attributes(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            row = self.dialect.attribute(key)
            if row is None:
                later = 18 if key in ("antialias", "axes", "keep_aspect_ratio_policy") else 11
                raise self.refusal(key, f"it has no attribute {key}. Use Resize-{later} or later.")
            if row.type in (FLOAT, FLOATS):
                for number in value if row.type == FLOATS else (value,):
                    if _float32(number) != number:
                        raise self.refusal(key, f"{key} holds {number!r}, which is no float32. Round it first.")


def _float32(number: float) -> float | None:
    try:
        value: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return value
