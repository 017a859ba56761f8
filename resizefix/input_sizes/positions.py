"""Learned tables of positions, interpolated for another size of the map: an approximation that ViT and DINO make too.

A row for each position, after rows of tokens that have none (a class token), which stay as they are. The part of the
map is resized as torch's bicubic interpolation does (a = -0.75, half pixels, the border repeated).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.sizes import Sizes

_MANY = 64
_SHARPNESS = -0.75  # torch/aten upsample_bicubic2d; the default of ONNX's cubic_coeff_a, too


class Positions(NamedTuple):
    """A table: `tokens` rows of no position, then height times width rows on `axis`, or on two (`merged` is False)."""

    array: Array
    axis: int
    tokens: int
    height: Dim
    width: Dim
    merged: bool

    def make(self, length: Callable[[Dim], int]) -> Array:
        """The table at the lengths of another size."""
        height, width = length(self.height), length(self.width)
        old = self.height.old or 1, self.width.old or 1
        if (height, width) == old:
            return self.array
        count = 1 if self.merged else 2
        rows = np.moveaxis(self.array, range(self.axis, self.axis + count), range(count))
        tokens, rest = rows[: self.tokens], rows.shape[count:]
        plane = rows[self.tokens :].reshape(*old, -1).astype(np.float64)
        down, across = _cubic(old[0], height), _cubic(old[1], width)
        made = np.einsum("ab,bcd->acd", down, np.einsum("ab,cbd->cad", across, plane)).astype(self.array.dtype)
        if self.merged:
            new = np.concatenate([tokens, made.reshape(height * width, *rest)])
        else:
            new = made.reshape(height, width, *rest)
        return np.ascontiguousarray(np.moveaxis(new, range(count), range(self.axis, self.axis + count)))


def may_be_learned(array: Array) -> bool:
    """Whether a table has as many different numbers as a learned one: a mask, a checkerboard or indices have not, and
    what stands between theirs means nothing."""
    if array.dtype.kind != "f" or not np.any(array != np.floor(array)):
        return False
    return len(np.unique(array)) > min(array.size // 2, _MANY)


def positions_in(sizes: Sizes, array: Array, dims: tuple[Dim, ...]) -> Positions | None:
    """How a table holds positions of the map; None where it does not."""
    moving = [axis for axis, dim in enumerate(dims) if sizes.fixed(dim) is None]
    if array.dtype.kind != "f" or not moving:
        return None
    if len(moving) == 2 and moving[1] == moving[0] + 1:
        height, width = (sizes.resolve(dims[axis]) for axis in moving)
        return _checked(sizes, Positions(array, moving[0], 0, height, width, merged=False))
    if len(moving) != 1:
        return None
    dim = sizes.resolve(dims[moving[0]])
    parts = [sizes.resolve(part) for part in dim.parts] if dim.kind in ("joined", "total") else [dim]
    tokens = [sizes.fixed(part) for part in parts[:-1]]
    atoms = sizes.atoms(parts[-1])
    if None in tokens or len(atoms) != 2:
        return None
    first = sum(count or 0 for count in tokens)
    return _checked(sizes, Positions(array, moving[0], first, atoms[0], atoms[1], merged=True))


def _checked(sizes: Sizes, found: Positions) -> Positions | None:
    """Only where one size follows the height alone, and the other the width."""
    return found if sizes.are_sides(found.height, found.width) else None


def _cubic(old: int, new: int) -> Array:
    """The weights of the old samples in each new one."""
    weights = np.zeros((new, old))
    for place in range(new):
        centre = (place + 0.5) * old / new - 0.5
        first = int(np.floor(centre)) - 1
        for sample in range(first, first + 4):
            weights[place, min(max(sample, 0), old - 1)] += _kernel(abs(centre - sample))
    return weights


def _kernel(x: float) -> float:
    a = _SHARPNESS
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0
