"""What a call that changes a model gives back, and what its outcomes call exact: what was compared bit for bit, or
cannot differ; else they have the measured difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from resizefix.diagnostics import Diagnostic, RefusedError, ResizefixError
from resizefix.document.values import HALF, Dims
from resizefix.outcome import ModelOutcome, Outcome, Status
from resizefix.printable import InNotebook, summary
from resizefix.promotion import PromotedInput
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.verification import Run, Verification, VerificationStatus

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from resizefix.document.document import Document
    from resizefix.input_sizes.questions import Question
    from resizefix.input_sizes.refusal import Assumed
    from resizefix.library.fastest import Speed
    from resizefix.library.tensorrt_profile import Range
    from resizefix.operations.integer_inputs import IntegerInput
    from resizefix.operations.site import Site
    from resizefix.opsets.verdict import Blocker, OpsetStep
    from resizefix.verification.views import PlaneView

    ModelT = TypeVar("ModelT", default=Any)
else:
    from typing import TypeVar

    ModelT = TypeVar("ModelT")


class Demand(NamedTuple):
    """What a call asks of a model.

    `every`: a node that is refused refuses the model, whatever could be done with the others; else the model is changed
    where one node is. `needs_resize`: it asks for something that a model without a resize cannot have. `named`: the
    nodes were selected.
    """

    every: bool = False
    needs_resize: bool = False
    named: bool = False

    def of_named(self) -> Demand:
        """The demand where nodes were selected: each of them is meant."""
        return self._replace(every=True, named=True)


ANYTHING = Demand()
"""What can be done is done."""


class OutcomeRule(NamedTuple):
    """Where it `holds`, the model has this outcome; `says` is for the reference."""

    says: str
    holds: Callable[[Result], bool]
    outcome: ModelOutcome


def _statuses(result: Result) -> frozenset[Status]:
    return frozenset(outcome.status for outcome in result.outcomes)


RULES = (
    # What a verification refutes is not given back, whatever was done.
    OutcomeRule(
        "a check refuted the result, or could not end",
        lambda r: r.verification.status is VerificationStatus.FAILED,
        ModelOutcome.FAILED,
    ),
    # An operator cannot be raised, say: then no node was looked at.
    OutcomeRule(
        "the model as a whole cannot be changed as asked", lambda r: r.refusal is not None, ModelOutcome.REFUSED
    ),
    # The target would reject the file, or the opset lacks an operator; selected nodes are changed all the same.
    OutcomeRule(
        "an operator outside the selected nodes stands in the way",
        lambda r: bool(r.blockers) and not (r.demand.named and Status.CHANGED in _statuses(r)),
        ModelOutcome.REFUSED,
    ),
    OutcomeRule(
        "a node is refused, and all were asked for: with `-n`, and in `legalize`, `trt-legacy`, `opset`, `input-size`",
        lambda r: r.demand.every and Status.REFUSED in _statuses(r),
        ModelOutcome.REFUSED,
    ),
    OutcomeRule("a node was changed", lambda r: Status.CHANGED in _statuses(r), ModelOutcome.CHANGED),
    OutcomeRule(
        "no node was changed, and one is refused", lambda r: Status.REFUSED in _statuses(r), ModelOutcome.REFUSED
    ),
    # Another input size or opset changes a model of which no resize is touched.
    OutcomeRule("something else of the model was changed", lambda r: r.is_other_model, ModelOutcome.CHANGED),
    OutcomeRule(
        "there is no resize: in `promote-scales`, `freeze-scales`, `set`",
        lambda r: r.demand.needs_resize and not _statuses(r),
        ModelOutcome.REFUSED,
    ),
    OutcomeRule("everything is as asked", lambda r: True, ModelOutcome.ALREADY),
)


def skipped(code: str, **arguments: Any) -> Verification:
    """Nothing was compared, for the reason that the code says."""
    return Verification(VerificationStatus.SKIPPED, Diagnostic(code, **arguments))


def not_verified() -> Verification:
    """Nothing was compared, as it was asked for."""
    return skipped("library.no-verify")


@dataclass(frozen=True)
class Resolution:
    """What `input_size` was asked for: (height, width) or "any", and the batch; what it took for granted, by which
    convention; what the file leaves to the user, where it was refused; inputs that keep their size, a sentence for
    each; which sizes the model takes, where not all; the nodes whose learned positions were interpolated, which is
    an approximation; and graph inputs whose stored shape changed and outputs of other numbers, before and after."""

    size: tuple[int, ...] | str | None
    batch: int | str | None = None
    rule: str = ""
    inferred: tuple[str, ...] = ()
    approximate: tuple[str, ...] = ()
    shapes: tuple[tuple[str, Dims, Dims], ...] = ()
    assumed: tuple[Assumed, ...] = ()
    choices: tuple[Question, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Result(InNotebook, Generic[ModelT]):
    """What an operation made.

    `model` is of the type given, as type checkers know; for a path it is a document with `.save(path)`. `outcomes`
    holds one entry for each selected node. `inputs` holds the new graph inputs, each with the value that gives the old
    numbers. It is true where `model` is not the model that was given.
    """

    model: ModelT
    outcomes: tuple[Outcome, ...]
    inputs: tuple[PromotedInput, ...]
    verification: Verification
    blockers: tuple[Blocker, ...] = ()
    """Operators that keep a whole model from another opset (`trt_legacy`, `opset`), and nodes of other domains that
    the target takes for resizes (`legalize`)."""
    steps: tuple[OpsetStep, ...] = ()
    """What became of nodes that are no resizes (`opset`)."""
    profile: Mapping[str, Range] | None = None
    """The optimization profile with which TensorRT builds the model (`promote_scales` for TensorRT)."""
    integer_inputs: tuple[IntegerInput, ...] = ()
    """Inputs that hold whole numbers now where they held floats (calls for TensorRT with `shape_inputs`)."""
    views: tuple[PlaneView, ...] = ()
    """Planes of what the changed nodes and the model computed before and after (`set_interpolation`)."""
    resolution: Resolution | None = None
    """The size that was asked for (`input_size`)."""
    speed: Speed | None = None
    """What was measured (`legalize` with `fastest`)."""
    seen: tuple[ModelView, ModelView] | None = None
    """The documents before and after with what was worked out of them, for reports that look again."""
    refusal: RefusedError | None = None
    """Why nothing could be done, where that concerns the model as a whole."""
    is_other_model: bool = False
    """Whether `model` is not the one that was given; the call sets it."""
    demand: Demand = ANYTHING
    """What the call asks of the model; the call sets it."""

    def __bool__(self) -> bool:
        return self.is_other_model

    def __repr__(self) -> str:
        counts = Counter(outcome.status.value for outcome in self.outcomes)
        inputs = ", ".join(source.name for source in self.inputs)
        return summary(
            "Result",
            ", ".join(f"{count} {status}" for status, count in counts.items()) or f"{self.outcome.value}, no node",
            self.outcome.value if counts and self.outcome.value not in counts else None,
            inputs and f"inputs: {inputs}",
            f"verification: {self.verification.status.value}, {len(self.verification.runs)} runs",
            self.verification.reason,
        )

    @property
    def changed(self) -> bool:
        """Whether any site was changed, or an input that decides sizes."""
        return bool(self.integer_inputs) or any(outcome.status is Status.CHANGED for outcome in self.outcomes)

    @property
    def is_writable(self) -> bool:
        """Whether `model` is one to write: a site was changed, or none had to be."""
        refused = any(outcome.status is Status.REFUSED for outcome in self.outcomes)
        return self.changed or not (refused or self.blockers)

    @property
    def outcome(self) -> ModelOutcome:
        """What happened to the model as a whole, by the first rule that holds."""
        return next(rule.outcome for rule in RULES if rule.holds(self))


class AskedCall(NamedTuple):
    """A call that may have refused nodes: the document and the options that it was given, and its result."""

    document: Document
    options: Mapping[str, Any]
    result: Result[Any]


def not_done(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes of a call that leaves the model as it is: what could be changed was not."""
    return tuple(
        replace(one, status=Status.UNCHANGED, after=(), reason=Diagnostic("library.could-be", reason=one.reason))
        if one.status is Status.CHANGED
        else one
        for one in outcomes
    )


