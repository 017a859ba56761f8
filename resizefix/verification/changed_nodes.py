"""Nodes changed on purpose: each alone computes what was asked for, and the model is measured before and after.

What a node must compute is a model of that one node, written from the canonical meaning in the newest form of the
operator, with the operands that it had. A change that keeps the meaning is held to the original too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.intended import IntendedNode
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.text import each_of
from resizefix.errors import DiagnosedError, RefusedError
from resizefix.outcome import MeasuredDifference
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import (
    CannotLoadError,
    CannotRunError,
    Session,
    only_without_optimisation,
)
from resizefix.verification.bounds import default_level_bounds, relative_bounds, within
from resizefix.verification.compare import compare, largest_finite
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine, run_of, shapes_of_feeds
from resizefix.verification.extraction import Extraction
from resizefix.verification.repair import RepairedNode, intended_model
from resizefix.verification.verification import Run, Status, Verification
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


class _FailedError(DiagnosedError):
    """A node that does not compute what it must, or a model that does not run any more: the reason."""


@dataclass
class _Found:
    runs: list[Run] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: dict[int, list[MeasuredDifference]] = field(default_factory=dict)
    outputs: list[MeasuredDifference] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    shapes: dict[str, Sequence[int]] = field(default_factory=dict)


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
    found = _Found()
    work = _Work(change, Engine(conditions), found)
    try:
        for feed in change.feeds:
            work.measure(feed)
        status, reason = Status.PASSED, "; ".join(dict.fromkeys([*found.notes, _reason(change.nodes)]))
    except (_FailedError, CannotLoadError, CannotRunError, BrokenOffError, RefusedError) as error:
        status, reason = Status.FAILED, str(error)
    verification = Verification(status, reason, tuple(found.runs), sessions=conditions.sessions.opened)
    by_node = {index: tuple(each) for index, each in found.nodes.items()}
    return Measured(verification, by_node, tuple(found.outputs), tuple(found.views), found.shapes)


def _reason(nodes: Sequence[IntendedNode]) -> str:
    kept = sum(node.keeps for node in nodes)
    asked = each_of(len(nodes), "changed")
    if kept == len(nodes):
        return Diagnostic("verification.changed-alone-all-kept", nodes=asked)
    if kept:
        return Diagnostic("verification.changed-alone-some-kept", nodes=asked, kept=kept)
    return Diagnostic("verification.changed-alone", nodes=asked)


class _Work:
    """Two models and the nodes in which they differ."""

    def __init__(self, change: Change, engine: Engine, found: _Found) -> None:
        self._before, self._after, self._nodes = change.before, change.after, change.nodes
        self._engine, self._found = engine, found
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
            self._found.notes.append(Diagnostic("verification.whole-not-measured", why=str(error)))
        for node in self._nodes:
            self._node(node, feed, values)

    def _whole(self, feed: Feed) -> Mapping[str, Value]:
        """The values of every tensor that a changed node reads, in the original."""
        graph = self._before.proto.graph
        made = {name for node in graph.node for name in node.output}
        wanted = dict.fromkeys(
            value.name
            for key, (alone, _) in self._alone.items()
            if not key[0].function
            for value in alone.proto.graph.input
            if value.name in made
        )
        plain = self._open(self._before, extra=list(wanted), label="the model before")
        fitted = self._engine.fit(self._before, plain, feed.values)
        outputs = [value.name for value in self._before.proto.graph.output]
        old = {name: fitted.outputs[name] for name in outputs}
        try:
            self._against(feed, fitted.feeds, old)
        except (CannotLoadError, CannotRunError) as error:
            raise _FailedError("verification.set-does-not-run", why=error) from error
        return {**fitted.feeds, **fitted.outputs}

    def _against(self, feed: Feed, feeds: Mapping[str, Value], old: Mapping[str, Value]) -> None:
        """What the changed model computes, at both optimisation levels."""
        session = self._open(self._after, label="the changed model")
        new = session.run(session.taken(feeds))
        self._found.shapes = self._found.shapes or dict(shapes_of_feeds(feeds))
        for name, value in old.items():
            difference = measured(feed.name, name, value, new.get(name))
            self._found.outputs.append(difference)
            self._look(difference, None, value, new.get(name))
        comparison = compare(old, new)
        if all(node.exact for node in self._nodes):
            self._found.runs.append(run_of(comparison, feeds))
            if not within(comparison, relative_bounds(old, 0.0)):
                raise _FailedError("verification.set-outputs", why=comparison.reason)
        elif comparison.max_abs_diff == np.inf:
            self._found.notes.append(Diagnostic("verification.more-than-numbers", why=comparison.reason))
        self._optimised(feeds, old, new)

    def _optimised(self, feeds: Mapping[str, Value], old: Mapping[str, Value], new: Mapping[str, Value]) -> None:
        """At the default level the changed model computes what it does without optimisation, as far as the original
        did; and where nothing was to change, what the original computes there."""
        session = self._open(self._after, optimized=True, label="the changed model, optimised")
        fused = session.run(session.taken(feeds))
        level, keeps = compare(new, fused), all(node.exact for node in self._nodes)
        agrees = level.max_rel_diff < np.inf and within(level, default_level_bounds(new, fused, level))
        if agrees and not keeps:
            return
        try:
            session = self._open(self._before, optimized=True, label="the model before, optimised")
            was = session.run(session.taken(feeds))
        except (CannotLoadError, CannotRunError) as error:
            self._found.notes.append(only_without_optimisation("the model before", error.reason))
            return
        moved = compare(old, was)
        if level.max_rel_diff > 2 * moved.max_rel_diff and not agrees:
            raise _FailedError("verification.set-optimised", why=level.reason)
        if not agrees:
            self._found.notes.append(Diagnostic("verification.original-moves-too"))
        elif not within(compare(was, fused), default_level_bounds(old, was)):
            raise _FailedError("verification.set-outputs", why=compare(was, fused).reason)

    def _node(self, node: IntendedNode, feed: Feed, values: Mapping[str, Value]) -> None:
        """The node alone, as it was, as it is and as it must be."""
        if node.key not in self._alone:
            raise _FailedError("verification.set-inlined", label=node.label)
        was, now = self._alone[node.key]
        names = [name for name in node.operands.names if name != node.operands.x]
        old = self._open(was, extra=names, label=f"{node.label} as it was")
        known = {entry.name: values[entry.name] for entry in old.inputs if entry.name in values}
        if not known and feed.name != RANDOM:
            return  # in a body, whose tensors no run shows
        fitted = self._engine.fit(was, old, known, shapes={})
        session = self._open(now, label=node.label)
        output = node.key[1]
        before, after = fitted.outputs[output], session.run(session.taken(fitted.feeds))[output]
        data = fitted.feeds.get(node.data)
        resized = {node.data: data}
        reference = RepairedNode(node.label, output, node.wanted, replace(node.operands, x=node.data))
        intended = self._open(intended_model(reference, {**fitted.feeds, **fitted.outputs}), label="what was asked for")
        wanted = intended.run({"x": data})["y"]
        largest = largest_finite(data) if isinstance(data, np.ndarray) else 0.0
        why = self._disagreement(wanted, after, resized, node.near, largest)
        if why is not None:
            raise _FailedError("verification.set-otherwise", label=node.label, why=why)
        if node.keeps and (node.exact or node.bound is not None):
            allowed = 0.0 if node.exact else node.bound or 0.0
            why = self._disagreement(before, after, resized, allowed, largest)
            if why is not None:
                raise _FailedError("verification.set-not-as-before", label=node.label, why=why)
        difference = measured(feed.name, output, before, after)
        self._found.nodes.setdefault(node.index, []).append(difference)
        self._look(difference, node.label, before, after)

    def _disagreement(self, wanted: Value, found: Value, resized: Feeds, bound: float, largest: float) -> str | None:
        """How the two differ by more than `bound` times the largest value that is resized; None: they do not."""
        comparison = compare({"y": wanted}, {"y": found})
        relative = relative_bounds({"y": wanted}, 0.0)["y"].relative  # half precision: its last bits
        self._found.runs.append(run_of(comparison, resized, bound=max(bound, relative)))
        if comparison.max_abs_diff <= bound * largest or within(comparison, relative):
            return None
        return comparison.reason

    def _look(self, difference: MeasuredDifference, node: str | None, before: Value, after: Value) -> None:
        found = view(difference, node, before, after)
        if found is not None:
            self._found.views.append(found)

    def _open(self, document: Document, *, optimized: bool = False, extra: Sequence[str] = (), label: str) -> Session:
        return self._engine.open(document, optimized=optimized, extra_outputs=extra, label=label)
