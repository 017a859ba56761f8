"""How the fields of ONNX messages are compared, as rows: which lists are matched by what, and what no runtime reads.

Every other field counts as it stands, those that a newer onnx brings included: lists by position, all else by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from onnx import FunctionProto, NodeProto, OperatorSetIdProto, SparseTensorProto

from resizefix.document.schema import FIELDS
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.scope_path import FunctionName


class Matched(NamedTuple):
    """A list whose entries are matched by `key`. Where not `is_ordered`, their order says nothing."""

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


class Pair(NamedTuple):
    """Two entries of one name, `before` or `after` None where that list has none."""

    name: str
    before: Any
    after: Any


def pairs(
    matched: Matched | None, before: Iterable[Any], after: Iterable[Any]
) -> tuple[list[Pair], tuple[str, str] | None]:
    """The entries of two lists in pairs: by name, the second of a name with the second; by position where None matches.

    Then, if their order counts, the first entry that stands where another stood, and that one.
    """
    old, new = numbered(matched, before), numbered(matched, after)
    rows = [Pair(_shown(key), old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]
    if matched is None or not matched.is_ordered:
        return rows, None
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
