"""Which other scales are tried: what the user asked for, else one step up and a fraction, for every promoted input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice

import numpy as np

from resizefix.document.shapes import Key
from resizefix.document.text import counted
from resizefix.equivalences.output_size import output_size
from resizefix.errors import UsageError
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Driven, Form, PromotedInput
from resizefix.verification.inputs import Array
from resizefix.verification.twin import Baked


@dataclass(frozen=True)
class Trial:
    """Values for some of the promoted inputs; those that are not named keep their old value. `asked`: by the user."""

    values: tuple[tuple[PromotedInput, tuple[float, ...]], ...]
    asked: bool = False

    def feeds(self, inputs: Sequence[PromotedInput]) -> dict[str, Array]:
        """What to feed all promoted inputs."""
        chosen = {source.name: value for source, value in self.values}
        return {source.name: promoted_feed(source, chosen.get(source.name, source.value)) for source in inputs}

    def baked(self) -> dict[Key, Baked]:
        """The operands that the same values make, for the re-baked original."""
        return {
            driven.key: Baked(driven.kind, driven.operand(value))
            for source, value in self.values
            for driven in source.sites
        }

    def sampled_by_size(self, inputs: Sequence[PromotedInput]) -> list[tuple[Driven, tuple[int, ...]]]:
        """The nodes that read scales, now read sizes that the graph makes, and get scales that are no whole numbers;
        each with the numerators over its denominator.

        Fed sizes, a runtime samples at float32(out)/float32(in), which only whole scales are sure to equal.
        """
        chosen = {source.name: value for source, value in self.values}
        operands = (
            (driven, driven.operand(chosen.get(source.name, tuple(source.value))))
            for source in inputs
            for driven in source.sites
            if driven.by_shape
        )
        return [
            (driven, tuple(round(scale * (driven.denominator or 1)) for scale in operand))
            for driven, operand in operands
            if not all(float(scale).is_integer() for scale in operand)
        ]

    def split(self) -> Iterator[Trial]:
        """One trial for each input alone."""
        if len(self.values) > 1:
            for pair in self.values:
                yield Trial((pair,), self.asked)


def promoted_feed(source: PromotedInput, value: Sequence[float]) -> Array:
    """A value of a promoted input as the array to feed."""
    return np.array(value, np.int64 if source.elem_type == "int64" else np.float32)


def trials_of(source: PromotedInput, fits: Callable[[Trial], bool] | None = None) -> tuple[tuple[float, ...], ...]:
    """Two other values for one input: the first is a whole step up, the second a fraction (if the input can say it).

    A whole step decides whether a site is free: it cannot be lost in rounding, as a fraction on a small tensor can.
    Where that is more than fits into memory, steps down take their place.
    """
    driven = source.sites[0]
    moved = (driven.input_value(_moved(driven, step)) for step in _Step)
    others = dict.fromkeys(value for value in moved if value != source.value)
    return tuple(islice((value for value in others if fits is None or fits(Trial(((source, value),)))), 2))


class _Step(Enum):
    UP = "a whole step up"
    UP_FRACTION = "a fraction up"
    DOWN = "a whole step down"
    DOWN_FRACTION = "a fraction down"


def _moved(driven: Driven, step: _Step) -> tuple[float, ...]:
    operand = list(driven.base)
    for position in driven.scaled:
        old = operand[position]
        if driven.kind is ExtentKind.SIZES:
            operand[position] = _moved_size(int(old), driven.resized_dims[position] or int(old), step)
        else:
            operand[position] = max(driven.min_scale, _moved_scale(old, step))
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


def asked_trial(inputs: Sequence[PromotedInput], at: Sequence[float]) -> Trial:
    """The trial that `--at S` or `--at H,W` asks for: these numbers for the scaled axes of every promoted input.

    Raises UsageError where the count fits no promoted input.
    """
    values = []
    for source in inputs:
        driven = source.sites[0]
        operand = list(driven.base)
        if len(at) not in (1, len(driven.scaled)) or (driven.form is Form.FACTOR and len(set(at)) > 1):
            raise UsageError(
                f"--at {','.join(f'{value:g}' for value in at)}: {source.name} scales "
                f"{counted(len(driven.scaled), 'axis', 'axes')}; give one number, or one for each"
            )
        for count, position in enumerate(driven.scaled):
            scale = at[0] if len(at) == 1 else at[count]
            operand[position] = _at_scale(driven, position, scale)
        values.append((source, driven.input_value(operand)))
    return Trial(tuple(values), asked=True)


def _at_scale(driven: Driven, position: int, scale: float) -> float:
    if driven.kind is ExtentKind.SCALES:
        return float(np.float32(scale))
    size = driven.resized_dims[position]
    if size is None:
        raise UsageError(
            f"--at {scale:g}: the input of {driven.label} has no fixed size, so a scale says no output size"
        )
    return output_size(scale, size)
