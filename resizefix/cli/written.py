"""The end of every command that writes: save what was made if the answer is yes, and say what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.target_file import TargetFile

if TYPE_CHECKING:
    from resizefix.library.result import Result


def written(
    result: Result,
    refusal: str | None,
    target: TargetFile,
    *,
    as_external_data: bool,
    show: Callable[[], None],
    fields: dict[str, Any] | None = None,
) -> Answer:
    """Write the result's model unless there is a `refusal`; the answer holds the fields that such commands share."""
    from resizefix.reports.json import blocker_json, input_json, outcome_json, verification_json

    shared = {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        "verification": verification_json(result.verification),
        "blockers": [blocker_json(blocker) for blocker in result.blockers],
    }
    if refusal is None and target.path is not None:
        result.model.save(target.path, overwrite=target.overwrite, as_external_data=as_external_data)
    output = target.path if refusal is None else None
    return Answer({**shared, **(fields or {})}, show, output, refusal, 0 if refusal is None else 1)


def why_not_all(result: Result, *, named: bool, done: str, nothing: str) -> str | None:
    """Why the answer of a command that changes sites is no; None if it is yes.

    `done` is what happens to a site ("promoted"), `nothing` what to say where every site is as it should be already.
    """
    from resizefix.outcome import Status
    from resizefix.reports.wording import reason

    if not result.outcomes:
        return f"there is no Upsample or Resize node in this model, so there is nothing to be {done}"
    missed = [outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED]
    if not result.changed:
        if all(outcome.status is Status.UNCHANGED for outcome in result.outcomes):
            return nothing
        refused = next(outcome for outcome in missed if outcome.status is Status.REFUSED)
        return f"no node was {done}; nothing was written. {refused.node}: {reason(refused)}"
    if named and missed:
        names = ", ".join(outcome.node for outcome in missed)
        return f"{names} could not be {done}, though named with -n; nothing was written"
    return None
