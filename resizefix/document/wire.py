"""The protobuf wire format, as records: read without parsing, written without a message class.

A record is a tag (field number and wire type) and what follows it. Nothing is copied while reading: a `Record` holds
offsets, so a walk over a mapped file touches the headers of the records and never the pages of a payload. Lengths are
Python integers, so files beyond 2 GiB walk as well.
Source: https://protobuf.dev/programming-guides/encoding/

Which fields the ONNX messages have: the descriptors of the onnx package, as rows that a wire walk can look up.

Source: onnx/onnx.proto, through the descriptors the installed package carries, so a newer onnx brings its own rows.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

import onnx
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from resizefix.diagnostics import DiagnosedError

VARINT, FIXED64, LENGTH_DELIMITED, START_GROUP, END_GROUP, FIXED32 = range(6)

# protobuf parsers give up at this depth; a file nested deeper cannot be read by anybody.
MAX_DEPTH = 100

Readable = bytes | mmap.mmap

_LARGE = 1 << 20


class MalformedError(DiagnosedError, ValueError):
    """The bytes are not a sequence of protobuf records; the text says what is wrong and at which offset."""


class CutOffError(MalformedError):
    """A record announces more bytes than there are left."""


class Record(NamedTuple):
    """One record of a message: `start` is the offset of its tag, `body` of its value, `end` is one past its value.

    The value of a group is all up to and with the tag that ends it.
    """

    number: int
    wire_type: int
    start: int
    body: int
    end: int


def read_varint(data: Readable, position: int, end: int) -> tuple[int, int]:
    """The varint at `position` and the offset behind it. Raises MalformedError if it is cut off or beyond 64 bits."""
    value = shift = 0
    for index in range(position, min(position + 10, end)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise MalformedError("document.number-too-large", position=position)
            return value, index + 1
        shift += 7
    if end - position >= 10:
        raise MalformedError("document.number-too-long", position=position)
    raise CutOffError("document.ends-in-number", end=end)


def records(data: Readable, start: int, end: int) -> Iterator[Record]:
    """The records of the message in `data[start:end]`, in file order.

    Raises MalformedError where the bytes cannot be records: field number 0, reserved wire types, the end of a group
    that did not begin, and lengths that reach beyond `end`.
    """
    position = start
    while position < end:
        tag_start = position
        tag = data[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if number == 0 or tag >> 32:
            raise MalformedError("document.no-such-field", number=number, tag_start=tag_start)
        body = position
        if wire_type == LENGTH_DELIMITED:
            if position < end and data[position] < 0x80:
                body, position = position + 1, position + 1 + data[position]
            else:
                length, body = read_varint(data, position, end)
                position = body + length
        elif wire_type == VARINT:
            position = read_varint(data, position, end)[1]
        elif wire_type == FIXED64:
            position += 8
        elif wire_type == FIXED32:
            position += 4
        elif wire_type == START_GROUP:
            position = _end_of_group(data, number, body, end)
        else:
            raise MalformedError("document.no-such-wire-type", wire_type=wire_type, tag_start=tag_start)
        if position > end:
            raise CutOffError(
                "document.field-too-long", number=number, tag_start=tag_start, position=position - body, end=end - body
            )
        yield Record(number, wire_type, tag_start, body, position)
        if position - body >= _LARGE:
            _let_go(data, body, position)


def _end_of_group(data: Readable, number: int, position: int, end: int) -> int:
    """The offset behind the group of field `number` whose first record stands at `position`."""
    groups = [number]
    while groups:
        if position >= end:
            raise CutOffError("document.ends-in-group", end=end)
        tag, body = read_varint(data, position, end)
        field, wire_type = tag >> 3, tag & 7
        if wire_type == START_GROUP and field > 0 and len(groups) < MAX_DEPTH:
            groups.append(field)
        elif wire_type == END_GROUP and field == groups[-1]:
            groups.pop()
        elif wire_type in (START_GROUP, END_GROUP):
            raise MalformedError("document.groups-broken", position=position)
        else:
            body = next(records(data, position, end)).end
        position = body
    return position


def _let_go(data: Readable, start: int, end: int) -> None:
    """Give the pages of a large record back: with the one that was touched the system maps its neighbours."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        first = max(0, start - _LARGE) // mmap.PAGESIZE * mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, first, end - first)


