"""`resizefix verify BEFORE AFTER`, and `resizefix verify MODEL --runtime NAME`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.option_types import FILE_FEED
from resizefix.cli.options import fed_once, number_option, run_options, running, runtime_python, subcommand
from resizefix.cli.piped_model import model_argument, require_whole, shown
from resizefix.cli.report_files import pages, pages_of_two, report_files_of, reporting


@subcommand("verify", example="resizefix verify x3.onnx any.onnx --feed scales=1,1,3,3")
@model_argument("before")
@model_argument("after", required=False)
@click.option(
    "--runtime",
    metavar="NAME",
    help="Run AFTER (or the only model) in another runtime, such as openvino, opencv-5 or mnn; compare every resize.",
)
@runtime_python
@click.option(
    "--feed",
    type=FILE_FEED,
    multiple=True,
    help="Feed an input a picture or a .npy file, whose outputs --html shows; or numbers, INPUT=V,… (repeatable).",
)
@number_option("--atol", click.FloatRange(min=0), 0, "Absolute difference allowed.")
@number_option("--rtol", click.FloatRange(min=0), 0, "Relative difference allowed.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Compare on this many feeds instead of as many as the model needs.",
)
@reporting
@running
@answering
def command(before: str, after: str | None, **options: Any) -> Answer:
    """Run BEFORE and AFTER in onnxruntime on the same feeds and compare their outputs.

    Outputs must be equal bit for bit unless --atol or --rtol allow a difference. Exit code 0: they are; 1: they are
    not, or a model cannot be run. Reports are written in both cases.
    """
    reports = report_files_of(options, before, *([] if after is None else [after]))
    require_whole(before, after or before)
    from resizefix.library.verify import verify
    from resizefix.reports.json import drift_json, verification_json

    own = {name: options[name] for name in ("runs", "atol", "rtol", "runtime")}
    fed, pythons = fed_once(options["feed"]), dict(options["runtime_python"])
    verification = verify(before, after, **own, feed=fed, runtime_python=pythons, **run_options(options))

    if after is None:
        wanted = pages("html.runtime_page", "markdown.runtime_markdown", lambda: (shown(before), verification))
    else:
        wanted = pages_of_two(before, after, verification=verification)

    def show() -> None:
        from resizefix.reports.text import show_verification

        show_verification(verification)

    fields: dict[str, Any] = {"verification": verification_json(verification), **reports.write(*wanted)}
    if options["runtime"] is not None:
        fields |= {"runtime": verification.runtime, "sites": [drift_json(site) for site in verification.sites]}
    if not verification.speaks_against:
        return Answer(fields, reports.beside(show))
    return Answer(fields, reports.beside(show), error=verification.reason, exit_code=1)
