"""Whether every text of a model is UTF-8, as protobuf demands of strings and ONNX relies on for names.

onnx.proto is written in protobuf's second edition, whose parsers take any bytes for a string and give them back as
`bytes` where they are no UTF-8; nothing that compares or joins names is ready for that. Parsers of the third edition
refuse such strings, at the speed of a parser. So the same messages are declared once more in that edition.
Where external data lie is a file name, which some systems let be any bytes: it is left to whoever opens the file.
Source: https://protobuf.dev/programming-guides/encoding/, https://protobuf.dev/programming-guides/proto3/#scalar
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import onnx
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, Message

from resizefix.errors import UnreadableModelError


def require_utf8(model: bytes, name: str) -> None:
    """Raises UnreadableModelError, saying where, if a text in the serialised model `name` is no UTF-8."""
    try:
        _strict().FromString(model)
    except DecodeError:
        # Nothing is found where the file states a field twice and only the last, which counts, is UTF-8.
        for place, text in _offending("", onnx.ModelProto.FromString(model)):
            raise UnreadableModelError("document.text-not-utf-8", name=name, place=place, text=text[:80]) from None


def _offending(place: str, message: Message) -> Iterator[tuple[str, bytes]]:
    for field, value in message.ListFields():
        if field.name == "external_data":
            continue
        step = f"{place}.{field.name}" if place else field.name
        entries = [(step, value)]
        if not isinstance(value, (str, bytes, int, float, Message)):
            entries = [(f"{step}[{index}]", entry) for index, entry in enumerate(value)]
        for where, entry in entries:
            if isinstance(entry, Message):
                yield from _offending(where, entry)
            elif field.type == field.TYPE_STRING and isinstance(entry, bytes):
                yield where, entry


@lru_cache(maxsize=1)
def _strict() -> type[Message]:
    """ModelProto in protobuf's third edition, for parsing alone."""
    file = FileDescriptorProto()
    onnx.ModelProto.DESCRIPTOR.file.CopyToProto(file)
    file.syntax = "proto3"
    file.ClearField("options")
    for message in file.message_type:
        _modernise(message)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    strict: type[Message] = message_factory.GetMessageClass(
        pool.FindMessageTypeByName(onnx.ModelProto.DESCRIPTOR.full_name)
    )
    return strict


def _modernise(message: DescriptorProto) -> None:
    message.ClearField("extension_range")
    for field in message.field:
        field.ClearField("default_value")
        if field.name == "external_data":
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            field.label = FieldDescriptorProto.LABEL_OPTIONAL
    for inner in message.nested_type:
        _modernise(inner)
