"""`resizefix.legalize`: resizes that a target accepts, proven in onnxruntime and in the target's runtime."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.library import seam
from resizefix.library.advice import AskedCall, Words, with_size
from resizefix.library.bounded import operation
from resizefix.library.preparation import raised, require_raised_alike, with_raised
from resizefix.library.result import Demand, Result, VerificationFailedError, failed
from resizefix.library.seam import INEXACT_BOUND, LOWERED_BOUND, proven
from resizefix.operations.integer_inputs import deciding_floats, shape_input_options, violations_of_the_whole
from resizefix.operations.legalize import legalize as make_legal
from resizefix.operations.quotient_sizes import Dividends, Pinned, pinned, quotient_sites, with_sizes_read
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
    view = ModelView(raised(document, opset))
    start = _prepared(document, view, select(sites_in(view), node), wanted, node)
    allowance = Allowance(allow_inexact, lower)
    work = _Rewriting(
        start, wanted, allowance, conditions(**run), verify, live, (runtime_python or {}).get(wanted.name)
    )
    return work.fastest() if fastest else work.first_that_holds()


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A document whose resizes the target can judge: raised, with sizes read and lengths taken from partners where it
    asks for that. `given` are the selected sites of `document`, which is the model as it came, `sites` the same in
    `view`; `base` has neither lengths of partners."""

    document: Document
    base: Document
    view: ModelView
    given: Sequence[Site]
    sites: Sequence[Site]
    by_size: Dividends
    pins: Pinned


def _prepared(
    document: Document, view: ModelView, sites: Sequence[Site], target: Target, patterns: Sequence[str]
) -> _Prepared:
    """What the target can judge of a document, of which `view` is the raised one and `sites` are selected."""
    base = view.document
    chosen = {site.index for site in sites}
    by_size = quotient_sites(view, sites, target)
    if by_size:
        constant = _constant_in(view, sites, target)
        by_size = {key: sizes for key, sizes in by_size.items() if key not in constant}
    if by_size:
        base = _reading_sizes(base, by_size)
        view = ModelView(base)
        sites = [site for site in sites_in(view) if site.index in chosen]
    pins = pinned(view, sites, target)
    if pins.texts:
        view = ModelView(pins.document)
        sites = [site for site in sites_in(view) if site.index in chosen]
    given = select(find_sites(document), patterns) if base is not document else sites
    return _Prepared(document, base, view, given, sites, by_size, pins)


def _constant_in(view: ModelView, sites: Sequence[Site], target: Target) -> frozenset[Key]:
    """The sites for which constant scales or sizes are enough, once those before them are constant: less is changed."""
    made = make_legal(view.document, sites, target, allowance=Allowance(lowered=False), view=view)
    pairs = zip(sites, made.outcomes, strict=True)
    return frozenset(site.key for site, outcome in pairs if outcome.status is not Status.REFUSED)


class _Refuted(NamedTuple):
    """Why a form may not be written, and which rewritten nodes are to blame; none: that is not known."""

    error: VerificationFailedError
    nodes: Collection[Key]


