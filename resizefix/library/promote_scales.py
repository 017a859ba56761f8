"""`resizefix.promote_scales`: constant scales become graph inputs, verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.library import seam
from resizefix.library.advice import proposed
from resizefix.library.bounded import operation
from resizefix.library.coupling import SizeInquiry, couplings_of, named_in_original, without_coupled
from resizefix.library.result import (
    Demand,
    Result,
    VerificationFailedError,
    failed,
    measured,
    not_verified,
    skipped,
    without_their_chain,
)
from resizefix.library.seam import never
from resizefix.operations.promote_scales import promote_scales as promote
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import select, sites_in
from resizefix.outcome import Outcome, Status
from resizefix.printable import one_paragraph
from resizefix.promotion import Coupling, Form, Freedom, Integers, NewInputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.tensorrt import TENSORRT_TARGETS
from resizefix.verification.plan import Plan
from resizefix.verification.scale_points import asked_points
from resizefix.verification.verification import ChangeOptions, Unpack, Verification, VerificationStatus, conditions

if TYPE_CHECKING:
    from resizefix.verification.proof import Prover

_NEWEST = TENSORRT_TARGETS[-1]
_NOTHING = skipped("library.nothing-promoted")


@operation(Demand(needs_resize=True), advice=proposed, inlines=never)
def promote_scales(
    document: Document,
    *,
    form: Form | str | None = None,
    input_name: str | None = None,
    shared: bool = False,
    keep_default: bool = False,
    for_: str = "onnxruntime",
    denominator: int | None = None,
    shape_inputs: bool = True,
    node: Sequence[str] = (),
    allow_coupled: bool = False,
    opset: int | None = None,
    inline: bool = False,
    verify: bool = True,
    at: Sequence[float | Sequence[float]] = (),
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Turn constant scales into graph inputs, and verify in onnxruntime that nothing else changed.

    Without `node` patterns every node is promoted whose scale can change alone. Another is refused, with the node where
    the model breaks, unless `allow_coupled`. `form` is "scales" (the default), "spatial", "factor" or "sizes".
    `for_="tensorrt"` makes int64 inputs that TensorRT takes, numerators over `denominator`, and fills `result.profile`.
    With `shape_inputs`, float inputs that decide sizes become int64, too, which every reader gets as floats.
    `opset` raises the model to that version of ai.onnx first; one of opset 7 or 8, where the scales are an attribute,
    is raised to 9 in any case. `inline`: local functions are inlined first. Options are named
    as those of `resizefix promote-scales`.

    `timeout` (seconds) and `memory_limit` (bytes of tensors) bound the verification, which then works in a process of
    its own. `progress` is called with the runs made, the runs there are to make, and what was done.

    Raises UsageError for options that do not fit the model. Raises VerificationFailedError where the new model does not
    compute what the old one does; its `result` holds the original.
    """
    if for_ == "tensorrt" and keep_default:
        raise UsageError("library.keep-default-for-tensorrt")
    if denominator is not None and for_ != "tensorrt":
        raise UsageError(
            "library.denominator-without-tensorrt", retry_args=("--for", "tensorrt"), denominator=denominator
        )
    if opset is not None:
        from resizefix.library.seam import is_later  # few models are raised

        is_later(document, opset)  # or else an error
    view = ModelView(document)
    integers = Integers(denominator) if for_ == "tensorrt" else None
    wanted = NewInputs(None if form is None else Form(form), input_name, shared, keep_default, integers)
    scales = cast("Sequence[Sequence[float]]", at)  # a number alone is read as a sequence of one
    call = _Call(view, select(sites_in(view), node), wanted, opset or 0, allow_coupled, verify, scales)
    candidate = call.promoted({})
    return call.verified(candidate, run) if verify and candidate.inputs else call.unverified(candidate, run)


