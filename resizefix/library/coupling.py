"""Which sites go ahead: those whose scale can move alone, while the refused ones do what they do in the original.

As far as sizes say it, without running the model: each site is given another scale and followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.interpolation import ExtentKind
from resizefix.operations.forms import bind_input
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.origins.classify import OriginKind
from resizefix.promotion import Coupling, Form, Freedom, InputBinding, PromotedInput
from resizefix.runtimes.inputs import model_inputs
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.scale_points import other_values
from resizefix.verification.sizing import SIZINGS, sized

if TYPE_CHECKING:
    from resizefix.shapes.inference import FixedDims
    from resizefix.shapes.walk import Moved, WalkEnded


C = TypeVar("C")
"""A promotion, made or only thought of."""
_MOST_ROUNDS = 16  # each probes the model; of more coupled nodes with sizes all that are left are refused at once
_MOST_SIZINGS = 6


def without_coupled(
    candidate: C,
    sites: Sequence[Site],
    promote: Callable[[Mapping[int, RefusedError]], C],
    probe: Callable[[C], dict[Key, Coupling]],
    *,
    shared: bool = False,
    as_sizes: bool = False,
    retry_args: Callable[[], tuple[str, ...]] = tuple,
    by_sizes: Callable[[], Mapping[Key, Coupling]] = dict,
) -> tuple[C, dict[Key, Coupling]]:
    """The promotion of the free sites alone, and the verdict for each.

    A node that keeps its sizes (given, computed at run time, or fed: `as_sizes`) takes whatever comes, so that refusing
    it can set free those before it, and bind others. So of coupled ones the last is refused first, and the
    rest asked anew. A refused node with constant scales computes what it did as a promoted one that is fed scales: that
    decides nothing. Of nodes that share an input those go first that are coupled by themselves; those that may share it
    then are asked anew. `probe` says what breaks, and nothing where nothing is promoted; `retry_args` are the options
    that help once a site is refused, `by_sizes` what sizes alone say of the sites.
    """
    verdicts: dict[Key, Coupling] = {}
    refused: dict[int, RefusedError] = {}
    by_index = {site.index: site for site in sites}
    for count in range(len(sites) + 1):
        probed = probe(candidate)
        if not probed:
            break
        verdicts |= probed
        breaking = {
            site: verdicts[site.key]
            for site in sites
            if site.index not in refused and site.key in verdicts and verdicts[site.key].verdict is Freedom.COUPLED
        }
        by_size = by_sizes() if breaking else {}
        coupled = {site.index: _refusal(why, by_size.get(site.key), shared) for site, why in breaking.items()}
        if not coupled:
            break
        if shared:
            alone = [site.index for site in breaking if _is_coupled(by_size.get(site.key))]
            absorbing = alone or list(coupled)
        else:
            absorbing = [index for index in coupled if as_sizes or _keeps_sizes(by_index[index])]
        if not absorbing:
            refused |= coupled
            break
        chosen = absorbing if shared or count + 1 >= _MOST_ROUNDS else [max(absorbing)]
        refused |= {index: coupled[index] for index in chosen}
        candidate = promote(refused)
    if refused:
        words = retry_args()
        candidate = promote(
            {index: RefusedError(refusal.diagnostic, retry_args=words) for index, refusal in refused.items()}
        )
    return candidate, verdicts


def _is_coupled(coupling: Coupling | None) -> bool:
    return coupling is not None and coupling.verdict is Freedom.COUPLED


def _keeps_sizes(site: Site) -> bool:
    """Whether it makes of another input what a promoted one would not: its scales are not constants in the file."""
    return site.extent.kind is ExtentKind.SIZES or site.origin.kind is OriginKind.COMPUTED


def _refusal(coupling: Coupling, by_sizes: Coupling | None, shared: bool) -> RefusedError:
    partner = None if by_sizes is None or by_sizes.breaks_at != coupling.breaks_at else by_sizes.partner
    code = "library.coupled-together" if shared else "library.coupled"
    fits = "library.sizes-must-fit" if partner is None else "library.size-must-be-that-of"
    return RefusedError(Diagnostic(code, breaks_at=coupling.breaks_at, where=Diagnostic(fits, partner=partner)))


def named_in_original(couplings: Mapping[Key, Coupling], promoted: Document, original: Document) -> dict[Key, Coupling]:
    """The verdicts with nodes that have no name called by their places in the original, not in the promoted model."""
    labels = {coupling.breaks_at for coupling in couplings.values()}
    outputs = {
        label: node.output[0]
        for index, node in enumerate(promoted.proto.graph.node if labels - {None} else ())
        if not node.name and node.output and (label := node_label(node, index)) in labels
    }
    wanted = set(outputs.values())
    places = {
        node.output[0]: node_label(node, index)
        for index, node in enumerate(original.proto.graph.node if wanted else ())
        if node.output and node.output[0] in wanted
    }
    return {
        key: coupling._replace(breaks_at=places.get(outputs.get(coupling.breaks_at or "", ""), coupling.breaks_at))
        for key, coupling in couplings.items()
    }


def sites_with_coupling(view: ModelView) -> list[Site]:
    """All sites of a model, each with what sizes say about it."""
    sites = sites_in(view)
    couplings = couplings_of(view, sites)
    return [replace(site, coupling=couplings[site.key]) for site in sites]


def couplings_of(view: ModelView, sites: Sequence[Site]) -> dict[Key, Coupling]:
    """What sizes say about each site, driven by scales where it can be; unknown for what cannot be promoted."""
    couplings = {site.key: Coupling(site.label, Freedom.UNKNOWN) for site in sites}
    plans = {site.index: plan for site in sites if (plan := _plan(site)) is not None}
    if not plans:
        return couplings
    inquiry = SizeInquiry(view)
    chosen = [site for site in sites if site.index in plans]

    def promoted(refused: Mapping[int, RefusedError]) -> Mapping[int, InputBinding]:
        return {index: plan for index, plan in plans.items() if index not in refused}

    def probe(promoted: Mapping[int, InputBinding]) -> dict[Key, Coupling]:
        return inquiry.couplings([_alone(plan) for plan in promoted.values()]) if promoted else {}

    together = inquiry.fitting_together(list(plans.values()))
    _, verdicts = without_coupled(promoted({}), chosen, promoted, probe)
    couplings |= verdicts
    return {key: one._replace(shared=True) if key in together else one for key, one in couplings.items()}


class SizeInquiry:
    """Follows the sizes of one model for several candidates."""

    def __init__(self, view: ModelView) -> None:
        self._view = view
        self._sizings = _sizings(view)

    def couplings(self, inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
        """The verdict for every site, each input moved alone."""
        cases = dict(enumerate(inputs))
        moved = {
            driven.key: _moved(driven, {} if value is None else {case: driven.operand(value)})
            for case, source in cases.items()
            for value in [next(iter(other_values(source)), None)]
            for driven in source.sites
        }
        ends = self._ends(moved, list(cases))
        return {
            driven.key: _coupling(driven.label, ends.get(case))
            for case, source in cases.items()
            for driven in source.sites
        }

    def ended(self, values: Mapping[PromotedInput, Sequence[float]]) -> WalkEnded | None:
        """Where the model ends with all these inputs moved to their values at once; None: nowhere."""
        return self._ends(moved_to(values), [0]).get(0)

    def fitting_together(self, plans: Sequence[InputBinding]) -> Collection[Key]:
        """The sites that have the first one's old value, if there are several and they can move all at once."""
        first, *others = plans
        group = [first, *(driven for driven in others if (driven.kind, driven.base) == (first.kind, first.base))]
        tried = _another(first)
        if tried is None or len(group) < 2:
            return ()
        keys = {driven.key for driven in group}
        ends = self._ends({one.key: _moved(one, {0: tried} if one.key in keys else {}) for one in plans}, [0])
        return () if ends else keys

    def _ends(self, moved: Mapping[Key, Moved], cases: Sequence[int]) -> dict[int, WalkEnded]:
        """Where cases end; sizes that the file does not fix are assumed where they matter."""
        from resizefix.shapes.walk import OldSizesError, SizeFlow, WalkEnded

        ends = dict.fromkeys(cases, WalkEnded(None, ""))
        for sizes in self._sizings:
            try:
                ends = SizeFlow(self._view, sizes).ends(moved, cases)
            except OldSizesError:
                continue
            if sizes or all(end.fits is not None for end in ends.values()):
                break
        return ends


