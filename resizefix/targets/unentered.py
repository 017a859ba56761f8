"""Local functions, and bodies of If, Loop and Scan, that a runtime does not enter."""

from __future__ import annotations

from collections.abc import Collection

from resizefix.targets.target import Rule


def not_inside(containers: Collection[str]) -> Rule:
    """Bodies that a parser does not enter."""
    return Rule(
        name="body-is-imported",
        holds=lambda f: not f.enclosing & frozenset(containers),
        because=f"it stands in a body of {{f.bodies}}; this parser enters none of {', '.join(sorted(containers))}",
        fix="inline the function or take the branch out of the If before converting",
    )


FUNCTIONS_ARE_INLINED = Rule(
    name="functions-are-inlined",
    holds=lambda f: not f.calls_functions,
    because="the model calls local functions, which it does not know ({says})",
    fix="inline them: `resizefix legalize` does it",
)
"""A runtime that takes the call of a local function for an operator that it has not."""


def unentered(says: str, source: str, bodies: Collection[str] = (), **releases: str) -> tuple[Rule, ...]:
    """The rules of a runtime that knows no local functions, and enters none of these bodies."""
    rules = (FUNCTIONS_ARE_INLINED.saying(says), *((not_inside(bodies),) if bodies else ()))
    return tuple(rule.read_in(source).only(**releases) for rule in rules)
