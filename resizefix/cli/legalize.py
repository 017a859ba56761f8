"""`resizefix legalize IN [OUT] --target TARGET`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.streams import shown
from resizefix.cli.write_result import (
    NotChanged,
    profile_fields,
    show_profile_of,
    why_not_changed,
    write_result,
    writing_command,
)
from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("legalize", example="resizefix legalize x3.onnx x3_trt8.onnx --target tensorrt-8.0")
def command(model: str, **options: Any) -> Answer:
    """Rewrite those Upsample/Resize nodes of IN that TARGET refuses into ones it accepts, which compute the same."""
    if options["target"] is None:
        from resizefix.cli.misplaced import meant  # few name no target

        form = None if os.path.exists(model) else meant("legalize", [model])
        if form is not None:
            raise UsageError("cli.misplaced", word=model, form=form)
        if not options["fastest"]:
            raise UsageError("cli.no-target", rule="target")
        options = {**options, "target": "onnxruntime"}

    nothing = "cli.nothing-faster" if options["fastest"] else "cli.nothing-to-legalize"
    usual = why_not_changed(options, "rewritten", Diagnostic(nothing, target=options["target"]))

    def why_not(result: Result) -> NotChanged:
        return usual(result) if options["node"] else _still_rejected(result, options["target"]) or usual(result)

    def extra(result: Result, path: str | None, is_changed: bool) -> Answer | None:
        speed, left = result.speed, _left_out(result, options["target"]) if is_changed and options["node"] else {}
        if speed is None and not left and result.profile is None:
            return None
        from resizefix.reports.json import speed_json
        from resizefix.reports.text import show_left_out, show_speed

        fields: dict[str, Any] = {} if speed is None else {"speed": speed_json(speed)}
        if speed is not None or left:
            fields["still_rejected"] = [{"node": node, "because": because} for node, because in left.items()]
        if result.profile is not None:
            fields |= profile_fields(result.profile, path or shown(model))

        def show() -> None:
            if result.profile is not None:
                show_profile_of(result, fields, path or shown(model))
            if speed is not None:
                show_speed(speed)
            if left:
                show_left_out(options["target"], left)

        return Answer(fields, show)

    return write_result(model, options, why_not, extra=extra)


def _left_out(result: Result, target: str) -> dict[str, str]:
    """The nodes that -n left out and the target still refuses, each with the first reason."""
    from resizefix.library.check import check
    from resizefix.targets.target import Effect

    left: dict[str, str] = {}
    for violation in check(result.model, target=target).violations:
        if violation.effect is not Effect.NOTED:
            left.setdefault(violation.node, violation.because)
    return left


def _still_rejected(result: Result, target: str) -> NotChanged | None:
    """Why the target would reject a model of which some nodes could be rewritten; None where none could."""
    refused = next((outcome for outcome in result.outcomes if outcome.status is Status.REFUSED), None)
    if not result.changed:
        return None
    if refused is not None:
        from resizefix.reports.wording import reason

        why = {"node": refused.node, "why": reason(refused)}
    else:
        why = {"node": result.blockers[0].node, "why": f"{result.blockers[0].reason}; {result.blockers[0].fix}"}
    return NotChanged(Diagnostic("cli.still-rejected", target=target, **why), refused)
