"""Which sites go ahead: those whose scale can move alone, beside what the refused ones do in the original."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import Site
from resizefix.origins.origin import OriginKind
from resizefix.promotion import Coupling, Freedom
from resizefix.scope_path import Key

if TYPE_CHECKING:
    from resizefix.operations.refusal import Refusal


class Candidate(Protocol):
    """A promotion, made or only thought of."""

    @property
    def inputs(self) -> Collection[object]:
        """The new inputs; empty where nothing is promoted."""


C = TypeVar("C", bound=Candidate)
_MOST_ROUNDS = 16  # each probes the model; of more coupled nodes with sizes all that are left are refused at once


def without_coupled(
    candidate: C,
    sites: Sequence[Site],
    promote: Callable[[Mapping[int, Refusal]], C],
    probe: Callable[[C], dict[Key, Coupling]],
    *,
    shared: bool = False,
    retry_args: Callable[[], tuple[str, ...]] = tuple,
    by_sizes: Callable[[], Mapping[Key, Coupling]] = dict,
) -> tuple[C, dict[Key, Coupling]]:
    """The promotion of the free sites alone, and the verdict for each.

    A node that keeps its sizes (given, or computed at run time) takes whatever comes, so that refusing it can set
    free those before it, and bind others beside it. So of coupled ones the last is refused first, and the rest asked
    anew. A refused node with constant scales computes what it did as a promoted one: that decides nothing.
    `retry_args` are the options that help once a site is refused, `by_sizes` what sizes alone say of the sites.
    """
    verdicts: dict[Key, Coupling] = {}
    refused: dict[int, Refusal] = {}
    by_index = {site.index: site for site in sites}
    for count in range(len(sites) + 1):
        if not candidate.inputs:
            break
        verdicts |= probe(candidate)
        found = {
            site: verdicts[site.key]
            for site in sites
            if site.index not in refused and site.key in verdicts and verdicts[site.key].verdict is Freedom.COUPLED
        }
        known = by_sizes() if found else {}
        coupled = {site.index: _refusal(why, known.get(site.key), shared) for site, why in found.items()}
        if not coupled:
            break
        absorbing = [] if shared else [index for index in coupled if _keeps_sizes(by_index[index])]
        if not absorbing:
            refused |= coupled
            break
        chosen = absorbing if count + 1 >= _MOST_ROUNDS else [max(absorbing)]
        refused |= {index: coupled[index] for index in chosen}
        candidate = promote(refused)
    if refused:
        words = retry_args()
        candidate = promote({index: refusal.with_retry(words) for index, refusal in refused.items()})
    return candidate, verdicts


def _keeps_sizes(site: Site) -> bool:
    """Whether it makes of another input what a promoted one would not: its scales are not constants in the file."""
    return site.extent.kind is ExtentKind.SIZES or site.origin.kind is OriginKind.COMPUTED


def _refusal(found: Coupling, by_sizes: Coupling | None, shared: bool) -> Refusal:
    from resizefix.operations.refusal import Refusal

    partner = None if by_sizes is None or by_sizes.breaks_at != found.breaks_at else by_sizes.partner
    code = "library.coupled-together" if shared else "library.coupled"
    fits = "library.sizes-must-fit" if partner is None else "library.size-must-be-that-of"
    return Refusal(Diagnostic(code, breaks_at=found.breaks_at, where=Diagnostic(fits, partner=partner)))


def named_in_original(couplings: Mapping[Key, Coupling], promoted: Document, original: Document) -> dict[Key, Coupling]:
    """The verdicts with nodes that have no name called by their places in the original, not in the promoted model."""
    labels = {found.breaks_at for found in couplings.values()}
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
        key: found._replace(breaks_at=places.get(outputs.get(found.breaks_at or "", ""), found.breaks_at))
        for key, found in couplings.items()
    }
