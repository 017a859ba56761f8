"""What changed between two models, message by message; what is not in the list is the same.

Every field that the descriptors of the ONNX messages list is compared, and what the installed onnx does not know of.
Nodes are matched by what they write, most else by name (message_differences.py says which).
Tensors are compared by value, wherever each file keeps them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import bodies_in, in_order, subgraphs
from resizefix.operations.change_texts import message_text, tensor_text
from resizefix.operations.message_differences import (
    MATCHED,
    UNKNOWN,
    UNREAD,
    Difference,
    FieldPair,
    MessageComparison,
    MessagePair,
    differing,
    numbered,
    of_unknown_fields,
    pairs,
    settled,
)
from resizefix.scope_path import MAIN, FunctionName, ScopePath

_WHAT = {"opset_import": "opset", "functions": "function"}
_LAST = ("initializer",)  # behind inputs and outputs, as readers expect them
_MOST_PARTS = 8  # of one change
# Where a body is compared: its path, and the messages of both models.
_Body = tuple[ScopePath, GraphProto | FunctionProto, GraphProto | FunctionProto]


@dataclass(frozen=True)
class Change:
    """One thing that differs: `before` is None where it is new, `after` where it is gone. `scope` as in
    `Scope.path`."""

    what: str
    name: str
    before: str | None
    after: str | None
    scope: ScopePath = MAIN


def diff(before: Document, after: Document, *, meaning_only: bool = False) -> list[Change]:
    """All differences between two models, the model's own fields first, then scope by scope.

    `meaning_only` leaves out what no runtime reads to compute: texts, metadata, who made the model, how a tensor is
    stored, another order of what is looked up by name, another valid order of the nodes.
    """
    return list(_Models(before, after, meaning_only).changes())


class _Models:
    """Two models, compared from the outside in."""

    def __init__(self, before: Document, after: Document, meaning_only: bool) -> None:
        self._documents = before, after
        self._meaning_only = meaning_only
        self._comparison = MessageComparison(before, after)

    def changes(self) -> Iterator[Change]:
        """Every change; bodies are compared after the scope that holds them."""
        before, after = (document.proto for document in self._documents)
        yield from self._of_owner(before, after, MAIN)
        pending: deque[_Body] = deque([(MAIN, before.graph, after.graph), *_functions(before, after)])
        while pending:
            path, old, new = pending.popleft()
            if settled(old, new):
                continue
            yield from self._of_owner(old, new, path)
            both, one_sided = _bodies(path, old, new)
            yield from one_sided
            pending.extendleft(reversed(both))

    def _of_owner(self, before: Message, after: Message, path: ScopePath) -> Iterator[Change]:
        """The fields of a model, a graph or a function, but for the main graph and the functions' bodies."""
        for pair in sorted(differing(before, after), key=lambda pair: pair.field.name in _LAST):
            name, what = pair.field.name, _WHAT.get(pair.field.name, pair.field.name)
            if (self._meaning_only and (pair.kind, name) in UNREAD) or name == "graph":
                continue
            if (pair.kind, name) in MATCHED or (pair.is_repeated and pair.field.message_type is not None):
                yield from self._of_list(what, pair, path)
                continue
            for one in self._wanted(self._comparison.of_field(pair)):
                yield Change(what, ".".join(one.path), one.before, one.after, path)
        for one in of_unknown_fields(before, after):
            yield Change(UNKNOWN, UNKNOWN, one.before, one.after, path)

    def _of_list(self, what: str, pair: FieldPair, path: ScopePath) -> Iterator[Change]:
        old, new = pair.values
        rows, moved = pairs(MATCHED.get((pair.kind, pair.field.name)), old, new)
        for row in rows:
            _, before, after = row
            if before is None or after is None:
                yield Change(what, _name(row), *self._texts(row), path)
            elif what != "function" and not isinstance(before, str):
                yield from self._of_entry(what, row, path)
        if moved is not None and not (self._meaning_only and _means_the_same_in_order(pair)):
            yield Change(f"order of {what.removesuffix('s')}s", moved[0], *moved, path)

    def _of_entry(self, what: str, row: MessagePair, path: ScopePath) -> Iterator[Change]:
        _, old, new = row
        if isinstance(old, NodeProto) and not settled(old, new):
            old, new = _without_bodies(old), _without_bodies(new)
        differences = list(self._wanted(self._comparison.differences(old, new)))
        read = [one for one in differences if one.unread is None]
        if read:
            texts = self._texts(row)
            if texts[0] == texts[1]:
                texts = _with_parts(texts[0], read)
            yield Change(what, _name(row), *texts, path)
        for one in differences:
            if one.unread is not None:
                where = one.path[:-1] if one.path[-1] == one.unread else one.path
                before, after = (_in(where, text) for text in (one.before, one.after))
                yield Change(f"{one.unread} of {what}", _name(row), before, after, path)

    def _texts(self, row: MessagePair) -> tuple[str | None, str | None]:
        old, new = (
            None
            if entry is None
            else tensor_text(document, entry)
            if isinstance(entry, TensorProto)
            else message_text(entry)
            for document, entry in zip(self._documents, row[1:], strict=True)
        )
        return old, new

    def _wanted(self, differences: Iterable[Difference]) -> Iterator[Difference]:
        return (one for one in differences if one.unread is None or not self._meaning_only)