@dataclass(frozen=True, eq=False)
class _Call:
    """What one call promotes, and how."""

    view: ModelView
    sites: Sequence[Site]
    wanted: NewInputs
    opset: int
    allow_coupled: bool
    verify: bool
    at: Sequence[Sequence[float]]

    def unverified(self, candidate: Rewritten, run: ChangeOptions) -> Result[Document]:
        """The result without a run of a model."""
        _, candidate = _submitted(self.view.document, self._planned(candidate))
        return self._result(candidate, not_verified() if candidate.inputs else _NOTHING, run.get("shape") or {})

    def _planned(self, candidate: Rewritten) -> Rewritten:
        """The promotion without the sites that sizes show to be coupled. Raises UsageError if `at` does not fit."""
        if candidate.inputs and not self.allow_coupled:
            candidate, _ = self._without_coupled(candidate, lambda promotion, _: self._by_sizes_of(promotion))
        asked_points(candidate.inputs, self.at)
        return candidate

    def verified(self, candidate: Rewritten, run: ChangeOptions) -> Result[Document]:
        """The promotion of the sites that a run shows to be free, compared with the original."""
        from resizefix.verification.proof import Prover  # onnxruntime is imported where something is run

        document = self.view.document
        rules, before = conditions(self.at, **run), candidate.before
        prover = cache(lambda: Prover(before, rules))  # what sizes decide needs no run
        try:
            candidate, coupling = self._free(candidate, prover)
        except BrokenOffError as error:
            reason = Diagnostic("library.broken-off", why=error)
            raise failed(Result(document, (), (), Verification(VerificationStatus.FAILED, reason))) from error
        if not candidate.inputs:
            return self._result(candidate, replace(_NOTHING, coupling=tuple(coupling.values())), {})
        base, candidate = _submitted(document, candidate)
        if base is not document:
            from resizefix.library.seam import require_raised_alike

            require_raised_alike(document, base, candidate.outcomes, conditions((), **run))
        verification = prover().prove(candidate.after, candidate.inputs, coupling)
        if not verification.passed:
            raise failed(Result(document, candidate.outcomes, candidate.inputs, verification))
        if self.wanted.integers is not None:
            _ask_live(document, candidate, verification)
        ran = verification.runs[0].shapes if verification.runs else {}
        return self._result(candidate, verification, {**ran, **(run.get("shape") or {})})

    def _free(self, candidate: Rewritten, prover: Callable[[], Prover]) -> tuple[Rewritten, dict[Key, Coupling]]:
        """The promotion of the free sites alone, and the verdict for each: by sizes, and by a run where they do not
        tell."""

        def probe(promotion: Rewritten, by_sizes: dict[Key, Coupling]) -> dict[Key, Coupling]:
            unknown = {key for key, coupling in by_sizes.items() if coupling.verdict is Freedom.UNKNOWN}
            moving = [one for one in promotion.inputs if any(driven.key in unknown for driven in one.sites)]
            ran = prover().couplings(promotion.after, promotion.inputs, moving) if moving else {}
            decided = {key: coupling for key, coupling in by_sizes.items() if key not in unknown}
            return decided | named_in_original(ran, promotion.document, self.view.document)

        if self.allow_coupled:
            return candidate, probe(candidate, self._by_sizes_of(candidate))
        return self._without_coupled(candidate, probe)

    def _without_coupled(
        self,
        candidate: Rewritten,
        probe: Callable[[Rewritten, dict[Key, Coupling]], dict[Key, Coupling]],
    ) -> tuple[Rewritten, dict[Key, Coupling]]:
        shared = self.wanted.shared

        def verdicts(promotion: Rewritten) -> dict[Key, Coupling]:
            return probe(promotion, self._by_sizes_of(promotion)) if promotion.inputs else {}

        def retry_args() -> tuple[str, ...]:
            together = candidate if shared else self.promoted({}, share=True)
            drives_several = not shared and any(len(source.sites) > 1 for source in together.inputs)
            if self.wanted.integers is not None and not _is_taken(together.document):
                return ()
            if drives_several and all(coupling.verdict is Freedom.FREE for coupling in verdicts(together).values()):
                return ("--shared",)
            return ("--allow-coupled",)

        return without_coupled(
            candidate,
            self.sites,
            self.promoted,
            verdicts,
            shared=shared,
            as_sizes=self.wanted.form is Form.SIZES,
            retry_args=retry_args,
            by_sizes=lambda: self.by_sizes,
        )

    def _by_sizes_of(self, promotion: Rewritten) -> dict[Key, Coupling]:
        """What sizes alone say of the sites as the inputs drive them."""
        couplings = SizeInquiry(promotion.before).couplings(promotion.inputs)
        return {key: coupling._replace(partner=None) for key, coupling in couplings.items()}

    def promoted(self, refused: Mapping[int, RefusedError], *, share: bool | None = None) -> Rewritten:
        """All sites but these; with one input for all where `share` says so, else as the user wishes."""
        promotion = promote(
            self.view.document,
            self.sites,
            self.wanted if share is None else replace(self.wanted, shared=share),
            refused=refused,
            target=None if self.wanted.integers is None else _NEWEST,
            opset=self.opset,
            view=self.view,
        )
        paired = zip(promotion.outcomes, self.sites, strict=True)
        outcomes = (self._if_run(one if one.index in refused else self._advised(one, site)) for one, site in paired)
        return replace(promotion, outcomes=tuple(outcomes))

    def _with_other_commands(self, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        if self.allow_coupled or all(one.status is not Status.REFUSED for one in outcomes):
            return outcomes
        from resizefix.library.advice import with_other_commands  # few models have coupled nodes

        return with_other_commands(self.view.document, outcomes)

    @cached_property
    def by_sizes(self) -> dict[Key, Coupling]:
        """What sizes alone say of the sites."""
        return couplings_of(self.view, self.sites)

    @cached_property
    def _taken(self) -> list[bool]:
        """Of each site, whether the rules of TensorRT take it as it is."""
        from resizefix.library.plans import taken_by

        return taken_by(_NEWEST, self.view)

    @cached_property
    def _runs(self) -> list[bool]:
        """For each site of the model, whether its promotion can be verified."""
        from resizefix.library.plans import runs_in  # few sites are advised

        return runs_in(self.view)

    def _if_run(self, outcome: Outcome) -> Outcome:
        """The outcome, without options if no promotion of the site can be verified."""
        runs = not outcome.retry_args or not self.verify or self._runs[outcome.index]
        return outcome if runs else replace(outcome, retry_args=())

    def _advised(self, outcome: Outcome, site: Site) -> Outcome:
        """The outcome, with the options of another form and those that this form needs as well."""
        words = outcome.retry_args
        if not words:
            return outcome
        for_tensorrt = self.wanted.integers is not None and "--for" not in words
        if self.verify and for_tensorrt and not (self._taken[site.index] and _is_taken(self.view.document)):
            return replace(outcome, retry_args=())
        verdict = self.by_sizes[site.key].verdict
        # If sizes do not tell, a run may show that it is coupled.
        coupled = verdict is Freedom.COUPLED or (self.verify and verdict is Freedom.UNKNOWN)
        return (
            replace(outcome, retry_args=(*words, "--allow-coupled")) if coupled and not self.allow_coupled else outcome
        )

    def _result(
        self, promotion: Rewritten, verification: Verification, shapes: Mapping[str, Sequence[int]]
    ) -> Result[Document]:
        profile = None
        if self.wanted.integers is not None and promotion.inputs:
            from resizefix.library.tensorrt_profile import (
                profile_of,
                that_runs,  # few models are promoted for TensorRT
            )

            widest = profile_of(promotion.document.proto, promotion.inputs, shapes)
            profile = that_runs(widest, promotion.before, promotion.document, promotion.inputs)
        # What is resized is read by the product of its shape and an integer, too.
        moved = self.sites if self.wanted.integers is not None else without_their_chain(self.sites)
        outcomes = measured(self._with_other_commands(promotion.outcomes), moved, verification)
        seen = self.view, promotion.after
        return Result(promotion.document, outcomes, promotion.inputs, verification, profile=profile, seen=seen)


def _submitted(document: Document, candidate: Rewritten) -> tuple[Document, Rewritten]:
    """What was promoted, and the promotion, if nothing else differs."""
    base = candidate.before.document
    if not candidate.inputs:
        return base, candidate
    if base is not document:
        base = seam.submitted(document, base, Plan(opset=default_opset(base.proto.opset_import, fallback=1)))
    keys = frozenset(driven.key for source in candidate.inputs for driven in source.sites)
    plan = Plan(keys, new_inputs=frozenset(source.name for source in candidate.inputs))
    submitted = seam.submitted(candidate.before.document, candidate.document, plan)
    return base, candidate.with_document(submitted)


def _ask_live(original: Document, candidate: Rewritten, verification: Verification) -> None:
    """Raises VerificationFailedError where the real TensorRT parser is installed and refuses the promoted model."""
    from resizefix.library.live import refused_by_tensorrt  # a parser of its own process is asked by few

    verdict = refused_by_tensorrt(candidate.document)
    if verdict is None:
        return
    first = verdict.errors[0] if verdict.errors else None
    where = "" if first is None else f" at {first.node or first.op_type!r}: {one_paragraph(first.message)}"
    code = "library.parser-refuses" if refused_by_tensorrt(original) is None else "library.parser-refuses-both"
    result = Result(original, candidate.outcomes, candidate.inputs, verification)
    raise VerificationFailedError(code, parser=verdict.parser, where=where, result=result)


def _is_taken(document: Document) -> bool:
    """Whether TensorRT's parser has nothing against the model, or is not installed."""
    from resizefix.library.live import refused_by_tensorrt

    return refused_by_tensorrt(document) is None
