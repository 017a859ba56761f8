"""Which fields the ONNX messages have: the descriptors of the onnx package, as rows that a wire walk can look up.

Source: onnx/onnx.proto, through the descriptors the installed package carries, so a newer onnx brings its own rows.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from resizefix.document.wire import FIXED32, FIXED64, LENGTH_DELIMITED, VARINT

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
        more = {kind for kind, fields in FIELDS.items() if any(field.message in reaching for field in fields.values())}
        grown = not more <= reaching
        reaching |= more
    return frozenset(reaching)


# The kinds of message in which, at any depth, a tensor can stand.
TENSOR_HOLDERS: frozenset[str] = _reaching("TensorProto")


def holder_in(kind: str, number: int) -> str | None:
    """The kind of message in a field, if a tensor can stand in it at any depth."""
    row = FIELDS[kind].get(number)
    return row.message if row is not None and row.message in TENSOR_HOLDERS else None
