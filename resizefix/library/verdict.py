"""What a target says to the resizes of a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resizefix.notebook import InNotebook
from resizefix.printable import summary
from resizefix.targets.target import Target, Violation, accepted, taken

if TYPE_CHECKING:  # a parser of its own process is asked by few
    from resizefix.runtimes.tensorrt import LiveVerdict


@dataclass(frozen=True, repr=False)
class Verdict(InNotebook):
    """What a target says to every Upsample/Resize of a model; `accepted` unless a rule is broken.

    `live` is what a real parser said to the whole model; None where none was asked or none could be, and then
    `live_reason` says why.
    """

    target: Target
    violations: tuple[Violation, ...]
    live: LiveVerdict | None = None
    live_reason: str | None = None
    asked: str = ""
    """The name that was asked for, where the row that judges has another: `tensorrt-8.6`."""

    def __repr__(self) -> str:
        broken = Counter(violation.rule for violation in self.violations)
        live = None if self.live is None else f"{self.live.parser}: {'accepted' if self.live.taken else 'rejected'}"
        rules = ", ".join(f"{rule} ({count})" for rule, count in broken.items())
        return summary("Verdict", f"{self.target.name} {self.word}", rules, live, self.live_reason)

    @property
    def word(self) -> str:
        """`accepted`, `rejected`, or `different`: no node is rejected, and at least one computes something else."""
        if self.accepted:
            return "accepted"
        return "different" if taken(self.violations) else "rejected"

    @property
    def accepted(self) -> bool:
        """Whether the target runs all of them and computes what ONNX says, by its rules."""
        return accepted(self.violations)

    @property
    def taken(self) -> bool:
        """Whether the rules and, where it was asked for, the real parser (and builder) have nothing against the model;
        one that gave no answer does not take it."""
        return self.accepted and self.live_reason is None and (self.live is None or self.live.taken)


class Verdicts(InNotebook, tuple[Verdict, ...]):
    """What several targets say to one model, a verdict for each."""

    __slots__ = ()

    @property
    def accepted(self) -> bool:
        """Whether every target accepts it."""
        return all(verdict.accepted for verdict in self)
