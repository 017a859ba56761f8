"""Sizes at which a fractional scale makes no whole number: fed sizes, a runtime samples other points there.

A promotion that feeds sizes is exact only where the product is whole; other sizes are tried to measure by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from resizefix.document.document import Document
from resizefix.document.edits import set_shape
from resizefix.document.values import Dims, dims_of
from resizefix.promotion import InputBinding, PromotedInput
from resizefix.runtimes.inputs import Value
from resizefix.shapes.stored_shapes import Shapes

_STEPS = (1, 2, 4, 8, 16, 32)  # networks with skips want multiples of a power of two
_SMALL = 4  # such a step is taken from half the size, which costs a quarter
_SPATIAL = 2  # the axes before are batch and channels


def follow_whole_sizes(source: PromotedInput) -> bool:
    """Whether a site of the input is fed sizes that mean its old scale only where the product with an open size is
    whole."""
    return any(_follows(driven) for driven in source.sites)


def _follows(driven: InputBinding) -> bool:
    open_axes = [position for position in driven.scaled if driven.resized_dims[position] is None]
    return driven.by_shape and any(not float(driven.base[position]).is_integer() for position in open_axes)


def without_whole_sizes(
    original: Document, feeds: Mapping[str, Value], inputs: Sequence[PromotedInput]
) -> Iterator[dict[str, Value]]:
    """Feeds at whose sizes the old scale of one of these sites makes no whole number; the model need not run with
    them."""
    sites = [driven for source in inputs for driven in source.sites if _follows(driven)]
    for step in _STEPS if sites else ():
        moved = _of_other_sizes(original, feeds, step)
        if moved is not None and _is_broken(original, moved, sites):
            yield moved


def _of_other_sizes(original: Document, feeds: Mapping[str, Value], step: int) -> dict[str, Value] | None:
    moved: dict[str, Value] = {}
    for entry in original.proto.graph.input:
        value, dims = feeds.get(entry.name), dims_of(entry.type)
        if not isinstance(value, np.ndarray) or len(dims) != value.ndim:
            continue
        for axis, dim in enumerate(dims[_SPATIAL:], _SPATIAL):
            if not isinstance(dim, int):
                size = value.shape[axis]
                length = (size // 2 if step <= _SMALL else size) + step
                value = np.take(value, np.arange(length) % size, axis)
                moved[entry.name] = value
    return {**feeds, **moved} if moved else None


def _is_broken(original: Document, feeds: Mapping[str, Value], sites: Sequence[InputBinding]) -> bool:
    copy = original.copy()
    for entry in copy.proto.graph.input:
        value = feeds.get(entry.name)
        if isinstance(value, np.ndarray):
            set_shape(entry, value.shape)
    shapes = Shapes(copy.proto)
    return any(_makes_no_whole(driven, shapes.dims((driven.scope, driven.input))) for driven in sites)


def _makes_no_whole(driven: InputBinding, dims: Dims | None) -> bool:
    over = driven.denominator or 1
    for position in driven.scaled if dims is not None else ():
        axis = position if driven.axes is None else driven.axes[position]
        size = dims[axis] if dims is not None and axis < len(dims) else None
        if isinstance(size, int) and size * round(driven.base[position] * over) % over:
            return True
    return False
