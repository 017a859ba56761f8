"""Which bodies of If, Loop and Scan a promotion may change, and which of them did not run.

A model that runs says nothing of a body that it passed over: other data may take it, and another scale break it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import Scope, reads
from resizefix.document.text import listed
from resizefix.document.view import View
from resizefix.promotion import PromotedInput
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.arms import Watched, watched_copy
from resizefix.verification.dependence import Dependence
from resizefix.verification.engine import Engine
from resizefix.verification.trial import Point


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


def not_run(
    engine: Engine, document: Document, behind: Mapping[ScopePath, frozenset[Key]], points: Iterable[Point]
) -> dict[ScopePath, frozenset[Key]]:
    """Those of the bodies that no run of the model at these points is known to have gone through."""
    left = dict(behind)
    copy = watched_copy(document) if left else None
    if copy is None:
        return left
    try:
        session = Watched(engine.open(copy[0], optimized=False), *copy[1:])
    except CannotLoadError:
        return left
    for point in points:
        with suppress(CannotRunError):
            engine.made(session, point.feeds, point.cost)
        left = {path: keys for path, keys in left.items() if path not in session.seen}
        if not left:
            break
    return left


def say_not_run(engine: Engine, document: Document, inputs: Sequence[PromotedInput], points: Iterable[Point]) -> None:
    """Note as not tested what the inputs change in bodies that did not run."""
    labels = {driven.key: driven.label for source in inputs for driven in source.sites}
    for body, keys in not_run(engine, document, bodies_behind(document, inputs), points).items():
        names = listed([label for key, label in labels.items() if key in keys])
        engine.not_tested.append(Diagnostic("verification.not-tested-body", names=names, body=body))


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
