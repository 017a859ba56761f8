"""What a downgrade answers: the steps it took, or everything that stands in its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resizefix.diagnostics import diagnosed
from resizefix.errors import RefusedError


@dataclass(frozen=True)
class Closeness:
    """How near a rewrite comes to what stood there before, run in onnxruntime with optimisation disabled.

    `exact`: the same bits for every input. Otherwise `bound` limits |after - before|, measured, for outputs of
    magnitude up to 1 (multiply for larger ones); 0 is equality as numbers: the sign of a zero, or which NaN it is, may
    differ. `note` says what to know besides.
    """

    exact: bool = True
    bound: float = 0.0
    note: str = ""


BITWISE = Closeness()
EQUAL = Closeness(exact=False, bound=0.0, note="equal as numbers; the sign of a zero may differ")


@dataclass(frozen=True)
class Step:
    """One change that was made. `since_version` is the operator's before it; 0 for a change of the model itself."""

    node: str
    op_type: str
    since_version: int
    what: str
    closeness: Closeness = BITWISE


@dataclass(frozen=True)
class Blocker:
    """One node (or field of the model) that the older form cannot say: why, and what the user can do about it."""

    node: str
    op_type: str
    since_version: int
    reason: str
    mend: str


@dataclass(frozen=True)
class Downgrade:
    """All blockers and all steps. With blockers, the model passed in is half rewritten and of no use."""

    blockers: tuple[Blocker, ...]
    steps: tuple[Step, ...]

    @property
    def exact(self) -> bool:
        """Whether every step keeps every bit."""
        return all(step.closeness.exact for step in self.steps)


class Blocked(RefusedError):
    """Raised by the rewrite of one operator, caught by the downgrade, which makes it a `Blocker` and goes on."""

    def __init__(self, reason: str, mend: str, **arguments: Any) -> None:
        self.reason = diagnosed(reason, arguments)
        self.mend = diagnosed(mend, {})
        super().__init__("opsets.blocked", why=self.reason, mend=self.mend)


# Mends that many rules share.
FIX_SHAPES = "give the model fixed input shapes and fold its constants (onnxsim, or onnxruntime's basic optimisation)"
MAKE_CONSTANT = "make it a constant: freeze the input it comes from, or give the model fixed input shapes and fold"
OLDER_EXPORT = "export the model again with an opset of 8 or lower, or without this operator"
