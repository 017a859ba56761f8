"""A known resize in bodies, functions and overloads computes at every factor what it does alone."""

from collections import Counter

from dressed_resizes import PLACES, Dressed, broken

CASES = range(60)


def test_wherever_a_resize_stands_it_computes_what_it_does_alone():
    tally: Counter[str] = Counter()
    assert [line for seed in CASES for line in broken(seed, tally)] == []
    assert tally["promoted"] == tally["frozen"] == 4 * len(CASES)
    assert {Dressed(seed).place for seed in CASES} == set(PLACES)
