"""What every comparison is made of: sessions and runs that are counted, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from resizefix.diagnostics import DiagnosedError, Diagnostic, ResizefixError, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.text import listed
from resizefix.outcome import Differences
from resizefix.runtimes.inputs import Feeds, TensorInput, Value, shapes_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session, open_session
from resizefix.runtimes.prepared_model import PreparedModel, in_float32, prepare_for_ort
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.compare import compare
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import Fitted, MemoryBudget, Runner, fit_feeds
from resizefix.verification.sizing import Shape
from resizefix.verification.stored_shapes import StoredShapes, feeds_from_declared_shapes
from resizefix.verification.verification import Conditions, Progress, Run, Verification, VerificationStatus

if TYPE_CHECKING:
    from resizefix.verification.signatures import Feeding


class DifferenceError(DiagnosedError):
    """A model computes something else than it must: the reason."""


_MOST_NAMED = 3


class Engine:
    """Runs models under one set of conditions, and holds what one proof has found so far. Promotions, rewrites,
    repairs, changed nodes and other sizes all use it.

    `label` is the name in errors of a model without another one. `progress` counts the runs for a display of how far a
    verification is; `runs` are the comparisons made, `notes` what is to be said of a pass. `tested` is what had a
    chance to disprove the result, `not_tested` what had none.
    """

    def __init__(
        self, conditions: Conditions, label: str | None = None, part: float = 1.0, *, as_written: bool = False
    ) -> None:
        """`part`: which part of the original its models are. `as_written`: a resize of bfloat16 is not run in float32,
        so that a model is refused where onnxruntime has no kernel."""
        self._as_written = as_written
        self.conditions = conditions
        self._part = part
        self._whole = 0.0  # elements that the first run was fed
        self._cost: float | None = None  # of the run that is made, in forward passes, where that is known
        self.label = label
        self.progress = Progress(conditions.tell)
        self.runs: list[Run] = []
        self.notes: list[str] = []
        self.tested: list[str] = []
        self.not_tested: list[str] = []
        self.is_refutable = False  # whether a part that may differ was never run
        self._held: StoredShapes | None = None

    @property
    def sessions(self) -> int:
        """How many sessions were opened under these conditions, by this engine and by others."""
        return self.conditions.spent.sessions

    def open(
        self,
        document: Document,
        *,
        optimized: bool,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
        prepared: PreparedModel | None = None,
        copy_of: Document | None = None,
    ) -> Session:
        """A session of the model, which may be a watched copy; `ort_session.open_session` says the rest."""
        prepared = prepared or prepare_for_ort(document, extra_outputs)
        if self._held is not None and (copy_of or document) is self._held.candidate and not optimized:
            measured = self.open_measured(document, self._held, label, prepared)
            if measured is not None:
                return measured
        return self._opened(document, prepared, label, optimized=optimized)

    def _opened(
        self, document: Document, prepared: PreparedModel, label: str | None, *, optimized: bool = False
    ) -> Session:
        """A session whose runs are counted."""
        conditions = self.conditions
        conditions.spent.sessions += 1
        session = open_session(
            document,
            optimized=optimized,
            custom_op_libraries=conditions.custom_op_libraries,
            label=label or self.label,
            limits=conditions.limits,
            prepared=self._with_kernels(prepared, document),
        )
        session.counts = self._count
        return session

    def open_watched(self, document: Document, label: str | None = None) -> Watched:
        """A session without optimisation that says which bodies ran, where there are any; a note where it cannot."""
        copy = _watched_copy(document)
        if copy is not None:
            with suppress(CannotLoadError):
                opened = self.open(copy[0], optimized=False, label=label, copy_of=document)
                return Watched(opened, *copy[1:])
        watched = Watched(self.open(document, optimized=False, label=label))
        if copy is not None:
            self.notes.append(Diagnostic("verification.bodies-not-watched", label=watched.label))
        return watched

    def outputs(self, session: Runner, feeds: Feeds, cost: float | None = None) -> dict[str, Value]:
        """What the model of a session makes of the feeds that it has an input for. `cost` is what the run is taken to
        cost, in forward passes. Raises what `Session.run` raises."""
        self._cost = cost
        try:
            return session.run(session.taken(feeds))
        finally:
            self._cost = None

    def _count(self, feeds: Feeds) -> None:
        """One more run: by what it is fed, in what the first one was, unless its cost is known."""
        fed = _elements(feeds)
        self._whole = self._whole or fed
        cost = (fed / self._whole if fed else 1.0) if self._cost is None else self._cost
        self.conditions.spent.passes += self._part * cost

    def start_from(self, fitted: Fitted) -> None:
        """Count the run that was just made on these feeds as one forward pass, and name the inputs whose sizes had to
        be equal."""
        self._whole = _elements(fitted.feeds)
        if fitted.equal:
            names = listed(list(map(repr, fitted.equal[:_MOST_NAMED])))
            self.not_tested.append(Diagnostic("verification.equal-sizes", names=names))

    def hold(self, before: Document, candidate: Document, rederived: frozenset[Key] = frozenset()) -> None:
        """From here on the shapes that the candidate stores are held against every run of it, and the verdict fails
        where one is wrong that is right in the model before, or that was to be made true."""
        if self._held is None or self._held.candidate is not candidate:
            self._held = StoredShapes(before, candidate, rederived)

    def open_measured(
        self, document: Document, held: StoredShapes, label: str | None = None, prepared: PreparedModel | None = None
    ) -> Session | None:
        """A session without optimisation that tells the shapes of the tensors in `held`; None where there is none."""
        if not held.measured:
            return None
        try:
            session = self._opened(document, (prepared or prepare_for_ort(document)).measuring(held.measured), label)
        except CannotLoadError:
            return None
        session.tell_shapes = held.saw
        return session

    def _with_kernels(self, prepared: PreparedModel, document: Document) -> PreparedModel:
        """What was prepared of the document, with its resizes of bfloat16 in float32."""
        runnable = prepared if self._as_written else in_float32(prepared, document)
        if runnable is not prepared:
            self.notes.append(Diagnostic("verification.bfloat16-in-float32"))
        return runnable

    def feeder(
        self,
        inputs: Sequence[TensorInput],
        hints: Mapping[str, object] | None = None,
        *,
        shapes: Mapping[str, Shape] | None = None,
        seed: int | None = None,
    ) -> Feeder:
        """What makes feeds for the inputs, with the shapes and the seed of the conditions unless others are given."""
        conditions = self.conditions
        shapes = conditions.shapes if shapes is None else shapes
        seed = conditions.seed if seed is None else seed
        return Feeder(inputs, shapes, seed, hints, conditions.limits.bytes)

    def run(
        self,
        document: Document,
        feeds: Feeds,
        *,
        optimized: bool = False,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
    ) -> dict[str, Value]:
        """What the model makes of those of the feeds that it has an input for. Raises what `open` and `Session.run`
        raise."""
        session = self.open(document, optimized=optimized, extra_outputs=extra_outputs, label=label)
        return self.outputs(session, feeds)

    def fit(
        self,
        document: Document,
        hints: Mapping[str, object] | None = None,
        *,
        shapes: Mapping[str, Shape] | None = None,
        optimized: bool = False,
        extra_outputs: Sequence[str] = (),
        label: str | None = None,
        session: Session | None = None,
    ) -> Fitted:
        """Feeds that the model runs with, and what it makes of them, in a `session` that is open already or a new one.
        Raises what `open`, `Feeder` and `fit_feeds` raise."""
        session = session or self.open(document, optimized=optimized, extra_outputs=extra_outputs, label=label)
        feeder = self.feeder(session.inputs, hints, shapes=shapes)
        budget = MemoryBudget(document, self.conditions.limits)
        return fit_feeds(session, feeder, budget=budget, is_part=shapes is not None)

    def look_at(self, candidate: Document, hints: Mapping[str, object] | None = None) -> Fitted | None:
        """Run a candidate as a whole though nothing of the whole can be compared, where it runs: what it stores is held
        against that."""
        with suppress(ResizefixError):
            return self.fit(candidate, hints)
        return None

    def fit_as_declared(
        self, document: Document, session: Session, budget: MemoryBudget, *, is_part: bool = False
    ) -> Fitted:
        """`fit` with what the file says of inputs that decide a size, or without."""
        declared = feeds_from_declared_shapes(document, self.conditions.shapes)
        if declared:
            with suppress(CannotRunError, UsageError):
                fitted = fit_feeds(session, self.feeder(session.inputs, declared), budget=budget)
                if not session.contradicts(fitted.outputs):
                    return fitted
        return fit_feeds(session, self.feeder(session.inputs), budget=budget, is_part=is_part)

    def compared(
        self,
        expected: Mapping[str, Value],
        outputs: Mapping[str, Value],
        feeds: Feeds,
        *,
        optimized: bool = False,
        bound: float = 0.0,
    ) -> Differences:
        """How the outputs differ: one more of the runs."""
        differences = compare(expected, outputs)
        self.runs.append(run_of(differences, feeds, optimized=optimized, bound=bound))
        return differences

    def verdict(self, failure: str | None = None) -> Verification:
        """What the runs come to: failed for the reason given, else passed with the notes, each once; unrefuted where a
        part that may differ never ran."""
        if failure is None and self._held is not None:
            failure = self._held.why_wrong(self)
        status = (
            VerificationStatus.FAILED
            if failure
            else VerificationStatus.UNREFUTED
            if self.is_refutable
            else VerificationStatus.PASSED
        )
        reason = failure or "; ".join(dict.fromkeys(self.notes)) or None
        return Verification(
            status,
            reason,
            tuple(self.runs),
            sessions=self.sessions,
            forward_passes=round(self.conditions.spent.passes, 1),
            tested=(*_tested(self.runs), *dict.fromkeys(self.tested)),
            not_tested=tuple(dict.fromkeys((*_not_tested(self.runs), *self.not_tested))),
        )


def _watched_copy(document: Document) -> tuple[Document, tuple[ScopePath, ...], str] | None:
    if not any(path.is_body for path, _ in bodies(document.proto)):
        return None
    from resizefix.verification.arms import watched_copy  # few models have bodies

    return watched_copy(document)


def _elements(feeds: Feeds) -> float:
    return float(sum(value.size for value in feeds.values() if isinstance(value, np.ndarray) and value.ndim > 1))


def _tested(runs: Sequence[Run]) -> list[str]:
    """The levels and the sizes that the runs were made at."""
    if not runs:
        return []
    is_optimised = any(run.optimized for run in runs)  # which is compared with what ran without optimisation, too
    code = "verification.tested-levels" if is_optimised else "verification.tested-plain"
    shapes: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, shape in run.shapes.items():
            shapes.setdefault(name, {})["x".join(map(str, shape)) or "1"] = None
    several = [(name, sizes) for name, sizes in shapes.items() if len(sizes) > 1]
    return [
        Diagnostic(code),
        *(
            Diagnostic("verification.tested-shapes", name=name, shapes=listed(list(sizes)[:_MOST_NAMED]))
            for name, sizes in several[:_MOST_NAMED]
        ),
    ]


def _not_tested(runs: Sequence[Run]) -> list[str]:
    return [Diagnostic("verification.not-tested-level")] if runs and not any(run.optimized for run in runs) else []


def run_of(
    differences: Differences, feeds: Feeds, *, optimized: bool = False, bound: float = 0.0, fed: Feeding | None = None
) -> Run:
    """What a comparison found as the run that reports tell of, with the values that were given."""
    arrays = ((name, feeds.get(name)) for name in (fed.shown if fed else ()))
    values = {name: value.reshape(-1).tolist() for name, value in arrays if isinstance(value, np.ndarray)}
    shapes = {name: list(shape) for name, shape in shapes_of(feeds).items()}
    return Run(values, shapes, optimized, differences, bound, files=fed.files if fed else {})


class Watched:
    """A session that notes which bodies ran: `ran` in the last run, `seen` in any. `turns`: how often one of them did
    in the last run, at least 1. `arms`: the paths of the bodies that are watched."""

    def __init__(self, session: Session, arms: Sequence[ScopePath] = (), flag: str | None = None) -> None:
        self.session = session
        self.arms = arms
        self.ran: frozenset[ScopePath] = frozenset()
        self.seen: frozenset[ScopePath] = frozenset()
        self.turns = 1
        self._flag = flag

    @property
    def arms_watched(self) -> frozenset[ScopePath]:
        """The bodies that may run."""
        return frozenset(self.arms)

    @property
    def inputs(self) -> tuple[TensorInput, ...]:
        """What to feed."""
        return self.session.inputs

    @property
    def label(self) -> str:
        """What errors call the model."""
        return self.session.label

    @property
    def notes(self) -> tuple[str, ...]:
        """How it differs from a user's session."""
        return self.session.notes

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """Those of `feeds` that this model has an input for."""
        return self.session.taken(feeds)

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes."""
        return self.session.contradicts(results)

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name; `ran` are the bodies that this run came through."""
        outputs = self.session.run(feeds)
        flags = outputs.pop(self._flag) if self._flag is not None else None
        if isinstance(flags, np.ndarray):
            self.ran = frozenset(self.arms[int(at)] for at in np.flatnonzero(flags))
            self.seen |= self.ran
            self.turns = max(1, int(flags.max()))
        return outputs
