"""Free or coupled, as far as sizes say it: each site is given another scale and followed, without running the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from resizefix.dialects.model_view import ModelView
from resizefix.errors import RefusedError
from resizefix.library.coupling import without_coupled
from resizefix.operations.forms import bind_input
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.origins.size_flow import Ended, Moved, OldSizesError, SizeFlow
from resizefix.origins.size_rows import Dims
from resizefix.promotion import Coupling, Form, Freedom, InputBinding, PromotedInput
from resizefix.runtimes.inputs import model_inputs
from resizefix.scope_path import Key
from resizefix.verification.scale_points import other_values
from resizefix.verification.sizing import SIZINGS, sized

if TYPE_CHECKING:
    from resizefix.operations.refusal import Refusal

_MOST_SIZINGS = 6
_TOGETHER = 0  # the case that moves all sites


def sites_with_coupling(view: ModelView) -> list[Site]:
    """All sites of a model, each with what sizes say about it."""
    sites = sites_in(view)
    found = couplings_of(view, sites)
    return [replace(site, coupling=found[site.key]) for site in sites]


def couplings_of(view: ModelView, sites: Sequence[Site]) -> dict[Key, Coupling]:
    """What sizes say about each site; unknown for what cannot be promoted."""
    found = {site.key: Coupling(site.label, Freedom.UNKNOWN) for site in sites}
    plans = {site.index: plan for site in sites if (plan := _plan(site)) is not None}
    if not plans:
        return found
    inquiry = _Inquiry(view, plans)
    chosen = [site for site in sites if site.index in plans]
    _, verdicts = without_coupled(inquiry.beside({}), chosen, inquiry.beside, inquiry.probe)
    found |= verdicts
    return {key: one._replace(shared=True) if key in inquiry.together else one for key, one in found.items()}


class _Candidate(NamedTuple):
    """A promotion that is not made: the sites that it would promote, by their index."""

    inputs: Mapping[int, InputBinding]


class _Inquiry:
    """Follows the sizes of one model for several candidates. `together` are the sites that can move all at once,
    known after the first."""

    def __init__(self, view: ModelView, plans: Mapping[int, InputBinding]) -> None:
        self._view = view
        self._plans = plans
        self._sizings = _sizings(view)
        self.together: Collection[Key] = ()

    def beside(self, refused: Mapping[int, Refusal]) -> _Candidate:
        """All sites but these."""
        return _Candidate({index: plan for index, plan in self._plans.items() if index not in refused})

    def probe(self, candidate: _Candidate) -> dict[Key, Coupling]:
        """Each site moved alone; of the first candidate also all of them together, if they have one value."""
        group = self._one_value() if len(candidate.inputs) == len(self._plans) else {}
        cases = dict(enumerate(candidate.inputs.values(), start=1))
        moved = {}
        for case, driven in cases.items():
            tried = _another(driven)
            operands = {} if tried is None else {case: tried}
            if driven.key in group:
                operands[_TOGETHER] = group[driven.key]
            moved[driven.key] = Moved(driven.kind, driven.axes, driven.base, operands)
        ends = self._ends(moved, [*cases, *([_TOGETHER] if group else [])])
        if group and _TOGETHER not in ends:
            self.together = group
        return {driven.key: _coupling(driven.label, ends.get(case)) for case, driven in cases.items()}

    def _one_value(self) -> dict[Key, tuple[float, ...]]:
        """Another operand for all sites that have the first one's old value, if there are several."""
        first, *others = self._plans.values()
        group = [first, *(driven for driven in others if (driven.kind, driven.base) == (first.kind, first.base))]
        tried = _another(first)
        return {} if tried is None or len(group) < 2 else {driven.key: tried for driven in group}

    def _ends(self, moved: Mapping[Key, Moved], cases: Sequence[int]) -> dict[int, Ended]:
        """Where cases end; sizes that the file does not fix are assumed where they matter."""
        ends = dict.fromkeys(cases, Ended(None, ""))
        for sizes in self._sizings:
            try:
                ends = SizeFlow(self._view, sizes).ends(moved, cases)
            except OldSizesError:
                continue
            if sizes or all(found.fits is not None for found in ends.values()):
                break
        return ends


def _plan(site: Site) -> InputBinding | None:
    """The site as an input would drive it; None for one that sizes say nothing about."""
    if not site.promotable:
        return None
    for form in (Form.SCALES, Form.SIZES):
        try:
            return bind_input(site.read, form)
        except RefusedError:
            continue
    return None


def _another(driven: InputBinding) -> tuple[float, ...] | None:
    """The operand that the probe tries, too; None where the input can hold no other."""
    source = PromotedInput("", driven.input_value(driven.base), False, (driven,))
    return next((driven.operand(value) for value in other_values(source)), None)


def _coupling(label: str, ended: Ended | None) -> Coupling:
    if ended is None:
        return Coupling(label, Freedom.FREE)
    if ended.fits is None:
        return Coupling(label, Freedom.UNKNOWN)
    return Coupling(label, Freedom.COUPLED, ended.node, ended.partner)


def _sizings(view: ModelView) -> list[Mapping[str, Dims]]:
    """Sizes to assume for the inputs, the most sensible first. None, what the file says of every tensor, where it
    fixes all inputs."""
    inputs = [entry for entry in model_inputs(view.document.proto) if not entry.has_default]
    if all(entry.is_static for entry in inputs):
        return [{}, sized(inputs, SIZINGS[0], {})]
    return [sized(inputs, sizing, {}) for sizing in SIZINGS[:_MOST_SIZINGS]]
