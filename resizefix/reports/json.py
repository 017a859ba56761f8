"""Sites, outcomes and verifications as the JSON contract spells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from resizefix.reports.wording import reason

if TYPE_CHECKING:  # what a command does not answer with it need not import
    from resizefix.diagnostics import Diagnostic
    from resizefix.faults.fault import Fault
    from resizefix.library.fastest import Speed
    from resizefix.library.resolution import InputResolution
    from resizefix.library.tensorrt_profile import Range
    from resizefix.library.verdict import Verdict
    from resizefix.operations.diff import Change
    from resizefix.operations.integer_inputs import IntegerInput
    from resizefix.operations.site import Site
    from resizefix.operations.written_resizes import WrittenResize
    from resizefix.opsets.verdict import Blocker, OpsetStep
    from resizefix.outcome import Outcome
    from resizefix.promotion import PromotedInput
    from resizefix.runtimes.tensorrt import LiveVerdict
    from resizefix.verification.verification import ExpectedTensor, SiteDrift, Verification

MOST_READERS = 100
"""Of a constant, listed for each node that reads it: of thousands of nodes with one constant the rest is a number."""


_INTERPOLATION = (
    "mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "exclude_outside", "antialias", "axes",
    "keep_aspect_ratio_policy",
)  # fmt: skip
_OUTCOME = ("before", "after", "exact", "condition", "max_abs_diff", "measured_at", "bound", "retry_args", "instead")
_DIFFERENCE = ("feed", "tensor", "max_abs_diff", "mean_abs_diff", "largest")
_RUN = ("values", "files", "shapes", "optimized", "bitwise", "max_abs_diff", "bound", "reference")
_NODE_ALONE = ("node", "output", "ending", "agrees", "same_shape", "max_abs_diff", "max_rel_diff", "message")


_AS_THEY_ARE = frozenset({str, int, bool})


def fields(record: object | None, *names: str) -> Any:
    """What the JSON calls by the names that it has here, in this order; null for None."""
    return None if record is None else {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Any) -> Any:
    """Null for a difference that no number says; enumerations by their values."""
    if value is None or type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def site_json(site: Site, faults: Iterable[Fault] = ()) -> dict[str, Any]:
    """SITE of the contract, with its faults."""
    values, origin = site.extent.values, site.origin
    return {
        "index": site.index,
        "node": site.label,
        "op": site.op_type,
        "since_version": site.since_version,
        "scope": list(site.scope.path.steps),
        **fields(site, "input", "output"),
        "interpolation": fields(site.interpolation, *_INTERPOLATION),
        "extent": {"kind": site.extent.kind.value, "values": None if values is None else _numbers(values)},
        "origin": {
            **fields(origin, "kind", "name"),
            "shared_by": list(origin.shared_by[:MOST_READERS]),
            "shared_by_count": len(origin.shared_by),
            **fields(origin, "chain", "says", "right_under_every_rule"),
            "recovered_scales": None if origin.recovered_scales is None else _numbers(origin.recovered_scales),
        },
        **fields(site, "promotable", "reason"),
        "coupling": fields(site.coupling, "verdict", "breaks_at", "partner", "shared"),
        "faults": [fault_json(fault) for fault in faults],
    }


def fault_json(fault: Fault) -> dict[str, Any]:
    """One fault; `repairable` is false where the intended meaning is not certain, `repairable_with` are the options
    that say which is wanted."""
    repairable = fault.change is not None or fault.is_optional
    entry = {"fault": fault.name, **fields(fault, "because", "fix"), "repairable": repairable}
    return {**entry, "repairable_with": list(fault.retry_args)} if fault.retry_args else entry


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """OUTCOME of the contract."""
    entry = {
        **fields(outcome, "index", "node", "status"),
        "reason": None if outcome.reason is None else reason(outcome),
        **fields(outcome, *_OUTCOME),
    }
    if outcome.fault is not None:
        entry["fault"] = outcome.fault
    if outcome.node_diffs or outcome.output_diffs:
        entry["node_diffs"] = [fields(each, *_DIFFERENCE) for each in outcome.node_diffs]
        entry["output_diffs"] = [fields(each, *_DIFFERENCE) for each in outcome.output_diffs]
    return entry


def input_json(source: PromotedInput) -> dict[str, Any]:
    """One new graph input."""
    value, sites = _numbers(source.value), [driven.label for driven in source.sites]
    return {**fields(source, "name", "elem_type", "shape"), "value": value, "optional": source.optional, "sites": sites}


def integer_input_json(integer_input: IntegerInput) -> dict[str, Any]:
    """A graph input that holds whole numbers now; `was` is the type that it had."""
    was = TensorProto.DataType.Name(integer_input.elem_type).lower()
    numbers = {"was": was, "shape": list(integer_input.shape), "denominator": integer_input.denominator}
    return {"name": integer_input.name, "elem_type": "int64", **numbers}


def verification_json(verification: Verification) -> dict[str, Any]:
    """VERIFICATION of the contract."""
    return {
        **fields(verification, "status", "reason", "sessions", "forward_passes"),
        "tested": list(map(str, verification.tested)),
        "not_tested": list(map(str, verification.not_tested)),
        "runs": [
            {**fields(run, *_RUN), "max_abs_diff_from_scales": _plain(run.from_scales)} for run in verification.runs
        ],
        "coupling": [fields(coupling, "node", "verdict", "breaks_at") for coupling in verification.coupling],
    }


def drift_json(site: SiteDrift) -> dict[str, Any]:
    """One resize in another runtime or against a file; numbers are null where the shapes differ."""
    return {
        **fields(site, "node", "output", "max_abs_diff", "max_rel_diff"),
        "input_max_rel_diff": _plain(site.input_rel_diff),
        **fields(site, "differs", "first", "rule", "because", "alone"),
    }


def tensor_json(tensor: ExpectedTensor) -> dict[str, Any]:
    """One tensor against what was expected of it; numbers are null where the shapes or types differ."""
    return {**fields(tensor, "tensor", "is_output", "differs", "max_abs_diff", "max_rel_diff")}


def profile_json(profile: Mapping[str, Range]) -> dict[str, Any]:
    """The optimization profile of the contract."""
    return {name: fields(sizes, "min", "opt", "max") for name, sizes in profile.items()}


def blocker_json(blocker: Blocker) -> dict[str, Any]:
    """One operator that an older opset cannot say."""
    return {
        "node": blocker.node,
        "op": blocker.op_type,
        **fields(blocker, "since_version", "reason", "fix"),
        "mend": blocker.fix,  # the same by its first name, which readers know
    }


def step_json(step: OpsetStep) -> dict[str, Any]:
    """What became of one operator that another opset says otherwise."""
    exact = step.error.exact
    return {"node": step.node, "op": step.op_type, "what": step.what, "exact": exact, **fields(step, "since_version")}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """What one target says; `effect` tells a rejection from a silent difference and from a note."""
    return {
        **({"asked": verdict.asked} if verdict.asked else {}),
        "accepted": verdict.accepted,
        "violations": [
            {
                **fields(violation, "node", "rule", "effect", "because", "source", "fix"),
                "mend": violation.fix,  # the same by its first name, which readers know
            }
            for violation in verdict.violations
        ],
        "live": None if verdict.live is None else _live_json(verdict.live),
        "live_reason": verdict.live_reason,
    }


def _live_json(live: LiveVerdict) -> dict[str, Any]:
    """What a real parser said; `profile` is what was built with, `chosen` names the inputs without a given range."""
    return {
        **fields(live, "parser", "accepted"),
        "errors": [
            {"node": error.node, "op": error.op_type, **fields(error, "output", "message")} for error in live.errors
        ],
        **fields(live, "built", "profile", "chosen"),
        "nodes": [fields(node, *_NODE_ALONE) for node in live.nodes],
    }


def speed_json(speed: Speed) -> dict[str, Any]:
    """What `legalize --fastest` measured; times are milliseconds."""
    whole = None if speed.whole is None else asdict(speed.whole)
    return {"runtime": speed.runtime, "whole": whole, "nodes": [asdict(row) for row in speed.nodes]}


def resolution_json(resolution: InputResolution) -> dict[str, Any]:
    """The field `resolution` of inspect."""
    return {
        **fields(resolution, "freedom", "input", "size"),
        "nodes": list(resolution.nodes[:100]),
        "node_count": len(resolution.nodes),
        "reason": None if resolution.reason is None else str(resolution.reason),
    }


def written_json(place: WrittenResize, other: Diagnostic | None) -> dict[str, Any]:
    """A resize that is written as other operators, and what `set form=resize` makes of it; `other`: where none."""
    from resizefix.operations.as_resize import assumed_text

    return {
        "node": place.label,
        "operators": list(place.operator_names),
        "scope": list(place.scope.path.steps),
        "input": place.x,
        "output": place.y,
        "interpolation": fields(place.interpolation, *_INTERPOLATION),
        "assumed": None if place.source is not None else str(assumed_text(place)),
        "other_indices": None if other is None else str(other),
    }


def change_json(change: Change) -> dict[str, Any]:
    """One difference between two models."""
    return {**fields(change, "what", "name"), "scope": list(change.scope.steps), **fields(change, "before", "after")}


def _numbers(values: Iterable[float] | Sequence[int]) -> list[float | int]:
    """Whole numbers as JSON integers, as people write scales."""
    return [int(value) if float(value).is_integer() else value for value in values]
