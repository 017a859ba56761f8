"""The nodes that a rewrite puts beside a site, and how a site's operands are written."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import NodeProto, TensorProto, numpy_helper

from resizefix.dialects.dialect import Dialect, Operands
from resizefix.dialects.read import read
from resizefix.dialects.write import write
from resizefix.document.edits import remove_attribute, set_input
from resizefix.equivalences.chain import AxisStep
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind
from resizefix.operations.replacement import Fresh, Replacement, chain_replacement
from resizefix.operations.site import ReadSite, Site


def operands_of(subject: ResizeSpec, site: Site, dialect: Dialect, extent: str, roi: str, empty: str) -> Operands:
    """Named as the targets want them: nothing trailing; a roi where the meaning reads it, an empty one where
    the dialect alone wants one, since some converters take numbers there for a crop."""
    if dialect.scales_input is None:
        values = tuple(value for value in subject.values if value is not None)
        return Operands(site.input, scales_attribute=values)
    crop = subject.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
    named_roi = None
    if crop:
        named_roi = site.read.reading.operands.roi
    elif dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional:
        named_roi = roi
    scales = extent if subject.extent is ExtentKind.SCALES else None
    sizes = extent if subject.extent is ExtentKind.SIZES else None
    if sizes is not None and not dialect.inputs[dialect.scales_input].optional:
        scales = empty  # Resize-11 wants a tensor there
    return Operands(site.input, roi=named_roi, scales=scales, sizes=sizes)


def spelled(
    start: ResizeSpec, end: tuple[ResizeSpec, tuple[AxisStep, ...]], site: Site, dialect: Dialect, fresh: Fresh
) -> Replacement:
    """The node that takes the place of a site that computes `start`, and the constants that it reads: what `rewritten`
    found, in its own dialect. Raises RefusedError where the dialect cannot say it."""
    subject, chain = end
    extent_name = fresh(f"{site.output}_{subject.extent.value}")
    roi_name = fresh(f"{site.output}_roi")
    empty_name = fresh(f"{site.output}_no_scales")
    operands = operands_of(subject, site, dialect, extent_name, roi_name, empty_name)
    node = write(subject.interpolation, operands, dialect, name=site.node.name, output=site.output)
    initializers: list[TensorProto] = []
    if operands.roi == roi_name:
        initializers.append(numpy_helper.from_array(np.zeros(0, np.float32), roi_name))
    if extent_name in node.input:
        dtype = np.float32 if subject.extent is ExtentKind.SCALES else np.int64
        initializers.append(numpy_helper.from_array(np.array(subject.values, dtype), extent_name))
    if operands.scales == empty_name:
        initializers.append(numpy_helper.from_array(np.zeros(0, np.float32), empty_name))
    return chain_replacement(node, initializers, start, chain)


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
