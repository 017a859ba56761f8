"""`resizefix opset IN [OUT] N`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.write_result import NotChanged, WithLastArgument, write_result, writing_command
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


class _WithNumber(WithLastArgument):
    last, metavar = "opset", "N"

    def read(self, word: str, param: click.Argument, ctx: click.Context) -> int:
        """A whole number."""
        number: int = click.types.convert_type(int).convert(word, param, ctx)
        return number


@writing_command("opset", example="resizefix opset bisenet.onnx bisenet_18.onnx 18", cls=_WithNumber)
def command(model: str, **options: Any) -> Answer:
    """Bring IN into opset N of ai.onnx, up or down: exactly, operator by operator.

    Where an operator has no form there, nothing is written, and the message names it.
    """

    def extra(result: Result, path: str | None, is_changed: bool) -> Answer:
        from resizefix.reports.json import step_json
        from resizefix.reports.text import show_steps

        fields = {"opset": options["opset"], "steps": [step_json(step) for step in result.steps]}
        return Answer(fields, lambda: show_steps(result.steps, whole=options["verbose"] or options["dry_run"]))

    return write_result(model, {**options, "settings": {"opset": options["opset"]}}, _why_not, extra=extra)


def _why_not(result: Result) -> NotChanged:
    from resizefix.library.opset import HAS_IT
    from resizefix.outcome import ModelOutcome, Status
    from resizefix.reports.wording import reason

    if result.outcome is ModelOutcome.ALREADY:
        return NotChanged(HAS_IT)
    if result.blockers:
        first = result.blockers[0]
        named = f"{first.op_type} {first.node}"
        return NotChanged(Diagnostic("cli.blocked", node=named, why=first.reason, fix=first.fix))
    refused = next(outcome for outcome in result.outcomes if outcome.status is Status.REFUSED)
    return NotChanged(Diagnostic("cli.nothing-written", why=f"{refused.node}: {reason(refused)}"), refused)
