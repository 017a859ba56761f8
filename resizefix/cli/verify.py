"""`resizefix verify BEFORE AFTER`, and `resizefix verify MODEL --runtime NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.feed_options import FileFeedOption, fed_once
from resizefix.cli.options import run_options, running, subcommand
from resizefix.cli.piped_model import model_argument, require_whole, shown
from resizefix.cli.report_files import ReportFiles, pages_of_two, report_files_of, reporting
from resizefix.cli.runtime_options import runtime_python

if TYPE_CHECKING:
    from resizefix.reports.comparison import Comparison


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
    type=FileFeedOption(),
    multiple=True,
    help="Feed an input a picture or a .npy file, whose outputs --html shows; or numbers, INPUT=V,… (repeatable).",
)
@click.option(
    "--atol",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    metavar="NUMBER",
    help="Absolute difference allowed.",
)
@click.option(
    "--rtol",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    metavar="NUMBER",
    help="Relative difference allowed.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="NUMBER",
    help="Compare on this many feeds.",
)
@reporting
@running
def command(before: str, after: str | None, **options: Any) -> None:
    """Run BEFORE and AFTER in onnxruntime on the same feeds and compare their outputs.

    Outputs must be equal bit for bit unless --atol or --rtol allow a difference. Exit code 0: they are; 1: they are
    not, or a model cannot be run. Reports are written in both cases.
    """
    reports = report_files_of(options)
    run_command(before, lambda: _work(before, after, reports, options))


def _work(before: str, after: str | None, reports: ReportFiles, options: dict[str, Any]) -> Answer:
    reports.require_free([before] if after is None else [before, after])
    require_whole(before, after or before)
    from resizefix.library.verify import verify
    from resizefix.reports.json import drift_json, verification_json

    verification = verify(
        before,
        after,
        **run_options(options),
        runs=options["runs"],
        atol=options["atol"],
        rtol=options["rtol"],
        feed=fed_once(options["feed"]),
        runtime=options["runtime"],
        runtime_python=dict(options["runtime_python"]),
    )

    def html() -> str:
        from resizefix.reports.html import runtime_page

        return runtime_page(shown(before), verification)

    def markdown() -> str:
        from resizefix.reports.markdown import runtime_markdown

        return runtime_markdown(shown(before), verification)

    pages = html, markdown
    if after is not None:
        pages = pages_of_two(before, after, lambda: _compared(before, after), verification)

    def show() -> None:
        from resizefix.reports.text import show_verification

        if not reports.on_stdout:
            show_verification(verification)
        reports.announce()

    fields: dict[str, Any] = {"verification": verification_json(verification), **reports.write(*pages)}
    if options["runtime"] is not None:
        fields |= {
            "runtime": verification.runtime,
            "sites": [drift_json(site) for site in verification.sites],
        }
    if verification.passed:
        return Answer(fields, show)
    return Answer(fields, show, error=verification.reason, exit_code=1)


def _compared(before: str, after: str) -> Comparison:
    from resizefix.document.document import Document
    from resizefix.operations.diff import diff
    from resizefix.reports.comparison import compare

    documents = Document.open(before), Document.open(after)
    return compare(*documents, tuple(diff(*documents)))
