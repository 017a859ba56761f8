"""Sites that a Loop feeds back to themselves: what one turn enlarges the next one enlarges again."""

from __future__ import annotations

from collections.abc import Collection

from onnx import ModelProto

from resizefix.document.scopes import Scope
from resizefix.scope_path import Key
from resizefix.verification.upstream import Upstream


def fed_back(model: ModelProto, sites: Collection[Key]) -> frozenset[Key]:
    """Those of the sites whose own output is among what their input is made of."""
    inside = [key for key in sites if key[0].is_body]
    if not inside:
        return frozenset()
    upstream = Upstream(model)
    scopes = upstream.scopes
    return frozenset(
        (path, output)
        for path, output in inside
        if path in scopes.by_path and _feeds_itself(upstream, scopes.by_path[path], output)
    )


def _feeds_itself(upstream: Upstream, scope: Scope, output: str) -> bool:
    start = upstream.scopes.definition(scope, output)
    if start is None or start.node is None:
        return False
    pending = [(scope, name) for name in start.node.input[:1]]
    seen = {(scope.path, name) for _, name in pending}
    for place in pending:
        step = upstream.step(place)
        if step.definition is not None and step.definition.key == start.key:
            return True
        for source in step.sources:
            if (source[0].path, source[1]) not in seen:
                seen.add((source[0].path, source[1]))
                pending.append(source)
    return False
