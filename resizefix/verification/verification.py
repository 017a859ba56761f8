"""A verification: how the user wants models to be run, the progress that is reported, and the result.

The result says what was run, at what values, and how far a changed model was off the original.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from resizefix.outcome import Differences, TensorDifference
from resizefix.printable import InNotebook, summary
from resizefix.promotion import Coupling, Freedom
from resizefix.runtimes.limits import Limits
from resizefix.scope_path import Key

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.verification.views import PlaneView

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    Unpack = None  # annotations are not evaluated

ProgressCallback = Callable[[int, int, str], None]
"""Called with the steps done, the steps there are as far as is known, and what is being done."""


class RunOptions(TypedDict, total=False):
    """How a model is run: the options of every library call that runs one. `DEFAULTS` has their defaults."""

    shape: Mapping[str, Sequence[int]] | None
    seed: int
    custom_op_library: Sequence[str]
    timeout: float | None
    memory_limit: int | None
    progress: ProgressCallback | None


class ChangeOptions(RunOptions, total=False):
    """The options of every library call that changes a model: also what comes of one that cannot be changed."""

    on_refusal: str


DEFAULTS: Mapping[str, Any] = {
    "shape": None,
    "seed": 0,
    "custom_op_library": (),
    "timeout": None,
    "memory_limit": None,
    "progress": None,
}


@dataclass
class Progress:
    """Counts the runs of a model. `tell` None: nothing is reported."""

    tell: ProgressCallback | None = None
    steps: int = 0
    total: int = 0

    def expect(self, count: int) -> None:
        """So many more steps are to come."""
        self.total += count

    def done(self, what: str, count: int = 1) -> None:
        """`count` steps were made."""
        self.steps += count
        self.total = max(self.total, self.steps)
        if self.tell is not None:
            self.tell(self.steps, self.total, what)


@dataclass
class Spent:
    """What a verification took: sessions of onnxruntime, and its runs in `passes`: runs of the whole original at its
    own size, by the elements that they compute."""

    sessions: int = 0
    passes: float = 0.0


@dataclass(frozen=True)
class Conditions:
    """`RunOptions` as the verification uses them, and the further scales that it runs at.

    `limits` bound it; `tell` hears how far it has come; `spent` counts what it opens and runs.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    custom_op_libraries: tuple[str, ...] = ()
    at: tuple[tuple[float, ...], ...] = ()
    limits: Limits = field(default_factory=Limits)
    tell: ProgressCallback | None = None
    spent: Spent = field(default_factory=Spent, compare=False)


def conditions(at: Sequence[Sequence[float]] = (), **run: Unpack[ChangeOptions]) -> Conditions:
    """The options of a library call as one value; the time begins now."""
    return Conditions(
        {name: tuple(dims) for name, dims in (run.get("shape") or {}).items()},
        run.get("seed", 0),
        tuple(run.get("custom_op_library", ())),
        tuple(tuple(values) for values in at),
        Limits.starting_now(run.get("timeout"), run.get("memory_limit")),
        run.get("progress"),
    )


class VerificationStatus(str, Enum):
    """`unrefuted`: nothing speaks against the result, and nothing proves it: a part of it that may differ never ran, or
    nothing that computes what it should exists to compare with. `skipped`: nothing was run, because the user wished so
    or no model of the two can be run here."""

    PASSED = "passed"
    UNREFUTED = "unrefuted"
    FAILED = "failed"
    SKIPPED = "skipped"


class HeldAs(str, Enum):
    """What the original held in a run: the scales that were fed, or the sizes that an integer factor makes of them."""

    SCALES = "scales"
    SIZES = "sizes"


class Drift:
    """How far what a record holds is from what it was to be: its `difference`, of one tensor or of all outputs."""

    difference: TensorDifference | Differences

    @property
    def max_abs_diff(self) -> float:
        """The largest difference between two numbers; infinite where no number says it: another shape, NaN."""
        return self.difference.max_abs_diff

    @property
    def max_rel_diff(self) -> float:
        """That as a part of the largest value of the tensor before."""
        return self.difference.max_rel_diff


@dataclass(frozen=True)
class Run(Drift):
    """One feed, run with both models at one optimisation level.

    `values` are what inputs were fed that were given values, `shapes` the shapes of all fed tensors. `bound` is the
    largest difference allowed, relative to an output's largest value: 0 where every bit must agree. `from_scales`,
    where `reference` is sizes: the largest difference from the original that holds the scales. `files`: by input the
    path of the file that it was fed from.
    """

    values: Mapping[str, Sequence[Any]]
    shapes: Mapping[str, Sequence[int]]
    optimized: bool
    difference: Differences
    bound: float = 0.0
    reference: HeldAs | None = None
    from_scales: float | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def bitwise(self) -> bool:
        """Whether all outputs are equal bit for bit."""
        return self.difference.bitwise


@dataclass(frozen=True)
class ExpectedTensor(Drift):
    """How far a tensor of a model is from what was expected of it: the `difference`. `differs`: by more than is
    allowed; `is_output`: it is an output of the model."""

    difference: TensorDifference
    differs: bool
    is_output: bool

    @property
    def tensor(self) -> str:
        """Its name."""
        return self.difference.tensor