def _name(row: MessagePair) -> str:
    name, before, after = row
    entry = after if before is None else before
    return (entry.name if isinstance(entry, NodeProto) else "") or name


def _with_parts(text: str | None, differences: list[Difference]) -> tuple[str, str]:
    """A text that does not show what differs, with what differs behind it."""
    rest = f", and {len(differences) - _MOST_PARTS} more" if len(differences) > _MOST_PARTS else ""
    before, after = (
        "; ".join(_in(one.path, shown) or f"no {'.'.join(one.path)}" for one, shown in parts) + rest
        for parts in (
            [(one, one.before) for one in differences[:_MOST_PARTS]],
            [(one, one.after) for one in differences[:_MOST_PARTS]],
        )
    )
    return f"{text}; {before}", f"{text}; {after}"


def _in(path: tuple[str, ...], text: str | None) -> str | None:
    return text if text is None or not path else f"{'.'.join(path)}: {text}"


def _means_the_same_in_order(pair: FieldPair) -> bool:
    """Whether two orders of one list compute the same: of entries looked up by name, of nodes that run in both."""
    if not MATCHED[pair.kind, pair.field.name].is_ordered:
        return True
    return pair.field.name == "node" and all(_runs(nodes) for nodes in pair.values)


def _runs(nodes: Sequence[NodeProto]) -> bool:
    """Whether every node stands behind those that it reads."""
    return in_order(list(nodes)) == list(range(len(nodes)))


def _without_bodies(node: NodeProto) -> NodeProto:
    """The node with empty bodies in place of those that it holds."""
    hollow = NodeProto()
    hollow.CopyFrom(node)
    for _, body in subgraphs(hollow):
        if body.ListFields():
            body.Clear()
    return hollow


def _functions(before: ModelProto, after: ModelProto) -> list[_Body]:
    """The local functions that both models have."""
    rows, _ = pairs(MATCHED["ModelProto", "functions"], before.functions, after.functions)
    return [
        (ScopePath([FunctionName.of(old)]), old, new) for _, old, new in rows if old is not None and new is not None
    ]


def _bodies(
    path: ScopePath, before: GraphProto | FunctionProto, after: GraphProto | FunctionProto
) -> tuple[list[_Body], list[Change]]:
    """The bodies that nodes of both scopes hold, and those that only one of two nodes has."""
    old, new = _held(path, before), _held(path, after)
    both = [(old[key][0], old[key][1], new[key][1]) for key in old if key in new]
    nodes = [numbered(MATCHED["GraphProto", "node"], body.node).keys() for body in (before, after)]
    alone = [key for key in dict.fromkeys((*old, *new)) if (key in old) != (key in new)]
    changes = []
    for key in alone:
        if all(key[0] in keys for keys in nodes):
            body = (old.get(key) or new[key])[0]
            text = str(body)
            changes.append(Change("scope", text, text if key in old else None, text if key in new else None, body))
    return both, changes


def _held(path: ScopePath, body: GraphProto | FunctionProto) -> dict[tuple[Any, str], tuple[ScopePath, GraphProto]]:
    """The bodies in a scope by what tells their node from others, and the attribute: path and content."""
    inside = bodies_in(path, body)
    keys = list(numbered(MATCHED["GraphProto", "node"], body.node)) if inside else []
    return {(keys[index], str(inner.attribute)): (inner, graph) for inner, graph, index, _ in inside}
