"""How the fields of ONNX messages are compared, as rows: which lists are matched by what, and what no runtime reads.

Every other field counts as it stands, those that a newer onnx brings included: lists by position, all else by value.

In what two messages of the ONNX schema differ, field by field, as their descriptors list the fields.

Nothing that a message can say is skipped: fields that the installed onnx does not know are compared as well. Tensors
are compared by their data, wherever each file keeps them, and by how they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import FunctionProto, NodeProto, OperatorSetIdProto, SparseTensorProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.stored import stored, where_data_differ
from resizefix.document.wire import FIELDS, kind_of, records
from resizefix.operations.change_texts import (
    bits_texts,
    data_texts,
    list_texts,
    message_text,
    scalar_text,
    storage_text,
    unknown_text,
)
from resizefix.scope_path import FunctionName


class Matched(NamedTuple):
    """A list whose entries are matched by `key`. Where not `is_ordered`, no runtime reads their order."""

    key: Callable[[Any], str]
    is_ordered: bool = False


def _name(entry: Any) -> str:
    return str(entry.name)


def _key(entry: Any) -> str:
    return str(entry.key)


def node_key(node: NodeProto) -> str:
    """What tells a node from others of its scope: its outputs, or its operator where it has none."""
    return ", ".join(node.output) or node.op_type


def _domain(entry: OperatorSetIdProto) -> str:
    return "ai.onnx" if entry.domain in DEFAULT_DOMAINS else entry.domain


def _function(entry: FunctionProto) -> str:
    domain = "ai.onnx" if entry.domain in DEFAULT_DOMAINS else entry.domain
    return str(FunctionName(domain, entry.name, entry.overload)).removeprefix("function ")


def _sparse(entry: SparseTensorProto) -> str:
    return entry.values.name


_KEY_AND_VALUE = "StringStringEntryProto"
# (kind of message, field) -> how the entries of that list are matched
MATCHED: dict[tuple[str, str], Matched] = {
    # Callers and callees pass values by position, and runtimes list them in this order.
    ("GraphProto", "input"): Matched(_name, is_ordered=True),
    ("GraphProto", "output"): Matched(_name, is_ordered=True),
    ("FunctionProto", "input"): Matched(str, is_ordered=True),
    ("FunctionProto", "output"): Matched(str, is_ordered=True),
    # In the file's order they run, where a runtime chooses none of its own (docs/IR.md: it must be topological).
    ("GraphProto", "node"): Matched(node_key, is_ordered=True),
    ("FunctionProto", "node"): Matched(node_key, is_ordered=True),
    # All others are looked up by name.
    ("GraphProto", "initializer"): Matched(_name),
    ("GraphProto", "sparse_initializer"): Matched(_sparse),
    ("GraphProto", "value_info"): Matched(_name),
    ("FunctionProto", "value_info"): Matched(_name),
    ("GraphProto", "quantization_annotation"): Matched(lambda entry: str(entry.tensor_name)),
    ("NodeProto", "attribute"): Matched(_name),
    ("FunctionProto", "attribute"): Matched(str),
    ("FunctionProto", "attribute_proto"): Matched(_name),
    ("ModelProto", "opset_import"): Matched(_domain),
    ("FunctionProto", "opset_import"): Matched(_domain),
    ("ModelProto", "functions"): Matched(_function),
    # Keys with values: metadata, bindings, where external data lie.
    **{
        (kind, field.name): Matched(_key)
        for kind, fields in FIELDS.items()
        for field in fields.values()
        if field.message == _KEY_AND_VALUE
    },
}

# Fields that no runtime reads to compute: `--meaning-only` leaves them out.
_ABOUT_THE_MODEL = ("producer_name", "producer_version", "domain", "model_version")
UNREAD: frozenset[tuple[str, str]] = frozenset({
    # Text for people and tools, wherever a message has it.
    *((kind, name) for kind in FIELDS for name in ("doc_string", "metadata_props")),
    # Who made the model, and which of theirs it is.
    *(("ModelProto", name) for name in _ABOUT_THE_MODEL),
    # Graphs are not looked up; initializers are matched by their names already, other tensors are not looked up.
    ("GraphProto", "name"),
    ("TensorProto", "name"),
})  # fmt: skip
# Fields that name a domain, in which "" and "ai.onnx" are the same.
DOMAINS = frozenset({("OperatorSetIdProto", "domain"), ("NodeProto", "domain"), ("FunctionProto", "domain")})


MessagePair = tuple[str, Any, Any]  # two entries of one name; one is None where that list has none


def pairs(
    matched: Matched | None, before: Iterable[Any], after: Iterable[Any]
) -> tuple[list[MessagePair], tuple[str, str] | None]:
    """The entries of two lists in pairs: by name, the second of a name with the second; by position where None matches.

    Then, if the order is another, the first entry that stands where another stood, and that one.
    """
    old, new = numbered(matched, before), numbered(matched, after)
    rows = [(_shown(key), old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]
    was, now = [key for key in old if key in new], [key for key in new if key in old]
    return rows, next(((_shown(a), _shown(b)) for a, b in zip(was, now, strict=True) if a != b), None)


def numbered(matched: Matched | None, entries: Iterable[Any]) -> dict[tuple[str, int], Any]:
    """The entries by name, and which of that name each is; by position where None matches."""
    if matched is None:
        return {(str(position), 1): entry for position, entry in enumerate(entries)}
    seen: dict[str, int] = {}
    result = {}
    for entry in entries:
        key = matched.key(entry)
        seen[key] = number = seen.get(key, 0) + 1
        result[key, number] = entry
    return result


def _shown(key: tuple[str, int]) -> str:
    name, number = key
    return name if number == 1 else f"{name} ({number})"


UNKNOWN = "unknown fields"
# What no runtime reads, apart from the fields of UNREAD: how a tensor is stored, "" or "ai.onnx", a default that is
# stated, the order of a list that is looked up by name.
STORAGE, DOMAIN, DEFAULT, ORDER = "storage", "domain", "default value", "order"


class Difference(NamedTuple):
    """One field that differs: the way to it, and its value in each message, None where the message has none.

    `unread` says what kind of thing it is where no runtime reads it to compute; None where one does.
    """

    path: tuple[str, ...]
    before: str | None
    after: str | None
    unread: str | None = None


def serialized(message: Message) -> bytes:
    """The one serialisation that equal messages share."""
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def settled(before: Message, after: Message) -> bool:
    """Whether two messages are the same without another look: equal, and they refer to no file."""
    data = serialized(before)
    return data == serialized(after) and b"location" not in data


def by_number(message: Message) -> dict[int, list[bytes]]:
    """The records of a message by the number of their field."""
    data = serialized(message)
    records_by_number: dict[int, list[bytes]] = {}
    for record in records(data, 0, len(data)):
        records_by_number.setdefault(record.number, []).append(data[record.start : record.end])
    return records_by_number


class FieldPair(NamedTuple):
    """One field of two messages of a kind, with the records that state it in each where it holds no messages."""

    kind: str
    field: FieldDescriptor
    before: Message
    after: Message
    old: list[bytes]
    new: list[bytes]

    @property
    def values(self) -> tuple[Any, Any]:
        """What the field holds in each; a field that is not stated holds its default."""
        return getattr(self.before, self.field.name), getattr(self.after, self.field.name)

    @property
    def is_repeated(self) -> bool:
        """Whether the field is a list."""
        return FIELDS[self.kind][self.field.number].repeated

    @property
    def is_stated(self) -> tuple[bool, bool]:
        """Whether each message states the field, which is one that has a single value."""
        return self.before.HasField(self.field.name), self.after.HasField(self.field.name)


def differing(before: Message, after: Message) -> Iterator[FieldPair]:
    """The fields that may differ between two messages of one kind, in the order of the schema."""
    kind = kind_of(before.DESCRIPTOR)
    was, now = by_number(before), by_number(after)
    for field in before.DESCRIPTOR.fields:
        old, new = was.get(field.number, []), now.get(field.number, [])
        if old != new or any(b"location" in record for record in old):
            yield FieldPair(kind, field, before, after, *((old, new) if field.message_type is None else ([], [])))


class MessageComparison:
    """Compares messages of two documents."""

    def __init__(self, before: Document, after: Document) -> None:
        self._documents = before, after

    def differences(self, before: Message, after: Message, path: tuple[str, ...] = ()) -> Iterator[Difference]:
        """Every field in which two messages of one kind differ."""
        if settled(before, after):
            return
        if isinstance(before, TensorProto) and isinstance(after, TensorProto):
            yield from self._of_tensors(before, after, path)
        else:
            yield from self._of_fields(before, after, path)

    def of_field(self, pair: FieldPair, path: tuple[str, ...] = ()) -> Iterator[Difference]:
        """What differs in one field."""
        row = FIELDS[pair.kind][pair.field.number]
        if row.message is None and pair.old == pair.new:
            return
        if row.repeated:
            differences = self._of_list(pair, path)
        elif row.message is None:
            differences = _of_value(pair, path)
        elif pair.is_stated == (True, True):
            differences = self.differences(*pair.values, (*path, pair.field.name))
        elif any(pair.is_stated):
            differences = iter([Difference((*path, pair.field.name), *_if_stated(pair, message_text))])
        else:
            return
        unread = pair.field.name if (pair.kind, pair.field.name) in UNREAD else None
        yield from (one if unread is None else one._replace(unread=unread) for one in differences)

    def _of_fields(self, before: Message, after: Message, path: tuple[str, ...]) -> Iterator[Difference]:
        for pair in differing(before, after):
            yield from self.of_field(pair, path)
        yield from of_unknown_fields(before, after, path)

    def _of_list(self, pair: FieldPair, path: tuple[str, ...]) -> Iterator[Difference]:
        name, (old, new) = pair.field.name, pair.values
        matched = MATCHED.get((pair.kind, name))
        if matched is None and pair.field.message_type is None:
            yield _of_values(pair, path)
            return
        rows, moved = pairs(matched, old, new)
        for entry, before, after in rows:
            place = (*path, f"{name}[{entry}]")
            if before is None or after is None:
                yield Difference(place, *(None if one is None else message_text(one) for one in (before, after)))
            elif not isinstance(before, str):
                yield from self.differences(before, after, place)
        if moved is not None:
            is_read = matched is None or matched.is_ordered
            yield Difference((*path, f"order of {name.removesuffix('s')}s"), *moved, None if is_read else ORDER)

    def _of_tensors(self, before: TensorProto, after: TensorProto, path: tuple[str, ...]) -> Iterator[Difference]:
        old, new = (stored(document, tensor) for document, tensor in zip(self._documents, (before, after), strict=True))
        if serialized(old.rest) != serialized(new.rest):
            yield from self._of_fields(old.rest, new.rest, path)
        where = where_data_differ(old, new)
        if where is not None:
            yield Difference((*path, "data"), *data_texts(old, new, where))
        elif old.fields != new.fields:
            yield Difference((*path, STORAGE), storage_text(old), storage_text(new), STORAGE)
        else:
            for one in self._of_fields(old.place, new.place, path):
                yield one._replace(unread=STORAGE)


def of_unknown_fields(before: Message, after: Message, path: tuple[str, ...] = ()) -> Iterator[Difference]:
    """What differs in the fields that the installed onnx does not know."""
    old, new = unknown_text(UnknownFieldSet(before)), unknown_text(UnknownFieldSet(after))
    if old != new:
        yield Difference((*path, UNKNOWN), old, new)


def _of_value(pair: FieldPair, path: tuple[str, ...]) -> Iterator[Difference]:
    """A field with a single number or text, which is not the same."""
    old, new = pair.values
    texts = _if_stated(pair, lambda value: scalar_text(pair.field, value))
    unread = None
    if scalar_text(pair.field, old) == scalar_text(pair.field, new) and None in texts:
        unread = DEFAULT if pair.field.containing_oneof is None else None
    elif (pair.kind, pair.field.name) in DOMAINS and old in DEFAULT_DOMAINS and new in DEFAULT_DOMAINS:
        unread = DOMAIN
    yield Difference((*path, pair.field.name), *_told_apart(pair, *texts), unread)


def _of_values(pair: FieldPair, path: tuple[str, ...]) -> Difference:
    """A list of numbers or texts, which is not the same: all of it, or of a long one what stands where it differs."""
    old, new = pair.values
    where = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return Difference((*path, pair.field.name), *_told_apart(pair, *list_texts(pair.field, old, new, where)))


def _if_stated(pair: FieldPair, text: Callable[[Any], str]) -> tuple[str | None, str | None]:
    """The texts of the two values, None where a message does not state the field."""
    both = zip(pair.values, pair.is_stated, strict=True)
    old, new = (text(value) if is_stated else None for value, is_stated in both)
    return old, new


def _told_apart(pair: FieldPair, old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """The texts, or the bits of a field whose values read alike: of numbers that are not a number, of long texts."""
    return (old, new) if old != new else bits_texts(pair.old, pair.new)
