"""A resize as a node of its own dialect, its extent one initializer that shape inference and parsers can read."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from resizefix.dialects.dialect import Dialect, Operands
from resizefix.dialects.write import write
from resizefix.equivalences.chain import Step
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind
from resizefix.operations.replacement import Fresh, Replacement, chain_replacement
from resizefix.operations.site import Site


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
    start: ResizeSpec, end: tuple[ResizeSpec, tuple[Step, ...]], site: Site, dialect: Dialect, fresh: Fresh
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
