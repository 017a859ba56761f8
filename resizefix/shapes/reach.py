"""Which nodes must be looked at to follow sizes: what stands behind resizes that move, and what decides their sizes."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from onnx import NodeProto

from resizefix.document.scopes import Scope, Scopes, names_read
from resizefix.scope_path import Key


class SizeReach:
    """Answers for the nodes of one scope, each by its position; `cases` are those that move each resize."""

    def __init__(self, scopes: Scopes, scope: Scope, cases: Mapping[Key, frozenset[int]]) -> None:
        self._scopes = scopes
        self._scope = scope
        self._cases = cases

    def read(self, index: int, node: NodeProto) -> Collection[str]:
        """The names that the node and its bodies read."""
        found: Collection[str] = self.captured.get(index, node.input) if node.attribute else node.input
        return found

    def wanted(self) -> set[int]:
        """The nodes behind the resizes, and those from which the sizes of what these read follow."""
        reached = {name for path, name in self._cases if path == self._scope.path}
        wanted: set[int] = set()
        pending: list[str] = []
        for index, node in enumerate(self._scope.body.node):
            read = self.read(index, node)
            if index in self.inside or not reached.isdisjoint(node.output) or not reached.isdisjoint(read):
                reached.update(filter(None, node.output))
                wanted.add(index)
                pending += read
        return wanted | self.behind(pending)

    def behind(self, names: Iterable[str]) -> set[int]:
        """The nodes that these tensors are made by."""
        made_by: set[int] = set()
        pending = list(names)
        while pending:
            index = self._scope.producers.get(pending.pop(), -1)
            if index >= 0 and index not in made_by:
                made_by.add(index)
                pending += self.read(index, self._scope.body.node[index])
        return made_by

    @cached_property
    def inside(self) -> dict[int, set[int]]:
        """The cases that move a resize in a body of a node, or in the function that it calls."""
        found: dict[int, set[int]] = {}
        for (path, _), cases in self._cases.items():
            if path == self._scope.path:
                continue
            pending = [self._scopes.by_path[path]]
            seen = {path}
            while pending:
                scope = pending.pop()
                for holder, index in self._holders(scope):
                    if holder is self._scope:
                        found.setdefault(index, set()).update(cases)
                    elif holder.path not in seen:
                        seen.add(holder.path)
                        pending.append(holder)
        return found

    def _holders(self, scope: Scope) -> list[tuple[Scope, int]]:
        """The nodes that run a scope: the one that holds the body, or those that call the function."""
        if scope.parent is not None and scope.owner is not None:
            return [(scope.parent, scope.owner)]
        function = scope.path.function
        return [] if function is None or scope is self._scope else self._scopes.calls[function]

    @cached_property
    def captured(self) -> dict[int, set[str]]:
        """What nodes that have bodies read, the bodies too."""
        here = (index for path, index in self._scopes.held if path == self._scope.path)
        return {index: names_read(self._scope.body.node[index]) for index in here}