def varint_value(data: Readable, record: Record) -> int:
    """The number that a record of wire type VARINT holds."""
    return read_varint(data, record.body, record.end)[0]


def encode_varint(value: int) -> bytes:
    """The shortest varint of a number that is not negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_header(number: int, length: int) -> bytes:
    """The tag and length that stand before a length-delimited value."""
    return encode_varint(number << 3 | LENGTH_DELIMITED) + encode_varint(length)


def encode_bytes(number: int, value: bytes) -> bytes:
    """A length-delimited record."""
    return encode_header(number, len(value)) + value


_WIRE_TYPES = {
    FieldDescriptor.TYPE_DOUBLE: FIXED64,
    FieldDescriptor.TYPE_FIXED64: FIXED64,
    FieldDescriptor.TYPE_SFIXED64: FIXED64,
    FieldDescriptor.TYPE_FLOAT: FIXED32,
    FieldDescriptor.TYPE_FIXED32: FIXED32,
    FieldDescriptor.TYPE_SFIXED32: FIXED32,
    FieldDescriptor.TYPE_STRING: LENGTH_DELIMITED,
    FieldDescriptor.TYPE_BYTES: LENGTH_DELIMITED,
    FieldDescriptor.TYPE_MESSAGE: LENGTH_DELIMITED,
}


class Field(NamedTuple):
    """One field of a message. `message` is the kind of message it holds, None for scalars, strings and bytes."""

    name: str
    repeated: bool
    wire_type: int
    message: str | None
    oneof: str | None


def _is_repeated(field: FieldDescriptor) -> bool:
    # `label` is deprecated in protobuf 6 and its successor is missing before protobuf 6.
    successor = getattr(field, "is_repeated", None)
    return bool(successor) if successor is not None else bool(field.label == FieldDescriptor.LABEL_REPEATED)


def kind_of(descriptor: Descriptor) -> str:
    """The kind of message that a descriptor is of, as `FIELDS` names it."""
    return str(descriptor.full_name).removeprefix(f"{descriptor.file.package}.")


def _rows(root: Descriptor) -> dict[str, dict[int, Field]]:
    rows: dict[str, dict[int, Field]] = {}
    pending = [root]
    while pending:
        descriptor = pending.pop()
        if kind_of(descriptor) in rows:
            continue
        fields = rows[kind_of(descriptor)] = {}
        for field in descriptor.fields:
            message = field.message_type
            oneof = field.containing_oneof
            fields[field.number] = Field(
                name=field.name,
                repeated=_is_repeated(field),
                wire_type=_WIRE_TYPES.get(field.type, VARINT),
                message=kind_of(message) if message is not None else None,
                oneof=oneof.name if oneof is not None else None,
            )
            if message is not None:
                pending.append(message)
    return rows


# kind of message -> field number -> field
FIELDS: dict[str, dict[int, Field]] = _rows(onnx.ModelProto.DESCRIPTOR)


def number_of(kind: str, name: str) -> int:
    """The number of the field `name` of the message `kind`."""
    return next(number for number, field in FIELDS[kind].items() if field.name == name)


def _reaching(target: str) -> frozenset[str]:
    reaching = {target}
    grown = True
    while grown:
        kinds = {kind for kind, fields in FIELDS.items() if any(field.message in reaching for field in fields.values())}
        grown = not kinds <= reaching
        reaching |= kinds
    return frozenset(reaching)


# The kinds of message in which, at any depth, a tensor can stand.
TENSOR_HOLDERS: frozenset[str] = _reaching("TensorProto")


def holder_in(kind: str, number: int) -> str | None:
    """The kind of message in a field, if a tensor can stand in it at any depth."""
    row = FIELDS[kind].get(number)
    return row.message if row is not None and row.message in TENSOR_HOLDERS else None
