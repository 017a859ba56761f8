"""Which other scales are tried: what the user asked for, else one step up and a fraction, for every promoted input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.resized_length import kernel_length
from resizefix.document.shapes import Key
from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.errors import UsageError
from resizefix.interpolation import ExtentKind
from resizefix.promotion import LARGEST_DENOMINATOR, Form, InputBinding, PromotedInput, common_denominator, numerator
from resizefix.scope_path import MAIN

if TYPE_CHECKING:
    from resizefix.verification.reference_model import ComputedSizes, ConstantOperand


_MOST_INCLUSIVE = 8  # of many inputs that are not free all at once; each costs a session of the whole model


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
    def baked(self) -> dict[Key, ConstantOperand]:
        """The operands that the same values make, for the re-baked original."""
        from resizefix.verification.reference_model import ConstantOperand

        return {
            driven.key: ConstantOperand(driven.kind, driven.operand(value))
            for source, value in self.values
            for driven in source.sites
        }

    def by_sizes(self, inputs: Sequence[PromotedInput]) -> dict[Key, ComputedSizes]:
        """The nodes that now read sizes which the graph makes of a fractional scale, and that scale as a ratio.

        Fed sizes, a runtime samples at float32(out)/float32(in), which is the scale only where scale × in is whole.
        """
        from resizefix.verification.reference_model import ComputedSizes

        chosen = {source.name: value for source, value in self.values}
        found: dict[Key, ComputedSizes] = {}
        for driven, value in ((site, chosen.get(one.name, one.value)) for one in inputs for site in one.sites):
            if driven.by_shape and not all(float(scale).is_integer() for scale in driven.operand(value)):
                over = driven.denominator or 1
                numerators = tuple(round(scale * over) for scale in driven.operand(value))
                found[driven.key] = ComputedSizes(driven.input, numerators, over, driven.axes)
        return found

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
    """Two other values for one input: the first is a whole step up, the second a fraction (if the input can say it).

    A whole step decides whether a site is free: it cannot be lost in rounding, as a fraction on a small tensor can.
    Where that is more than fits into memory, steps down take their place.
    """
    others = _others(source.sites[0][_NAMES:], tuple(source.value))
    return tuple(islice((value for value in others if fits is None or fits(ScalePoint(((source, value),)))), 2))


_NAMES = 4  # the first fields of a binding, in which sites of one kind differ


@lru_cache(maxsize=256)
def _others(kind: tuple[Any, ...], old: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """All values to try but the old one; models have many sites of few kinds, which differ in their names."""
    driven = InputBinding(MAIN, "", "", "", *kind)
    moved = (driven.input_value(_moved(driven, step)) for step in _Step)
    return tuple(dict.fromkeys(value for value in moved if value != old))


class _Step(Enum):
    UP = "a whole step up"
    UP_FRACTION = "a fraction up"
    DOWN = "a whole step down"
    DOWN_FRACTION = "a fraction down"


def _moved(driven: InputBinding, step: _Step) -> tuple[float, ...]:
    operand = list(driven.base)
    for position in driven.scaled:
        old = operand[position]
        if driven.kind is ExtentKind.SIZES:
            operand[position] = _moved_size(int(old), driven.resized_dims[position] or int(old), step)
        else:
            operand[position] = max(driven.min_scale, _moved_scale(old, step))
    with np.errstate(over="ignore"):  # beyond float32 a scale is infinite, and no size is known
        return tuple(float(np.float32(value)) if driven.kind is ExtentKind.SCALES else value for value in operand)


def _moved_scale(old: float, step: _Step) -> float:
    if step is _Step.UP:
        # A sample more at least, however short the axis.
        return _sixteenths(old + 1) if old < 1 else float(np.floor(old)) + 1
    if step is _Step.UP_FRACTION:
        return _sixteenths(old * 1.25)
    if step is _Step.DOWN:
        return float(np.ceil(old)) - 1 if old > 2 else old * 0.5
    return old * 0.75


def _sixteenths(scale: float) -> float:
    """The next sixteenth: its products with sizes are not rounded, on which runtimes could disagree."""
    return float(np.ceil(scale * 16)) / 16


def _moved_size(old: int, resized: int, step: _Step) -> int:
    if step in (_Step.UP, _Step.UP_FRACTION):
        return old + (resized if step is _Step.UP else max(1, resized // 2))
    return max(1, old - resized if step is _Step.DOWN and old > resized else old * 3 // 4)


def at_old_values(inputs: Sequence[PromotedInput]) -> ScalePoint:
    """The scale point that changes nothing."""
    return ScalePoint(tuple((source, tuple(source.value)) for source in inputs))


def steps_of(values: Sequence[tuple[PromotedInput, Sequence[tuple[float, ...]]]]) -> list[ScalePoint]:
    """Scale points that move all inputs at once, each to its next value."""
    return [
        ScalePoint(tuple((source, found[min(step, len(found) - 1)]) for source, found in values if found))
        for step in range(max((len(found) for _, found in values), default=0))
    ]


def most_inclusive(ran: Sequence[ScalePoint], inputs: Sequence[PromotedInput]) -> list[ScalePoint]:
    """Of the scale points that ran as few as move every input that any of them moves, said of `inputs`."""
    by_site = {driven.key: source for source in inputs for driven in source.sites}
    left = {source.name for source in inputs}
    found: list[ScalePoint] = []
    for scales in sorted(ran, key=lambda scales: -len(scales.values)):
        pairs = ((by_site.get(source.sites[0].key), value) for source, value in scales.values)
        known = ScalePoint(tuple((source, value) for source, value in pairs if source is not None))
        moved = {source.name for source, _ in known.values}
        if moved & left and len(found) < _MOST_INCLUSIVE:
            found.append(known)
            left -= moved
    return found


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
    said = f"--at {','.join(f'{number:g}' for number in numbers)}: {source.name}"
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
