"""Which sites each node of a model depends on, by the names that nodes read.

Only the main graph is followed: a site in a body counts as the node that holds the body; of a site in a local function
nothing is known, as calls are not followed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from onnx import ModelProto

from resizefix.document.scopes import Scope, node_label, reads
from resizefix.document.view import View
from resizefix.scope_path import Key, ScopePath


class Dependence:
    """Who reads whom in a model's main graph."""

    def __init__(self, model: ModelProto) -> None:
        scopes = View(model).scopes
        producers = scopes.main.producers
        self._producers = producers
        self._outputs = [value.name for value in model.graph.output]
        self._held: dict[ScopePath, int] = {}
        inner: dict[int, set[str]] = {}
        for scope in scopes.all:
            holder = _holder(scope)
            if holder is not None:
                self._held[scope.path] = holder
                inner.setdefault(holder, set()).update(name for name, _ in reads(scope))
        self._holders = frozenset(inner)
        self._nodes = scopes.main.body.node
        self._sources = [
            [producers[name] for name in (*node.input, *inner.get(index, ())) if name in producers]
            for index, node in enumerate(self._nodes)
        ]

    @cached_property
    def _labels(self) -> dict[str, int]:
        return {node_label(node, index): index for index, node in enumerate(self._nodes)}

    def above(self, label: str, sites: Collection[Key]) -> set[Key] | None:
        """Those of the sites that the node depends on; None where that is not known."""
        start = self._labels.get(label)
        standing = self._standing(sites)
        if start is None or start in self._holders or standing is None:
            return None
        seen = self._reached([start])
        return {key for key, position in standing.items() if position in seen}

    def without_effect(self, sites: Collection[Key]) -> set[Key]:
        """Those of the sites in the main graph of which no output of the model depends."""
        seen = self._reached([self._producers[name] for name in self._outputs if name in self._producers])
        return {(path, output) for path, output in sites if not path and self._producers.get(output) not in seen}

    def behind(self, names: Collection[str], sites: Collection[Key]) -> set[Key]:
        """Those of the sites that these tensors of the main graph depend on; all where that is not known."""
        standing = self._standing(sites)
        if standing is None:
            return set(sites)
        seen = self._reached([self._producers[name] for name in names if name in self._producers])
        return {key for key, position in standing.items() if position in seen}

    def _reached(self, pending: list[int]) -> set[int]:
        """These nodes and all that they depend on."""
        seen = set(pending)
        while pending:
            new = [source for source in self._sources[pending.pop()] if source not in seen]
            seen.update(new)
            pending.extend(new)
        return seen

    def growth(self, factors: Mapping[Key, float]) -> float | None:
        """How many times larger a tensor can become when each site's output becomes larger by its factor.

        The largest product along any path; None where it is not known.
        """
        grown = self.grown(factors)
        return None if grown is None else max(grown, default=1.0)

    def grown(self, factors: Mapping[Key, float]) -> list[float] | None:
        """How many times larger what each node makes becomes; None where it is not known."""
        standing = self._standing(factors)
        if standing is None:
            return None
        own: dict[int, float] = {}
        for key, position in standing.items():
            own[position] = own.get(position, 1.0) * factors[key]
        grown: list[float] = []
        for index, sources in enumerate(self._sources):
            before = max((grown[source] for source in sources if source < index), default=1.0)
            grown.append(before * own.get(index, 1.0))
        return grown

    def _standing(self, sites: Collection[Key]) -> dict[Key, int] | None:
        positions = {}
        for path, output in sites:
            position = self._held.get(path) if path else self._producers.get(output)
            if position is None:
                return None
            positions[path, output] = position
        return positions


def _holder(scope: Scope) -> int | None:
    """The position of the main graph's node that holds the scope, at whatever depth."""
    owner = None
    current: Scope | None = scope
    while current is not None and current.parent is not None:
        owner = current.owner
        current = current.parent
    return owner if current is not None and not current.path else None
