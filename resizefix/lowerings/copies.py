"""Lowerings that copy samples: of a node that changes no size, and of mode nearest."""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import TO_THE_END, NodeBuilder
from resizefix.equivalences.kernel_arithmetic import TIE_TOLERANCES, Indices, nearest_indices
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.rules import DOUBLES, REPEATS
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode
from resizefix.lowerings.lowering import (
    LONGEST_CHECKED,
    Lowering,
    up_to,
    why_not_divided,
    why_not_mode,
    why_not_static,
    why_not_whole,
)
from resizefix.outcome import ErrorBound

_MOST_POSITIONS = 1 << 24  # LONGEST_CHECKED times the largest scale of other forms than repetition


def index_map(subject: ResizeSpec, axis: Axis, tie_tolerance: float = TIE_TOLERANCES[0]) -> Indices:
    """The sample each output position copies along an axis of known scale; a dynamic axis as if it were the longest."""
    assert axis.scale is not None
    longest = min(LONGEST_CHECKED, max(1, int(_MOST_POSITIONS // axis.scale)))
    size = longest if axis.size is None else axis.size
    out = int(np.float32(axis.scale) * np.float32(size)) if axis.out is None else axis.out
    return nearest_indices(subject.form, axis.scale, size, out, tie_tolerance)


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


# A node that changes no size is a copy. onnxruntime copies even where a scale is not 1 (upsample.cc, BaseCompute).
def _why_no_copy(subject: ResizeSpec) -> str | None:
    return None if subject.is_copy else Diagnostic("lowerings.size-changes")


def _write_identity(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    builder.add("Identity", x)
    return ErrorBound(note=Diagnostic("lowerings.copy"))


IDENTITY = Lowering("identity", frozenset({"Identity"}), _why_no_copy, _write_identity)


# Nearest by a whole factor: every sample repeated, by Concat along a new axis of length 1 and Reshape.
# Expand would take one node for the Concats; onnxruntime's is an order of magnitude slower (docs/lowerings.md), opset 7
# lacks it, and so do the TensorRT parsers before 7.0.
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
    reason = why_not_mode(subject.interpolation, Mode.NEAREST)
    if reason:
        return reason
    for axis in subject.scaled:
        if axis.factor is None:
            return why_not_whole([axis])
        if not repeats(subject.interpolation, axis):
            sampled = zip(("coordinates", "nearest"), subject.form, strict=True)
            spelled = {name: mode.value for name, mode in sampled if mode is not None}
            return Diagnostic("lowerings.does-not-repeat", axis=axis.index, factor=axis.factor, **spelled)
    return None


def _runs(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
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
    "repeat", frozenset({"Unsqueeze", "Concat", "Reshape", "Shape", "Mul"}), why_not_repeated, _runs, first_full_axis=1
)


# Nearest by 1/k: every k-th sample, by one Slice with steps.
_SIZE_DEPENDENT = frozenset(
    {CoordinateTransformationMode.ALIGN_CORNERS, CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC}
)
"""Their index map at one size says nothing about other sizes."""


def _why_not_strided(subject: ResizeSpec) -> str | None:
    reason = why_not_mode(subject.interpolation, Mode.NEAREST)
    for axis in subject.scaled:
        reason = reason or why_not_divided(axis) or _why_not_regular(subject, axis)
    return reason


def _why_not_regular(subject: ResizeSpec, axis: Axis) -> str | None:
    interpolation = subject.interpolation
    mode = interpolation.coordinate_transformation_mode
    if axis.size is None and mode in _SIZE_DEPENDENT:
        return Diagnostic("lowerings.depends-on-size", axis=axis.index, mode=mode.value)
    indices = index_map(subject, axis)
    if not len(indices):
        return Diagnostic("lowerings.no-output", axis=axis.index)
    k = axis.divisor or 1
    regular = indices[0] % k + k * np.arange(len(indices))
    wrong = np.flatnonzero(indices != regular)
    if len(wrong):
        at = wrong[0]
        return Diagnostic("lowerings.irregular", axis=axis.index, output=at, sample=indices[at], regular=regular[at])
    if axis.size is None and mode is CoordinateTransformationMode.PYTORCH_HALF_PIXEL and indices[0]:
        return Diagnostic("lowerings.length-one", axis=axis.index)
    return None


def _write_slice(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    axes = [axis.index for axis in subject.scaled]
    starts = [int(index_map(subject, axis)[0]) for axis in subject.scaled]
    steps = [axis.divisor or 1 for axis in subject.scaled]
    # Where the size is no multiple of k the last sample may be one too many: it lies in the last k - 1 - start.
    ends = [start + 1 - step or TO_THE_END for start, step in zip(starts, steps, strict=True)]
    builder.slice(x, axes, starts, ends, steps)
    return copied(subject)


STRIDED_SLICE = Lowering("strided_slice", frozenset({"Slice"}), _why_not_strided, _write_slice, since_opset=10)


# Nearest of a static size: one Gather per scaled axis with the index map onnxruntime computes, whatever it is.
def why_not_gathered(subject: ResizeSpec) -> str | None:
    """Why there is no constant list of the samples that are copied; None: there is."""
    return why_not_mode(subject.interpolation, Mode.NEAREST) or why_not_static(subject.scaled)


def shrinking_first(subject: ResizeSpec) -> list[Axis]:
    """The static axes that are scaled, those that grow the most last."""

    def growth(axis: Axis) -> float:
        size, out, _ = axis.known
        return out / size

    return sorted(subject.scaled, key=growth)


def _write_gather(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in shrinking_first(subject):
        x = builder.add("Gather", x, builder.value(index_map(subject, axis), "indices"), axis=axis.index)
    return copied(subject)


GATHER = Lowering("gather", frozenset({"Gather"}), why_not_gathered, _write_gather)


# Nearest of a static size, for targets without Gather: an axis split into samples, which a Concat puts in order.
def _write_split(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in shrinking_first(subject):
        size, *_ = axis.known
        samples = builder.split(x, axis.index, [1] * size) if size > 1 else [x]
        x = builder.add("Concat", *(samples[index] for index in index_map(subject, axis).tolist()), axis=axis.index)
    return copied(subject)


SPLIT_CONCAT = Lowering("split_concat", frozenset({"Split", "Concat"}), why_not_gathered, _write_split)
