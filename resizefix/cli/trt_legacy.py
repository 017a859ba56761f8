"""`resizefix trt-legacy IN [OUT]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.streams import shown
from resizefix.cli.write_result import NotChanged, write_result, writing_command
from resizefix.diagnostics import Diagnostic
from resizefix.library.option_values import LEGACY_TARGET
from resizefix.outcome import ModelOutcome, Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("trt-legacy", example="resizefix trt-legacy bisenet.onnx bisenet_legacy.onnx")
def command(model: str, **options: Any) -> Answer:
    """Write IN as TensorRT's first ONNX parsers read it: Upsample-7 with a `scales` attribute, opset 8, IR 3."""

    def extra(result: Result, path: str | None, is_changed: bool) -> Answer:
        from resizefix.library.check import check_all
        from resizefix.reports.json import verdict_json

        judged = check_all(result.model, LEGACY_TARGET.choices) if is_changed else ()
        fields = {verdict.target.name: verdict_json(verdict) for verdict in judged}
        answer = {"target": options["target"], "targets": fields}
        verdicts = [verdict for verdict in judged if options["verbose"] or verdict.target.name == options["target"]]

        def show() -> None:
            from resizefix.reports.text import show_verdicts

            show_verdicts(verdicts, chosen=options["target"])
            chosen = [verdict for verdict in verdicts if verdict.target.name == options["target"]]
            if not all(verdict.accepted for verdict in chosen):  # `legalize` may replace what no form of Upsample is
                from resizefix.document.document import Document
                from resizefix.reports.next_step import after_check
                from resizefix.reports.terminal import show_step

                show_step(after_check(shown(model), Document.open(model), chosen))

        return Answer(answer, show)

    return write_result(model, options, _why_not, extra=extra)


def _why_not(result: Result) -> NotChanged:
    from resizefix.document.text import counted
    from resizefix.reports.wording import reason

    if result.outcome is ModelOutcome.ALREADY:
        is_empty = not result.outcomes
        return NotChanged(Diagnostic("cli.no-resize-to-do" if is_empty else "cli.in-this-form-already"))
    refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
    kinds = sorted({blocker.op_type or blocker.node for blocker in result.blockers})
    parts: list[str] = [f"{outcome.node}: {reason(outcome)}" for outcome in refused[:1]]
    if len(refused) > 1:
        parts.append(Diagnostic("cli.and-more-nodes", nodes=counted(len(refused) - 1, "more node")))
    if kinds:
        first, number = result.blockers[0], len(result.blockers)
        of_first = {"node": first.node, "why": first.reason, "fix": first.fix}
        parts.append(Diagnostic("cli.opset-8-lacks", kinds=", ".join(kinds), number=number, **of_first))
    return NotChanged(Diagnostic("cli.nothing-written", why="; ".join(parts)), refused[0] if refused else None)
