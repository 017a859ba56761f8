"""Whether bodies that no feed ran can make a difference: not where both models hold them in the same node, which reads
the same."""

from __future__ import annotations

from collections.abc import Iterable

from resizefix.document.document import Document
from resizefix.document.scopes import names_read
from resizefix.scope_path import ScopePath
from resizefix.verification.upstream import Place, Upstream


def are_held_alike(before: Document, after: Document, paths: Iterable[ScopePath]) -> bool:
    """Whether each of the bodies stands in both models in a node of the same text, and so do all nodes and constants
    from which that reads anything."""
    sides = Upstream(before.proto), Upstream(after.proto)
    for path in paths:
        texts = [_text(side, path) for side in sides]
        if texts[0] is None or texts[0] != texts[1]:
            return False
    return True


def _text(upstream: Upstream, path: ScopePath) -> frozenset[bytes] | None:
    """The messages of the node that holds a body and of what it is made from; None where there is none."""
    scope = upstream.scopes.by_path.get(path)
    if scope is None or scope.parent is None or scope.owner is None:
        return None
    holder = scope.parent.body.node[scope.owner]
    texts = {holder.SerializeToString(deterministic=True)}
    pending: list[Place] = [(scope.parent, name) for name in names_read(holder)]
    seen = set(pending)
    while pending:
        place = pending.pop()
        step = upstream.step(place)
        if step.node is not None:
            texts.add(step.node.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.tensor is not None:
            texts.add(step.definition.tensor.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.node is not None:
            texts.add(step.definition.node.SerializeToString(deterministic=True))
        new = [source for source in step.sources if source not in seen]
        seen.update(new)
        pending += new
    return frozenset(texts)
