"""Which sites go ahead: those whose scale can move alone, beside what the refused ones do in the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from resizefix.document.shapes import Key
from resizefix.interpolation import ExtentKind
from resizefix.operations.promote_scales import Promotion, Refusal
from resizefix.operations.sites import Site
from resizefix.origins.origin import OriginKind
from resizefix.verification.verification import Coupling, Verdict

Promote = Callable[[Mapping[int, Refusal]], Promotion]
Probe = Callable[[Promotion], dict[Key, Coupling]]
_MOST_ROUNDS = 16  # each probes the model; of more coupled nodes with sizes all that are left are refused at once


def without_coupled(
    candidate: Promotion,
    sites: Sequence[Site],
    promote: Promote,
    probe: Probe,
    *,
    shared: bool,
    retry_args: Callable[[], tuple[str, ...]],
) -> tuple[Promotion, dict[Key, Coupling]]:
    """The promotion of the free sites alone, and the verdict for each.

    A node that keeps its sizes (given, or computed at run time) takes whatever comes, so that refusing it can set
    free those before it, and bind others beside it. So of coupled ones the last is refused first, and the rest asked
    anew. A refused node with constant scales computes what it did as a promoted one: that decides nothing.
    `retry_args` are the options that help once a site is refused.
    """
    verdicts: dict[Key, Coupling] = {}
    refused: dict[int, Refusal] = {}
    by_index = {site.index: site for site in sites}
    for count in range(len(sites) + 1):
        if not candidate.inputs:
            break
        verdicts |= probe(candidate)
        breaking = _breaking(sites, verdicts)
        coupled = {index: _refusal(node, shared) for index, node in breaking.items() if index not in refused}
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


def _breaking(sites: Sequence[Site], coupling: Mapping[Key, Coupling]) -> dict[int, str | None]:
    """The node where another scale breaks the model, for each site that is coupled."""
    found = {site.index: coupling[site.key] for site in sites if site.key in coupling}
    return {index: entry.breaks_at for index, entry in found.items() if entry.verdict is Verdict.COUPLED}


def _refusal(breaks_at: str | None, shared: bool) -> Refusal:
    what = "the selected sites together" if shared else "it alone"
    return Refusal(f"another scale of {what} breaks the model at {breaks_at!r}, where sizes must fit")
