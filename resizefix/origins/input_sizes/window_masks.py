"""Masks of shifted windows: a table for each window of a map, alike for all but those of the last row and column.

A map is rolled before it is cut into windows, so that the last row and column of windows hold samples of both ends,
which must not see each other. However many windows there are, all others have one mask (Swin and its kin).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from resizefix.document.values import Array
from resizefix.origins.input_sizes.dim import Dim, Sizes

_TELLING = 3  # rows of windows: that all but the last are alike is seen of so many


@dataclass(frozen=True)
class WindowMasks:
    """The masks, with axes `dims`, of which the two in `moving` are rows and columns of windows. `masks` has two of
    each: all but the last, and the last."""

    shape: tuple[tuple[Dim, ...], ...]
    dims: tuple[Dim, ...]
    moving: tuple[int, ...]
    masks: Array

    def make(self, length: Callable[[Dim], int]) -> Array:
        """The masks of another number of windows."""
        made = self.masks
        for axis in self.moving:
            count = length(self.dims[axis])
            made = made.take(np.arange(count) == count - 1, axis)
        return made.reshape(merged_lengths(self.shape, length))


def merged_lengths(shape: tuple[tuple[Dim, ...], ...], length: Callable[[Dim], int]) -> list[int]:
    """The lengths of axes that are made of these factors."""
    return [math.prod(length(dim) for dim in factors) for factors in shape]


def window_masks(sizes: Sizes, array: Array, dims: tuple[Dim, ...], known: list[bytes]) -> WindowMasks | None:
    """How a table is such masks; None where it is not. `known` are those found so far: they decide where there are two
    rows or columns of windows, of which the first could be any."""
    shape = tuple(tuple(sizes.atoms(dim)) for dim in dims)
    factors = [factor for axis in shape for factor in axis]
    moving = tuple(axis for axis, factor in enumerate(factors) if sizes.fixed(factor) is None)
    counts = [factors[axis].old or 0 for axis in moving]
    if len(moving) != 2 or moving[1] != moving[0] + 1 or min(counts) < 2 or len(np.unique(array)) != 2:
        return None
    spread = array.reshape([factor.old or 1 for factor in factors])
    if not all(_is_alike(spread, axis) for axis in moving):
        return None
    masks = spread
    for axis in moving:
        masks = masks.take([0, masks.shape[axis] - 1], axis)
    pattern = repr(masks.squeeze().shape).encode() + masks.tobytes()
    if min(counts) < _TELLING and pattern not in known:
        return None
    known.append(pattern)
    return WindowMasks(shape, tuple(factors), moving, masks)


def _is_alike(array: Array, axis: int) -> bool:
    """Whether all but the last on an axis are the same."""
    lines = np.moveaxis(array, axis, 0)[:-1]
    return bool(np.all(lines == lines[:1]))


def may_be_masks(array: Array, axis: int, lengths: tuple[int, ...]) -> bool:
    """Whether a constant could hold a mask for each window on an axis of these factors."""
    if len(lengths) != 2 or min(lengths) < 2 or array.ndim < 3 or len(np.unique(array)) != 2:
        return False
    spread = array.reshape((*array.shape[:axis], *lengths, *array.shape[axis + 1 :]))
    return _is_alike(spread, axis) and _is_alike(spread, axis + 1)