def _moved(driven: InputBinding, cases: Mapping[int, tuple[float, ...]]) -> Moved:
    from resizefix.shapes.walk import Moved  # where the model runs, that says it

    return Moved(driven.kind, driven.axes, driven.base, cases)


def moved_to(values: Mapping[PromotedInput, Sequence[float]]) -> dict[Key, Moved]:
    """The sites of these inputs, moved in case 0 to what the inputs are fed."""
    sites = ((driven, value) for source, value in values.items() for driven in source.sites)
    return {driven.key: _moved(driven, {0: driven.operand(value)}) for driven, value in sites}


def _alone(driven: InputBinding) -> PromotedInput:
    """An input that drives this site."""
    return PromotedInput("", driven.input_value(driven.base), False, (driven,))


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
    return next((driven.operand(value) for value in other_values(_alone(driven))), None)


def _coupling(label: str, ended: WalkEnded | None) -> Coupling:
    if ended is None:
        return Coupling(label, Freedom.FREE)
    if ended.fits is None:
        return Coupling(label, Freedom.UNKNOWN)
    return Coupling(label, Freedom.COUPLED, ended.node, ended.partner)


def _sizings(view: ModelView) -> list[Mapping[str, FixedDims]]:
    """Sizes to assume for the inputs, the most sensible first. None, what the file says of every tensor, where it
    fixes all inputs."""
    inputs = [entry for entry in model_inputs(view.document.proto) if not entry.has_default]
    if all(entry.is_static for entry in inputs):
        return [{}, sized(inputs, SIZINGS[0], {})]
    return [sized(inputs, sizing, {}) for sizing in SIZINGS[:_MOST_SIZINGS]]