@dataclass(frozen=True, eq=False)
class _Rewriting:
    """One call: what it begins with, and what it is asked for."""

    start: _Prepared
    target: Target
    allowance: Allowance
    rules: Conditions
    verify: bool
    live: bool
    python: str | None

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
            result = self._tested(rewritten, allowed)
            if not isinstance(result, _Refuted):
                return result
            tried.append(model)
            first = first or result.error
            for key in result.nodes or {site.key for site in self._changed(rewritten)}:
                passed_over[key] = passed_over.get(key, 0) + 1

    def fastest(self) -> Result:
        """The forms that are measured fastest."""
        from resizefix.library.fastest import fastest as choose  # onnxruntime is imported where something is run
        from resizefix.operations.candidates import LARGEST_BOUND

        start, rewritten = self.start, self._by_rules({})
        rewritten, speed = choose(
            start.view, start.sites, rewritten, self.target, self.allowance, self.rules, python=self.python
        )
        result = self._tested(self._submitted(rewritten), LARGEST_BOUND)
        if isinstance(result, _Refuted):
            raise result.error
        return replace(result, speed=speed)

    def _by_rules(self, passed_over: Mapping[Key, int]) -> Rewritten:
        start = self.start
        rewritten = make_legal(
            start.pins.document,
            start.sites,
            self.target,
            allowance=self.allowance,
            view=start.view,
            passed_over=passed_over,
        )
        return replace(rewritten, outcomes=start.pins.outcomes(start.sites, rewritten.outcomes))

    def _submitted(self, rewritten: Rewritten) -> Rewritten:
        """With the outcomes of the sites as they came, and submitted."""
        start = self.start
        if start.base is not start.document:
            now = default_opset(start.base.proto.opset_import, fallback=1)
            outcomes = with_raised(rewritten.outcomes, start.given, rewritten.document, now)
            rewritten = replace(rewritten, outcomes=_reading(outcomes, start.given, start.by_size))
        changed = self._changed(rewritten)
        if not changed:
            return rewritten
        keys = frozenset(site.key for site in changed) | start.pins.nodes
        plan = Plan(keys, types=_of_other_type(rewritten, changed))
        return rewritten.with_document(seam.submitted(start.base, rewritten.document, plan))

    def _changed(self, rewritten: Rewritten) -> list[Site]:
        pairs = zip(self.start.given, rewritten.outcomes, strict=True)
        return [site for site, outcome in pairs if outcome.status is Status.CHANGED]

    def _tested(self, rewritten: Rewritten, allowed: float) -> Result | _Refuted:
        """The result if everybody who can be asked has nothing against it."""
        start, changed = self.start, self._changed(rewritten)
        try:
            if self.verify and changed and self.target.name in SPEAKS_FOR:
                self._ask_parser(rewritten, changed)
            if self.verify and start.base is not start.document:
                require_raised_alike(start.document, start.base, rewritten.outcomes, self.rules)
            result = proven(start.document, rewritten, changed, allowed, self.rules if self.verify else None)
        except VerificationFailedError as error:
            return _Refuted(error, ())
        result = replace(result, blockers=_mistaken(start.view, self.target))
        is_asked = self.target.runtime in ("tensorrt", "onnxruntime")
        if is_asked or not self.verify or not changed or not self.live:
            return result
        from resizefix.library.live import prove_live

        proof = prove_live(start.document, result.model, changed, self.target, self.rules, self.python)
        if not proof.fits:
            refuted = replace(result, verification=Verification(VerificationStatus.FAILED, proof.said))
            return _Refuted(failed(refuted), proof.refuted)
        reason = f"{result.verification.reason}; {proof.said}" if result.verification.reason else proof.said
        return replace(result, verification=replace(result.verification, reason=reason))

    def _ask_parser(self, rewritten: Rewritten, changed: Sequence[Site]) -> None:
        """Raises VerificationFailedError where the target's own parser refuses what was rewritten."""
        from resizefix.library.live import why_live_refuses  # a parser of its own process is asked by few

        refusal = why_live_refuses(self.start.document, rewritten.document, changed)
        if refusal is not None:
            refuted = Verification(VerificationStatus.FAILED, refusal)
            raise failed(Result(self.start.document, rewritten.outcomes, (), refuted))


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
    shapes = rewritten.view.shapes
    integers = (site for site in changed if site.elem_type == TensorProto.UINT8)
    return frozenset(site.key for site in integers if shapes.elem_type(site.key) == TensorProto.FLOAT)


def _mistaken(view: ModelView, target: Target) -> tuple[Blocker, ...]:
    """The nodes for which the target refuses the model whatever its resizes are: no rewrite of a resize helps."""
    from resizefix.opsets.verdict import Blocker  # few models have any

    violations = violations_of_the_whole(view, target)
    return tuple(Blocker(one.node, "", 0, one.because, one.fix) for one in violations)
