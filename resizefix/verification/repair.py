"""The proof of a repair: the file runs, and each repaired node computes the meaning that was intended.

Where the broken file runs too, fixes that keep its numbers are held to its bits. Where it does not, each repaired node
is compared with a model of that one node, written from the canonical meaning in the newest form of the operator, at the
values that the repaired model computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.row import Operands
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.text import each_of
from resizefix.errors import UsageError
from resizefix.interpolation import Interpolation, NearestMode
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.verification.bounds import FLOAT_BOUND, default_level_bounds, relative_bounds, within
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.verification import Status, Verification

_MOST_NAMED = 3
_NEWEST, _SIMPLE = 19, 10  # the opsets of Resize-19, and of the last form that rounds as Upsample does


@dataclass(frozen=True)
class RepairedNode:
    """A node of the repaired model's main graph: its output, what it computes, and the names of its operands."""

    label: str
    output: str
    interpolation: Interpolation
    operands: Operands


@dataclass(frozen=True)
class Repair:
    """What was repaired: `nodes` are those that can be run alone.

    `keeps_numbers`: every fix leaves the numbers of a file that runs as they were. `left`: of each resize of `after`
    that is broken yet, why it was not repaired.
    """

    before: Document
    after: Document
    nodes: Sequence[RepairedNode]
    keeps_numbers: bool
    left: Sequence[str]


def prove_repair(repair: Repair, conditions: Conditions) -> tuple[Verification, float]:
    """Run the repaired model at both optimisation levels, and each of its nodes alone; compare with the broken file if
    that runs.

    Where every fix keeps the numbers, they must agree bit for bit. Otherwise the largest difference from them comes
    with the verdict (0 where the file did not run).
    """
    engine = Engine(conditions, "the repaired model")
    proof = _Proof(repair, engine)
    try:
        proof.make()
        return engine.verdict(), proof.difference
    except DifferenceError as error:
        return engine.verdict(str(error)), proof.difference
    except CannotLoadError as error:
        cause = ". ".join(repair.left[:_MOST_NAMED]) or Diagnostic("verification.fault-of-no-resize")
        why: str = Diagnostic("verification.repair-does-not-load", why=error.reason, cause=cause)
    except (CannotRunError, BrokenOffError, UsageError) as error:
        why = str(error)
    return Verification(Status.FAILED, why, sessions=engine.sessions), proof.difference


class _Proof:
    """The comparisons that prove a repair; `difference`: by how much it computes something else than the file."""

    def __init__(self, repair: Repair, engine: Engine) -> None:
        self._repair = repair
        self._engine = engine
        self._feeds: Mapping[str, Value] = {}
        self.difference = 0.0

    def make(self) -> None:
        """Make them all. Raises DifferenceError where one fails, CannotLoadError, CannotRunError, BrokenOffError."""
        after, nodes, notes = self._repair.after, self._repair.nodes, self._engine.notes
        fitted = self._engine.fit(after)
        self._feeds = fitted.feeds
        optimized = self._engine.run(after, self._feeds, optimized=True)
        level = compare(fitted.outputs, optimized)
        if not within(level, default_level_bounds(fitted.outputs, optimized, level)):
            failed = DifferenceError("verification.repair-optimised", why=level.reason)
            # Optimised, nodes of a quantised model compute in integers; the repaired ones must do what they should.
            if level.max_rel_diff == np.inf or not nodes or not _is_quantised(after):
                raise failed
            try:
                self._alone(optimized=True)
            except DifferenceError as error:
                raise failed from error
            notes.append(Diagnostic("verification.quantised-moves", difference=level.max_rel_diff))
        self._alone()
        notes.append(
            Diagnostic("verification.repaired-alone", nodes=each_of(len(nodes), "repaired"))
            if nodes
            else Diagnostic("verification.repaired-none-alone")
        )
        self._against_broken(fitted.outputs)

    def _alone(self, *, optimized: bool = False) -> None:
        """Each node computes its intended meaning at the values that the model computes.

        `optimized`: those that it computes at the default level. Nodes whose values are asked for are not fused.
        """
        engine, nodes = self._engine, self._repair.nodes
        wanted = dict.fromkeys(name for node in nodes for name in (*node.operands.names, node.output))
        values = engine.run(self._repair.after, self._feeds, optimized=optimized, extra_outputs=list(wanted))
        for node in nodes:
            intended = intended_model(node.interpolation, node.operands, values)
            made = engine.run(intended, {"x": values[node.operands.x]})
            comparison = engine.compared({"y": made["y"]}, {"y": values[node.output]}, self._feeds, optimized=optimized)
            # Half precision is computed in float32 between casts whose places depend on the neighbours.
            if not within(comparison, relative_bounds(made, FLOAT_BOUND if optimized else 0.0)):
                raise DifferenceError("verification.repair-not-intended", label=node.label, why=comparison.reason)

    def _against_broken(self, found: Mapping[str, Value]) -> None:
        """The repaired file differs from the broken one only where it should, if that runs."""
        notes, keeps = self._engine.notes, self._repair.keeps_numbers
        try:
            old = self._engine.run(self._repair.before, self._feeds, label="the file")
        except (CannotLoadError, CannotRunError) as error:
            notes.append(Diagnostic("verification.broken-does-not-run", why=error.reason))
            return
        comparison = compare(old, found)
        if keeps or comparison.bitwise:
            self._engine.runs.append(run_of(comparison, self._feeds))
        if comparison.bitwise:
            notes.append(Diagnostic("verification.as-before"))
            return
        if keeps and not within(comparison, relative_bounds(found, 0.0)):
            raise DifferenceError("verification.repair-differs", why=comparison.reason)
        self.difference = comparison.max_abs_diff  # what the repair is for: no run that had to agree
        notes.append(Diagnostic("verification.broken-computed-otherwise", why=comparison.reason))


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
