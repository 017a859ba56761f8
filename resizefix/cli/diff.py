"""`resizefix diff BEFORE AFTER`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer
from resizefix.cli.files import pages_of_two, report_files_of
from resizefix.cli.options import model_argument, subcommand
from resizefix.cli.streams import require_whole


@subcommand(
    "diff",
    model_argument("before"),
    model_argument("after"),
    example="resizefix diff x3.onnx any.onnx --html changes.html",
)
def command(before: str, after: str, meaning_only: bool, **options: Any) -> Answer:
    """Show what changed between BEFORE and AFTER, node by node; what is not listed is the same.

    Doc strings, metadata and how tensors are stored count too, unless --meaning-only leaves them out.
    Exit code 0: the models are the same; 1: they differ. Reports are written in both cases.
    """
    reports = report_files_of(options, before, after)
    require_whole(before, after)
    from resizefix.document.document import Document
    from resizefix.operations.diff import diff
    from resizefix.reports.json import change_json

    changes = tuple(diff(Document.open(before), Document.open(after), meaning_only=meaning_only))

    def show() -> None:
        from resizefix.reports.terminal import show_changes

        show_changes(changes, meaning_only=meaning_only)

    written = reports.write(*pages_of_two(before, after, changes=changes, meaning_only=meaning_only))
    fields = {"changes": [change_json(change) for change in changes], **written}
    return Answer(fields, reports.announcing(show), exit_code=1 if changes else 0)
