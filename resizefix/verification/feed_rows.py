"""What each of many feeds is about: a table of rows, for as many feeds as one asks, and the special numbers (the
negative zero, NaN, the infinities) that no row holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value


@dataclass(frozen=True)
class FeedRow:
    """How one feed is drawn: every input by a distribution of its kind at random, unless the row is about more.

    `first`: by the first distribution. `opposite`: as the row before, each number with the other sign. `mixed`: each
    element by a distribution of its own. `alike`: inputs of one type and shape get the same values. `edge`: about one
    of the numbers that the model names, on that `side` of it. `wide`: numbers of one size, which may be large. `vast`:
    of one size anywhere in the range of their type. `together`: of all inputs alike, by the numbers that are named for
    any: all numbers stand on the same side of the same edge, or without an edge are as large as one.
    """

    number: int
    first: bool = False
    opposite: bool = False
    mixed: bool = False
    alike: bool = False
    edge: int | None = None
    side: int = 0
    wide: bool = False
    vast: bool = False
    together: bool = False


def row(number: int) -> FeedRow:
    """The rows in their order: two that every model needs, then others in turn, for as long as one asks."""
    if number < 2:
        return FeedRow(0, first=True, opposite=number == 1)
    turn, kind = divmod(number - 2, len(_TURN))
    return _TURN[kind](number, turn)


def looking_row(number: int) -> FeedRow:
    """The rows with which bodies are looked for: those about edges first of all."""
    turn, kind = divmod(number, len(_LOOKING))
    return _LOOKING[kind](_FIRST_LOOKING + number, turn)


_TURN: tuple[Callable[[int, int], FeedRow], ...] = (
    lambda number, turn: FeedRow(number, edge=turn, side=-1),
    lambda number, turn: FeedRow(number, edge=turn, side=1),
    lambda number, turn: FeedRow(number, edge=turn, side=0),
    lambda number, turn: FeedRow(number, mixed=True),
    lambda number, turn: FeedRow(number, wide=turn % 2 == 1),
    lambda number, turn: FeedRow(number - 1, opposite=True, wide=turn % 2 == 1),
    lambda number, turn: FeedRow(number, alike=True),
    lambda number, turn: FeedRow(number, edge=turn // 2, side=turn % 2 * 2 - 1, together=True),
    lambda number, turn: FeedRow(number, together=True),
    lambda number, turn: FeedRow(number, vast=True),
)
ROWS_OF_A_TURN = len(_TURN)
_LOOKING: tuple[Callable[[int, int], FeedRow], ...] = (
    lambda number, turn: FeedRow(number, edge=turn, side=-1, together=True),
    lambda number, turn: FeedRow(number, edge=turn, side=1, together=True),
    lambda number, turn: FeedRow(number, edge=turn, side=-1),
    lambda number, turn: FeedRow(number, edge=turn, side=1),
    lambda number, turn: FeedRow(number, edge=turn, side=0, together=True),
    lambda number, turn: FeedRow(number, together=True),
    lambda number, turn: FeedRow(number, mixed=True),
    lambda number, turn: FeedRow(number, wide=turn % 2 == 1),
)
_FIRST_LOOKING = 1000  # the number of the first row that looks for a body


class SpecialNumbers(NamedTuple):
    """Numbers that stand at every `step`-th place, one after the other."""

    name: str
    numbers: tuple[float, ...]
    step: int

    @property
    def is_finite(self) -> bool:
        """Whether a model must make the same of them, even if it names none of them."""
        return bool(np.isfinite(self.numbers).all())

    def among(self, feeds: Mapping[str, Value]) -> dict[str, Value]:
        """The feeds with these among their floating-point numbers."""
        return {name: self._among(value) for name, value in feeds.items()}

    def _among(self, value: Value) -> Value:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV" or value.size == 0:
            return value
        mixed: Array = value.copy()
        places = mixed.reshape(-1)[:: self.step]
        places[:] = np.resize(np.asarray(self.numbers, np.float32), len(places)).astype(value.dtype)
        return mixed


SPECIAL_NUMBERS = (
    SpecialNumbers("-0.0", (-0.0,), 2),  # beside usual numbers
    SpecialNumbers("-0.0", (-0.0,), 1),  # alone: a sum of them is one
    SpecialNumbers("NaN", (np.nan,), 3),
    SpecialNumbers("infinity", (np.inf, -np.inf), 3),
)
_ASKING = {"IsInf", "IsNaN"}


def asks_for_special(*documents: Document) -> bool:
    """Whether a node of the models asks if a number is NaN or infinite; else what they make of one is by chance."""
    nodes = (node for document in documents for _, body in bodies(document.proto) for node in body.node)
    return any(node.op_type in _ASKING for node in nodes)
