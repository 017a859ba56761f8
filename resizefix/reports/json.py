"""Sites, outcomes and verifications as the JSON contract spells them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from resizefix.reports.wording import reason

if TYPE_CHECKING:  # what a command does not answer with it need not import
    from resizefix.faults.fault import Fault
    from resizefix.interpolation import Interpolation
    from resizefix.library.tensorrt_profile import Range
    from resizefix.library.verdict import Verdict
    from resizefix.operations.diff import Change
    from resizefix.operations.site import Site
    from resizefix.opsets.verdict import Blocker
    from resizefix.outcome import MeasuredDifference, Outcome
    from resizefix.promotion import Coupling, PromotedInput
    from resizefix.runtimes.tensorrt import LiveVerdict
    from resizefix.verification.verification import SiteDrift, Verification

MOST_READERS = 100
"""Of a constant, listed for each node that reads it: of thousands of nodes with one constant the rest is a number."""


def site_json(site: Site, faults: Iterable[Fault] = ()) -> dict[str, Any]:
    """SITE of the contract, with its faults."""
    values = site.extent.values
    return {
        "index": site.index,
        "node": site.label,
        "op": site.op_type,
        "since_version": site.since_version,
        "scope": list(site.scope.path.steps),
        "input": site.input,
        "output": site.output,
        "interpolation": None if site.interpolation is None else _interpolation_json(site.interpolation),
        "extent": {"kind": site.extent.kind.value, "values": None if values is None else _numbers(values)},
        "origin": {
            "kind": site.origin.kind.value,
            "name": site.origin.name,
            "shared_by": list(site.origin.shared_by[:MOST_READERS]),
            "shared_by_count": len(site.origin.shared_by),
            "chain": list(site.origin.chain),
            "says": site.origin.says,
            "right_under_every_rule": site.origin.right_under_every_rule,
            "recovered_scales": None
            if site.origin.recovered_scales is None
            else _numbers(site.origin.recovered_scales),
        },
        "promotable": site.promotable,
        "reason": site.reason,
        "coupling": None if site.coupling is None else _coupling_json(site.coupling),
        "faults": [fault_json(fault) for fault in faults],
    }


def _coupling_json(found: Coupling) -> dict[str, Any]:
    return {
        "verdict": found.verdict.value,
        "breaks_at": found.breaks_at,
        "partner": found.partner,
        "shared": found.shared,
    }


def fault_json(fault: Fault) -> dict[str, Any]:
    """One fault; `repairable` is false where the intended meaning is not certain."""
    return {
        "fault": fault.name,
        "because": fault.because,
        "fix": fault.fix,
        "repairable": fault.change is not None,
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """OUTCOME of the contract."""
    return {
        "index": outcome.index,
        "node": outcome.node,
        "status": outcome.status.value,
        "reason": None if outcome.reason is None else reason(outcome),
        "before": outcome.before,
        "after": list(outcome.after),
        "exact": outcome.exact,
        "condition": outcome.condition,
        "max_abs_diff": _finite(outcome.max_abs_diff),
        "measured_at": None
        if outcome.measured_at is None
        else {name: list(shape) for name, shape in outcome.measured_at.items()},
        "bound": outcome.bound,
        "retry_args": list(outcome.retry_args),
        **({} if outcome.fault is None else {"fault": outcome.fault}),
        **(
            {
                "node_diffs": [_difference_json(each) for each in outcome.node_diffs],
                "output_diffs": [_difference_json(each) for each in outcome.output_diffs],
            }
            if outcome.node_diffs or outcome.output_diffs
            else {}
        ),
    }


def _difference_json(found: MeasuredDifference) -> dict[str, Any]:
    """One measured difference; null where no number says it."""
    return {
        "feed": found.feed,
        "tensor": found.tensor,
        "max_abs_diff": _finite(found.max_abs_diff),
        "mean_abs_diff": _finite(found.mean_abs_diff),
        "largest": found.largest,
    }


def input_json(source: PromotedInput) -> dict[str, Any]:
    """One new graph input."""
    return {
        "name": source.name,
        "elem_type": source.elem_type,
        "shape": list(source.shape),
        "value": _numbers(source.value),
        "optional": source.optional,
        "sites": [driven.label for driven in source.sites],
    }


def verification_json(verification: Verification) -> dict[str, Any]:
    """VERIFICATION of the contract."""
    return {
        "status": verification.status.value,
        "reason": verification.reason,
        "sessions": verification.sessions,
        "runs": [
            {
                "values": {name: list(value) for name, value in run.values.items()},
                "files": dict(run.files),
                "shapes": {name: list(shape) for name, shape in run.shapes.items()},
                "optimized": run.optimized,
                "bitwise": run.bitwise,
                "max_abs_diff": _finite(run.max_abs_diff),
                "bound": run.bound,
                "reference": None if run.reference is None else run.reference.value,
                "max_abs_diff_from_scales": _finite(run.from_scales),
            }
            for run in verification.runs
        ],
        "coupling": [
            {"node": found.node, "verdict": found.verdict.value, "breaks_at": found.breaks_at}
            for found in verification.coupling
        ],
    }


def drift_json(site: SiteDrift) -> dict[str, Any]:
    """One resize in another runtime; numbers are null where the shapes differ."""
    return {
        "node": site.node,
        "output": site.output,
        "max_abs_diff": _finite(site.max_abs_diff),
        "max_rel_diff": _finite(site.max_rel_diff),
        "input_max_rel_diff": _finite(site.input_rel_diff),
        "differs": site.differs,
        "first": site.first,
        "rule": site.rule,
        "because": site.because,
        "alone": site.alone,
    }


def profile_json(profile: Mapping[str, Range]) -> dict[str, Any]:
    """The optimization profile of the contract."""
    return {
        name: {"min": list(found.min), "opt": list(found.opt), "max": list(found.max)}
        for name, found in profile.items()
    }


def blocker_json(blocker: Blocker) -> dict[str, Any]:
    """One operator that an older opset cannot say."""
    return {
        "node": blocker.node,
        "op": blocker.op_type,
        "since_version": blocker.since_version,
        "reason": blocker.reason,
        "fix": blocker.fix,
        "mend": blocker.fix,  # the same by its first name, which readers know
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """What one target says; `effect` tells a rejection from a silent difference and from a note."""
    return {
        "accepted": verdict.accepted,
        "violations": [
            {
                "node": violation.node,
                "rule": violation.rule,
                "effect": violation.effect.value,
                "because": violation.because,
                "source": violation.source,
                "fix": violation.fix,
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
        "parser": live.parser,
        "accepted": live.accepted,
        "errors": [
            {"node": error.node, "op": error.op_type, "output": error.output, "message": error.message}
            for error in live.errors
        ],
        "built": live.built,
        "profile": {name: {bound: list(row[bound]) for bound in row} for name, row in live.profile.items()},
        "chosen": list(live.chosen),
        "nodes": [
            {
                "node": node.node,
                "output": node.output,
                "ending": None if node.ending is None else node.ending.value,
                "agrees": node.agrees,
                "same_shape": node.same_shape,
                "max_abs_diff": _finite(node.max_abs_diff),
                "max_rel_diff": _finite(node.max_rel_diff),
                "message": node.message,
            }
            for node in live.nodes
        ],
    }


def change_json(change: Change) -> dict[str, Any]:
    """One difference between two models."""
    return {
        "what": change.what,
        "name": change.name,
        "scope": list(change.scope.steps),
        "before": change.before,
        "after": change.after,
    }


def _interpolation_json(interpolation: Interpolation) -> dict[str, Any]:
    def text(value: Enum | None) -> Any:
        return None if value is None else value.value

    return {
        "mode": interpolation.mode.value,
        "coordinate_transformation_mode": interpolation.coordinate_transformation_mode.value,
        "nearest_mode": text(interpolation.nearest_mode),
        "cubic_coeff_a": interpolation.cubic_coeff_a,
        "exclude_outside": interpolation.exclude_outside,
        "antialias": interpolation.antialias,
        "axes": None if interpolation.axes is None else list(interpolation.axes),
        "keep_aspect_ratio_policy": text(interpolation.keep_aspect_ratio_policy),
    }


def _finite(number: float | None) -> float | None:
    """A difference; null where no number says it."""
    return number if number is not None and math.isfinite(number) else None


def _numbers(values: Iterable[float] | Sequence[int]) -> list[float | int]:
    """Whole numbers as JSON integers, as people write scales."""
    return [int(value) if float(value).is_integer() else value for value in values]
