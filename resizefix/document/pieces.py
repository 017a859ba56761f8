"""What a file to be written is made of: bytes, and spans of files that are already on disk.

Spans let a payload travel from the old file to the new one inside the kernel; Python sees only its offsets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from resizefix.document.source import Source
from resizefix.document.wire import encode_header


class Span(NamedTuple):
    """The bytes `start` to `end` of a file that is held open."""

    source: Source
    start: int
    end: int


Piece = bytes | Span


def size_of(pieces: Iterable[Piece]) -> int:
    """How many bytes the pieces make."""
    return sum(piece.end - piece.start if isinstance(piece, Span) else len(piece) for piece in pieces)


def as_bytes(pieces: Iterable[Piece]) -> bytes:
    """The pieces joined, spans read from their files."""
    return b"".join(piece.source.read(piece.start, piece.end) if isinstance(piece, Span) else piece for piece in pieces)


def framed(number: int, content: list[Piece]) -> list[Piece]:
    """The pieces of a length-delimited record of field `number` around `content`."""
    return [encode_header(number, size_of(content)), *content]


def coalesced(pieces: Iterable[Piece]) -> list[Piece]:
    """The same bytes in as few pieces as possible: neighbouring spans and neighbouring bytes become one."""
    out: list[Piece] = []
    literal: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            literal.append(piece)
            continue
        if literal:
            out.append(b"".join(literal))
            literal = []
        last = out[-1] if out else None
        if isinstance(last, Span) and last.source is piece.source and last.end == piece.start:
            out[-1] = Span(piece.source, last.start, piece.end)
        elif piece.start < piece.end:
            out.append(piece)
    if literal:
        out.append(b"".join(literal))
    return out
