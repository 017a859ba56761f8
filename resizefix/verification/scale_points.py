"""Which other scales are tried: what the user asked for, and two points that move every promoted input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError, option
from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.interpolation import Extent, ExtentKind
from resizefix.promotion import LARGEST_DENOMINATOR, Form, InputBinding, PromotedInput, common_denominator, numerator
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.output_size import kernel_length

if TYPE_CHECKING:
    from resizefix.verification.reference_model import ComputedSizes


@dataclass(frozen=True)
class ScalePoint:
    """Values for some of the promoted inputs; those that are not named keep their old value. `asked`: by the user."""

    values: tuple[tuple[PromotedInput, tuple[float, ...]], ...]
    asked: bool = False

    def feeds(self, inputs: Sequence[PromotedInput]) -> dict[str, Array]:
        """What to feed all promoted inputs."""
        chosen = {source.name: value for source, value in self.values}
        return {source.name: promoted_feed(source, chosen.get(source.name, source.value)) for source in inputs}

    @cached_property
    def baked(self) -> dict[Key, Extent]:
        """The operands that the same values make, for the re-baked original."""
        return {
            driven.key: Extent(driven.kind, driven.operand(value))
            for source, value in self.values
            for driven in source.sites
        }

    def by_sizes(self, inputs: Sequence[PromotedInput]) -> dict[Key, ComputedSizes]:
        """The nodes that now read sizes which the graph makes of a fractional scale, and that scale as a ratio.

        Fed sizes, a runtime samples at float32(out)/float32(in), which is the scale only where scale × in is whole.
        """
        from resizefix.verification.reference_model import ComputedSizes

        chosen = {source.name: value for source, value in self.values}
        operands: dict[Key, ComputedSizes] = {}
        for driven, value in ((site, chosen.get(one.name, one.value)) for one in inputs for site in one.sites):
            if driven.by_shape and not all(float(scale).is_integer() for scale in driven.operand(value)):
                over = driven.denominator or 1
                numerators = tuple(round(scale * over) for scale in driven.operand(value))
                operands[driven.key] = ComputedSizes(driven.input, numerators, over, driven.axes)
        return operands

    def split(self) -> Iterator[ScalePoint]:
        """One scale point for each input alone."""
        if len(self.values) > 1:
            for pair in self.values:
                yield ScalePoint((pair,), self.asked)


def promoted_feed(source: PromotedInput, value: Sequence[float]) -> Array:
    """A value of a promoted input as the array to feed."""
    return _fed(source.elem_type, tuple(value))


@lru_cache(maxsize=256)
def _fed(elem_type: str, value: tuple[float, ...]) -> Array:
    """One array for all inputs that are fed alike; nobody writes into it."""
    array = np.array(value, np.int64 if elem_type == "int64" else np.float32)
    array.flags.writeable = False
    return array


def other_values(
    source: PromotedInput, fits: Callable[[ScalePoint], bool] | None = None
) -> tuple[tuple[float, ...], ...]:
    """Other values for one input, alone: a whole step up, which cannot be lost in rounding on a small tensor, and where
    that is more than fits into memory steps down."""
    others = _others(source.sites[0][_NAMES:], tuple(source.value))
    return tuple(islice((value for value in others if fits is None or fits(ScalePoint(((source, value),)))), 2))


_NAMES = 4  # the first fields of a binding, in which sites of one kind differ


@lru_cache(maxsize=256)
def _others(kind: tuple[Any, ...], old: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """All values to try but the old one; models have many sites of few kinds, which differ in their names."""
    driven = InputBinding(MAIN, "", "", "", *kind)
    steps = [(_whole_step(driven.kind, driven.base[position]),) for position in driven.scaled]
    ways = [dict(zip(driven.scaled, (1.0 + step for (step,) in steps), strict=True))]
    ways += [dict.fromkeys(driven.scaled, factor) for factor in (1.25, 0.75, 0.5)]
    moved = (driven.input_value(_moved(driven, factors)) for factors in ways)
    return tuple(dict.fromkeys(value for value in moved if value != old))


def _whole_step(kind: ExtentKind, old: float) -> float:
    """By which part of it a scale grows so that however short an axis is, it gets another sample."""
    return 1.0 if kind is ExtentKind.SIZES else (np.floor(old) + 1 - old if old >= 1 else 1.0) / old


# By how much one axis moves and another. Of few bits, so that lengths stay multiples of what they were multiples of, as
# pools behind them want; and no product of them is 1, so that no two inputs undo each other.
_SMALLER = ((1.5, 0.5), (1.25, 0.75), (1.25, 0.5))
_MUCH_SMALLER = ((1.25, 0.5), (1.125, 0.5))
_LARGER = ((1.5, 0.75), (1.5, 1.25))  # where the inputs before made a chain smaller
_LEAST_AREA = 0.5
_LARGE = 2.0**20  # a scale whose move no rounding loses


_RUNS = (2, 4)  # of the two points: both models, the second at both levels
_MOST_COST = 3.2  # forward passes of these runs


def moved_points(
    inputs: Sequence[PromotedInput],
    fits: Callable[[ScalePoint], bool] | None = None,
    cost: Callable[[ScalePoint], float | None] | None = None,
) -> list[ScalePoint]:
    """Two scale points that move every input, neighbours by other factors: one axis grows, another shrinks, and what
    one resize enlarges the next makes smaller. So a run costs no more than one at the old scales, however many there
    are. What grows in the first point shrinks in the second.

    Where a point is more than fits into memory, or both cost more than a proof may, each input makes its own part
    smaller, or much smaller, or all axes shrink.
    """
    ways = [
        [point for point in _ways(inputs, turn) if point.values and (fits is None or fits(point))] for turn in range(2)
    ]
    if cost is None or not all(ways):
        return [points[0] for points in ways if points]
    cost_of = cost

    def costs(pair: tuple[ScalePoint, ScalePoint]) -> float:
        return sum(runs * (cost_of(point) or 1.0) for runs, point in zip(_RUNS, pair, strict=True))

    pairs = [(first, second) for second in ways[1] for first in ways[0] if first.values != second.values]
    pairs = pairs or [(ways[0][0], ways[1][0])]
    cheap = [pair for pair in pairs if costs(pair) <= _MOST_COST]
    best = cheap[0] if cheap else min(pairs, key=costs)
    return list(best)


def even_point(inputs: Sequence[PromotedInput], turn: int) -> ScalePoint:
    """A scale point that doubles or halves all axes, by turns, as what follows may take multiples alone."""
    values = []
    for count, source in enumerate(inputs):
        values += [(source, value) for value in even_value(source, larger=(count + turn) % 2 == 1)]
    return ScalePoint(tuple(values))


_ALIKE = ((0.5, 1.5), (0.5, 0.5), (2.0, 2.0))  # by turns, of the last axis and the one before it


def alike_points(inputs: Sequence[PromotedInput]) -> list[ScalePoint]:
    """Scale points that move all inputs alike on each axis, so that sizes which must be equal stay equal."""
    points = []
    for row in _ALIKE:
        values = []
        for source in inputs:
            driven = source.sites[0]
            factors = {position: row[(len(driven.base) - 1 - position) % len(row)] for position in driven.scaled}
            value = driven.input_value(_moved(driven, factors))
            values += [(source, value)] if value != tuple(source.value) else []
        points += [ScalePoint(tuple(values))] if values else []
    return list(dict.fromkeys(points))


def even_value(source: PromotedInput, *, larger: bool = False) -> list[tuple[float, ...]]:
    """The value that doubles or halves all axes; none where the input can hold no other."""
    driven = source.sites[0]
    value = _another(driven, dict.fromkeys(driven.scaled, 2.0 if larger else 0.5), source.value)
    return [] if value is None else [value]


def _ways(inputs: Sequence[PromotedInput], turn: int) -> Iterator[ScalePoint]:
    """The points that a turn can take, those that tell most first."""
    yield _mixed(inputs, turn)
    yield _mixed(inputs, turn, chained=False)
    yield _mixed(inputs, turn, chained=False, rows=_MUCH_SMALLER)
    yield _shrunk(inputs, turn)


def _mixed(
    inputs: Sequence[PromotedInput], turn: int, *, chained: bool = True, rows: Sequence[tuple[float, float]] = ()
) -> ScalePoint:
    drift: dict[int, float] = {}  # by how much sizes moved along the chain, of each axis, counted from the last
    values = []
    for count, source in enumerate(inputs):
        driven = source.sites[0]
        axes = {position: position - len(driven.base) for position in driven.scaled}
        area = math.prod(drift.get(axis, 1.0) for axis in axes.values())
        choice = rows or (_SMALLER if area > _LEAST_AREA else _LARGER)
        row = choice[(count + turn * (1 + count // len(choice))) % len(choice)]
        first = driven.scaled[turn % len(driven.scaled)]
        if drift:
            first = min(driven.scaled, key=lambda position: drift.get(axes[position], 1.0))
        factors = {position: row[position != first] for position in driven.scaled}
        if driven.form is Form.FACTOR or len(driven.scaled) == 1:
            grows = choice is _LARGER or (not drift and turn == 0)
            factors = dict.fromkeys(driven.scaled, row[0] if grows else min(row[1], 0.75))
        value = _another(driven, factors, source.value)
        if value is not None:
            operand = driven.operand(value)
            for position, axis in axes.items() if chained else ():
                drift[axis] = drift.get(axis, 1.0) * operand[position] / driven.base[position]
            values.append((source, value))
    return ScalePoint(tuple(values))


def _another(driven: InputBinding, factors: Mapping[int, float], old: Sequence[float]) -> tuple[float, ...] | None:
    """The value that moves each axis by its factor; where that is lost in rounding, all by larger ones; None: the input
    can hold no other value."""
    larger = {position: 2.0 if factor > 1 else 0.5 for position, factor in factors.items()}
    upward = dict.fromkeys(factors, 1.5)
    for tried in (factors, larger, upward, dict.fromkeys(factors, 2.0)):
        value = driven.input_value(_moved(driven, tried))
        if value != tuple(old):
            return value
    return None


def _shrunk(inputs: Sequence[PromotedInput], turn: int) -> ScalePoint:
    values = []
    for count, source in enumerate(inputs):
        factor = (0.75, 0.625)[(count + turn) % 2]
        value = source.sites[0].input_value(_moved(source.sites[0], dict.fromkeys(source.sites[0].scaled, factor)))
        if value != tuple(source.value):
            values.append((source, value))
    return ScalePoint(tuple(values))


def _moved(driven: InputBinding, factors: Mapping[int, float]) -> tuple[float, ...]:
    """The operand with some of its numbers moved."""
    operand = list(driven.base)
    for position, factor in factors.items():
        old, size = operand[position], driven.resized_dims[position]
        if driven.kind is ExtentKind.SIZES:
            operand[position] = max(1, round(old * factor), old + 1 if factor > 1 else 1)
        elif driven.by_shape:
            operand[position] = _of_whole_sizes(old * factor, size, up=factor > 1)
        else:
            operand[position] = max(driven.min_scale, _of_few_bits(old * factor, up=factor > 1))
            if not size or operand[position] > _LARGE:
                continue
            if kernel_length(operand[position], size) in (0, kernel_length(old, size)):  # nothing left, or as before
                operand[position] = _of_few_bits((kernel_length(old, size) + 1) / size, up=True)
    with np.errstate(over="ignore"):  # beyond float32 a scale is infinite, and no size is known
        return tuple(float(np.float32(value)) if driven.kind is ExtentKind.SCALES else value for value in operand)


def _of_whole_sizes(scale: float, size: int | None, *, up: bool) -> float:
    """The nearest scale whose product with the size is whole, at any size where that is not known: fed sizes, a runtime
    samples at their ratio, which no other scale is."""
    if size:
        return max(1, round(scale * size)) / size
    return max(1.0, float(np.ceil(scale) if up else np.floor(scale)))


def _of_few_bits(scale: float, *, up: bool) -> float:
    """The scale in sixteenths of the power of two below it: its products with sizes are not rounded, on which runtimes
    could disagree."""
    if not 0 < scale < np.inf:
        return scale
    unit = 2.0 ** (math.floor(math.log2(scale)) - 4)
    return float((np.ceil if up else np.floor)(scale / unit) * unit)


def at_old_values(inputs: Sequence[PromotedInput]) -> ScalePoint:
    """The scale point that changes nothing."""
    return ScalePoint(tuple((source, tuple(source.value)) for source in inputs))


def asked_points(inputs: Sequence[PromotedInput], at: Sequence[Sequence[float]]) -> list[ScalePoint]:
    """The scale points that `--at S` or `--at H,W` ask for: these numbers for the scaled axes of every promoted input.

    Raises UsageError where the count fits no promoted input, a node takes no such scale, or an integer input cannot
    hold a number.
    """
    return [
        ScalePoint(tuple((source, _asked(source, numbers, inputs, at)) for source in inputs), asked=True)
        for numbers in at
    ]


def _asked(
    source: PromotedInput, numbers: Sequence[float], inputs: Sequence[PromotedInput], at: Sequence[Sequence[float]]
) -> tuple[float, ...]:
    driven = source.sites[0]
    said = f"{option('--at')} {','.join(f'{number:g}' for number in numbers)}: {source.name}"
    if len(numbers) not in (1, len(driven.scaled)) or (driven.form is Form.FACTOR and len(set(numbers)) > 1):
        if driven.form is Form.FACTOR:
            raise UsageError("verification.one-factor-for-all", said=said)
        raise UsageError(
            "verification.number-for-each-axis", said=said, scaled=counted(len(driven.scaled), "axis", "axes")
        )
    if min(numbers) < driven.min_scale:
        raise UsageError("verification.scale-too-small", said=said, label=driven.label, least=driven.min_scale)
    over = driven.denominator
    lacking = [] if over is None else [number for number in numbers if numerator(number, over) is None]
    if lacking:
        holds = Diagnostic("verification.whole-numbers" if over == 1 else "verification.numerators", over=over)
        instead, again = _instead(inputs, at)
        raise UsageError(
            "verification.value-not-held", said=said, holds=holds, lacking=lacking[0], instead=instead, retry_args=again
        )
    operand = list(driven.base)
    for count, position in enumerate(driven.scaled):
        operand[position] = _at_scale(driven, position, numbers[0] if len(numbers) == 1 else numbers[count])
    return driven.input_value(operand)


def _instead(inputs: Sequence[PromotedInput], at: Sequence[Sequence[float]]) -> tuple[str, tuple[str, ...]]:
    """What lets integer inputs hold the scales of `at` beside the old ones, in words and as options to type."""
    sites = [driven for source in inputs for driven in source.sites if driven.denominator is not None]
    if not all(driven.by_shape for driven in sites):
        return Diagnostic("verification.whole-factors-before-11"), ()
    old = {driven.base[position] for driven in sites for position in driven.scaled}
    needed = common_denominator({*old, *(number for numbers in at for number in numbers)})
    if needed is None:
        return Diagnostic("verification.no-denominator", most=LARGEST_DENOMINATOR), ()
    return Diagnostic("verification.add-denominator", needed=needed), ("--denominator", str(needed))


def _at_scale(driven: InputBinding, position: int, scale: float) -> float:
    if driven.kind is ExtentKind.SCALES:
        return float(np.float32(scale))
    size = driven.resized_dims[position]
    if size is None:
        raise UsageError("verification.at-without-size", scale=scale, label=driven.label)
    return kernel_length(scale, size)


def sampled_by_sizes(
    scales: ScalePoint, inputs: Sequence[PromotedInput], lengths: Mapping[str, Sequence[int]], difference: float
) -> str:
    """The sentence about a scale point at which sizes decide where nodes sample; it names factors that avoid this.

    `lengths` are the shapes of the resized tensors that are known, `difference` is the largest from the original that
    holds the scales.
    """
    chosen = {source.name: tuple(value) for source, value in scales.values}
    pairs = [(source, chosen.get(source.name, tuple(source.value))) for source in inputs]
    fractional = [(source, value) for source, value in pairs if any(site.by_shape for site in source.sites)]
    fed = ", ".join(f"{source.name}={list(value)}" for source, value in fractional)
    instead = []
    for source, value in fractional:
        steps = [_whole_steps(driven, lengths[driven.input]) for driven in source.sites if driven.input in lengths]
        least = [math.lcm(*column) for column in zip(*steps, strict=True)]
        if any(number % step for number, step in zip(value, least, strict=False)):
            instead.append(f"{source.name}: multiples of {','.join(map(str, least))}")
    whole = f" ({'; '.join(instead)})" if instead else ""
    far = "verification.by-up-to" if difference < math.inf else "verification.in-output-size"
    differs = Diagnostic(far, difference=difference)
    return Diagnostic("verification.sampled-by-sizes", fed=fed, far=differs, whole=whole)


def _whole_steps(driven: InputBinding, shape: Sequence[int]) -> list[int]:
    """Of which numbers the entries of the input must be multiples so that its numerators make whole sizes."""
    over = driven.denominator or 1
    axes = range(len(shape)) if driven.axes is None else driven.axes
    steps = [over // math.gcd(over, shape[axes[position]]) for position in driven.entries]
    return [math.lcm(*steps)] if driven.form is Form.FACTOR else steps
