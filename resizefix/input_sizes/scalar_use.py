"""Numbers that are sizes, or simple functions of them: what a division by the size of a map leaves in a file."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.shapes.expression import Dim
from resizefix.shapes.sizes import Sizes

Steps = tuple[tuple[str, int], ...]


class SizeForm(NamedTuple):
    """A formula of a size: its name for users, and the steps that make the number, one after another: an operator, and
    the number that is its other operand. `is_precise`: computed in float64 whatever type the number has."""

    shown: str
    steps: Steps
    is_precise: bool = False

    def of(self, size: Any, kind: type[Any]) -> Any:
        """The number that it makes of a size."""
        made = np.float64(size) if self.is_precise else kind(size)
        with np.errstate(all="ignore"):
            for operator, number in self.steps:
                made = _ARITHMETIC[operator](made, type(made)(number))
        return kind(made) if self.is_precise else made


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Mul": lambda n, number: n * number,
    "Div": lambda n, number: n / number,
    "Over": lambda n, number: number / n,
    "Neg": lambda n, _: -n,
    "Sqrt": lambda n, _: np.sqrt(n),
    "Log": lambda n, _: np.log(n),
    "Square": lambda n, _: n * n,
    "OverLess": lambda n, number: n / (n - number),
}
FORMS: dict[str, SizeForm] = {
    "whole": SizeForm("{}", ()),
    "reciprocal": SizeForm("1/{}", (("Over", 1),)),
    "half": SizeForm("{}/2", (("Div", 2),)),
    "two over": SizeForm("2/{}", (("Over", 2),)),
    "minus": SizeForm("-{}", (("Neg", 0),)),
    "minus half": SizeForm("-{}/2", (("Neg", 0), ("Div", 2))),
}
"""Forms that are looked for wherever a number meets positions."""
RARER: dict[str, SizeForm] = {
    "root": SizeForm("sqrt({})", (("Sqrt", 0),), is_precise=True),
    "over root": SizeForm("1/sqrt({})", (("Sqrt", 0), ("Over", 1)), is_precise=True),
    "double": SizeForm("2*{}", (("Mul", 2),)),
    "quarter": SizeForm("{}/4", (("Div", 4),)),
}
"""Forms of which a number elsewhere may be one."""
RAREST: dict[str, SizeForm] = {
    "fifth": SizeForm("{}/5", (("Div", 5),)),
    "tenth": SizeForm("{}/10", (("Div", 10),)),
    "three tenths": SizeForm("3*{}/10", (("Mul", 3), ("Div", 10)), is_precise=True),
    "third": SizeForm("{}/3", (("Div", 3),)),
    "eighth": SizeForm("{}/8", (("Div", 8),)),
    "three quarters": SizeForm("3*{}/4", (("Mul", 3), ("Div", 4))),
    "fourth root": SizeForm("{}**0.25", (("Sqrt", 0), ("Sqrt", 0)), is_precise=True),
    "over fourth root": SizeForm("{}**-0.25", (("Sqrt", 0), ("Sqrt", 0), ("Over", 1)), is_precise=True),
    "root of two over": SizeForm("sqrt(2/{})", (("Over", 2), ("Sqrt", 0)), is_precise=True),
}
"""Forms of which it may be one where the size is a side or an area, and no product with channels."""
UNMISTAKABLE: dict[str, SizeForm] = {
    "square": SizeForm("{}**2", (("Square", 0),)),
    "over square": SizeForm("1/{}**2", (("Square", 0), ("Over", 1)), is_precise=True),
    "log": SizeForm("log({})", (("Log", 0),), is_precise=True),
    "over one less": SizeForm("{0}/({0}-1)", (("OverLess", 1),), is_precise=True),
    "one less over": SizeForm("({0}-1)/{0}", (("OverLess", 1), ("Over", 1)), is_precise=True),
    "over log": SizeForm("1/log({})", (("Log", 0), ("Over", 1)), is_precise=True),
}
"""No other number is one of these by accident."""
EVERY_FORM = FORMS | RARER | RAREST | UNMISTAKABLE
_OF_FLOATS = {"Over", "OverLess", "Sqrt", "Log"}
USUAL = 16
"""A fraction of no larger denominator is one that somebody wrote."""
SHARES = ("reciprocal", "two over")


def is_written(array: Array, denominators: Container[int] = range(USUAL + 1)) -> bool:
    """Whether shares are such that somebody may have written them: 1 / 8, 0.05."""
    kind = array.dtype.type
    near = [(number, Fraction(float(number)).limit_denominator(USUAL)) for number in array.flat]
    return all(
        kind(f"{number:.2g}") == number or (kind(share) == number and share.denominator in denominators)
        for number, share in near
    )


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
                number = EVERY_FORM[self.form].of(length(dim) - self.less, kind)
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
    if length < 1 or (array.dtype.kind != "f" and any(step in _OF_FLOATS for step, _ in EVERY_FORM[form].steps)):
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


def formula(sizes: Sizes, use: ScalarUse) -> str:
    """A use as text, without spaces: it is typed. Of a list, the formula of each number."""
    shown = []
    for dim, number in zip(use.dims, np.resize(use.array, len(use.dims)), strict=True):
        name = str(number) if dim is None else _name(sizes, sizes.resolve(dim))
        shown.append(name if dim is None else EVERY_FORM[use.form].shown.format(f"({name}-1)" if use.less else name))
    return ",".join(shown)


_SHOWN_KINDS = {"minus": "difference"}


def _name(sizes: Sizes, size: Dim) -> str:
    if size.kind == "symbol":
        return str(size.data)
    if size.kind in _SHOWN_KINDS or size.kind == "const":
        return _SHOWN_KINDS.get(size.kind, str(size.old))
    lines = [name for name in ("height", "width") if sizes.follows(size, name)]
    kind = lines[0] if len(lines) == 1 else "area"
    stride = sizes.stride(size) if len(lines) == 1 else None
    return f"map-{kind}" if stride is None else f"map-{kind}-by-{stride:g}"


def in_turn(either: Sequence[Sequence[Dim | None]]) -> Iterator[tuple[Dim | None, ...]]:
    """Each choice of a size for every number: first those of two in turn, as [W, H, W, H], and of one for all."""
    pairs = product(*either[:2])
    repeated = (tuple(pair[place % 2] for place in range(len(either))) for pair in pairs)
    plain = [one for one in repeated if all(dim in column for dim, column in zip(one, either, strict=True))]
    plain.sort(key=lambda one: len(set(one)) == 1)
    yield from plain
    yield from (one for one in product(*either) if one not in plain)