@dataclass(frozen=True)
class SiteDrift(Drift):
    """How far the output of one resize is from what it is compared with, onnxruntime's or what was expected: the
    `difference`.

    `input_rel_diff` is that of the tensor that it resizes, or of the nearest before it that are known. `differs`: by
    more than is allowed; `first`: it is the first in the graph's order to differ, while its input does not. `rule` is
    the target's rule that foresees it, where one does, and `because` what that says. `alone`: it stands in a body, and
    was run alone.
    """

    node: str
    difference: TensorDifference
    input_rel_diff: float
    differs: bool
    first: bool = False
    rule: str | None = None
    because: str | None = None
    alone: bool = False

    @property
    def output(self) -> str:
        """The name of the output."""
        return self.difference.tensor


@dataclass(frozen=True, repr=False)
class Verification(InNotebook):
    """`reason` says why it failed or was skipped, or what a pass does not cover; `sessions`: how many were opened.

    `runtime` is what the second model ran in, with its version, where that was not onnxruntime without optimisation;
    `sites` is what it made of each resize. `expected` is the file that a model was compared with, `tensors` how far
    each tensor is from what that holds. `bitwise_alone`: the changed nodes that gave every bit when they were compared
    alone, without optimisation. `views` are planes of the outputs to look at, where a file was fed.
    `forward_passes`: what the runs cost, in runs of the whole original at its own size, by the elements that they
    compute. `tested` is what had a chance to disprove the result, `not_tested` what had none.
    """

    status: VerificationStatus
    reason: str | None = None
    runs: tuple[Run, ...] = ()
    coupling: tuple[Coupling, ...] = ()
    sessions: int = 0
    runtime: str | None = None
    sites: tuple[SiteDrift, ...] = ()
    bitwise_alone: frozenset[Key] = frozenset()
    views: tuple[PlaneView, ...] = ()
    forward_passes: float = field(default=0.0, compare=False)
    tested: tuple[str, ...] = ()
    not_tested: tuple[str, ...] = ()
    expected: str | None = None
    tensors: tuple[ExpectedTensor, ...] = ()

    def with_further(self, further: Verification) -> Verification:
        """This verification with what further experiments looked at."""
        return replace(
            self,
            sessions=further.sessions,
            forward_passes=further.forward_passes,
            tested=tuple(dict.fromkeys((*self.tested, *further.tested))),
            not_tested=tuple(dict.fromkeys((*self.not_tested, *further.not_tested))),
        )

    def __repr__(self) -> str:
        largest = max((run.max_abs_diff for run in self.runs), default=0.0)
        bitwise = sum(run.bitwise for run in self.runs)
        runs = f"{len(self.runs)} runs, {bitwise} bitwise equal"
        if math.isfinite(largest):
            runs += f", largest difference {largest:.2g}"
        coupled = sum(site.verdict is Freedom.COUPLED for site in self.coupling)
        return summary(
            "Verification",
            f"{self.status.value}, {runs if self.runs else 'nothing was run'}",
            f"{coupled} of {len(self.coupling)} nodes coupled" if self.coupling else None,
            self.reason,
        )

    @property
    def passed(self) -> bool:
        """Whether the models were run and agreed, all that may differ included."""
        return self.status is VerificationStatus.PASSED

    @property
    def speaks_against(self) -> bool:
        """Whether something speaks against the result: exit code 1."""
        return self.status is VerificationStatus.FAILED


Compared = Callable[[str], tuple[Sequence[TensorDifference], bool]]
"""How a tensor differs, on each feed on which both sides have it, and whether it is right on all."""


@dataclass(frozen=True)
class ResizePlace:
    """One resize: what reports call it, its scope path and output, and the tensor that it resizes."""

    label: str
    key: Key
    data: str


def site_drifts(
    document: Document,
    places: Sequence[ResizePlace],
    compared_tensors: Container[str],
    compared: Compared,
    standing_for: Callable[[str], Sequence[str]] = lambda name: (name,),
) -> tuple[SiteDrift, ...]:
    """A drift for each resize of the main graph whose output is in `compared_tensors`, in the order of the nodes.

    The first that differs while its input agrees is marked. Of an input that is not known, the tensors that stand for
    it are compared; where there are none it is what both were fed, and agrees.
    """
    drifts = []
    for place in places:
        output = place.key[1]
        if place.key[0].steps or output not in compared_tensors:
            continue
        differences, right = compared(output)
        given = [compared(name) for name in standing_for(place.data)]
        worst = max(differences, key=lambda difference: difference.max_rel_diff)
        of_input = max((each.max_rel_diff for differences, _ in given for each in differences), default=0.0)
        may_be_first = not right and all(entered for _, entered in given)
        drifts.append(SiteDrift(place.label, worst._replace(tensor=output), of_input, not right, first=may_be_first))
    order = {name: at for at, node in enumerate(document.proto.graph.node) for name in node.output}
    drifts.sort(key=lambda drift: order.get(drift.output, -1))
    begun = next((at for at, drift in enumerate(drifts) if drift.first), None)
    return tuple(replace(drift, first=at == begun) for at, drift in enumerate(drifts))
