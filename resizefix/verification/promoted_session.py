"""The promoted model without optimisation, run at many scales: what the changed nodes read and make is looked at.

Large weights before these nodes are run once; then the part behind is opened alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotRunError, Session
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.verification.part_behind import part_behind
from resizefix.verification.promoted_nodes import PromotedNodes, Seen, plain_only
from resizefix.verification.scale_points import at_old_values

Open = Callable[[PreparedModel], Session]


@dataclass
class PromotedSession:
    """`results`: the names of the model's own outputs; `before`: what the nodes before the changed ones make, where the
    session is of those behind alone; `at_old`: what the whole model made at the old values then."""

    session: Session
    results: Sequence[str]
    nodes: PromotedNodes | None = None
    before: Mapping[str, Value] = field(default_factory=dict)
    at_old: Mapping[str, Value] | None = None
    seen: Seen | None = None  # of the nodes, in the last run

    @property
    def label(self) -> str:
        """What errors call the model."""
        return self.session.label

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs of the model. Raises what `Session.run` raises."""
        self.seen = None
        made = self.session.run(self.session.taken({**feeds, **self.before}) if self.before else feeds)
        if self.nodes is not None:
            self.seen = self.nodes.seen({**feeds, **self.before, **made})
        return {name: made[name] for name in self.results}


def opened(
    open_: Open,
    original: PreparedModel,
    promoted: PreparedModel,
    nodes: PromotedNodes,
    inputs: Sequence[PromotedInput],
    feeds: Feeds,
) -> PromotedSession:
    """A session of the promoted model that shows the `nodes`.

    Where most of large weights stand before them, the whole is run once, and what stands behind is opened.
    """
    given = {value.name for value in promoted.model.graph.input}
    shown = [name for name in (*nodes.data, *nodes.made) if name not in given]
    part = part_behind(promoted, {source.name for source in inputs})
    reference = None if part is None else part_behind(original, set(nodes.made))
    if part is None or reference is None:
        return PromotedSession(open_(promoted.showing(shown)), promoted.outputs, nodes)
    boundary = dict.fromkeys((*part.boundary, *reference.boundary))
    session = open_(promoted.showing([*shown, *boundary]))
    whole = PromotedSession(session, promoted.outputs, nodes)
    try:
        made = session.run({**feeds, **at_old_values(inputs).feeds(inputs)})
    except CannotRunError:
        return whole
    before = plain_only(made, boundary)
    if before is None:
        return whole
    at_old = {name: made[name] for name in promoted.outputs}
    del session, whole, made  # before the next one is opened: each maps or holds all weights
    behind = part.prepared(before).showing([name for name in shown if name not in boundary])
    return PromotedSession(open_(behind), promoted.outputs, nodes, before, at_old)
