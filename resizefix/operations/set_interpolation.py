"""The interpolation of nodes changed on purpose, or only the form in which they say it.

An attribute is edited in the node as it stands; a form is written as a new node, or as other operators. Whether the
change keeps what the node computes is asked of the equivalences, at the node's own sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.intended import IntendedNode
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, Replacement
from resizefix.document.scopes import names_in
from resizefix.equivalences.kernel_arithmetic import spelling_bound
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.table import AxisStep, reasons, rewrites
from resizefix.interpolation import ExtentKind, Interpolation
from resizefix.lowerings.copies import REPEAT
from resizefix.lowerings.lowering import why_not_native
from resizefix.lowerings.table import BY_NAME
from resizefix.operations.node_attributes import Edited, edited, with_attributes
from resizefix.operations.quotient_sizes import as_sizes
from resizefix.operations.replacement import (
    LARGEST_REPEAT,
    LARGEST_SCALE,
    Allowance,
    Fresh,
    fix_shapes,
    lengths,
    replace_sites,
    rewritten,
    spelled,
    subject_of,
)
from resizefix.operations.rewriter import Operation, Rewritten, broken_rules, rewrite, store_scan_ranks
from resizefix.operations.settings import AXES, SCALES, SIZES, Settings
from resizefix.operations.site import ReadSite, Site
from resizefix.opsets.raising import why_not_raised
from resizefix.origins.classify import OriginKind
from resizefix.outcome import BITWISE, UNBOUNDED, ErrorBound, Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Effect, Violation, judge

_KINDS = {SCALES: ExtentKind.SCALES, SIZES: ExtentKind.SIZES}
# The equivalences whose conditions tell why a form cannot be had.
_DECIDING = {SCALES: (17, 22, 14), SIZES: (16, 14), AXES: (15,)}


def set_interpolation(document: Document, sites: Sequence[Site], settings: Settings) -> Rewritten:
    """A copy of the document in which the selected sites are as `settings` say; `document` stays as it is.

    A site that is so already is left alone; one that cannot be so is refused with the reason.
    """
    view = ModelView(document)
    operation = _Set(settings)
    rewritten = rewrite(view, sites, operation)
    indices = {outcome.index for outcome in rewritten.outcomes if outcome.status is Status.CHANGED}
    return replace(rewritten, intended=tuple(operation.intended[index] for index in sorted(indices)))


@dataclass(eq=False)
class _Set(Operation[Replacement]):
    settings: Settings
    rejected: dict[Key, frozenset[str]] = field(default_factory=dict)
    idle_rois: frozenset[Key] = frozenset()
    intended: dict[int, IntendedNode] = field(default_factory=dict)

    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[Replacement | Outcome]:
        fresh = FreshNames(names_in(view.model)).fresh
        facts = facts_in(view)
        raisable = cache(partial(why_not_raised, view.document))
        self.rejected = {site.key: _rejected(judge(ONNXRUNTIME, facts[site.index])) for site in sites}
        self.idle_rois = frozenset(site.key for site in sites if facts[site.index].has_idle_roi)
        return [self._plan_or_outcome(view, site, raisable, fresh) for site in sites]

    def _plan_or_outcome(
        self, view: ModelView, site: Site, raisable: Callable[[int], str | None], fresh: Fresh
    ) -> Replacement | Outcome:
        try:
            shaped = self._is_shaped(site.read)
            plan = _plan(view, site.read, self.settings, raisable, fresh, shaped=shaped)
        except RefusedError as error:
            return site.refused(error)
        if plan is None:
            return site.outcome(Status.UNCHANGED, Diagnostic("operations.set-already"))
        form, self.intended[site.index] = plan
        return form

    def _is_shaped(self, site: ReadSite) -> bool:
        """Whether the node has the form that is asked for; one with numbers as a roi that it does not read has not, as
        some importers refuse it."""
        form = self.settings.form
        is_idle = form in _KINDS and site.key in self.idle_rois and site.origin.kind.is_constant
        return form is None or (_has_form(site, form) and not (is_idle and not site.scope.in_function))

    def apply(self, document: Document, plans: Sequence[tuple[Site, Replacement]]) -> Sequence[Outcome]:
        replace_sites(document, plans)
        reshaped = [site for site, form in plans if _is_reshaped(site, form)]
        fix_shapes(document, reshaped)
        notes = store_scan_ranks(document, [site.key for site in reshaped])
        return [site.replaced(form, notes.get(site.key)) for site, form in plans]

    def objections(self, view: ModelView, changed: Collection[Key]) -> Mapping[Key, str]:
        """What onnxruntime does not run, so that its result cannot be known."""
        reasons: dict[Key, str] = {}
        for key, violations in broken_rules(view, changed, ONNXRUNTIME):
            new = _rejected(violations) - self.rejected.get(key, frozenset())
            first = next((violation for violation in violations if violation.rule in new), None)
            if first is not None:
                reasons[key] = Diagnostic("operations.set-not-run", rule_name=first.rule, because=first.because)
        return reasons


def _is_reshaped(site: Site, form: Replacement) -> bool:
    """Whether other nodes or another extent stand there, of which stored shapes may know nothing."""
    own = [(site.op_type, list(site.node.input))]
    return [(node.op_type, list(node.input)) for node in form.nodes] != own


def _rejected(violations: Collection[Violation]) -> frozenset[str]:
    return frozenset(violation.rule for violation in violations if violation.effect is Effect.REJECTED)


def _plan(
    view: ModelView,
    site: ReadSite,
    settings: Settings,
    why_not_raised: Callable[[int], str | None],
    fresh: Fresh,
    *,
    shaped: bool,
) -> tuple[Replacement, IntendedNode] | None:
    """How the site becomes what is asked for, and what it must compute then; None: it is that. Raises RefusedError with
    the reason why not."""
    new = edited(site, settings, why_not_raised)
    same = new.meaning == site.interpolation
    if same and shaped:
        return None
    kept = BITWISE if same else _kept(site, new.wanted)
    error = kept or UNBOUNDED
    if shaped:
        node = with_attributes(site.node, new.attributes)
        form, near = Replacement((node,), error=error, how=new.description), 0.0
    else:
        assert settings.form is not None
        form = _of_quotients(view, site, new, settings.form, fresh) or _of_constants(site, new, settings.form, fresh)
        near = 0.0 if form.error.exact else form.error.known_bound or 0.0
        bound = error.bound + form.error.bound
        apart = Diagnostic("operations.within", bound=f"{near:.2g}") if near and math.isinf(bound) else ""
        note = "; ".join(part for part in (apart, error.note, form.error.note) if part)
        conditions = (*error.conditions, *form.error.conditions)
        error = ErrorBound(error.exact and form.error.exact, bound, note, conditions)
        how = "; ".join(part for part in (new.description, form.description or form.how) if part)
        form = Replacement(form.nodes, form.initializers, error, how)
    return form, _intended(site, new, error, near, keeps=kept is not None)


def _of_quotients(view: ModelView, site: ReadSite, new: Edited, form: str, fresh: Fresh) -> Replacement | None:
    """The node that reads sizes, where its scales are computed as quotients of them; None: it is no such node."""
    if form != SIZES or site.origin.kind is not OriginKind.COMPUTED or site.scope.in_function:
        return None
    return as_sizes(view, site, with_attributes(site.node, new.attributes), fresh)


def _of_constants(site: ReadSite, new: Edited, form: str, fresh: Fresh) -> Replacement:
    """What takes the place of a node of constant extent. Raises RefusedError."""
    _require_constant(site, form)
    subject = subject_of(site, LARGEST_REPEAT if form == REPEAT.name else LARGEST_SCALE)
    return _formed(replace(subject, interpolation=new.meaning), site, form, fresh)


def _kept(site: ReadSite, wanted: Interpolation) -> ErrorBound | None:
    """How nearly another meaning computes the same at a site's sizes, by which equivalences, and for which inputs;
    None: it computes something else."""
    try:
        before = subject_of(site)
    except RefusedError:
        return None  # its extent is known at run time alone
    if before.rank is None:
        return None
    if before.is_copy:
        return ErrorBound(note=Diagnostic("operations.node-copies"))
    after = replace(before, interpolation=wanted)
    for allow_inexact in (False, True):
        for first, last in ((before, after), (after, before)):
            for step in rewrites(first, allow_inexact=allow_inexact):
                if step.subject == last:
                    return _by(step, before, after)
    return None


def _by(step: AxisStep, before: ResizeSpec, after: ResizeSpec) -> ErrorBound:
    names = ", ".join(row.name for row in step.equivalences)
    near = BITWISE if step.exact else spelling_bound(before, after) or UNBOUNDED
    conditions = (*lengths([step]), *near.conditions)
    return ErrorBound(step.exact, near.bound, Diagnostic("operations.same-at-this-size", names=names), conditions)


def _intended(site: ReadSite, new: Edited, error: ErrorBound, near: float, *, keeps: bool) -> IntendedNode:
    bound, operands = error.known_bound, site.reading.operands
    return IntendedNode(
        site.index, site.label, site.key, site.input, new.wanted, operands, keeps, error.exact, bound, near
    )


def _has_form(site: ReadSite, form: str) -> bool:
    """Whether the node has the form already."""
    axes = site.interpolation.axes
    if form == AXES:
        return axes is not None
    return form in _KINDS and _operand_kind(site) is _KINDS[form] and axes is None


def _operand_kind(site: ReadSite) -> ExtentKind:
    """What the node is given; the recovered extent of a computed operand may be the other."""
    return ExtentKind.SIZES if site.slot is not None and site.slot == site.dialect.sizes_input else ExtentKind.SCALES


def _require_constant(site: ReadSite, form: str) -> None:
    """Raises RefusedError for a form that needs a constant extent, where it is computed or fed."""
    if form not in BY_NAME and not site.origin.kind.is_constant:
        kind = _operand_kind(site).value
        raise RefusedError("operations.set-form-of-computed", form=form, kind=kind)


def _formed(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    """What takes the site's place so that it computes `subject` in the form. Raises RefusedError with the reason."""
    if site.scope.in_function:
        raise RefusedError("operations.set-form-in-function", form=form)
    if subject.rank is None:
        raise RefusedError("operations.tensor-unknown", what="rank")
    if form in BY_NAME:
        return _lowered(subject, site, form, fresh)
    return _spelled(subject, site, form, fresh)


