"""`resizefix.check`: whether a target takes the resizes of a model, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass

from resizefix.interop import Model, opened
from resizefix.targets.catalogue import target_named
from resizefix.targets.gather import facts_of
from resizefix.targets.target import Target, Violation, accepted, judge


@dataclass(frozen=True)
class Verdict:
    """What a target says to every Upsample/Resize of a model; `accepted` unless a rule is broken."""

    target: Target
    violations: tuple[Violation, ...]

    @property
    def accepted(self) -> bool:
        """Whether the target runs all of them and computes what ONNX says."""
        return accepted(self.violations)


def check(model: Model, *, target: str) -> Verdict:
    """Judge the model's resizes by the rules of `target`. Raises UsageError where there is no such target."""
    judged = target_named(target)
    found = facts_of(opened(model))
    return Verdict(judged, tuple(violation for facts in found for violation in judge(judged, facts)))
