"""What changed between two models, message by message; what is not in the list is the same.

Nodes are matched by what they write, everything else by name; order counts where it can mean something
(inputs, outputs, nodes). Tensors are compared by value, wherever each file keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import Scope, subgraphs
from resizefix.document.text import counted, node_text, value_text
from resizefix.document.view import View
from resizefix.scope_path import MAIN, ScopePath

_SHOWN_ELEMENTS = 16
_LISTS = ("metadata_props", "quantization_annotation", "sparse_initializer", "attribute", "attribute_proto")


@dataclass(frozen=True)
class Change:
    """One thing that differs: `before` is None where it is new, `after` where it is gone. `scope` as in
    `Scope.path`."""

    what: str
    name: str
    before: str | None
    after: str | None
    scope: ScopePath = MAIN


def diff(before: Document, after: Document) -> list[Change]:
    """All differences between two models, the model's own fields first, then scope by scope."""
    changes = list(_model_fields(before.proto, after.proto))
    old_scopes, new_scopes = View(before.proto).scopes.by_path, View(after.proto).scopes.by_path
    for path in dict.fromkeys((*old_scopes, *new_scopes)):
        old, new = old_scopes.get(path), new_scopes.get(path)
        if old is None or new is None:
            text = str(path)
            changes.append(Change("scope", text, None if old is None else text, None if new is None else text, path))
        else:
            changes.extend(_Scopes(before, after, old, new).changes())
    return changes


def _model_fields(before: ModelProto, after: ModelProto) -> Iterator[Change]:
    for field in ("ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield Change(field, field, str(old), str(new))
    models = before, after
    was, now = ({entry.domain or "ai.onnx": str(entry.version) for entry in of.opset_import} for of in models)
    yield from _by_name("opset", was, now)
    was, now = ({entry.key: entry.value for entry in of.metadata_props} for of in models)
    yield from _by_name("metadata_props", was, now)
    yield from _entries(("training_info", "configuration"), before, after)


def _entries(fields: Iterable[str], before: Any, after: Any, path: ScopePath = MAIN) -> Iterator[Change]:
    """Lists of messages that are compared as a whole."""
    for field in fields:
        old, new = ([_serialized(entry) for entry in getattr(owner, field, ())] for owner in (before, after))
        if old != new:
            was, now = (counted(len(entries), "entry", "entries") for entries in (old, new))
            yield Change(field, field, was, now, path)


def _by_name(what: str, old: dict[str, str], new: dict[str, str], scope: ScopePath = MAIN) -> Iterator[Change]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Change(what, name, old.get(name), new.get(name), scope)


class _Scopes:
    """One scope of each model, of the same path."""

    def __init__(self, before: Document, after: Document, old: Scope, new: Scope) -> None:
        self._documents = before, after
        self._old = old
        self._new = new

    def changes(self) -> Iterator[Change]:
        """Everything in which the two scopes differ, bodies of nodes left to their own scopes."""
        path, old, new = self._old.path, self._old.body, self._new.body
        for field in ("name", "doc_string"):
            if getattr(old, field) != getattr(new, field):
                yield Change(field, field, getattr(old, field), getattr(new, field), path)
        yield from self._nodes()
        for what in ("input", "output", "value_info"):
            before, after = ({_name(value): value_text(value) for value in getattr(of, what)} for of in (old, new))
            yield from _by_name(what, before, after, path)
            if what != "value_info":
                yield from self._order(what, list(before), list(after))
        yield from self._initializers()
        yield from _entries(_LISTS, old, new, path)

    def _nodes(self) -> Iterator[Change]:
        old = {_node_key(node, index): node for index, node in enumerate(self._old.body.node)}
        new = {_node_key(node, index): node for index, node in enumerate(self._new.body.node)}
        for key in dict.fromkeys((*old, *new)):
            before, after = old.get(key), new.get(key)
            if before is None or after is None or not self._same_node(before, after):
                named = before or after
                assert named is not None
                old_text, new_text = (None if node is None else node_text(node) for node in (before, after))
                yield Change("node", named.name or key, old_text, new_text, self._old.path)
        yield from self._order("node", list(old), list(new))

    def _order(self, what: str, old: list[str], new: list[str]) -> Iterator[Change]:
        both = set(old) & set(new)
        common_old, common_new = ([name for name in names if name in both] for names in (old, new))
        if common_old != common_new:
            first = next(k for k in range(len(common_old)) if common_old[k] != common_new[k])
            yield Change(f"order of {what}s", common_old[first], common_old[first], common_new[first], self._old.path)

    def _same_node(self, before: NodeProto, after: NodeProto) -> bool:
        plain = [_without_bodies_and_tensors(node) for node in (before, after)]
        if plain[0] != plain[1] or [name for name, _ in subgraphs(before)] != [name for name, _ in subgraphs(after)]:
            return False
        tensors = [_tensors(node) for node in (before, after)]
        return len(tensors[0]) == len(tensors[1]) and all(map(self._same_tensor, *tensors))

    def _initializers(self) -> Iterator[Change]:
        old, new = self._old.initializers, self._new.initializers
        for name in dict.fromkeys((*old, *new)):
            before, after = old.get(name), new.get(name)
            if before is None or after is None or not self._same_tensor(before, after):
                old_text, new_text = (
                    None if tensor is None else _tensor_text(document, tensor)
                    for document, tensor in zip(self._documents, (before, after), strict=True)
                )
                yield Change("initializer", name, old_text, new_text, self._old.path)

    def _same_tensor(self, before: TensorProto, after: TensorProto) -> bool:
        if before.data_type != after.data_type or before.dims != after.dims or before.doc_string != after.doc_string:
            return False
        inline = [tensor.data_location != TensorProto.EXTERNAL for tensor in (before, after)]
        if all(inline) and _serialized(before) == _serialized(after):
            return True
        arrays = [document.array(tensor) for document, tensor in zip(self._documents, (before, after), strict=True)]
        if arrays[0].dtype == object:  # strings
            return bool(np.array_equal(arrays[0], arrays[1]))
        return arrays[0].tobytes() == arrays[1].tobytes()


def _name(value: Any) -> str:
    return str(value if isinstance(value, str) else value.name)


def _serialized(message: Any) -> bytes:
    if isinstance(message, str):
        return message.encode()
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _node_key(node: NodeProto, index: int) -> str:
    return ", ".join(node.output) or f"{node.op_type}#{index}"


def _tensors(node: NodeProto) -> list[TensorProto]:
    found: list[TensorProto] = []
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            found.append(attribute.t)
        found.extend(attribute.tensors)
    return found


def _without_bodies_and_tensors(node: NodeProto) -> bytes:
    plain = NodeProto()
    plain.CopyFrom(node)
    for attribute in plain.attribute:
        for field in ("g", "graphs", "t", "tensors"):
            attribute.ClearField(field)
    return _serialized(plain)


def _tensor_text(document: Document, tensor: TensorProto) -> str:
    kind = TensorProto.DataType.Name(tensor.data_type).lower()
    text = f"{kind}[{','.join(map(str, tensor.dims))}]"
    if int(np.prod(tensor.dims)) <= _SHOWN_ELEMENTS:
        text += f" {document.array(tensor).tolist()}"
    return text