def _lowered(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    lowering, opset = BY_NAME[form], site.scope.opset
    if subject.element_type is None:
        raise RefusedError("operations.tensor-unknown", what="type")
    why = why_not_native(subject) or lowering.applies(subject, opset)
    if why is not None:
        raise RefusedError("operations.set-form", form=form, why=why)
    return lowering.build(subject, x=site.input, y=site.output, opset=opset, fresh=fresh)


def _spelled(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    for accepts in _wanted(subject, form):
        end = rewritten(subject, accepts, Allowance(inexact=True))
        if end is not None:
            return spelled(subject, end, site, site.dialect, fresh)
    why = {row.number: why for row, why in reasons(subject)}
    reason = next(
        (why[number] for number in _DECIDING[form] if number in why), Diagnostic("operations.no-equivalent-form")
    )
    raise RefusedError("operations.set-form", form=form, why=reason)


def _wanted(subject: ResizeSpec, form: str) -> list[Callable[[ResizeSpec], bool]]:
    """The ends of a chain that are such a form, the best first."""

    def same(other: ResizeSpec) -> bool:
        mine, its = subject.interpolation, other.interpolation
        return subject.form == other.form and mine.antialias == its.antialias

    if form == AXES:
        return [lambda other: same(other) and other.interpolation.axes is not None]
    kind = _KINDS[form]
    by_axes = subject.interpolation.axes is None  # sizes of the resized axes, where the batch is open
    ends: list[Callable[[ResizeSpec], bool]] = [
        lambda other: same(other) and other.extent is kind and other.interpolation.axes is None
    ]
    if by_axes and form == SIZES:
        ends.append(lambda other: same(other) and other.extent is kind)
    return ends
