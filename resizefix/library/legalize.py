"""`resizefix.legalize`: resizes that a target accepts, proven in onnxruntime and in the target's runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.library import seam
from resizefix.library.advice import Words, with_size
from resizefix.library.bounded import operation
from resizefix.library.result import AskedCall, Demand, Result, VerificationFailedError, failed
from resizefix.library.seam import INEXACT_BOUND, LOWERED_BOUND, proven, raised, require_raised_alike, with_raised
from resizefix.operations.integer_inputs import deciding_floats, shape_input_options, violations_of_the_whole
from resizefix.operations.legalize import legalize as make_legal
from resizefix.operations.quotient_sizes import Dividends, pinned, quotient_sites, with_sizes_read
from resizefix.operations.replacement import Allowance
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites, select, sites_in
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.shared_rules import FUNCTIONS_ARE_INLINED
from resizefix.targets.target import Target, judge
from resizefix.targets.tensorrt import SPEAKS_FOR
from resizefix.verification.plan import Plan
from resizefix.verification.verification import (
    ChangeOptions,
    Conditions,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

if TYPE_CHECKING:
    from resizefix.opsets.verdict import Blocker

_BODIES = "body-is-imported"
_FIRST_WITH_COORDINATES = 11  # Resize-11


def _has_functions_refused(document: Document, options: dict[str, Any]) -> bool:
    """Whether the target takes no local functions, and the model has a resize and some."""
    target = target_named(options.get("target") or "onnxruntime")
    view = ModelView(document)
    rules = {broken.rule for facts in facts_in(view) for broken in judge(target, facts) if facts.calls_functions}
    inside = any(site.scope.in_function for site in sites_in(view))
    return FUNCTIONS_ARE_INLINED.name in rules or (inside and _BODIES in rules)


def _other_options(asked: AskedCall, outcome: Outcome) -> Iterable[Words]:
    """Opset 11 for an older model: before it a node has no word for how it samples, and runtimes guess. Else a size."""
    from resizefix.library.plans import runs_in  # few sites are advised

    document = asked.document
    is_older = default_opset(document.proto.opset_import, fallback=1) < _FIRST_WITH_COORDINATES
    if (
        is_older and asked.options.get("opset") is None and all(runs_in(ModelView(document)))
    ):  # else nothing is verified
        yield ("--opset", str(_FIRST_WITH_COORDINATES))
    target = asked.options.get("target") or "onnxruntime"
    if not asked.options.get("shape_inputs") and target_named(target).runtime == "tensorrt":
        yield shape_input_options(deciding_floats(ModelView(document)))
    yield from with_size(asked, outcome)


@operation(Demand(every=True), advice=_other_options, inlines=_has_functions_refused)
def legalize(
    document: Document,
    *,
    target: str | None = None,
    node: Sequence[str] = (),
    allow_inexact: bool = False,
    lower: bool = True,
    fastest: bool = False,
    opset: int | None = None,
    shape_inputs: bool = False,
    denominator: int | None = None,
    inline: bool = False,
    live: bool = True,
    runtime_python: Mapping[str, str] | None = None,
    size: tuple[int, int] | None = None,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Rewrite the resizes that `target` does not accept into ones that it does, in the model's own opset.

    `lower`: other operators may take a node's place; `allow_inexact`: so may approximations, with the difference
    measured. `shape_inputs`: for TensorRT, float inputs that decide sizes become int64 first, over `denominator` where
    they give scales. `inline`: local functions are inlined first, also without it where the target takes none. `opset`
    raises the model to that version of ai.onnx first, which is verified with the rest. Where TensorRT-RTX is
    installed and speaks for `target`, it must parse what was rewritten. Where another runtime is meant and
    installed, the result runs there, unless `live` is False. A node that is wrong there gets its next form; without one
    the verification fails. What else is found stands in `verification.reason`. `runtime_python` gives,
    by its name, the Python that has a runtime. `size` is the height and width that open axes of image inputs get first.
    `fastest`: of all forms that compute the same, each node gets the one that is measured fastest in the target's
    runtime, onnxruntime where none is named. It is kept only if the whole model is 5 % faster, and `speed` of the
    result has the times. Raises UsageError for a target or pattern that does not exist, VerificationFailedError where
    the verification fails.
    """
    if target is None and not fastest:
        raise UsageError("library.no-target")
    if denominator is not None and not shape_inputs:
        raise UsageError("library.denominator-without-shape-inputs", denominator=denominator)
    wanted = target_named("onnxruntime" if target is None else target)
    view, python = ModelView(raised(document, opset)), (runtime_python or {}).get(wanted.name)
    sites = select(sites_in(view), node)
    allowance, rules = Allowance(allow_inexact, lower), conditions(**run)
    work = _Rewriting(document, view, sites, wanted, allowance, rules, verify=verify, live=live, python=python)
    return work.fastest() if fastest else work.first_that_holds()


