"""`resizefix trt-legacy IN [OUT]`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.piped_model import DASH, PipedModel, shown
from resizefix.cli.write_result import ExtraOutput, NothingWritten, write_result, writing_command
from resizefix.diagnostics import Diagnostic
from resizefix.library.option_values import LEGACY_TARGET
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("trt-legacy", example="resizefix trt-legacy bisenet.onnx bisenet_legacy.onnx")
def command(model: str, **options: Any) -> Answer:
    """Write IN as TensorRT's first ONNX parsers read it: Upsample-7 with a `scales` attribute, opset 8, IR 3.

    OUT defaults to IN's name with the suffix .trt-legacy.onnx, or to - for a model on stdin.
    """

    def extra(result: Result, path: str | None, is_yes: bool) -> ExtraOutput:
        from resizefix.library.check import check_all
        from resizefix.reports.json import verdict_json

        judged = check_all(result.model, LEGACY_TARGET.choices) if is_yes else ()
        fields = {verdict.target.name: verdict_json(verdict) for verdict in judged}
        answer = {"target": options["target"], "targets": fields}
        verdicts = [verdict for verdict in judged if options["verbose"] or verdict.target.name == options["target"]]

        def show() -> None:
            from resizefix.document.document import Document
            from resizefix.reports.next_step import after_check
            from resizefix.reports.terminal import show_step
            from resizefix.reports.text import show_verdicts

            show_verdicts(verdicts, chosen=options["target"])
            chosen = [verdict for verdict in verdicts if verdict.target.name == options["target"]]
            if not all(verdict.accepted for verdict in chosen):  # `legalize` may replace what no form of Upsample is
                show_step(after_check(shown(model), Document.open(model), chosen))

        return ExtraOutput(answer, show)

    out = DASH if isinstance(model, PipedModel) else os.path.splitext(model)[0] + ".trt-legacy.onnx"
    return write_result(model, options, _why_not, out=out, extra=extra)


def _why_not(result: Result) -> NothingWritten | None:
    from resizefix.diagnostics import code_of
    from resizefix.document.text import counted
    from resizefix.library.rewrite import NOTHING_TO_DO
    from resizefix.reports.wording import reason

    refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
    if not result.outcomes and not result.blockers:
        return NothingWritten(Diagnostic("cli.no-resize-to-do", done="do"), True)
    if not refused and not result.blockers:
        nothing = code_of(result.verification.reason) == NOTHING_TO_DO.code
        return (
            NothingWritten(Diagnostic("cli.in-this-form-already"), True) if nothing and not result.resolution else None
        )
    kinds = sorted({blocker.op_type or blocker.node for blocker in result.blockers})
    parts: list[str] = [f"{outcome.node}: {reason(outcome)}" for outcome in refused[:1]]
    if len(refused) > 1:
        parts.append(Diagnostic("cli.and-more-nodes", nodes=counted(len(refused) - 1, "more node")))
    if kinds:
        first, number = result.blockers[0], len(result.blockers)
        of_first = {"node": first.node, "why": first.reason, "fix": first.fix}
        parts.append(Diagnostic("cli.opset-8-lacks", kinds=", ".join(kinds), number=number, **of_first))
    return NothingWritten(
        Diagnostic("cli.nothing-written", why="; ".join(parts)), outcome=refused[0] if refused else None
    )
