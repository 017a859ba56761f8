"""Runs timed against each other: taking turns, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

TURN = 0.01
"""Seconds that one turn takes at least: short runs are repeated, so that threads of the one before are at rest."""
_MOST_A_TURN = 200
_HOPELESS = (8.0, 2.0)
"""How many times as long as the fastest of several a run may take and stay: in the first rounds, and after."""
_FIRST = 2
_FEW = 2


def take_turns(
    runs: Sequence[Callable[[], object]],
    rounds: int,
    seconds: float,
    now: Callable[[], float] = time.perf_counter,
) -> list[list[float]]:
    """For each of `runs` the seconds of its fastest in every round.

    There are `rounds` of them, and more until `seconds` are over, up to four times as many. Of more than two, one that
    is hopeless stops taking part, but the first never, with which the others are compared. The order of a round is the
    other way round in the next.
    """
    times: list[list[float]] = [[] for _ in runs]
    begun, left = now(), list(range(len(runs)))
    done = 0
    while done < rounds or (now() - begun < seconds and done < 4 * rounds):
        for index in left if done % 2 == 0 else left[::-1]:
            times[index].append(_turn(runs[index], now))
        done += 1
        if len(runs) > _FEW:
            limit = _HOPELESS[done > _FIRST] * min(min(times[index]) for index in left)
            left = [index for index in left if index == 0 or min(times[index]) <= limit]
    return times


def _turn(run: Callable[[], object], now: Callable[[], float]) -> float:
    begun, best = now(), float("inf")
    for _ in range(_MOST_A_TURN):
        start = now()
        run()
        end = now()
        best = min(best, end - start)
        if end - begun >= TURN:
            break
    return best
