"""Nodes changed on purpose: each alone computes what was intended, and the model is run as a whole.

What a node must compute is a model of that one node, written from the canonical meaning in the newest form of the
operator, with the operands that it had. Changes that keep what a node computes are held to its bits. Other changes are
measured, before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.intended import IntendedNode
from resizefix.document.document import Document
from resizefix.document.text import each_of
from resizefix.outcome import TensorDifference
from resizefix.runtimes.inputs import Feeds, Value, model_inputs, shapes_of
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, only_without_optimisation
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import (
    FLOAT_BOUND,
    compare,
    largest_finite,
    measured,
    relative_bounds,
    widest,
    within,
)
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.extraction import Extraction
from resizefix.verification.fitting import Fitted
from resizefix.verification.intended_nodes import fit_alone, intended_value
from resizefix.verification.trial import Outputs, Point, Side, Trial
from resizefix.verification.verification import Conditions, Verification
from resizefix.verification.views import PlaneView, view

RANDOM = "random values"


@dataclass(frozen=True)
class Measured:
    """The verdict; for each changed node, by index, its own difference; that of the outputs; and what to look at."""

    verification: Verification
    nodes: Mapping[int, tuple[TensorDifference, ...]]
    outputs: tuple[TensorDifference, ...]
    views: tuple[PlaneView, ...]
    shapes: Mapping[str, Sequence[int]]


def measure_change(
    before: Document,
    after: Document,
    nodes: Sequence[IntendedNode],
    feeds: Mapping[str, Mapping[str, object]],
    conditions: Conditions,
) -> Measured:
    """Run both models on each of the feeds and every changed node alone, at the values that the original computes.

    `feeds` are the values of inputs that are not left to random ones, by what they are called.

    Where onnxruntime does not run the original as a whole, the nodes alone are run, on random values. Raises UsageError
    for a feed that does not fit the model.
    """
    engine = Engine(conditions)
    engine.hold(before, after)
    work = _Work(before, after, nodes, engine)
    try:
        for feed, given in feeds.items():
            work.measure(feed, given)
        engine.notes.append(_reason(nodes))
        verification = engine.verdict()
    except (DifferenceError, CannotLoadError, CannotRunError, BrokenOffError, RefusedError) as error:
        verification = engine.verdict(str(error))
    by_node = {index: tuple(each) for index, each in work.nodes.items()}
    return Measured(verification, by_node, tuple(work.outputs), tuple(work.views), work.shapes)


def _label(side: Side, optimized: bool) -> str:
    name = "the model before" if side is Side.BEFORE else "the changed model"
    return f"{name}, optimised" if optimized else name


def _reason(nodes: Sequence[IntendedNode]) -> str:
    keeping = sum(node.keeps for node in nodes)
    asked = each_of(len(nodes), "changed")
    if keeping == len(nodes):
        return Diagnostic("verification.changed-alone-all-kept", nodes=asked)
    if keeping:
        return Diagnostic("verification.changed-alone-some-kept", nodes=asked, kept=keeping)
    return Diagnostic("verification.changed-alone", nodes=asked)


class _Work:
    """Two models and the nodes in which they differ, with what was measured of them."""

    def __init__(self, before: Document, after: Document, nodes: Sequence[IntendedNode], engine: Engine) -> None:
        self._before, self._after, self._nodes, self._engine = before, after, nodes, engine
        self._all_exact = all(node.exact for node in nodes)
        self._first_made: Mapping[str, Value] = {}  # of the first feed, by the model after
        self.nodes: dict[int, list[TensorDifference]] = {}
        self.outputs: list[TensorDifference] = []
        self.views: list[PlaneView] = []
        self.shapes: dict[str, Sequence[int]] = {}
        extraction = Extraction(ModelView(before), ModelView(after))
        paths = extraction.common_paths
        self._alone = {
            node.key: extraction.extract({node.key: node.data}, sizes_stay=True)
            for node in nodes
            if node.key[0] in paths and node.key[1]
        }

    def measure(self, feed: str, given: Mapping[str, object]) -> None:
        """The models as a whole, then each node alone."""
        values: Mapping[str, Value] = {}
        try:
            values = self._whole(feed, given)
        except (CannotLoadError, CannotRunError, RefusedError) as error:
            if feed != RANDOM:
                raise
            self._engine.notes.append(Diagnostic("verification.whole-not-measured", why=str(error)))
            self._engine.look_at(self._after)
        for node in self._nodes:
            self._node(node, feed, values)

    def _whole(self, feed: str, given: Mapping[str, object]) -> Mapping[str, Value]:
        """The values of every tensor that a changed node reads, in the original."""
        graph = self._before.proto.graph
        made_inside = {name for node in graph.node for name in node.output}
        wanted = dict.fromkeys(
            value.name
            for key, (alone, _) in self._alone.items()
            if not key[0].function
            for value in alone.proto.graph.input
            if value.name in made_inside
        )
        fitted = self._engine.fit(self._before, given, extra_outputs=list(wanted), label="the model before")
        old = {value.name: fitted.outputs[value.name] for value in graph.output}
        trial = Trial.of(self._engine, self._before, self._after, "the model before", _label)
        try:
            self._against(trial, feed, Point(fitted.feeds, before={False: old}), old)
            self._at_other_sizes(trial, fitted, old)
        except (CannotLoadError, CannotRunError) as error:
            raise DifferenceError("verification.set-does-not-run", why=error) from error
        return {**fitted.feeds, **fitted.outputs}

    def _against(self, trial: Trial, feed: str, point: Point, old: Outputs) -> None:
        """What the changed model computes, at both optimisation levels."""
        new = self._first_made = trial.outputs(point, Side.AFTER)
        self.shapes = self.shapes or dict(shapes_of(point.feeds))
        for name, value in old.items():
            difference = measured(feed, name, value, new.get(name))
            self.outputs.append(difference)
            self._look(difference, None, value, new.get(name))
        comparison = compare(old, new)
        if self._all_exact:
            self._engine.runs.append(run_of(comparison, point.feeds))
            if not within(comparison, relative_bounds(old, 0.0)):
                raise DifferenceError("verification.set-outputs", why=comparison.reason)
        elif comparison.max_abs_diff == np.inf:
            self._engine.notes.append(Diagnostic("verification.more-than-numbers", why=comparison.reason))
        self._optimised(trial, point)

    def _at_other_sizes(self, trial: Trial, first: Fitted, old: Outputs) -> None:
        """Both models at another batch and size, where the file leaves them open: outputs that kept their shape keep it
        there, too, and stored shapes are held against this run."""
        for point in map(Point, first.others[:-1]):
            try:
                was = trial.outputs(point, Side.BEFORE)
            except CannotRunError:
                continue
            new = trial.outputs(point, Side.AFTER)
            of_same_shape = {name for name in old if _shape(old[name]) == _shape(self._first_made.get(name))}
            moved = [name for name in of_same_shape if _shape(was.get(name)) != _shape(new.get(name))]
            comparison = compare({name: was[name] for name in moved or was}, {name: new[name] for name in moved or was})
            if moved or (self._all_exact and not within(comparison, relative_bounds(was, 0.0))):
                raise DifferenceError("verification.set-outputs", why=comparison.reason)
            return

    def _optimised(self, trial: Trial, point: Point) -> None:
        """At the default level the changed model computes what it does without optimisation, as far as the original
        did; and where nothing was to change, what the original computes there."""
        engine, itself = self._engine, trial.moved(point, Side.AFTER)
        if itself.agrees and not self._all_exact:
            bound = widest(itself.bounds).bound
            engine.runs.append(run_of(itself.level, point.feeds, optimized=True, bound=bound))
            return
        level = trial.at_default(point)
        if level is None:
            return
        if not itself.agrees and itself.level.max_rel_diff > 2 * level.moved.level.max_rel_diff:
            raise DifferenceError("verification.set-optimised", why=itself.level.reason)
        bound = widest(level.moved.bounds).bound
        engine.runs.append(run_of(level.differences, point.feeds, optimized=True, bound=bound))
        if not itself.agrees:
            engine.notes.append(Diagnostic("verification.original-moves-too"))
        elif not level.agrees:
            raise DifferenceError("verification.set-outputs", why=level.differences.reason)

    def _node(self, node: IntendedNode, feed: str, values: Mapping[str, Value]) -> None:
        """The node alone, as it was, as it is and as it must be."""
        if node.key not in self._alone:
            raise DifferenceError("verification.set-inlined", label=node.label)
        engine, output = self._engine, node.key[1]
        was, now = self._alone[node.key]
        hints = {entry.name: values[entry.name] for entry in model_inputs(was.proto) if entry.name in values}
        if not hints and feed != RANDOM:
            return  # in a body, whose tensors no run shows
        fitted = fit_alone(engine, node, was, hints, f"{node.label} as it was")
        before, after = fitted.outputs[output], engine.run(now, fitted.feeds, label=node.label)[output]
        resized = {node.data: fitted.feeds.get(node.data)}
        wanted = intended_value(engine, node, {**fitted.feeds, **fitted.outputs}, node.data)
        self._require_agreement(node, (before, wanted, after), resized, optimized=False)
        self._node_optimised(node, fitted, wanted, resized)
        difference = measured(feed, output, before, after)
        self.nodes.setdefault(node.index, []).append(difference)
        self._look(difference, node.label, before, after)

    def _node_optimised(self, node: IntendedNode, plain: Fitted, wanted: Value, resized: Feeds) -> None:
        """The node alone at the default level, held to what it must be without optimisation."""
        engine, (was, now), output = self._engine, self._alone[node.key], node.key[1]
        fused = engine.run(now, plain.feeds, optimized=True, label=node.label)[output]
        try:
            before = engine.run(was, plain.feeds, optimized=True, label=f"{node.label} as it was")[output]
        except (CannotLoadError, CannotRunError) as error:
            engine.notes.append(only_without_optimisation(node.label, error.reason))
            before = plain.outputs[output]
        self._require_agreement(node, (before, wanted, fused), resized, optimized=True)

    def _require_agreement(
        self, node: IntendedNode, values: tuple[Value, Value, Value], resized: Feeds, *, optimized: bool
    ) -> None:
        """What the node gave before, what it must give, and what it gives, at one level."""
        before, wanted, after = values
        least = FLOAT_BOUND if optimized else 0.0
        why = self._disagreement(wanted, after, resized, max(node.near, least), optimized=optimized)
        if why is not None:
            raise DifferenceError("verification.set-otherwise", label=node.label, why=why)
        if node.keeps and (node.exact or node.bound is not None):
            bound = max(0.0 if node.exact else node.bound or 0.0, least)
            why = self._disagreement(before, after, resized, bound, optimized=optimized)
            if why is not None:
                raise DifferenceError("verification.set-not-as-before", label=node.label, why=why)

    def _disagreement(
        self, wanted: Value, actual: Value, resized: Feeds, bound: float, *, optimized: bool
    ) -> str | None:
        """How the two differ by more than `bound` times the largest value that is resized; None: they do not."""
        relative = relative_bounds({"y": wanted}, 0.0)["y"].bound  # half precision: its last bits
        comparison = self._engine.compared(
            {"y": wanted}, {"y": actual}, resized, optimized=optimized, bound=max(bound, relative)
        )
        (data,) = resized.values()
        largest = largest_finite(data) if isinstance(data, np.ndarray) else 0.0
        if comparison.max_abs_diff <= bound * largest or within(comparison, relative):
            return None
        return comparison.reason

    def _look(self, difference: TensorDifference, node: str | None, before: Value, after: Value) -> None:
        plane = view(difference, node, before, after)
        if plane is not None:
            self.views.append(plane)


def _shape(value: Value) -> tuple[int, ...] | None:
    return value.shape if isinstance(value, np.ndarray) else None
