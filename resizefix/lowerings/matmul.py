"""Any mode at a static size: one MatMul per scaled axis with the weights onnxruntime computes.

The nearest to the node replaced, for the weights are the same bits. A matrix has out × size elements, mostly zeros, and
the work grows with it: small ones are a row of their own, preferred to a deconvolution, which overtakes them later.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.index_map import Floats
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import Mode
from resizefix.lowerings.bounds import FINITE, rounding
from resizefix.lowerings.conditions import why_not_static, why_too_large
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.weights import matrix

SMALL = {Mode.NEAREST: 2**14, Mode.LINEAR: 2**14, Mode.CUBIC: 2**18}
"""Elements of a matrix up to which MatMul is the fastest way to compute (docs/lowerings.md)."""


def _why_not_small(subject: ResizeSpec) -> str | None:
    reason, most = _why_not(subject), SMALL[subject.interpolation.mode]
    for axis in () if reason else subject.scaled:
        elements = (axis.size or 0) * (axis.out or 0)
        if elements > most:
            return Diagnostic("lowerings.matrix-too-large", axis=axis.index, elements=elements, most=most)
    return reason


def _why_not(subject: ResizeSpec) -> str | None:
    reason = why_not_static(subject.scaled)
    for axis in subject.scaled:
        reason = reason or why_too_large((axis.size or 0) * max(axis.size or 0, axis.out or 0))
    if reason:
        return reason
    first = subject.scaled[0].index
    if first >= len(subject.axes) - 2:
        return None
    for axis in subject.axes[first:]:
        if axis.size is None:
            return Diagnostic("lowerings.size-behind-not-static", axis=axis.index, scaled=first)
    return None


Multiply = Callable[[str, Floats, int, list[int | None], NodeBuilder], str]
"""Writes the product of a value with a matrix along an axis."""


def _write(multiply: Multiply, subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    sizes = [axis.size for axis in subject.axes]
    gains, taps = [], []
    for axis in reversed(subject.scaled):  # the last axis first, as the cubic and antialias kernels do
        weights = matrix(subject.interpolation, *axis.known)
        x = multiply(x, weights, axis.index, sizes, builder)
        sizes[axis.index] = axis.out
        gains.append(float(np.abs(weights).sum(axis=1).max()))
        taps.append(int(np.count_nonzero(weights, axis=1).max()))
    if subject.interpolation.mode is Mode.NEAREST:
        return ErrorBound(exact=False, note=Diagnostic("lowerings.equal-numbers"), conditions=(FINITE,))
    bound = rounding(subject, gains, sum(taps) + len(taps))
    note = Diagnostic("lowerings.infinity-spreads")
    return ErrorBound(exact=False, bound=bound, note=note, conditions=(FINITE,))


def _multiply(x: str, weights: Floats, axis: int, sizes: list[int | None], builder: NodeBuilder) -> str:
    """`weights` (out × size) applied along one axis; MatMul itself works on the last two."""
    if axis == len(sizes) - 1:
        return builder.add("MatMul", x, builder.value(weights.T, "weights", np.float32))
    constant = builder.value(weights, "weights", np.float32)
    if axis == len(sizes) - 2:
        return builder.add("MatMul", constant, x)
    behind = [size or 0 for size in sizes[axis + 1 :]]  # all static, _why_not has seen to it
    flat = builder.reshape(x, [0] * axis + [weights.shape[1], math.prod(behind)])
    return builder.reshape(builder.add("MatMul", constant, flat), [0] * axis + [weights.shape[0], *behind])


def _multiply_transposed(x: str, weights: Floats, axis: int, sizes: list[int | None], builder: NodeBuilder) -> str:
    """`_multiply`, with the axis last between two Transposes where it is before the last two."""
    if axis >= len(sizes) - 2:
        return _multiply(x, weights, axis, sizes, builder)
    order = [*(at for at in range(len(sizes)) if at != axis), axis]
    moved = builder.add("Transpose", x, perm=order)
    grown = builder.add("MatMul", moved, builder.value(weights.T, "weights", np.float32))
    return builder.add("Transpose", grown, perm=[order.index(at) for at in range(len(sizes))])


def _why_not_transposed(subject: ResizeSpec) -> str | None:
    if subject.scaled[0].index >= len(subject.axes) - 2:
        return Diagnostic("lowerings.nothing-to-transpose")
    return _why_not(subject)


SMALL_MATMUL = Lowering(
    "small_matmul",
    frozenset({"MatMul", "Reshape"}),
    _why_not_small,
    partial(_write, _multiply),
    computes=True,
    first_full_axis=0,
)

MATMUL = Lowering(
    "matmul", frozenset({"MatMul", "Reshape"}), _why_not, partial(_write, _multiply), computes=True, first_full_axis=0
)

TRANSPOSED_MATMUL = Lowering(
    "transposed_matmul",
    frozenset({"MatMul", "Transpose"}),
    _why_not_transposed,
    partial(_write, _multiply_transposed),
    computes=True,
    first_full_axis=0,
)
