"""Nodes changed on purpose: each alone computes what was asked for, and the model is measured before and after.

What a node must compute is a model of that one node, written from the canonical meaning in the newest form of the
operator, with the operands that it had. A change that keeps the meaning is held to the original too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.intended import IntendedNode
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.text import each_of
from resizefix.errors import RefusedError
from resizefix.outcome import MeasuredDifference
from resizefix.runtimes.inputs import Feeds, Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, only_without_optimisation
from resizefix.verification.bounds import default_level_bounds, relative_bounds, within
from resizefix.verification.compare import compare, largest_finite
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, run_of, shapes_of_feeds
from resizefix.verification.extraction import Extraction
from resizefix.verification.repair import intended_model
from resizefix.verification.verification import Verification
from resizefix.verification.views import View, measured, view

RANDOM = "random values"


@dataclass(frozen=True)
class Feed:
    """What the inputs are fed that are not left to random values, and what that is called."""

    name: str
    values: Mapping[str, object]


@dataclass(frozen=True)
class Measured:
    """The verdict; for each changed node, by index, its own difference; that of the outputs; and what to look at."""

    verification: Verification
    nodes: Mapping[int, tuple[MeasuredDifference, ...]]
    outputs: tuple[MeasuredDifference, ...]
    views: tuple[View, ...]
    shapes: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Change:
    """What was changed on purpose: both models, the nodes, and what the models are fed to see the difference."""

    before: Document
    after: Document
    nodes: Sequence[IntendedNode]
    feeds: Sequence[Feed]


def measure_change(change: Change, conditions: Conditions) -> Measured:
    """Run both models on each of the feeds and every changed node alone, at the values that the original computes.

    Where onnxruntime does not run the original as a whole, the nodes alone are run, on random values. Raises UsageError
    for a feed that does not fit the model.
    """
    engine = Engine(conditions)
    work = _Work(change, engine)
    try:
        for feed in change.feeds:
            work.measure(feed)
        engine.notes.append(_reason(change.nodes))
        verification = engine.verdict()
    except (DifferenceError, CannotLoadError, CannotRunError, BrokenOffError, RefusedError) as error:
        verification = engine.verdict(str(error))
    by_node = {index: tuple(each) for index, each in work.nodes.items()}
    return Measured(verification, by_node, tuple(work.outputs), tuple(work.views), work.shapes)


def _reason(nodes: Sequence[IntendedNode]) -> str:
    kept = sum(node.keeps for node in nodes)
    asked = each_of(len(nodes), "changed")
    if kept == len(nodes):
        return Diagnostic("verification.changed-alone-all-kept", nodes=asked)
    if kept:
        return Diagnostic("verification.changed-alone-some-kept", nodes=asked, kept=kept)
    return Diagnostic("verification.changed-alone", nodes=asked)


class _Work:
    """Two models and the nodes in which they differ, with what was measured of them."""

    def __init__(self, change: Change, engine: Engine) -> None:
        self._change, self._engine = change, engine
        self._all_exact = all(node.exact for node in change.nodes)
        self.nodes: dict[int, list[MeasuredDifference]] = {}
        self.outputs: list[MeasuredDifference] = []
        self.views: list[View] = []
        self.shapes: dict[str, Sequence[int]] = {}
        extraction = Extraction(ModelView(change.before), ModelView(change.after))
        paths = extraction.common_paths
        self._alone = {
            node.key: extraction.extract({node.key: node.data}, sizes_stay=True)
            for node in change.nodes
            if node.key[0] in paths and node.key[1]
        }

    def measure(self, feed: Feed) -> None:
        """The models as a whole, then each node alone."""
        values: Mapping[str, Value] = {}
        try:
            values = self._whole(feed)
        except (CannotLoadError, CannotRunError, RefusedError) as error:
            if feed.name != RANDOM:
                raise
            self._engine.notes.append(Diagnostic("verification.whole-not-measured", why=str(error)))
        for node in self._change.nodes:
            self._node(node, feed, values)

    def _whole(self, feed: Feed) -> Mapping[str, Value]:
        """The values of every tensor that a changed node reads, in the original."""
        before = self._change.before
        graph = before.proto.graph
        made = {name for node in graph.node for name in node.output}
        wanted = dict.fromkeys(
            value.name
            for key, (alone, _) in self._alone.items()
            if not key[0].function
            for value in alone.proto.graph.input
            if value.name in made
        )
        fitted = self._engine.fit(before, feed.values, extra_outputs=list(wanted), label="the model before")
        old = {value.name: fitted.outputs[value.name] for value in graph.output}
        try:
            self._against(feed, fitted.feeds, old)
        except (CannotLoadError, CannotRunError) as error:
            raise DifferenceError("verification.set-does-not-run", why=error) from error
        return {**fitted.feeds, **fitted.outputs}

    def _against(self, feed: Feed, feeds: Feeds, old: Mapping[str, Value]) -> None:
        """What the changed model computes, at both optimisation levels."""
        new = self._engine.run(self._change.after, feeds, label="the changed model")
        self.shapes = self.shapes or dict(shapes_of_feeds(feeds))
        for name, value in old.items():
            difference = measured(feed.name, name, value, new.get(name))
            self.outputs.append(difference)
            self._look(difference, None, value, new.get(name))
        comparison = compare(old, new)
        if self._all_exact:
            self._engine.runs.append(run_of(comparison, feeds))
            if not within(comparison, relative_bounds(old, 0.0)):
                raise DifferenceError("verification.set-outputs", why=comparison.reason)
        elif comparison.max_abs_diff == np.inf:
            self._engine.notes.append(Diagnostic("verification.more-than-numbers", why=comparison.reason))
        self._optimised(feeds, old, new)

    def _optimised(self, feeds: Feeds, old: Mapping[str, Value], new: Mapping[str, Value]) -> None:
        """At the default level the changed model computes what it does without optimisation, as far as the original
        did; and where nothing was to change, what the original computes there."""
        engine, change = self._engine, self._change
        fused = engine.run(change.after, feeds, optimized=True, label="the changed model, optimised")
        level = compare(new, fused)
        agrees = within(level, default_level_bounds(new, fused, level))
        if agrees and not self._all_exact:
            return
        try:
            was = engine.run(change.before, feeds, optimized=True, label="the model before, optimised")
        except (CannotLoadError, CannotRunError) as error:
            engine.notes.append(only_without_optimisation("the model before", error.reason))
            return
        if not agrees and level.max_rel_diff > 2 * compare(old, was).max_rel_diff:
            raise DifferenceError("verification.set-optimised", why=level.reason)
        if not agrees:
            engine.notes.append(Diagnostic("verification.original-moves-too"))
        elif not within(compare(was, fused), default_level_bounds(old, was)):
            raise DifferenceError("verification.set-outputs", why=compare(was, fused).reason)

    def _node(self, node: IntendedNode, feed: Feed, values: Mapping[str, Value]) -> None:
        """The node alone, as it was, as it is and as it must be."""
        if node.key not in self._alone:
            raise DifferenceError("verification.set-inlined", label=node.label)
        engine, output = self._engine, node.key[1]
        was, now = self._alone[node.key]
        known = {entry.name: values[entry.name] for entry in model_inputs(was.proto) if entry.name in values}
        if not known and feed.name != RANDOM:
            return  # in a body, whose tensors no run shows
        names = [name for name in node.operands.names if name != node.operands.x]
        fitted = engine.fit(was, known, shapes={}, extra_outputs=names, label=f"{node.label} as it was")
        before, after = fitted.outputs[output], engine.run(now, fitted.feeds, label=node.label)[output]
        resized = {node.data: fitted.feeds.get(node.data)}
        operands = node.operands._replace(x=node.data)
        intended = intended_model(node.wanted, operands, {**fitted.feeds, **fitted.outputs})
        wanted = engine.run(intended, {"x": resized[node.data]}, label="what was asked for")["y"]
        why = self._disagreement(wanted, after, resized, node.near)
        if why is not None:
            raise DifferenceError("verification.set-otherwise", label=node.label, why=why)
        if node.keeps and (node.exact or node.bound is not None):
            why = self._disagreement(before, after, resized, 0.0 if node.exact else node.bound or 0.0)
            if why is not None:
                raise DifferenceError("verification.set-not-as-before", label=node.label, why=why)
        difference = measured(feed.name, output, before, after)
        self.nodes.setdefault(node.index, []).append(difference)
        self._look(difference, node.label, before, after)

    def _disagreement(self, wanted: Value, found: Value, resized: Feeds, bound: float) -> str | None:
        """How the two differ by more than `bound` times the largest value that is resized; None: they do not."""
        relative = relative_bounds({"y": wanted}, 0.0)["y"].relative  # half precision: its last bits
        comparison = self._engine.compared({"y": wanted}, {"y": found}, resized, bound=max(bound, relative))
        (data,) = resized.values()
        largest = largest_finite(data) if isinstance(data, np.ndarray) else 0.0
        if comparison.max_abs_diff <= bound * largest or within(comparison, relative):
            return None
        return comparison.reason

    def _look(self, difference: MeasuredDifference, node: str | None, before: Value, after: Value) -> None:
        found = view(difference, node, before, after)
        if found is not None:
            self.views.append(found)
