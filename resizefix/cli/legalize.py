"""`resizefix legalize IN OUT --target TARGET`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.many import many_written
from resizefix.cli.options import manner_of, rewriting, run_options, running, subcommand, target_option, writing
from resizefix.cli.target_file import target_file_of
from resizefix.cli.written import why_not_all, written
from resizefix.errors import VerificationFailedError


@subcommand("legalize", example="resizefix legalize x3.onnx x3_trt8.onnx --target tensorrt-8.0")
@click.argument("model", metavar="IN", type=click.Path())
@click.argument("out", required=False, type=click.Path())
@many_written
@target_option("--target", required=True, help="What must accept the result; `list` prints them all.")
@rewriting
@writing
@running
def command(model: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Rewrite those Upsample/Resize nodes of IN that TARGET refuses into ones it accepts, which compute the same."""
    how = manner_of(as_json, quiet, verbose)
    conduct("legalize", model, how, lambda: _work(model, options, verbose=verbose))


def _work(model: str, options: dict[str, Any], *, verbose: bool) -> Answer:
    target = target_file_of(model, options)
    from resizefix.library.rewrite import legalize

    try:
        result = legalize(
            model,
            target=options["target"],
            node=options["node"],
            allow_inexact=options["allow_inexact"],
            lower=options["lower"],
            verify=not options["no_verify"],
            **run_options(options),
        )
        refusal = why_not_all(
            result,
            named=bool(options["node"]),
            done="rewritten",
            nothing=f"there is nothing to do: {options['target']} accepts every selected node as it is",
        )
    except VerificationFailedError as error:
        result, refusal = error.result, str(error)

    def show() -> None:
        from resizefix.reports.text import show_result

        show_result(result, texts=verbose or options["dry_run"])

    return written(result, refusal, target, as_external_data=options["save_as_external_data"], show=show)
