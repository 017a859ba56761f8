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
"""Fractions whose denominator is no larger, multiples of pi, and roots of whole numbers up to it, are usual."""
_WHOLES = (1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 144, 196, 256, 400, 1000)
_FACTORS = (*{part / whole for whole in _WHOLES for part in (1, 2, 3, 4)}, np.pi, 2 * np.pi, 1 / np.pi, 0.5 / np.pi)
_TENTHS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.01, 0.02, 0.001)
"""Factors of one digit that make a number of two digits of a size."""
_SQUARES = [side**2 for side in range(2, 65)]
_BASES = np.array([*(2.0**power for power in range(1, 17)), *_SQUARES, 10, 100, 1000])
"""What a logarithm of a size is divided by the logarithm of."""
_COUNTS = np.array(sorted({*_BASES, *range(2, 100), *range(100, 1000, 10), 224**2, 384**2, 512**2}))
"""What a size is divided by under a root or a logarithm."""
_POWERS = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1, 3 / 2, 2)
_SMALLEST = 4


def in_wide_family(
    array: Array, sizes: Collection[float], lengths: Collection[int], further: Collection[float] = ()
) -> bool:
    """Whether a float is a simple factor times a formula of one of these sizes, and no number that stands for itself;
    `lengths`: the sizes that stay, as counts of channels, of which the root stands for itself, and is a factor too;
    `further`: sizes of which a formula has no factor."""
    number = abs(float(array.flat[0]))
    if array.dtype.type not in (np.float32, np.float64) or not np.isfinite(number) or number == 0:
        return False
    large = sorted({size for size in sizes if size > _SMALLEST})
    if _digits(number) <= _WRITTEN:
        return any(_is_tenths(number, size) for size in large)
    if _stands_for_itself(number, lengths):
        return False
    if any(_is_among(one, np.array([*_formulas(size)])) for size in further for one in (number, 1 / number)):
        return True
    factors = np.array([*_FACTORS, *(length**-0.5 for length in lengths if length > 1)])
    return any(
        _is_among(one, np.outer([*_formulas(size), *(np.log(size) / np.log(_BASES))], factors))
        or _is_among(one**2, size / _COUNTS)
        or _is_among(one, np.outer(np.abs(np.log(size / _COUNTS)), 1 / np.log([np.e, 2, 10])))
        for size in large
        for one in (number, 1 / number)
    )


def _formulas(size: float) -> Iterator[float]:
    yield from (float(size) ** power for power in _POWERS)
    yield from (np.log(size), np.log1p(size), np.log(size) ** 0.5, np.log(size) ** 2)


def _is_among(number: float, made: Array) -> bool:
    return bool(np.any(np.abs(made - number) <= _NEAR * number))


def _digits(number: float) -> int:
    """In how many digits a float32 is written at least."""
    kind = np.float32
    return next((count for count in range(1, 9) if kind(f"{number:.{count}g}") == kind(number)), 9)


def _is_tenths(number: float, size: float) -> bool:
    """Whether a number of several digits, no whole one and no quarters, is one of one digit times a size."""
    digits = _digits(number)
    if digits < 2 or (number * 4).is_integer():
        return False
    factors = [float(f"{number / size:.0e}")] if digits > 2 else _TENTHS
    written = (factor for factor in factors if f"{factor:.0e}"[0] <= "5" or digits == 2)
    return any(abs(number - factor * size) <= _NEAR * number for factor in written)


def _stands_for_itself(number: float, lengths: Collection[int]) -> bool:
    """Whether it is a simple fraction, the root of a length or of one over it, pixels over their largest value, or made
    of pi, e or ten."""
    known = {*range(1, _USUAL + 1), *lengths}
    for one, most in ((number**2, known), (number**-2, known), (1 / number, {255, 127, 510})):
        if round(one) in most and abs(round(one) - one) <= 2 * _NEAR * one:
            return True
    share = Fraction(number).limit_denominator(_USUAL)
    of_few = share.numerator <= _SMALLEST or share.denominator in (1, 2, 4, 8)
    if of_few and share > 0 and abs(float(share) - number) <= 2 * _NEAR * number:
        return True
    simple = [number / np.pi, number * np.pi, number**2 / np.pi, number**2 * np.pi, np.exp(min(number, 9.0))]
    simple += [number / np.log(2), number * np.log(2), number / np.log(10), number * np.log(10)]
    fractions = ((one, Fraction(one).limit_denominator(_USUAL)) for one in simple)
    return any(0 < near.numerator <= _USUAL and abs(float(near) - one) <= 2 * _NEAR * one for one, near in fractions)
