"""Nearest by a whole factor: every sample repeated, by Concat along a new axis of length 1 and Reshape.

Expand would take one node for the Concats; onnxruntime's is an order of magnitude slower (docs/lowerings.md), opset 7
lacks it, and so do the TensorRT parsers before 7.0.
"""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.axis_forms import DOUBLES, REPEATS
from resizefix.equivalences.index_map import nearest_indices
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import Interpolation, Mode
from resizefix.lowerings.conditions import why_not_mode, why_not_whole
from resizefix.lowerings.copies import copied
from resizefix.lowerings.lowering import Lowering

LONGEST_REPEATED = 2**21 - 1
"""Up to here float32 coordinates tell neighbours apart."""


def repeats(interpolation: Interpolation, axis: Axis) -> bool:
    """Whether nearest repeats each sample of this axis `axis.factor` times.

    A static axis is asked itself: its index map is computed. A dynamic one is taken to be no longer than
    `LONGEST_REPEATED`.
    """
    if interpolation.nearest_mode is None or axis.factor is None:
        return False
    form = interpolation.coordinate_transformation_mode, interpolation.nearest_mode
    if axis.size is None:
        return form in (DOUBLES if axis.factor == 2 else REPEATS)
    indices = nearest_indices(form, float(axis.factor), axis.size, axis.size * axis.factor)
    return bool(np.all(indices == np.arange(len(indices)) // axis.factor))


def why_not_repeated(subject: ResizeSpec) -> str | None:
    """None where the whole subject is a repetition of samples; else the reason why it is not."""
    interpolation = subject.interpolation
    reason = why_not_mode(interpolation, Mode.NEAREST)
    if reason:
        return reason
    for axis in subject.scaled:
        if axis.factor is None:
            return why_not_whole([axis])
        if not repeats(interpolation, axis):
            sampled = {
                "coordinates": interpolation.coordinate_transformation_mode,
                "nearest": interpolation.nearest_mode,
            }
            spelled = {name: mode.value for name, mode in sampled.items() if mode is not None}
            return Diagnostic("lowerings.does-not-repeat", axis=axis.index, factor=axis.factor, **spelled)
    return None


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    copies = builder.unsqueeze(x, [axis.index + 1 + k for k, axis in enumerate(subject.scaled)])
    for k, axis in reversed(list(enumerate(subject.scaled))):  # single samples while there are few, then whole rows
        copies = builder.add("Concat", *[copies] * (axis.factor or 1), axis=axis.index + 1 + k)
    _merge(subject, x, copies, builder)
    return copied(subject, LONGEST_REPEATED)


def _merge(subject: ResizeSpec, x: str, copies: str, builder: NodeBuilder) -> str:
    """Reshape `copies`, which has each scaled axis of `x` followed by its repetitions, to the output's shape."""
    first = subject.scaled[0].index
    shape = [0 if axis.index < first else axis.out or -1 for axis in subject.axes]
    if shape.count(-1) <= 1:
        return builder.reshape(copies, shape)
    factors = builder.value([axis.factor or 1 for axis in subject.axes], "factors")
    return builder.add("Reshape", copies, builder.add("Mul", builder.add("Shape", x), factors))


REPEAT = Lowering(
    "repeat", frozenset({"Unsqueeze", "Concat", "Reshape", "Shape", "Mul"}), why_not_repeated, _write, first_full_axis=1
)
