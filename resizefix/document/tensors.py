"""Replaces tensors wherever they stand in a serialized model, leaving every byte around them as it is.

Lengths of the enclosing messages are computed anew from the inside out. Which parts of the model are entered is the
caller's choice (`Entering`): the parts large enough to hold a payload, or those that contain a given string.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from resizefix.document.pieces import Piece, framed
from resizefix.document.schema import holder_in
from resizefix.document.wire import LENGTH_DELIMITED, MAX_DEPTH, MalformedError, Record, records
from resizefix.errors import UnreadableModelError

# (kind of message, start, end) -> the records of it to enter, with the kind of message that each of them holds
Entering = Callable[[str, int, int], Iterator[tuple[Record, str]]]
# (start, end) of a TensorProto -> its new content, or None to leave it alone
Replacing = Callable[[int, int], "list[Piece] | None"]
# (start, end) -> the piece that stands there
Cutting = Callable[[int, int], Piece]


def replace_tensors(
    kind: str, start: int, end: int, entering: Entering, replacing: Replacing, cut: Cutting, depth: int = 0
) -> list[Piece] | None:
    """The message `kind` between `start` and `end` with tensors replaced, or None if nothing in it was.

    Raises MalformedError for bytes that are not records and for messages nested deeper than protobuf reads.
    """
    if kind == "TensorProto":
        return replacing(start, end)
    if depth > MAX_DEPTH:
        raise MalformedError("document.nested-too-deep", max_depth=MAX_DEPTH)
    pieces: list[Piece] = []
    copied = start
    for record, child in entering(kind, start, end):
        content = replace_tensors(child, record.body, record.end, entering, replacing, cut, depth + 1)
        if content is not None:
            pieces += [cut(copied, record.start), *framed(record.number, content)]
            copied = record.end
    return [*pieces, cut(copied, end)] if pieces else None


def containing(data: bytes, needle: bytes) -> Entering:
    """Enters only the messages that contain `needle` somewhere."""
    positions = []
    found = data.find(needle)
    while found >= 0:
        positions.append(found)
        found = data.find(needle, found + 1)

    def enter(kind: str, start: int, end: int) -> Iterator[tuple[Record, str]]:
        for record in records(data, start, end):
            child = holder_in(kind, record.number)
            if child is None or record.wire_type != LENGTH_DELIMITED:
                continue
            if bisect_left(positions, record.body) < bisect_left(positions, record.end):
                yield record, child

    return enter


def replace_tensors_containing(
    data: bytes, needle: bytes, replacing: Callable[[bytes], list[Piece] | None], kind: str = "ModelProto"
) -> list[Piece]:
    """The message in `data`, with every tensor that contains `needle` offered to `replacing` as bytes.

    Raises UnreadableModelError for records that ONNX has not, which parsers keep without a word.
    """

    if needle not in data:
        return [data]

    def replacing_at(start: int, end: int) -> list[Piece] | None:
        return replacing(data[start:end])

    def cut(start: int, end: int) -> bytes:
        return data[start:end]

    try:
        pieces = replace_tensors(kind, 0, len(data), containing(data, needle), replacing_at, cut)
    except MalformedError as error:
        raise UnreadableModelError("document.no-part-of-onnx", error=error) from error
    return [data] if pieces is None else pieces
