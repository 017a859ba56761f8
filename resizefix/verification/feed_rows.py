"""What each of many feeds is about: a table of rows, for as many feeds as one asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
