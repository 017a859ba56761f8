"""What depends on a tensor: through nodes, into and out of bodies and local functions."""

from __future__ import annotations

from collections.abc import Iterable

from resizefix.document.scopes import DefinitionKind, Reader, Scope, Scopes
from resizefix.scope_path import Key


class Dependents:
    """Every name whose value depends on what was added, over one snapshot of a model.

    Where a body or function is concerned the answer errs on the side of too many.
    """

    def __init__(self, scopes: Scopes) -> None:
        self.reached: set[Key] = set()
        self._scopes = scopes

    def add(self, keys: Iterable[Key]) -> None:
        """Add these names and all that depends on them."""
        added = set(keys)
        pending = list(added)
        while pending:
            key = pending.pop()
            if key in self.reached:
                continue
            self.reached.add(key)
            definition = self._scopes.definition(self._scopes.by_path[key[0]], key[1])
            if definition is None or (definition.kind is DefinitionKind.INITIALIZER and key not in added):
                continue
            for reader in self._scopes.readers(definition):
                pending += self._left(reader.scope) if reader.node_index is None else self._read(reader)

    def _outputs(self, scope: Scope, index: int) -> list[Key]:
        return [(scope.path, name) for name in scope.body.node[index].output if name]

    def _left(self, scope: Scope) -> list[Key]:
        """What a graph output of a body, or an output of a function, reaches."""
        found: list[Key] = []
        if scope.parent is not None and scope.owner is not None:
            found += self._outputs(scope.parent, scope.owner)
            found += [(scope.path, name) for name in scope.inputs]  # carried around the loop
        elif scope.path.function is not None:
            for caller, index in self._scopes.calls[scope.path.function]:
                found += self._outputs(caller, index)
        return found

    def _read(self, reader: Reader) -> list[Key]:
        """What a node that reads it reaches: its outputs, and the inputs of what it runs."""
        assert reader.node is not None
        assert reader.node_index is not None
        found = self._outputs(reader.scope, reader.node_index)
        for body in self._scopes.held.get((reader.scope.path, reader.node_index), ()):
            found += [(body.path, name) for name in body.inputs]
        function = self._scopes.called(reader.node)
        if function is not None:
            found += [(function.path, name) for name in function.inputs]
        return found
