"""Which bodies of If, Loop and Scan a promotion may change.

A model that runs says nothing of a body that it passed over: other data may take it, and another scale break it there.
"""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.document import Document
from resizefix.document.scopes import Scope, reads
from resizefix.document.view import View
from resizefix.promotion import PromotedInput
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.dependence import Dependence


def bodies_behind(document: Document, inputs: Sequence[PromotedInput]) -> dict[ScopePath, frozenset[Key]]:
    """The bodies that hold a site of these inputs or that read what depends on one, each with these sites."""
    scopes = View(document.proto).scopes
    bodies = [scope for scope in scopes.all if scope.path.is_body]
    sites = [driven.key for source in inputs for driven in source.sites]
    if not bodies or not sites:
        return {}
    dependence = Dependence(document.proto)
    outside = [key for key in sites if key[0].function is None]
    found: dict[ScopePath, frozenset[Key]] = {}
    for scope in bodies:
        if scope.path.function is not None:  # which call reads what is not followed
            if scope.path.function in scopes.reached:
                found[scope.path] = frozenset(sites)
            continue
        inside = {key for key in sites if _holds(key[0], scope.path) or (key[0] and _holds(scope.path, key[0]))}
        inside.update(key for key in sites if key[0].function is not None)
        names = {name for inner in bodies if _holds(inner.path, scope.path) for name, _ in reads(inner)}
        inside.update(dependence.behind({*names, *_carried(scope)}, outside))
        if inside:
            found[scope.path] = frozenset(inside)
    return found


def _holds(inner: ScopePath, outer: ScopePath) -> bool:
    return inner[: len(outer)] == outer


def _carried(scope: Scope) -> set[str]:
    """What a Loop or Scan hands on to its body, at whatever depth that stands."""
    names: set[str] = set()
    current: Scope | None = scope
    while current is not None and current.parent is not None and current.owner is not None:
        node = current.parent.body.node[current.owner]
        names.update(node.input if node.op_type != "If" else ())
        current = current.parent
    return names
