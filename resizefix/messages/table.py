"""All messages, those that a pasted text holds, and those that are most like it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from resizefix.messages import (
    accelerators,
    compilers,
    converters,
    onnxruntime,
    onnxruntime_providers,
    opencv,
    openvino,
    tensorrt,
    tensorrt_builder,
)
from resizefix.messages.message import Message
from resizefix.messages.pasted_text import Plain, plain, without_prefix
from resizefix.messages.wording import ELLIPSIS, LEAST_PART, MatchedSpan

MESSAGES: tuple[Message, ...] = (
    *tensorrt.MESSAGES,
    *tensorrt_builder.MESSAGES,
    *onnxruntime.MESSAGES,
    *onnxruntime_providers.MESSAGES,
    *converters.MESSAGES,
    *openvino.MESSAGES,
    *opencv.MESSAGES,
    *compilers.MESSAGES,
    *accelerators.MESSAGES,
)
_LONGEST_CUT = 1000  # letters of a text that is looked for inside of the rows; then each of its lines is
_MOST_LINES = 100  # the last ones
_LEAST_IN_A_LINE = 18  # letters of a row that one of many lines must have


def messages_in(pasted: str) -> list[Message]:
    """The messages that a text holds, the one with the longest wording first: it says most.

    One that names the operator alone is left out where another says why. Where it holds none whole, those of which it
    is a piece: the text was cut off at its beginning or its end, or has `…` or `...` where words were left out.
    """
    for text in (pasted, without_prefix(pasted)):
        letters = plain(text)
        if spans := {message: span for message in MESSAGES if (span := message.whole_in(letters)) is not None}:
            messages = [message for message in spans if not _inside(spans[message], spans.values())]
            why = [message for message in messages if not message.says_where]
            return sorted(why or messages, key=lambda message: -spans[message].letters)
    for line in (pasted, *pasted.splitlines()[-_MOST_LINES:]):
        if ELLIPSIS.search(line) and (shortened := [row for row in MESSAGES if row.has_pieces(line)]):
            return shortened
    whole = plain(pasted)
    if len(whole.letters) <= _LONGEST_CUT and (cut := _cut_off(whole)):
        return cut
    lines = [plain(line) for line in pasted.splitlines()[-_MOST_LINES:]]
    looked_at = (line for line in lines if _LEAST_IN_A_LINE <= len(line.letters) <= _LONGEST_CUT)
    return next(filter(None, (_cut_off(line, _LEAST_IN_A_LINE) for line in looked_at)), [])


def near_miss(pasted: str) -> tuple[Message, float] | None:
    """The message that a text without any all but has, with its distance: no name or number that decides differs."""
    first = next(iter(nearest(pasted, MESSAGES)), None)
    return first if first is not None and is_all_but_the_same(*first, pasted) else None


def nearest_to(pasted: str) -> list[tuple[Message, float]]:
    """The messages that are most like a text that holds none, with their distances, the nearest first."""
    return nearest(pasted, MESSAGES)


def _inside(span: MatchedSpan, spans: Iterable[MatchedSpan]) -> bool:
    """Whether another message's wording stands around this one's, and says more."""
    return any(other.start <= span.start and span.end <= other.end and other.letters > span.letters for other in spans)


def _cut_off(text: Plain, least: int = LEAST_PART) -> list[Message]:
    parts = {message: part for message in MESSAGES if (part := message.part_in(text)) >= least}
    most = max(parts.values(), default=0)
    return [message for message, part in parts.items() if part == most]


FARTHEST = 0.6
"""The distance from which on a row says nothing of a text."""
MOST = 3
_ALL_BUT_THE_SAME = 0.2
_WORD = re.compile(r"[^\W_]+")
_OPERATORS = re.compile(r"(?<![a-z0-9])(?:resize|upsample|interp)[a-z0-9_]*")
_MOST_COMPARED = 200  # of a log; the last ones say most
_BEGINNING = 6  # letters
_FEWEST_WORDS = 3  # that a row and a text have in common


def nearest(pasted: str, rows: Sequence[Message]) -> list[tuple[Message, float]]:
    """The rows that have most words in common with a line of the text: 0 is the same, 1 nothing alike.

    Rare words count for more than frequent ones, and words in the row's order for more than others.
    """
    weights = _weights(tuple(rows))
    lines = [words for line in _lines(pasted) if len(words := _words(line)) >= _FEWEST_WORDS]
    distances = {row: min((_distance(row, line, weights) for line in lines), default=1.0) for row in rows}
    near = [(row, distance) for row, distance in distances.items() if distance < FARTHEST]
    return sorted(near, key=lambda one: one[1])[:MOST]


def is_all_but_the_same(row: Message, distance: float, pasted: str) -> bool:
    """Whether a text may be taken for the row: it is near, and no word that decides is another one.

    Numbers between `«` and `»` decide, and so do names of operators.
    """
    if distance > _ALL_BUT_THE_SAME or any("«" in text for text in row.texts):
        return False
    text = _OPERATORS.findall(pasted.casefold())
    return any(set(_OPERATORS.findall(one.casefold())) == set(text) for one in row.texts)


def _lines(pasted: str) -> Iterator[str]:
    lines = [line for line in pasted.splitlines() if line.strip()][-_MOST_COMPARED:]
    yield from lines
    yield from (f"{one} {other}" for one, other in pairwise(lines))


def _words(text: str) -> tuple[str, ...]:
    """The beginnings of its words: `scale` and `scales`, `initializer` and `initialiser` are the same."""
    return tuple(word.rstrip("s")[:_BEGINNING] for word in _WORD.findall(text.casefold()))


@lru_cache(maxsize=2)
def _weights(rows: tuple[Message, ...]) -> dict[str, float]:
    """Of each word of the rows: the rarer, the more."""
    counts = Counter(word for row in rows for word in {word for text in row.texts for word in _words(text)})
    return {word: math.log(1 + len(rows) / count) for word, count in counts.items()}


def _distance(row: Message, line: tuple[str, ...], weights: dict[str, float]) -> float:
    return min(_apart(words, line, weights) for text in row.texts if (words := _words(text)))


def _apart(words: tuple[str, ...], line: tuple[str, ...], weights: dict[str, float]) -> float:
    if len(set(words) & set(line)) < min(_FEWEST_WORDS, len(words)):
        return 1.0
    blocks = SequenceMatcher(None, words, line, autojunk=False).get_matching_blocks()
    in_order = sum(weights[word] for block in blocks for word in words[block.a : block.a + block.size])
    in_any = sum(weights[word] for word in (Counter(words) & Counter(line)).elements())
    shared = (in_order + in_any) / 2
    here = sum(weights[word] for word in words)
    there = sum(weights.get(word, 1.0) for word in line)
    # A text that was cut off, or that says more than the row, is near, too; but not as near as the row itself.
    return 1 - shared / (0.8 * min(here, max(there, here / 2)) + 0.2 * max(here, min(there, 2 * here)))
