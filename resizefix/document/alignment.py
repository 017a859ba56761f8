"""Which elements of a new sequence are those of an old one: a monotone matching in linear time for real edits.

Equal ends are matched first, then elements that occur exactly once on both sides (the longest increasing run of them,
as in patience diff), then again the ends of the gaps between these. The matching need not be the largest possible:
an element left out is written anew instead of kept, never lost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

Match = tuple[int, int]


def increasing_matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Match]:
    """Pairs (i, j) with `old[i] == new[j]`, increasing in both."""
    matches: list[Match] = []
    pending = [(0, len(old), 0, len(new))]
    while pending:
        old_start, old_end, new_start, new_end = pending.pop()
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            matches.append((old_start, new_start))
            old_start, new_start = old_start + 1, new_start + 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
            matches.append((old_end, new_end))
        anchors = _unique_in_both(old, new, range(old_start, old_end), range(new_start, new_end))
        if not anchors:
            continue
        for i, j in [*anchors, (old_end, new_end)]:
            if old_start < i and new_start < j:
                pending.append((old_start, i, new_start, j))
            old_start, new_start = i + 1, j + 1
        matches += anchors
    return sorted(matches)


def gaps(matches: Sequence[Match], old_length: int, new_length: int) -> list[tuple[range, range]]:
    """The unmatched stretches (of the old, of the new sequence) between matches, where both have elements."""
    found = []
    i = j = 0
    for next_i, next_j in [*matches, (old_length, new_length)]:
        if i < next_i and j < next_j:
            found.append((range(i, next_i), range(j, next_j)))
        i, j = next_i + 1, next_j + 1
    return found


def _unique_in_both(old: Sequence[Hashable], new: Sequence[Hashable], in_old: range, in_new: range) -> list[Match]:
    old_counts, new_counts = Counter(old[i] for i in in_old), Counter(new[j] for j in in_new)
    place = {old[i]: i for i in in_old if old_counts[old[i]] == 1}
    return _longest_increasing([(place[new[j]], j) for j in in_new if new_counts[new[j]] == 1 and new[j] in place])


def _longest_increasing(pairs: list[Match]) -> list[Match]:
    """The longest subsequence whose first members increase (the second ones do already)."""
    tails: list[int] = []
    tail_pairs: list[int] = []
    before: list[int] = []
    for index, (i, _) in enumerate(pairs):
        length = bisect_left(tails, i)
        before.append(tail_pairs[length - 1] if length else -1)
        if length == len(tails):
            tails.append(i)
            tail_pairs.append(index)
        else:
            tails[length], tail_pairs[length] = i, index
    chosen = []
    index = tail_pairs[-1] if tail_pairs else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]
