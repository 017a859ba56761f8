"""The forms that `set form=…` gives a node: scales or sizes of every axis, the resized axes alone, other operators."""

from __future__ import annotations

from collections.abc import Callable

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.chain import reasons
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.errors import RefusedError
from resizefix.interpolation import ExtentKind
from resizefix.lowerings.conditions import why_not_native
from resizefix.lowerings.table import BY_NAME
from resizefix.operations.replacement import Allowance, Fresh, Replacement, chain_replacement, rewritten
from resizefix.operations.settings import AXES, SCALES, SIZES
from resizefix.operations.site import ReadSite
from resizefix.operations.spelling import spelled

_KINDS = {SCALES: ExtentKind.SCALES, SIZES: ExtentKind.SIZES}
# The equivalences whose conditions tell why a form cannot be had.
_DECIDING = {SCALES: (17, 22, 14), SIZES: (16, 14), AXES: (15,)}


def has_form(site: ReadSite, form: str) -> bool:
    """Whether the node has the form already."""
    axes = site.interpolation.axes
    if form == AXES:
        return axes is not None
    return form in _KINDS and _operand_kind(site) is _KINDS[form] and axes is None


def _operand_kind(site: ReadSite) -> ExtentKind:
    """What the node is given; the recovered extent of a computed operand may be the other."""
    return ExtentKind.SIZES if site.slot is not None and site.slot == site.dialect.sizes_input else ExtentKind.SCALES


def require_constant(site: ReadSite, form: str) -> None:
    """Raises RefusedError for a form that speaks of an extent which is computed or fed."""
    if form not in BY_NAME and not site.origin.kind.is_constant:
        kind = _operand_kind(site).value
        raise RefusedError("operations.set-form-of-computed", form=form, kind=kind)


def formed(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    """What takes the site's place so that it computes `subject` in the form. Raises RefusedError with the reason."""
    if site.scope.in_function:
        raise RefusedError("operations.set-form-in-function", form=form)
    if subject.rank is None:
        raise RefusedError("operations.rank-unknown")
    if form in BY_NAME:
        return _lowered(subject, site, form, fresh)
    return _spelled(subject, site, form, fresh)


def _lowered(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    lowering, opset = BY_NAME[form], site.scope.opset
    if subject.element_type is None:
        raise RefusedError("operations.type-unknown")
    why = why_not_native(subject) or lowering.applies(subject, opset)
    if why is not None:
        raise RefusedError("operations.set-form", form=form, why=why)
    found = lowering.build(subject, x=site.input, y=site.output, opset=opset, fresh=fresh)
    error = found.error
    return Replacement(found.nodes, found.initializers, error.exact, error.bound, form, error.note, error.conditions)


def _spelled(subject: ResizeSpec, site: ReadSite, form: str, fresh: Fresh) -> Replacement:
    for accepts in _wanted(subject, form):
        end = rewritten(subject, accepts, Allowance(inexact=True))
        if end is not None:
            node, initializers = spelled(end[0], site, site.dialect, fresh)
            return chain_replacement(node, initializers, subject, end[1])
    why = {row.number: why for row, why in reasons(subject)}
    found = next(
        (why[number] for number in _DECIDING[form] if number in why), Diagnostic("operations.no-equivalent-form")
    )
    raise RefusedError("operations.set-form", form=form, why=found)


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