def _constant_in(view: ModelView, sites: Sequence[Site], target: Target) -> frozenset[Key]:
    """The sites for which constant scales or sizes are enough, once those before them are constant: less is changed."""
    made = make_legal(view.document, sites, target, allowance=Allowance(lowered=False), view=view)
    pairs = zip(sites, made.outcomes, strict=True)
    return frozenset(site.key for site, outcome in pairs if outcome.status is not Status.REFUSED)


class _Rewriting:
    """One call. `given` are the selected sites of `document`, which is the model as it came. `sites` are the same in
    `view`, whose resizes the target can judge: raised, with sizes read and lengths taken from partners where it asks
    for that. `base` has no lengths of partners."""

    def __init__(
        self, document: Document, view: ModelView, sites: Sequence[Site], target: Target, allowance: Allowance,
        rules: Conditions, *, verify: bool, live: bool, python: str | None,
    ) -> None:  # fmt: skip
        self.document, self.target, self.allowance, self.rules = document, target, allowance, rules
        self.verify, self.live, self.python = verify, live, python
        base, chosen = view.document, {site.index for site in sites}
        self.by_size = quotient_sites(view, sites, target)
        if self.by_size:
            constant = _constant_in(view, sites, target)
            self.by_size = {key: sizes for key, sizes in self.by_size.items() if key not in constant}
        if self.by_size:
            base = _reading_sizes(base, self.by_size)
            view = ModelView(base)
            sites = [site for site in sites_in(view) if site.index in chosen]
        self.pins = pinned(view, sites, target)
        if self.pins is not None:
            view = self.pins.after
            sites = [site for site in sites_in(view) if site.index in chosen]
        self.base, self.view, self.sites = base, view, sites
        given = sites if base is document else find_sites(document)
        self.given = [site for site in given if site.index in chosen]

    def first_that_holds(self) -> Result:
        """The preferred form of each node; where one is refuted, the next one of that node. Raises the first
        VerificationFailedError where all are."""
        passed_over: dict[Key, int] = {}
        tried: list[bytes] = []
        first: VerificationFailedError | None = None
        allowed = INEXACT_BOUND if self.allowance.inexact else LOWERED_BOUND
        while True:
            rewritten = self._submitted(self._by_rules(passed_over))
            model = rewritten.document.light_bytes()
            if model in tried:
                assert first is not None
                raise first
            try:
                return self._tested(rewritten, allowed)
            except VerificationFailedError as error:
                first = first or error
                refuted = error.refuted
            tried.append(model)
            for key in refuted or {site.key for site in self._changed(rewritten)}:
                passed_over[key] = passed_over.get(key, 0) + 1

    def fastest(self) -> Result:
        """The forms that are measured fastest."""
        from resizefix.library.fastest import fastest as choose  # onnxruntime is imported where something is run
        from resizefix.operations.candidates import LARGEST_BOUND

        rewritten = self._by_rules({})
        rewritten, speed = choose(
            self.view, self.sites, rewritten, self.target, self.allowance, self.rules, python=self.python
        )
        return replace(self._tested(self._submitted(rewritten), LARGEST_BOUND), speed=speed)

    def _by_rules(self, passed_over: Mapping[Key, int]) -> Rewritten:
        rewritten = make_legal(
            self.view.document,
            self.sites,
            self.target,
            allowance=self.allowance,
            view=self.view,
            passed_over=passed_over,
        )
        by_index = {} if self.pins is None else {one.index: one for one in self.pins.outcomes}
        outcomes = (
            by_index.get(one.index, one) if one.status is Status.UNCHANGED else one for one in rewritten.outcomes
        )
        return replace(rewritten, outcomes=tuple(outcomes))

    def _submitted(self, rewritten: Rewritten) -> Rewritten:
        """With the outcomes of the sites as they came, and submitted."""
        if self.base is not self.document:
            now = default_opset(self.base.proto.opset_import, fallback=1)
            outcomes = with_raised(rewritten.outcomes, self.given, rewritten.document, now)
            rewritten = replace(rewritten, outcomes=_reading(outcomes, self.given, self.by_size))
        changed = self._changed(rewritten)
        if not changed:
            return rewritten
        keys = frozenset(site.key for site in changed) | (frozenset() if self.pins is None else self.pins.touched)
        plan = Plan(keys, types=_of_other_type(rewritten, changed))
        return rewritten.with_document(seam.submitted(self.base, rewritten.document, plan))

    def _changed(self, rewritten: Rewritten) -> list[Site]:
        pairs = zip(self.given, rewritten.outcomes, strict=True)
        return [site for site, outcome in pairs if outcome.status is Status.CHANGED]

    def _tested(self, rewritten: Rewritten, allowed: float) -> Result:
        """The result if everybody who can be asked has nothing against it; else raises VerificationFailedError."""
        changed = self._changed(rewritten)
        if self.verify and changed and self.target.name in SPEAKS_FOR:
            self._ask_parser(rewritten, changed)
        if self.verify and self.base is not self.document:
            require_raised_alike(self.document, self.base, rewritten.outcomes, self.rules)
        result = proven(self.document, rewritten, changed, allowed, self.rules if self.verify else None)
        result = replace(result, blockers=_mistaken(self.view, self.target))
        is_asked = self.target.runtime in ("tensorrt", "onnxruntime")
        if is_asked or not self.verify or not changed or not self.live:
            return result
        from resizefix.library.live import prove_live

        proof = prove_live(self.document, result.model, changed, self.target, self.rules, self.python)
        if not proof.fits:
            refuted = replace(result, verification=Verification(VerificationStatus.FAILED, proof.said))
            raise failed(refuted, refuted=proof.refuted)
        reason = f"{result.verification.reason}; {proof.said}" if result.verification.reason else proof.said
        return replace(result, verification=replace(result.verification, reason=reason))

    def _ask_parser(self, rewritten: Rewritten, changed: Sequence[Site]) -> None:
        """Raises VerificationFailedError where the target's own parser refuses what was rewritten."""
        from resizefix.library.live import why_live_refuses  # a parser of its own process is asked by few

        refusal = why_live_refuses(self.document, rewritten.document, changed)
        if refusal is not None:
            refuted = Verification(VerificationStatus.FAILED, refusal)
            raise failed(Result(self.document, rewritten.outcomes, (), refuted))


