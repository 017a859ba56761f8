"""Which numbers a formula makes of any size in a model that follows the input, whichever tensor has that size.

A number may be the size of a map that is nowhere near it, or stand on a map of fixed size; so all are looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.scalar_use import EVERY_FORM, FORMS, RARER, UNMISTAKABLE, ScalarUse, SizeForm, reading
from resizefix.shapes.expression import Dim

SMALLEST = 4
"""Sizes up to here are not looked for, nor whole numbers up to it: they stand for themselves."""
_WRITTEN = (0.25, 0.5, 0.75, 1.5, 2.5, 3.5)
_MOST_DIMS = 400
_MOST_HUNDREDTHS, _WHOLE = 200, 1e-4
_OF_A_PRODUCT = FORMS | RARER | UNMISTAKABLE
_OF_A_NEIGHBOUR = {"whole": FORMS["whole"]}
_NEAREST, _NEIGHBOURS = (0, 1), (2, -1)


class _Way(NamedTuple):
    dim: Dim
    less: int
    form: str


def is_plain(array: Array) -> bool:
    """Whether a number mostly stands for itself: a small whole one, or quarters."""
    size = abs(float(array.flat[0]))
    return not np.isfinite(size) or size in _WRITTEN or (size <= SMALLEST and size == np.floor(size))


class SizeIndex:
    """The numbers that formulas make of the sizes of a model, by their type."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._dims = list(self._all_dims())
        sizes = flow.sizes
        self._held = {dim for dim in self._dims if not all(map(sizes.varies, sizes.atoms(dim)))}
        """Those of which a factor stays, as channels."""
        self._ways: dict[str, tuple[Array, list[_Way]]] = {}

    def uses(self, array: Array) -> list[ScalarUse]:
        """What numbers that are all the same may be; nothing for one that mostly stands for itself."""
        if array.dtype.kind not in "fiu" or is_plain(array):
            return []
        numbers, ways = self._of_type(array.dtype)
        chosen = (ways[place] for place in np.flatnonzero(numbers == float(array.flat[0])))
        found = (reading(way.dim, way.less, way.form, array) for way in chosen)
        return [use for use in found if use is not None]

    def is_of_several(self, array: Array) -> bool:
        """Whether it may be made of both sides of a map, be one less or more than twice a side, or so many hundredths
        of a side of the image: no other file can be written for that, but it may be a size."""
        if array.dtype.kind not in "fiu" or is_plain(array):
            return False
        number = abs(float(array.flat[0]))
        if np.any(np.isclose(self._of_several, number, rtol=1e-6, atol=0)):
            return True
        hundredths = [100 * number / (side.old or 1) for side in self._flow.sizes.sides]
        return any(1 <= share <= _MOST_HUNDREDTHS and abs(share - round(share)) < _WHOLE for share in hundredths)

    @cached_property
    def strides(self) -> frozenset[float | None]:
        """How many pixels one sample of each map is."""
        return frozenset(map(self._flow.sizes.stride, self._dims))

    @cached_property
    def _of_several(self) -> Array:
        sizes, made = self._flow.sizes, [np.zeros(0)]
        every = [tuple(sizes.sides)] + [dims or () for dims in self._flow.dims.values()]
        pairs = {
            (one.old or 1, other.old or 1)
            for dims in every
            for one, other in pairwise(dims)
            if sizes.are_sides(one, other)
        }
        for one, other in pairs:
            root = np.hypot(one, other)
            made.append(np.array([root, root / 2, 1 / root, one / other, other / one]))
        return np.concatenate(
            [*made, *[np.array([2 * (dim.old or 0) - 1, 2 * (dim.old or 0) + 1]) for dim in self._dims]]
        )

    def _of_type(self, dtype: np.dtype[Any]) -> tuple[Array, list[_Way]]:
        """The numbers of a type that the formulas make, and which formula makes each."""
        if dtype.name not in self._ways:
            numbers, ways = [np.zeros(0)], []
            for form in EVERY_FORM:
                near = [dim for dim in self._dims if form in self._forms_of(dim)]
                for less in (*_NEAREST, *(_NEIGHBOURS if form in _OF_A_NEIGHBOUR else ())):
                    dims = [dim for dim in near if (dim.old or 0) - less > SMALLEST]
                    sizes = np.array([(dim.old or 0) - less for dim in dims], np.int64)
                    made = EVERY_FORM[form].of(sizes, dtype.type if dtype.kind == "f" else np.int64)
                    numbers.append(np.asarray(made if dtype.kind == "f" else np.trunc(made), np.float64))
                    ways += [_Way(dim, less, form) for dim in dims]
            self._ways[dtype.name] = np.concatenate(numbers), ways
        return self._ways[dtype.name]

    def _forms_of(self, dim: Dim) -> Mapping[str, SizeForm]:
        return _OF_A_PRODUCT if dim in self._held else EVERY_FORM

    def _all_dims(self) -> Iterator[Dim]:
        """Every size that changes with the input, once: the sides of the image, those of maps, and their areas."""
        seen: set[bytes] = set()
        for dim in self._listed():
            values = self._flow.sizes.lengths(dim)
            if values is None or not self._flow.sizes.varies(dim) or values.tobytes() in seen:
                continue
            seen.add(values.tobytes())
            yield dim
            if len(seen) == _MOST_DIMS:
                return

    def _listed(self) -> Iterator[Dim]:
        sizes = self._flow.sizes
        if not sizes.sides:
            return  # another batch is held against each image alone
        yield from sizes.sides
        if len(sizes.sides) > 1:
            yield from (sizes.product(sizes.sides), sizes.minus(*sizes.sides), sizes.total(sizes.sides))
        yield from (sizes.resolve(dim) for dim, _ in self._flow.makers())
        most = min(2, len(sizes.sides))
        for dims in list(self._flow.dims.values()):
            for one, other in pairwise(map(sizes.resolve, dims or ())):
                if sizes.varies(one) + sizes.varies(other) >= most:
                    yield sizes.product([one, other])
