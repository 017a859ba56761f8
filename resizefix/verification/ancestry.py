"""Which sites a node depends on, so that the node where a run breaks tells which of many moved scales broke it."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import ModelProto

from resizefix.document.scopes import Scope, Scopes, node_label, reads
from resizefix.document.shapes import Key


class Ancestry:
    """A snapshot of a model's main graph and of the sites in it and in the bodies that its nodes hold."""

    def __init__(self, model: ModelProto, sites: Iterable[Key]) -> None:
        scopes = Scopes(model)
        self._main = scopes.main
        self._labels: dict[str, int] = {}
        for index, node in enumerate(self._main.body.node):
            self._labels[node_label(node, index)] = index
        self._inner_reads: dict[int, set[str]] = {}
        held: dict[tuple[str, ...], int] = {}
        for scope in scopes.all:
            holder = _holder(scope)
            if holder is not None:
                held[scope.path] = holder
                self._inner_reads.setdefault(holder, set()).update(name for name, _ in reads(scope))
        self._sites: dict[int, list[Key]] = {}
        self._complete = True
        for path, output in sites:
            position = self._main.producers.get(output) if not path else held.get(path)
            if position is None:
                self._complete = False  # in a function: its calls are not followed
            else:
                self._sites.setdefault(position, []).append((path, output))

    def above(self, label: str) -> set[Key] | None:
        """The sites whose output the node depends on; None where that is not known."""
        if not self._complete or label not in self._labels:
            return None
        pending = [self._labels[label]]
        if pending[0] in self._inner_reads:
            return None  # it broke somewhere in a body
        seen = set(pending)
        found: set[Key] = set()
        while pending:
            index = pending.pop()
            found.update(self._sites.get(index, ()))
            names = {*self._main.body.node[index].input, *self._inner_reads.get(index, ())}
            sources = {self._main.producers[name] for name in names if name in self._main.producers} - seen
            seen |= sources
            pending.extend(sources)
        return found


def _holder(scope: Scope) -> int | None:
    """The position of the main graph's node that holds the scope, at whatever depth."""
    owner = None
    current: Scope | None = scope
    while current is not None and current.parent is not None:
        owner = current.owner
        current = current.parent
    return owner if current is not None and not current.path else None
