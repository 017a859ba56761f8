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

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.row import Operands
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.text import counted
from resizefix.errors import UsageError
from resizefix.interpolation import Interpolation, NearestMode
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session, open_session
from resizefix.verification.bounds import FLOAT_BOUND, default_level_bounds, relative_bounds, within
from resizefix.verification.compare import Comparison, compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import fit_feeds
from resizefix.verification.room import Room
from resizefix.verification.verification import Run, Status, Verification

_NEWEST, _SIMPLE = 19, 10  # the opsets of Resize-19, and of the last form that rounds as Upsample does


@dataclass(frozen=True)
class RepairedNode:
    """A node of the repaired model's main graph: its output, what it computes, and the names of its operands."""

    label: str
    output: str
    interpolation: Interpolation
    operands: Operands


def prove_repair(
    before: Document,
    after: Document,
    nodes: Sequence[RepairedNode],
    conditions: Conditions,
    *,
    keeps_numbers: bool,
    left: Sequence[str],
) -> tuple[Verification, float]:
    """Run the repaired model at both optimisation levels, and each of `nodes` alone; compare with `before` if it runs.

    `keeps_numbers`: every fix leaves the numbers of a file that runs as they were, so they must agree bit for bit.
    Otherwise the largest difference from them comes with the verdict (0 where the file did not run).
    `left`: the resizes of `after` that have a fault yet.
    """
    differences: list[float] = []
    verification = _verdict(before, after, nodes, conditions, keeps_numbers, left, differences)
    return verification, max(differences, default=0.0)


def _verdict(
    before: Document,
    after: Document,
    nodes: Sequence[RepairedNode],
    conditions: Conditions,
    keeps_numbers: bool,
    left: Sequence[str],
    differences: list[float],
) -> Verification:
    try:
        return _proof(before, after, nodes, conditions, keeps_numbers, differences)
    except CannotLoadError as error:
        cause = f"{', '.join(left)} was not repaired" if left else "That fault is not one of its resizes"
        reason = f"the repaired file still does not load: {error.reason}. {cause}"
        return Verification(Status.FAILED, reason)
    except (CannotRunError, BrokenOffError, UsageError) as error:
        return Verification(Status.FAILED, str(error))


def _proof(
    before: Document,
    after: Document,
    nodes: Sequence[RepairedNode],
    conditions: Conditions,
    keeps_numbers: bool,
    differences: list[float],
) -> Verification:
    plain = _open(after, conditions, optimized=False)
    feeder = Feeder(plain.inputs, conditions.shapes, conditions.seed, {}, conditions.limits.bytes)
    fitted = fit_feeds(plain, feeder, room=Room(after, conditions.limits))
    feeds, found = fitted.feeds, fitted.outputs
    shapes = {name: np.shape(value) for name, value in feeds.items() if isinstance(value, np.ndarray)}
    runs: list[Run] = []

    notes: list[str] = []
    optimized = _open(after, conditions, optimized=True).run(plain.taken(feeds))
    level = compare(found, optimized)
    if level.max_rel_diff == np.inf or not within(level, default_level_bounds(found, optimized)):
        # Optimised, nodes of a quantised model compute in integers; the repaired ones must do what they should.
        quantised = level.max_rel_diff != np.inf and nodes and _is_quantised(after)
        if not quantised or not _alone(after, nodes, feeds, conditions, shapes, runs, notes, optimized=True):
            reason = f"the repaired file computes something else when onnxruntime optimises it: {level.reason}"
            return Verification(Status.FAILED, reason, tuple(runs))
        notes.append(f"optimising moves the quantised model by {level.max_rel_diff:.2g} of its largest value")

    passed = _alone(after, nodes, feeds, conditions, shapes, runs, notes)
    passed = passed and _against(
        before, plain, feeds, found, conditions, shapes, runs, notes, keeps_numbers, differences
    )
    if not passed:
        return Verification(Status.FAILED, notes[-1], tuple(runs))
    return Verification(Status.PASSED, "; ".join(notes), tuple(runs))


