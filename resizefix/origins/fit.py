"""The constant scale behind an output size: what s makes every input size n into floor(s·n)?

Every pair (n, out) leaves s the interval [out/n, (out+1)/n). What all pairs leave is narrow; the simplest number in it
is tried at sizes that had no part in finding it, and where it fails that size joins the others.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from resizefix.shapes.output_size import Lengths, inference_lengths, kernel_lengths

EVERY_SIZE: Lengths = np.array(
    sorted({*range(1, 1025), *range(1031, 16384, 97), *(1 << power for power in range(11, 15))}), np.int64
)
"""The sizes at which a scale must hold: all up to 1024, and some of every magnitude to 16384."""

_FITTED_FIRST = 256
# Quotients of whole numbers below this by sizes up to _FITTED_FIRST, where they differ, differ as float64 too.
_LARGEST_DISTINCT = 2**30
_ROUNDS = 24
# How many sizes may come out one off: a product rounded in another type does at up to a sixth of them (97/3 in float64
# and float32), one that is rounded instead of floored at a quarter and more.
_MOST_ROUNDED = 0.2


@dataclass(frozen=True)
class Multiple:
    """out = floor(scale · n), for a float32 scale, but for sizes at which an almost whole product is rounded away.

    `kernel_differs_at` is a size that onnxruntime would make one longer or shorter with the scale as a constant,
    `inference_differs_at` one for which shape inference would say so; None: there is none among those tried.
    `robust` is a scale next to it that gives the right size at all of them under both rules; None: there is none.
    """

    scale: float
    kernel_differs_at: int | None
    inference_differs_at: int | None
    robust: float | None
    lengths: Lengths = field(repr=False, compare=False)

    def made(self, size: int) -> int:
        """What the chain makes of one of EVERY_SIZE."""
        return int(self.lengths[np.searchsorted(EVERY_SIZE, size)])


def fit(meant: Lengths, computed: Lengths, hints: Iterable[float] = ()) -> Multiple | None:
    """The scale behind output sizes, one for each of EVERY_SIZE; None if there is none.

    `meant` are the sizes that the chain aims at, `computed` those that come out: the same, unless the chain divides
    what it aims at by the input's size and the kernel multiplies again. `hints` are numbers that it may well be, tried
    first.
    """
    almost: dict[float, int] = {}
    for candidate in _candidates(meant, tuple(hints)):
        for scale in _neighbours(candidate):
            misses = np.abs(kernel_lengths(scale, EVERY_SIZE) - meant)
            if not misses.any():
                return _multiple(scale, computed)
            if misses.max() == 1 and np.count_nonzero(misses) <= _MOST_ROUNDED * misses.size:
                almost.setdefault(scale, int(np.count_nonzero(misses)))
    return _multiple(min(almost, key=almost.__getitem__), computed) if almost else None


def _multiple(scale: float, computed: Lengths) -> Multiple:
    rules = (kernel_lengths, inference_lengths)
    kernel, inference = (_first(rule(scale, EVERY_SIZE) != computed) for rule in rules)
    near = _neighbours(scale)
    right = [one for one in near if all(np.array_equal(rule(one, EVERY_SIZE), computed) for rule in rules)]
    return Multiple(scale, kernel, inference, right[0] if right else None, computed)


def _neighbours(candidate: float) -> tuple[float, float]:
    nearest = np.float32(candidate)
    return float(nearest), float(np.nextafter(nearest, np.float32(np.inf)))


def _first(differing: npt.NDArray[np.bool_]) -> int | None:
    return int(EVERY_SIZE[np.argmax(differing)]) if differing.any() else None


def _candidates(meant: Lengths, hints: tuple[float, ...]) -> Iterator[float]:
    lowest = _extreme(max, meant[:_FITTED_FIRST], EVERY_SIZE[:_FITTED_FIRST])
    highest = _extreme(min, meant[:_FITTED_FIRST], EVERY_SIZE[:_FITTED_FIRST], added=1)
    # A factor or product that the chain rounded leaves an interval that lacks it by a unit in the last place.
    room = abs(highest) * Fraction(1, 2**22)
    yield from (hint for hint in hints if math.isfinite(hint) and lowest - room <= Fraction(hint) <= highest + room)
    if highest <= 0 or lowest - room >= highest + room:
        return
    pairs = [(int(out), int(size)) for out, size in zip(meant, EVERY_SIZE, strict=True)]
    lowest, highest = (lowest, highest) if lowest < highest else (highest - room, lowest + room)
    for _ in range(_ROUNDS):
        simplest = _simplest(lowest, highest)
        yield float(simplest)
        missed = next(((out, size) for out, size in reversed(pairs) if math.floor(simplest * size) != out), None)
        if missed is None:
            return
        lowest = max(lowest, Fraction(missed[0], missed[1]))
        highest = min(highest, Fraction(missed[0] + 1, missed[1]))
        if lowest >= highest:
            return


def _extreme(
    which: Callable[[Iterable[Fraction]], Fraction], numerators: Lengths, denominators: Lengths, added: int = 0
) -> Fraction:
    """The largest or smallest (`which`) of (numerator + added) / denominator."""
    if numerators.max() >= _LARGEST_DISTINCT or numerators.min() <= -_LARGEST_DISTINCT:
        pairs = zip(numerators, denominators, strict=True)
        return which(Fraction(int(top) + added, int(bottom)) for top, bottom in pairs)
    place = int((np.argmax if which is max else np.argmin)((numerators + added) / denominators))
    return Fraction(int(numerators[place]) + added, int(denominators[place]))


def _simplest(lowest: Fraction, highest: Fraction) -> Fraction:
    """The fraction with the least denominator in [lowest, highest); `lowest` itself at the latest."""
    for denominator in range(1, lowest.denominator):
        numerator = -(-lowest.numerator * denominator // lowest.denominator)
        if numerator * highest.denominator < highest.numerator * denominator:
            return Fraction(numerator, denominator)
    return lowest
