"""Families of formulas that make a number of a size: a simple factor times the size, its root or its logarithm.

They say that a number may follow a size, and not which formula it is: a number may be several of a family.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction

import numpy as np

from resizefix.document.values import Array

_NEAR = 3e-7
"""How far apart, of their size, two float32 are that a few steps of arithmetic made of one number."""
_WRITTEN = 4
"""Numbers of as few digits are written by people."""
_USUAL = 16
"""Fractions and multiples of pi whose parts are no larger, and roots of whole numbers up to it, are usual."""
_FACTORS = tuple({part / whole for whole in (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100) for part in (1, 2, 3)})
_TENTHS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.01, 0.02)
"""Factors of a size that are written in fewer digits than what they make of it."""
_SQUARES = [side**2 for side in range(2, 65)]
_BASES = np.array([*(2.0**power for power in range(1, 17)), *_SQUARES, 10, 100, 1000])
"""What a logarithm of a size is divided by the logarithm of."""
_COUNTS = np.array(sorted({*_BASES, *range(2, 100), *range(100, 1000, 10), 224**2, 384**2, 512**2}))
"""What an area is divided by under a root."""
_SMALLEST = 4


def in_wide_family(array: Array, sizes: Collection[int], lengths: Collection[int]) -> bool:
    """Whether a float is a simple factor times a formula of one of these sizes, and no number that stands for itself;
    `lengths`: the sizes that stay, as counts of channels, of which the root stands for itself, and is a factor too."""
    number = abs(float(array.flat[0]))
    if array.dtype.type not in (np.float32, np.float64) or not np.isfinite(number) or number == 0:
        return False
    large = sorted({size for size in sizes if size > _SMALLEST})
    if _digits(number) <= _WRITTEN:
        return any(_is_tenths(number, size) for size in large)
    if _stands_for_itself(number, lengths):
        return False
    factors = np.array([*_FACTORS, *(length**-0.5 for length in lengths if length > 1)])
    return any(
        _is_among(one, np.outer([*_formulas(size), *(np.log(size) / np.log(_BASES))], factors))
        or _is_among(one**2, size / _COUNTS)
        for size in large
        for one in (number, 1 / number)
    )


def _formulas(size: int) -> Iterator[float]:
    yield from (size, size**0.5, size**0.25, size**0.75, size**1.5, float(size) ** 2)
    yield from (np.log(size), np.log1p(size), np.log(size) ** 0.5, np.log(size) ** 2)


def _is_among(number: float, made: Array) -> bool:
    return bool(np.any(np.abs(made - number) <= _NEAR * number))


def _digits(number: float) -> int:
    """In how many digits a float32 is written at least."""
    kind = np.float32
    return next((count for count in range(1, 9) if kind(f"{number:.{count}g}") == kind(number)), 9)


def _is_tenths(number: float, size: int) -> bool:
    """Whether a number of several digits, no whole one and no quarters, is one of one digit times a size."""
    if _digits(number) < 2 or (number * 4).is_integer():
        return False
    return any(abs(number - factor * size) <= _NEAR * number for factor in _TENTHS)


def _stands_for_itself(number: float, lengths: Collection[int]) -> bool:
    """Whether it is a simple fraction, the root of a length or of one over it, pixels over their largest value, or made
    of pi, e or ten."""
    known = {*range(1, _USUAL + 1), *lengths}
    for one, most in ((number**2, known), (number**-2, known), (1 / number, {255, 127, 510})):
        if round(one) in most and abs(round(one) - one) <= 2 * _NEAR * one:
            return True
    simple = [number, number / np.pi, number * np.pi, number**2 / np.pi, number**2 * np.pi, np.exp(min(number, 9.0))]
    simple += [number / np.log(2), number * np.log(2), number / np.log(10), number * np.log(10)]
    fractions = ((one, Fraction(one).limit_denominator(_USUAL)) for one in simple)
    return any(0 < near.numerator <= _USUAL and abs(float(near) - one) <= 2 * _NEAR * one for one, near in fractions)
