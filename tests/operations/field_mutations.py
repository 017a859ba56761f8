"""A model in which every field of every ONNX message is stated, and every way to change one field of it.

Both come from the descriptors of the onnx package alone, so that nothing is shared with what compares models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

# Each tensor has its data in one of these fields, in the type that belongs to it.
DATA = {
    "float_data": TensorProto.FLOAT,
    "int32_data": TensorProto.INT32,
    "string_data": TensorProto.STRING,
    "int64_data": TensorProto.INT64,
    "raw_data": TensorProto.FLOAT,
    "double_data": TensorProto.DOUBLE,
    "uint64_data": TensorProto.UINT64,
    "external_data": TensorProto.FLOAT,
}
DATA_FILE, DATA_BYTES = "weights.bin", bytes(range(1, 33))
_INLINE = [name for name in DATA if name != "external_data"]
_ONE_EXTERNAL_IN = 50  # each is read from its file by every comparison
_TYPES = ("elem_type", "data_type", "key_type")
_MOST_NESTED = {"GraphProto": 2, "TypeProto": 2}  # how often one stands inside another of its kind, itself included
_REALS = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)
# A field that no version of onnx has.
_UNKNOWN = b"\xc0\xbb\x01\x07"


def is_list(field: FieldDescriptor) -> bool:
    successor = getattr(field, "is_repeated", None)  # `label` is deprecated in protobuf 6
    return bool(successor) if successor is not None else field.label == FieldDescriptor.LABEL_REPEATED


def rich_model() -> ModelProto:
    """Every field of every message stated somewhere, each text and number but once."""
    model = ModelProto()
    _Filling().fill(model)
    return model


class _Filling:
    def __init__(self) -> None:
        self.count = self.tensors = 0
        self.within: Counter[str] = Counter()

    def fill(self, message: Message, *, whole: bool = True) -> None:
        """States the fields, those that hold messages only if it is to be whole."""
        kind = message.DESCRIPTOR.name
        self.within[kind] += 1
        chosen = [oneof.fields[self.next() % len(oneof.fields)] for oneof in message.DESCRIPTOR.oneofs]
        for field in message.DESCRIPTOR.fields:
            if field.containing_oneof is not None and field not in chosen:
                continue
            if field.message_type is not None and not (whole and self.has_room(field.message_type.name)):
                continue
            self.state(message, field)
        if isinstance(message, TensorProto):
            self.give_data(message)
        self.within[kind] -= 1

    def has_room(self, kind: str) -> bool:
        return self.within[kind] < _MOST_NESTED.get(kind, 1)

    def state(self, message: Message, field: FieldDescriptor) -> None:
        if not is_list(field) and field.message_type is None:
            setattr(message, field.name, value_for(field, self.next()))
        elif not is_list(field):
            getattr(message, field.name).SetInParent()
            self.fill(getattr(message, field.name))
        elif field.message_type is None:
            getattr(message, field.name).extend(value_for(field, self.next()) for _ in range(2))
        else:
            for whole in (True, False):
                self.fill(getattr(message, field.name).add(), whole=whole)

    def give_data(self, tensor: TensorProto) -> None:
        self.tensors += 1
        kept = "external_data" if self.tensors % _ONE_EXTERNAL_IN == 0 else _INLINE[self.tensors % len(_INLINE)]
        for name in {*DATA} - {kept}:
            tensor.ClearField(name)
        tensor.dims[:] = [2]
        tensor.data_type = DATA[kept]
        tensor.data_location = TensorProto.DEFAULT
        if kept == "raw_data":
            tensor.raw_data = self.next().to_bytes(8, "little")
        elif kept == "external_data":
            tensor.data_location = TensorProto.EXTERNAL
            del tensor.external_data[:]
            for key, value in (("location", DATA_FILE), ("offset", "8"), ("length", "8")):
                tensor.external_data.add(key=key, value=value)

    def next(self) -> int:
        self.count += 1
        return self.count


def value_for(field: FieldDescriptor, number: int) -> Any:
    """A value that the field can have, another for each number."""
    if field.enum_type is not None:
        return field.enum_type.values[number % len(field.enum_type.values)].number
    if field.name in _TYPES:
        return (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL)[number % 3]
    if field.type == FieldDescriptor.TYPE_STRING:
        return f"{field.name}_{number}"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return f"{field.name}_{number}".encode()
    return number + 0.5 if field.type in _REALS else number


class Mutation(NamedTuple):
    """One change of one field: the message that has it (as the way from the model), and what is done to it."""

    way: tuple[tuple[str, int | None], ...]
    field: str
    how: str

    def applied(self, model: ModelProto) -> ModelProto:
        """The changed copy of the model."""
        changed = ModelProto()
        changed.CopyFrom(model)
        message: Any = changed
        for name, index in self.way:
            message = getattr(message, name)
            message = message if index is None else message[index]
        _HOW[self.how](message, message.DESCRIPTOR.fields_by_name.get(self.field))
        return changed


def mutations(message: Message, way: tuple[tuple[str, int | None], ...] = ()) -> Iterator[tuple[str, Mutation]]:
    """Every mutation of every message in a model, each with the kind of message whose field it changes."""
    kind = message.DESCRIPTOR.full_name.removeprefix("onnx.")
    yield kind, Mutation(way, "unknown", "an unknown field")
    for field in message.DESCRIPTOR.fields:
        for how in _ways_to_change(message, field):
            yield kind, Mutation(way, field.name, how)
        if field.message_type is not None and is_list(field):
            for index, entry in enumerate(getattr(message, field.name)):
                yield from mutations(entry, (*way, (field.name, index)))
        elif field.message_type is not None and message.HasField(field.name):
            yield from mutations(getattr(message, field.name), (*way, (field.name, None)))


def _ways_to_change(message: Message, field: FieldDescriptor) -> list[str]:
    is_message = field.message_type is not None
    if is_list(field):
        entries = getattr(message, field.name)
        if not entries:
            return ["entry added"]
        ways = ["first entry removed", "last entry removed", "all entries removed", "first entry repeated"]
        ways += ["order"] if entries[0] != entries[-1] else []
        return ways if is_message else [*ways, "entry changed"]
    if not message.HasField(field.name):
        return ["empty message stated"] if is_message else ["stated", "default stated"]
    return ["cleared", "emptied"] if is_message else ["cleared", "changed"]


def _state_default(message: Any, field: FieldDescriptor) -> None:
    setattr(message, field.name, field.default_value)


def _change(message: Any, field: FieldDescriptor) -> None:
    old = getattr(message, field.name)
    if field.enum_type is not None or field.name in _TYPES:
        setattr(message, field.name, next(v for v in (value_for(field, n) for n in range(9)) if v != old))
    else:
        setattr(message, field.name, type(old)(old + _more(old)))


def _more(value: Any) -> Any:
    return {str: "x", bytes: b"x"}.get(type(value), 1)


def _change_entry(message: Any, field: FieldDescriptor) -> None:
    entries = getattr(message, field.name)
    entries[-1] = type(entries[-1])(entries[-1] + _more(entries[-1]))


def _repeat(message: Any, field: FieldDescriptor) -> None:
    entries = getattr(message, field.name)
    entries.extend([entries[0]])


def _reverse(message: Any, field: FieldDescriptor) -> None:
    entries = [*getattr(message, field.name)]
    copies = [type(e).FromString(e.SerializeToString()) if isinstance(e, Message) else e for e in reversed(entries)]
    message.ClearField(field.name)
    getattr(message, field.name).extend(copies)


def _add(message: Any, field: FieldDescriptor) -> None:
    entries = getattr(message, field.name)
    if field.message_type is None:
        entries.append(value_for(field, 1))
    else:
        entries.add()


def _state_empty(message: Any, field: FieldDescriptor) -> None:
    message.ClearField(field.name)
    getattr(message, field.name).SetInParent()


_HOW = {
    "an unknown field": lambda message, field: message.MergeFromString(_UNKNOWN),
    "entry added": _add,
    "first entry removed": lambda message, field: getattr(message, field.name).__delitem__(0),
    "last entry removed": lambda message, field: getattr(message, field.name).__delitem__(-1),
    "all entries removed": lambda message, field: message.ClearField(field.name),
    "first entry repeated": _repeat,
    "order": _reverse,
    "entry changed": _change_entry,
    "empty message stated": _state_empty,
    "emptied": _state_empty,
    "stated": lambda message, field: setattr(message, field.name, value_for(field, 1)),
    "default stated": _state_default,
    "cleared": lambda message, field: message.ClearField(field.name),
    "changed": _change,
}
