"""How every operation rewrites sites: plan each, change a copy of the model, look at the result, go on with the rest.

No plan is made by facts that an earlier change made untrue: what is left is planned anew on the changed model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from resizefix.document.document import Document
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_by_key
from resizefix.targets.target import Target, Violation, judge

if TYPE_CHECKING:
    from resizefix.opsets.verdict import Blocker, OpsetStep

P = TypeVar("P")
Planned = tuple[Site, P]


@dataclass(frozen=True, eq=False)
class Rewritten:
    """The changed copy of the document, and what happened to each site, in the order in which they were given.

    A model in another opset says besides what became of other operators, those that have no form there (then the copy
    is half rewritten and of no use), and which values other nodes make than before.
    """

    view: ModelView
    outcomes: tuple[Outcome, ...]
    blockers: tuple[Blocker, ...] = ()
    steps: tuple[OpsetStep, ...] = ()
    touched: frozenset[Key] = frozenset()

    @property
    def document(self) -> Document:
        """The copy."""
        return self.view.document

    @property
    def complete(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.blockers and all(outcome.status is not Status.REFUSED for outcome in self.outcomes)

    @property
    def exact(self) -> bool:
        """Whether every node gives every bit that it gave."""
        return all(step.error.exact for step in self.steps) and all(outcome.exact for outcome in self.outcomes)

    def with_document(self, document: Document) -> Rewritten:
        """The same of this document."""
        return self if document is self.document else replace(self, view=ModelView(document))


class Operation(ABC, Generic[P]):
    """What one operation decides and does; `P` is its plan for one site."""

    looks_again = False
    """Whether sites that were left as they are may be changed once others are."""

    @abstractmethod
    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[P | Outcome]:
        """For each site what becomes of it, or its outcome where nothing does. Changes nothing."""

    @abstractmethod
    def apply(self, document: Document, plans: Sequence[Planned[P]]) -> Sequence[Outcome]:
        """Makes all the changes in `document`, and gives the outcome of each."""

    def objections(self, view: ModelView, changed: Collection[Key]) -> Mapping[Key, str]:
        """Which of the changed sites must not stay so, and why, seen on the changed model. They are refused, and the
        others planned anew."""
        return {}

    def later(self, first: Outcome, now: Outcome) -> Outcome:
        """What is said of a site that was left as it is at `first`."""
        return first


def rewrite(view: ModelView, sites: Sequence[Site], operation: Operation[P]) -> Rewritten:
    """A copy of the document in which the operation has done what it can to `sites`; the document stays as it is.

    An operation that looks again is asked about what it left until nothing changes.
    """
    outcomes: dict[int, Outcome] = {}
    work = dict(enumerate(sites))
    refused: dict[int, Outcome] = {}
    while True:
        asked = {place: site for place, site in work.items() if place not in refused}
        planned = dict(zip(asked, operation.plan(view, list(asked.values())), strict=True))
        plans = {place: (asked[place], plan) for place, plan in planned.items() if not isinstance(plan, Outcome)}
        document = view.document.copy()
        changed = dict(zip(plans, operation.apply(document, list(plans.values())), strict=True))
        after = ModelView(document)
        objections = operation.objections(after, {site.key for site, _ in plans.values()}) if plans else {}
        if objections:
            refused |= {
                place: site.outcome(Status.REFUSED, objections[site.key])
                for place, (site, _) in plans.items()
                if site.key in objections
            }
            continue
        now = {place: plan for place, plan in planned.items() if isinstance(plan, Outcome)} | refused | changed
        for place in work:
            first = outcomes.get(place)
            outcomes[place] = now[place] if first is None else operation.later(first, now[place])
        left = {site.key: place for place, site in work.items() if place not in plans}
        again = sites_in(after) if operation.looks_again and plans and left else []
        work = {left[site.key]: site for site in again if site.key in left}
        if not work:
            return Rewritten(after, tuple(outcomes[place] for place in range(len(sites))))
        view, refused = after, {}


def broken_rules(
    view: ModelView, sites: Collection[Key], target: Target
) -> Iterator[tuple[Key, tuple[Violation, ...]]]:
    """Which rules of the target each of the sites breaks."""
    for key, facts in facts_by_key(view, sites):
        yield key, judge(target, facts)
