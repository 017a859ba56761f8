"""Which promoted sites are free: whether the model still runs when one input alone, or a group that shares it, moves.

In a U-Net an inner upsample meets a skip connection of fixed size; any other scale of it alone fails at the Add or
Concat. Such a site is coupled, and the node where the run breaks tells the user why.

A few inputs move one after the other. Many move in groups, so that a thousand sites do not cost a thousand runs: each
by a factor of its own that is drawn at random. Sizes that must be equal then differ, so a group that runs, drawn anew
several times, holds free sites alone. In one that breaks the node where it breaks tells which, or the group is halved.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onnx import ModelProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.shapes import Key
from resizefix.interpolation import ExtentKind
from resizefix.promotion import Coupling, Freedom, InputBinding, PromotedInput
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.limits import OutOfMemoryError
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.verification.conditions import Progress
from resizefix.verification.dependence import Dependence
from resizefix.verification.scale_points import ScalePoint, other_values

MOST_ALONE = 32
# Two sizes that must be equal are drawn equal once in nine times; four draws leave one in 6,561.
_DRAWS = 4
_FINDING = Diagnostic("verification.finding-free")
_FACTORS = tuple(sixteenths / 16 for sixteenths in range(18, 27))  # usual sizes, being multiples, stay whole
_UPWARD = 1 + 2**-20  # so that the way down ends where the way up began and not just below


@dataclass
class Prober:
    """Moves the inputs of one promoted `model`.

    `run` runs it, not optimized; `feeds` are what the original runs with; `fits` says of a scale point whether the
    machine has the memory for it. What does not move keeps its old value. `ran` are scale points that ran with several
    moved.
    """

    model: ModelProto
    run: Callable[[Mapping[str, Value]], object]
    feeds: Mapping[str, Value]
    inputs: Sequence[PromotedInput]
    fits: Callable[[ScalePoint], bool]
    progress: Progress
    ran: list[ScalePoint] = field(default_factory=list)

    @cached_property
    def _dependence(self) -> Dependence:
        return Dependence(self.model)

    def probe(self) -> dict[Key, Coupling]:
        """The verdict for every site; those that share an input share it."""
        self.progress.expect(len(self.inputs))
        couplings: dict[Key, Coupling] = {}
        few = len(self.inputs) <= MOST_ALONE
        pending = [[source] for source in reversed(self.inputs)] if few else [list(self.inputs)]
        while pending:
            group = pending.pop()
            if len(group) == 1:
                couplings.update(self._alone(group[0]))
                continue
            broken = self._together(group)
            if broken is None:
                couplings.update(_verdicts(group, Freedom.FREE, None))
                self.progress.done(_FINDING, len(group))
                continue
            guilty = self._only_one_above(broken, group)
            if guilty is not None:
                couplings.update(_verdicts([guilty], Freedom.COUPLED, broken))
                self.progress.done(_FINDING)
                pending.append([source for source in group if source is not guilty])
            else:
                pending += [group[len(group) // 2 :], group[: len(group) // 2]]
        return couplings

    def _alone(self, source: PromotedInput) -> dict[Key, Coupling]:
        """The verdict of a whole step; free where the input can say no other value."""
        breaks_at = None
        for value in other_values(source, self.fits)[:1]:
            breaks_at = self._breaks_at(ScalePoint(((source, value),)))
        self.progress.done(_FINDING)
        return _verdicts([source], Freedom.FREE if breaks_at is None else Freedom.COUPLED, breaks_at)

    def _together(self, group: Sequence[PromotedInput]) -> str | None:
        """Where the model breaks when all of them move; an empty text where that is not to be tried."""
        tried = []
        for draw in range(_DRAWS):
            factors = drawn_factors(len(self.inputs), draw)
            names = (source.name for source in self.inputs)
            tried.append(_moved_by(dict(zip(names, factors, strict=True)), group))
            try:
                broken = self._breaks_at(tried[-1]) if self.fits(tried[-1]) else ""
            except OutOfMemoryError:
                broken = ""
            if broken is not None:
                return broken
        self.ran.extend(tried[:2])
        return None

    def _breaks_at(self, scales: ScalePoint) -> str | None:
        try:
            self.run({**self.feeds, **scales.feeds(self.inputs)})
        except CannotRunError as error:
            return error.node or error.op_type or error.reason
        return None

    def _only_one_above(self, node: str, group: Sequence[PromotedInput]) -> PromotedInput | None:
        """The one input of the group that the node depends on: alone it breaks the model there too."""
        if not node:
            return None
        above = self._dependence.above(node, [driven.key for source in group for driven in source.sites])
        if above is None:
            return None
        found = [source for source in group if any(driven.key in above for driven in source.sites)]
        return found[0] if len(found) == 1 else None


def drawn_factors(count: int, draw: int) -> list[float]:
    """By what each of so many inputs moves: of two that follow each other one up, one down, so that sizes stay near the
    old ones along a chain. The same for the same `draw`, on any machine.
    """
    generator = random.Random(draw)
    factors: list[float] = []
    for position in range(count):
        factors.append(generator.choice(_FACTORS) if position % 2 == 0 else _UPWARD / factors[-1])
    return factors


def _moved_by(factors: Mapping[str, float], group: Sequence[PromotedInput]) -> ScalePoint:
    values = []
    for source in group:
        driven = source.sites[0]
        value = driven.input_value(_times(driven, factors[source.name]))
        if value == source.value:  # lost in rounding
            value = next(iter(other_values(source)), value)
        values.append((source, value))
    return ScalePoint(tuple(values))


def _times(driven: InputBinding, factor: float) -> tuple[float, ...]:
    operand = list(driven.base)
    for position in driven.scaled:
        moved = operand[position] * factor
        if driven.kind is ExtentKind.SIZES:
            operand[position] = max(1, round(moved))
        else:
            operand[position] = max(driven.min_scale, moved)
    return tuple(operand)


def _verdicts(sources: Sequence[PromotedInput], verdict: Freedom, breaks_at: str | None) -> dict[Key, Coupling]:
    return {driven.key: Coupling(driven.label, verdict, breaks_at) for source in sources for driven in source.sites}
