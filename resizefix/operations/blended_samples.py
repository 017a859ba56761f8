"""Linear interpolation of one axis spelled out: a + (b − a) · w, where a and b pick samples of one tensor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import Scope, is_operator
from resizefix.document.values import Array
from resizefix.lowerings.recovered import Recovered, weighted_of
from resizefix.operations.moved_elements import Moves, constant_of, spatial_samples
from resizefix.shapes.model_view import ModelView

MOST_FRACTIONS = 1 << 16
_DEPTH = 4
Blend = tuple[str, int, list[int], list[Recovered]]
"""The tensor that is resized, its axis, the positions of the nodes that compute it, and what has these weights."""


def blended(view: ModelView, scope: Scope, node: NodeProto) -> Blend | None:
    """What an Add of two such samples resizes; None where it does something else."""
    for low, other in (tuple(node.input), tuple(reversed(node.input))):
        parts = _parts(view, scope, low, other)
        if parts is None:
            continue
        high, fraction, inner = parts
        below = dict(_behind(scope, low))
        for x, places in _behind(scope, high):
            if x in below:
                nodes = [*places, *below[x], *inner]
                found = _weights(view, scope, x, low, high, fraction)
                if found is not None:
                    axis, alternatives = found
                    return x, axis, nodes, alternatives
    return None


def _parts(view: ModelView, scope: Scope, low: str, other: str) -> tuple[str, Array, list[int]] | None:
    """b and w of w · (b − a), and the positions of the two nodes."""
    product = scope.producers.get(other)
    if product is None or not is_operator(scope.body.node[product], "Mul"):
        return None
    for difference, name in (tuple(scope.body.node[product].input), tuple(reversed(scope.body.node[product].input))):
        minus = scope.producers.get(difference)
        fraction = constant_of(view, scope, name, MOST_FRACTIONS)
        is_minus = minus is not None and is_operator(scope.body.node[minus], "Sub")
        if minus is not None and is_minus and fraction is not None and scope.body.node[minus].input[1] == low:
            return str(scope.body.node[minus].input[0]), fraction, [minus, product]
    return None


def _behind(scope: Scope, name: str) -> Iterator[tuple[str, list[int]]]:
    """The tensors that samples may be picked from, the farthest first, each with the nodes between."""
    found: list[tuple[str, list[int]]] = []
    places: list[int] = []
    for _ in range(_DEPTH):
        place = scope.producers.get(name)
        if place is None or not is_operator(scope.body.node[place], *Moves.OPERATORS - Moves.BY_LENGTHS):
            break
        places, name = [*places, place], str(scope.body.node[place].input[0])
        found.append((name, places))
    yield from reversed(found)


def _weights(
    view: ModelView, scope: Scope, x: str, low: str, high: str, fraction: Array
) -> tuple[int, list[Recovered]] | None:
    moves = Moves(view, scope, x, thin=True)
    picked = []
    for name in (low, high):
        positions, shape = moves.of(name)
        picked.append(None if positions is None else spatial_samples(positions, shape))
    first, second = picked
    if first is None or second is None or len(first | second) != 1:
        return None
    (axis,) = first | second
    dims = view.dims(scope, x) or ()
    size = dims[axis] if axis < len(dims) else None
    if not isinstance(size, int) or axis not in first or axis not in second:
        return None
    at, after = first[axis].indices, second[axis].indices
    behind = len(dims) - 1 - axis
    line = fraction.reshape(-1)
    if fraction.dtype != np.float32 or len(line) != len(at) or fraction.ndim < behind + 1:
        return None
    if fraction.shape[fraction.ndim - 1 - behind] != len(at):
        return None
    weights, rows = np.zeros((len(at), size), np.float32), np.arange(len(at))
    weights[rows, at] += np.float32(1) - line
    weights[rows, after] += line
    alternatives = weighted_of([weights])
    return (axis, alternatives) if alternatives else None
