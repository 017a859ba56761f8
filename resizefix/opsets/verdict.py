"""What a downgrade answers: the steps it took, or everything that stands in its way."""

from dataclasses import dataclass
from typing import Any

from onnx import ModelProto, NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError, diagnosed
from resizefix.document.scopes import Scope, node_label
from resizefix.document.view import View
from resizefix.outcome import BITWISE, ErrorBound
from resizefix.scope_path import Key
from resizefix.shapes.table import why_incomplete

EQUAL = ErrorBound(exact=False, note=Diagnostic("opsets.equal-as-numbers"))


@dataclass(frozen=True)
class OpsetStep:
    """One change that was made. `since_version` is the operator's before it; 0 for a change of the model itself."""

    node: str
    op_type: str
    since_version: int
    what: str
    error: ErrorBound = BITWISE
    key: Key | None = None
    """The first value that the node makes."""


@dataclass(frozen=True)
class Blocker:
    """One node (or field of the model) that the older form cannot say: why, and what the user can do about it."""

    node: str
    op_type: str
    since_version: int
    reason: str
    fix: str

    @property
    def mend(self) -> str:
        """`fix`, by the name that it had first."""
        return self.fix


@dataclass(frozen=True)
class Downgrade:
    """All blockers and all steps. With blockers, the model passed in is half rewritten and of no use."""

    blockers: tuple[Blocker, ...]
    steps: tuple[OpsetStep, ...]

    @property
    def exact(self) -> bool:
        """Whether every step keeps every bit."""
        return all(step.error.exact for step in self.steps)


class Blocked(RefusedError):
    """Raised by the rewrite of one operator, caught by the downgrade, which makes it a `Blocker` and goes on.

    Sentences may speak of `opset`, the one that is wanted: the `Blocker` knows it.
    """

    def __init__(self, reason: str, fix: str, **arguments: Any) -> None:
        self._reason, self._fix, self._arguments = reason, fix, arguments
        super().__init__("opsets.blocked", why=reason, fix=fix)

    def blocker(self, node: str, op_type: str, since_version: int, opset: int) -> Blocker:
        """What stands in the way of that node."""
        arguments = {"opset": opset, **self._arguments}
        reason, fix = (diagnosed(code, arguments) for code in (self._reason, self._fix))
        return Blocker(node, op_type, since_version, reason, fix)


# What the user can do about many blockers.
FIX_SHAPES = "opsets.fix-shapes"
MAKE_CONSTANT = "opsets.fix-make-constant"
OLDER_EXPORT = "opsets.fix-older-export"


def incomplete_nodes(model: ModelProto) -> tuple[Blocker, ...]:
    """All nodes that no runtime takes, each as something that stands in the way."""
    fix = Diagnostic("opsets.fix-invalid-node")
    return tuple(
        Blocker(node_label(node, index), node.op_type, scope.opset, why, fix)
        for scope in View(model).scopes.all
        for index, node in enumerate(scope.body.node)
        if (why := _why_nowhere(scope, node)) is not None
    )


def _why_nowhere(scope: Scope, node: NodeProto) -> Diagnostic | None:
    """Why no runtime takes a node: by itself, or because another one makes the same tensor."""
    why = why_incomplete(node, scope.opset)
    if why is not None:
        return Diagnostic("opsets.node-is-incomplete", why=why)
    shared = next((name for name in node.output if name and not scope.makes_alone(name)), None)
    return None if shared is None else Diagnostic("operations.output-defined-twice", name=shared)