def settled(result: Result, given: Any) -> Result:
    """The result; the model that was given, where nothing of what was asked for was done."""
    if result.outcome is ModelOutcome.CHANGED or result.changed:
        return result
    return replace(result, model=given, is_other_model=False)


class VerificationFailedError(ResizefixError):
    """The changed model did not compute what the original computes, or could not be run. Nothing was written.

    `result` holds what was tried and run; its model is the unchanged original.
    """

    def __init__(
        self, message: str, /, *, result: Result, refuted: frozenset[Key] = frozenset(), **arguments: Any
    ) -> None:
        super().__init__(message, **arguments)
        self.result = result
        self.refuted = refuted  # the changed nodes to blame, for calls that try another form; none: that is not known


def failed(result: Result, code: str = "library.verification-failed", **arguments: Any) -> VerificationFailedError:
    """The error that says why the result was not verified, and holds it."""
    return VerificationFailedError(code, **{"why": result.verification.reason, **arguments}, result=result)


def refusal_of(result: Result) -> RefusedError:
    """The error of a call that could do nothing of what was asked: it names the first node in the way, and holds the
    result."""
    error = result.refusal
    refused = next((one for one in result.outcomes if one.status is Status.REFUSED), None)
    if error is None and refused is not None:
        node, args = refused.node, refused.retry_args
        error = RefusedError("library.node-refused", node=node, retry_args=args, label=node, why=refused.reason)
    elif error is None and not result.blockers:
        error = RefusedError("library.no-resize")
    elif error is None:
        first = result.blockers[0]
        said = {"label": " ".join(filter(None, (first.op_type, first.node))), "why": first.reason, "fix": first.fix}
        error = RefusedError("library.operator-refused", node=first.node, retry_args=(), **said)
    raised = copy(error)
    raised.result = result
    return raised


