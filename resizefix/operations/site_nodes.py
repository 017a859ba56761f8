"""How a site's node is made to read another operand."""

from __future__ import annotations

from collections.abc import Callable

from onnx import NodeProto

from resizefix.dialects.read import read
from resizefix.document.edits import remove_attribute, set_input
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import ReadSite


def read_instead(
    site: ReadSite, node: NodeProto, kind: ExtentKind, operand: str, empty_scales: Callable[[], str]
) -> None:
    """Let the site's node read `operand` as its scales or sizes; `empty_scales` makes what Resize-11 wants beside
    sizes."""
    dialect = site.dialect
    scales_input = dialect.slot(ExtentKind.SCALES)
    if kind is ExtentKind.SCALES:
        if dialect.sizes_input is not None:
            set_input(node, dialect.sizes_input, "")
        set_input(node, scales_input, operand)
    else:
        scales_are_optional = dialect.inputs[scales_input].optional
        if site.extent.kind is ExtentKind.SCALES:
            set_input(node, scales_input, "" if scales_are_optional else empty_scales())
        set_input(node, dialect.slot(ExtentKind.SIZES), operand)
    after = read(node, dialect).interpolation
    if after.keep_aspect_ratio_policy is not None and site.interpolation.keep_aspect_ratio_policy is None:
        remove_attribute(node, "keep_aspect_ratio_policy")  # beside scales it said nothing
        after = read(node, dialect).interpolation
    if after != site.interpolation:
        raise AssertionError(f"{site.label}: another operand changed its meaning to {after}")
