"""Weighted sums along axes by constants: products with matrices, and deconvolutions of every channel alone.

Linear interpolation of one axis spelled out: a + (b − a) · w, where a and b pick samples of one tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import Scope, is_operator
from resizefix.document.values import Array
from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.lowerings.convolutions import Kernel
from resizefix.lowerings.recovered import Recovered, Sampled, kernel_of, nearest_of, weighted_of
from resizefix.operations.moved_elements import Moves, constant_of, spatial_samples
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView

MOST_WEIGHTS = 1 << 20
"""Larger constants are weights of layers, which stay on disk."""
_Group = tuple[int, ...]
_NOTHING: tuple[tuple[int, ...], list[Recovered]] = ((), [])


def multiplied(
    view: ModelView, scope: Scope, nodes: Sequence[NodeProto], x: str
) -> tuple[tuple[int, ...], list[Recovered]]:
    """The axes of `x` that the nodes change by matrices, and the interpolations that have these; none where axes end
    in another order, or the matrices are of no interpolation."""
    dims = view.dims(scope, x)
    if dims is None or len(dims) < 4:  # of three axes it may be a layer's own matrix, which stays on disk
        return _NOTHING
    axes = _Axes([size if isinstance(size, int) else None for size in dims])
    for node in nodes:
        if not axes.take(view, scope, node):
            return _NOTHING
    if axes.groups != [(axis,) for axis in range(len(dims))] or not axes.weights or min(axes.weights) < 2:
        return _NOTHING
    changed = sorted(axes.weights)
    return tuple(changed), weighted_of([axes.weights[axis] for axis in changed])


class _Axes:
    """The axes of a tensor under way: which of the first tensor's each of them holds, and by what it was multiplied."""

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self.sizes = list(sizes)
        self.groups: list[_Group] = [(axis,) for axis in range(len(sizes))]
        self.weights: dict[int, Floats] = {}

    def take(self, view: ModelView, scope: Scope, node: NodeProto) -> bool:
        """Goes through one node; False where it does something else."""
        if node.op_type == "Identity":
            return True
        if node.op_type == "Transpose":
            order = attribute_of(node, "perm") or list(reversed(range(len(self.groups))))
            self.groups = [self.groups[axis] for axis in order]
            return True
        if node.op_type == "Reshape":
            shape = constant_of(view, scope, node.input[1])
            return shape is not None and self._reshape([int(size) for size in shape.reshape(-1)])
        left, right = (constant_of(view, scope, name, MOST_WEIGHTS) for name in node.input[:2])
        if right is not None and left is None:
            return self._multiply(-1, right.T) if right.ndim == 2 else False
        return self._multiply(-2, left) if left is not None and left.ndim == 2 else False

    def _multiply(self, place: int, weights: Floats) -> bool:
        if len(self.groups) < 2 or len(self.groups[place]) != 1 or weights.dtype != np.float32:
            return False
        (axis,) = self.groups[place]
        if self.sizes[axis] != weights.shape[1] or axis in self.weights:
            return False
        self.weights[axis], self.sizes[axis] = weights, weights.shape[0]
        return True

    def _reshape(self, shape: list[int]) -> bool:
        """Neighbouring axes become one, or are told apart again."""
        left = [axis for group in self.groups for axis in group]
        groups: list[_Group] = []
        for place, size in enumerate(shape):
            if size == 0 and place < len(self.groups) and left[: len(self.groups[place])] == list(self.groups[place]):
                groups.append(self.groups[place])
                del left[: len(self.groups[place])]
                continue
            group: list[int] = []
            if size == -1 and place == len(shape) - 1:
                group, left = left, []
            while left and self._product(group) != size and size > 1:
                group.append(left.pop(0))
            if (size == -1 and not group) or (size > 1 and self._product(group) != size):
                return False
            if size == 1 and left and self.sizes[left[0]] == 1:
                group.append(left.pop(0))
            groups.append(tuple(group))
        self.groups = groups
        return not left

    def _product(self, group: Sequence[int]) -> int | None:
        sizes = [self.sizes[axis] for axis in group]
        return None if None in sizes else prod(size for size in sizes if size is not None)


