"""Mutations that keep a protobuf file readable: bytes change inside one record and all lengths around it follow.

Bytes flipped at random almost always break a length, and such a file never gets past the parser; so half of the
mutations are made on the tree of records instead.
"""

import random
from collections.abc import Callable

from resizefix.document.wire import LENGTH_DELIMITED, VARINT, MalformedError, encode_header, encode_varint, records

# What a field that changes is most likely to break.
NUMBERS = (0, 1, 2, 3, 6, 7, 8, 16, 100, 127, 255, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1)
TEXTS = (
    b"", b"x", b"scales", b"\x1b[31m", b"a\nb", b"\xff\xfe", b"nearest", b"linear", b"cubic", b"asymmetric", b"Resize",
    b"Upsample", b"Constant", b"Shape", b"Mul", b"Cast", b"Concat", b"If", b"Loop", b"ai.onnx", b"../x", b"/etc/passwd",
    b"\0\0\x80\x7f" * 4, b"\0\0\xc0\x7f" * 4, b"\0\0\0\0" * 4, b"\0\0\x80\xbf" * 4, b"\0\0\0\x40" * 4,
)  # fmt: skip


def mutated(data: bytes, rng: random.Random, by_bytes: Callable[[bytes], bytes]) -> bytes:
    """`data` with one to three records changed, removed, doubled, swapped or filled by `by_bytes`."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = _message(data, rng, by_bytes, depth=0)
    return data


def _message(data: bytes, rng: random.Random, by_bytes: Callable[[bytes], bytes], depth: int) -> bytes:
    try:
        found = list(records(data, 0, len(data)))
    except MalformedError:
        return by_bytes(data)
    if not found:
        return by_bytes(data)
    # Large records hold more to change, but small ones are where the meaning is.
    chosen = rng.choice(found if rng.random() < 0.5 else [max(found, key=lambda record: record.end - record.start)])
    whole, body = data[chosen.start : chosen.end], data[chosen.body : chosen.end]
    before, after = data[: chosen.start], data[chosen.end :]
    if chosen.wire_type == LENGTH_DELIMITED and body and depth < 12 and rng.random() < 0.8:
        inner = _message(body, rng, by_bytes, depth + 1) if _is_message(body) else _value(body, rng, by_bytes)
        return before + encode_header(chosen.number, len(inner)) + inner + after
    match rng.randrange(6):
        case 0:
            return before + after
        case 1:
            return before + whole + whole + after
        case 2:
            other = rng.choice(found)
            return before + data[other.start : other.end] + after
        case 3 if chosen.wire_type == VARINT:
            return before + encode_varint(chosen.number << 3) + encode_varint(rng.choice(NUMBERS)) + after
        case 4 if chosen.wire_type == LENGTH_DELIMITED:
            text = rng.choice(TEXTS)
            return before + encode_header(chosen.number, len(text)) + text + after
        case _:
            return before + encode_varint(rng.randrange(1, 30) << 3 | chosen.wire_type) + data[chosen.body :]


def _is_message(body: bytes) -> bool:
    try:
        return all(record.number < 64 for record in records(body, 0, len(body)))
    except MalformedError:
        return False


def _value(body: bytes, rng: random.Random, by_bytes: Callable[[bytes], bytes]) -> bytes:
    return rng.choice(TEXTS) if rng.random() < 0.5 else by_bytes(body)
