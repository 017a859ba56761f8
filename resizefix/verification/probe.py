"""Which promoted sites are free: whether the model still runs when one input alone, or a group that shares it, moves.

In a U-Net an inner upsample meets a skip connection of fixed size; any other scale of it alone fails at the Add or
Concat. Such a site is coupled, and the node where the run breaks tells the user why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from resizefix.document.shapes import Key
from resizefix.promotion import PromotedInput
from resizefix.verification.inputs import Value
from resizefix.verification.runtime import CannotRunError, Session
from resizefix.verification.trials import Trial, trials_of
from resizefix.verification.verification import Coupling, Verdict


def probe(session: Session, feeds: Mapping[str, Value], inputs: Sequence[PromotedInput]) -> dict[Key, Coupling]:
    """One verdict per site; those that share an input share the verdict.

    `session` is of the promoted model, not optimized; `feeds` are what the original runs with. Each input moves
    alone, one whole step up; all others keep their old value.
    """
    found: dict[Key, Coupling] = {}
    for source in inputs:
        breaks_at: str | None
        others = trials_of(source)[:1]  # none where the input can say no other value
        try:
            for value in others:
                session.run({**feeds, **Trial(((source, value),)).feeds(inputs)})
        except CannotRunError as error:
            where = error.node or error.op_type or error.reason
            verdict, breaks_at = Verdict.COUPLED, where
        else:
            verdict, breaks_at = Verdict.FREE, None
        found.update({driven.key: Coupling(driven.label, verdict, breaks_at) for driven in source.sites})
    return found
