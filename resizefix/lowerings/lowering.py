"""What a lowering is: a row that says when it applies and builds the nodes. The rows are gathered in table.py.

How far one lies from the node it replaces has the causes of `equivalences/error_bound.py`: it has weights of the true
coordinates; the kernel's are off from them unless the scale is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.error_bound import DYNAMIC_SIZE, GROWS, UNIT, half_step, native_roundings
from resizefix.equivalences.index_map import coordinates
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import CoordinateTransformationMode, Interpolation
from resizefix.lowerings.conditions import FLOATING, why_not_native


@dataclass(frozen=True)
class Lowered:
    """The nodes that take the place of one, in order, and the constants they read, and how near they come.

    The last node's output has the name asked for. A local function has no initializers: there the caller makes them
    Constant nodes; in a model of IR 3 it lists them among the graph's inputs.
    """

    lowering: str
    nodes: tuple[NodeProto, ...]
    initializers: tuple[TensorProto, ...]
    error: ErrorBound


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

    def build(self, subject: ResizeSpec, *, x: str, y: str, opset: int, fresh: Callable[[str], str]) -> Lowered:
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
        return Lowered(self.name, nodes, initializers, error)

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


def drift(interpolation: Interpolation, axis: Axis) -> float:
    """The largest error of the kernel's coordinates on an axis scaled by a whole number or its inverse, in pixels.

    On a dynamic axis half a step at DYNAMIC_SIZE for each rounding: of the quotient, of the difference, and twice that
    of a scale 1/k.
    """
    mode = interpolation.coordinate_transformation_mode
    assert axis.scale is not None
    step = 1 / axis.factor if axis.factor else float(axis.divisor or 1)
    if axis.size is None:
        is_exact = math.log2(step).is_integer()
        return 0.0 if is_exact else (2 if axis.factor else 4) * UNIT * DYNAMIC_SIZE / 2
    out = math.floor(axis.size / step)
    a, b = LATTICE[mode]
    true = (np.arange(out) + a) * step + b
    return float(np.max(np.abs(coordinates(mode, axis.scale, axis.size, out) - true), initial=0.0))


def finite_and_short(subject: ResizeSpec) -> tuple[str, ...]:
    """The conditions of a bound that may contain drift: it holds for finite inputs, and up to which size."""
    if any(axis.size is None and drift(subject.interpolation, axis) for axis in subject.scaled):
        return FINITE, GROWS
    return (FINITE,)


def rounding(subject: ResizeSpec, gains: Sequence[float], roundings: int) -> float:
    """The difference by rounding alone, when the lowering rounds each term `roundings` times at most."""
    total = math.prod(gains)
    scales = [axis.scale or 1.0 for axis in subject.scaled]
    both = native_roundings(subject.interpolation, scales, len(subject.axes)) + roundings
    return both * UNIT * total + (half_step(total) if subject.element_type == TensorProto.FLOAT16 else 0.0)
