"""A target is the rules that hold for one release of a runtime; judging a node by it gives the rules that it breaks.

What a runtime does not take of the operators that may stand in a node's place is rows of data, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import NamedTuple

from onnx import TensorProto

from resizefix.targets.facts import SiteFacts

EVERY_MOVE = frozenset({"Concat", "Gather", "Reshape", "Shape", "Slice", "Unsqueeze"})
"""The operators of lowerings that move samples, all but Identity."""


class OperatorLimit(NamedTuple):
    """Operators that take no tensor of these element types, or of these ranks; of neither: none at all.

    `only_at_the_edges`: no tensor inside the network has these types, but its inputs and outputs may, through a Cast.
    It holds for the releases from `since` to `until`, both included, like a rule.
    """

    operators: frozenset[str]
    source: str
    types: frozenset[int] = frozenset()
    ranks: frozenset[int] = frozenset()
    only_at_the_edges: bool = False
    since: str = ""
    until: str = ""

    def refuses(self, operators: Collection[str], elem_type: int, rank: int) -> str | None:
        """Why one of `operators` does not take such a tensor; None: they all do, as far as this row knows."""
        refused = sorted(self.operators & set(operators))
        if not refused:
            return None
        if not self.types and not self.ranks:
            return f"has no {', '.join(refused)}"
        if elem_type not in self.types and rank not in self.ranks:
            return None
        what = TensorProto.DataType.Name(elem_type).lower() if elem_type in self.types else f"rank {rank}"
        return f"takes no {what} in {', '.join(refused)}"


class Effect(str, Enum):
    """What happens to a node that breaks the rule."""

    REJECTED = "rejected"  # the parser, the builder or the session refuses it
    DIFFERENT = "different"  # it is accepted and silently computes something else
    NOTED = "noted"  # it is taken and computes the same, but something else is lost that the user should know of


class Rule(NamedTuple):
    """One condition of a target.

    `holds` sees the facts of one node and nothing else. A fact that is not known breaks no rule: a verdict tells what
    is known to fail. `because` and `fix` are templates that may quote facts, as in "mode is {f.mode}"; `fix` may quote
    the `target`, too.
    `source` says where the rule was read or measured, so that it can be checked again; empty: where the table says
    (`targets_of`). The rule holds for the releases of its runtime from `since` to `until`, both included; empty: from
    the first one on, to the newest.
    """

    name: str
    holds: Callable[[SiteFacts], bool]
    because: str
    source: str = ""
    fix: str = "replace the node"
    effect: Effect = Effect.REJECTED
    since: str = ""
    until: str = ""

    def saying(self, words: str, holds: Callable[[SiteFacts], bool] | None = None) -> Rule:
        """The rule with the words of one runtime for `{says}`, and with that one's condition if it has its own."""
        return self._replace(because=self.because.replace("{says}", words), holds=holds or self.holds)

    def read_in(self, source: str) -> Rule:
        """The rule as it was read, or measured, there."""
        return self._replace(source=source)

    def only(self, since: str = "", until: str = "") -> Rule:
        """The rule for these releases alone."""
        return self._replace(since=since, until=until)


differs, noted = partial(Rule, effect=Effect.DIFFERENT), partial(Rule, effect=Effect.NOTED)


class Release(NamedTuple):
    """One row of `--target`: the runtime's name and this version (empty where the runtime has one row).

    `parser` says which source or release the rules stand for; `last` the last release before the next row's, where no
    release has the number below that.
    """

    version: str
    parser: str
    last: str = ""


@dataclass(frozen=True)
class Target:
    """One release of a runtime, with the rules that hold for it and what it does not take of other operators.

    `file` is where a user's own target was read; empty: it is one of this package. `cast_types` are element types that
    it casts to float32 and back, and resizes only so.
    """

    runtime: str
    version: str
    parser: str
    rules: tuple[Rule, ...]
    limits: tuple[OperatorLimit, ...] = ()
    last: str = ""
    file: str = ""
    cast_types: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """What `--target` takes: `tensorrt-8.5`, `onnxruntime`."""
        return f"{self.runtime}-{self.version}" if self.version else self.runtime

    @property
    def typed(self) -> str:
        """What `--target` takes for this one: its name, or the file of a user's own."""
        return self.file or self.name

    @property
    def edge_types(self) -> frozenset[int]:
        """The element types of which tensors are only taken as inputs and outputs of the network."""
        return frozenset(elem_type for limit in self.limits if limit.only_at_the_edges for elem_type in limit.types)

    def why_not(self, operators: Collection[str], elem_type: int, rank: int) -> str | None:
        """Why the runtime does not take these operators over such tensors; None: it does."""
        reasons = (limit.refuses(operators, elem_type, rank) for limit in self.limits)
        return next((f"{self.name} {reason}" for reason in reasons if reason), None)

    def __post_init__(self) -> None:
        names = [rule.name for rule in self.rules]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{self.name} names a rule twice: {sorted(twice)}")
        unsourced = [rule.name for rule in self.rules if not rule.source]
        if unsourced:
            raise ValueError(f"{self.name} has rules of no source: {unsourced}")


def targets_of(
    runtime: str,
    releases: Sequence[Release],
    rules: Iterable[Rule],
    limits: Iterable[OperatorLimit] = (),
    source: str = "",
) -> tuple[Target, ...]:
    """A target for each release, oldest first, with the rows that hold for it; `source`: of rules that name none.

    Raises ValueError where a row names a release that is not there, or a rule has no source.
    """
    versions = [release.version for release in releases]
    rules = tuple(rule if rule.source else rule._replace(source=source) for rule in rules)
    limits = tuple(limits)

    def holds_at(row: Rule | OperatorLimit, at: int) -> bool:
        first = versions.index(row.since) if row.since else 0
        last = versions.index(row.until) if row.until else len(versions) - 1
        return first <= at <= last

    return tuple(
        Target(
            runtime,
            release.version,
            release.parser,
            tuple(rule for rule in rules if holds_at(rule, at)),
            tuple(limit for limit in limits if holds_at(limit, at)),
            release.last,
        )
        for at, release in enumerate(releases)
    )


class Violation(NamedTuple):
    """A rule that a node breaks, in words."""

    node: str
    rule: str
    because: str
    source: str
    fix: str
    effect: Effect = Effect.REJECTED

    @property
    def mend(self) -> str:
        """`fix`, by the name that it had first."""
        return self.fix


def judge(target: Target, facts: SiteFacts) -> tuple[Violation, ...]:
    """The rules of `target` that the node breaks, in the target's order; none: it is accepted and computes the same."""
    return tuple(
        Violation(
            node=facts.node,
            rule=rule.name,
            because=rule.because.format(f=facts),
            source=rule.source,
            fix=rule.fix.format(f=facts, target=target),
            effect=rule.effect,
        )
        for rule in target.rules
        if not rule.holds(facts)
    )


def accepts(target: Target, facts: SiteFacts) -> bool:
    """Whether what `judge` says is `accepted`, without the words: the first rule that is broken answers."""
    return all(rule.effect is Effect.NOTED or rule.holds(facts) for rule in target.rules)


def accepted(violations: Iterable[Violation]) -> bool:
    """Whether a node with these violations runs on the target and computes what ONNX says; notes do not count."""
    return all(violation.effect is Effect.NOTED for violation in violations)


def taken(violations: Iterable[Violation]) -> bool:
    """Whether the target takes a node with these violations, whatever it computes."""
    return all(violation.effect is not Effect.REJECTED for violation in violations)
