"""`resizefix trt-legacy IN [OUT]`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.image_sizes import size_option
from resizefix.cli.many import many_written
from resizefix.cli.options import (
    rewrite_options,
    rewriting,
    running,
    shared_options,
    subcommand,
    target_option,
    writing,
)
from resizefix.cli.piped_model import DASH, PipedModel, model_argument, shown
from resizefix.cli.written import More, No, written
from resizefix.diagnostics import Diagnostic
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result

_TARGETS = ("tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0", "tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2")


@subcommand("trt-legacy", example="resizefix trt-legacy bisenet.onnx bisenet_legacy.onnx")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@many_written
@target_option(
    "--target",
    only=_TARGETS,
    default=_TARGETS[0],
    show_default=True,
    help="Report whether this TensorRT (5.0 to 7.2) accepts the result; `list` prints the names.",
)
@click.option(
    "--hybrid",
    is_flag=True,
    help="Import opset 9 beside the attribute, as old tutorials do; the file is not valid ONNX.",
)
@size_option
@rewriting
@writing
@running
def command(model: str, **options: Any) -> None:
    """Write IN as TensorRT's first ONNX parsers read it: Upsample-7 with a `scales` attribute, opset 8, IR 3.

    OUT defaults to IN's name with the suffix .trt-legacy.onnx, or to - for a model on stdin.
    """
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    def make() -> Result:
        from resizefix.library.rewrite import trt_legacy

        return trt_legacy(
            model, hybrid=options["hybrid"], size=options["size"], **rewrite_options(options), **shared_options(options)
        )

    def verdicts(result: Result, path: str | None, made: bool) -> More:
        from resizefix.library.check import check_all
        from resizefix.reports.json import verdict_json

        found = check_all(result.model, _TARGETS) if made else ()
        fields = {verdict.target.name: verdict_json(verdict) for verdict in found}
        answer = {"target": options["target"], "targets": fields}
        verdicts = [verdict for verdict in found if options["verbose"] or verdict.target.name == options["target"]]

        def show() -> None:
            from resizefix.document.document import Document
            from resizefix.reports.next_step import after_check
            from resizefix.reports.terminal import show_step
            from resizefix.reports.text import show_verdicts

            show_verdicts(verdicts, chosen=options["target"])
            chosen = [verdict for verdict in verdicts if verdict.target.name == options["target"]]
            if not all(verdict.accepted for verdict in chosen):  # `legalize` may replace what no form of Upsample is
                show_step(after_check(shown(model), Document.open(model), chosen))

        return More(answer, show)

    out = DASH if isinstance(model, PipedModel) else os.path.splitext(model)[0] + ".trt-legacy.onnx"
    return written(model, options, make, _why_not, out=out, more=verdicts)


def _why_not(result: Result) -> No | None:
    from resizefix.diagnostics import code_of
    from resizefix.library.rewrite import NOTHING_TO_DO
    from resizefix.reports.wording import reason

    refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
    if not result.outcomes and not result.blockers:
        return No(Diagnostic("cli.no-resize"), True)
    if not refused and not result.blockers:
        nothing = code_of(result.verification.reason) == NOTHING_TO_DO.code
        return No(Diagnostic("cli.in-this-form-already"), True) if nothing and not result.resolution else None
    kinds = sorted({blocker.op_type or blocker.node for blocker in result.blockers})
    parts: list[str] = [f"{outcome.node}: {reason(outcome)}" for outcome in refused[:1]]
    if len(refused) > 1:
        parts.append(Diagnostic("cli.and-more-nodes", number=len(refused) - 1))
    if kinds:
        first = result.blockers[0]
        parts.append(
            Diagnostic(
                "cli.opset-8-lacks",
                kinds=", ".join(kinds),
                number=len(result.blockers),
                node=first.node,
                why=first.reason,
                fix=first.fix,
            )
        )
    return No(Diagnostic("cli.nothing-written", why="; ".join(parts)), outcome=refused[0] if refused else None)
