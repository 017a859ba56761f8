"""Which promoted sites are free where sizes alone do not say: whether the model still runs when one input moves.

In a U-Net an inner upsample meets a skip connection of fixed size; any other scale of it alone fails at the Add or
Concat. Such a site is coupled, and the node where the run breaks tells the user why.

All inputs move at once, each by a factor of its own, so that a thousand sites do not cost a thousand runs: sizes that
must be equal then differ, so a group that runs, moved twice, holds free sites alone. In one that breaks the node where
it breaks tells which, or the group is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from onnx import ModelProto

from resizefix.diagnostics import Diagnostic
from resizefix.promotion import Coupling, Freedom, PromotedInput
from resizefix.scope_path import Key
from resizefix.verification.conditions import Progress
from resizefix.verification.dependence import Dependence
from resizefix.verification.scale_points import ScalePoint, even_value, moved_points, other_values

_MOST_COST = 1.5  # forward passes of a run
_FINDING = Diagnostic("verification.finding-free")


@dataclass
class Prober:
    """Moves the inputs of one promoted `model`.

    `breaks_at` runs it at a scale point, not optimized, and says where it breaks; `fits` says of a scale point whether
    the machine has the memory for it, `cost` how many forward passes it takes. What does not move keeps its old value.
    Where `affords` no longer holds, what is left is unknown.
    """

    model: ModelProto
    breaks_at: Callable[[ScalePoint], str | None]
    inputs: Sequence[PromotedInput]
    fits: Callable[[ScalePoint], bool]
    cost: Callable[[ScalePoint], float | None]
    progress: Progress
    affords: Callable[[], bool] = lambda: True

    @cached_property
    def _dependence(self) -> Dependence:
        return Dependence(self.model)

    def probe(self) -> dict[Key, Coupling]:
        """The verdict for every site; those that share an input share it."""
        self.progress.expect(len(self.inputs))
        couplings: dict[Key, Coupling] = {}
        pending = [list(self.inputs)] if self.inputs else []
        while pending:
            group = pending.pop()
            if not self.affords():
                couplings.update(_verdicts(group, Freedom.UNKNOWN, None))
                self.progress.done(_FINDING, len(group))
                continue
            broken = self._broken(group)
            if broken is None or len(group) == 1:
                couplings.update(_verdicts(group, Freedom.FREE if broken is None else Freedom.COUPLED, broken))
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

    def _broken(self, group: Sequence[PromotedInput]) -> str | None:
        """Where the model breaks when all of them move, in two ways; of one alone, where it breaks at a whole step too,
        which keeps sizes even. None: nowhere."""
        points = moved_points(group, self.fits, self.cost)
        if len(group) == 1:
            values = other_values(group[0], self.fits)[:1], even_value(group[0])
            steps, smaller = ([ScalePoint(((group[0], value),)) for value in each] for each in values)
            if smaller and any((self.cost(point) or 0.0) > _MOST_COST for point in steps):
                steps = smaller
            return next(filter(None, map(self.breaks_at, steps)), None)
        return next((broken for point in points if (broken := self.breaks_at(point)) is not None), None)

    def _only_one_above(self, node: str, group: Sequence[PromotedInput]) -> PromotedInput | None:
        """The one input of the group that the node depends on: alone it breaks the model there too."""
        above = self._dependence.above(node, [driven.key for source in group for driven in source.sites])
        if above is None:
            return None
        guilty = [source for source in group if any(driven.key in above for driven in source.sites)]
        return guilty[0] if len(guilty) == 1 else None


def _verdicts(sources: Sequence[PromotedInput], verdict: Freedom, breaks_at: str | None) -> dict[Key, Coupling]:
    return {driven.key: Coupling(driven.label, verdict, breaks_at) for source in sources for driven in source.sites}
