"""Large tensor payloads: found in a model file without being read, and replaced by references into that file.

A reference is the external data of the ONNX spec (docs/ExternalData.md): location, offset, length. onnxruntime maps
it from the original file, so the model opens without its weights ever passing through Python.

Tensors are replaced wherever they stand, every byte around them left as it is; lengths of the enclosing messages are
computed anew from the inside out. Which parts are entered is the caller's choice (`Entering`): those large enough to
hold a payload, or those that contain a given string.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from onnx import TensorProto

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.source import Piece, Source, Span, framed
from resizefix.document.wire import (
    FIELDS,
    LENGTH_DELIMITED,
    MAX_DEPTH,
    TENSOR_HOLDERS,
    VARINT,
    MalformedError,
    Readable,
    Record,
    encode_bytes,
    holder_in,
    number_of,
    records,
    varint_value,
)

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
    position = data.find(needle)
    while position >= 0:
        positions.append(position)
        position = data.find(needle, position + 1)

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

    Raises UnreadableModelError for records that ONNX has not, which parsers keep and do not report.
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


# Below a page nothing is saved: the page is read for its neighbours' headers anyway, and a reference costs some 80
# bytes itself. Everything that carries meaning (scales, sizes, shapes, axes) is far smaller and so stays visible.
THRESHOLD = 4096

DATA_TYPE = number_of("TensorProto", "data_type")
FLOAT_DATA = number_of("TensorProto", "float_data")
DOUBLE_DATA = number_of("TensorProto", "double_data")
RAW_DATA = number_of("TensorProto", "raw_data")
EXTERNAL_DATA = number_of("TensorProto", "external_data")
DATA_LOCATION = number_of("TensorProto", "data_location")

_FLOAT, _DOUBLE, _COMPLEX64, _COMPLEX128, _STRING = 1, 11, 14, 15, 8
# Packed typed data whose bytes are those of raw_data (little-endian), and the data types for which it is so.
FORMS = {FLOAT_DATA: (_FLOAT, _COMPLEX64), DOUBLE_DATA: (_DOUBLE, _COMPLEX128)}
_NUMBER_SIZE = {FLOAT_DATA: 4, DOUBLE_DATA: 8}
# The fields that can hold a tensor's data, and all that hold it or say where it lies.
OWN_DATA = ("raw_data", "float_data", "double_data", "int32_data", "int64_data", "uint64_data", "string_data")
_DATA = frozenset(number_of("TensorProto", name) for name in (*OWN_DATA, "external_data", "segment"))

# Which messages are entered, as which kind. References are made where onnxruntime reads them: initializers and the
# value of Constant, at any depth. Tensor attributes of other operators stay inline, for kernels read those themselves.
_ENTERED: dict[str, dict[str, str]] = {
    "ModelProto": {"graph": "GraphProto", "functions": "FunctionProto", "training_info": "TrainingInfoProto"},
    "TrainingInfoProto": {"initialization": "GraphProto", "algorithm": "GraphProto"},
    "GraphProto": {"node": "NodeProto", "initializer": "TensorProto", "sparse_initializer": "SparseTensorProto"},
    "FunctionProto": {"node": "NodeProto"},
    "NodeProto": {"attribute": "AttributeProto"},
    "AttributeProto": {"g": "GraphProto", "graphs": "GraphProto"},
    "Constant": {"attribute": "value of Constant"},
    "value of Constant": {"t": "TensorProto", "sparse_tensor": "SparseTensorProto"},
    "SparseTensorProto": {"values": "TensorProto", "indices": "TensorProto"},
}
_MESSAGES = {"Constant": "NodeProto", "value of Constant": "AttributeProto"}
_CHILDREN = {
    kind: {number_of(_MESSAGES.get(kind, kind), field): child for field, child in row.items()}
    for kind, row in _ENTERED.items()
}
# Fields of one message: where a file states one twice, parsers merge the two, so neither is a tensor by itself.
_SINGULAR = {
    kind: frozenset(
        number for number, field in fields.items() if field.message in TENSOR_HOLDERS and not field.repeated
    )
    for kind, fields in FIELDS.items()
}
_OP_TYPE, _DOMAIN = number_of("NodeProto", "op_type"), number_of("NodeProto", "domain")
_LOCATIONS = frozenset(TensorProto.DataLocation.values())


class Payload(NamedTuple):
    """The bytes of one tensor in a file: in which field they stand, from where to where.

    `location_stated` remembers that the tensor said `data_location: DEFAULT` although that is the default.
    """

    field: int
    start: int
    end: int
    location_stated: bool


def records_of_reference(location: str, offset: int, length: int, checksum: str = "") -> bytes:
    """The records that make a TensorProto without data refer to `length` bytes at `offset` of the file `location`."""
    entries = [("location", location), ("offset", str(offset)), ("length", str(length))]
    if checksum:
        entries.append(("checksum", checksum))
    return b"".join(
        encode_bytes(EXTERNAL_DATA, encode_bytes(1, key.encode()) + encode_bytes(2, value.encode()))
        for key, value in entries
    ) + bytes((DATA_LOCATION << 3, 1))


def detach(
    data: Readable, refer: Callable[[Payload], list[Piece]], source: Source | None = None, *, everywhere: bool = False
) -> list[Piece]:
    """The model in `data` with every large payload replaced by what `refer` puts behind the rest of its tensor.

    The untouched parts stay in `source` where that is given. `everywhere` enters also the tensors that onnxruntime
    takes no references for.
    Raises MalformedError for bytes that are not a model.
    """

    def cut(start: int, end: int) -> Piece:
        return data[start:end] if source is None else Span(source, start, end)

    def entering(kind: str, start: int, end: int) -> Iterator[tuple[Record, str]]:
        merged = _stated_twice(data, kind, start, end)
        for record in records(data, start, end):
            if record.end - record.body < THRESHOLD or record.wire_type != LENGTH_DELIMITED:  # most records
                continue
            child = holder_in(kind, record.number) if everywhere else _CHILDREN[kind].get(record.number)
            if child is None or record.number in merged:
                continue
            if child == "NodeProto" and not everywhere and _is_constant(data, record):
                child = "Constant"
            yield record, child

    def replacing(start: int, end: int) -> list[Piece] | None:
        pair = _payload_of(data, start, end)
        if pair is None:
            return None
        record, payload = pair
        return [cut(start, record.start), cut(record.end, end), *refer(payload)]

    return replace_tensors("ModelProto", 0, len(data), entering, replacing, cut) or [cut(0, len(data))]


def _stated_twice(data: Readable, kind: str, start: int, end: int) -> set[int]:
    """The numbers of the singular fields that the message between `start` and `end` states more than once."""
    singular = _SINGULAR[_MESSAGES.get(kind, kind)]
    if not singular:
        return set()
    counts = Counter(record.number for record in records(data, start, end) if record.number in singular)
    return {number for number, count in counts.items() if count > 1}


def _is_constant(data: Readable, node: Record) -> bool:
    said = {_OP_TYPE: b"", _DOMAIN: b""}
    for record in records(data, node.body, node.end):
        if record.number in said and record.wire_type == LENGTH_DELIMITED:
            said[record.number] = data[record.body : record.end]
    return said[_OP_TYPE] == b"Constant" and said[_DOMAIN] in (b"", b"ai.onnx")


def _payload_of(data: Readable, start: int, end: int) -> tuple[Record, Payload] | None:
    """The one record with all the data of the tensor between `start` and `end`, if it is large and plain bytes."""
    data_type, location, holders = 0, None, []
    for record in records(data, start, end):
        if record.number == DATA_TYPE and record.wire_type == VARINT:
            data_type = _int32(data, record)
        elif record.number == DATA_LOCATION and record.wire_type == VARINT:
            # A value that the enum has not is to parsers a field they do not know: what was said before still counts.
            stated = _int32(data, record)
            location = stated if stated in _LOCATIONS else location
        elif record.number in _DATA:
            holders.append(record)
    if len(holders) != 1 or location not in (None, TensorProto.DEFAULT):
        return None
    record = holders[0]
    plain = (record.number == RAW_DATA and data_type != _STRING) or data_type in FORMS.get(record.number, ())
    length = record.end - record.body
    if not plain or record.wire_type != LENGTH_DELIMITED or length < THRESHOLD:
        return None
    if length % _NUMBER_SIZE.get(record.number, 1):
        return None  # no parser reads such a file, nor shall we
    return record, Payload(record.number, record.body, record.end, location is not None)


def _int32(data: Readable, record: Record) -> int:
    """What parsers read where the schema has an int32 or an enum: the lower 32 bits, whatever the file states."""
    low = varint_value(data, record) & 0xFFFFFFFF
    return low - (low >> 31 << 32)
