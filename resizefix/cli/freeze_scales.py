"""`resizefix freeze-scales IN OUT`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.many import many_written
from resizefix.cli.options import FeedOption, manner_of, run_options, running, subcommand, writing
from resizefix.cli.target_file import target_file_of
from resizefix.cli.written import why_not_all, written
from resizefix.errors import VerificationFailedError


@subcommand("freeze-scales", example="resizefix freeze-scales any.onnx x2.onnx --set scales=1,1,2,2")
@click.argument("model", metavar="IN", type=click.Path())
@click.argument("out", required=False, type=click.Path())
@many_written
@click.option(
    "--set", "values", type=FeedOption(), multiple=True, help="The value an input is frozen at, INPUT=2,2 (repeatable)."
)
@writing
@running
def command(model: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Make scales that are fed or computed at run time constants: the way back from promote-scales."""
    conduct(
        "freeze-scales",
        model,
        manner_of(as_json, quiet, verbose),
        lambda: _work(model, options, verbose=verbose),
    )


def _work(model: str, options: dict[str, Any], *, verbose: bool) -> Answer:
    target = target_file_of(model, options)
    from resizefix.library.freeze_scales import freeze_scales

    try:
        result = freeze_scales(
            model,
            set=dict(options["values"]),
            node=options["node"],
            verify=not options["no_verify"],
            **run_options(options),
        )
        refusal = why_not_all(
            result,
            named=bool(options["node"]),
            done="frozen",
            nothing="there is nothing to do: the scales of every selected node are constants already",
        )
    except VerificationFailedError as error:
        result, refusal = error.result, str(error)

    def show() -> None:
        from resizefix.reports.text import show_result

        show_result(result, texts=verbose or options["dry_run"])

    return written(result, refusal, target, as_external_data=options["save_as_external_data"], show=show)
