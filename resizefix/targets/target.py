"""A target is a list of rules; judging a node by it gives the rules that the node breaks, each with reason and mend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from resizefix.targets.facts import SiteFacts
from resizefix.targets.operators import OperatorLimit


class Effect(str, Enum):
    """What happens to a node that breaks the rule."""

    REJECTED = "rejected"  # the parser, the builder or the session refuses it
    DIFFERENT = "different"  # it is taken without a word and computes something else
    NOTED = "noted"  # it is taken and computes the same, but something else is lost that the user should know of


@dataclass(frozen=True)
class Rule:
    """One condition of a target.

    `holds` sees the facts of one node and nothing else. A fact that is not known breaks no rule: a verdict tells what
    is known to fail. `because` and `mend` are templates that may quote facts, as in "mode is {f.mode}".
    `source` says where the rule was read or measured, so that it can be checked again.
    """

    name: str
    holds: Callable[[SiteFacts], bool]
    because: str
    source: str
    mend: str
    effect: Effect = Effect.REJECTED


@dataclass(frozen=True)
class Target:
    """A runtime by the name that `--target` takes; `parser` says which source or release the rules stand for.

    `limits` are those of the operators that may stand in a node's place. Tensors of `edge_types` are only taken as
    inputs and outputs of the network, where a Cast makes them of another type.
    """

    name: str
    parser: str
    rules: tuple[Rule, ...]
    limits: tuple[OperatorLimit, ...] = ()
    edge_types: frozenset[int] = frozenset()

    def why_not(self, operators: Collection[str], elem_type: int, rank: int) -> str | None:
        """Why the runtime does not take these operators over such tensors; None: it does."""
        reasons = (limit.refuses(operators, elem_type, rank) for limit in self.limits)
        return next((f"{self.name} {reason}" for reason in reasons if reason), None)

    def __post_init__(self) -> None:
        names = [rule.name for rule in self.rules]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{self.name} names a rule twice: {sorted(twice)}")


@dataclass(frozen=True)
class Violation:
    """A rule that a node breaks, in words."""

    node: str
    rule: str
    because: str
    source: str
    mend: str
    effect: Effect = Effect.REJECTED


def judge(target: Target, facts: SiteFacts) -> tuple[Violation, ...]:
    """The rules of `target` that the node breaks, in the target's order; none: it is accepted and computes the same."""
    return tuple(
        Violation(
            node=facts.node,
            rule=rule.name,
            because=rule.because.format(f=facts),
            source=rule.source,
            mend=rule.mend.format(f=facts),
            effect=rule.effect,
        )
        for rule in target.rules
        if not rule.holds(facts)
    )


def accepted(violations: Iterable[Violation]) -> bool:
    """Whether a node with these violations runs on the target and computes what ONNX says; notes do not count."""
    return all(violation.effect is Effect.NOTED for violation in violations)
