"""`resizefix trt-legacy IN [OUT]`."""

from __future__ import annotations

import os
from typing import Any

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.many import many_written
from resizefix.cli.options import manner_of, rewriting, run_options, running, subcommand, target_option, writing
from resizefix.cli.target_file import target_file_of
from resizefix.cli.written import written
from resizefix.errors import VerificationFailedError
from resizefix.outcome import Status

_TARGETS = ("tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0", "tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2")


@subcommand("trt-legacy", example="resizefix trt-legacy bisenet.onnx bisenet_legacy.onnx")
@click.argument("model", metavar="IN", type=click.Path())
@click.argument("out", required=False, type=click.Path())
@many_written
@target_option(
    "--target",
    only=_TARGETS,
    default=_TARGETS[0],
    show_default=True,
    help="Whose verdict to report: tensorrt-5.0 to -7.2; `list` prints them.",
)
@click.option("--hybrid", is_flag=True, help="Import opset 9 all the same, as old tutorials do: no valid ONNX.")
@rewriting
@writing
@running
def command(model: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Write IN as TensorRT's first ONNX parsers read it: Upsample-7 with a `scales` attribute, opset 8, IR 3.

    OUT defaults to IN's name with the suffix .trt-legacy.onnx.
    """
    conduct(
        "trt-legacy",
        model,
        manner_of(as_json, quiet, verbose),
        lambda: _work(model, options, verbose=verbose),
    )


def _work(model: str, options: dict[str, Any], *, verbose: bool) -> Answer:
    target = target_file_of(model, options, default=os.path.splitext(model)[0] + ".trt-legacy.onnx")
    from resizefix.library.check import check_all
    from resizefix.library.rewrite import trt_legacy
    from resizefix.reports.json import verdict_json

    try:
        result = trt_legacy(
            model,
            node=options["node"],
            hybrid=options["hybrid"],
            allow_inexact=options["allow_inexact"],
            lower=options["lower"],
            verify=not options["no_verify"],
            **run_options(options),
        )
        refusal = _why_not(result)
    except VerificationFailedError as error:
        result, refusal = error.result, str(error)
    verdicts = () if refusal is not None else check_all(result.model, _TARGETS)

    def show() -> None:
        from resizefix.reports.text import show_result, show_verdicts

        show_result(result, texts=verbose or options["dry_run"])
        show_verdicts(verdicts, chosen=options["target"])

    return written(
        result,
        refusal,
        target,
        as_external_data=options["save_as_external_data"],
        show=show,
        fields={"target": options["target"], "targets": {found.target.name: verdict_json(found) for found in verdicts}},
    )


def _why_not(result: Any) -> str | None:
    from resizefix.library.rewrite import NOTHING_TO_DO

    refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
    if not result.outcomes and not result.blockers:
        return "there is no Upsample or Resize node in this model, so there is nothing to do"
    if not refused and not result.blockers:
        nothing = result.verification.reason == NOTHING_TO_DO
        return "there is nothing to do: the model is in this form already" if nothing else None
    kinds = sorted({blocker.op_type or blocker.node for blocker in result.blockers})
    parts = [f"{outcome.node}: {outcome.reason}" for outcome in refused[:1]]
    if len(refused) > 1:
        parts.append(f"and {len(refused) - 1} more nodes")
    if kinds:
        first = result.blockers[0]
        where = f"{first.node}: {first.reason}; {first.mend}"
        parts.append(f"opset 8 cannot say {', '.join(kinds)} ({len(result.blockers)} in all; {where})")
    return "nothing was written. " + "; ".join(parts)
