"""A repaired model: each repaired node computes what its fault says was meant, and the model runs as a whole.

Where the broken file runs too, fixes that keep its numbers are held to its bits. Stored shapes are held against every
run, at another batch and size too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.dialects.intended import IntendedNode
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.text import each_of
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import FLOAT_BOUND, compare, relative_bounds, within
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.extraction import Extraction
from resizefix.verification.fitting import Fitted
from resizefix.verification.intended_nodes import fit_alone, intended_value, leaves_of
from resizefix.verification.trial import Outputs, Point, Side, Trial
from resizefix.verification.verification import Conditions, Verification, VerificationStatus


@dataclass(frozen=True)
class Repair:
    """What was repaired: `nodes` are those that can be run alone.

    `keeps_numbers`: every fix leaves the numbers of a file that runs as they were. `left`: why the resizes of
    `after` that are broken yet were not repaired. `rederived`: tensors whose stored shapes were made true, with all
    behind them.
    """

    before: Document
    after: Document
    nodes: Sequence[IntendedNode]
    keeps_numbers: bool
    left: str
    rederived: frozenset[Key] = frozenset()


def prove_repair(repair: Repair, conditions: Conditions) -> tuple[Verification, float]:
    """Run the repaired model at both optimisation levels, and each of its nodes alone; compare with the broken file if
    that runs.

    Where every fix keeps the numbers, they must agree bit for bit. Otherwise the largest difference from them comes
    with the verdict (0 where the file did not run).
    """
    engine = Engine(conditions, "the repaired model")
    engine.hold(repair.before, repair.after, repair.rederived)
    try:
        difference = _compared_with_intended(repair, engine)
        return engine.verdict(), difference
    except DifferenceError as error:
        return engine.verdict(str(error)), 0.0
    except CannotLoadError as error:
        why: str = Diagnostic("verification.repair-does-not-load", why=error.reason, cause=repair.left)
    except (CannotRunError, BrokenOffError, UsageError) as error:
        why = str(error)
    return Verification(VerificationStatus.FAILED, why, sessions=engine.sessions), 0.0


def _label(side: Side, optimized: bool) -> str | None:
    return "the file" if side is Side.BEFORE else None


def _compared_with_intended(repair: Repair, engine: Engine) -> float:
    """By how much the repaired model computes something else than the file, where that was to be.

    Raises DifferenceError where a comparison fails, CannotLoadError, CannotRunError, BrokenOffError.
    """
    nodes, notes = repair.nodes, engine.notes
    trial = Trial.of(engine, repair.before, repair.after, "the file", _label)
    fitted = engine.fit(repair.after)
    first = Point(fitted.feeds, after={False: fitted.outputs})
    _require_alike_levels(repair, trial, first)
    _require_intended(repair, engine, first.feeds, optimized=False)
    notes.append(
        Diagnostic("verification.repaired-alone", nodes=each_of(len(nodes), "repaired"))
        if nodes
        else Diagnostic("verification.repaired-none-alone")
    )
    try:
        old = trial.outputs(first, Side.BEFORE)
    except (CannotLoadError, CannotRunError) as error:
        notes.append(Diagnostic("verification.broken-does-not-run", why=error.reason))
        _at_other_sizes(repair, trial, fitted, runs_before=False)
        return 0.0
    _at_other_sizes(repair, trial, fitted, runs_before=True)
    comparison = compare(old, fitted.outputs)
    if repair.keeps_numbers or comparison.bitwise:
        engine.runs.append(run_of(comparison, first.feeds))
    if repair.keeps_numbers and (level := trial.at_default(first)) is not None:
        level.require(engine, first.feeds, "verification.repair-optimised")
    if comparison.bitwise:
        notes.append(Diagnostic("verification.as-before"))
        return 0.0
    if repair.keeps_numbers and not within(comparison, relative_bounds(fitted.outputs, 0.0)):
        raise DifferenceError("verification.repair-differs", why=comparison.reason)
    notes.append(Diagnostic("verification.broken-computed-otherwise", why=comparison.reason))
    return comparison.max_abs_diff  # what the repair is for: no run that had to agree


def _require_alike_levels(repair: Repair, trial: Trial, first: Point) -> None:
    """The repaired model gives at the default level what it gives without optimisation."""
    moved = trial.moved(first, Side.AFTER)
    trial.engine.runs.append(run_of(moved.level, first.feeds, optimized=True))
    if moved.agrees:
        return
    failed = DifferenceError("verification.repair-optimised", why=moved.level.reason)
    # Optimised, nodes of a quantised model compute in integers; the repaired ones must do what they should.
    if moved.level.max_rel_diff == np.inf or not repair.nodes or not _is_quantised(repair.after):
        raise failed
    try:
        _require_intended(repair, trial.engine, first.feeds, optimized=True)
    except DifferenceError as error:
        raise failed from error
    trial.engine.notes.append(Diagnostic("verification.quantised-moves", difference=moved.level.max_rel_diff))


def _at_other_sizes(repair: Repair, trial: Trial, first: Fitted, *, runs_before: bool) -> None:
    """Points of another batch and size, where the file leaves them open and the repaired model takes them, and with
    other sizes or scales of every axis where these are fed; it must take what the file takes. Its stored shapes are
    held against these runs, too."""
    for tried in (first.others[:-1], _with_operands_moved(repair, first.feeds)):
        next((feeds for feeds in tried if _holds_at(repair, trial, Point(feeds), runs_before=runs_before)), None)


def _with_operands_moved(repair: Repair, feeds: Feeds) -> list[dict[str, Value]]:
    """Feeds where other numbers are fed as scales or sizes of repaired nodes: on every axis, batch and channels too,
    and such that nearest has ties to round."""
    names = {name for node in repair.nodes for name in (node.operands.scales, node.operands.sizes) if name}
    moved: dict[str, Value] = {
        name: _moved(value)
        for name, value in feeds.items()
        if name in names and isinstance(value, np.ndarray) and value.ndim == 1 and value.size > 1
    }
    return [{**feeds, **moved}] if moved else []


def _moved(extent: Array) -> Array:
    *outer, height, width = extent.tolist()
    is_sizes = extent.dtype.kind in "iu"
    other = [2 * height + 1, 3 * width] if is_sizes else [1.25 * height, 3 * width]
    return np.array([*(2 * number for number in outer), *other], extent.dtype)


def _holds_at(repair: Repair, trial: Trial, point: Point, *, runs_before: bool) -> bool:
    """Whether the repaired model runs at this point. Raises DifferenceError where it computes something else."""
    old: Outputs | None = None
    if runs_before:
        with suppress(CannotRunError):
            old = trial.outputs(point, Side.BEFORE)
    try:
        new = trial.outputs(point, Side.AFTER)
    except CannotRunError as error:
        if old is not None:
            raise DifferenceError("verification.repair-differs", why=error.reason) from error
        return False
    _require_intended(repair, trial.engine, point.feeds, optimized=False)
    if old is not None and repair.keeps_numbers:
        comparison = trial.engine.compared(old, new, point.feeds)
        if not within(comparison, relative_bounds(new, 0.0)):
            raise DifferenceError("verification.repair-differs", why=comparison.reason)
    return True


def _require_intended(repair: Repair, engine: Engine, feeds: Feeds, *, optimized: bool) -> None:
    """Each node computes its intended meaning at the values that the model computes.

    `optimized`: those that it computes at the default level. Nodes whose values are asked for are not fused.
    """
    outer = [node for node in repair.nodes if node.key[0] == MAIN]
    wanted = dict.fromkeys(name for node in outer for name in (*node.operands.names, *leaves_of(node), node.key[1]))
    values = engine.run(repair.after, feeds, optimized=optimized, extra_outputs=list(wanted)) if outer else {}
    for node in outer:
        _require_meaning(engine, node, values, feeds, optimized=optimized)
    extraction = Extraction(*[ModelView(repair.after)] * 2)
    for node in repair.nodes:
        if node.key[0] != MAIN:  # in a body, whose tensors no run shows
            alone, _ = extraction.extract({node.key: node.data}, sizes_stay=True)
            try:
                fitted = fit_alone(engine, node, alone, {}, node.label, optimized=optimized)
            except (CannotLoadError, CannotRunError) as error:
                engine.notes.append(Diagnostic("verification.repaired-not-alone", label=node.label, why=error.reason))
                continue
            seen = {**fitted.feeds, **fitted.outputs}
            _require_meaning(engine, node, seen, fitted.feeds, optimized=optimized)


def _require_meaning(
    engine: Engine, node: IntendedNode, values: Mapping[str, Value], feeds: Feeds, *, optimized: bool
) -> None:
    """The node made of these values what its fault says."""
    intended = {"y": intended_value(engine, node, values, node.operands.x)}
    comparison = engine.compared(intended, {"y": values[node.key[1]]}, feeds, optimized=optimized)
    # Half precision is computed in float32 between casts whose places depend on the neighbours.
    if not within(comparison, relative_bounds(intended, FLOAT_BOUND if optimized else 0.0)):
        raise DifferenceError("verification.repair-not-intended", label=node.label, why=comparison.reason)


def _is_quantised(document: Document) -> bool:
    return any("quantizelinear" in node.op_type.lower() for _, body in bodies(document.proto) for node in body.node)
