"""What a lowering is: a row that says when it applies and builds the nodes. The rows are gathered in table.py.

How far one lies from the node it replaces has the causes of `equivalences/kernel_arithmetic.py`: it has weights of the
true coordinates; the kernel's are off from them unless the scale is a power of two.

Conditions that several lowerings share, and what the kernel takes; each gives None or the reason why not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeBuilder, Replacement
from resizefix.equivalences.kernel_arithmetic import GROWS, UNIT, coordinates, half_step, native_roundings
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.outcome import DYNAMIC_SIZE, ErrorBound
from resizefix.targets.onnxruntime_target import runs_on_axes


@dataclass(frozen=True)
class Lowering:
    """A replacement by other operators, in models of opset `since_opset` and later.

    `condition` gives None or the reason why the subject cannot be lowered this way; `write` adds the nodes from the
    value named `x` on. `operators` are all it may use. `computes`: it does arithmetic in float32, and float16 is cast
    there and back as onnxruntime does for the node itself; otherwise it moves samples and takes any type.
    `first_full_axis`: from which axis on (and on scaled ones) onnxruntime runs the nodes only where the axis is not
    empty, though it runs the node that they replace (measured); None: they take empty tensors too.
    """

    name: str
    operators: frozenset[str]
    condition: Callable[[ResizeSpec], str | None]
    write: Callable[[ResizeSpec, str, NodeBuilder], ErrorBound]
    computes: bool = False
    since_opset: int = 7
    first_full_axis: int | None = None

    def applies(self, subject: ResizeSpec, opset: int) -> str | None:
        """None where `build` can write the replacement for a model of this opset; else the reason why it cannot."""
        if opset < self.since_opset:
            return Diagnostic("lowerings.needs-opset", since=self.since_opset, opset=opset)
        reason = why_not_native(subject)
        if reason is None and self.name != "identity" and subject.is_copy:
            reason = Diagnostic("lowerings.nothing-scaled")
        if reason is None and self.computes and subject.element_type not in FLOATING:
            kind = TensorProto.DataType.Name(subject.element_type).lower()
            reason = Diagnostic("lowerings.computes-floats", kind=kind)
        return reason or self.condition(subject)

    def build(self, subject: ResizeSpec, *, x: str, y: str, opset: int, fresh: Callable[[str], str]) -> Replacement:
        """The nodes that compute `y` from `x`. `fresh` makes an unused name from a suggestion.

        Raises:
            ValueError: it does not apply; ask `applies` first.

        """
        reason = self.applies(subject, opset)
        if reason is not None:
            raise ValueError(f"{self.name}: {reason}")
        builder = NodeBuilder(fresh, opset, y)
        narrow = self.computes and subject.element_type == TensorProto.FLOAT16
        start = builder.add("Cast", x, to=TensorProto.FLOAT) if narrow else x
        error = self.write(subject, start, builder)
        if narrow:
            builder.add("Cast", builder.nodes[-1].output[0], to=TensorProto.FLOAT16)
        builder.nodes[-1].output[0] = y
        nodes, initializers = tuple(builder.nodes), tuple(builder.initializers)
        full = (Diagnostic("lowerings.where-not-empty"),) if self._may_be_empty(subject) else ()
        error = replace(error, conditions=(*error.conditions, *full))
        return Replacement(nodes, initializers, error, self.name)

    def _may_be_empty(self, subject: ResizeSpec) -> bool:
        first = self.first_full_axis
        return first is not None and any(
            axis.size is None and (axis.index >= first or not axis.is_copied) for axis in subject.axes
        )


FINITE = Diagnostic("lowerings.for-finite")

LATTICE: dict[CoordinateTransformationMode, tuple[float, float]] = {
    CoordinateTransformationMode.HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.PYTORCH_HALF_PIXEL: (0.5, -0.5),
    CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC: (0.5, -0.5),
    CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN: (0.5, 0.0),
    CoordinateTransformationMode.ASYMMETRIC: (0.0, 0.0),
}
"""(a, b): output i lies at (i + a)/scale + b. pytorch_half_pixel does not at output length 1; half_pixel_symmetric only
where the output length is exactly scale · size; align_corners has no such form."""


def why_off_lattice(mode: CoordinateTransformationMode) -> str | None:
    """None where the coordinates of `mode` have the form of `LATTICE`."""
    return None if mode in LATTICE else Diagnostic("lowerings.weights-differ", mode=mode.value)


def drift(interpolation: Interpolation, axis: Axis, samples: int = DYNAMIC_SIZE) -> float:
    """The largest error of the kernel's coordinates on an axis scaled by a whole number or its inverse, in pixels.

    On a dynamic axis half a step at that many samples for each rounding: of the quotient, of the difference, and twice
    that of a scale 1/k.
    """
    mode = interpolation.coordinate_transformation_mode
    assert axis.scale is not None
    step = 1 / axis.factor if axis.factor else float(axis.divisor or 1)
    if axis.size is None:
        is_exact = math.log2(step).is_integer()
        return 0.0 if is_exact else (2 if axis.factor else 4) * UNIT * samples / 2
    out = math.floor(axis.size / step)
    a, b = LATTICE[mode]
    true = (np.arange(out) + a) * step + b
    return float(np.max(np.abs(coordinates(mode, axis.scale, axis.size, out) - true), initial=0.0))


def drifting_bound(subject: ResizeSpec, bound: Callable[[ResizeSpec, int], float], *conditions: str) -> ErrorBound:
    """For finite inputs; `bound` gives it for dynamic axes of so many samples. What drifts has a length up to which it
    holds."""
    largest = bound(subject, DYNAMIC_SIZE)
    share = largest - bound(subject, 0)
    is_open = any(axis.size is None and drift(subject.interpolation, axis) for axis in subject.scaled)
    holds = (FINITE, *((GROWS,) if is_open else ()), *conditions)
    return ErrorBound(exact=False, bound=largest, conditions=holds, drift=share)


def rounding(subject: ResizeSpec, gains: Sequence[float], roundings: int) -> float:
    """The difference by rounding alone, when the lowering rounds each term `roundings` times at most."""
    total = math.prod(gains)
    scales = [axis.scale or 1.0 for axis in subject.scaled]
    both = native_roundings(subject.interpolation, scales, len(subject.axes)) + roundings
    return both * UNIT * total + (half_step(total) if subject.element_type == TensorProto.FLOAT16 else 0.0)


LONGEST_CHECKED = 2**16
"""A dynamic axis is taken to be no longer than this."""

# 64 MiB of float32: a file that grows by more is not wanted, and nothing is built that may not be written.
MOST_WEIGHTS = 1 << 24


def why_not_mode(interpolation: Interpolation, mode: Mode) -> str | None:
    """None where it is an interpolation of this mode, without antialiasing."""
    if interpolation.mode is mode and not interpolation.antialias:
        return None
    code = "lowerings.mode-with-antialias" if interpolation.antialias else "lowerings.mode"
    return Diagnostic(code, mode=interpolation.mode.value, wanted=mode.value)


def why_not_whole(axes: Iterable[Axis]) -> str | None:
    """None where every axis grows by a whole factor."""
    other = next((axis.index for axis in axes if axis.factor is None), None)
    return None if other is None else Diagnostic("lowerings.factor-not-whole", axis=other)


def why_too_large(elements: int) -> str | None:
    """Constants must stay within what a file can hold and a machine build."""
    if elements <= MOST_WEIGHTS:
        return None
    return Diagnostic("lowerings.weights-too-large", elements=elements, most=MOST_WEIGHTS)


def why_not_image_axes(subject: ResizeSpec) -> str | None:
    """Convolutions and pools read N × C × 1 to 3 spatial axes and leave N and C alone."""
    if not 3 <= len(subject.axes) <= 5:
        return Diagnostic("lowerings.rank-not-convolved", rank=len(subject.axes))
    return why_not_spatial(subject)


def why_not_spatial(subject: ResizeSpec) -> str | None:
    """None where neither the first axis nor the second is scaled."""
    first = next((axis.index for axis in subject.scaled), 2)
    return Diagnostic("lowerings.axis-not-spatial", axis=first) if first < 2 else None


def why_no_channel_count(subject: ResizeSpec) -> str | None:
    """A depthwise kernel has one filter per channel."""
    return Diagnostic("lowerings.channels-not-static") if subject.axes[1].size is None else None


def up_to(subject: ResizeSpec, longest: int) -> tuple[str, ...]:
    """The condition of what was looked at for dynamic axes up to a length."""
    is_open = any(axis.size is None for axis in subject.scaled)
    return (Diagnostic("lowerings.for-axes-up-to", longest=longest),) if is_open else ()


def why_not_static(axes: Iterable[Axis]) -> str | None:
    """The index map or the weights are constants only if the size is."""
    for axis in axes:
        if axis.size is None or axis.out is None or axis.scale is None:
            return Diagnostic("lowerings.size-not-static", axis=axis.index)
    return None


def why_not_divided(axis: Axis) -> str | None:
    """At scale float32(1/k) the output length is floor(size / k), unless the float32 product rounds to one less."""
    k = axis.divisor
    if axis.scale is None or k is None:
        return Diagnostic("lowerings.not-divided", axis=axis.index)
    sizes = np.arange(LONGEST_CHECKED + 1) if axis.size is None else np.array([axis.size])
    lost = sizes[(np.float32(axis.scale) * sizes.astype(np.float32)).astype(np.int64) != sizes // k]
    if len(lost):
        return Diagnostic("lowerings.length-rounds", axis=axis.index, size=lost[0], length=lost[0] // k, divisor=k)
    return None


# What onnxruntime's own kernel takes. Where it has no answer there is nothing a lowering could be equal to.
# Read in core/providers/cpu/tensor/upsamplebase.h (ScalesValidation) and upsample.cc (the registered types).
FLOATING = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
ANY_MODE = FLOATING
NEAREST_TOO = FLOATING | {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32}
"""Linear takes integers as well, but cuts the fraction off: no lowering here says that."""


@lru_cache(maxsize=256)  # asked for each lowering of a site
def why_not_native(subject: ResizeSpec) -> str | None:
    """None where onnxruntime runs the node and its samples are known beforehand; else the reason why not."""
    interpolation = subject.interpolation
    if None in subject.values:
        return Diagnostic("lowerings.extent-not-constant")
    if interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE:
        return Diagnostic("lowerings.crops")
    if interpolation.keep_aspect_ratio_policy is not None and any(axis < 0 for axis in interpolation.axes or ()):
        return Diagnostic("lowerings.policy-ignored")
    if subject.extent is ExtentKind.SCALES and any(not 0 < (scale or 0) < float("inf") for scale in subject.values):
        return Diagnostic("lowerings.scale-not-positive")
    if any(axis.size == 0 or axis.out == 0 for axis in subject.axes):
        return Diagnostic("lowerings.output-empty")
    return _why_not_type(subject) or _why_not_rank(subject)


def _why_not_type(subject: ResizeSpec) -> str | None:
    types = NEAREST_TOO if subject.interpolation.mode is Mode.NEAREST else ANY_MODE
    if subject.element_type in types:
        return None
    name = TensorProto.DataType.Name(subject.element_type).lower()
    if subject.element_type in NEAREST_TOO and subject.interpolation.mode is Mode.LINEAR:
        return Diagnostic("lowerings.linear-of-integers", kind=name)
    return Diagnostic("lowerings.no-kernel-of-type", mode=subject.interpolation.mode.value, kind=name)


def _why_not_rank(subject: ResizeSpec) -> str | None:
    """Linear and cubic kernels exist for some ranks and places of the scaled axes only."""
    mode, rank, scaled = subject.interpolation.mode, len(subject.axes), sorted(axis.index for axis in subject.scaled)
    grows = all(axis.scale is not None and axis.scale >= 1 for axis in subject.axes)
    channels_last = mode is Mode.LINEAR or subject.interpolation.antialias or grows
    if runs_on_axes(mode.value, rank, scaled, channels_last=channels_last):
        return None
    axes = ", ".join(map(str, scaled))
    return Diagnostic("lowerings.no-kernel-of-rank", mode=mode.value, rank=rank, axes=axes)
