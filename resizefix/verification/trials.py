"""Which other scales are tried: what the user asked for, else one step up and a fraction, for every promoted input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from resizefix.document.shapes import Key
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

    def samples_by_size(self, inputs: Sequence[PromotedInput]) -> bool:
        """Whether a node that read scales now reads sizes that the graph makes, at scales that are no whole numbers.

        Fed sizes, a runtime samples at float32(out)/float32(in), which only whole scales are sure to equal.
        """
        chosen = {source.name: value for source, value in self.values}
        return any(
            driven.by_shape and not all(float(scale).is_integer() for scale in driven.operand(value))
            for source in inputs
            for value in (chosen.get(source.name, tuple(source.value)),)
            for driven in source.sites
        )

    def split(self) -> Iterator[Trial]:
        """One trial for each input alone."""
        if len(self.values) > 1:
            for pair in self.values:
                yield Trial((pair,), self.asked)


def promoted_feed(source: PromotedInput, value: Sequence[float]) -> Array:
    """A value of a promoted input as the array to feed."""
    return np.array(value, np.int64 if source.elem_type == "int64" else np.float32)


def trials_of(source: PromotedInput) -> tuple[tuple[float, ...], ...]:
    """Other values for one input: the first is a whole step up, the second a fraction (if the input can say it).

    A whole step decides whether a site is free: it cannot be lost in rounding, as a fraction on a small tensor can.
    """
    driven = source.sites[0]
    moved = (driven.input_value(_moved(driven, fraction=fraction)) for fraction in (False, True))
    return tuple(dict.fromkeys(value for value in moved if value != source.value))


def _moved(driven: Driven, *, fraction: bool) -> tuple[float, ...]:
    operand = list(driven.base)
    for position in driven.scaled:
        old = operand[position]
        if driven.kind is ExtentKind.SIZES:
            step = driven.resized_dims[position] or int(old)
            operand[position] = int(old) + (max(1, step // 2) if fraction else step)
        elif old < 1:
            operand[position] = old * (1.25 if fraction else 1.5)
        else:
            operand[position] = old * 1.25 if fraction else float(np.floor(old)) + 1
    return tuple(float(np.float32(value)) if driven.kind is ExtentKind.SCALES else value for value in operand)


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
                f"--at {','.join(f'{value:g}' for value in at)}: {source.name} scales {len(driven.scaled)} axes; "
                "give one number, or one for each"
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
