"""Attributes that are misspelt, of the wrong type, or of another opset."""

import math
from typing import Any

from onnx import AttributeProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import DIALECTS, FLOAT, FLOATS, INT, INTS, STRING, Dialect, dialect_of
from resizefix.document.edits import NodeEdit
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import SINCE_11, SINCE_18
from resizefix.faults.resize_node import ResizeNode
from resizefix.interpolation import CoordinateTransformationMode, KeepAspectRatioPolicy, NearestMode

SPELLING = "attribute-spelling"
TYPE = "attribute-type"
UNKNOWN = "unknown-attribute"

# What other frameworks and old opsets call the modes of Resize.
MODES = {
    **dict.fromkeys(("nearest", "nearest_neighbor", "nearestneighbor"), "nearest"),
    **dict.fromkeys(("linear", "bilinear", "trilinear"), "linear"),
    **dict.fromkeys(("cubic", "bicubic"), "cubic"),
}
_VALUES: dict[str, frozenset[str]] = {
    "coordinate_transformation_mode": frozenset(mode.value for mode in CoordinateTransformationMode),
    "nearest_mode": frozenset(mode.value for mode in NearestMode if mode is not NearestMode.SIMPLE),
    "keep_aspect_ratio_policy": frozenset(("stretch", *(policy.value for policy in KeepAspectRatioPolicy))),
}
_TYPES = {row.name: row.type for dialect in DIALECTS for row in dialect.attributes if row.name != "scales"}


def dialect_of_node(node: ResizeNode) -> Dialect | None:
    """The version of the operator that the model's opset has; None: it has none."""
    try:
        return dialect_of(node.node.op_type, node.opset)
    except RefusedError:
        return None


def wrong_type(node: ResizeNode, _: Preferences) -> Fault | None:
    """An attribute of another type than the operator's, where the value says the same in the right one."""
    for attribute in node.node.attribute:
        wanted = _TYPES.get(attribute.name)
        if wanted is None or attribute.ref_attr_name or attribute.type in (wanted, AttributeProto.UNDEFINED):
            continue
        value = _as_type(node.attributes.get(attribute.name), wanted)
        because = Diagnostic("faults.attribute-type", name=attribute.name)
        if value is None:
            return Fault(TYPE, because, Diagnostic("faults.type-unreadable"), stops_loading=True)
        if sum(other.name == attribute.name for other in node.node.attribute) > 1:
            return Fault(TYPE, because, Diagnostic("faults.attribute-twice"), stops_loading=True)
        change = NodeEdit(node.rewritten(put={attribute.name: value}))
        return Fault(TYPE, because, Diagnostic("faults.becomes", value=value), change, stops_loading=True)
    return None


def _as_type(value: Any, wanted: int) -> Any:
    """The value as the wanted attribute type; None where that would lose something."""
    single = value[0] if isinstance(value, list) and len(value) == 1 else value
    if wanted == STRING:
        return single if isinstance(single, str) else None
    if wanted in (INTS, FLOATS):
        return None
    try:
        number = float(single)
    except (TypeError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    if wanted == INT:
        return int(number) if number.is_integer() else None
    return number if wanted == FLOAT else None


def misspelt_value(node: ResizeNode, _: Preferences) -> Fault | None:
    """A mode or coordinate transformation in capitals, with blanks, or in another framework's word."""
    for name in ("mode", *_VALUES):
        written = node.attributes.get(name)
        if not isinstance(written, str):
            continue
        plain = written.strip().lower().replace("-", "_").replace(" ", "_")
        meant = _mode_meant(node, plain) if name == "mode" else plain if plain in _VALUES[name] else None
        if meant == written:
            continue
        because = Diagnostic("faults.no-such-value", name=name, written=written)
        if meant is None:
            return Fault(SPELLING, because, Diagnostic("faults.value-unknown"))
        change = NodeEdit(node.rewritten(put={name: meant}))
        return Fault(SPELLING, because, Diagnostic("faults.becomes", value=meant), change)
    return None


def _mode_meant(node: ResizeNode, plain: str) -> str | None:
    meant = MODES.get(plain)
    dialect = dialect_of_node(node)
    if dialect is None or meant is None:
        return meant
    return next((spelling for spelling, mode in dialect.mode_spellings if mode.value == meant), meant)


def align_corners(node: ResizeNode, _: Preferences) -> Fault | None:
    """`align_corners`, the argument of other frameworks, written as an attribute."""
    if "align_corners" not in node.attributes:
        return None
    value = node.attributes["align_corners"]
    because = Diagnostic("faults.align-corners")
    written = node.attributes.get("coordinate_transformation_mode")
    if not value:
        change = NodeEdit(node.rewritten(drop={"align_corners"}))
        return Fault(UNKNOWN, because, Diagnostic("faults.align-corners-off"), change)
    has_coordinates = node.opset >= 11 and node.node.op_type == "Resize"
    if not has_coordinates or written not in (None, "align_corners"):
        fix = Diagnostic("faults.align-corners-contradicted", coordinates=written or "asymmetric")
        return Fault(UNKNOWN, because, fix)
    put = {"coordinate_transformation_mode": "align_corners"}
    change = NodeEdit(node.rewritten(drop={"align_corners"}, put=put))
    return Fault(UNKNOWN, because, Diagnostic("faults.align-corners-moved"), change)


def of_another_opset(node: ResizeNode, _: Preferences) -> Fault | None:
    """Attributes that this version of the operator does not have, and that say what it computes without them.

    One that says something else needs a later opset (`operators.too_new_for_the_model`).
    """
    dialect = dialect_of_node(node)
    if dialect is None:
        return None
    names = {row.name for row in dialect.attributes}
    spare = sorted(name for name in node.attributes if name not in names)
    if not spare:
        return None
    because = Diagnostic("opsets.wrong-attribute", dialect=dialect.name, names=", ".join(spare))
    if set(spare) <= SINCE_11 | SINCE_18:
        change = NodeEdit(node.rewritten(drop=set(spare)))
        return Fault(UNKNOWN, because, Diagnostic("faults.attribute-spare"), change)
    return Fault(UNKNOWN, because, Diagnostic("faults.attribute-unknown"))
