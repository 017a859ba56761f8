"""What an Upsample/Resize node says by itself: its attributes, and which of its operands gives the extent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import AttributeProto, NodeProto

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.document.scopes import Scope
from resizefix.errors import RefusedError
from resizefix.interpolation import ExtentKind

_FLAGS = ("exclude_outside", "antialias")
_TEXTS = ("mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy")


def reads_ahead(node: NodeProto, producers: Mapping[str, int]) -> bool:
    """Whether a node that makes an operand besides the tensor stands behind this one; `producers`: their places."""
    places = [producers[name] for name in node.input[1:] if name in producers]
    return bool(places and node.output) and max(places) > producers.get(node.output[0], max(places))


def extent_of(
    node: NodeProto, opset: int, written: dict[str, AttributeProto], empty_scales: bool, empty_sizes: bool
) -> tuple[ExtentKind | None, str, tuple[float, ...]]:
    """The operand that gives the extent, or the values of the attribute that does."""
    operands = list(node.input) + [""] * 4
    if node.op_type == "Resize" and opset >= 11:
        if operands[3] and not empty_sizes:
            return ExtentKind.SIZES, operands[3], ()
        if operands[2] and not empty_scales:
            return ExtentKind.SCALES, operands[2], ()
        return None, "", ()
    if operands[1] and (opset >= 9 or "scales" not in written):
        return ExtentKind.SCALES, operands[1], ()
    if "scales" in written:
        return ExtentKind.SCALES, "", tuple(written["scales"].floats)
    if {"height_scale", "width_scale"} <= written.keys():
        return ExtentKind.SCALES, "", (1.0, 1.0, written["height_scale"].f, written["width_scale"].f)
    return None, "", ()


def spellings(written: dict[str, AttributeProto]) -> dict[str, Any]:
    """The attributes as they are written. One that the calls of a local function give unlike is left at its default."""
    given = {name: attribute for name, attribute in written.items() if not attribute.ref_attr_name}
    spelled: dict[str, Any] = {}
    for name in given:
        if name in _TEXTS:
            spelled[name] = given[name].s.decode("utf-8", errors="replace")
        elif name in _FLAGS:
            spelled[name] = bool(given[name].i)
        elif name == "cubic_coeff_a":
            spelled[name] = given[name].f
        elif name == "axes":
            spelled[name] = tuple(given[name].ints) or None  # an empty list is no list to every parser read so far
    return spelled


def why_unreadable(node: NodeProto, opset: int) -> str | None:
    """Why the dialect refuses the node; None: it does not."""
    try:
        read(node, dialect_of(node.op_type, opset))
    except RefusedError as refusal:
        return str(refusal)
    return None


def enclosing(scope: Scope) -> frozenset[str]:
    """The operators whose bodies a scope stands in, and "function"."""
    found = set()
    current: Scope | None = scope
    while current is not None:
        if current.parent is not None and current.owner is not None:
            found.add(current.parent.body.node[current.owner].op_type)
        elif current.in_function:
            found.add("function")
        current = current.parent
    return frozenset(found)