def _reading_sizes(document: Document, by_size: Dividends) -> Document:
    """The document in which these nodes read the sizes that their scales aim at, and nothing else differs."""
    reading = with_sizes_read(document, by_size)
    opset = default_opset(reading.proto.opset_import, fallback=1)
    is_raised = opset != default_opset(document.proto.opset_import, fallback=1)
    return seam.submitted(document, reading, Plan(frozenset(by_size), opset=opset if is_raised else None))


def _reading(outcomes: Sequence[Outcome], sites: Sequence[Site], by_size: Dividends) -> tuple[Outcome, ...]:
    """The outcomes; those of nodes that read sizes now say so."""
    keys = {site.index: site.key for site in sites}
    said = Diagnostic("library.reads-the-size")
    return tuple(
        replace(one, reason="; ".join((said, one.reason or "")))
        if keys[one.index] in by_size and one.status is Status.CHANGED
        else one
        for one in outcomes
    )


def _of_other_type(rewritten: Rewritten, changed: Sequence[Site]) -> frozenset[Key]:
    """The nodes that give floats now, because a target resizes no such integers."""
    shapes = rewritten.after.shapes
    integers = (site for site in changed if site.elem_type == TensorProto.UINT8)
    return frozenset(site.key for site in integers if shapes.elem_type(site.key) == TensorProto.FLOAT)


def _mistaken(view: ModelView, target: Target) -> tuple[Blocker, ...]:
    """The nodes for which the target refuses the model whatever its resizes are: no rewrite of a resize helps."""
    from resizefix.opsets.verdict import Blocker  # few models have any

    violations = violations_of_the_whole(view, target)
    return tuple(Blocker(one.node, "", 0, one.because, one.fix) for one in violations)
