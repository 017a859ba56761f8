"""What the lowerings that copy samples share: the index map of an axis, and how near copies come."""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.index_map import TIE_TOLERANCES, Indices, nearest_indices
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.lowerings.conditions import LONGEST_CHECKED, up_to


def index_map(subject: ResizeSpec, axis: Axis, tie_tolerance: float = TIE_TOLERANCES[0]) -> Indices:
    """The sample each output position copies along an axis of known scale; a dynamic axis as if it were the longest."""
    interpolation = subject.interpolation
    assert axis.scale is not None
    size = LONGEST_CHECKED if axis.size is None else axis.size
    out = int(np.float32(axis.scale) * np.float32(size)) if axis.out is None else axis.out
    form = (interpolation.coordinate_transformation_mode, interpolation.nearest_mode)
    return nearest_indices(form, axis.scale, size, out, tie_tolerance)


def copied(subject: ResizeSpec, longest: int = LONGEST_CHECKED) -> ErrorBound:
    """Bit for bit up to the length `longest` of a dynamic axis; the note says where the node itself depends on the
    version of onnxruntime."""
    note = Diagnostic("lowerings.copies")
    now, before = TIE_TOLERANCES
    for axis in subject.scaled:
        if not np.array_equal(index_map(subject, axis, now), index_map(subject, axis, before)):
            note = Diagnostic("lowerings.copies-but-ties", axis=axis.index)
            break
    return ErrorBound(note=note, conditions=up_to(subject, longest))
