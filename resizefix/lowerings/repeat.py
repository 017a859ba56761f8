"""Nearest by a whole factor: every sample repeated, by Concat along a new axis of length 1 and Reshape.

Expand would take one node for the Concats; onnxruntime's is an order of magnitude slower (docs/lowerings.md), opset 7
lacks it, and so do the TensorRT parsers before 7.0.
"""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.index_map import nearest_indices
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.interpolation import Interpolation, Mode, NearestMode
from resizefix.lowerings.conditions import why_not_mode, why_not_whole
from resizefix.lowerings.copies import copied
from resizefix.lowerings.lowering import Lowering

REPEATING: frozenset[tuple[Coordinates, NearestMode]] = frozenset(
    {
        # The p-th copy of sample m lies at m + (p + ½)/s − ½: at least 1/(2s) from a tie.
        (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR),
        (Coordinates.HALF_PIXEL, NearestMode.ROUND_PREFER_CEIL),
        (Coordinates.PYTORCH_HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR),
        (Coordinates.PYTORCH_HALF_PIXEL, NearestMode.ROUND_PREFER_CEIL),
        (Coordinates.HALF_PIXEL_SYMMETRIC, NearestMode.ROUND_PREFER_FLOOR),
        (Coordinates.HALF_PIXEL_SYMMETRIC, NearestMode.ROUND_PREFER_CEIL),
        # Integer division; `simple` is `floor` here.
        (Coordinates.ASYMMETRIC, NearestMode.FLOOR),
        (Coordinates.ASYMMETRIC, NearestMode.SIMPLE),
        # (i + ½)/s = m + (p + ½)/s lies strictly between m and m + 1.
        (Coordinates.TF_HALF_PIXEL_FOR_NN, NearestMode.FLOOR),
    }
)
"""The ways to sample under which a factor of 2 or more repeats every sample, whatever the size."""

LONGEST_REPEATED = 2**21 - 1
"""Up to here float32 coordinates tell neighbours apart."""

REPEATING_TWICE = (Coordinates.ASYMMETRIC, NearestMode.ROUND_PREFER_FLOOR)
"""At factor 2 alone: the coordinate i/2 is whole or a tie, and the tie goes to the floor."""


def repeats(interpolation: Interpolation, axis: Axis) -> bool:
    """Whether nearest repeats each sample of this axis `axis.factor` times.

    A static axis is asked itself: its index map is computed. A dynamic one is taken to be no longer than
    `LONGEST_REPEATED`.
    """
    if interpolation.nearest_mode is None or axis.factor is None:
        return False
    mode, nearest_mode = interpolation.coordinate_transformation_mode, interpolation.nearest_mode
    if axis.size is None:
        return (mode, nearest_mode) in REPEATING or ((mode, nearest_mode) == REPEATING_TWICE and axis.factor == 2)
    indices = nearest_indices((mode, nearest_mode), float(axis.factor), axis.size, axis.size * axis.factor)
    return bool(np.all(indices == np.arange(len(indices)) // axis.factor))


def why_not_repeated(subject: ResizeSpec) -> str | None:
    """None where the whole subject is a repetition of samples; else the reason why it is not."""
    interpolation = subject.interpolation
    if interpolation.mode is not Mode.NEAREST:
        return why_not_mode(interpolation, Mode.NEAREST)
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
    name="repeat",
    operators=frozenset({"Unsqueeze", "Concat", "Reshape", "Shape", "Mul"}),
    computes=False,
    condition=why_not_repeated,
    write=_write,
    first_full_axis=1,
)
