"""Every form of a site that computes the same and that a target accepts, to be measured against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.document.edits import Replacement
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode, NearestMode
from resizefix.lowerings.matmul import MATMUL, SMALL_MATMUL
from resizefix.operations.legalize import Legalize, Legalizer
from resizefix.operations.replacement import Allowance, lowered, rewritten, spelled, subject_of
from resizefix.operations.site import Site
from resizefix.origins.classify import OriginKind
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.targets.target import Target

AS_IT_IS = "as it is"
LARGEST_BOUND = 1e-4
"""Of the largest value: a form that may be further off is not the same."""

_Form = tuple[CoordinateTransformationMode, NearestMode | None]
_MODES = CoordinateTransformationMode
SPELLINGS: Mapping[Mode, tuple[_Form, ...]] = {
    # onnxruntime doubles asymmetric floor by a kernel of its own, and runs it in the blocked layout of convolutions.
    Mode.NEAREST: (
        (_MODES.ASYMMETRIC, NearestMode.FLOOR),
        (_MODES.HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR),
        (_MODES.ALIGN_CORNERS, NearestMode.ROUND_PREFER_FLOOR),
    ),
    Mode.LINEAR: tuple((mode, None) for mode in (_MODES.HALF_PIXEL, _MODES.ASYMMETRIC, _MODES.ALIGN_CORNERS)),
    Mode.CUBIC: tuple((mode, None) for mode in (_MODES.HALF_PIXEL, _MODES.ASYMMETRIC, _MODES.ALIGN_CORNERS)),
}
"""The ways to say where samples lie that runtimes have code of their own for; each is tried by scales and by sizes."""


def candidates(legalizer: Legalizer) -> dict[str, Replacement]:
    """The forms of the site by name: other spellings of the node, then other operators.

    Exact ones alone, unless inexact ones are allowed: then also those of a known bound, up to `LARGEST_BOUND`. None
    where the scales come at run time, or in a local function, whose nodes are run for several callers.
    """
    site, allowance = legalizer.site, legalizer.allowance
    if why_left_alone(site) is not None:
        return {}
    by_name: dict[str, Replacement] = {}
    try:
        subject = subject_of(site)
    except RefusedError:
        return by_name
    for name, form in (*_spellings(subject, legalizer), *_other_operators(subject, legalizer)):
        near = form.error.exact or (allowance.inexact and form.error.bound <= LARGEST_BOUND)
        if near:
            by_name.setdefault(name, form)
    if MATMUL.name in by_name:
        by_name.pop(SMALL_MATMUL.name, None)  # the same nodes
    return by_name


def why_left_alone(site: Site) -> str | None:
    """Why no other form of the site is looked for; None: one is."""
    if site.interpolation is None:
        return site.reason
    if site.extent.values is None or site.origin.kind is OriginKind.GRAPH_INPUT:
        return Diagnostic("operations.scales-at-run-time")
    if site.scope.in_function or site.scope.path.steps:
        return Diagnostic("operations.nodes-not-measured")
    return None


class LegalizeAs(Legalize):
    """Sites become the forms chosen for them, by name; the others what `legalize` makes of them."""

    def __init__(self, target: Target, allowance: Allowance, chosen: Mapping[Key, str]) -> None:
        super().__init__(target, allowance)
        self._chosen = chosen

    def plan_of(self, legalizer: Legalizer) -> Replacement | Outcome:
        """The chosen form where the site has it."""
        name = self._chosen.get(legalizer.site.key)
        replacement = None if name is None else candidates(legalizer).get(name)
        return legalizer.plan() if replacement is None else replacement


def form_now(legalizer: Legalizer) -> str | None:
    """The form that the site has without measuring: its own, or what `legalize` makes of it; None: it is refused."""
    plan = legalizer.plan()
    if isinstance(plan, Replacement):
        return plan.how
    return None if plan.status is Status.REFUSED else AS_IT_IS


def _spellings(subject: ResizeSpec, legalizer: Legalizer) -> Iterator[tuple[str, Replacement]]:
    dialect = legalizer.site.read.dialect
    own = subject.interpolation
    forms = dict.fromkeys((subject.form, *SPELLINGS[own.mode]))
    for form in forms:
        for kind in ExtentKind:
            unchanged = form == subject.form and kind is subject.extent
            if unchanged and legalizer.site.origin.kind.is_constant:
                continue

            def wanted(other: ResizeSpec, form: _Form = form, kind: ExtentKind = kind) -> bool:
                return (
                    (other.form, other.extent) == (form, kind)
                    and (other.interpolation.mode, other.interpolation.antialias) == (own.mode, own.antialias)
                    and not legalizer.dispute(other)
                    and legalizer.accepts(other, dialect)
                )

            end = rewritten(subject, wanted, legalizer.allowance)
            if end is not None:
                yield _name(form, kind), spelled(subject, end, legalizer.site, dialect, legalizer.fresh)


def _name(form: _Form, kind: ExtentKind) -> str:
    return " ".join([form[0].value, *([form[1].value] if form[1] else []), f"by {kind.value}"])


def _other_operators(subject: ResizeSpec, legalizer: Legalizer) -> Iterator[tuple[str, Replacement]]:
    if not legalizer.allowance.lowered:
        return
    site = legalizer.site
    dialect = site.read.dialect

    def accepts(other: ResizeSpec) -> bool:
        return legalizer.accepts(other, dialect)

    try:
        for one in lowered(subject, site, fresh=legalizer.fresh, target=legalizer.target, accepts=accepts):
            yield one.how, legalizer.findable(one)
    except RefusedError:
        return