def measured(outcomes: Sequence[Outcome], moved: Collection[Site], verification: Verification) -> tuple[Outcome, ...]:
    """The outcomes with what the runs say: not exact where the operation says so, where a run was not bitwise, or where
    one of the sites `moved`, which have other nodes around them than before, resizes half precision.

    A difference of the whole model is that of the nodes that are not exact: next to them, a node that gave every bit
    when it was run alone stays exact.

    onnxruntime computes half precision in float32 between casts whose places depend on the neighbouring nodes, so that
    the last bit can change though every node says what it said. Runs that found the same bits do not tell that others
    will: with the same casts moved, another scale or another image rounds otherwise. The report states their largest
    difference.

    Runs at the default level do not count: there the original itself is fused, and its sums are in another order.
    """
    runs = [run for run in verification.runs if not run.optimized]
    moves_half = any(site.elem_type in HALF for site in moved)
    same_bits = all(run.bitwise and run.from_scales is None for run in runs) and not moves_half
    changed = [outcome for outcome in outcomes if outcome.status is Status.CHANGED]
    alone = {site.index for site in moved if site.key in verification.bitwise_alone and not moves_half}
    exact = {outcome.index for outcome in changed if outcome.exact and (same_bits or outcome.index in alone)}
    worst = max(runs, key=_difference, default=None)
    return tuple(
        outcome
        if outcome.status is not Status.CHANGED or outcome.index in exact
        else replace(
            outcome,
            exact=False,
            max_abs_diff=None if worst is None else _difference(worst),
            measured_at=None if worst is None else worst.shapes,
        )
        for outcome in outcomes
    )


def _difference(run: Run) -> float:
    return max(run.max_abs_diff, run.from_scales or 0.0)


def without_their_chain(sites: Iterable[Site]) -> list[Site]:
    """Those whose scales or sizes a chain makes, which may read the tensor that they resize; a new operand needs none.

    In the place of a constant a new operand leaves every node around as it is.
    """
    return [site for site in sites if site.origin.chain]
