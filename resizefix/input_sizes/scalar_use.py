"""Numbers that are sizes, or simple functions of them: what a division by the size of a map leaves in a file."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.sizes import Sizes

FORMS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda n: n,
    "reciprocal": lambda n: 1 / n,
    "half": lambda n: n / 2,
    "two over": lambda n: 2 / n,
    "minus": lambda n: -n,
    "minus half": lambda n: -n / 2,
}
"""Forms that are looked for wherever a number meets positions."""
RARER: dict[str, Callable[[Any], Any]] = {
    "root": lambda n: type(n)(float(n) ** 0.5),
    "over root": lambda n: type(n)(float(n) ** -0.5),
    "double": lambda n: 2 * n,
    "quarter": lambda n: n / 4,
}
"""Forms of which a number elsewhere may be one."""
_FRACTIONS = ("reciprocal", "two over", "root", "over root")
SHARES = ("reciprocal", "two over")


class ScalarUse(NamedTuple):
    """Numbers that are `form` of a size less `less`: `dims` has the size of each, or one for all of them.

    Elements that no size stands behind (None in `dims`) stay as they are in `array`.
    """

    dims: tuple[Dim | None, ...]
    less: int
    form: str
    array: Array

    @property
    def dim(self) -> Dim:
        """The size behind the first number that has one."""
        return next(dim for dim in self.dims if dim is not None)

    def make(self, length: Callable[[Dim], int]) -> Array:
        """The numbers at another size, in the arithmetic of their type."""
        made: Array = self.array.copy()
        kind = self.array.dtype.type
        for place, dim in enumerate(self.dims):
            if dim is not None:
                number = (FORMS | RARER)[self.form](kind(length(dim) - self.less))
                made.flat[place if len(self.dims) > 1 else slice(None)] = number
        return made


class MixedUse(NamedTuple):
    """Numbers of which each is a form of a size of its own; those of None stay."""

    parts: tuple[ScalarUse | None, ...]
    array: Array

    def make(self, length: Callable[[Dim], int]) -> Array:
        """The numbers at another size."""
        made: Array = self.array.copy()
        for place, part in enumerate(self.parts):
            if part is not None:
                made.flat[place] = part.make(length).flat[0]
        return made


def reading(dim: Dim, less: int, form: str, array: Array) -> ScalarUse | None:
    """The use of a single number as this form of a size; None where it is another number."""
    length = (dim.old or 0) - less
    if length < 1 or (array.dtype.kind != "f" and form in _FRACTIONS):
        return None
    use = ScalarUse((dim,), less, form, array)
    return use if np.array_equal(use.make(lambda one: one.old or 0), array) else None


def distinct(sizes: Sizes, uses: Iterable[ScalarUse]) -> list[ScalarUse]:
    """The first of each that are the same number at every size."""
    found: list[ScalarUse] = []
    for use in uses:
        if not any(alike(sizes, use, other) for other in found):
            found.append(use)
    return found


def alike(sizes: Sizes, one: ScalarUse, other: ScalarUse) -> bool:
    """Whether two uses are the same number at every size."""
    return one.form == other.form and all(
        a is b
        or (a is not None and b is not None and bool(sizes.same(sizes.plus(a, -one.less), sizes.plus(b, -other.less))))
        for a, b in zip(one.dims, other.dims, strict=True)
    )
