"""The walk from a value back to what it is computed from, in the two orders in which it is wanted.

The caller gives the step: what a definition is computed from, over calls and branches or not. The stacks are explicit,
since chains may be longer than Python recurses; names that depend on themselves end the walk.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from resizefix.document.scopes import Definition
from resizefix.scope_path import Key

Sources = Callable[[Definition], Iterable[Definition]]


def operands_first(start: Definition, sources: Sources, known: Container[Key]) -> Iterator[tuple[Definition, bool]]:
    """Every definition behind `start` and itself, each after all that it is computed from, but for those in `known`.

    The second of each pair is True where the definition depends on itself. The caller puts each into `known`.
    """
    pending: list[tuple[Definition, bool]] = [(start, False)]
    opened: set[Key] = set()
    while pending:
        current, sources_are_known = pending.pop()
        if current.key in known:
            continue
        if sources_are_known:
            yield current, False
        elif current.key in opened:
            yield current, True
        else:
            opened.add(current.key)
            pending.append((current, True))
            pending.extend((source, False) for source in sources(current) if source.key not in known)


def readers_first(start: Definition, sources: Sources) -> Iterator[Definition]:
    """`start` and every definition behind it, each once, after one that is computed from it."""
    seen = {start.key}
    pending = [start]
    while pending:
        current = pending.pop()
        yield current
        fresh = [source for source in sources(current) if source.key not in seen]
        seen.update(source.key for source in fresh)
        pending.extend(reversed(fresh))
