"""What became of a model as a whole, out of what became of its nodes: one table of rules for every command.

The rules are asked in their order, and the first that holds decides. Calls differ in their `Demand` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from resizefix.outcome import ModelOutcome, Status


class Demand(NamedTuple):
    """What a call asks of a model.

    `every`: a node that is refused refuses the model, whatever could be done with the others; else the model is changed
    where one node is. `needs_resize`: it asks for something that a model without a resize cannot have. `named`: the
    nodes were selected.
    """

    every: bool = False
    needs_resize: bool = False
    named: bool = False

    def of_named(self) -> Demand:
        """The demand where nodes were selected: each of them is meant."""
        return self._replace(every=True, named=True)


ANYTHING = Demand()
"""What can be done is done."""


class Happenings(NamedTuple):
    """What the rules are asked about. `is_refused`: the model as a whole was; `is_blocked`: operators stand in the way
    of the model; `statuses`: those of its nodes; `is_other_model`: what came out is not what was given."""

    demand: Demand
    statuses: frozenset[Status]
    is_refuted: bool
    is_refused: bool
    is_blocked: bool
    is_other_model: bool


class OutcomeRule(NamedTuple):
    """Where it `holds`, the model has this outcome; `says` is for the reference."""

    says: str
    holds: Callable[[Happenings], bool]
    outcome: ModelOutcome


RULES = (
    # What a verification refutes is not given back, whatever was done.
    OutcomeRule("a check refuted the result, or could not end", lambda h: h.is_refuted, ModelOutcome.FAILED),
    # An operator cannot be raised, say: then no node was looked at.
    OutcomeRule("the model as a whole cannot be changed as asked", lambda h: h.is_refused, ModelOutcome.REFUSED),
    # The target would reject the file, or the opset lacks an operator; selected nodes are changed all the same.
    OutcomeRule(
        "an operator outside the selected nodes stands in the way",
        lambda h: h.is_blocked and not (h.demand.named and Status.CHANGED in h.statuses),
        ModelOutcome.REFUSED,
    ),
    OutcomeRule(
        "a node is refused, and all were asked for: with `-n`, and in `legalize`, `trt-legacy`, `opset`, `input-size`",
        lambda h: h.demand.every and Status.REFUSED in h.statuses,
        ModelOutcome.REFUSED,
    ),
    OutcomeRule("a node was changed", lambda h: Status.CHANGED in h.statuses, ModelOutcome.CHANGED),
    OutcomeRule(
        "no node was changed, and one is refused", lambda h: Status.REFUSED in h.statuses, ModelOutcome.REFUSED
    ),
    # Another input size or opset changes a model of which no resize is touched.
    OutcomeRule("something else of the model was changed", lambda h: h.is_other_model, ModelOutcome.CHANGED),
    OutcomeRule(
        "there is no resize: in `promote-scales`, `freeze-scales`, `set`",
        lambda h: h.demand.needs_resize and not h.statuses,
        ModelOutcome.REFUSED,
    ),
    OutcomeRule("everything is as asked", lambda h: True, ModelOutcome.ALREADY),
)


def outcome_of(happenings: Happenings) -> ModelOutcome:
    """What became of the model, by the first rule that holds."""
    return next(rule.outcome for rule in RULES if rule.holds(happenings))
