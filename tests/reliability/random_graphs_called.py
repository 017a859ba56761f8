"""Calls an operation on a drawn model, twice, for the same must come out; a proof may fail for onnxruntime's reasons
alone.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from random_graphs_case import Case, Tally
from random_graphs_claims import (
    disputes_constants,
    is_contradiction,
    is_other_than_fed,
    is_said_not_empty,
    is_turned_rounding,
)

import resizefix

TARGETS = (
    "tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0", "tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2", "tensorrt-8.0",
    "tensorrt-8.4", "tensorrt-8.5", "tensorrt-9", "tensorrt-10", "tensorrt-rtx", "onnxruntime",
)  # fmt: skip


def asked(operation: str, options: dict[str, Any]) -> str:
    return operation + "".join(f" {key}={value}" for key, value in sorted(options.items()) if key != "verify")


def called(case: Case, tally: Tally, name: str, call: Callable[..., Any]) -> Any:
    """The result; None where the operation is refused. Where it cannot be proven, which may only be where onnxruntime
    does not run it or contradicts itself, that of `--no-verify`: the laws have a judge of their own."""
    tally.operations[name] += 1
    try:
        result = call()
    except resizefix.VerificationFailedError as error:
        said = str(error)
        excused = is_contradiction(said) and disputes_constants(case)
        excused = excused or case.is_empty_and_fed(said) or case.is_limit(said)
        excused = excused or is_said_not_empty(case, error.result, said)
        excused = excused or is_other_than_fed(case, error.result, said)
        excused = excused or is_turned_rounding(case, error.result, said)
        if case.runs and not case.says_nothing and not excused:
            raise AssertionError(f"{name}: {error}") from error
        tally.refused(name.split()[0], f"not proven: {error}")
        call = partial(call, verify=False)
        result = call()
    except resizefix.ResizefixError as error:
        tally.refused(name.split()[0], str(error))
        return None
    for outcome in result.outcomes:
        assert "None" not in (outcome.reason or ""), f"said to a user: {outcome.reason}"
    if result.verification.status.value == "skipped" or case.rng.random() < 0.2:  # the others take longer
        assert_same_result(case, result, call())
    tally.operations[f"{name.split()[0]}: {'changed' if result.changed else 'not changed'}"] += 1
    return result


def assert_same_result(case: Case, one: Any, other: Any) -> None:
    """A second call on the same file gives the same: bytes, verdicts, numbers."""
    assert one.outcomes == other.outcomes, "other outcomes in a second call"
    said = [(replace(result.verification, reason=None), _stable(result.verification.reason)) for result in (one, other)]
    assert said[0] == said[1], "another proof in a second call"
    paths = [case.save(result, "same") for result in (one, other)]
    assert paths[0].read_bytes() == paths[1].read_bytes(), "other bytes in a second call"


def _stable(reason: str | None) -> str:
    """Of several tensors that it cannot read onnxruntime names any."""
    return re.sub(r"Deserialize tensor \S+", "Deserialize tensor …", reason or "")


def assert_untouched(case: Case, result: Any) -> None:
    assert case.save(result, "same").read_bytes() == case.bytes, "nothing changed, and yet other bytes"
