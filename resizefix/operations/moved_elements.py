"""Which element of a tensor stands where after nodes that move elements: positions go through the nodes as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import DefinitionKind, Scope, is_operator
from resizefix.document.values import Array, longest_extent
from resizefix.equivalences.kernel_arithmetic import Indices
from resizefix.lowerings.recovered import Sampled
from resizefix.shapes.moving_values import slice_positions
from resizefix.shapes.operand import MISFITS, attribute_of
from resizefix.shapes.stored_shapes import ModelView, fixed_values
from resizefix.shapes.values import Values

MOST_MOVED = 1 << 24
"""Tensors with more elements are not followed."""
_DEPTH = 24
_SEVERAL = 2  # images, and channels: the fewest whose order shows


def constant_of(view: ModelView, scope: Scope, name: str, most: int = MOST_MOVED) -> Array | None:
    """The numbers of an initializer or Constant node, of up to `most` elements; None for anything else."""
    definition = view.scopes.definition(scope, name) if name else None
    if definition is None:
        return None
    tensor = definition.tensor if definition.kind is DefinitionKind.INITIALIZER else None
    if tensor is None and is_operator(definition.node, "Constant"):
        tensor = next((one.t for one in definition.node.attribute if one.name == "value"), None)
    if tensor is None:
        return _fixed_values(view).array(scope, name)
    return view.document.array(tensor) if longest_extent(tensor.dims) <= most else None


_FIXED: WeakKeyDictionary[ModelView, Values] = WeakKeyDictionary()


def _fixed_values(view: ModelView) -> Values:
    """What holds at the sizes that the file fixes: dynamo computes its tables of indices from them."""
    if view not in _FIXED:
        _FIXED[view] = fixed_values(view)
    return _FIXED[view]


class Moves:
    """The elements of the tensor `x`, followed through the nodes of one scope."""

    OPERATORS = frozenset({"Concat", "Expand", "Gather", "GatherND", "Identity", "Pad", "Reshape", "Slice", "Squeeze"}
                          | {"Tile", "Transpose", "Unsqueeze"})  # fmt: skip

    BY_LENGTHS = frozenset({"Expand", "Reshape", "Tile"})
    """Those of them whose constants may hold the size of any axis."""

    def __init__(self, view: ModelView, scope: Scope, x: str, *, thin: bool) -> None:
        """`thin`: two channels of two images stand for all, which is less to follow; not among nodes `BY_LENGTHS`."""
        self._view, self._scope, self._x = view, scope, x
        self._dims, self._thin = view.dims(scope, x), thin
        self._shape: tuple[int, ...] = ()

    def of(self, name: str) -> tuple[Indices | None, tuple[int, ...]]:
        """The position in `x`, flattened, of each element of a tensor, and the shape of `x`; None where it is not
        known, or images or channels are picked. A batch of open size is taken to hold two images, or one where the
        nodes take no two: one image alone would hide what changes their order, or their number."""
        is_open = [not isinstance(size, int) for size in (self._dims or ())[:2]] == [True, False]
        for images in (_SEVERAL, 1) if is_open else (_SEVERAL,):
            shape = self._shape_of(images)
            if shape is None or longest_extent(shape) > MOST_MOVED:
                return None, ()
            self._shape = shape
            try:
                return self._followed(name, _DEPTH), shape
            except MISFITS:
                continue
        return None, ()

    def _shape_of(self, images: int) -> tuple[int, ...] | None:
        """The shape that is followed; None where a spatial axis is open."""
        sizes = []
        for axis, size in enumerate(self._dims or ()):
            most = images if axis == 0 else _SEVERAL
            if not isinstance(size, int) and axis >= 2:
                return None
            is_whole = isinstance(size, int) and not (self._thin and axis < 2)
            sizes.append(size if isinstance(size, int) and (is_whole or size < most) else most)
        return None if self._dims is None else tuple(sizes)

    def _followed(self, name: str, depth: int) -> Indices | None:
        if name == self._x:
            return np.arange(int(np.prod(self._shape)), dtype=np.int64).reshape(self._shape)
        place = self._scope.producers.get(name)
        node = None if place is None else self._scope.body.node[place]
        if node is None or depth == 0 or not is_operator(node, *self.OPERATORS):
            return None
        data = self._followed(node.input[0], depth - 1)
        if data is None:
            return None
        if node.op_type == "Concat":
            others = [self._followed(other, depth - 1) for other in node.input[1:]]
            parts = [data, *(part for part in others if part is not None)]
            return np.concatenate(parts, attribute_of(node, "axis")) if len(parts) == len(node.input) else None
        moved = self._moved(node, data)
        return moved if moved is None or moved.size <= MOST_MOVED else None

    def _moved(self, node: NodeProto, data: Indices) -> Indices | None:
        operator = node.op_type
        if operator == "Identity":
            return data
        if operator == "Transpose":
            return np.transpose(data, attribute_of(node, "perm"))
        if operator in ("Unsqueeze", "Squeeze"):
            axes = self._integers(node, 1, "axes")
            if axes is None:
                return None
            return np.expand_dims(data, tuple(axes)) if operator == "Unsqueeze" else np.squeeze(data, tuple(axes))
        if operator == "Slice":
            return self._sliced(node, data)
        if operator == "Pad":
            return self._padded(node, data)
        numbers = constant_of(self._view, self._scope, node.input[1]) if len(node.input) > 1 else None
        if numbers is None or numbers.dtype.kind != "i":
            return None
        picked = {
            "Gather": [attribute_of(node, "axis", 0)],
            "GatherND": list(range(numbers.shape[-1] if numbers.ndim else 0)),
        }
        if any(self._holds_images(data, axis) for axis in picked.get(operator, ())):
            return None
        if operator == "Gather":
            return np.take(data, numbers, attribute_of(node, "axis", 0))
        if operator == "GatherND":
            return data[tuple(np.moveaxis(numbers, -1, 0))] if not attribute_of(node, "batch_dims", 0) else None
        if int(np.prod(np.maximum(numbers, 1).astype(np.float64))) > MOST_MOVED:
            return None
        if operator == "Tile":
            return np.tile(data, numbers)
        if operator == "Expand":
            return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(numbers.tolist())))
        zero = attribute_of(node, "allowzero", 0)
        shape = [data.shape[axis] if not size and not zero else size for axis, size in enumerate(numbers.tolist())]
        return data.reshape(shape)

    def _holds_images(self, data: Indices, axis: int) -> bool:
        """Whether images or channels of `x` follow one another along an axis: what is picked of two of them says
        nothing about more."""
        along = range(data.ndim)[axis]
        first = data[tuple(slice(None) if other == along else slice(0, 1) for other in range(data.ndim))]
        return len(np.unique(first // max(int(np.prod(self._shape[2:])), 1))) > 1

    def _sliced(self, node: NodeProto, data: Indices) -> Indices | None:
        starts, ends = self._integers(node, 1, "starts"), self._integers(node, 2, "ends")
        if starts is None or ends is None:
            return None
        axes = self._integers(node, 3, "axes") or list(range(len(starts)))
        steps = self._integers(node, 4, "steps") or [1] * len(starts)
        for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
            if self._holds_images(data, axis):
                return None
            data = np.take(data, list(slice_positions(start, end, step, data.shape[axis])), axis)
        return data

    def _padded(self, node: NodeProto, data: Indices) -> Indices | None:
        pads = self._integers(node, 1, "pads")
        if pads is None or attribute_of(node, "mode", b"constant") != b"edge" or len(node.input) > 3:
            return None
        rank = data.ndim
        return np.pad(data, list(zip(pads[:rank], pads[rank:], strict=True)), mode="edge")

    def _integers(self, node: NodeProto, position: int, name: str) -> list[int] | None:
        """Numbers that stand in an input, or before in an attribute."""
        if position < len(node.input) and node.input[position]:
            value = constant_of(self._view, self._scope, node.input[position])
            return None if value is None else [int(number) for number in value.reshape(-1)]
        stated = attribute_of(node, name)
        return None if stated is None else [int(number) for number in stated]


def spatial_samples(positions: Indices, shape: Sequence[int]) -> dict[int, Sampled] | None:
    """By axis, the sample that each position along it copies, for the axes that change; None where the tensor is no
    grid of samples, or its first two axes change."""
    if positions.ndim != len(shape) or positions.ndim < 3 or not positions.size:
        return None
    samples: dict[int, Sampled] = {}
    for axis, copied in enumerate(np.unravel_index(positions, tuple(shape))):
        first = tuple(slice(None) if other == axis else slice(0, 1) for other in range(positions.ndim))
        line = copied[first]
        if not np.array_equal(copied, np.broadcast_to(line, copied.shape)):
            return None
        indices = line.reshape(-1).astype(np.int64)
        if not np.array_equal(indices, np.arange(shape[axis])):
            if axis < 2:
                return None
            samples[axis] = Sampled(shape[axis], indices)
    return samples
