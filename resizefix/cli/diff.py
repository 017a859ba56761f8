"""`resizefix diff BEFORE AFTER`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer, Manner, conduct
from resizefix.cli.options import bounds, manner_of, subcommand
from resizefix.cli.piped_model import model_argument, require_whole, shown
from resizefix.cli.report_files import ReportFiles, report_files_of, reporting


@subcommand("diff", example="resizefix diff x3.onnx any.onnx --html changes.html")
@model_argument("before")
@model_argument("after")
@reporting
@bounds
def command(before: str, after: str, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Show what changed between BEFORE and AFTER, node by node; what is not listed is the same.

    Exit code 0: the models are the same; 1: they differ. Reports are written in both cases.
    """
    how, reports = manner_of(as_json, quiet, verbose), report_files_of(options)
    conduct("diff", before, how, lambda: _work(before, after, how, reports))


def _work(before: str, after: str, how: Manner, reports: ReportFiles) -> Answer:
    reports.require_free([before, after])
    require_whole(before, after)
    from resizefix.document.document import Document
    from resizefix.operations.diff import diff
    from resizefix.reports.json import change_json

    documents = Document.open(before), Document.open(after)
    changes = tuple(diff(*documents))

    def html() -> str:
        from resizefix.reports.comparison import compare
        from resizefix.reports.html import diff_page

        return diff_page(shown(before), shown(after), compare(*documents, changes))

    def markdown() -> str:
        from resizefix.reports.comparison import compare
        from resizefix.reports.markdown import diff_markdown

        return diff_markdown(shown(before), shown(after), compare(*documents, changes))

    def show() -> None:
        from resizefix.reports.terminal import show_changes

        if not reports.on_stdout:
            show_changes(changes)
        reports.announce(how)

    written = reports.write(how, html, markdown)
    fields = {"changes": [change_json(change) for change in changes], **written}
    return Answer(fields, show, exit_code=1 if changes else 0)
