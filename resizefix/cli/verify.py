"""`resizefix verify BEFORE AFTER`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, conduct
from resizefix.cli.next_command import NextCommand
from resizefix.cli.options import FeedOption, manner, manner_of, run_options, running


@click.command("verify", epilog="Example: resizefix verify x3.onnx any.onnx --feed scales=1,1,3,3")
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@click.option(
    "--feed", type=FeedOption(), multiple=True, help="Values for an input that only one model has (repeatable)."
)
@click.option(
    "--atol", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Absolute difference allowed."
)
@click.option(
    "--rtol", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Relative difference allowed."
)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="How many feeds to compare on.")
@running
@manner
@click.version_option(package_name="resizefix", prog_name="resizefix")
def command(before: str, after: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Run BEFORE and AFTER in onnxruntime on the same feeds and compare their outputs, bit by bit unless told
    otherwise.

    Exit code 0: they compute the same; 1: they do not, or one of them cannot be run.
    """

    def work() -> Answer:
        from resizefix.library.verify import verify
        from resizefix.reports.json import verification_json

        verification = verify(
            before,
            after,
            **run_options(options),
            runs=options["runs"],
            atol=options["atol"],
            rtol=options["rtol"],
            feed=dict(options["feed"]),
        )

        def show() -> None:
            from resizefix.reports.text import show_verification

            show_verification(verification)

        error = None if verification.passed else verification.reason
        compared = bool(verification.runs)
        return Answer(
            {"verification": verification_json(verification)},
            show,
            error=error,
            exit_code=0 if verification.passed else 1,
            step=NextCommand("to see what differs in the files", ("diff", before, after)) if compared else None,
        )

    conduct("verify", before, manner_of(as_json, quiet, verbose), work)
