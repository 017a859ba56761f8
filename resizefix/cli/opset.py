"""`resizefix opset IN OUT N`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.options import inline_option, run_options, writing
from resizefix.cli.written import More, No, calling, writes, written
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writes("opset", example="resizefix opset bisenet.onnx bisenet_18.onnx 18", several=False)
@click.argument("number", required=False, metavar="N")
@click.option("--allow-inexact", is_flag=True, help="Allow operators that round otherwise; the difference is reported.")
@inline_option
@writing
def command(model: str, **options: Any) -> None:
    """Bring IN into opset N of ai.onnx, up or down: exactly, operator by operator.

    Where an operator has no form there, nothing is written, and the message names it.
    """
    context = click.get_current_context()
    if options["out"] is None:
        raise click.UsageError("Missing argument 'N'.", context)
    if options["number"] is None:  # OUT is left out where -o, --in-place or --dry-run stand for it
        options["out"], options["number"] = None, options["out"]
    param = next(param for param in context.command.params if param.name == "number")
    options["number"] = click.INT.convert(options["number"], param, context)
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    own = {name: options[name] for name in ("allow_inexact", "inline")}
    own |= {"opset": options["number"], "verify": not options["no_verify"]}
    make = calling("opset", model, **own, **run_options(options))

    def more(result: Result, path: str | None, made: bool) -> More:
        from resizefix.reports.json import step_json
        from resizefix.reports.text import show_steps

        fields = {"opset": options["number"], "steps": [step_json(step) for step in result.steps]}
        return More(fields, lambda: show_steps(result.steps, whole=options["verbose"] or options["dry_run"]))

    return written(model, options, make, _why_not, more=more)


def _why_not(result: Result) -> No | None:
    from resizefix.diagnostics import code_of
    from resizefix.library.opset import HAS_IT
    from resizefix.outcome import Status
    from resizefix.reports.wording import reason

    if code_of(result.verification.reason) == HAS_IT.code:
        return No(HAS_IT, True)
    refused = next((outcome for outcome in result.outcomes if outcome.status is Status.REFUSED), None)
    if result.blockers:
        first = result.blockers[0]
        named = f"{first.op_type} {first.node}"
        return No(Diagnostic("cli.blocked", node=named, why=first.reason, fix=first.fix))
    if refused is not None:
        return No(Diagnostic("cli.nothing-written", why=f"{refused.node}: {reason(refused)}"), outcome=refused)
    return None