def _alone(
    after: Document,
    nodes: Sequence[RepairedNode],
    feeds: Mapping[str, Value],
    conditions: Conditions,
    shapes: Mapping[str, tuple[int, ...]],
    runs: list[Run],
    notes: list[str],
    *,
    optimized: bool = False,
) -> bool:
    """Whether each node computes its intended meaning at the values that the model computes; adds a run for each.

    `optimized`: those that it computes at the default level. Nodes whose values are asked for are not fused.
    """
    wanted = dict.fromkeys(
        name
        for node in nodes
        for name in (node.operands.x, node.operands.roi, node.operands.scales, node.operands.sizes, node.output)
        if name
    )
    session = _open(after, conditions, optimized=optimized, extra_outputs=list(wanted))
    values = session.run(session.taken(feeds))
    for node in nodes:
        reference = intended_model(node, values)
        seen = values[node.output]
        made = _open(reference, conditions, optimized=False).run({"x": values[node.operands.x]})
        comparison = compare({"y": made["y"]}, {"y": seen})
        runs.append(_run(comparison, shapes, optimized))
        # Half precision is computed in float32 between casts whose places depend on the neighbours.
        if not within(comparison, relative_bounds(made, FLOAT_BOUND if optimized else 0.0)):
            notes.append(f"'{node.label}' does not compute its intended meaning: {comparison.reason}")
            return False
    if optimized:
        return True
    if nodes:
        notes.append(f"{counted(len(nodes), 'repaired node')} compared alone with the intended meaning")
    else:
        notes.append("no repaired node stands in the main graph, so none was compared alone")
    return True


def intended_model(node: RepairedNode, values: Mapping[str, Value]) -> Document:
    """A model of one node, from x to y: the meaning in the newest form of the operator, its operands constants."""
    meaning, operands = node.interpolation, node.operands
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


def _against(
    before: Document,
    plain: Session,
    feeds: Mapping[str, Value],
    found: Mapping[str, Value],
    conditions: Conditions,
    shapes: Mapping[str, tuple[int, ...]],
    runs: list[Run],
    notes: list[str],
    keeps_numbers: bool,
    differences: list[float],
) -> bool:
    """Whether the repaired file differs from the broken one only where it should, if that runs."""
    try:
        old = _open(before, conditions, optimized=False, label="the file")
        comparison = compare(old.run(plain.taken(feeds)), found)
    except (CannotLoadError, CannotRunError) as error:
        notes.append(f"the broken file does not run, so the models were not compared as a whole: {error.reason}")
        return True
    if keeps_numbers or comparison.bitwise:
        runs.append(_run(comparison, shapes))
    if comparison.bitwise:
        notes.append("the model computes what it did before")
        return True
    if keeps_numbers and not within(comparison, relative_bounds(found, 0.0)):
        notes.append(f"the repaired model differs from the broken one: {comparison.reason}")
        return False
    differences.append(comparison.max_abs_diff)  # what the repair is for: no run that had to agree
    notes.append(f"the broken model ran and computed something else: {comparison.reason}")
    return True


def _is_quantised(document: Document) -> bool:
    return any("quantizelinear" in node.op_type.lower() for _, body in bodies(document.proto) for node in body.node)


def _run(comparison: Comparison, shapes: Mapping[str, tuple[int, ...]], optimized: bool = False) -> Run:
    return Run({}, dict(shapes), optimized, comparison.bitwise, comparison.max_abs_diff, comparison.max_rel_diff, 0.0)


def _open(
    document: Document,
    conditions: Conditions,
    *,
    optimized: bool,
    extra_outputs: Sequence[str] = (),
    label: str = "the repaired model",
) -> Session:
    return open_session(
        document,
        optimized=optimized,
        extra_outputs=extra_outputs,
        custom_op_libraries=conditions.custom_op_libraries,
        limits=conditions.limits,
        label=label,
    )