def deconvolved(view: ModelView, scope: Scope, node: NodeProto) -> tuple[str, tuple[int, ...], list[Recovered]]:
    """What is resized by a deconvolution of every channel alone, on which axes, and the interpolations of that kernel.

    Nearest has a kernel of ones, as large as the stride. Linear and cubic read repeated edges before it.
    """
    nothing: tuple[str, tuple[int, ...], list[Recovered]] = ("", (), [])
    weights = constant_of(view, scope, node.input[1], MOST_WEIGHTS)
    if weights is None or weights.dtype != np.float32 or weights.ndim < 3 or weights.shape[1] != 1:
        return nothing
    spatial = weights.ndim - 2
    strides = attribute_of(node, "strides", [1] * spatial)
    plain = len(node.input) < 3 and attribute_of(node, "group", 1) == weights.shape[0]
    plain = plain and not any(attribute_of(node, "output_padding", [])) and not attribute_of(node, "output_shape")
    plain = plain and all(step == 1 for step in attribute_of(node, "dilations", []))
    plain = plain and attribute_of(node, "auto_pad", b"NOTSET") == b"NOTSET"
    if not plain or not np.all(weights == weights[:1]):
        return nothing
    pads, dense = list(attribute_of(node, "pads", [0] * 2 * spatial)), weights[0, 0]
    axes = tuple(axis + 2 for axis, stride in enumerate(strides) if stride > 1)
    if not axes:
        return nothing
    if list(dense.shape) == list(strides) and np.all(dense == 1) and not any(pads):
        dims = view.dims(scope, node.input[0])
        sizes = [None if dims is None else dims[axis] for axis in axes]
        tables = [
            Sampled(size, np.arange(size * strides[axis - 2]) // strides[axis - 2])
            for axis, size in zip(axes, sizes, strict=True)
            if isinstance(size, int)
        ]
        return node.input[0], axes, nearest_of(tables) if len(tables) == len(axes) else []
    x = _before_edges(scope, node.input[0])
    chains = []
    for one, kernels in kernel_of(dense, strides):
        crop = [each.crop[end] for end in (0, 1) for each in kernels]
        if x and crop == pads and _repeats_edges(view, scope, x, node.input[0], kernels):
            scales = tuple(float(strides[axis - 2]) for axis in axes)
            chains.append(one._replace(scales=scales))
    return x, axes, chains


def _before_edges(scope: Scope, name: str) -> str:
    """The tensor whose edges were repeated."""
    for _ in range(4):
        place = scope.producers.get(name)
        node = None if place is None else scope.body.node[place]
        if is_operator(node, "Pad"):
            name = node.input[0]
        elif is_operator(node, "Concat"):
            sources = {_sliced(scope, part) for part in node.input}
            if len(sources) > 1:
                return name
            name = sources.pop()
        else:
            return name
    return name


def _sliced(scope: Scope, name: str) -> str:
    place = scope.producers.get(name)
    node = None if place is None else scope.body.node[place]
    return str(node.input[0]) if is_operator(node, "Slice", "Gather", "Split") else name


def _repeats_edges(view: ModelView, scope: Scope, x: str, name: str, kernels: Sequence[Kernel]) -> bool:
    positions, shape = Moves(view, scope, x, thin=True).of(name)
    samples = None if positions is None else spatial_samples(positions, shape)
    if samples is None:
        return False
    for axis, each in enumerate(kernels, start=2):
        wanted = np.clip(np.arange(-each.before, shape[axis] + each.after), 0, shape[axis] - 1)
        own = samples[axis].indices if axis in samples else np.arange(shape[axis])
        if not np.array_equal(own, wanted):
            return False
    return True


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
                weights = _weights(view, scope, x, low, high, fraction)
                if weights is not None:
                    axis, alternatives = weights
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
    pairs: list[tuple[str, list[int]]] = []
    places: list[int] = []
    for _ in range(_DEPTH):
        place = scope.producers.get(name)
        if place is None or not is_operator(scope.body.node[place], *Moves.OPERATORS - Moves.BY_LENGTHS):
            break
        places, name = [*places, place], str(scope.body.node[place].input[0])
        pairs.append((name, places))
    yield from reversed(pairs)


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
