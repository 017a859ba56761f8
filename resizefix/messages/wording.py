"""One wording of a message, and how much of it stands in a pasted text: whole, or cut off at either end.

`…` stands for any name, path or shape, and a number for any number. A number between `«` and `»` decides: it stands
for itself alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from resizefix.messages.pasted_text import Plain, plain_text

ANYTHING = "…"
ELLIPSIS = re.compile(r"…|\.\.\.")
"""Where somebody who quotes a message leaves words out."""
LEAST_PART = 16
"""The fewest letters by which a piece of a wording is known."""
_NUMBER = re.compile(r"(?<![\w.«])-?\d+(?:\.\d+)?(?![\w»])")
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_LONGEST_GAP = 400  # letters of what `…` stands for: paths, names, shapes
_LONGEST_START = 8  # letters by which the place in a wording is looked for at which a cut text begins
_LONGEST_NAME = 60  # letters of a name or number that a cut text begins with
_GAP, _ANY_NUMBER = "", "0"


class MatchedSpan(NamedTuple):
    """Where in a text a wording stands, and how many of its letters do."""

    start: int
    end: int
    letters: int


class Wording:
    """A wording, read once."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("«", "").replace("»", "")
        self._written = text

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        """Letters, `_GAP` for anything, `_ANY_NUMBER` for a number; letters first and last."""
        pieces: list[str] = []
        for at, part in enumerate(self._written.split(ANYTHING)):
            pieces += [_GAP] * (at > 0)
            for place, literal in enumerate(_NUMBER.split(part)):
                pieces += [_ANY_NUMBER] * (place > 0)
                letters = plain_text(literal.replace("«", "").replace("»", ""))
                pieces += [letters] * bool(letters)
        return tuple(pieces)

    @cached_property
    def letters(self) -> int:
        """How many letters it has that do not vary."""
        return sum(len(piece) for piece in self._pieces if piece != _ANY_NUMBER)

    @cached_property
    def _longest(self) -> str:
        return max(self._pieces, key=len)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = {_GAP: rf".{{0,{_LONGEST_GAP}}}?", _ANY_NUMBER: f"({_DIGITS.pattern})"}
        return re.compile("".join(patterns.get(piece) or re.escape(piece) for piece in self._pieces))

    def whole_in(self, pasted: Plain) -> MatchedSpan | None:
        """Where the whole wording stands in the text; a word at its ends is whole, too."""
        if self._longest not in pasted.letters:
            return None
        open_start, open_end = self._pieces[0] == _GAP, self._pieces[-1] == _GAP
        for match in self._pattern.finditer(pasted.letters):
            if (open_start or pasted.divides(match.start())) and (open_end or pasted.divides(match.end())):
                return MatchedSpan(match.start(), match.end(), self.letters)
        return None

    def as_in(self, pasted: Plain) -> str:
        """The wording with the numbers that the text has; `…` for those that it does not have."""
        match = self._pattern.search(pasted.letters) if self._longest in pasted.letters else None
        numbers = iter(match.groups() if match is not None else ())
        written = _NUMBER.sub(lambda _: next(numbers, ANYTHING), self._written)
        return written.replace("«", "").replace("»", "")

    def has_pieces(self, pasted: str) -> bool:
        """Whether all that stands between the dots of a shortened text stands in the wording, in order."""
        pieces = [letters for piece in ELLIPSIS.split(pasted) if (letters := plain_text(piece))]
        if max(map(len, pieces), default=0) < LEAST_PART:
            return False
        whole = plain_text(self.text)
        place = 0
        for piece in pieces:
            at = whole.find(piece, place)
            if at < 0:
                return False
            place = at + len(piece)
        return True

    def part_in(self, pasted: Plain) -> int:
        """How many letters of the wording a cut text has: one that begins or ends inside of it; 0: too few."""
        most = max(self._parts(pasted), default=0)
        return most if most >= LEAST_PART else 0

    def _parts(self, pasted: Plain) -> Iterator[int]:
        start = pasted.letters[:_LONGEST_START]
        for at, piece in enumerate(self._pieces):
            if piece in (_GAP, _ANY_NUMBER):
                continue
            # The text begins inside of this piece; or inside of what varies, and this piece follows.
            yield from (self._follow(at, place, pasted, 0) for place in _places(start, piece))
            beginning = pasted.letters[:_LONGEST_NAME] if at else pasted.letters
            for place in _places(piece[:_LONGEST_START], beginning):
                # The wording begins inside of the text, which ends before it does.
                if at or pasted.divides(place):
                    yield self._follow(at, 0, pasted, place)

    def _follow(self, at: int, inside: int, text: Plain, place: int) -> int:
        """The letters that agree from there on, if the text or the wording ends before they differ; else 0."""
        letters, pasted = 0, text.letters
        while at < len(self._pieces) and place < len(pasted):
            piece = self._pieces[at]
            if piece == _GAP:
                behind = self._behind_gap(at + 1, pasted, place)
                if behind == len(pasted):
                    return letters if behind - place <= _LONGEST_NAME else 0
                place = behind
            elif piece == _ANY_NUMBER:
                number = _DIGITS.match(pasted, place)
                if number is None:
                    return letters if pasted[place:] == "-" else 0  # cut off inside of the number
                place = number.end()
            else:
                rest = piece[inside:]
                shared = pasted[place : place + len(rest)]
                if not rest.startswith(shared):
                    return 0
                letters += len(shared)
                place += len(shared)
            at, inside = at + 1, 0
        return letters if text.divides(place) else 0

    def _behind_gap(self, at: int, pasted: str, place: int) -> int:
        """Where the piece behind a gap begins in the text; its end where the text ends inside of the gap."""
        if at >= len(self._pieces):
            return len(pasted)
        piece = self._pieces[at]
        start = pasted.find(piece, place, place + _LONGEST_GAP + len(piece)) if piece != _ANY_NUMBER else place
        if start >= 0:
            return start
        tails = range(max(place, len(pasted) - len(piece)), len(pasted))
        return next((tail for tail in tails if piece.startswith(pasted[tail:])), len(pasted))


def _places(piece: str, text: str) -> Iterator[int]:
    place = text.find(piece)
    while piece and place >= 0:
        yield place
        place = text.find(piece, place + 1)
