"""Nodes repaired, or changed on purpose: each alone computes what was intended, and the model is run as a whole.

What a node must compute is a model of that one node, written from the canonical meaning in the newest form of the
operator, with the operands that it had. Where the broken file runs too, fixes that keep its numbers are held to its
bits, and so are changes that keep what a node computes. Other changes are measured, before and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.intended import IntendedNode
from resizefix.dialects.model_view import ModelView
from resizefix.dialects.row import Operands
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.text import each_of
from resizefix.errors import RefusedError, UsageError
from resizefix.interpolation import Interpolation, NearestMode
from resizefix.outcome import MeasuredDifference
from resizefix.runtimes.inputs import Feeds, Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, only_without_optimisation
from resizefix.scope_path import MAIN
from resizefix.verification.bounds import FLOAT_BOUND, default_level_bounds, relative_bounds, within
from resizefix.verification.compare import compare, largest_finite
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, run_of, shapes_of_feeds
from resizefix.verification.extraction import Extraction
from resizefix.verification.verification import Status, Verification
from resizefix.verification.views import View, measured, view

RANDOM = "random values"
_DTYPES = {"roi": np.float32, "scales": np.float32, "sizes": np.int64}
_NEWEST, _SIMPLE = 19, 10  # the opsets of Resize-19, and of the last form that rounds as Upsample does


@dataclass(frozen=True)
class Repair:
    """What was repaired: `nodes` are those that can be run alone.

    `keeps_numbers`: every fix leaves the numbers of a file that runs as they were. `left`: why the resizes of
    `after` that are broken yet were not repaired.
    """

    before: Document
    after: Document
    nodes: Sequence[IntendedNode]
    keeps_numbers: bool
    left: str


def prove_repair(repair: Repair, conditions: Conditions) -> tuple[Verification, float]:
    """Run the repaired model at both optimisation levels, and each of its nodes alone; compare with the broken file if
    that runs.

    Where every fix keeps the numbers, they must agree bit for bit. Otherwise the largest difference from them comes
    with the verdict (0 where the file did not run).
    """
    engine = Engine(conditions, "the repaired model")
    engine.hold(repair.before, repair.after)
    try:
        difference = _compared_with_intended(repair, engine)
        return engine.verdict(), difference
    except DifferenceError as error:
        return engine.verdict(str(error)), 0.0
    except CannotLoadError as error:
        why: str = Diagnostic("verification.repair-does-not-load", why=error.reason, cause=repair.left)
    except (CannotRunError, BrokenOffError, UsageError) as error:
        why = str(error)
    return Verification(Status.FAILED, why, sessions=engine.sessions), 0.0


def _compared_with_intended(repair: Repair, engine: Engine) -> float:
    """By how much the repaired model computes something else than the file, where that was to be.

    Raises DifferenceError where a comparison fails, CannotLoadError, CannotRunError, BrokenOffError.
    """
    after, nodes, notes = repair.after, repair.nodes, engine.notes
    fitted = engine.fit(after)
    feeds, found = fitted.feeds, fitted.outputs
    optimized = engine.run(after, feeds, optimized=True)
    level = compare(found, optimized)
    if not within(level, default_level_bounds(found, optimized, level)):
        failed = DifferenceError("verification.repair-optimised", why=level.reason)
        # Optimised, nodes of a quantised model compute in integers; the repaired ones must do what they should.
        if level.max_rel_diff == np.inf or not nodes or not _is_quantised(after):
            raise failed
        try:
            _require_intended(repair, engine, feeds, optimized=True)
        except DifferenceError as error:
            raise failed from error
        notes.append(Diagnostic("verification.quantised-moves", difference=level.max_rel_diff))
    _require_intended(repair, engine, feeds, optimized=False)
    notes.append(
        Diagnostic("verification.repaired-alone", nodes=each_of(len(nodes), "repaired"))
        if nodes
        else Diagnostic("verification.repaired-none-alone")
    )
    try:
        old = engine.run(repair.before, feeds, label="the file")
    except (CannotLoadError, CannotRunError) as error:
        notes.append(Diagnostic("verification.broken-does-not-run", why=error.reason))
        return 0.0
    comparison = compare(old, found)
    if repair.keeps_numbers or comparison.bitwise:
        engine.runs.append(run_of(comparison, feeds))
    if comparison.bitwise:
        notes.append(Diagnostic("verification.as-before"))
        return 0.0
    if repair.keeps_numbers and not within(comparison, relative_bounds(found, 0.0)):
        raise DifferenceError("verification.repair-differs", why=comparison.reason)
    notes.append(Diagnostic("verification.broken-computed-otherwise", why=comparison.reason))
    return comparison.max_abs_diff  # what the repair is for: no run that had to agree


def _require_intended(repair: Repair, engine: Engine, feeds: Feeds, *, optimized: bool) -> None:
    """Each node computes its intended meaning at the values that the model computes.

    `optimized`: those that it computes at the default level. Nodes whose values are asked for are not fused.
    """
    outer = [node for node in repair.nodes if node.key[0] == MAIN]
    wanted = dict.fromkeys(name for node in outer for name in (*node.operands.names, node.key[1]))
    values = engine.run(repair.after, feeds, optimized=optimized, extra_outputs=list(wanted)) if outer else {}
    for node in outer:
        _require_meaning(engine, node, values, feeds, optimized=optimized)
    extraction = Extraction(*[ModelView(repair.after)] * 2)
    for node in repair.nodes:
        if node.key[0] != MAIN:  # in a body, whose tensors no run shows
            alone, _ = extraction.extract({node.key: node.data}, sizes_stay=True)
            names = [name for name in node.operands.names if name != node.operands.x]
            try:
                fitted = engine.fit(alone, shapes={}, optimized=optimized, extra_outputs=names, label=node.label)
            except (CannotLoadError, CannotRunError) as error:
                engine.notes.append(Diagnostic("verification.repaired-not-alone", label=node.label, why=error.reason))
                continue
            seen = {**fitted.feeds, **fitted.outputs}
            _require_meaning(engine, node, seen, fitted.feeds, optimized=optimized)


def _require_meaning(
    engine: Engine, node: IntendedNode, values: Mapping[str, Value], feeds: Feeds, *, optimized: bool
) -> None:
    """The node made of these values what its fault says."""
    intended = intended_model(node.wanted, node.operands, {**values, **_meant(node)})
    made = engine.run(intended, {"x": values[node.operands.x]})
    comparison = engine.compared({"y": made["y"]}, {"y": values[node.key[1]]}, feeds, optimized=optimized)
    # Half precision is computed in float32 between casts whose places depend on the neighbours.
    if not within(comparison, relative_bounds(made, FLOAT_BOUND if optimized else 0.0)):
        raise DifferenceError("verification.repair-not-intended", label=node.label, why=comparison.reason)


def _meant(node: IntendedNode) -> dict[str, Value]:
    """The operands whose numbers the fault says, by the names that they have."""
    names = {"roi": node.operands.roi, "scales": node.operands.scales, "sizes": node.operands.sizes}
    return {
        name: node.values[what].astype(_DTYPES[what]).reshape(-1)
        for what, name in names.items()
        if name and what in node.values
    }


def intended_model(meaning: Interpolation, operands: Operands, values: Mapping[str, Value]) -> Document:
    """A model of one node, from x to y: the meaning in the newest form of the operator, its operands constants."""
    opset = _SIMPLE if meaning.nearest_mode is NearestMode.SIMPLE else _NEWEST
    given = {"roi": operands.roi, "scales": operands.scales, "sizes": operands.sizes}
    tensors = {}
    for what, name in given.items():
        value = values.get(name or "")
        if isinstance(value, np.ndarray) and value.size and (what != "roi" or meaning.extrapolation_value is not None):
            tensors[what] = numpy_helper.from_array(value, what)
    if operands.scales_attribute is not None:
        tensors["scales"] = numpy_helper.from_array(np.array(operands.scales_attribute, np.float32), "scales")
    roi, scales, sizes = (what if what in tensors else None for what in ("roi", "scales", "sizes"))
    made = write(meaning, Operands("x", roi, scales, sizes), dialect_of("Resize", opset), output="y")
    data = values[operands.x]
    assert isinstance(data, np.ndarray)
    elem_type = helper.np_dtype_to_tensor_dtype(data.dtype)
    graph = helper.make_graph(
        [made],
        "intended",
        [helper.make_tensor_value_info("x", elem_type, data.shape)],
        [helper.make_tensor_value_info("y", elem_type, None)],
        list(tensors.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return Document.from_proto(model)


def _is_quantised(document: Document) -> bool:
    return any("quantizelinear" in node.op_type.lower() for _, body in bodies(document.proto) for node in body.node)


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


def measure_change(
    before: Document, after: Document, nodes: Sequence[IntendedNode], feeds: Sequence[Feed], conditions: Conditions
) -> Measured:
    """Run both models on each of the feeds and every changed node alone, at the values that the original computes.

    Where onnxruntime does not run the original as a whole, the nodes alone are run, on random values. Raises UsageError
    for a feed that does not fit the model.
    """
    engine = Engine(conditions)
    engine.hold(before, after)
    work = _Work(before, after, nodes, engine)
    try:
        for feed in feeds:
            work.measure(feed)
        engine.notes.append(_reason(nodes))
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

    def __init__(self, before: Document, after: Document, nodes: Sequence[IntendedNode], engine: Engine) -> None:
        self._before, self._after, self._nodes, self._engine = before, after, nodes, engine
        self._all_exact = all(node.exact for node in nodes)
        self.nodes: dict[int, list[MeasuredDifference]] = {}
        self.outputs: list[MeasuredDifference] = []
        self.views: list[View] = []
        self.shapes: dict[str, Sequence[int]] = {}
        extraction = Extraction(ModelView(before), ModelView(after))
        paths = extraction.common_paths
        self._alone = {
            node.key: extraction.extract({node.key: node.data}, sizes_stay=True)
            for node in nodes
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
        fitted = self._engine.fit(self._before, feed.values, extra_outputs=list(wanted), label="the model before")
        old = {value.name: fitted.outputs[value.name] for value in graph.output}
        try:
            self._against(feed, fitted.feeds, old)
        except (CannotLoadError, CannotRunError) as error:
            raise DifferenceError("verification.set-does-not-run", why=error) from error
        return {**fitted.feeds, **fitted.outputs}

    def _against(self, feed: Feed, feeds: Feeds, old: Mapping[str, Value]) -> None:
        """What the changed model computes, at both optimisation levels."""
        new = self._engine.run(self._after, feeds, label="the changed model")
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
        engine = self._engine
        fused = engine.run(self._after, feeds, optimized=True, label="the changed model, optimised")
        level = compare(new, fused)
        agrees = within(level, default_level_bounds(new, fused, level))
        if agrees and not self._all_exact:
            return
        try:
            was = engine.run(self._before, feeds, optimized=True, label="the model before, optimised")
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
