"""What a call that changes a model gives back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.values import Dims
from resizefix.errors import ResizefixError
from resizefix.outcome import Outcome, Status
from resizefix.printable import summary
from resizefix.promotion import PromotedInput
from resizefix.verification.verification import Status as VerificationStatus
from resizefix.verification.verification import Verification

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from resizefix.library.speed import Speed
    from resizefix.library.tensorrt_profile import Range
    from resizefix.opsets.verdict import Blocker
    from resizefix.verification.views import View

    ModelT = TypeVar("ModelT", default=Any)
else:
    from typing import TypeVar

    ModelT = TypeVar("ModelT")


def skipped(code: str) -> Verification:
    """Nothing was run, for the reason that the code says."""
    return Verification(VerificationStatus.SKIPPED, Diagnostic(code))


NOT_VERIFIED = skipped("library.no-verify")


@dataclass(frozen=True)
class Resolution:
    """What `input_size` was asked for: (height, width) or "any", and the batch; what it took for granted, a sentence
    for each; which sizes the model takes, where not all; the nodes whose learned positions were interpolated, which is
    an approximation; and graph inputs whose stored shape changed and outputs of other numbers, before and after."""

    size: tuple[int, int] | str
    batch: int | str | None = None
    rule: str = ""
    inferred: tuple[str, ...] = ()
    approximate: tuple[str, ...] = ()
    shapes: tuple[tuple[str, Dims, Dims], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Result(Generic[ModelT]):
    """What an operation made.

    `model` is of the type given, as type checkers know; for a path it is a document with `.save(path)`. `outcomes`
    holds one entry for each selected node. `inputs` holds the new graph inputs, each with the value that gives the old
    numbers.
    """

    model: ModelT
    outcomes: tuple[Outcome, ...]
    inputs: tuple[PromotedInput, ...]
    verification: Verification
    blockers: tuple[Blocker, ...] = ()
    """Operators that keep a whole model from an older opset (`trt_legacy`)."""
    profile: Mapping[str, Range] | None = None
    """The optimization profile with which TensorRT builds the model (`promote_scales` for TensorRT)."""
    views: tuple[View, ...] = ()
    """Planes of what the changed nodes and the model computed before and after (`set_interpolation`)."""
    resolution: Resolution | None = None
    """The size that was asked for (`input_size`)."""
    speed: Speed | None = None
    """What was measured (`legalize` with `fastest`)."""
    seen: tuple[ModelView, ModelView] | None = None
    """The documents before and after with what was worked out of them, for reports that look again."""

    def __repr__(self) -> str:
        counts = Counter(outcome.status.value for outcome in self.outcomes)
        inputs = ", ".join(source.name for source in self.inputs)
        return summary(
            "Result",
            ", ".join(f"{count} {status}" for status, count in counts.items()) or "no Upsample or Resize",
            inputs and f"inputs: {inputs}",
            f"verification: {self.verification.status.value}, {len(self.verification.runs)} runs",
            self.verification.reason,
        )

    @property
    def changed(self) -> bool:
        """Whether any site was changed."""
        return any(outcome.status is Status.CHANGED for outcome in self.outcomes)


class VerificationFailedError(ResizefixError):
    """The changed model did not compute what the original computes, or could not be run. Nothing was written.

    `result` holds what was tried and run; its model is the unchanged original.
    """

    def __init__(self, message: str, /, *, result: Result, **arguments: Any) -> None:
        super().__init__(message, **arguments)
        self.result = result


def failed(result: Result, code: str = "library.verification-failed", **arguments: Any) -> VerificationFailedError:
    """The error that says why the result was not verified, and holds it."""
    return VerificationFailedError(code, **{"why": result.verification.reason, **arguments}, result=result)
