"""Which resize of a model begins a difference: each is compared by the tensors that it gives and takes."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from resizefix.difference import TensorDifference
from resizefix.document.document import Document
from resizefix.scope_path import Key
from resizefix.verification.verification import SiteDrift

Compared = Callable[[str], tuple[Sequence[TensorDifference], bool]]
"""How a tensor differs, on each feed on which both sides have it, and whether it is right on all."""


@dataclass(frozen=True)
class ResizePlace:
    """One resize: what reports call it, its scope path and output, and the tensor that it resizes."""

    label: str
    key: Key
    data: str


def site_drifts(
    document: Document,
    places: Sequence[ResizePlace],
    compared_tensors: Container[str],
    compared: Compared,
    standing_for: Callable[[str], Sequence[str]] = lambda name: (name,),
) -> tuple[SiteDrift, ...]:
    """A drift for each resize of the main graph whose output is in `compared_tensors`, in the order of the nodes.

    The first that differs while its input agrees is marked. Of an input that is not known, the tensors that stand for
    it are compared; where there are none it is what both were fed, and agrees.
    """
    drifts = []
    for place in places:
        output = place.key[1]
        if place.key[0].steps or output not in compared_tensors:
            continue
        differences, right = compared(output)
        given = [compared(name) for name in standing_for(place.data)]
        worst = max(differences, key=lambda difference: difference.max_rel_diff)
        of_input = max((each.max_rel_diff for differences, _ in given for each in differences), default=0.0)
        may_be_first = not right and all(entered for _, entered in given)
        drifts.append(SiteDrift(place.label, worst._replace(tensor=output), of_input, not right, first=may_be_first))
    order = {name: at for at, node in enumerate(document.proto.graph.node) for name in node.output}
    drifts.sort(key=lambda drift: order.get(drift.output, -1))
    begun = next((at for at, drift in enumerate(drifts) if drift.first), None)
    return tuple(replace(drift, first=at == begun) for at, drift in enumerate(drifts))
