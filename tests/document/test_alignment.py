from __future__ import annotations

import random
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from resizefix.document.splice import gaps, increasing_matches

sequences = st.lists(st.integers(0, 6), max_size=30)


@given(sequences, sequences)
def test_matches_are_equal_elements_in_increasing_order(old, new):
    matches = increasing_matches(old, new)
    assert all(old[i] == new[j] for i, j in matches)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(matches))


@given(sequences)
def test_equal_sequences_match_wholly(elements):
    assert increasing_matches(elements, list(elements)) == [(i, i) for i in range(len(elements))]


@given(st.lists(st.integers(), unique=True, max_size=40), st.data())
def test_of_distinct_elements_only_the_deleted_and_inserted_stay_unmatched(elements, data):
    kept = [element for element in elements if data.draw(st.booleans())]
    matches = increasing_matches(elements, kept)
    assert [elements[i] for i, _ in matches] == kept


@given(sequences, sequences)
def test_gaps_are_what_lies_between_matches_on_both_sides(old, new):
    matches = increasing_matches(old, new)
    in_old = {i for gap, _ in gaps(matches, len(old), len(new)) for i in gap}
    in_new = {j for _, gap in gaps(matches, len(old), len(new)) for j in gap}
    assert not in_old & {i for i, _ in matches}
    assert not in_new & {j for _, j in matches}
    assert all(a and b for a, b in gaps(matches, len(old), len(new)))


def test_a_repeated_element_between_changed_ones_is_still_matched():
    assert increasing_matches(list("aXbbYa"), list("aZbbWa")) == [(0, 0), (5, 5)]
    assert increasing_matches(list("a1bb2a"), list("a1cbb2a")) == [(0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 6)]


def test_a_hundred_thousand_elements_with_a_thousand_edits_align_in_seconds():
    rng = random.Random(0)
    old = [f"node {i}" for i in range(100_000)]
    new = list(old)
    for i in rng.sample(range(100_000), 1000):
        new[i] += " edited"
    for i in rng.sample(range(99_000), 500):
        del new[i]
    begun = time.perf_counter()
    assert len(increasing_matches(old, new)) >= 98_490
    assert time.perf_counter() - begun < 5


def test_a_hundred_thousand_equal_elements_do_not_take_quadratic_time():
    old = ["same"] * 100_000
    new = list(old)
    for i in range(0, 100_000, 1000):
        new[i] = f"edited {i}"
    begun = time.perf_counter()
    increasing_matches(old, new)
    assert time.perf_counter() - begun < 5
