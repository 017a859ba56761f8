"""All messages, those that a pasted text holds, and those that are most like it."""

from __future__ import annotations

from collections.abc import Iterable

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
from resizefix.messages import nearest as near
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
    first = next(iter(near.nearest(pasted, MESSAGES)), None)
    return first if first is not None and near.is_all_but_the_same(*first, pasted) else None


def nearest_to(pasted: str) -> list[tuple[Message, float]]:
    """The messages that are most like a text that holds none, with their distances, the nearest first."""
    return near.nearest(pasted, MESSAGES)


def _inside(span: MatchedSpan, spans: Iterable[MatchedSpan]) -> bool:
    """Whether another message's wording stands around this one's, and says more."""
    return any(other.start <= span.start and span.end <= other.end and other.letters > span.letters for other in spans)


def _cut_off(text: Plain, least: int = LEAST_PART) -> list[Message]:
    parts = {message: part for message in MESSAGES if (part := message.part_in(text)) >= least}
    most = max(parts.values(), default=0)
    return [message for message, part in parts.items() if part == most]
